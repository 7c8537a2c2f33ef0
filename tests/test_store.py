"""Sessions of one's own: what is appended is there, comes back, and has one writer."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from contextlib import nullcontext

import pytest

from sesstool import SessionStore, api
from sesstool.errors import InputError, LiveSessionError, StalePlanError, UsageError, WriteError
from sesstool.records.lock import lock_path
from sesstool.retention import trash

ASK = {"role": "user", "content": "Is the lamp lit?"}
SAY = {"role": "assistant", "content": "It is."}


def call(name="call_1", tool="buy", **arguments):
    function = {"name": tool, "arguments": json.dumps(arguments)}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name="call_1", words="done"):
    return {"role": "tool", "tool_call_id": name, "content": words}


BLOCKS = {
    "ask": {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Is it lit?"}]},
    "call": {
        "id": "m2",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "buy", "input": {"n": 1}}],
    },
    "result": {
        "id": "m3",
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}],
    },
}
TALKS = {
    "openai-chat": [ASK, call(thing="oil"), result(), SAY],
    "mycodeagent": [ASK, call(thing="oil"), result(), SAY],
    "astorlm": [BLOCKS["ask"], BLOCKS["call"], BLOCKS["result"]],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "sessions"


@pytest.mark.parametrize("form", TALKS)
def test_messages_come_back_as_they_were_given(folder, form):
    """In the session that wrote them, and in one that is opened later."""
    store = SessionStore(folder, form)
    with store.open("harbour") as session:
        for message in TALKS[form][:2]:
            session.append(message)
        assert len(session) == 2
    with store.open("harbour") as session:
        for message in TALKS[form][2:]:
            session.append(message)
        given = session.messages()
    assert given[: len(TALKS[form])] == TALKS[form]
    assert store.resume("harbour").messages == given
    assert api.validate(store.path("harbour"), format_name=form).findings == ()


def test_bare_messages_are_the_file(folder):
    """One a line, as compact JSON, with nothing else."""
    with SessionStore(folder).open("harbour") as session:
        session.append(ASK)
        session.append({"role": "assistant", "content": "Ä \U0001f600 \ud83d"})
    assert session.path == folder / "harbour.jsonl"
    assert session.path.read_bytes() == (
        b'{"role":"user","content":"Is the lamp lit?"}\n'
        + '{"role":"assistant","content":"Ä \U0001f600 \\ud83d"}\n'.encode()
    )
    assert [path.name for path in folder.iterdir()] == ["harbour.jsonl"]
    assert session.path.stat().st_mode & 0o777 == 0o600


def test_a_second_writer_is_told_who_holds_the_session(folder):
    """In the same process, and in another one; when it ends the next may write."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        with pytest.raises(LiveSessionError, match=f"process {os.getpid()} .* writes to it"):
            store.open("harbour")
        code = f"from sesstool import SessionStore\nSessionStore({str(folder)!r}).open('harbour')"
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert f"process {os.getpid()}" in other.stderr
        session.append(ASK)
    assert not lock_path(session.path).exists()
    with store.open("harbour") as session:
        assert session.messages() == [ASK]


def test_a_torn_tail_is_cut_before_the_first_append_and_kept(folder):
    """The undo journal has the bytes."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
    torn = b'{"role":"assistant","con'
    with session.path.open("ab") as file:
        file.write(torn)
    assert store.resume("harbour").messages == [ASK]
    assert session.path.read_bytes().endswith(torn)
    with store.open("harbour") as session:
        session.append(SAY)
        assert session.messages() == [ASK, SAY]
    assert session.path.read_bytes().count(b"\n") == 2
    kept = list((folder.parent / "state").rglob("cut.bin"))
    assert [path.read_bytes() for path in kept] == [torn]


@pytest.mark.parametrize("tail", [b'\0\0\0":1}\n', b"\0" * 40, b"\0\0\0\n\0\0"])
def test_what_a_power_cut_left_at_the_end_is_a_torn_tail(folder, tail):
    """Also where a newline ends it."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
    with session.path.open("ab") as file:
        file.write(tail)
    with store.open("harbour") as session:
        session.append(SAY)
    assert store.resume("harbour").messages == [ASK, SAY]


