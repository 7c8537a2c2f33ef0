"""Applying a plan: what it does, what is refused, and what can go wrong."""

import errno
import fcntl
import gzip
import io
import os
import resource
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from sesstool.audit import log
from sesstool.errors import LiveSessionError, StalePlanError, WriteError
from sesstool.records import guard, transact, undo
from sesstool.records.edits import Edit, EditSet
from sesstool.records.guard import locked
from sesstool.records.opening import open_source
from sesstool.records.plan import FilePlan
from sesstool.records.source import fingerprint
from sesstool.records.transact import apply_file

ORIGINAL = b'{"n":1}\n{"n":2}\n{"n":3}\n{"n'
MTIME = 1_700_000_000_123_456_789
CUT = [Edit(24, 27)]
APPEND = [Edit(27, 27, b'":4}\n'), Edit(27, 27, b'{"n":5}\n')]
MIDDLE = [Edit(8, 16, b'{"n":"two"}\n'), Edit(24, 27)]
RESULTS = {
    "cut": (CUT, ORIGINAL[:24]),
    "append": (APPEND, ORIGINAL + b'":4}\n{"n":5}\n'),
    "middle": (MIDDLE, b'{"n":1}\n{"n":"two"}\n{"n":3}\n'),
    "both": ([Edit(24, 27, b"{}\n")], ORIGINAL[:24] + b"{}\n"),
}
edits = pytest.mark.parametrize(("edits", "result"), RESULTS.values(), ids=RESULTS)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "home" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(ORIGINAL)
    path.chmod(0o640)
    os.utime(path, ns=(MTIME, MTIME))
    return path


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def plan_for(path, edits=(), mode=None):
    with open_source(path) as source:
        codec = source.codec
    return FilePlan(path, fingerprint(path), codec, EditSet(edits), mode, ("B104",), ("cut",))


def apply(plan, state, **options):
    options = {"ignore_live": False, "recent_seconds": None} | options
    return apply_file(plan, state=state, command="repair", **options)


def look(path):
    """The bytes, mode and mtime of a file."""
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


def names(folder):
    return [path.name for path in folder.iterdir()]


def unchanged(path):
    """Nothing is left of a change that failed."""
    return look(path) == (ORIGINAL, 0o640, MTIME) and names(path.parent) == [path.name]


