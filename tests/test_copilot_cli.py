"""Sessions of Copilot CLI: what an event means, what its strict reader refuses, and the repair."""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api.forking import fork
from sesstool.findings import Severity
from sesstool.formats.events import (
    Checkpoint,
    Message,
    Meta,
    StateChange,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.registry import by_name
from tests.conftest import codes, jsonl, loads, look, mend, plan, read
from tests.mutations import lines
from tests.seeds import SEEDS

COPILOT = by_name("copilot-cli")
NAME = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6b.jsonl"
WHOLE = SEEDS[NAME]
LINES = WHOLE.splitlines(keepends=True)
ROWS = loads(WHOLE)
CALLS, TWO, ONE, LAST = 4, 7, 8, 18  # two calls, their results, and the result of the third


def at(n, *put):
    """The lines with others in the place of one."""
    return b"".join([*LINES[:n], *put, *LINES[n + 1 :]])


def with_data(n, **changes):
    row = json.loads(LINES[n])
    row["data"] |= changes
    row["data"] = {key: value for key, value in row["data"].items() if value is not ...}
    return row


def event(kind, n=90, **data):
    name = f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6b"
    head = {"type": kind, "data": data, "id": name, "timestamp": "2026-03-01T10:30:00.000Z"}
    return head | {"parentId": None}


def kept(*gone):
    """The lines but some."""
    return [line for n, line in enumerate(LINES) if n not in gone]


TAIL = LINES[-1]
# A second process resumed the session: both go on from the same event.
TWO_WRITERS = at(
    19,
    jsonl(event("session.resume") | {"parentId": ROWS[18]["id"]}),
    jsonl(event("user.message", 91, content="And I?") | {"parentId": ROWS[18]["id"]}),
    LINES[19],
)
# Damage, what is found (code and line), and the lines that a repair leaves: None is a new one.
DAMAGED = {
    "torn tail": (WHOLE + TAIL[:80], [("B104", 21)], LINES),
    "torn head": (LINES[0][50:] + at(0), [("B112", 1), ("M701", 1)], [None, *LINES[1:]]),
    "NUL run": (at(3, LINES[3], b"\0" * 64 + b"\n"), [("B108", 5)], LINES),
    "glued": (at(4, LINES[4].rstrip()), [("B106", 5)], LINES),
    "split over lines": (
        at(1, LINES[1].replace(b"the mill", b"the\nmill")),
        [("B107", 2)],
        [LINES[0], LINES[1].replace(b"the mill", b"the\\nmill"), *LINES[2:]],
    ),
    "invalid UTF-8": (
        at(11, LINES[11].replace(b"hang", b"h\xffng")),
        [("B110", 12)],
        [*LINES[:11], None, *LINES[12:]],
    ),
    "BOM": (b"\xef\xbb\xbf" + WHOLE, [("B101", 1)], LINES),
    "garbage line": (at(5, LINES[5], b"what is this\n"), [("B112", 7)], LINES),
    "number for a record": (at(5, LINES[5], b"42\n"), [("J203", 7)], LINES),
    "unanswered call": (
        b"".join(kept(ONE)),
        [("T401", 5), ("G501", 9)],
        [*LINES[:ONE], None, *LINES[ONE + 1 :]],
    ),
    "orphan result": (
        b"".join(kept(CALLS)),
        [("G501", 5), ("T402", 7), ("T402", 8)],
        kept(4, 7, 8),
    ),
    "result twice": (at(TWO, LINES[TWO], LINES[TWO]), [("T403", 9), ("G502", 9)], LINES),
    "lost record": (b"".join(kept(10)), [("G501", 11)], kept(10)),
    "lost header": (b"".join(LINES[1:]), [("M701", 1)], [None, *LINES[1:]]),
    "misplaced header": (
        b"".join([LINES[1], LINES[0], *LINES[2:]]),
        [("M703", 2)],
        LINES,
    ),
    "no id": (
        at(2, jsonl(ROWS[2] | {"id": "7"})),
        [("S304", 3), ("G501", 4)],
        [*LINES[:2], None, *LINES[3:]],
    ),
    "no time": (
        at(2, jsonl(ROWS[2] | {"timestamp": "now"})),
        [("S304", 3)],
        [*LINES[:2], None, *LINES[3:]],
    ),
    "no success": (
        at(ONE, jsonl(with_data(ONE, success=...))),
        [("S304", ONE + 1)],
        [*LINES[:ONE], None, *LINES[ONE + 1 :]],
    ),
    "no messageId": (at(11, jsonl(with_data(11, messageId=...))), [("S304", 12)], kept(11)),
    "two writers": (TWO_WRITERS, [], TWO_WRITERS.splitlines(keepends=True)),
}
"""By name; the seed has 20 lines."""


@pytest.mark.parametrize("name", DAMAGED)
def test_each_damage_is_found_and_mended_and_the_bytes_can_be_had_back(tmp_path, name):
    """The codes are these, untouched records keep their bytes, and undo gives the file back."""
    data, found, left = DAMAGED[name]
    path = tmp_path / NAME
    path.write_bytes(data)
    path.chmod(0o600)
    report = api.validate(path)
    assert sorted((f.code, f.location.line) for f in report.findings) == sorted(found)
    repair = api.repair(path, choice=api.Choice(unsafe=True))
    applied = api.apply(api.plan_of([repair])) if repair else []
    after = path.read_bytes().splitlines(keepends=True)
    assert len(after) == len(left)
    assert all(want in (None, line) for want, line in zip(left, after, strict=True))
    again = api.validate(path)
    assert [f.code for f in again.findings if f.severity is not Severity.INFORMATION] == []
    for one in applied:
        api.undo(one.undo_id)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("kind", "data", "events"),
    [
        ("user.message", {"content": "a"}, [Message("/data/content", "user", "a", prompt=True)]),
        (
            "user.message",
            {"content": "a", "source": "skill"},
            [Message("/data/content", "user", "a")],
        ),
        (
            "assistant.message",
            {"content": "", "reasoningText": "hm", "toolRequests": [{"toolCallId": "c"}]},
            [
                ToolCall("/data/toolRequests/0", "c", "", None, as_text=True),
                Thinking("/data/reasoningText"),
            ],
        ),
        (
            "tool.execution_complete",
            {"toolCallId": "c", "success": True, "result": {"content": "a"}},
            [ToolResult("/data", "c", "a")],
        ),
        (
            "tool.execution_complete",
            {"toolCallId": "c", "success": False, "error": {"message": "no"}},
            [ToolResult("/data", "c", "no", error=True)],
        ),
        (
            "tool.execution_complete",
            {"toolCallId": "c", "success": True, "isUserRequested": True},
            [Meta("", "tool.execution_complete")],
        ),
        ("system.notification", {"content": "a"}, [Message("/data/content", "user", "a")]),
        ("session.compaction_start", {}, [StateChange("", "compaction begins")]),
        (
            "session.compaction_complete",
            {"success": True, "summaryContent": "a"},
            [
                Checkpoint("/data/summaryContent", summary=True),
                Message("/data/summaryContent", "user", "a"),
            ],
        ),
        (
            "session.compaction_complete",
            {"success": False},
            [Meta("", "session.compaction_complete")],
        ),
        ("hook.start", {}, [Meta("", "hook.start")]),
        ("beacon.telemetry", {}, [Unknown("", "beacon.telemetry")]),
    ],
)
def test_meaning(kind, data, events):
    """An event means what reaches the model by it."""
    assert COPILOT.meaning(event(kind, **data)).events == events


