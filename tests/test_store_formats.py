"""Files of the store are those of the agents, byte by byte, and resume states agree with them."""

from __future__ import annotations

import json
import re
import shutil
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sesstool import SessionStore, api
from sesstool.errors import InputError, UsageError
from sesstool.store import astorlm, mycodeagent
from sesstool.store.facts import Checkpoint, End, Phase, Said, Transition

NAME = "harbour"
PHASES = ("requested", "started", "completed", "failed")
SUBSETS = [names for n in range(5) for names in combinations(PHASES, n)]
ASK = {"role": "user", "content": "Buy oil"}
ERROR = '{"status": "error", "error": {"code": "%s"'


def calling(*names, content=None, tool="buy", arguments='{"n": 1}'):
    function = {"name": tool, "arguments": arguments}
    calls = [{"id": name, "type": "function", "function": function} for name in names]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(name="c1", words="done"):
    return {"role": "tool", "tool_call_id": name, "content": words}


def blocks(*content, role="user", name="m"):
    return {"id": name, "role": role, "content": list(content)}


def use(name):
    return {"type": "tool_use", "id": name, "name": "buy", "input": {"n": 1}}


def returned(name):
    return {"type": "tool_result", "tool_use_id": name, "content": "done"}


def say(words):
    return {"type": "text", "text": words}


def lived(name, *phases, tool="buy"):
    """The phases of a call, with what each holds."""
    values = {"completed": "the result", "failed": "the error"}
    return [Phase(name, tool, phase, values.get(phase, {"n": 1})) for phase in phases]


def kept(store, *facts, name=NAME):
    """A session with these facts, closed."""
    with store.open(name) as session:
        for fact in facts:
            session.record(fact if not isinstance(fact, dict) else Said(fact))
    return session.path


def records(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def found(path, form):
    """The codes of what is wrong with a session."""
    report = api.validate(path, format_name=form)
    return [f.code for f in report.findings if f.severity.name != "INFORMATION"]


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "memory" / "transcripts", "mycodeagent")


@pytest.fixture
def blocky(tmp_path):
    return SessionStore(tmp_path / "sessions", "astorlm")


def test_a_transcript_is_as_its_agent_writes_it(store, monkeypatch):
    """Key order, blanks, ids, times, runs and steps, non-ASCII text, control characters."""
    numbers = iter(range(1, 99))
    monkeypatch.setattr(mycodeagent, "uuid4", lambda: _Fixed(next(numbers)))
    monkeypatch.setattr(mycodeagent, "_now", lambda: "2026-03-01T06:00:00.000001Z")
    path = kept(
        store,
        Transition("user_input", "user_input"),
        {"role": "user", "content": 'Öl \u2028\x00\x1f\x7f\t"\\/'},
        calling("c1"),
        Phase("c1", "buy", "requested", '{"n": 1}'),
        Phase("c1", "buy", "started", {"n": 1}),
        Phase("c1", "buy", "completed", {"status": "success"}),
        result(),
        Phase("c2", "buy", "failed", "no coins"),
        Checkpoint("Oil was bought.", 2, 3, "cp-1"),
        Transition("context_compacted", "too_long", "user_input", {"id": "cp-1"}),
        {"role": "assistant", "content": "Done."},
        End("completed", {"steps": 2}),
        {"role": "user", "content": "More"},
    )
    life = '{"tool_name": "buy", "tool_call_id": "%s", "status": "%s", %s}'
    calls = '[{"id": "c1", "name": "buy", "arguments": "{\\"n\\": 1}"}]'
    step = '{"from_state": %s, "to_state": "%s", "reason": "%s", "details": %s}'
    said = '{"role": "%s", "content": "%s", "metadata": {%s}}'
    first = said % ("user", r"Öl %s\u0000\u001f%s\t\"\\/" % ("\u2028", "\x7f"), "")  # noqa: UP031 - braces
    called = said % ("assistant", "", f'"action_type": "tool_call", "tool_calls": {calls}')
    returned = said % ("tool", "done", '"tool_name": "buy", "tool_call_id": "c1"')
    compacted = (
        '{"summary": "Oil was bought.", "source_message_count": 3, "retain_start_idx": 2, '
        '"messages_compacted": 2, "metadata": {}, "checkpoint_id": "cp-1", '
        '"created_at": "2026-03-01T06:00:00.000001Z"}'
    )
    on = step % ('"user_input"', "context_compacted", "too_long", '{"id": "cp-1"}')
    expected = [
        (1, 0, "state_transition", step % ("null", "user_input", "user_input", "{}")),
        (1, 0, "message", first),
        (1, 1, "message", called),
        (1, 1, "tool_lifecycle", life % ("c1", "requested", '"args": {"n": 1}')),
        (1, 1, "tool_lifecycle", life % ("c1", "started", '"args": {"n": 1}')),
        (1, 1, "tool_lifecycle", life % ("c1", "completed", '"result": {"status": "success"}')),
        (1, 1, "message", returned),
        (1, 1, "tool_lifecycle", life % ("c2", "failed", '"error": "no coins"')),
        (1, 1, "checkpoint", compacted),
        (1, 1, "state_transition", on),
        (1, 2, "message", said % ("assistant", "Done.", '"action_type": "final"')),
        (1, 2, "terminal", '{"reason": "completed", "details": {"steps": 2}}'),
        (2, 0, "message", said % ("user", "More", "")),
    ]
    lines = [
        f'{{"event_id": "evt-{n:032x}", "timestamp": "2026-03-01T06:00:00.000001Z", '
        f'"session_id": "harbour", "run_id": "run-{run}", "step": {step}, '
        f'"event_type": "{kind}", "payload": {payload}, "schema_version": 1}}\n'
        for n, (run, step, kind, payload) in enumerate(expected, 1)
    ]
    assert path.name == "transcript-harbour.jsonl"
    assert path.read_bytes().decode() == "".join(lines)
    assert found(path, "mycodeagent") == []


