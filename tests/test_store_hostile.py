"""What callers, handlers and others do to an open session: it is refused, or harms nothing."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from sesstool import Recorder, SessionStore
from sesstool.errors import InputError, LiveSessionError, StalePlanError, UsageError
from sesstool.records.lock import lock_path

ASK = {"role": "user", "content": "Is the lamp lit?"}
SAY = {"role": "assistant", "content": "It is."}


def calling(*names, arguments="{}"):
    calls = [
        {"id": name, "type": "function", "function": {"name": "buy", "arguments": arguments}}
        for name in names
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name, words="done"):
    return {"role": "tool", "tool_call_id": name, "content": words}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "sessions"


@pytest.fixture
def store(folder):
    return SessionStore(folder, "mycodeagent")


def grow(path):
    with path.open("ab") as file:
        file.write(b'{"role":"user","cont')


def replace(path):
    path.with_suffix(".new").write_bytes(path.read_bytes())
    path.with_suffix(".new").replace(path)


def truncate(path):
    os.truncate(path, 0)


@pytest.mark.parametrize("do", [grow, replace, truncate, os.unlink])
@pytest.mark.parametrize("form", ["openai-chat", "mycodeagent"])
def test_a_file_that_changed_since_it_was_opened_is_not_written_to(folder, form, do):
    """Also where nothing was appended yet; and it is read back when it is opened anew."""
    store = SessionStore(folder, form)
    with store.open("harbour") as session:
        session.append(ASK)
        session.append(calling("a"))
    with store.open("harbour") as session:
        do(session.path)
        left = session.path.read_bytes() if session.path.exists() else None
        for act in (
            session.messages,
            session.resume,
            lambda: session.resume(unanswered="drop"),
            lambda: session.append(SAY),
        ):
            with pytest.raises(StalePlanError):
                act()
        assert (session.path.read_bytes() if session.path.exists() else None) == left
    with store.open("harbour") as session:
        session.append(SAY)
        assert session.messages()[-1] == SAY


def test_a_file_that_somebody_made_is_not_written_to(folder):
    """A session that had none when it was opened."""
    with SessionStore(folder).open("harbour") as session:
        session.path.write_bytes(b'{"role":"user","content":"another"}')
        with pytest.raises(StalePlanError):
            session.append(ASK)
    assert session.path.read_bytes() == b'{"role":"user","content":"another"}'


def test_the_lock_of_another_is_not_taken_away(folder):
    """Where somebody deleted that of the first."""
    store = SessionStore(folder)
    first = store.open("harbour")
    lock_path(first.path).unlink()
    second = store.open("harbour")
    first.close()
    with pytest.raises(LiveSessionError):
        store.open("harbour")
    second.close()


def test_a_lock_with_another_name_is_not_emptied(folder):
    """The other file keeps its bytes, and the session its lock."""
    folder.mkdir()
    (folder / "book").write_text("precious")
    os.link(folder / "book", folder / ".harbour.jsonl.lock")
    store = SessionStore(folder)
    with store.open("harbour"), pytest.raises(LiveSessionError):
        store.open("harbour")
    assert (folder / "book").read_text() == "precious"


def test_what_is_no_lock_file_is_told(folder):
    """With what to do about it."""
    (folder / ".harbour.jsonl.lock").mkdir(parents=True)
    with pytest.raises(Exception, match=r"harbour\.jsonl\.lock is where a lock must be") as told:
        SessionStore(folder).open("harbour")
    assert told.value.hint == "see what it is, and move it away"


@pytest.mark.parametrize("durability", ["turn", "interval"])
def test_a_session_that_nobody_has_any_more_is_let_go(folder, durability):
    """With its descriptors and threads."""
    store = SessionStore(folder, durability=durability)
    before = len(list(Path("/dev/fd").iterdir())), threading.active_count()
    store.open("harbour").append(ASK)
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "sesstool":
            thread.join()
    assert (len(list(Path("/dev/fd").iterdir())), threading.active_count()) == before
    with store.open("harbour") as session:
        assert session.messages() == [ASK]


class Message:
    """As a client library has them."""

    role, content = "user", "a"


HOLDS_ITSELF: dict = {"role": "user", "content": []}
HOLDS_ITSELF["content"].append(HOLDS_ITSELF)


@pytest.mark.parametrize("form", ["openai-chat", "mycodeagent", "astorlm"])
@pytest.mark.parametrize(
    "message",
    [
        None,
        "a",
        [ASK],
        Message(),
        HOLDS_ITSELF,
        {"role": "user", "content": (word for word in "ab")},
        {"role": "user", "content": b"a"},
        {"role": "user", "content": [{"type": "text", "text": {"a"}}]},
        calling(""),
        calling(7),
        calling("a", None),
        calling("a", arguments=b"{}"),
    ],
)
def test_whatever_is_no_message_is_refused(folder, form, message):
    """Before a byte is written, and by coroutines at once; the session goes on."""
    with SessionStore(folder, form).open("harbour") as session:
        with pytest.raises(UsageError):
            session.append(message)
        with pytest.raises(UsageError):
            asyncio.run(session.append_async(message))
        assert not session.path.exists()
        session.append(ASK)
        assert len(session.messages()) == 1


def test_what_is_given_out_is_the_callers(store):
    """A mark for the provider's cache, say, is not there in the next request."""
    with store.open("harbour") as session:
        session.append({"role": "user", "content": [{"type": "text", "text": "a"}]})
        session.append(calling("a"))
        for given in (session.messages(), session.resume().messages):
            given[0]["content"][0]["cache_control"] = {"type": "ephemeral"}
            given[1]["tool_calls"].clear()
        assert session.messages() == store.resume("harbour").messages


