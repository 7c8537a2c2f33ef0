"""Sessions of Gemini CLI: what is left of its log of changes, what damages do, and the repair."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api.forking import fork
from sesstool.errors import NotASessionError
from sesstool.findings import Severity
from sesstool.formats.events import Message, StateChange, Thinking, ToolCall, ToolResult
from sesstool.formats.registry import by_name
from sesstool.model.units import units
from sesstool.model.upserts import Upserts
from sesstool.records.recover import Record
from tests.conftest import codes, jsonl, loads, look, mend, read
from tests.seeds import SEEDS

GEMINI = by_name("gemini")
NAME = "session-2026-03-01T10-00-5d0c7f6a.jsonl"
ID = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6c"
WHOLE = SEEDS[NAME]
LINES = WHOLE.splitlines(keepends=True)
ROWS = loads(WHOLE)
# The first run, which ends with the rewind, and the places of what the others restate.
FIRST, WIPE, ALL = 10, 11, 13
HEAD = LINES[0]


def said(n, kind="user", content="a", **more):
    return {"id": f"m{n}", "timestamp": f"2026-03-01T11:{n:02}:00.000Z", "type": kind} | {
        "content": content,
        **more,
    }


def call(name, **more):
    return {"id": name, "name": "bash", "args": {}} | more


def result(name, **response):
    return {"functionResponse": {"id": name, "name": "bash", "response": response}}


def session(*rows):
    return HEAD + jsonl(*rows)


def at(n, *put):
    """The lines with others in the place of one."""
    return b"".join([*LINES[:n], *put, *LINES[n + 1 :]])


def kept(*gone):
    """The lines but some."""
    return [line for n, line in enumerate(LINES) if n not in gone]


OPEN = [said(1), said(2, "gemini", "b", toolCalls=[call("c1")]), said(3, content="And?")]
TALK = [HEAD, *jsonl(*OPEN).splitlines(keepends=True)]
TAIL = LINES[-1]
TWO_WRITERS = [*LINES, *jsonl(ROWS[0], said(1), said(2, "gemini")).splitlines(keepends=True)]
# Damage, what is found (code and line), and the lines that a repair leaves: None is a new one.
DAMAGED = {
    "torn tail": (WHOLE + TAIL[:60], [("B104", len(LINES) + 1)], LINES),
    "NUL run": (at(3, LINES[3], b"\0" * 64 + b"\n"), [("B108", 5)], LINES),
    "glued": (at(4, LINES[4].rstrip()), [("B106", 5)], LINES),
    "split over lines": (
        at(2, LINES[2].replace(b"the mill", b"the\nmill")),
        [("B107", 3)],
        [*LINES[:2], LINES[2].replace(b"the mill", b"the\\nmill"), *LINES[3:]],
    ),
    "invalid UTF-8": (
        at(7, LINES[7].replace(b"hang", b"h\xffng")),
        [("B110", 8)],
        [*LINES[:7], None, *LINES[8:]],
    ),
    "BOM": (b"\xef\xbb\xbf" + WHOLE, [("B101", 1)], LINES),
    "garbage line": (at(5, LINES[5], b"what is this\n"), [("B112", 7)], LINES),
    "unanswered call": (b"".join(TALK), [("T401", 3)], [*TALK[:3], None, TALK[3]]),
    "orphan result": (
        session(said(1), said(2, content=[result("c9", output="x")]), said(3)),
        [("T402", 3)],
        [HEAD, *jsonl(said(1), said(3)).splitlines(keepends=True)],
    ),
    "message twice": (at(2, LINES[2], LINES[2]), [], [*LINES[:2], LINES[2], *LINES[2:]]),
    "lost answer": (
        b"".join(kept(15)),
        [("T402", 16)],
        kept(15, 16),
    ),
    "lost header": (
        b"".join(LINES[2:FIRST]),
        [("M701", 1)],
        [None, *LINES[2:FIRST]],
    ),
    "torn header": (
        HEAD[:60] + b"\n" + b"".join(LINES[1:FIRST]),
        [("B105", 1), ("M701", 1)],
        [None, *LINES[1:FIRST]],
    ),
    "one of two headers lost": (b"".join(LINES[1:]), [], LINES[1:]),
    "wiped": (
        b"".join(LINES[: ALL - 1]) + LINES[ALL][:300],
        [("G507", WIPE + 1), ("B104", ALL)],
        [*LINES[:WIPE], *LINES[WIPE + 1 : ALL - 1]],
    ),
    "two writers": (b"".join(TWO_WRITERS), [], TWO_WRITERS),
}
"""By name."""


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
    ("rows", "fates"),
    [
        ([said(1), said(1, content="b")], ["superseded", ""]),
        ([said(1), said(2), {"$rewindTo": "m2"}], ["", "rollback"]),
        ([said(1), said(2), {"$rewindTo": "m7"}], ["rollback", "rollback"]),
        ([said(1), said(2), {"$set": {"messages": [said(2)]}}], ["compaction", "superseded", ""]),
        (
            [said(1), {"$set": {"messages": []}}, {"$set": {"messages": [said(1)]}}],
            ["superseded", ""],
        ),
        ([{"$set": {"messages": [said(1), said(2)]}}, {"$rewindTo": "m2"}], [""]),
        ([{"$set": {"messages": [said(1)]}}, {"$rewindTo": "m1"}], ["rollback"]),
        ([said(1), {"$set": {"summary": "x"}}], [""]),
    ],
)
def test_what_is_left_of_a_log(rows, fates):
    """A record is sent, or something took its place, or a rewind took it back."""
    seen = read(session(*rows), NAME)
    talk = [r for r, m in seen.again() if m is not None and m.messages]
    assert [seen.taken_back(r.start) for r in talk] == fates


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([said(1), said(2, "gemini"), said(2, "gemini", "c")], 2),
        ([said(1), said(2, "gemini"), {"$rewindTo": "m1"}], 0),
        (
            [said(1), said(2, "info"), said(3, content="/help"), said(4, content="<hook_context>")],
            1,
        ),
        ([{"$set": {"messages": [said(1), said(2, "gemini")]}}, said(3)], 3),
    ],
)
def test_how_many_messages_are_sent(rows, count):
    """What the agent says in a person's place, and tells the person alone, is not sent."""
    assert read(session(*rows), NAME).messages() == (count, count)