def test_a_last_record_without_newline_is_whole(folder):
    """The next append ends it, in the same write."""
    store = SessionStore(folder)
    folder.mkdir()
    store.path("harbour").write_bytes(json.dumps(ASK).encode())
    with store.open("harbour") as session:
        session.append(SAY)
        assert session.messages() == [ASK, SAY]
    assert store.resume("harbour").messages == [ASK, SAY]


@pytest.mark.parametrize(
    "damage",
    [
        b'{"role":"assistant","con{"role":"user","content":"a","name":"b"}\n',
        b'{"role":"assis\n{"role":"user","content":"a"}\n',
    ],
)
def test_damage_that_is_no_torn_tail_is_not_cut(folder, damage):
    """The error names the command that mends it, and the file stays as it is."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
    before = session.path.read_bytes() + damage
    session.path.write_bytes(before)
    with pytest.raises(InputError) as caught:
        store.open("harbour")
    assert "sesstool repair --write" in caught.value.hint
    assert session.path.read_bytes() == before
    assert not lock_path(session.path).exists()


def test_a_file_that_others_changed_is_not_written_to(folder):
    """Not where it grew, and not where another file is in its place."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
        with session.path.open("ab") as file:
            file.write(b"{}\n")
        with pytest.raises(StalePlanError):
            session.append(SAY)
        assert session.path.read_bytes().endswith(b"{}\n")
    with store.open("other") as session:
        session.append(ASK)
        session.path.replace(folder / "moved")
        session.path.write_bytes((folder / "moved").read_bytes())
        with pytest.raises(StalePlanError):
            session.append(SAY)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": float("nan")},
        {"role": "user", "content": object()},
        {"role": "sailor", "content": "a"},
        {"role": "tool", "content": "a"},
        {"content": "a"},
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(folder, message):
    """And the session goes on."""
    with SessionStore(folder).open("harbour") as session:
        session.append(ASK)
        with pytest.raises(UsageError):
            session.append(message)
        session.append(SAY)
        assert session.messages() == [ASK, SAY]
    assert session.path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", ".a", "a\n", "a" * 300, "a:b"])
def test_an_id_that_is_no_plain_file_name_is_refused(folder, name):
    """Nothing is made for it."""
    with pytest.raises(UsageError):
        SessionStore(folder).open(name)
    assert not folder.exists()


def test_coroutines_append_in_the_order_of_their_calls(folder):
    """Though a thread waits for the disk."""
    store = SessionStore(folder, durability="record")

    async def talk():
        with store.open("harbour") as session:
            numbered = [{"role": "user", "content": str(n)} for n in range(50)]
            await asyncio.gather(*(session.append_async(message) for message in numbered))
            return numbered, session.messages()

    given, kept = asyncio.run(talk())
    assert given == kept == store.resume("harbour").messages


def test_a_closed_session_and_one_of_a_parent_process_are_refused(folder):
    """A child that was forked off must not write what its parent does."""
    session = SessionStore(folder).open("harbour")
    session.append(ASK)
    if (child := os.fork()) == 0:
        try:
            session.append(SAY)
        except UsageError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    session.close()
    session.close()
    with pytest.raises(UsageError, match="closed"):
        session.append(SAY)


def test_the_list_has_the_sessions_of_the_format(folder):
    """By the ids that they are opened by."""
    store = SessionStore(folder, "mycodeagent")
    assert store.list() == []
    for name in ("one", "two"):
        with store.open(name) as session:
            session.append(ASK)
    (folder / "notes.jsonl").write_bytes(b"{}\n")
    assert sorted(one.id for one in store.list()) == ["one", "two"]
    assert {one.size for one in store.list()} == {store.path("one").stat().st_size}


def test_a_deleted_session_is_in_the_trash_with_its_side_file(folder):
    """From where it comes back."""
    store = SessionStore(folder, "astorlm")
    with store.open("harbour") as session:
        session.append(BLOCKS["ask"])
        with pytest.raises(LiveSessionError):
            store.delete("harbour")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    entry = store.delete("harbour")
    assert list(folder.iterdir()) == []
    assert store.list() == []
    trash.restore(entry)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(InputError, match="there is no session"):
        store.delete("other")