@contextmanager
def file_size_limit(size):
    """No file can grow beyond `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def other_process_has_open(path, mode):
    code = "import sys; f = open(*sys.argv[1:]); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, path, mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.stdin.close()


@edits
def test_the_edits_are_applied_and_the_rest_is_kept(session, state, edits, result):
    """The bytes are those of the plan; mode and mtime stay to the nanosecond."""
    done = apply(plan_for(session, edits), state)
    assert look(session) == (result, 0o640, MTIME)
    assert (done.bytes_before, done.bytes_after) == (len(ORIGINAL), len(result))
    assert done.cut_bytes == sum(edit.end - edit.start for edit in edits)
    assert names(session.parent) == ["s.jsonl"]


@edits
def test_only_a_cut_or_an_append_is_made_in_place(session, state, edits, result):
    """The inode tells which way a change was made."""
    inode = session.stat().st_ino
    done = apply(plan_for(session, edits), state)
    assert done.in_place == (edits in (CUT, APPEND))
    assert (session.stat().st_ino == inode) == done.in_place
    assert session.read_bytes() == result


def test_an_append_without_undo_goes_through_a_new_file(session, state):
    """With no journal a torn append could not be taken back."""
    assert not apply(plan_for(session, APPEND), state, keep_undo=False).in_place
    assert session.read_bytes() == RESULTS["append"][1]


@edits
def test_a_change_can_set_the_mode(session, state, edits, result):
    """The new permission bits come with the bytes."""
    apply(plan_for(session, edits, mode=0o600), state)
    assert look(session) == (result, 0o600, MTIME)


def test_a_change_of_the_mode_alone_leaves_the_bytes(session, state):
    """It is made in place, and can be undone."""
    done = apply(plan_for(session, mode=0o600), state)
    assert look(session) == (ORIGINAL, 0o600, MTIME)
    assert done.in_place
    assert done.undo_id


def test_a_plan_with_nothing_to_do_does_nothing(session, state):
    """No undo entry, no line in the audit log, not even a state folder."""
    done = apply(plan_for(session), state)
    assert (done.undo_id, done.bytes_before, done.bytes_after) == ("", 27, 27)
    assert unchanged(session)
    assert not state.exists()


def test_a_compressed_file_stays_compressed(session, state):
    """The edits count decompressed bytes."""
    session.write_bytes(gzip.compress(ORIGINAL))
    apply(plan_for(session, MIDDLE), state)
    assert gzip.decompress(session.read_bytes()) == RESULTS["middle"][1]


def test_a_compressed_file_is_never_cut_in_place(session, state):
    """Not even one that is as long on disk as what is in it."""
    data = b"0123456789" * 10
    room = len(data) - len(gzip.compress(data))
    packed = io.BytesIO()
    with gzip.GzipFile("n" * (room - 1), "wb", fileobj=packed) as handle:
        handle.write(data)
    session.write_bytes(packed.getvalue())
    assert session.stat().st_size == len(data)
    assert not apply(plan_for(session, [Edit(90, 100)]), state).in_place
    assert gzip.decompress(session.read_bytes()) == data[:90]


def test_the_mode_of_a_compressed_file_can_change_alone(session, state):
    """Its bytes are not compressed again."""
    packed = gzip.compress(ORIGINAL, compresslevel=1, mtime=77)
    session.write_bytes(packed)
    apply(plan_for(session, mode=0o600), state)
    assert session.read_bytes() == packed
    assert stat.S_IMODE(session.stat().st_mode) == 0o600


def test_a_symbolic_link_stays(session, state, tmp_path):
    """The file that it leads to is changed."""
    link = tmp_path / "link.jsonl"
    link.symlink_to(session)
    done = apply(plan_for(link, MIDDLE), state)
    assert link.is_symlink()
    assert session.read_bytes() == RESULTS["middle"][1]
    assert done.path == session.resolve()


def test_a_file_of_two_names_is_not_replaced(session, state):
    """The names would part; the hint says what to do."""
    session.with_name("other").hardlink_to(session)
    with pytest.raises(WriteError, match="2 names") as caught:
        apply(plan_for(session, MIDDLE), state)
    assert "-o" in caught.value.hint
    assert look(session) == (ORIGINAL, 0o640, MTIME)


def test_a_file_of_two_names_is_cut_in_place(session, state):
    """Both names show the change."""
    other = session.with_name("other")
    other.hardlink_to(session)
    apply(plan_for(session, CUT), state)
    assert other.read_bytes() == RESULTS["cut"][1]


@as_root
def test_root_keeps_the_owner(session, state):
    """A session of another user stays theirs."""
    os.chown(session, 12345, 23456)
    apply(plan_for(session, MIDDLE), state)
    now = session.stat()
    assert (now.st_uid, now.st_gid) == (12345, 23456)


@as_root
def test_a_file_whose_owner_would_change_is_refused(session, state, monkeypatch):
    """Without the right to give files away there is no replacing."""
    os.chown(session, 12345, 23456)

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(WriteError, match="cannot keep its owner"):
        apply(plan_for(session, MIDDLE), state)
    assert unchanged(session)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes are Linux's here")
def test_extended_attributes_are_kept(session, state):
    """Access lists and labels are among them."""
    try:
        os.setxattr(session, "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    apply(plan_for(session, MIDDLE), state)
    assert os.getxattr(session, "user.note") == b"kept"


@edits
def test_a_file_that_changed_since_is_refused(session, state, edits, result):
    """The plan was made for other bytes."""
    plan = plan_for(session, edits)
    session.write_bytes(ORIGINAL + b'":4}\n')
    with pytest.raises(StalePlanError, match="has changed since the plan was made"):
        apply(plan, state)
    assert session.read_bytes() == ORIGINAL + b'":4}\n' != result


@edits
def test_a_change_at_the_last_moment_is_seen(session, state, edits, result, monkeypatch):
    """What comes between the plan and the write is not written over."""
    begin = undo.begin

    def late(*arguments, **options):
        entry = begin(*arguments, **options)
        with session.open("ab") as handle:
            handle.write(b"late")
        return entry

    monkeypatch.setattr(undo, "begin", late)
    with pytest.raises(StalePlanError, match="a moment ago"):
        apply(plan_for(session, edits), state)
    assert session.read_bytes() == ORIGINAL + b"late" != result
    assert names(session.parent) == ["s.jsonl"]


def test_a_plan_that_does_not_fit_is_refused(session, state):
    """An edit behind the end of the file is none for it."""
    with pytest.raises(StalePlanError, match="does not fit"):
        apply(plan_for(session, [Edit(20, 99)]), state)
    assert unchanged(session)


@edits
def test_a_session_that_a_process_writes_to_is_refused(session, state, edits, result):
    """The error says who, and names the option that overrides."""
    with other_process_has_open(session, "a") as writer:
        with pytest.raises(LiveSessionError, match=f"process {writer.pid}") as caught:
            apply(plan_for(session, edits), state)
        assert "--ignore-live" in caught.value.hint
        assert unchanged(session)
        apply(plan_for(session, edits), state, ignore_live=True)
    assert session.read_bytes() == result


def test_a_session_that_a_process_reads_is_changed(session, state):
    """A reader keeps what it has open, and loses nothing."""
    with other_process_has_open(session, "r"):
        apply(plan_for(session, CUT), state)
    assert session.read_bytes() == RESULTS["cut"][1]


def test_an_agent_may_know_its_own_writer(session, state):
    """A check of the format's own is asked, and its words are shown."""
    with pytest.raises(LiveSessionError, match="registered by claude"):
        apply(plan_for(session, CUT), state, writer=lambda _: "registered by claude")
    assert unchanged(session)
    apply(plan_for(session, CUT), state, writer=lambda _: None)
    assert session.read_bytes() == RESULTS["cut"][1]


