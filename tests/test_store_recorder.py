"""A run is recorded to the transcript and to a trace, from one stream of facts."""

from __future__ import annotations

import json
import os
import warnings

import pytest

from sesstool import Recorder, SessionStore, api
from sesstool.audit import log
from sesstool.errors import WriteError
from sesstool.records import append
from sesstool.store import recorder as recording
from sesstool.store.reads import look

ASK = {"role": "user", "content": "Buy oil"}
SAY = {"role": "assistant", "content": "Done."}


def calling(name="c1"):
    function = {"name": "buy", "arguments": '{"thing": "oil"}'}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(words, name="c1"):
    return {"role": "tool", "tool_call_id": name, "content": words}


def records(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def payloads(path, kind):
    return [one["payload"] for one in records(path) if one["event_type"] == kind]


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "sessions", "mycodeagent")


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second each time that it is looked at."""
    ticks = iter(range(1000))
    monkeypatch.setattr(recording.time, "monotonic", lambda: float(next(ticks)))


@pytest.mark.usefixtures("clock")
def test_a_run_goes_to_transcript_and_trace(store, tmp_path):
    """The trace has every fact with its time, how long a tool took, and what the model used."""
    trace = tmp_path / "trace.jsonl"
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    with store.open("run") as session, Recorder(session, trace) as recorder:
        recorder.transition("thinking", "user_input")
        recorder.message(ASK)
        recorder.message(calling(), usage=usage)
        recorder.transition("acting", "model_returned_tool_calls", tool_count=1)
        said = recorder.run("c1", "buy", '{"thing": "oil"}', lambda thing: f"{thing} bought")
        recorder.message(result(said))
        recorder.message(SAY)
        recorder.end("completed", steps=2)
    assert said == "oil bought"
    assert store.resume("run").messages == [ASK, calling(), result("oil bought"), SAY]
    assert [one["status"] for one in payloads(session.path, "tool_lifecycle")] == [
        "requested",
        "started",
        "completed",
    ]
    assert payloads(session.path, "state_transition") == [
        {"from_state": None, "to_state": "thinking", "reason": "user_input", "details": {}},
        {
            "from_state": "thinking",
            "to_state": "acting",
            "reason": "model_returned_tool_calls",
            "details": {"tool_count": 1},
        },
    ]
    assert payloads(session.path, "terminal") == [{"reason": "completed", "details": {"steps": 2}}]
    assert store.resume("run").end.reason == "completed"
    told = records(trace)
    assert [one["event"] for one in told] == [
        *("transition", "said", "said", "transition", "phase", "phase", "phase"),
        *("said", "said", "end"),
    ]
    assert [one["after"] for one in told] == [float(n) for n in range(1, 11)]
    assert {one["session_id"] for one in told} == {"run"}
    assert all(one["time"].endswith("+00:00") for one in told)
    assert [one.get("took") for one in told if one["event"] == "phase"] == [None, None, 1.0]
    assert [one["usage"] for one in told if "usage" in one] == [usage]
    assert (told[6]["name"], told[6]["value"], told[6]["tool"]) == ("completed", said, "buy")


def test_a_format_of_messages_has_the_rest_in_the_trace_alone(tmp_path):
    """The session is none the worse."""
    store = SessionStore(tmp_path / "sessions")
    trace = tmp_path / "trace.jsonl"
    with store.open("run") as session, Recorder(session, trace) as recorder:
        recorder.message(ASK)
        recorder.message(calling())
        recorder.message(result(recorder.run("c1", "buy", {}, lambda: "done")))
        recorder.end("completed")
    assert len(records(session.path)) == 3
    assert len(records(trace)) == 7


@pytest.mark.parametrize(
    ("arguments", "returned", "said"),
    [
        (None, "done", "done"),
        ("", "done", "done"),
        ({}, {"price": 3, "ü": [1]}, '{"price": 3, "ü": [1]}'),
        ("{}", None, "null"),
        ({}, {"a": {1, 2} - {2}}, '{"a": "{1}"}'),
        ({}, {(1, 2): 3}, "{(1, 2): 3}"),
        ({}, "\ud83d", "\ud83d"),
    ],
)
def test_what_a_tool_returns_is_kept_as_text(store, arguments, returned, said):
    """It ran, so its result is kept, whatever that is."""
    with store.open("run") as session, Recorder(session) as recorder:
        recorder.message(ASK)
        recorder.message(calling())
        assert recorder.run("c1", "buy", arguments, lambda: returned) == said
    [call] = store.resume("run").calls
    assert call.state == "completed"
    assert store.resume("run").messages[-1] == result(said)


@pytest.mark.parametrize(
    ("arguments", "error"), [('{"thing": "oil"}', "ValueError: no oil"), ("{oil", "TypeError: ")]
)
def test_what_a_tool_raises_is_its_failure(store, arguments, error):
    """Arguments that are no object are one, too."""

    def buy(thing):
        raise ValueError(f"no {thing}")

    with store.open("run") as session, Recorder(session) as recorder:
        recorder.message(ASK)
        recorder.message(calling())
        said = recorder.run("c1", "buy", arguments, buy)
    assert said.startswith(error)
    [call] = store.resume("run").calls
    assert call.state == "failed"
    body = json.loads(store.resume("run").messages[-1]["content"])
    assert body["error"] == {"code": "EXECUTION_FAILED", "message": said}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_tool_leaves_its_call_uncertain(store, stop):
    """What it did until then nobody knows."""

    def buy(**_):
        raise stop

    with store.open("run") as session, Recorder(session) as recorder:
        recorder.message(ASK)
        recorder.message(calling())
        with pytest.raises(stop):
            recorder.run("c1", "buy", "{}", buy)
    [call] = store.resume("run").uncertain
    assert (call.id, call.repeatable) == ("c1", False)


def test_a_tool_runs_only_once_its_start_is_kept(store, monkeypatch):
    """Where the disk is full it does not run."""
    ran = []
    with store.open("run") as session, Recorder(session) as recorder:
        recorder.message(ASK)
        recorder.message(calling())
        monkeypatch.setattr(append.os, "write", full_disk)
        with pytest.raises(WriteError):
            recorder.run("c1", "buy", "{}", lambda: ran.append(1))
    assert ran == []


def full_disk(*_):
    raise OSError(28, "No space left on device")


class Odd:
    """Tells a secret where it is asked what it is."""

    def __repr__(self):
        raise ValueError("the harbour is mined")


@pytest.mark.parametrize("value", [float("nan"), {(1, 2): "oil"}, Odd()])
def test_a_trace_does_without_what_is_no_json(tmp_path, value):
    """One warning, that says nothing of it; what follows is written."""
    store = SessionStore(tmp_path / "sessions")
    trace = tmp_path / "trace.jsonl"
    with store.open("run") as session, Recorder(session, trace) as recorder:
        recorder.message(ASK)
        with warnings.catch_warnings(action="always", record=True) as warned:
            recorder.requested("c1", "buy", value)
            recorder.requested("c2", "buy", value)
        recorder.message(SAY)
    [warning] = warned
    assert str(warning.message).startswith(f"the trace {trace} lacks a value that is no JSON: ")
    assert "mined" not in str(warning.message)
    assert [one["event"] for one in records(trace)] == ["said", "phase", "phase", "said"]
    assert store.resume("run").messages == [ASK, SAY]


def test_a_trace_that_cannot_be_written_harms_nothing(store, tmp_path):
    """A folder in its place, a folder that is none: one warning, and the session goes on."""
    (tmp_path / "file").write_text("")
    for n, trace in enumerate([tmp_path, tmp_path / "file" / "trace.jsonl"]):
        with (
            warnings.catch_warnings(action="always", record=True) as warned,
            store.open(f"run{n}") as session,
            Recorder(session, trace) as recorder,
        ):
            recorder.message(ASK)
            recorder.message(SAY)
            recorder.end("completed")
        [warning] = warned
        assert str(warning.message) == f"the trace {trace} is not written any more: WriteError"
        assert store.resume(f"run{n}").messages == [ASK, SAY]


def test_a_trace_on_a_full_disk_harms_nothing(store, tmp_path, monkeypatch):
    """The transcript stands on another one."""
    trace, write = tmp_path / "trace.jsonl", os.write

    def full(descriptor, data):
        if os.path.samestat(os.fstat(descriptor), trace.stat()):
            write(descriptor, data[:5])
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    with store.open("run") as session, Recorder(session, trace) as recorder:
        recorder.message(ASK)
        before = trace.read_bytes()
        monkeypatch.setattr(append.os, "write", full)
        with pytest.warns(RuntimeWarning, match="WriteError"):
            recorder.message(SAY)
        monkeypatch.undo()
        recorder.message(ASK)
    assert trace.read_bytes() == before
    assert store.resume("run").messages == [ASK, SAY, ASK]


def test_subagents_and_who_started_them_name_each_other(store, tmp_path):
    """Each has a transcript of its own; without a trace of its own it writes to its parent's."""
    trace = tmp_path / "trace.jsonl"
    with (
        warnings.catch_warnings(action="error"),
        store.open("main") as session,
        store.open("scout") as other,
        Recorder(session, trace) as recorder,
    ):
        recorder.transition("acting", "model_returned_tool_calls")
        recorder.message(ASK)
        with recorder.subagent(other, "c1") as scout:
            scout.message(ASK)
            scout.message(SAY)
            scout.end("completed")
        recorder.end("completed")
    here = {"session_id": "main", "transcript": "transcript-main.jsonl"}
    there = {"session_id": "scout", "transcript": "transcript-scout.jsonl"}
    assert payloads(session.path, "state_transition")[1:] == [
        {
            "from_state": "acting",
            "to_state": "waiting",
            "reason": "subagent_started",
            "details": {"subagent": there, "tool_call_id": "c1"},
        },
        {
            "from_state": "waiting",
            "to_state": "running",
            "reason": "subagent_ended",
            "details": {"subagent": there, "end": "completed"},
        },
    ]
    assert payloads(other.path, "state_transition") == [
        {
            "from_state": None,
            "to_state": "running",
            "reason": "subagent_started",
            "details": {"parent": here, "tool_call_id": "c1"},
        }
    ]
    assert store.resume("scout").messages == [ASK, SAY]
    assert [one["session_id"] for one in records(trace)] == [
        *("main", "main", "main", "scout", "scout", "scout", "scout", "main", "main")
    ]
    for path in (session.path, other.path):
        assert api.validate(path).findings == ()