def test_a_message_that_is_replaced_keeps_its_place():
    """So it does in the agent's own reader."""
    seen = read(session(said(1, "gemini"), said(2), said(1, "gemini", "b")), NAME)
    assert [place.line for place, _ in seen.upserts.in_order()] == [4, 3]


@pytest.mark.parametrize(
    ("row", "events"),
    [
        (said(1), [Message("/content", "user", "a", prompt=True)]),
        (
            said(1, content=[{"text": "<session_context>"}]),
            [Message("/content", "user", [{"text": "<session_context>"}], hidden=True)],
        ),
        (
            said(1, "gemini", "b", thoughts=[{"description": "hm"}], toolCalls=[call("c")]),
            [
                Thinking("/thoughts/0"),
                ToolCall("/toolCalls/0", "c", "bash", {}, inside="/args"),
                Message("/content", "assistant", "b"),
            ],
        ),
        (
            said(1, "gemini", "", toolCalls=[call("c", result=[result("c", error="no")])]),
            [
                ToolCall("/toolCalls/0", "c", "bash", {}, inside="/args"),
                ToolResult("/toolCalls/0", "c", "no", error=True),
            ],
        ),
        (
            said(1, "gemini", [{"functionCall": call("c")}], toolCalls=[call("c")]),
            [ToolCall("/content/0", "c", "bash", {}, inside="/functionCall/args")],
        ),
        (
            said(1, content=[result("c", output="x"), {"text": "b"}]),
            [
                ToolResult("/content/0", "c", "x"),
                Message("/content", "user", [result("c", output="x"), {"text": "b"}], prompt=True),
            ],
        ),
        (said(1, "error"), [Message("/content", "system", "a", hidden=True)]),
        ({"$rewindTo": "m1"}, [StateChange("/$rewindTo", "rewind", "m1")]),
        (
            {"$set": {"messages": [said(1), 7]}},
            [
                StateChange("/$set/messages", "restated", 2),
                Message("/$set/messages/0/content", "user", "a", prompt=True),
            ],
        ),
    ],
)
def test_meaning(row, events):
    """A record means what reaches the model by it."""
    assert GEMINI.meaning(row).events == events