def test_two_runs_do_not_change_one_file_at_once(session, state, monkeypatch):
    """The second says that there is a first."""
    monkeypatch.setattr(guard, "_WAIT", 0.1)
    with (
        locked(state, session),
        pytest.raises(WriteError, match="another sesstool is changing"),
    ):
        apply(plan_for(session, CUT), state)
    assert unchanged(session)
    apply(plan_for(session, CUT), state)


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_others_can_be_held_off_while_a_file_is_changed_in_place(session, state, monkeypatch):
    """A lease is had by who alone has the file open, so we must not have it open twice."""
    edit = transact.edit_in_place

    def leased(path, **options):
        with path.open("rb") as handle:
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        edit(path, **options)

    monkeypatch.setattr(transact, "edit_in_place", leased)
    assert apply(plan_for(session, CUT), state).in_place


def test_what_is_on_disk_is_read_back(session, state, monkeypatch):
    """A disk that lies is found out, and the change is not taken for done."""

    def lie(path, *_, **__):
        path.write_bytes(b"nonsense")

    monkeypatch.setattr(transact, "replace", lie)
    with pytest.raises(WriteError, match="does not hold what was written"):
        apply(plan_for(session, MIDDLE), state)
    assert [entry.state for entry in undo.entries(state)] == [undo.State.BEGUN]
    assert list(log.read(state)) == []


@pytest.mark.parametrize("edits", [MIDDLE, APPEND], ids=["middle", "append"])
def test_a_full_disk_leaves_the_file_as_it_was(session, state, edits):
    """What was written of it is taken back, and the error says so."""
    session.write_bytes(b" " * 65536 + ORIGINAL)
    os.utime(session, ns=(MTIME, MTIME))
    before = look(session)
    moved = [edit.shifted(65536) for edit in edits]
    moved[-1] = Edit(moved[-1].start, moved[-1].end, b"x" * 1000)
    plan = plan_for(session, moved)
    with file_size_limit(65536 + 100), pytest.raises(WriteError, match="as before") as caught:
        apply(plan, state, ignore_live=True)
    assert look(session) == before
    assert names(session.parent) == ["s.jsonl"]
    assert "ulimit" in caught.value.hint


def test_a_read_only_disk_is_named(session, state, monkeypatch):
    """The hint names -o, and the file is as before."""
    opened = os.open

    def refuse(path, flags, *mode, **more):
        if str(path).startswith(str(session.parent)) and flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *mode, **more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(WriteError, match="read-only file system; it is as before") as caught:
        apply(plan_for(session, MIDDLE), state)
    assert "-o" in caught.value.hint
    assert unchanged(session)


@not_as_root
def test_a_read_only_folder_is_named(session, state):
    """No new file can be made there."""
    session.parent.chmod(0o500)
    try:
        with pytest.raises(WriteError, match="permission denied"):
            apply(plan_for(session, MIDDLE), state)
        assert unchanged(session)
    finally:
        session.parent.chmod(0o700)


@not_as_root
@edits
def test_a_file_that_was_made_read_only_stays_as_it_is(session, state, edits, result):
    """Though its folder would let it be replaced."""
    session.chmod(0o440)
    with pytest.raises(WriteError, match="permission denied"):
        apply(plan_for(session, edits), state)
    assert session.read_bytes() == ORIGINAL != result


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_write_is_recorded(session, state, monkeypatch, number):
    """One that comes when the bytes are written stops the run behind the journal and the log."""
    put = transact._put
    recorded = []

    def interrupted(*arguments):
        put(*arguments)
        signal.raise_signal(number)

    def stop(*_):
        recorded.extend((entry.id, entry.state) for entry in undo.entries(state))
        recorded.extend(line["undo"] for line in log.read(state))

    monkeypatch.setattr(transact, "_put", interrupted)
    before = signal.signal(number, stop)
    try:
        done = apply(plan_for(session, [Edit(0, 1)]), state)
    finally:
        signal.signal(number, before)
    assert recorded == [(done.undo_id, undo.State.DONE), done.undo_id]


def test_a_log_that_cannot_be_written_is_told_before_the_write(session, state):
    """No change is made that the log could not hold."""
    (state / log.NAME).mkdir(parents=True)
    before = look(session)
    with pytest.raises(WriteError, match="audit log"):
        apply(plan_for(session, [Edit(0, 1)]), state)
    assert look(session) == before
    assert list(undo.entries(state)) == []
