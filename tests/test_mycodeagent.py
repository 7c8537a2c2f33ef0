"""MyCodeAgent: what its events mean, what its reader refuses, and what a lost result becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sesstool.formats.events import Checkpoint, Message, Meta, ToolCall, ToolResult
from sesstool.formats.mycodeagent import MyCodeAgent
from sesstool.records.heal import Kind
from tests.conftest import codes, jsonl, loads, look, mend, read

FORM = MyCodeAgent()
NAME = "transcript-session-mill.jsonl"


def told(kind: str, n: int = 0, run: str = "run-1", **payload: Any) -> dict[str, Any]:
    """An event; `n` makes its id and time."""
    return {
        "event_id": f"evt-{n:032x}",
        "timestamp": f"2026-03-01T06:{n // 60:02d}:{n % 60:02d}.000001Z",
        "session_id": "session-mill",
        "run_id": run,
        "step": 1,
        "event_type": kind,
        "payload": payload,
        "schema_version": 1,
    }


def said(role: str, words: str = "words", n: int = 0, run: str = "run-1", **metadata: Any) -> Any:
    return told("message", n, run, role=role, content=words, metadata=metadata)


def asks(*call_ids: str, n: int = 0, run: str = "run-1", arguments: Any = "{}") -> Any:
    calls = [{"id": i, "name": "Bash", "arguments": arguments} for i in call_ids]
    return said("assistant", "", n, run, action_type="tool_call", tool_calls=calls)


def older(call_id: str, arguments: Any = None) -> Any:
    """A call as older versions wrote it: in the metadata itself."""
    call = {"tool_name": "Bash", "tool_call_id": call_id, "tool_args": arguments}
    return said("assistant", "", action_type="tool_call", **call)


def keeps(begin: int, total: int | None = None) -> Any:
    """A checkpoint whose window begins at a message, of as many as there are in all."""
    counted = {} if total is None else {"source_message_count": total}
    numbers = counted | {"retain_start_idx": begin, "messages_compacted": begin}
    return told("checkpoint", checkpoint_id="c", summary="so far", **numbers)


def window(records: list[Any]) -> tuple[Any, ...]:
    """The numbers of the last checkpoint."""
    last = [r["payload"] for r in records if r["event_type"] == "checkpoint"][-1]
    names = ("retain_start_idx", "source_message_count", "messages_compacted")
    return tuple(last.get(name) for name in names)


def tells(call_id: str, words: str = "seen", n: int = 0, run: str = "run-1", **more: Any) -> Any:
    return said("tool", words, n, run, tool_name="Bash", tool_call_id=call_id, **more)


def life(call_id: str, *statuses: str, run: str = "run-1", **more: Any) -> list[Any]:
    """The events of a call; the last one holds `more`."""
    last = len(statuses) - 1
    return [
        told("tool_lifecycle", 50 + i, run, tool_name="Bash", tool_call_id=call_id, status=status)
        | {"payload": {"tool_name": "Bash", "tool_call_id": call_id, "status": status}}
        | ({"payload": {"tool_call_id": call_id, "status": status} | more} if i == last else {})
        for i, status in enumerate(statuses)
    ]


def session(*records: Any) -> bytes:
    """A session of these records, each with an id of its own."""
    flat = [r for one in records for r in (one if type(one) is list else [one])]
    return jsonl(*(r | {"event_id": f"evt-{n:032x}"} for n, r in enumerate(flat)))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (said("user"), [Message("/payload/content", "user", "words", prompt=True)]),
        (
            said("user", source="completion_gate"),
            [Message("/payload/content", "user", "words")],
        ),
        (said("summary"), [Message("/payload/content", "system", "words")]),
        (
            asks("a"),
            [
                ToolCall("/payload/metadata/tool_calls/0", "a", "Bash", "{}"),
                Message("/payload/content", "assistant", ""),
            ],
        ),
        (tells("a"), [ToolResult("/payload/metadata", "a", "seen")]),
        (
            tells("a", recovered=True),
            [ToolResult("/payload/metadata", "a", "seen", placeholder=True)],
        ),
        (
            older("a", {"cmd": "ls"}),
            [
                ToolCall("/payload/metadata", "a", "Bash", {"cmd": "ls"}, inside="/tool_args"),
                Message("/payload/content", "assistant", ""),
            ],
        ),
        (
            said("assistant", action_type="final", tool_name="Bash", tool_call_id="a"),
            [Message("/payload/content", "assistant", "words")],
        ),
        (said("tool"), [Message("/payload/content", "tool", "words")]),
        (
            told("checkpoint", checkpoint_id="c", retain_start_idx=4),
            [Checkpoint("/payload", summary=True, kept_from=4)],
        ),
        (
            told("checkpoint", checkpoint_id="c", legacy_snapshot_import=True),
            [Meta("/payload", "checkpoint")],
        ),
        (told("terminal", reason="completed"), [Meta("/payload", "terminal")]),
        (told("weather"), [Meta("/payload", "weather")]),
    ],
)
def test_meaning(record, expected):
    """Each kind of event has its meaning."""
    assert FORM.meaning(record).events == expected


@pytest.mark.parametrize("junk", [None, 7, "x", [], [None], {}, {"role": []}])
def test_meaning_takes_anything(junk):
    """However wrong its fields, an event has a meaning, and the rules pass over it unharmed."""
    for kind in ("message", "tool_lifecycle", "checkpoint", junk):
        for key in ("payload", "step", "session_id", "event_id"):
            FORM.meaning({"event_type": kind, key: junk})
        for key in ("role", "content", "metadata", "status", "tool_call_id"):
            record = told("message") | {"event_type": kind, "payload": {"role": "tool", key: junk}}
            look(jsonl(said("user"), record, said("assistant")), name=NAME)
        for key in ("tool_calls", "tool_call_id", "recovered"):
            record = told("message", role="assistant", content="", metadata={key: junk})
            look(jsonl(said("user"), record), name=NAME)


@pytest.mark.parametrize(
    ("events", "state", "code"),
    [
        ([], "uncertain", "RECOVERY_STATE_UNKNOWN"),
        (life("a", "odd"), "uncertain", "RECOVERY_STATE_UNKNOWN"),
        (life("a", "requested"), "never started", "NOT_EXECUTED_REPLAN"),
        (life("a", "requested", "started"), "uncertain", "INTERRUPTED_UNCERTAIN"),
        (life("a", "requested", "started", "failed"), "failed", "EXECUTION_FAILED"),
        (life("a", "started", run="run-2"), "uncertain", "RECOVERY_STATE_UNKNOWN"),
        (life("b", "requested"), "uncertain", "RECOVERY_STATE_UNKNOWN"),
    ],
)
def test_an_answer_says_what_the_events_prove(events, state, code):
    """The code is the one that the agent's own loader would give, and the text no more."""
    before = [said("user"), asks("a"), *events]
    data = session(*before)
    (finding,) = look(data, name=NAME).findings
    assert (finding.code, finding.labels["state"]) == ("T401", state)
    made = loads(mend(data, name=NAME))
    assert made[:2] + made[3:] == loads(data)
    assert made[2] == made[1] | {"event_id": made[2]["event_id"], "payload": made[2]["payload"]}
    assert made[2]["event_id"] not in {r["event_id"] for r in loads(data)}
    payload = made[2]["payload"]
    assert (payload["role"], payload["metadata"]["tool_call_id"]) == ("tool", "a")
    assert payload["metadata"]["recovered"] is True
    body = json.loads(payload["content"])
    assert (body["status"], body["error"]["code"]) == ("error", code)
    assert ("did not run" in body["error"]["message"]) == (state == "never started")


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"result_text": "a.md\nb.md"}, "a.md\nb.md"),
        ({"result": {"text": "é"}}, '{"text": "é"}'),
        ({"result": "", "result_text": "x"}, ""),
        ({}, '{"status": "success", "data": {"recovered": true}}'),
    ],
)
def test_a_recorded_result_is_the_answer(payload, words):
    """What a completed event holds is told as the loader would tell it, behind the call."""
    data = session(asks("a"), life("a", "requested", "started", "completed", **payload))
    made = loads(mend(data, name=NAME))
    assert made[1]["payload"]["content"] == words
    assert codes(look(jsonl(*made), name=NAME)) == []


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"error": "no such file"}, "no such file"),
        ({"result": {"error": {"code": "X", "message": "no such file"}}}, "no such file"),
        ({"error": 7}, "[sesstool] this Bash call failed; its own result was not recorded."),
    ],
)
def test_a_recorded_error_is_told(payload, words):
    """Of a failed call, the words of the error are told where an event holds them."""
    data = session(asks("a"), life("a", "failed", **payload))
    body = json.loads(loads(mend(data, name=NAME))[1]["payload"]["content"])
    assert body["error"]["message"] == words


