"""A disk that fails while a session is written: what the errors say is so, and it goes on."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from sesstool import SessionStore
from sesstool.errors import DurabilityError, LiveSessionError, UsageError, WriteError
from sesstool.records.lock import WriterLock, lock_path
from sesstool.store import ticker
from sesstool.store.facts import Checkpoint, End, Phase, Said, Transition
from tests.faults import forked
from tests.test_full_disk import fill
from tests.test_store import ASK, SAY, TALKS

FORMS = tuple(TALKS)
NO_SPACE = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO]
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "sessions", durability="record")


def failing(number, after=None):
    """An `os.write` that fails; before that it writes so many bytes, None for none at all."""
    written = []

    def write(descriptor, data):
        if after is None or written:
            raise OSError(number, os.strerror(number))
        written.append(real(descriptor, data[:after]))
        return written[0]

    real = os.write
    return write


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("sesstool")]


@pytest.mark.parametrize("number", NO_SPACE)
@pytest.mark.parametrize("after", [None, 0, 7, 40])
@pytest.mark.parametrize("form", FORMS)
def test_a_write_that_fails_leaves_the_session_as_before(tmp_path, form, number, after):
    """Also one that wrote a part; when there is space the same message can be kept."""
    store, given = SessionStore(tmp_path, form), TALKS[form]
    with store.open("harbour") as session:
        session.append(given[0])
        before = session.path.read_bytes()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", failing(number, after))
            for _ in range(2):
                with pytest.raises(WriteError, match="it is as before") as caught:
                    session.append(given[1])
                assert caught.value.hint or number == errno.EIO
                assert session.path.read_bytes() == before
        assert len(session) == 1
        for message in given[1:]:
            session.append(message)
        assert session.messages()[: len(given)] == given
    assert store.resume("harbour").messages[: len(given)] == given


@pytest.mark.parametrize("most", [1, 1000, 1 << 20])
def test_a_write_that_is_cut_short_is_completed(store, monkeypatch, most):
    """With the same bytes."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda to, data: real(to, bytes(data)[:most]))
    message = {"role": "user", "content": "x" * 3 * most}
    with store.open("harbour") as session:
        session.append(message)
        session.append(SAY)
    assert store.resume("harbour").messages == [message, SAY]


def test_a_part_that_cannot_be_taken_back_is_told_and_cut_by_the_next_open(store, monkeypatch):
    """Until then every call raises the same."""
    with store.open("harbour") as session:
        session.append(ASK)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing(errno.ENOSPC, 7))
            patch.setattr(os, "ftruncate", failing(errno.EIO))
            with pytest.raises(WriteError, match="a part of a record is in") as caught:
                session.append(SAY)
        assert "open the session again" in caught.value.hint
        assert_dead(session, caught.value)
    with store.open("harbour") as session:
        assert session.messages() == [ASK]
        session.append(SAY)
    assert store.resume("harbour").messages == [ASK, SAY]


def test_what_others_wrote_behind_a_part_is_not_cut(store, monkeypatch):
    """The file is left alone then."""
    real = os.write

    def write(descriptor, data):
        real(descriptor, data[:9])
        with session.path.open("ab") as file:
            file.write(b"another\n")
        raise OSError(errno.ENOSPC, "no space")

    with store.open("harbour") as session:
        session.append(ASK)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write)
            with pytest.raises(WriteError, match="a part of a record is in"):
                session.append(SAY)
        assert session.path.read_bytes().endswith(b'{"role":"another\n')


def assert_dead(session, failure):
    """Every call raises the failure again."""
    calls = [
        lambda: session.append(SAY),
        session.flush,
        session.messages,
        session.resume,
        lambda: asyncio.run(session.append_async(SAY)),
    ]
    for one in calls:
        with pytest.raises(type(failure)) as caught:
            one()
        assert caught.value is failure