def test_a_coroutine_keeps_what_it_was_given(folder):
    """And not what became of it before its turn came."""
    turn = threading.Event()
    with SessionStore(folder).open("harbour") as session:
        session._worker = ThreadPoolExecutor(1)
        session._worker.submit(turn.wait)

        async def append():
            message, tasks = dict(ASK), []
            for number in range(20):
                message["content"] = str(number)
                tasks.append(asyncio.create_task(session.append_async(message)))
                await asyncio.sleep(0)
            message["content"] = "changed"
            turn.set()
            await asyncio.gather(*tasks)

        asyncio.run(append())
        assert [m["content"] for m in session.messages()] == [str(n) for n in range(20)]


def test_a_handler_that_appends_in_the_middle_of_an_append_is_refused(folder, monkeypatch):
    """What it interrupted is kept, once."""
    told = []
    with SessionStore(folder).open("harbour") as session:

        def handle(*_):
            try:
                session.append(SAY)
            except UsageError as error:
                told.append(error.hint)

        write = os.write

        def interrupted(descriptor, data):
            done = write(descriptor, data)
            if data[:1] == b"{" and not told:
                signal.raise_signal(signal.SIGUSR1)
            return done

        before = signal.signal(signal.SIGUSR1, handle)
        monkeypatch.setattr(os, "write", interrupted)
        try:
            session.append(ASK)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert told == ["have it note what happened, and append that afterwards"]
        session.append(SAY)
        assert session.messages() == [ASK, SAY]
        assert len(session) == 2
    assert session.path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("form", ["openai-chat", "mycodeagent"])
def test_what_was_learned_later_stands_for_what_was_made_up(folder, form):
    """A person looks, and says what became of the call."""
    store = SessionStore(folder, form)
    with store.open("harbour") as session:
        session.append(ASK)
        session.append(calling("a", "b"))
        session.append(result("b", "first"))
        assert len(session.resume().uncertain) == 1
        session.append(result("a", "there is a ticket"))
        session.append(result("b", "second"))
        said = [m["content"] for m in session.messages()]
    assert said == [ASK["content"], None, "first", "there is a ticket"]
    state = store.resume("harbour")
    assert [m["content"] for m in state.messages] == said
    assert state.uncertain == ()


