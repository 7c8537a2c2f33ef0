"""Sessions of pi: what a record means, what a resume sends, and that a repair gives all back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sesstool.findings import Severity
from sesstool.formats.events import Checkpoint, Message, Meta, Thinking, ToolCall, ToolResult
from sesstool.formats.registry import by_name
from sesstool.formats.terms import Evidence, Question
from tests.conftest import (
    THREAD,
    call_of,
    chat,
    codes,
    compaction,
    dump,
    entry,
    head,
    jsonl,
    loads,
    look,
    mend,
    pid,
    plan,
    read,
    rest,
    result_of,
    speaks,
)
from tests.mutations import lines
from tests.seeds import SEEDS

PI = by_name("pi")
NAME = f"2026-03-01T06-00-00-000Z_{THREAD}.jsonl"
TURN = [
    *chat(1),
    speaks(2, 1, "assistant", call_of("c1"), call_of("c2")),
    result_of(3, 2, "c1"),
    result_of(4, 3, "c2"),
    speaks(5, 4, "assistant", "done"),
]
WRITERS = [
    *chat(2),
    speaks(3, 2, "user", "a"),
    speaks(4, 2, "user", "b"),
    speaks(5, 3, "assistant", "a"),
    speaks(6, 4, "assistant", "b"),
    speaks(7, 6, "user", "c"),
]


def session(*entries, **header):
    return jsonl(head(**header), *entries)


def sent(data: bytes) -> list[str] | str:
    """The ids that pi would send, by its own rules; "overwritten" or "hangs" where it sends none.

    Written apart from sesstool, for the checks of repairs.
    """
    found = []
    for line in data.split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    if not found or found[0].get("type") != "session" or type(found[0].get("id")) is not str:
        return "overwritten"
    entries = [e for e in found if e.get("type") != "session"]
    by_id = {e.get("id"): e for e in entries}
    way, here = [], entries[-1]
    while here is not None:
        if here in way:
            return "hangs"
        way.insert(0, here)
        here = by_id.get(here.get("parentId"))
    at = max((n for n, e in enumerate(way) if e["type"] == "compaction"), default=-1)
    first = way[at].get("firstKeptEntryId")
    kept = next((n for n, e in enumerate(way[:at]) if e["id"] == first), at) if at >= 0 else 0
    return [e["id"] for e in way[kept:]]


def events(record):
    return PI.meaning(record).events


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (head(), [Meta("", "session")]),
        (entry(1, None, "label"), [Meta("", "label")]),
        (
            speaks(1, None, "user", "x"),
            [Message("/message/content", "user", [{"type": "text", "text": "x"}], prompt=True)],
        ),
        (
            result_of(1, None, "c", "x"),
            [ToolResult("/message", "c", [{"type": "text", "text": "x"}])],
        ),
        (
            entry(1, None, "branch_summary", summary="x"),
            [Message("/summary", "user", "x")],
        ),
        (entry(1, None, "custom_message", content="x"), [Message("/content", "user", "x")]),
        (
            compaction(2, 1, 1, "x"),
            [
                Checkpoint("", keeps=pid(1)),
                Checkpoint("/summary", summary=True),
                Message("/summary", "user", "x"),
            ],
        ),
        (
            entry(1, None, "message", message={"role": "bashExecution", "output": "x"}),
            [Message("/message/output", "user", "x")],
        ),
    ],
)
def test_meaning(record, expected):
    """Each kind of record has its meaning."""
    assert events(record) == expected


def test_the_blocks_of_an_answer():
    """Calls and thinking are found; null is no arguments."""
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": None}
    thought = {"type": "thinking", "thinking": "x", "thinkingSignature": "y"}
    found = events(speaks(1, None, "assistant", thought, call))
    assert found[:2] == [
        Thinking("/message/content/0"),
        ToolCall("/message/content/1", "c", "bash", None, fault="its arguments are no object"),
    ]


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_an_answer_that_broke_off_is_not_sent(reason):
    """Pi leaves it out with its calls: they need no result."""
    (message,) = events(speaks(1, None, "assistant", call_of("c"), stopReason=reason))
    assert (message.role, message.hidden) == ("assistant", True)


def test_links():
    """The header is no part of the tree; a parent that is null is a root, a missing one is not."""
    assert not PI.meaning(head()).linked
    meaning = PI.meaning(entry(2, 1, "label"))
    assert (meaning.linked, meaning.id, meaning.parent) == (True, pid(2), pid(1))
    assert PI.meaning(entry(2, None, "label")).parent is None
    assert PI.meaning({"type": "label", "id": "x"}).parent == ""


def test_answers_in_its_own_shape():
    """A result hangs from what it is told to, else from its call, and says that it is an error."""
    record = speaks(2, 1, "assistant", call_of("c"))
    made = json.loads(PI.answer(Question("c", "bash", record, {}, Evidence("uncertain"), "n")))
    assert (made["type"], made["id"], made["parentId"]) == ("message", "n", pid(2))
    assert (made["message"]["toolCallId"], made["message"]["isError"]) == ("c", True)
    assert "unknown" in made["message"]["content"][0]["text"]
    known = Question("c", "bash", record, {}, Evidence("completed", "x"), "n", parent=pid(9))
    made = json.loads(PI.answer(known))
    assert (made["parentId"], made["message"]["isError"]) == (pid(9), False)


def test_folders(home, monkeypatch, tmp_path):
    """Sessions of pi and OpenClaw lie in a home by their paths, and are found there."""
    paths = [
        home / ".pi" / "agent" / "sessions" / "--srv-beacon--" / NAME,
        home / ".openclaw" / "agents" / "main" / "sessions" / f"{THREAD}.jsonl",
    ]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.touch()
        assert PI.session_id(path) == THREAD
    assert [PI.home(p) for p in paths] == [home / ".pi" / "agent", home / ".openclaw"]
    assert PI.home(tmp_path / "sessions" / NAME) is None
    assert list(PI.find(THREAD[:6])) == paths
    assert PI.session_id(Path("notes.jsonl")) == ""
    assert PI.session_id(Path(f"{THREAD}-topic-4.jsonl")) == THREAD
    assert PI.resume_command(THREAD) == f"pi --session {THREAD}"
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    assert PI.home(tmp_path / "sessions" / "--x--" / NAME) == tmp_path


def test_a_lock_tells_the_writer(tmp_path):
    """OpenClaw's lock counts while its process lives."""
    path, lock = tmp_path / NAME, tmp_path / f"{NAME}.lock"
    assert PI.writer(path) is None
    lock.write_text(json.dumps({"pid": os.getpid(), "createdAt": "t"}))
    assert PI.writer(path) == f"OpenClaw writes this session (process {os.getpid()})"
    for text in ("{}", "no JSON", '{"pid": "x"}'):
        lock.write_text(text)
        assert PI.writer(path) is None