@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
def test_after_a_failed_sync_nothing_is_written_until_the_session_is_read_anew(
    store, monkeypatch, call
):
    """Though the second attempt would succeed. fsync is that of the folder of a new file."""

    def fail(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    session = store.open("harbour")
    if call == "fdatasync":
        session.append(ASK)
    size = session.path.stat().st_size if session.path.exists() else 0
    forgotten = []
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        patch.setattr(os, "posix_fadvise", lambda *given: forgotten.append(given[1:]))
        with pytest.raises(DurabilityError, match=f"behind byte {size} may not") as caught:
            session.append(SAY)
    # Whoever reads it next asks the disk.
    assert forgotten == [(0, 0, os.POSIX_FADV_DONTNEED)]
    assert caught.value.synced == size
    assert "open the session again" in caught.value.hint
    before = session.path.read_bytes()
    assert_dead(session, caught.value)
    session.close()
    assert session.path.read_bytes() == before
    # What the disk has is what counts: here the record is on it, there it may not be.
    with store.open("harbour") as session:
        assert session.messages() == [ASK, SAY][-before.count(b"\n") :]
    session.path.write_bytes(before[:size])
    with store.open("harbour") as session:
        session.append(ASK)
    assert store.resume("harbour").messages == [ASK] * (2 if size else 1)


def test_a_failed_sync_in_close_is_told_and_the_lock_is_given_back(tmp_path, monkeypatch):
    """And a second close does nothing."""
    store = SessionStore(tmp_path, durability="interval")
    session = store.open("harbour")
    session.append(ASK)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _: os.close(-1))
        with pytest.raises(DurabilityError):
            session.close()
    session.close()
    store.open("harbour").close()
    assert threads() == []


@pytest.mark.parametrize("told_by", ["append", "flush", "messages", "close"])
def test_a_failure_in_the_thread_of_interval_is_raised_by_the_next_call(
    tmp_path, monkeypatch, told_by
):
    """Once it was told, close raises nothing; no thread is left behind."""
    failed = threading.Event()

    def fail(_):
        failed.set()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(ticker, "_INTERVAL", 0)
    session = SessionStore(tmp_path, durability="interval").open("harbour")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        session.append(ASK)
        assert failed.wait(30)
        call = getattr(session, told_by)
        with pytest.raises(DurabilityError):
            call(SAY) if told_by == "append" else call()
    session.close()
    assert session.path.read_bytes().count(b"\n") == 1
    assert threads() == []


def test_interval_syncs_by_itself(tmp_path, monkeypatch):
    """What was appended last, too; once, where nothing came behind it."""
    synced = threading.Semaphore(0)
    sizes = []

    def sync(descriptor):
        sizes.append(os.fstat(descriptor).st_size)
        synced.release()

    monkeypatch.setattr(ticker, "_INTERVAL", 0)
    monkeypatch.setattr(os, "fdatasync", sync)
    with SessionStore(tmp_path, durability="interval").open("harbour") as session:
        for _ in range(3):
            session.append(ASK)
            assert synced.acquire(timeout=30)
        size = session.path.stat().st_size
    assert sizes == [size // 3, size // 3 * 2, size]
    assert threads() == []


def test_turn_syncs_where_something_may_happen_outside(tmp_path, monkeypatch):
    """Behind a prompt, an answer, the start of a tool, a checkpoint and an end."""
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    prompt, asked, told, answer = TALKS["mycodeagent"]
    facts = [
        (Said(prompt), True),
        (Said(asked), True),
        (Phase("call_1", "buy", "requested"), False),
        (Transition("acting", "tool call"), False),
        (Phase("call_1", "buy", "started"), True),
        (Phase("call_1", "buy", "completed", "done"), False),
        (Said(told), False),
        (Said(answer), True),
        (Checkpoint("so far", 3), True),
        (End("done"), True),
    ]
    with SessionStore(tmp_path, "mycodeagent", durability="turn").open("harbour") as session:
        for fact, syncs in facts:
            synced.clear()
            session.record(fact)
            assert bool(synced) == syncs, fact


def test_never_leaves_it_to_the_system(tmp_path, monkeypatch):
    """Also in close; flush syncs when it is asked to."""
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with SessionStore(tmp_path, durability="never").open("harbour") as session:
        session.append(ASK)
        session.append(SAY)
    assert synced == []
    with SessionStore(tmp_path, durability="never").open("harbour") as session:
        session.append(ASK)
        session.flush()
    assert len(synced) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_limit_on_the_size_of_files(tmp_path, form):
    """A real write that comes through in part, and then none at all; then there is room."""
    store, given = SessionStore(tmp_path, form), TALKS[form]

    def write():
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        with store.open("harbour") as session:
            session.append(given[0])
            size = session.path.stat().st_size
            for room in (0, 1, 30):
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, limits[1]))
                with pytest.raises(WriteError, match="it is as before") as caught:
                    session.append(given[1])
                assert "ulimit -f" in caught.value.hint
                assert session.path.stat().st_size == size
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            session.append(given[1])
        return 0

    code, words = forked(write, lambda: None)
    assert code == 0, words
    assert store.resume("harbour").messages[:2] == given[:2]