class _Fixed:
    def __init__(self, number):
        self.hex = f"{number:032x}"


def test_results_and_phases_are_of_the_run_of_their_call(store):
    """Also behind a record of the next run; a prompt begins one, in which ids are free again."""
    path = kept(store, ASK, calling("c1"))
    with path.open("a") as file:
        event = {"event_type": "state_transition", "run_id": "run-2", "step": 0}
        payload = {"from_state": None, "to_state": "on", "reason": "why", "details": {}}
        file.write(json.dumps(records(path)[0] | event | {"payload": payload}) + "\n")
    started = Phase("c1", "buy", "started")
    kept(store, started, result("c1"), ASK, started)
    told = [(one["run_id"], one["event_type"]) for one in records(path)[3:]]
    assert told == [
        ("run-1", "tool_lifecycle"),
        ("run-1", "message"),
        ("run-2", "message"),
        ("run-2", "tool_lifecycle"),
    ]
    assert records(path)[3]["payload"]["args"] == {}
    assert found(path, "mycodeagent") == []


@pytest.mark.parametrize("form", ["mycodeagent", "astorlm"])
def test_half_a_character_is_kept_as_an_escape(tmp_path, form):
    """As JavaScript keeps it; a check of the file tells of it."""
    store = SessionStore(tmp_path, form)
    message = (
        blocks(say("a\ud83d")) if form == "astorlm" else {"role": "user", "content": "a\ud83d"}
    )
    path = kept(store, message)
    assert rb'"a\ud83d"' in path.read_bytes()
    assert store.resume(NAME).messages == [message]
    assert found(path, form) == ["J201"]
    both = "\ud83d\ude00"
    path = kept(
        store, blocks(say(both)) if form == "astorlm" else {"role": "user", "content": both}
    )
    assert '"\U0001f600"'.encode() in path.read_bytes().splitlines()[-1]


def test_ids_and_times_of_a_transcript_are_the_agents(store):
    """An id is of 32 hexadecimal digits, a time of UTC with microseconds."""
    [record] = records(kept(store, ASK))
    assert re.fullmatch("evt-[0-9a-f]{32}", record["event_id"])
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"
    assert re.fullmatch(time, record["timestamp"])


def test_an_astorlm_session_is_as_its_agent_writes_it(blocky, monkeypatch):
    """Both files; numbers are as JavaScript writes them."""
    monkeypatch.setattr(astorlm, "_now", lambda: 1767225600000)
    numbers = [1.0, -0.0, 1e21, 1e20, 1.5e-7, 0.000001, -2.5, 7, 123456789012345680000.0]
    bought = {**use("toolu_1"), "input": {"n": numbers, "s": "1.0,[2.0"}}
    path = kept(
        blocky,
        blocks(say('Öl \U0001f600\u2028\x00\x1f\x7f\t"\\/'), name="m1"),
        blocks(say("Buying."), bought, role="assistant", name="m2"),
        blocks(returned("toolu_1"), name="m3"),
    )
    assert path.read_bytes().decode() == (
        '{"id":"m1","role":"user","content":[{"type":"text","text":'
        '"Öl \U0001f600\u2028\\u0000\\u001f\x7f\\t\\"\\\\/"}]}\n'
        '{"id":"m2","role":"assistant","content":[{"type":"text","text":"Buying."},'
        '{"type":"tool_use","id":"toolu_1","name":"buy","input":{"n":'
        "[1,0,1e+21,100000000000000000000,1.5e-7,0.000001,-2.5,7,123456789012345680000],"
        '"s":"1.0,[2.0"}}]}\n'
        '{"id":"m3","role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",'
        '"content":"done"}]}\n'
    )
    side = (
        '{\n  "id": "harbour",\n  "metadata": {},\n'
        '  "createdAt": 1767225600000,\n  "updatedAt": 1767225600000\n}'
    )
    assert (path.parent / "harbour.meta.json").read_text() == side
    assert found(path, "astorlm") == []


