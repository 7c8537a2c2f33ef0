"""The cases of damage, each with the properties of a right repair, and files that are sound.

They stand beside the checkout, with the program that checks their properties. Where they are
absent the tests are skipped, which shows.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sesstool import api
from sesstool.findings import Severity
from sesstool.records.edits import Edit
from tests.conftest import SHARED

CASES = SHARED / "cases"
CORPUS = SHARED / "corpus"
FORMATS = (
    "anthropic",
    "astorlm",
    "claude-code",
    "codex",
    "mycodeagent",
    "openai-chat",
    "pi",
    "responses",
)
MUST_BE_SEEN = ("auto", "auto-quarantine", "never")
# Kinds that a repair mends when it may guess.
UNSAFE = frozenset(
    [
        "bad-header",
        "bad-image",
        "compaction-bad-pointer",
        "compaction-no-summary",
        "empty-content",
        "nonstrict-json",
        "ordinal",
        "utf16",
    ]
)
# Files of a sound corpus that are damaged all the same.
DAMAGED = {
    "626ebcf6": "a parent that was never written",
    "ae063a0a": "a line whose quotes were eaten",
}
HARMLESS = frozenset({"B103", "M710"})


@dataclass(frozen=True)
class Case:
    kind: str
    expect: dict[str, Any]
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind}/{self.expect['file']}"


def _cases() -> Iterator[Case]:
    files = {p.relative_to(CASES).as_posix(): p.read_bytes() for p in CASES.glob("*/*.json*")}
    for packed in CASES.glob("*.tar.gz"):
        with tarfile.open(packed) as archive:
            for member in archive:
                inside = archive.extractfile(member)
                if inside is not None:
                    files[member.name.removeprefix("./")] = inside.read()
    for name, text in sorted(files.items()):
        if name.endswith(".expect.json"):
            expect = json.loads(text)
            kind = name.split("/")[0]
            if expect["format"] in FORMATS:
                yield Case(kind, expect, files[f"{kind}/{expect['file']}"])


def _sound() -> Iterator[Path]:
    rows = _rows(CORPUS / "real-clients" / "INDEX.tsv")
    for row in rows:
        if row["client"] in FORMATS and row["damage"] == "-":
            yield CORPUS / "real-clients" / row["file"]
    for row in _rows(CORPUS / "codex" / "INDEX.tsv"):
        if row["file"].startswith("_generated__codex-cli") and "KILLED" not in row["notes"]:
            yield CORPUS / "codex" / row["file"]
    yield from (CORPUS / "anthropic-messages" / "_generated").glob("ok.jsonl")
    yield from sorted((CORPUS / "openai-responses").rglob("*.jsonl"))
    yield from sorted((CORPUS / "claude-code" / "alfredjeanlab__claudeless").rglob("*.jsonl"))
    for name in ("quest-1", "transcript-session-done", "transcript-session-checkpoint_two_runs"):
        yield from CORPUS.glob(f"*/*generated/**/{name}.jsonl")


def _rows(index: Path) -> list[dict[str, str]]:
    if not index.exists():
        return []
    with index.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


CASE_LIST = list(_cases())
every_case = pytest.mark.parametrize("case", CASE_LIST, ids=str)
SOUND = list(_sound())


@pytest.fixture(scope="session")
def properties():
    """The program beside the cases that checks the properties of a repaired file."""
    spec = importlib.util.spec_from_file_location("case_properties", CASES / "props.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path):
    """Write a case as a file that nobody has been writing lately."""

    def do(case: Case) -> Path:
        path = tmp_path / (case.expect.get("real_file_name") or case.expect["file"])
        path.write_bytes(case.data)
        path.chmod(0o600)
        os.utime(path, (1_770_000_000, 1_770_000_000))
        return path

    return do


def faults(report: api.FileReport) -> list[str]:
    return [f.code for f in report.findings if f.severity is not Severity.INFORMATION]


def apply(path: Path, *, unsafe: bool = False) -> bytes:
    repair = api.repair(path, choice=api.Choice(unsafe=unsafe))
    if repair:
        api.apply(api.plan_of([repair]))
    return path.read_bytes()


def test_cases_and_sound_files_are_there(shared):
    """Where the shared folder is there, its cases and files are looked at."""
    assert shared.is_dir()
    assert len(CASE_LIST) > 50
    assert len(SOUND) > 200


@every_case
def test_validate_tells_sound_from_damaged(case, write):
    """Sound files have information only; what a repair must mend has a fault."""
    found = faults(api.validate(write(case)))
    if case.expect["safe"] == "none":
        assert found == []
    elif case.expect["safe"] in MUST_BE_SEEN:
        assert found


@every_case
def test_plain_repair_has_the_properties(case, write, properties):
    """A plain repair does what the case asks, once, and can be undone."""
    path, expect = write(case), dict(case.expect)
    if expect["default"] == "unchanged":
        expect |= {"unchanged": True, "props": [], "keep": [], "absent": []}
        expect |= {"prefix_lines": None, "order": []}
    mended = apply(path)
    assert properties.check(mended, expect, case.data) == []
    assert not api.repair(path)
    if mended != case.data:
        api.undo(str(path))
        assert path.read_bytes() == case.data


@pytest.mark.parametrize(
    "case", [c for c in CASE_LIST if c.kind in UNSAFE and c.expect["safe"] == "confirm"], ids=str
)
def test_repair_that_may_guess_has_the_properties(case, write, properties):
    """With the flag, the kinds that wait for one are mended."""
    mended = apply(write(case), unsafe=True)
    assert properties.check(mended, case.expect | {"unchanged": False}, case.data) == []


@pytest.mark.parametrize("path", SOUND, ids=lambda p: p.relative_to(CORPUS).as_posix())
def test_sound_files_are_left_alone(path):
    """What an agent wrote has no fault, and a repair adds a final newline at most."""
    if (reason := DAMAGED.get(path.stem[:8])) is not None:
        assert faults(api.validate(path))
        pytest.skip(f"damaged indeed: {reason}")
    outcome = api.repair(path).outcome
    assert set(faults(outcome.before)) <= HARMLESS
    size = outcome.before.size
    assert [replace(e, content=False) for e in outcome.edits] in ([], [Edit(size, size, b"\n")])