def test_astorlm_results_are_sent_in_one_message(folder):
    """As Anthropic wants them, and first in it; words that came with one follow."""
    store = SessionStore(folder, "astorlm")
    uses = [{"type": "tool_use", "id": n, "name": "buy", "input": {}} for n in ("a", "b", "c")]
    words = {"type": "text", "text": "and go on"}
    with store.open("harbour") as session:
        session.append(ASK)
        session.append({"role": "assistant", "content": uses})
        for name, more in (("b", [words]), ("a", [])):
            told = {"type": "tool_result", "tool_use_id": name, "content": "done"}
            session.append({"role": "user", "content": [told, *more]})
        last = session.messages()[2:]
        assert session.resume().messages[2:] == last
    [message] = store.resume("harbour").messages[2:]
    assert [message] == last
    assert [block.get("tool_use_id") for block in message["content"]] == ["c", "b", "a", None]


async def coroutine():
    """Runs only where it is awaited."""


def generator():
    """Runs only where it is asked for values."""
    yield


@pytest.mark.parametrize("tool", [coroutine, generator, partial(iter, generator())])
def test_a_tool_that_has_not_run_is_not_completed(store, tool):
    """Nobody is told that it was."""
    with store.open("harbour") as session:
        recorder = Recorder(session)
        recorder.message(ASK)
        recorder.message(calling("a"))
        with pytest.raises(UsageError):
            recorder.run("a", "buy", "{}", tool)
        [call] = session.resume().calls
    assert call.state == "uncertain"


@pytest.mark.parametrize("arguments", ["[]", "[1]", "null", '{"all": ', "0", 0, [], False])
def test_a_tool_is_not_run_with_arguments_that_are_none(store, arguments):
    """Its defaults are nothing that the model asked for."""
    ran = []
    with store.open("harbour") as session:
        recorder = Recorder(session)
        recorder.message(calling("a"))
        said = recorder.run("a", "clear", arguments, lambda all=True: ran.append(all))  # noqa: A006
        [call] = session.resume().calls
    assert (ran, call.state) == ([], "failed")
    assert said.startswith("TypeError")


def test_a_session_is_no_trace(store):
    """By whatever name."""
    with store.open("harbour") as session:
        session.append(ASK)
        (session.path.parent / "link").symlink_to(session.path)
        for trace in (session.path, session.path.parent / "link"):
            with pytest.raises(UsageError):
                Recorder(session, trace)
        session.append(SAY)


def test_a_trace_that_was_broken_off_is_gone_on_with_on_a_new_line(store, tmp_path):
    """The part stays, and the next record is whole."""
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"time": "2026')
    with store.open("harbour") as session, Recorder(session, trace) as recorder:
        recorder.message(ASK)
        recorder.message(SAY)
    part, *lines = trace.read_text().splitlines()
    assert part == '{"time": "2026'
    assert [json.loads(line)["event"] for line in lines] == ["said", "said"]


def test_a_file_of_something_else_is_not_appended_to(folder, store):
    """A copy by hand has the id of its original, and another format has other records."""
    with store.open("harbour") as session:
        session.append(ASK)
    copy = store.path("copy")
    copy.write_bytes(session.path.read_bytes())
    with pytest.raises(InputError, match="holds no record of a mycodeagent session copy"):
        store.open("copy")
    for act in (SessionStore(folder).open, SessionStore(folder).resume):
        with pytest.raises(InputError):
            act("transcript-harbour")
    assert copy.read_bytes() == session.path.read_bytes()


def test_what_is_no_session_is_not_in_the_list(folder):
    """A link that leads nowhere, a folder."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
    (folder / "lost.jsonl").symlink_to("nowhere")
    (folder / "folder.jsonl").mkdir()
    assert [one.id for one in store.list()] == ["harbour"]


def test_half_a_character_makes_no_id(folder):
    """It has no bytes."""
    with pytest.raises(UsageError):
        SessionStore(folder).open("\ud800")


def test_every_call_tells_that_a_session_is_encrypted(folder):
    """And not that there is none."""
    store = SessionStore(folder)
    folder.mkdir()
    (folder / "harbour.jsonl.age").write_bytes(b"age-encryption.org/v1\n")
    for act in (store.open, store.resume, store.memory, store.snapshot, store.delete):
        with pytest.raises(InputError, match="encrypted"):
            act("harbour")