def test_of_a_side_file_only_the_time_is_written_anew(blocky, monkeypatch):
    """All else, and its mode, is the owner's."""
    monkeypatch.setattr(astorlm, "_now", lambda: 1767225600001)
    blocky.folder.mkdir()
    side = blocky.folder / "harbour.meta.json"
    told = '{ "updatedAt" : 5,\n"metadata": {"x": 1.0, "ü": "\\ud83d"}, "id":"harbour" }\n'
    side.write_text(told)
    side.chmod(0o640)
    kept(blocky, blocks(say("a")))
    assert side.read_text() == told.replace(": 5,", ": 1767225600001,")
    assert side.stat().st_mode & 0o777 == 0o640
    side.write_text('{"id": "harbour"}')
    kept(blocky, blocks(say("b")))
    assert json.loads(side.read_text()) == {"id": "harbour", "updatedAt": 1767225600001}


def test_a_session_without_a_record_leaves_nothing(store, blocky):
    """Until the first one there is no file."""
    for one in (store, blocky):
        with one.open(NAME):
            pass
        assert list(one.folder.iterdir()) == []
        assert one.list() == []


@pytest.mark.parametrize(
    "message",
    [
        blocks({**returned("t"), "content": [say("done")]}),
        {"role": "user", "content": 5},
        {"role": "user", "content": ["a"]},
        {"role": "tool", "content": "a"},
    ],
)
def test_astorlm_is_not_given_what_it_cannot_keep(blocky, message):
    """It keeps no result that is a list of blocks, and no role of its own for tools."""
    with blocky.open(NAME) as session, pytest.raises(UsageError):
        session.append(message)
    assert list(blocky.folder.iterdir()) == []


def test_messages_are_those_of_the_file_whatever_was_given(store):
    """A list that is changed later, tuples, number keys, halves of a character."""
    with store.open(NAME) as session:
        session.messages()  # from here on they are kept up
        message = {"role": "user", "content": "\ud83d\ude00", "parts": [(1, 2)], 3: 4}
        session.append(message)
        message["parts"].append("later")
        assert session.messages() == [
            {"role": "user", "content": "\U0001f600", "parts": [[1, 2]], "3": 4}
        ]
        assert store.resume(NAME).messages == session.messages()


def test_what_is_nested_too_deep_is_refused(store):
    """It could not be read back."""
    deep = []
    for _ in range(5000):
        deep = [deep]
    with store.open(NAME) as session:
        session.append(ASK)
        with pytest.raises(UsageError):
            session.append({"role": "user", "content": "a", "deep": deep})
        session.append(ASK)
    assert len(store.resume(NAME).messages) == 2


CORPUS = {
    "session-checkpoint_two_runs": ("run-3", [], {"call_1": "completed"}),
    "session-done": ("run-2", [], {"call_1": "completed"}),
    "session-failed": ("run-2", [], {"call_1": "failed"}),
    "session-lost_observation": ("run-2", [], {"call_1": "completed"}),
    "session-missing_newline": ("run-2", [], {"call_1": "completed"}),
    "session-pending": ("run-2", [], {"call_1": "pending"}),
    "session-truncated_tail": ("run-2", [], {"call_1": "completed"}),
    "session-uncertain": ("run-2", ["T401"], {"call_1": "uncertain", "call_2": "uncertain"}),
    "session-unknown_event": ("run-2", ["S304"], {"call_1": "completed"}),
    "quest-1": (None, [], {"toolu_1": "completed"}),
    "quest-1-fork": (None, [], {"toolu_1": "uncertain"}),
    "quest-empty": (None, [], {}),
    "quest-truncated": (None, [], {"toolu_1": "completed"}),
    "quest-unanswered": (None, [], {"toolu_1": "uncertain"}),
}


