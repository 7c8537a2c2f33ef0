"""Saving a plan and loading it back."""

import json
import stat
from pathlib import Path

import pytest

from sesstool.errors import UsageError, WriteError
from sesstool.records.edits import Edit, EditSet
from sesstool.records.plan import FilePlan, Plan
from sesstool.records.source import Fingerprint

BEFORE = Fingerprint(1, 2, 30, 1_700_000_000_123_456_789, 0o640, "ab" * 32)


@pytest.fixture
def plan():
    edits = EditSet([Edit(3, 7, b"\xff\x00new"), Edit(9, 9, b"more", content=True)])
    file = FilePlan(Path("/sessions/\udce9.jsonl"), BEFORE, "gz", edits, 0o600, ("B104",), ("cut",))
    return Plan((file,), "2025-01-02T03:04:05+00:00", "0.1.0")


def test_a_plan_comes_back_as_it_was_saved(plan, tmp_path):
    """Every field survives the file, also bytes that are no text and odd path names."""
    plan.save(tmp_path / "plan.json")
    loaded = Plan.load(tmp_path / "plan.json")
    (saved,), (file,) = plan.files, loaded.files
    assert (loaded.made, loaded.version) == (plan.made, plan.version)
    assert list(file.edits) == list(saved.edits)
    assert (file.path, file.before, file.codec) == (saved.path, BEFORE, "gz")
    assert (file.mode, file.findings, file.titles) == (0o600, ("B104",), ("cut",))


def test_a_saved_plan_is_private_and_never_replaced(plan, tmp_path):
    """It may hold session text, and a second save under its name is refused."""
    path = tmp_path / "plan.json"
    plan.save(path)
    first = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(WriteError, match="exists already"):
        plan.save(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"schema_version": 1}', '"x"', "[" * 100_000, "\udce9"],
    ids=["empty", "cut", "list", "object", "half", "string", "deep", "no text"],
)
def test_a_foreign_file_is_no_plan(text, tmp_path):
    """Whatever the file holds, the error is a usage error with a hint."""
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match="damaged, or no plan") as caught:
        Plan.load(path)
    assert "make the plan again" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value"),
    [("edits", [{"start": 5, "end": 2, "text": "", "content": False}]),
     ("edits", [{"start": 1, "end": 2, "text": "*", "content": False}]),
     ("edits", [{"start": float("inf"), "end": 2, "text": "", "content": False}]),
     ("before", {"size": 3}),
     ("mode", 0o4755),
     ("path", 7)],
)  # fmt: skip
def test_a_damaged_plan_is_refused(plan, tmp_path, key, value):
    """A field that cannot be meant is not guessed at."""
    path = tmp_path / "plan.json"
    plan.save(path)
    document = json.loads(path.read_bytes())
    document["files"][0][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="damaged"):
        Plan.load(path)


def test_a_plan_of_a_newer_version_is_not_guessed_at(plan, tmp_path):
    """A schema version beyond ours names itself."""
    path = tmp_path / "plan.json"
    plan.save(path)
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(UsageError, match="a newer sesstool"):
        Plan.load(path)


def test_a_missing_plan_is_a_usage_error(tmp_path):
    """The path was given on the command line, so the command line is wrong."""
    with pytest.raises(UsageError, match="no such file"):
        Plan.load(tmp_path / "none.json")


def test_a_plan_without_edits_and_mode_has_nothing_to_do():
    """Mode 0 is a mode, None is none."""
    nothing = FilePlan(Path("s"), BEFORE, "", EditSet())
    assert not nothing
    assert FilePlan(Path("s"), BEFORE, "", EditSet(), mode=0)
    assert FilePlan(Path("s"), BEFORE, "", EditSet([Edit(0, 1)]))