def test_the_last_record_is_the_leaf():
    """A record that says nothing is the leaf all the same, and moves the way with it."""
    data = session(*chat(4), entry(5, 2, "label"))
    assert read(data).messages() == (2, 4)
    assert sent(data) == [pid(1), pid(2), pid(5)]
    assert codes(look(data)) == ["G506"]


def test_a_compaction_keeps_a_part():
    """Its summary is sent, and what stands from the first kept record on."""
    data = session(*chat(4), compaction(5, 4, 3), *chat(6, 6))
    graph = read(data).graph
    assert list(graph.live) == [0, 0, 1, 1, 1, 1]
    assert read(data).messages() == (4, 4)
    assert codes(look(data)) == []


def test_what_stands_above_a_gap_is_not_sent():
    """Pi stops at a lost parent: the counts say what is lost."""
    data = session(*rest(chat(5), 2))
    assert read(data).messages() == (2, 4)


def test_a_circle_is_not_sent_at_all():
    """Pi never comes to an end."""
    data = session(*chat(2), speaks(3, 3, "user", "x"))
    assert read(data).messages()[0] == 0
    assert sent(data) == "hangs"
    assert sent(mend(data)) == [pid(1), pid(2), pid(3)]


def test_version_1_has_no_ids():
    """Its records follow each other: a result is put into its place, and no ids are made up."""
    bare = [{k: v for k, v in r.items() if k not in ("id", "parentId")} for r in TURN]
    old = {"type": "session", "id": THREAD, "timestamp": "t", "cwd": "/srv/beacon"}
    assert codes(look(jsonl(old, *bare))) == []
    data = jsonl(old, *rest(bare, 3))
    assert read(data).messages() == (3, 3)
    made = loads(mend(data))
    assert made[4]["message"]["toolCallId"] == "c2"
    assert not {"id", "parentId"} & made[4].keys()
    assert codes(look(mend(jsonl(*bare), unsafe=True))) == []
    assert "version" not in loads(mend(jsonl(*bare), unsafe=True))[0]