def test_an_answer_stands_behind_its_message_inside_a_checkpoint():
    """What comes later in the checkpoint is said later, too."""
    asks = said(2, "gemini", [{"functionCall": call("c1")}])
    data = session({"$set": {"messages": [said(1), asks, said(3)]}}, said(4, "gemini"))
    messages = loads(mend(data, name=NAME))[1]["$set"]["messages"]
    assert [m["type"] for m in messages] == ["user", "gemini", "user", "user"]
    assert messages[2]["content"][0]["functionResponse"]["id"] == "c1"
    assert [messages[0], messages[1], messages[3]] == [said(1), asks, said(3)]


def test_an_orphan_result_inside_a_checkpoint_goes_alone():
    """The other messages of the checkpoint stay."""
    orphan = said(2, content=[result("c9", output="x")])
    data = session({"$set": {"messages": [said(1), orphan, said(3)]}})
    assert loads(mend(data, name=NAME))[1] == {"$set": {"messages": [said(1), said(3)]}}


def test_a_new_header_tells_what_the_place_of_the_file_tells(tmp_path):
    """The id begins as the file's name says, and the hash is that of the project's path."""
    chats = tmp_path / "mill" / "chats"
    chats.mkdir(parents=True)
    (tmp_path / "mill" / ".project_root").write_text("/srv/quest")
    path = chats / NAME
    path.write_bytes(b"".join(LINES[2:FIRST]))
    repair = api.repair(path, choice=api.Choice(unsafe=True))
    api.apply(api.plan_of([repair]))
    header = json.loads(path.read_bytes().splitlines()[0])
    assert header["sessionId"].startswith("5d0c7f6a-")
    assert header["projectHash"].startswith("a7216312cfbf40d7")  # as Gemini CLI writes it


def test_a_document_of_an_older_version_is_refused(tmp_path):
    """The next step is told: a newer Gemini CLI writes it anew."""
    path = tmp_path / "session-2025-03-01T10-00-5d0c7f6a.json"
    path.write_text(json.dumps(ROWS[0] | {"messages": [said(1)]}, indent=2))
    with pytest.raises(NotASessionError, match=r"before 0\.40") as caught:
        api.validate(path)
    assert "resume it" in caught.value.hint


@pytest.fixture
def there(home, monkeypatch):
    """A session in the agent's home, with what lies beside it."""
    folder = home / ".gemini" / "tmp" / "mill"
    for part in (f"chats/{ID}/{ID[:-1]}d.jsonl", f"logs/session-{ID}.jsonl", f"{ID}/plan.md"):
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (folder / part).write_bytes(b"x\n")
    out = folder / "tool-outputs" / f"session-{ID}" / "bash_1.txt"
    out.parent.mkdir(parents=True)
    out.write_text("x")
    (folder / ".project_root").write_text("/srv/mill\n")
    (folder / "chats" / NAME).write_bytes(WHOLE)
    monkeypatch.setenv("HOME", str(home))
    return folder / "chats" / NAME