@pytest.mark.parametrize("name", [*CORPUS, "session-bad_middle", "quest-badmiddle"])
def test_the_agents_own_files_are_gone_on_with(shared, tmp_path, name):
    """What is there keeps its bytes but for a torn tail; what is damaged inside is refused."""
    form = "astorlm" if name.startswith("quest") else "mycodeagent"
    for path in (shared / "corpus" / form).rglob(f"*{name}.*"):
        shutil.copyfile(path, tmp_path / path.name)
    store = SessionStore(tmp_path, form)
    path = store.path(name)
    before = path.read_bytes()
    if name not in CORPUS:
        with pytest.raises(InputError, match="more than a torn tail"):
            store.open(name)
        assert path.read_bytes() == before
        return
    run, findings, states = CORPUS[name]
    with store.open(name) as session:
        told = session.resume()
        session.append(blocks(say("Go on")) if form == "astorlm" else ASK)
    assert {call.id: call.state for call in told.calls} == states
    assert store.resume(name).messages[:-1] == told.messages
    whole = before[: before.rfind(b"\n") + 1] if "truncated" in name else before
    assert path.read_bytes().startswith(whole)
    last = records(path)[-1]
    assert last.get("run_id") == run
    assert found(path, form) == findings


def known(phases):
    """What the facts say of a call by its phases: state, the agent's code, and what it is told."""
    if "completed" in phases:
        return "completed", "", "the result"
    if "failed" in phases:
        return "failed", "EXECUTION_FAILED", "the error"
    if "started" in phases:
        return "uncertain", "INTERRUPTED_UNCERTAIN", "unknown"
    if "requested" in phases:
        return "pending", "NOT_EXECUTED_REPLAN", "not run"
    return "uncertain", "RECOVERY_STATE_UNKNOWN", "unknown"


def agrees(words, phases):
    """Whether a result that was put in says what is known."""
    _, code, told = known(phases)
    if not code:
        return words == told
    body = json.loads(words)
    error = body["error"]
    shape = {"status": "error", "error": error, "data": {"recovered": True}}
    return (
        list(body) == ["status", "error", "data"]
        and list(error) == ["code", "message"]
        and body == shape
        and error["code"] == code
        and told in error["message"]
    )


@pytest.mark.parametrize("phases", [*SUBSETS, *(names[::-1] for names in SUBSETS if names[1:])])
def test_a_call_without_result_is_what_its_phases_tell(store, phases):
    """Completed before failed, then pending, then uncertain, in whatever order they came."""
    kept(store, ASK, calling("c1"), *lived("c1", *phases))
    told = store.resume(NAME)
    [call] = told.calls
    assert (call.id, call.tool, call.state, call.answered) == ("c1", "buy", known(phases)[0], False)
    *_, answer = told.messages
    assert (answer["role"], answer["tool_call_id"]) == ("tool", "c1")
    assert agrees(answer["content"], phases)
    assert told.uncertain == ((call,) if call.state == "uncertain" else ())
    assert told.pending == ((call,) if call.state == "pending" else ())
    with store.open(NAME) as session:
        assert session.resume() == told
    assert store.resume(NAME).messages == told.messages
    record = records(session.path)[-1]
    assert record["payload"]["metadata"] == {
        "tool_name": "buy",
        "tool_call_id": "c1",
        "recovered": True,
        "madeBy": "sesstool",
    }
    assert found(session.path, "mycodeagent") == []
    [again] = store.resume(NAME).calls
    assert (again.state, again.answered) == (call.state, True)


@pytest.mark.parametrize("phases", SUBSETS)
def test_a_result_in_the_history_is_one(store, phases):
    """The message is what the model is told; only a recorded failure makes it one."""
    kept(store, ASK, calling("c1"), *lived("c1", *phases), result("c1", "its words"))
    told = store.resume(NAME)
    [call] = told.calls
    failed = "failed" in phases and "completed" not in phases
    assert (call.state, call.answered) == ("failed" if failed else "completed", True)
    assert told.messages == [ASK, calling("c1"), result("c1", "its words")]


def test_calls_of_the_same_id_are_told_apart_by_their_runs(store):
    """Also where they ask for the same: what is known of one is not known of the other."""
    kept(
        store,
        *(ASK, calling("c1"), *lived("c1", "requested", "started", "completed"), result()),
        *(ASK, calling("c1"), *lived("c1", "requested", "started")),
        *(ASK, calling("c1"), *lived("c1", "requested")),
    )
    told = store.resume(NAME)
    states = [(call.run, call.state, call.answered) for call in told.calls]
    assert states == [
        ("run-1", "completed", True),
        ("run-2", "uncertain", False),
        ("run-3", "pending", False),
    ]
    assert told.messages[:4] == [ASK, calling("c1"), result(), ASK]
    assert agrees(told.messages[5]["content"], ["started"])
    assert agrees(told.messages[8]["content"], ["requested"])