def test_what_is_said_while_a_compaction_runs_is_sent_beside_its_summary():
    """The summary takes the place of what stood before its beginning only."""
    assert read(WHOLE).messages() == (4, 4)
    late = [*LINES[:10], LINES[11], LINES[10], *LINES[12:]]
    assert read(b"".join(late)).messages() == (3, 3)


def test_what_a_subagent_says_is_not_counted():
    """An event of a subagent is of its own scope."""
    aside = event("assistant.message", messageId="m", content="a", parentToolCallId="call_1")
    assert read(WHOLE + jsonl(aside)).messages() == (4, 4)
    assert COPILOT.meaning(aside).scope == "call_1"


def test_a_call_that_was_not_started_is_said_not_to_have_run():
    """The start of a call is written first; where lines are missing nothing is claimed."""
    cut = b"".join([*LINES[:5], LINES[6]])
    states = [f.labels["state"] for f in look(cut, name=NAME).findings if f.code == "T401"]
    assert states == ["uncertain", "uncertain"]
    whole = b"".join(LINES[:5])
    told = loads(mend(whole, name=NAME))[-1]["data"]["error"]["message"]
    assert "It did not run" in told


def test_a_call_that_was_started_is_said_to_be_uncertain():
    """A made-up result claims no more than the file proves."""
    told = loads(mend(b"".join(LINES[:7]), name=NAME))[5]
    assert "outcome is unknown" in told["data"]["error"]["message"]
    assert (told["parentId"], told["timestamp"]) == (ROWS[4]["id"], ROWS[4]["timestamp"])