@pytest.mark.parametrize("lost", range(1, 6))
def test_a_lost_record_is_bridged(lost):
    """Whichever record is lost, all others are sent after a plain repair."""
    data = session(*rest(TURN, lost - 1))
    made = mend(data)
    present = {r["id"] for r in rest(TURN, lost - 1)}
    gone = {pid(3), pid(4)} if lost == 2 else set()  # results of calls that are lost
    assert present - gone <= set(sent(made))
    assert codes(look(made)) == []


def test_a_lost_result_is_answered_in_its_place():
    """The answer takes the lost record's id, behind the results of its siblings."""
    made = loads(mend(session(*rest(TURN, 3))))
    assert rest(made, 4) == [head(), *rest(TURN, 3)]
    assert (made[4]["id"], made[4]["parentId"]) == (pid(4), pid(3))


def test_several_answers_hang_from_each_other():
    """Pi sends one way only: answers side by side would lose all but one."""
    made = mend(session(*TURN[:2]))
    assert len(sent(made)) == 4
    assert [r["message"]["toolCallId"] for r in loads(made)[3:]] == ["c1", "c2"]


def test_a_lost_first_message_leaves_a_word():
    """A talk that begins with an answer would be refused: a message takes the lost one's place."""
    data = session(entry(9, None, "model_change"), *chat(4, 2))
    made = loads(mend(data))
    assert rest(made, 2) == loads(data)
    assert (made[2]["id"], made[2]["parentId"]) == (pid(1), pid(9))
    assert made[2]["message"]["role"] == "user"


@pytest.mark.parametrize(
    ("entries", "kept"),
    [
        pytest.param([*chat(2), *chat(6, 4)], 4, id="the-record-behind-the-lost-one"),
        pytest.param(chat(6, 4), 4, id="the-only-record-without-a-parent"),
    ],
)
def test_a_lost_first_kept_record(entries, kept):
    """The file tells where the kept part goes on: that is safe."""
    data = session(*entries, compaction(7, 6, 3), *chat(8, 8))
    made = loads(mend(data))
    pointers = [r["firstKeptEntryId"] for r in made if r["type"] == "compaction"]
    assert pointers == [pid(kept)]


def test_a_pointer_to_nothing():
    """Where nothing tells what was kept, only a guess mends it: the next record."""
    data = session(*chat(4), compaction(5, 4, 99), *chat(6, 6))
    assert mend(data) == data
    assert loads(mend(data, unsafe=True))[5]["firstKeptEntryId"] == pid(6)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda d: b"\xef\xbb\xbf" + d, id="bom"),
        pytest.param(lambda d: b"\0" * 40 + d, id="nul"),
        pytest.param(lambda d: b"WARN low battery" + d, id="noise"),
        pytest.param(lambda d: b"null\n" + d, id="null"),
        pytest.param(lambda d: d.replace(b"}\n{", b"}{", 1), id="glued"),
        pytest.param(
            lambda d: b"\n".join([lines(d)[1], lines(d)[0], *lines(d)[2:], b""]), id="2nd"
        ),
    ],
)
def test_a_header_that_is_only_hidden(damage):
    """It comes back by a plain repair, byte for byte, and pi no longer overwrites the file."""
    data = session(*chat(3))
    assert mend(damage(data)) == data