def test_a_session_is_known_by_its_place_and_its_header(there):
    """Home, project, side files and subagents follow."""
    home, aside = there.parents[3], there.parent / ID / f"{ID[:-1]}d.jsonl"
    assert (GEMINI.home(there), GEMINI.session_id(there)) == (home, "")
    assert GEMINI.session_id(aside) == f"{ID[:-1]}d"
    assert list(GEMINI.find(ID)) == [there]
    assert list(GEMINI.find(ID[:8])) == [there, aside]
    assert GEMINI.where(home, ("tmp", "mill", "chats")) == ("/srv/mill", "")
    assert GEMINI.where(home, ("tmp", "mill", "chats", ID)) == ("/srv/mill", ID)
    parts = [str(p.relative_to(there.parents[1])) for p in GEMINI.parts(there)]
    assert parts == [
        f"chats/{ID}/{ID[:-1]}d.jsonl",
        f"tool-outputs/session-{ID}/bash_1.txt",
        f"logs/session-{ID}.jsonl",
        f"{ID}/plan.md",
    ]
    assert [p for p in map(Path, parts) if GEMINI.is_output(p)] == [Path(parts[1])]
    assert [GEMINI.is_session(there.parents[1] / part) for part in parts] == [True, *[False] * 3]
    assert GEMINI.owner([{"kind": "subagent"}], aside) == ID


def test_the_variable_names_what_holds_the_agents_folder(home, monkeypatch):
    """GEMINI_CLI_HOME stands for the user's own home."""
    monkeypatch.setenv("GEMINI_CLI_HOME", str(home / "else"))
    assert list(GEMINI.folders()) == [home / "else" / ".gemini" / "tmp"]


def test_a_fork_has_its_id_in_each_record_that_tells_it(there):
    """Else the last one that told the old id would count."""
    path = Path(fork(there, force=True).path)
    rows = path.read_bytes().splitlines(keepends=True)
    told = {
        json.loads(row).get("$set", json.loads(row)).get("sessionId")
        for row in rows
        if b'"sessionId"' in row
    }
    [name] = told
    assert path.name.endswith(f"-{name[:8]}.jsonl")
    assert name != ID
    assert [row for row in rows if b'"sessionId"' not in row] == [
        row for row in LINES if b'"sessionId"' not in row
    ]


def test_no_real_session_has_an_error_that_its_client_could_read(shared):
    """The client's own sessions are sound; a full disk tore one record."""
    folder = shared / "corpus" / "real-clients"
    with (folder / "INDEX.tsv").open(encoding="utf-8") as index:
        rows = [r for r in csv.DictReader(index, delimiter="\t") if r["client"] == "gemini-cli"]
    assert len(rows) == 6
    for row in rows:
        report = api.validate(folder / row["file"])
        wrong = [f.code for f in report.findings if f.severity is not Severity.INFORMATION]
        assert wrong == ["B105"] * ("16-59-20f521c3" in row["file"]), row["file"]


def test_the_calls_that_a_real_client_sent_are_those_that_are_left(shared):
    """What reached the model last, by the record of the stand-in provider."""
    folder = shared / "corpus" / "real-clients" / "gemini-cli" / "0.61.0"
    for name in ("bag", "walk", "kill-tool"):
        truth = json.loads((folder / name / "truth.json").read_text())["longest_history"]
        [path] = (folder / name).rglob("session-*.jsonl")
        assert api.resume(path).calls == len(set(truth["call_ids"])), name


def test_words_beside_calls_and_thoughts_are_said():
    """What stands among the parts of a message is told in its order."""
    parts = [{"text": "hm", "thought": True}, {"text": "I look."}, {"functionCall": call("c1")}]
    row = said(1, "gemini", parts)
    told = [(unit.kind, unit.words) for unit in units(row, GEMINI.meaning(row))]
    assert told == [("thinking", "hm"), ("message", "I look."), ("call", "{}")]


def test_the_seed_is_sound():
    """All that is found in the damaged ones comes from the damage."""
    assert codes(look(WHOLE, name=NAME)) == []


def test_many_rewinds_take_no_longer_than_what_they_take_back():
    """A message that is taken back and said again, over and over, costs the same each time."""
    rows = [said(n) for n in range(10_000)]
    rows += [row for _ in range(10_000) for row in ({"$rewindTo": "m9999"}, said(9999))]
    upserts, begun = Upserts(), time.process_time()
    for n, row in enumerate(rows):
        upserts.see(Record(n + 1, n, n + 1, b"", row), GEMINI.meaning(row))
    assert upserts.messages() == (10_000, 10_000)
    assert time.process_time() - begun < 2