def test_calls_of_the_same_id_are_told_apart_in_one_run(store):
    """By the message that they stand in."""
    one, other = calling("c1"), calling("c1", arguments='{"n": 2}')
    kept(store, ASK, one, *lived("c1", "requested", "started", "completed"), other)
    assert [call.state for call in store.resume(NAME).calls] == ["completed", "uncertain"]
    _, _, first, _, second = store.resume(NAME).messages
    assert agrees(first["content"], ["completed"])
    assert agrees(second["content"], [])


def test_of_several_calls_those_without_result_are_answered(store):
    """Behind the results that are there, in the order of the calls."""
    said = [ASK, calling("a", "b", "c"), result("b")]
    kept(store, *said[:2], *lived("c", "requested"), said[2])
    told = store.resume(NAME)
    assert told.messages[:3] == said
    assert [message["tool_call_id"] for message in told.messages[3:]] == ["a", "c"]
    assert agrees(told.messages[3]["content"], [])
    assert agrees(told.messages[4]["content"], ["requested"])


def test_a_hole_in_the_middle_is_answered_where_it_is(store):
    """In what is sent; the file is not changed there."""
    path = kept(store, ASK, calling("c1"), *lived("c1", "requested", "started"), ASK)
    before = path.read_bytes()
    told = store.resume(NAME)
    assert [message["role"] for message in told.messages] == ["user", "assistant", "tool", "user"]
    assert agrees(told.messages[2]["content"], ["started"])
    with store.open(NAME) as session:
        assert session.resume(unanswered="drop") == told
    assert path.read_bytes() == before


def test_a_result_that_follows_no_call_is_not_sent(store, blocky):
    """The provider refuses it; what it says is told where its call is."""
    late = result("c1", "late words")
    kept(store, ASK, calling("c1"), {"role": "assistant", "content": "Hm."}, late, result("x"))
    told = store.resume(NAME).messages
    assert told == [
        ASK,
        calling("c1"),
        result("c1", "late words"),
        {"role": "assistant", "content": "Hm."},
    ]
    asked = blocks(use("a"), role="assistant")
    kept(blocky, asked, blocks(returned("a"), returned("x"), say("and")), blocks(returned("y")))
    assert blocky.resume(NAME).messages == [asked, blocks(returned("a"), say("and"))]


def test_the_call_of_an_older_version_is_answered_too(store):
    """Its id, tool and arguments stand beside each other."""
    older = {"action_type": "tool_call", "tool_name": "buy", "tool_call_id": "c1"}
    older["tool_args"] = {"n": 1}
    path = kept(store, ASK)
    value = records(path)[0] | {"run_id": "legacy-1"}
    value["payload"] = {"role": "assistant", "content": "Buying.", "metadata": older}
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")
    told = store.resume(NAME)
    assert told.messages[:2] == [ASK, calling("c1", content="Buying.")]
    assert agrees(told.messages[2]["content"], [])
    kept(store, *talk(1), Checkpoint("sum", 3, 4))  # the agent puts in no result there
    assert store.resume(NAME).messages == [SUMMARY, *talk(1)[1:]]


def test_a_dropped_call_leaves_what_else_is_told_of_its_message(store):
    """And a call of an older version is dropped, too."""
    older = {"action_type": "tool_call", "tool_name": "buy", "tool_call_id": "c1"}
    older |= {"tool_args": {"n": 1}, "reasoning_content": "Hm."}
    path = kept(store, ASK)
    value = records(path)[0] | {"run_id": "legacy-1"}
    value["payload"] = {"role": "assistant", "content": "Buying.", "metadata": older}
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")
    with store.open(NAME) as session:
        session.resume(unanswered="drop")
        session.append(ASK)
    assert store.resume(NAME).messages == [ASK, {"role": "assistant", "content": "Buying."}, ASK]
    left = {"reasoning_content": "Hm.", "action_type": "final"}
    assert records(path)[1] == value | {
        "payload": {"role": "assistant", "content": "Buying.", "metadata": left}
    }
    assert records(path)[-1]["run_id"] == "run-2"
    assert found(path, "mycodeagent") == []


def talk(*numbers):
    """Prompts and answers, told apart by their numbers."""
    return [
        message
        for n in numbers
        for message in (
            {"role": "user", "content": f"ask {n}"},
            {"role": "assistant", "content": f"say {n}"},
        )
    ]