def test_a_held_session_is_not_deleted(folder):
    """Not even for good; without the hold it is, and nothing of it stays."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
    policy = folder.parent / "retention.toml"
    policy.write_text(
        f'version = 1\n[[hold]]\nname = "claim"\nreason = "a claim"\n'
        f'match = {{ path = "{folder}/*" }}\n'
    )
    with pytest.raises(WriteError, match="hold claim"):
        store.delete("harbour", for_good=True, policy=policy)
    assert session.path.exists()
    store.delete("harbour", for_good=True)
    assert list(folder.iterdir()) == []
    assert trash.entries(folder.parent / "state" / "sesstool") == []


def test_a_snapshot_tells_later_what_has_changed(folder, tmp_path, monkeypatch):
    """Of the files that the session read."""
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log.txt"
    log.write_text("still")
    store = SessionStore(folder, "mycodeagent")
    with store.open("harbour") as session:
        session.append(ASK)
        session.append(call(tool="Read", path=str(log)))
        session.append(result(words="still"))
    assert store.changes("harbour") == ()
    assert store.snapshot("harbour") == folder / "transcript-harbour.jsonl.world.json"
    assert store.changes("harbour") == ()
    log.write_text("a swell")
    assert [(c.kind, c.what) for c in store.changes("harbour")] == [("changed", str(log))]
    store.snapshot("harbour")
    assert store.changes("harbour") == ()
    assert [one.id for one in store.list()] == ["harbour"]


def test_the_commands_know_who_writes_a_session(folder):
    """Also one of which nothing is written yet, or that the system cannot tell by."""
    code = (
        "import sys\nfrom sesstool import SessionStore\n"
        f"with SessionStore({str(folder)!r}).open('harbour'):\n"
        "    print('open', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "open\n"
        path = SessionStore(folder).path("harbour")
        path.write_bytes(b"{}\n")
        assert api.in_use(path).startswith(f"process {process.pid} ")
        process.stdin.close()
    assert api.in_use(path) == ""


def test_a_lock_that_is_a_link_is_not_followed(folder):
    """It would empty another file."""
    folder.mkdir()
    other = folder / "other"
    other.write_text("kept")
    store = SessionStore(folder)
    lock_path(store.path("harbour")).symlink_to(other)
    with pytest.raises(WriteError):
        store.open("harbour")
    assert other.read_text() == "kept"


def test_the_memory_of_a_session_grows_with_it(folder, tmp_path, monkeypatch):
    """It is that of the file, also where another process takes it up."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = SessionStore(folder, "mycodeagent")
    with store.open("harbour") as session:
        assert session.memory().records == 0
        session.append(ASK)
        assert "Is the lamp lit?" in session.memory().render()
        session.append(call(tool="buy", thing="oil"))
        assert "buy" in session.memory().render()
        session.append(result())
        session.append(SAY)
        assert session.memory().as_dict() == store.memory("harbour").as_dict()
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 1
    with store.open("harbour") as session:
        assert session.memory().as_dict() == store.memory("harbour").as_dict()


@pytest.mark.parametrize("side", ["", "[]", '{"id": '])
def test_a_damaged_side_file_is_told_before_anything_is_written(folder, side):
    """With what to do; the session stays as it is."""
    store = SessionStore(folder, "astorlm")
    with store.open("harbour") as session:
        session.append(BLOCKS["ask"])
    before = session.path.read_bytes()
    (folder / "harbour.meta.json").write_text(side)
    with store.open("harbour") as session:
        with pytest.raises(InputError, match="is no JSON object") as caught:
            session.append(BLOCKS["call"])
        assert caught.value.hint.startswith("sesstool validate ")
    assert session.path.read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b'{"role":"assis\n{"role":"user","content":"a"}\n'])
@pytest.mark.parametrize("on", [True, False])
def test_a_resume_leaves_the_garbage_collector_as_it_was(folder, damage, on):
    """Also where it fails."""
    store = SessionStore(folder)
    with store.open("harbour") as session:
        session.append(ASK)
    with session.path.open("ab") as file:
        file.write(damage)
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(InputError) if damage else nullcontext():
            store.resume("harbour")
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()