@pytest.mark.parametrize(
    ("n", "changes", "why"),
    [
        (1, {"content": None}, "content is not text"),
        (4, {"toolRequests": [{"name": "a"}]}, "a tool request has no toolCallId or no name"),
        (7, {"result": {"detailedContent": "a"}}, "the result has no content"),
        (3, {"turnId": 0}, "turnId is not text"),
        (13, {"modelMetrics": []}, "modelMetrics is not an object"),
    ],
)
def test_what_the_reader_refuses_is_cut(n, changes, why):
    """What cannot be mended without a guess goes, and only with --unsafe."""
    data = at(n, jsonl(with_data(n, **changes)))
    [fault] = [f for f in look(data, name=NAME).findings if f.code == "S304"]
    assert (why in fault.message, fault.fix.applicability.value) == (True, "unsafe")
    assert mend(data, name=NAME, unsafe=True).count(b"\n") < len(LINES) + 2


def test_a_header_is_made_where_no_record_tells_a_time():
    """Its reader wants one; a second repair has nothing to do."""
    data = jsonl({"type": "session.title", "title": "lanterns"})
    mended = plan(data, unsafe=True, format_name="copilot-cli").edits.apply(data)
    header, title = loads(mended)
    assert (header["type"], header["timestamp"]) == ("session.start", "1970-01-01T00:00:00.000Z")
    assert title == {"type": "session.title", "title": "lanterns"}
    assert "M701" not in codes(look(mended, format_name="copilot-cli"))


def test_a_record_of_an_unknown_type_is_no_fault():
    """Newer versions write what older ones do not know; its envelope is nobody's business."""
    odd = event("brand.new") | {"id": "7", "timestamp": "soon"}
    assert codes(look(WHOLE + jsonl(odd), name=NAME)) == ["S302"]


def test_another_header_in_the_middle_is_told():
    """Copilot CLI reads on, and takes what follows for this session's."""
    other = with_data(0, sessionId="other") | {"id": event("x")["id"]}
    assert codes(look(at(5, LINES[5], jsonl(other)), name=NAME)) == ["M706"]


@pytest.fixture
def there(home, monkeypatch):
    """A session in the agent's home, with what lies beside it."""
    top = home / ".copilot" / "session-state"
    folder = top / NAME.removesuffix(".jsonl")
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "index.md").write_text("# none\n")
    (folder / "workspace.yaml").write_text("id: x\ncwd: /srv/my mill\nname: a\n")
    (folder / "events.jsonl").write_bytes(WHOLE)
    (top / ".session-operation-locks").mkdir()
    (top / ".session-operation-locks" / f"{folder.name}.lock").write_text("")
    (top.parent / "session-store.db").write_bytes(b"")
    monkeypatch.setenv("HOME", str(home))
    return folder / "events.jsonl"