def test_a_checkpoint_keeps_the_last_messages_and_what_was_read(store, tmp_path):
    """The files stand in it as the agent keeps them."""
    lamp = tmp_path / "lamp.txt"
    lamp.write_bytes(b"oil")
    os.utime(lamp, ns=(1_772_344_800_123_000_000,) * 2)  # the agent's own cache has milliseconds
    with store.open("run") as session, Recorder(session) as recorder:
        recorder.message(ASK)
        recorder.message(calling())
        recorder.completed("c1", "buy", "done", lamp, tmp_path / "missing")
        recorder.message(result("done"))
        recorder.message(SAY)
        recorder.message(ASK)
        recorder.checkpoint("Oil was bought.", 2, why="too long")
        recorder.message(SAY)
    summary = {"role": "system", "content": "Oil was bought."}
    told = store.resume("run")
    assert told.messages == [summary, SAY, ASK, SAY]
    assert told.files == (look(str(lamp)),)
    [payload] = payloads(session.path, "checkpoint")
    assert (payload["source_message_count"], payload["retain_start_idx"]) == (5, 3)
    assert payload["metadata"] == {"why": "too long"}
    [(path, kept)] = payload["runtime_state"]["read_cache"].items()
    assert (path, kept["file_size_bytes"]) == (str(lamp), 3)
    lamp.write_bytes(b"water")
    assert told.changed_files() == [(str(lamp), "changed")]