SUMMARY = {"role": "system", "content": "sum"}


@pytest.mark.parametrize("keep_from", [0, 1, 2, 3, 4, 9])
def test_a_checkpoint_stands_for_what_it_does_not_keep(store, keep_from):
    """From its index on all is sent; an index beyond all keeps nothing of what was there."""
    with store.open(NAME) as session:
        for message in talk(1, 2):
            session.append(message)
        session.messages()
        session.record(Checkpoint("sum", keep_from, 4))
        session.append(ASK)
        assert session.messages() == [SUMMARY, *talk(1, 2)[keep_from:], ASK]
        assert store.resume(NAME).messages == session.messages()
    assert store.resume(NAME).checkpoint.keep_from == keep_from


def test_the_last_of_several_checkpoints_counts(store):
    """Its index counts from the beginning of the session."""
    kept(store, *talk(1), Checkpoint("old", 1, 2), *talk(2), Checkpoint("sum", 2, 4), *talk(3))
    assert store.resume(NAME).messages == [SUMMARY, *talk(2, 3)]


def test_an_index_counts_the_results_that_the_agent_puts_in(store):
    """Behind a call that was given up there is one more message for its reader."""
    given_up = [ASK, calling("c1"), *talk(1, 2)]
    kept(store, *given_up, Checkpoint("sum", 5, 7))
    assert store.resume(NAME).messages == [SUMMARY, *talk(2)]
    kept(store, *given_up, Checkpoint("sum", 4, 6), name="as-written")
    assert store.resume("as-written").messages == [SUMMARY, *talk(2)]


@pytest.mark.parametrize("keep_from", [2, 3, 4, 9])
def test_a_window_never_parts_a_call_from_its_results(store, keep_from):
    """Neither results that are there, nor one that comes behind the checkpoint."""
    called = calling("a", "b")
    kept(store, ASK, called, result("a"), Checkpoint("sum", keep_from, 3), result("b"), *talk(1))
    expected = [SUMMARY, called, result("a"), result("b"), *talk(1)]
    assert store.resume(NAME).messages == expected
    done = [ASK, called, result("a"), result("b")]
    kept(store, *done, Checkpoint("sum", keep_from, 4), *talk(1), name="done")
    window = done[1:] if keep_from < 4 else []
    assert store.resume("done").messages == [SUMMARY, *window, *talk(1)]


def test_a_later_checkpoint_may_keep_more(store):
    """What is known of a call that was left out is known still."""
    kept(store, calling("c1"), *lived("c1", "completed"), ASK, *_BACK)
    told = store.resume(NAME)
    assert told.messages == [SUMMARY, calling("c1"), result("c1", "the result"), ASK]


def test_calls_before_a_checkpoint_are_named_where_nobody_knows(store):
    """Those that ended are done with; the others are still to be checked."""
    kept(
        store,
        *(ASK, calling("done"), *lived("done", *PHASES[:3]), result("done")),
        *(calling("lost"), *lived("lost", "requested", "started")),
        *(ASK, calling("known"), *lived("known", *PHASES[:3]), ASK, TEXT),
        Checkpoint("sum", 9, 10),
    )
    told = store.resume(NAME)
    assert told.messages == [SUMMARY, TEXT]
    assert [(call.id, call.state) for call in told.calls] == [("lost", "uncertain")]


def test_an_imported_snapshot_is_no_checkpoint(store):
    """It tells of files that were read, and keeps every message."""
    path = kept(store, *talk(1))
    value = records(path)[0] | {"event_type": "checkpoint", "run_id": "legacy-1"}
    value["payload"] = {
        "runtime_state": {"read_cache": {}},
        "legacy_snapshot_import": True,
        "checkpoint_id": "legacy-snapshot-import",
    }
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")
    told = store.resume(NAME)
    assert (told.messages, told.checkpoint) == (talk(1), None)
    assert records(kept(store, ASK))[-1]["run_id"] == "run-2"


def test_a_role_that_the_agent_passes_over_is_not_sent(store):
    """Nor are records of another session."""
    path = kept(store, *talk(1))
    for changes in ({"payload": {"role": "critic", "content": "a"}}, {"session_id": "other"}):
        with path.open("a") as file:
            file.write(json.dumps(records(path)[0] | changes) + "\n")
    assert store.resume(NAME).messages == talk(1)