def test_answers_stand_behind_their_siblings():
    """Two open calls of three get one result each, behind the one that is there."""
    data = session(asks("a", "b", "c"), life("b", "started"), tells("b"), said("user"))
    made = loads(mend(data, name=NAME))
    ids = [r["payload"].get("metadata", {}).get("tool_call_id") for r in made]
    assert ids == [None, None, "b", "a", "c", None]


def test_ids_count_inside_a_run():
    """A call of one run is not answered by a result of another under the same id."""
    sound = session(asks("a"), tells("a"), asks("a", run="run-2"), tells("a", run="run-2"))
    assert codes(look(sound, name=NAME)) == []
    astray = session(asks("a"), tells("a", run="run-2"))
    assert codes(look(astray, name=NAME)) == ["T401", "T402"]


PAIRS = [
    ("B105", jsonl(said("user")) + b'{"event_id":"evt-1\n' + jsonl(said("assistant", n=1)), None),
    ("T402", session(said("user"), tells("a")), session(said("user"), said("tool"))),
    ("T403", session(asks("a"), tells("a"), tells("a")), None),
    ("T404", session(asks("a"), said("user"), tells("a")), None),
    ("T405", session(asks("a", "a"), tells("a"), tells("a", "more")), None),
    (
        "T406",
        session(asks("a", arguments='{"cut'), tells("a")),
        session(asks("a", "b", arguments=None), tells("a"), tells("b")),
    ),
    ("G502", jsonl(said("user"), said("user"), said("assistant", n=1)), None),
    ("M706", session(said("user"), said("user") | {"session_id": "other"}), None),
    (
        "M707",
        session(said("user") | {"session_id": "subagent-x"}),
        session(said("user", "subagent-x")),
    ),
    ("S304", session(said("user"), told("weather")), session(said("user"), told("terminal"))),
    (
        "S301",
        session(said("user"), said("assistant", 7)),
        session(said("user"), asks("a", arguments={}), tells("a")),
    ),
]