@pytest.mark.parametrize(("keep", "index"), [(0, 4), (1, 1), (2, 1), (3, 1), (4, 0), (9, 0)])
def test_a_checkpoint_never_parts_a_call_from_its_results(store, keep, index):
    """It keeps more instead."""
    two = calling("a")
    two["tool_calls"] += calling("b")["tool_calls"]
    with store.open("run") as session, Recorder(session) as recorder:
        for message in (ASK, two, result("done", "a"), result("done", "b")):
            recorder.message(message)
        recorder.checkpoint("sum", keep)
    [payload] = payloads(session.path, "checkpoint")
    assert payload["retain_start_idx"] == index


def test_an_open_call_is_kept_by_a_checkpoint(store):
    """Its result comes later; a call that was given up counts with the result it is given."""
    with store.open("run") as session, Recorder(session) as recorder:
        recorder.message(calling("given up"))
        recorder.message(ASK)
        recorder.message(calling())
        recorder.checkpoint("sum", 0)
        recorder.message(result("done"))
    [payload] = payloads(session.path, "checkpoint")
    assert (payload["source_message_count"], payload["retain_start_idx"]) == (4, 3)
    assert store.resume("run").messages[1:] == [calling(), result("done")]


def test_a_trace_is_a_copy_that_the_log_knows(tmp_path, monkeypatch):
    """Of each session that it tells of, once: whoever erases one is told where it is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store, trace = SessionStore(tmp_path / "sessions", "mycodeagent"), tmp_path / "trace.jsonl"
    for _ in range(2):
        with store.open("harbour") as session, Recorder(session, trace) as recorder:
            recorder.message({"role": "user", "content": "Is the lamp lit?"})
            recorder.end("completed")
    assert log.copies(api.state_folder(), store.path("harbour")) == [trace]
    assert len(list(log.read(api.state_folder()))) == 1