def test_a_header_that_is_lost():
    """With the flag, a new one is written from the file's name; the other records keep theirs."""
    torn, body = dump(head())[:110], jsonl(*chat(3))
    for data in (body, torn + b"\n" + body):
        report = look(data, name=NAME)
        found = next(f for f in report.findings if f.code == "M701")
        assert "would overwrite this file with an empty session" in found.message
        assert mend(data, name=NAME) == data
        made = mend(data, name=NAME, unsafe=True)
        assert made.endswith(b"\n" + body)
        assert loads(made)[0]["id"] == THREAD
        assert loads(made)[0]["recovered"] is True
        assert sent(made) == [pid(1), pid(2), pid(3)]
    # What the torn piece still tells is taken over, where the file's name tells nothing.
    assert loads(mend(torn + b"\n" + body, unsafe=True))[0]["id"] == THREAD


def test_a_header_without_its_version():
    """Pi would give all records new ids, and lose what a compaction keeps by theirs."""
    first = {k: v for k, v in head().items() if k != "version"}
    made = loads(mend(jsonl(first, *chat(3))))
    assert made[0] == head()


def test_two_writers_are_joined_by_the_flag_only():
    """A plain repair leaves both branches; the flag hangs one behind the other."""
    data = session(*WRITERS)
    assert mend(data) == data
    made = mend(data, "--join-branches")
    assert sorted(sent(made)) == [pid(n) for n in range(1, 8)]


def test_a_gap_between_two_writers_is_a_guess():
    """Where two branches grew at once, nobody can tell which of them goes on: the flag decides."""
    more = [*WRITERS, speaks(9, 8, "user", "d")]
    (found,) = [f for f in look(session(*more)).findings if f.code == "G501"]
    assert found.fix.flag == "--unsafe"
    assert mend(session(*more)) == session(*more)
    assert sent(mend(session(*more), unsafe=True))[-1] == pid(9)


def test_a_late_result_is_linked_behind_its_call():
    """A prompt stands between: it hangs from the result afterwards."""
    late = [*TURN[:2], speaks(8, 2, "user", "x"), result_of(3, 8, "c1"), result_of(4, 3, "c2")]
    made = mend(session(*late, speaks(5, 4, "assistant", "done")))
    assert sent(made) == [pid(n) for n in (1, 2, 3, 4, 8, 5)]
    assert codes(look(made)) == []


@pytest.mark.parametrize("n", range(1, 7))
def test_moved_lines(n):
    """The order of lines is nothing to pi but for the last: that one is put right."""
    talk = chat(7)
    moved = [*talk[:n], *talk[n + 1 :], talk[n]]
    made = mend(session(*moved))
    assert sent(made) == [pid(i) for i in range(1, 8)]
    swapped = [*talk[: n - 1], talk[n], talk[n - 1], *talk[n + 1 :]]
    assert sent(mend(session(*swapped))) == [pid(i) for i in range(1, 8)]


def test_the_reverse_order_comes_to_rest():
    """However many lines were moved, one repair is enough."""
    assert sent(mend(session(*reversed(chat(300)))))[-1] == pid(300)


def test_every_torn_line_of_a_session():
    """Wherever a line is torn, the others are sent and the repair finds no more to do."""
    (data,) = [d for name, d in SEEDS.items() if name.startswith("2026")]
    name = next(n for n in SEEDS if n.startswith("2026"))
    parts = lines(data)
    for n, line in enumerate(parts):
        torn = b"\n".join([*parts[:n], line[: len(line) // 2], *parts[n + 1 :], b""])
        outcome = plan(torn, name=name, unsafe=True)
        made = outcome.edits.apply(torn)
        left = [f.code for f in outcome.after.findings if f.severity is not Severity.INFORMATION]
        assert left == []
        assert not plan(made, name=name, unsafe=True).edits
        assert type(sent(made)) is list