def test_a_session_is_known_by_its_folder(there):
    """Id, home, project and side files follow from the place."""
    name = there.parent.name
    assert COPILOT.session_id(there) == name
    assert COPILOT.session_id(Path(f"/srv/{name}.jsonl")) == name
    assert COPILOT.session_id(Path("/srv/x/events.jsonl")) == ""
    assert COPILOT.home(there) == there.parents[2]
    assert list(COPILOT.find(name[:8])) == [there]
    assert COPILOT.where(there.parents[2], ("session-state", name)) == ("/srv/my mill", "")
    parts = sorted(p.name for p in COPILOT.parts(there))
    assert parts == [f"{name}.lock", "index.md", "workspace.yaml"]
    assert [(t.path.name, t.names) for t in COPILOT.traces(there)] == [
        ("session-store.db", (name,))
    ]
    assert [side.path.name for side in COPILOT.drawn(there)] == ["session-store.db"]
    assert COPILOT.is_session(there)
    assert not COPILOT.is_session(there.parent / "files" / "talk.jsonl")


@pytest.mark.parametrize("said", ["'/srv/it''s'", '"/srv/it\'s"', "/srv/it's"])
def test_the_projects_path_may_be_quoted(there, said):
    """The three ways in which YAML writes a path are read."""
    there.with_name("workspace.yaml").write_text(f"id: x\ncwd: {said}\n")
    assert COPILOT.where(there.parents[2], ("session-state", there.parent.name))[0] == "/srv/it's"


def test_the_writer_is_told_by_its_lock_as_long_as_it_lives(there):
    """A process that is gone, as after a kill, is no writer."""
    assert COPILOT.writer(there) is None
    there.with_name("inuse.999999999.lock").write_text("999999999\n")
    assert COPILOT.writer(there) is None
    there.with_name(f"inuse.{os.getpid()}.lock").write_text(f"{os.getpid()}\n")
    assert f"process {os.getpid()}" in COPILOT.writer(there)


def test_a_fork_has_a_folder_and_a_header_of_its_own(there):
    """Records stay as they are, as in the agent's own forks."""
    made = fork(there, force=True)
    path = Path(made.path)
    assert (path.name, path.parent.parent) == ("events.jsonl", there.parents[1])
    assert path.parent.name != there.parent.name
    first, *others = path.read_bytes().splitlines(keepends=True)
    assert json.loads(first)["data"]["sessionId"] == path.parent.name
    assert others == LINES[1:]


def test_no_real_session_has_an_error_that_its_client_could_read(shared):
    """The client's own sessions are sound, and what was killed has just its open calls."""
    folder = shared / "corpus" / "real-clients"
    with (folder / "INDEX.tsv").open(encoding="utf-8") as index:
        rows = [r for r in csv.DictReader(index, delimiter="\t") if r["client"] == "copilot"]
    assert len(rows) == 6
    for row in rows:
        report = api.validate(folder / row["file"])
        wrong = [f.code for f in report.findings if f.severity is not Severity.INFORMATION]
        assert wrong == ["T401"] * (2 if row["scenario"] == "kill-tool" else 0), row["file"]


def test_the_seed_is_sound():
    """All that is found in the damaged ones comes from the damage."""
    assert codes(look(WHOLE, name=NAME)) == []
    assert len(lines(WHOLE)) == len(LINES)


@pytest.mark.parametrize("data", [None, [], [{}], "a", 7, math.inf])
@pytest.mark.parametrize("n", range(len(LINES)))
def test_data_of_any_type_is_judged(n, data):
    """What stands in the place of an event's data, a list too, stops neither check nor repair."""
    line = jsonl(ROWS[n] | {"data": data}).replace(b"Infinity", b"1e999")
    found = look(at(n, line), name=NAME)
    assert found.format == "copilot-cli"