@pytest.mark.parametrize(("code", "bad", "near"), PAIRS, ids=[p[0] for p in PAIRS])
def test_rules(code, bad, near):
    """Each rule finds its fault in a transcript, and nothing in one nearly like it."""
    assert code in codes(look(bad, name=NAME))
    near = near or session(said("user"), asks("a"), tells("a"), said("assistant"))
    assert codes(look(near, name=NAME)) == []


def test_a_call_that_is_no_object_keeps_its_result():
    """Nothing can be written into it: the result stays, and a person is asked."""
    call = asks("a")
    call["payload"]["metadata"]["tool_calls"] = [None]
    data = session(call, tells("a"))
    finding = next(f for f in look(data, name=NAME).findings if f.code == "T409")
    assert finding.fix.applicability.value == "manual"
    assert mend(data, name=NAME, unsafe=True) == data


def test_a_tools_message_that_names_no_call_stays():
    """It is sent as words: nothing goes, and the call gets a result before it."""
    data = session(asks("a"), said("tool", "seen"))
    made = loads(mend(data, name=NAME))
    assert [made[0], made[2]] == loads(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event_type": "weather"}, "its event_type is none that it knows"),
        ({"event_type": ["message"]}, "its event_type is none that it knows"),
        ({"step": None}, "its step or its schema_version is no number"),
        ({"step": "one"}, "its step or its schema_version is no number"),
        ({"payload": "words"}, "its payload is no object"),
    ],
)
def test_a_record_that_the_reader_stops_at(change, message):
    """It is an error, left alone by a plain repair, and goes with the flag."""
    data = session(said("user"), said("assistant") | change, said("user"))
    finding = next(f for f in look(data, name=NAME).findings if f.code == "S304")
    assert finding.message == f"MyCodeAgent stops here, and loads no session: {message}"
    assert mend(data, name=NAME) == data
    assert loads(mend(data, name=NAME, unsafe=True)) == [loads(data)[0], loads(data)[2]]


@pytest.mark.parametrize("key", ["event_id", "timestamp", "run_id", "step", "event_type"])
def test_a_record_without_its_envelope(key):
    """What the reader needs and a record lacks is named."""
    lacking = {k: v for k, v in said("assistant", n=1).items() if k != key}
    found = look(jsonl(said("user"), lacking, said("user", n=2)), name=NAME).findings
    assert f"it has no {key}" in next(f.message for f in found if f.code == "S304")


def test_another_session_in_the_file_takes_no_part():
    """Its calls are not answered and its records stay: the reader passes over them."""
    foreign = [r | {"session_id": "session-x"} for r in (asks("a"), told("weather"))]
    data = session(said("user"), asks("b"), foreign, tells("b"))
    (finding,) = look(data, name=NAME).findings
    assert (finding.code, finding.severity.value, finding.location.line) == ("M706", "warning", 3)
    assert finding.message.startswith("2 records of 1 other sessions")
    assert mend(data, name=NAME, unsafe=True) == data


