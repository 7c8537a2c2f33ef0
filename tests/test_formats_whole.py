"""What every format has: a seed, samples, and its place in the contract between modules."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from sesstool.cli import main
from sesstool.formats.events import ToolCall
from sesstool.formats.registry import FORMATS
from sesstool.records.jsonspan import value_at
from sesstool.records.recover import Record
from tests import properties
from tests.conftest import read
from tests.mutations import dumps
from tests.seeds import SEEDS

ROOT = Path(__file__).parents[1]
REPAIRED = sorted(form.name for form in FORMATS if form.repairable)


def changed(value, odd):
    """Copies of a value, each with another of its members, at any depth, made odd."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(members) if isinstance(value, dict | list) else ():
        for new in [odd, *(changed(inner, odd) if isinstance(inner, dict | list) else ())]:
            copy = value.copy()
            copy[key] = new
            yield copy


@pytest.mark.parametrize("odd", [None, [], {}, [{}], 7, True, ""], ids=repr)
@pytest.mark.parametrize("name", SEEDS)
def test_any_object_has_a_meaning(name, odd):
    """A member of any type in any place stops neither the meaning nor the tracker."""
    form = read(SEEDS[name], name).format
    for line in SEEDS[name].splitlines():
        for value in changed(json.loads(line), odd):
            tracker, meaning = form.tracker(None), form.meaning(value)
            tracker.see(Record(1, 0, len(line), json.dumps(value).encode(), value), meaning)


@pytest.mark.parametrize("name", SEEDS)
def test_a_call_that_says_nothing_costs_no_record(name):
    """What several fixes put into one empty object stands there side by side."""
    form, lines = read(SEEDS[name], name).format, SEEDS[name].splitlines()
    for n, line in enumerate(lines):
        for event in form.meaning(json.loads(line)).events:
            if type(event) is ToolCall and event.pointer:
                value = json.loads(line)
                value_at(value, event.pointer).clear()
                properties.hold(b"\n".join([*lines[:n], dumps(value), *lines[n + 1 :], b""]), name)


@pytest.mark.parametrize("name", [name for name, data in SEEDS.items() if read(data, name).id])
def test_a_policy_names_a_session_by_the_id_that_its_records_tell(name, tmp_path, capsys):
    """Also where the file's name does not tell it, and the last record does not."""
    told = read(SEEDS[name], name).id
    path, policy = tmp_path / name, tmp_path / "policy.toml"
    path.write_bytes(SEEDS[name])
    held = f'{{name = "claim", reason = "asked", match = {{session = "{told}"}}}}'
    policy.write_text(f"version = 1\nhold = [{held}]\n")
    assert main.run(["prune", "--policy", str(policy), "--all", str(path)]) == 0
    assert "hold claim" in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["good", "damaged"])
def test_samples(folder):
    """A repaired format has a sound sample and a damaged one."""
    expected = (ROOT / "samples" / folder).glob("*.expect.json")
    only_read = {"cursor"} if folder == "good" else set()
    assert {json.loads(p.read_text())["format"] for p in expected} == {*REPAIRED, *only_read}


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