@contextmanager
def small_disk(path, size="256k"):
    """A file system of its own, where one may be mounted."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    path.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path]
    if subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


@pytest.mark.parametrize("form", FORMS)
def test_a_disk_without_space(tmp_path, form):
    """A real one, with some pages left and with none; when there is space it goes on."""
    disk, given, codes = tmp_path / "disk", TALKS[form], set()
    large = dict(given[0], content="x" * 9000)
    with small_disk(disk):
        store = SessionStore(disk / "sessions", form)
        for pages in range(5):
            store.open("harbour").close()
            fill(disk / "fill", pages)
            with store.open("harbour") as session:
                count = len(session)
                before = session.path.read_bytes() if session.path.exists() else b""
                hint = ""
                try:
                    session.append(large)
                except WriteError as error:
                    hint = error.hint
                    now = session.path.read_bytes() if session.path.exists() else b""
                (disk / "fill").unlink()
                if hint:
                    assert "free some space" in hint
                    assert now == before
                    session.append(large)
                codes.add(hint)
                assert len(session) == count + 1
            assert len(store.resume("harbour").messages) == pages + 1
        assert len(codes) == 2


def test_a_disk_that_is_read_only(tmp_path):
    """A session can be read there, and not opened for writing; the error says so."""
    disk = tmp_path / "disk"
    with small_disk(disk):
        store = SessionStore(disk / "sessions")
        with store.open("harbour") as session:
            session.append(ASK)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for name in ("harbour", "other"):
            with pytest.raises(WriteError, match="read-only"):
                store.open(name)
        with pytest.raises(WriteError, match="read-only"):
            SessionStore(disk / "new").open("harbour")
        assert store.resume("harbour").messages == [ASK]


@pytest.mark.parametrize("existing", [False, True])
def test_a_folder_that_is_read_only(existing):
    """For who may not write there: nothing is changed, and the hint names the next step."""
    with tempfile.TemporaryDirectory() as name:  # where every user comes by
        folder = Path(name)
        store = SessionStore(folder)
        with store.open("harbour") as session:
            session.append(ASK)
        before = session.path.read_bytes()
        session.path.chmod(0o444)
        folder.chmod(0o555)
        if not existing:
            store = SessionStore(folder / "new")

        def write():
            with pytest.raises(WriteError, match="permission denied") as caught:
                store.open("harbour")
            assert "allow writing" in caught.value.hint
            return 0

        code, words = forked(write, lambda: os.geteuid() or os.setuid(65534))
        assert code == 0, words
        assert session.path.read_bytes() == before
        assert list(folder.iterdir()) == [session.path]
        folder.chmod(0o755)


def test_each_record_is_one_write(store, monkeypatch):
    """Of 4 MB too: so none is spliced with that of others."""
    written, real = [], os.write

    def write(descriptor, data):
        written.append(len(data))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with store.open("harbour") as session:
        for size in (1, 4 << 20, 10, 4 << 20):
            session.append({"role": "user", "content": "x" * size})
    assert written == [len(line) for line in session.path.read_bytes().splitlines(keepends=True)]


PROGRAM = """
import sys
from sesstool import SessionStore
from sesstool.errors import DurabilityError
session = SessionStore(sys.argv[1], durability="record").open("harbour")
for size in map(int, sys.argv[2:]):
    try:
        session.append({"role": "user", "content": "x" * size})
        print(size)
    except DurabilityError as error:
        print("in doubt", error.synced)