def test_a_first_record_of_another_session_hides_this_one():
    """The reader takes the session of the first record: the file's own is then an error."""
    foreign = said("user") | {"session_id": "session-x"}
    (finding,) = look(session(foreign, said("user")), name=NAME).findings
    assert (finding.code, finding.severity.value) == ("M706", "error")
    (finding,) = look(session(foreign, said("user")), name="copy.jsonl").findings
    assert finding.severity.value == "warning"


@pytest.mark.parametrize(("kept", "count"), [(0, 4), (2, 2), (3, 2), (9, 0)])
def test_a_checkpoint_keeps_messages_by_index(kept, count):
    """What is sent begins with the message of that index, wherever the checkpoint stands."""
    mark = told("checkpoint", checkpoint_id="c", summary="so far", retain_start_idx=kept)
    talk = [said("user"), asks("a"), tells("a"), said("assistant"), mark, said("user")]
    assert read(session(*talk), NAME).messages() == (count, count)


def turn(call_id: str, n: int, words: str = "seen") -> list[Any]:
    """A prompt, a call, its result and an answer."""
    told_ = [said("user", f"do {n}"), asks(call_id), tells(call_id, words)]
    return [*told_, said("assistant", f"done {n}")]


LAST = [asks("z"), tells("z"), said("assistant", "end")]


@pytest.mark.parametrize(
    ("records", "numbers"),
    [
        # Nothing is wrong before the checkpoint: the open call behind it changes no number.
        ([*turn("a", 1), said("user"), keeps(4, 5), asks("y")], (4, 5, 4)),
        # The call is lost, and its result goes: two messages less.
        ([said("user"), tells("a"), said("assistant"), said("user"), keeps(4, 5)], (2, 3, 2)),
        ([said("user"), tells("a"), said("assistant"), said("user"), keeps(3, 4)], (2, 3, 2)),
        ([said("user"), tells("a"), said("assistant"), said("user"), keeps(3)], (2, None, 2)),
        # The result is lost: the agent would put one in, and counted it.
        ([said("user"), asks("a"), said("assistant"), said("user"), keeps(4, 5)], (4, 5, 4)),
        ([said("user"), asks("a"), said("assistant"), said("user"), keeps(4)], (4, None, 4)),
        # The tool was cancelled: the agent counted no result before it was loaded anew.
        ([said("user"), asks("a"), said("user"), keeps(2, 3)], (3, 4, 3)),
        # A result is put in inside the window, none before it.
        ([said("user"), said("assistant"), said("user"), older("a"), keeps(2, 4)], (2, 5, 2)),
        # The result belongs behind its call, and is counted there or where it stands.
        ([said("user"), asks("a"), said("user"), tells("a"), keeps(3, 4)], (3, 4, 3)),
        ([said("user"), asks("a"), said("user"), tells("a"), keeps(2, 4)], (3, 4, 3)),
        # The window would begin at the result that is put in: it takes its call in.
        ([said("user"), asks("a"), keeps(2, 3)], (1, 3, 1)),
        # Nothing is kept beside the summary.
        ([said("user"), tells("a"), said("assistant"), keeps(3, 3)], (2, 2, 2)),
        # All is kept.
        ([said("user"), tells("a"), keeps(0, 2)], (0, 2, 0)),
    ],
)
def test_a_repair_keeps_the_window_of_a_checkpoint(records, numbers):
    """The index names the same message after a message before it came or went."""
    made = mend(session(*records, *LAST), name=NAME)
    assert window(loads(made)) == numbers
    assert codes(look(made, name=NAME)) == []


@pytest.mark.parametrize("counted", [0, 2])
def test_copies_that_go_are_counted_or_not(counted):
    """Where the checkpoint counts them, its window begins that much earlier; else where it did."""
    copied = said("user", "again")
    before = [*loads(session(*turn("a", 1))), copied, copied, copied]
    after = loads(session(said("user", "next"), keeps(5 + counted, 6 + counted), *LAST))
    after = [r | {"event_id": f"{r['event_id']}9"} for r in after]
    made = mend(jsonl(*before, *after), name=NAME)
    assert window(loads(made)) == (5, 6, 5)


def test_a_checkpoint_that_is_copied_itself():
    """The lines of a whole file stand twice: its window is that of the file without copies."""
    once = session(*turn("a", 1), said("user"), keeps(4, 5), *LAST)
    twice = b"".join(line * 2 for line in once.splitlines(keepends=True))
    assert mend(twice, name=NAME) == once