TEXT = {"role": "assistant", "content": "Buying."}
DROPPED = {
    "alone": ([ASK, calling("a")], [ASK]),
    "with words": ([ASK, calling("a", content="Buying.")], [ASK, TEXT]),
    "beside one that was answered": (
        [ASK, calling("a", "b"), result("a")],
        [ASK, calling("a"), result("a")],
    ),
    "in the middle of others": (
        [ASK, calling("a", "b", "c"), result("a"), result("c")],
        [ASK, calling("a", "c"), result("a"), result("c")],
    ),
}


@pytest.mark.parametrize("form", ["mycodeagent", "openai-chat"])
@pytest.mark.parametrize("case", DROPPED)
def test_an_unanswered_call_is_dropped(tmp_path, home, form, case):
    """The file is what the state said, is sound, and what was cut is kept."""
    said, left = DROPPED[case]
    store = SessionStore(tmp_path / "sessions", form)
    path = kept(store, *said)
    lines = path.read_bytes().splitlines(keepends=True)
    assert store.resume(NAME, unanswered="drop").messages == left
    with store.open(NAME) as session:
        assert session.resume(unanswered="drop").messages == left
        assert session.messages() == left
        session.append(ASK)
    assert store.resume(NAME).messages == [*left, ASK]
    assert found(path, form) == []
    cut = b"".join(path.read_bytes() for path in (home / ".state").rglob("cut.bin"))
    assert cut == lines[1]
    after = path.read_bytes().splitlines(keepends=True)
    assert after[0] == lines[0]
    assert set(lines[2:]) <= set(after)


@pytest.mark.parametrize("case", DROPPED)
@pytest.mark.parametrize("form", ["mycodeagent", "openai-chat"])
def test_an_unanswered_call_is_answered(tmp_path, form, case):
    """The file is what the state said, and is sound; a second resume has nothing to do."""
    said, _ = DROPPED[case]
    store = SessionStore(tmp_path / "sessions", form)
    path = kept(store, *said)
    before = path.read_bytes()
    with store.open(NAME) as session:
        told = session.resume()
        assert session.messages() == told.messages
        after = path.read_bytes()
        assert session.resume().messages == told.messages
    assert after == path.read_bytes()
    assert after.startswith(before)
    assert store.resume(NAME).messages == told.messages
    assert found(path, form) == []
    assert [call.state for call in store.resume(NAME).uncertain] == [
        call.state for call in told.uncertain
    ]


@pytest.mark.parametrize("mode", ["answer", "drop"])
@pytest.mark.parametrize(
    ("content", "results"),
    [
        ([use("a")], []),
        ([{"type": "thinking", "thinking": "Hm"}, use("a")], []),
        ([say("Buying."), use("a")], []),
        ([use("a"), use("b")], [returned("a")]),
        ([use("a"), use("b"), use("c")], [returned("c"), returned("a")]),
        ([use("a"), use("b")], [returned("a"), say("and go on")]),
    ],
)
def test_astorlm_calls_are_answered_and_dropped(blocky, content, results, mode):
    """All results come first, then words: the provider takes nothing else."""
    said = [blocks(say("Go")), blocks(*content, role="assistant")]
    said += [blocks(*results)] if results else []
    path = kept(blocky, *said)
    with blocky.open(NAME) as session:
        told = session.resume(unanswered=mode)
        assert session.messages() == told.messages
        session.append(blocks(say("More")))
    assert blocky.resume(NAME).messages[:-1] == told.messages
    assert found(path, "astorlm") == []
    for message in told.messages:
        assert {block["type"] for block in message["content"]} != {"thinking"}
    answered = {r["tool_use_id"] for r in results if "tool_use_id" in r}
    asked = [b["id"] for b in content if b["type"] == "tool_use"]
    sent = [block for message in told.messages for block in message["content"]]
    left = [b["id"] for b in sent if b["type"] == "tool_use"]
    assert left == (asked if mode == "answer" else [n for n in asked if n in answered])
    assert sorted(b["tool_use_id"] for b in sent if b["type"] == "tool_result") == sorted(left)
    assert [b for b in sent if b["type"] == "text"][1:] == [
        b for b in (*content, *results) if b["type"] == "text"
    ]


def test_only_tools_that_change_nothing_may_be_repeated(store):
    """By the format's table, and by what the user adds to it."""
    read, run = calling("a", tool="Read"), calling("b", tool="consult")
    said = [ASK, {**read, "tool_calls": read["tool_calls"] + run["tool_calls"]}]
    kept(store, *said, *lived("a", "started", tool="Read"), *lived("b", "started", tool="consult"))
    one, other = store.resume(NAME).calls
    assert (one.repeatable, other.repeatable) == (True, False)
    one, other = store.resume(NAME, harmless={"consult"}).calls
    assert (one.repeatable, other.repeatable) == (True, True)
    assert (one.state, other.state) == ("uncertain", "uncertain")