session.close()
"""


def traced(folder, *flags, sizes=(5, 4 << 20, 9)):
    """The system calls on a session that such a program writes, and what it prints."""
    trace = folder.parent / "trace"
    folder.mkdir()
    path = folder / "harbour.jsonl"
    path.touch()  # strace follows a file that is there
    calls = "trace=write,fdatasync"
    command = ["strace", "-f", "-qq", "-s", "0", "-o", trace, "-P", path, "-e", calls, *flags]
    command += [sys.executable, "-c", PROGRAM, folder, *map(str, sizes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("strace may not trace here")
    return re.findall(r"^\d+ +(\w+\(.*)$", trace.read_text(), re.MULTILINE), done.stdout.split("\n")


@needs_strace
def test_the_system_sees_one_write_and_one_sync_a_record(tmp_path):
    """By policy "record"."""
    calls, said = traced(tmp_path / "sessions")
    sizes = [int(call.rpartition("= ")[2]) for call in calls if call.startswith("write")]
    assert sizes == [len('{"role":"user","content":""}\n') + n for n in (5, 4 << 20, 9)]
    assert [call.partition("(")[0] for call in calls] == ["write", "fdatasync"] * 3
    assert said == ["5", str(4 << 20), "9", ""]


@needs_strace
def test_an_interrupted_system_call_is_made_again(tmp_path):
    """The record is there once."""
    flags = ["-e", "inject=write,fdatasync:error=EINTR:when=2"]
    calls, said = traced(tmp_path / "sessions", *flags)
    assert sum("EINTR" in call for call in calls) == 2
    assert said == ["5", str(4 << 20), "9", ""]
    lines = (tmp_path / "sessions" / "harbour.jsonl").read_bytes().splitlines()
    assert [line.count(b"x") for line in lines] == [5, 4 << 20, 9]


@needs_strace
def test_a_sync_that_the_disk_fails(tmp_path):
    """From then on nothing is written, though the disk is well again."""
    calls, said = traced(tmp_path / "sessions", "-e", "inject=fdatasync:error=EIO:when=2")
    first = len('{"role":"user","content":"xxxxx"}\n')
    assert said == ["5", f"in doubt {first}", f"in doubt {first}", ""]
    assert [call.partition("(")[0] for call in calls] == ["write", "fdatasync"] * 2


@pytest.mark.parametrize("form", FORMS)
def test_ctrl_c_at_any_moment_of_an_append_leaves_a_whole_record_or_none(tmp_path, form):
    """And the session goes on, and knows which of both it is."""
    store, given = SessionStore(tmp_path, form, durability="record"), TALKS[form]
    outcomes = {"none": 0, "whole": 0}
    for step in range(1, 2000):
        with store.open(str(step)) as session:
            session.append(given[0])
            before = session.path.read_bytes()
            try:
                with interrupted(step):
                    session.append(given[1])
            except KeyboardInterrupt:
                pass
            else:
                break
            now = session.path.read_bytes()
            whole = session.messages()[:2] == given[:2]
            assert session.messages()[: 1 + whole] == given[: 1 + whole]
            assert now == before or (now.count(b"\n") == 2 and now[-1:] == b"\n")
            assert whole == (session.path.read_bytes() != before)
            outcomes["whole" if whole else "none"] += 1
            if not whole:
                session.append(given[1])
            session.append(given[2])
            if form != "astorlm":
                assert session.messages() == given[:3]
        assert store.resume(str(step)).messages[:3] == given[:3]
    assert outcomes["none"] > 20
    assert outcomes["whole"] > 5


@contextmanager
def interrupted(step):
    """Raise KeyboardInterrupt before the `step`th line of sesstool that runs in the block."""
    left = step

    def trace(frame, event, _):
        nonlocal left
        if f"{os.sep}sesstool{os.sep}" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_ctrl_c_in_the_middle_of_a_write_leaves_nothing_of_it(store, monkeypatch, part):
    """Where the system wrote it and could not tell so, too."""
    real = os.write

    def write(descriptor, data):
        real(descriptor, data[: int(len(data) * part)])
        raise KeyboardInterrupt

    with store.open("harbour") as session:
        session.append(ASK)
        before = session.path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write)
            with pytest.raises(KeyboardInterrupt):
                session.append(SAY)
        assert session.path.read_bytes() == before
        session.append(SAY)
        assert session.messages() == [ASK, SAY]


def test_a_child_that_lives_on_holds_nothing_of_its_parent(store):
    """The parent closes and opens the session again, and others may write when it has ended."""
    session = store.open("harbour")
    session.append(ASK)
    wait, end = os.pipe()
    if (child := os.fork()) == 0:
        os.close(end)
        session.close()
        os.read(wait, 1)
        os._exit(0)
    assert lock_path(session.path).exists()
    session.close()
    with store.open("harbour") as again:
        again.append(SAY)
    os.close(end)
    os.waitpid(child, 0)
    assert store.resume("harbour").messages == [ASK, SAY]


def test_a_child_forked_while_another_thread_appends_is_told_at_once(store, monkeypatch):
    """It does not wait for a thread that it does not have."""
    held, go = threading.Event(), threading.Event()
    monkeypatch.setattr(os, "fdatasync", lambda _: (held.set(), go.wait(30)))
    with store.open("harbour") as session:
        thread = threading.Thread(target=session.append, args=(ASK,))
        thread.start()
        assert held.wait(30)

        def child():
            for call in (lambda: session.append(SAY), session.flush, session.messages):
                with pytest.raises(UsageError, match="by the parent"):
                    call()
            session.close()
            return 0

        code, words = forked(child, lambda: signal.alarm(30))
        go.set()
        thread.join()
    assert code == 0, words


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[" * 4096, b"\xff\xfe", b"null", b"{" * 9000, b'{"pid":1}'),
        *(b'{"host":"a","pid":1e999}', b'{"host":"a","pid":' + b"9" * 400 + b"}"),
        *(b'{"pid":true,"host":"a"}', b'{"pid":1,"host":[]}', b'{"pid":-1,"host":"a"}'),
    ],
)
def test_whatever_a_lock_file_holds(store, text):
    """A lock that nobody holds is taken; of a held one an error tells, and no traceback."""
    path = store.path("harbour")
    path.parent.mkdir()
    lock_path(path).write_bytes(text)
    lock = WriterLock(path)
    lock_path(path).write_bytes(text)
    with pytest.raises(LiveSessionError, match="another process writes to it"):
        WriterLock(path)
    lock.release()
    store.open("harbour").close()


def test_what_tells_of_another_writer_is_safe_to_show(store):
    """No control character of a lock file comes through."""
    path = store.path("harbour")
    path.parent.mkdir()
    lock = WriterLock(path)
    text = '{"pid":7,"host":"a\\u001b[2J","program":"b\\u202e\\n","since":"\\u001b]0;c\\u0007"}'
    lock_path(path).write_text(text)
    with pytest.raises(LiveSessionError) as caught:
        WriterLock(path)
    assert caught.value.message.isprintable()
    assert "process 7" in caught.value.message
    lock.release()


def test_after_close_coroutines_are_told_too(store):
    """With the error of a closed session."""
    session = store.open("harbour")
    asyncio.run(session.append_async(ASK))
    session.close()
    with pytest.raises(UsageError, match="closed"):
        asyncio.run(session.append_async(SAY))
    assert threads() == []