def test_the_window_waits_for_a_torn_line():
    """Its message may come back; where it is cut, the window begins at the prompt again."""
    lines = session(*turn("a", 1), said("user"), keeps(4, 5), *LAST).splitlines(keepends=True)
    lines[3] = lines[3][:40] + b"\n"
    data = b"".join(lines)
    assert "G508" not in codes(look(data, name=NAME))
    assert window(loads(mend(data, name=NAME, unsafe=True))) == (3, 4, 3)


def test_a_window_that_begins_at_a_result():
    """Where all messages are there, that is how it was written: information, and no edit."""
    data = session(*turn("a", 1), keeps(2, 4), said("user"))
    (finding,) = look(data, name=NAME).findings
    assert (finding.code, finding.severity.value) == ("G508", "information")
    assert "retain_start_idx to 1" in finding.fix.title
    assert mend(data, name=NAME, unsafe=True) == data


def test_a_window_that_the_provider_refuses_begins_at_the_call():
    """Messages are missing, and no prompt is near: the window takes the call of its result in."""
    data = session(*turn("a", 1), keeps(2, 5), *LAST)
    (finding,) = look(data, name=NAME).findings
    assert (finding.code, finding.severity.value) == ("G508", "error")
    assert window(loads(mend(data, name=NAME))) == (1, 4, 1)


@pytest.mark.parametrize("junk", [None, True, -3, 10**30, 1.5, "4", [], {}])
def test_a_window_of_anything(junk):
    """However wrong its numbers, a repair comes to rest."""
    for key in ("retain_start_idx", "source_message_count", "messages_compacted"):
        mark = keeps(2, 4)
        mark["payload"][key] = junk
        made = mend(session(said("user"), tells("a"), mark, asks("b")), name=NAME)
        assert mend(made, name=NAME) == made


def test_older_calls_take_part():
    """A call without a list is answered by its result, and needs one."""
    sound = session(said("user"), older("a", {"cmd": "ls"}), tells("a"), said("assistant"))
    assert codes(look(sound, name=NAME)) == []
    made = mend(session(said("user"), older("a"), said("user")), name=NAME)
    assert loads(made)[2]["payload"]["metadata"]["tool_call_id"] == "a"
    spoilt = session(said("user"), older("a", ["ls"]), tells("a"))
    assert codes(look(spoilt, name=NAME)) == ["T406"]
    assert loads(mend(spoilt, name=NAME))[1]["payload"]["metadata"]["tool_args"] == {}


def test_a_record_too_deep_is_of_no_other_session():
    """Nobody looked into it: that is all there is to say."""
    deep = b'{"session_id":"session-mill","a":' + b"[" * 3000 + b"]" * 3000 + b"}\n"
    assert codes(look(session(said("user")) + deep + session(said("assistant")), name=NAME)) == [
        "J205"
    ]


@pytest.mark.parametrize(("digits", "found"), [(4301, ["S304"]), (4300, [])])
def test_a_number_too_long(digits, found):
    """Python's decoder stops at so many digits, unless they stand in a text."""
    for number in (b"-" + b"9" * digits, b"9" * digits):
        data = session(said("user"), said("user"))[:-2] + b',"more":' + number + b"}\n"
        assert codes(look(data, name=NAME)) == found
    assert codes(look(session(said("user", "9" * digits)), name=NAME)) == []


def test_notes_on_lines_that_the_reader_stops_at():
    """A torn line in the middle keeps the session from loading; at the end it does not."""
    middle = jsonl(said("user")) + b'{"event_id":"evt-\n' + jsonl(said("assistant", n=1))
    (finding,) = look(middle, name=NAME).findings
    assert finding.notes == ("MyCodeAgent loads no session with such a line",)
    (finding,) = look(jsonl(said("user")) + b'{"event_id":"evt-', name=NAME).findings
    assert (finding.code, finding.notes) == ("B104", ())
    assert FORM.bad_line(Kind.NUL)


def test_folders(tmp_path, monkeypatch):
    """A transcript lies in its project, and is found from there by the beginning of its id."""
    path = tmp_path / "memory" / "transcripts" / NAME
    path.parent.mkdir(parents=True)
    path.touch()
    assert FORM.home(path) == tmp_path / "memory"
    assert FORM.home(tmp_path / NAME) is None
    assert FORM.home(path.with_name("notes.jsonl")) is None
    assert (FORM.session_id(path), FORM.session_id(Path("a.jsonl"))) == ("session-mill", "")
    monkeypatch.chdir(tmp_path)
    assert [p.absolute() for p in FORM.find("session-m")] == [path]
    assert list(FORM.find("*")) == []
    assert FORM.resume_command("session-mill") == "mycodeagent --resume session-mill"
