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
    assert FORM.resume_command("session-mill", "") == "mycodeagent --resume session-mill"
