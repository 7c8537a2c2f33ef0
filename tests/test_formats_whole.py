"""What every format has: a seed, samples, and its place in the contract between modules."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from sesstool.formats.registry import FORMATS
from tests.conftest import read
from tests.seeds import SEEDS

ROOT = Path(__file__).parents[1]
REPAIRED = sorted(form.name for form in FORMATS if form.repairable)


@pytest.mark.parametrize("folder", ["good", "damaged"])
def test_samples(folder):
    """A repaired format has a sound sample and a damaged one."""
    expected = (ROOT / "samples" / folder).glob("*.expect.json")
    assert {json.loads(p.read_text())["format"] for p in expected} == set(REPAIRED)


def test_seeds():
    """tests/seeds.py has a session of it, which the properties damage."""
    found = {read(data, name).format.name for name, data in SEEDS.items()}
    assert sorted(found) == REPAIRED


def test_the_contract():
    """pyproject.toml names its module among those that never import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (apart,) = [c["modules"] for c in contracts["contracts"] if c["type"] == "independence"]
    own = {type(form).__module__ for form in FORMATS} - {"sesstool.formats.others"}
    assert sorted(apart) == sorted(own)