_IDS = st.sampled_from(["c1", "c2"])
_FACTS = st.one_of(
    st.just(ASK).map(Said),
    st.lists(_IDS, min_size=1, max_size=3).map(lambda names: Said(calling(*names))),
    st.just(TEXT).map(Said),
    _IDS.map(lambda name: Said(result(name))),
    st.tuples(_IDS, st.sampled_from(PHASES)).map(lambda told: lived(*told)[0]),
    st.integers(0, 12).map(lambda n: Checkpoint("sum", n, n)),
    st.just(Transition("on", "why")),
    st.just(End("completed")),
    st.just("reopen"),
)


_BACK = [Checkpoint("sum", 1, 1), Checkpoint("sum", 0, 0)]


@settings(max_examples=150, deadline=None)
@example(["reopen", Said(calling("c1", "c1")), Said(result("c1")), Checkpoint("sum", 1, 2)])
@example([*lived("c1", "requested"), Said(result("c1")), Said(calling("c1", "c2"))])
@example([Said(calling("c1")), *lived("c1", "completed"), Said(ASK), *_BACK])
@given(st.lists(_FACTS, max_size=25))
def test_a_state_depends_on_the_file_alone(tmp_path_factory, facts):
    """Whatever was recorded: what the writer sends is what a resume gives, and is sound."""
    store = SessionStore(tmp_path_factory.mktemp("store"), "mycodeagent", durability="never")
    session = store.open(NAME)
    for fact in facts:
        if fact == "reopen":
            session.close()
            session = store.open(NAME)
        else:
            session.record(fact)
        said = session.messages()
        if session.path.exists():
            assert store.resume(NAME).messages == said
    told = session.resume()
    session.close()
    if session.path.exists():
        again = store.resume(NAME)
        assert again.messages == told.messages
        assert again == store.resume(NAME)
        known_before = [(call.id, call.run, call.state) for call in told.calls]
        assert [(call.id, call.run, call.state) for call in again.calls] == known_before
    _is_sound(told.messages)


def _is_sound(messages):
    """Every call is answered at once, behind it, and nothing else is."""
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        waiting = list({call["id"] for call in message.get("tool_calls", ())})
    assert waiting == []


def places(value):
    """The keys that lead to each value inside an object."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (key,)
        if isinstance(value[key], (dict, list)):
            yield from ((key, *more) for more in places(value[key]))


ODD = [None, True, -1, 1.5, 10**400, "", "x", [], [[]], {}, {"a": [{}]}, ["x"], "\ud83d"]
TALKS = {
    "mycodeagent": [
        ASK,
        Transition("on", "why", "off", {"subagent": {"session_id": "x"}}),
        calling("c1", "c2", content=""),
        *lived("c1", "requested", "completed"),
        result("c1"),
        Checkpoint("sum", 1, 3, "cp", (), {"a": 1}),
        End("completed", {"a": 1}),
    ],
    "openai-chat": [ASK, calling("c1", "c2"), result("c1"), TEXT],
    "astorlm": [
        blocks(say("Go")),
        blocks(say("Buying."), use("a"), use("b"), role="assistant"),
        blocks(returned("a"), say("and")),
    ],
}


@pytest.mark.parametrize("form", TALKS)
def test_any_value_anywhere_is_read(tmp_path, form):
    """Whatever stands in a record: a state, or an error that says what to do."""
    store = SessionStore(tmp_path / "sessions", form, durability="never")
    path = kept(store, *TALKS[form])
    base = records(path)
    side = tmp_path / "sessions" / "harbour.meta.json"
    for number, record in enumerate(base):
        for place in places(record):
            for odd in ODD:
                changed = json.loads(json.dumps(record))
                inside = changed
                for key in place[:-1]:
                    inside = inside[key]
                inside[place[-1]] = odd
                lines = [*base[:number], changed, *base[number + 1 :]]
                path.write_text("".join(json.dumps(one) + "\n" for one in lines))
                side.unlink(missing_ok=True)
                try:
                    told = store.resume(NAME)
                except InputError:
                    continue
                if number == len(base) - 1 or odd in ([[]], "x"):
                    _goes_on(store, form, told)


def _goes_on(store, form, told):
    """A session of any records is resumed, and written to."""
    with store.open(NAME) as session:
        assert session.resume().messages == told.messages
        session.append(blocks(say("More")) if form == "astorlm" else ASK)
        session.messages()
