"""A change or an undo that is killed at any moment."""

import os
import signal
import stat

import pytest

from sesstool.records import transact, undo
from sesstool.records.edits import Edit, EditSet
from sesstool.records.plan import FilePlan
from sesstool.records.settle import recover
from sesstool.records.source import fingerprint
from sesstool.records.transact import apply_file

ORIGINAL = b'{"n":1}\n{"n":2}\n{"n":3}\n{"n'
MTIME = 1_700_000_000_123_456_789
CHANGES = {
    "cut": [Edit(24, 27)],
    "append": [Edit(27, 27, b'":4}\n')],
    "middle": [Edit(8, 16, b'{"n":"two"}\n'), Edit(24, 27)],
    "both": [Edit(24, 27, b"{}\n")],
}
edits = pytest.mark.parametrize("edits", CHANGES.values(), ids=CHANGES)


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


def apply(path, edits, state):
    plan = FilePlan(path, fingerprint(path), "", EditSet(edits), 0o600)
    apply_file(plan, state=state, command="repair", ignore_live=False, recent_seconds=None)


def look(path):
    """The bytes, mode and mtime of a file."""
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


def names(folder):
    return [path.name for path in folder.iterdir()]


def unchanged(path):
    """Nothing is left of a change that failed."""
    return look(path) == (ORIGINAL, 0o640, MTIME) and names(path.parent) == [path.name]


def run_and_kill(step, action):
    """Run `action` in a process that is killed at its `step`th change; whether it was."""
    pid = os.fork()
    if pid == 0:
        try:
            _kill_at(step)
            action()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def _kill_at(step):
    calls = iter(range(1, 1000))

    def counted(call):
        def counting(*arguments, **options):
            if next(calls) == step:
                if call is write:
                    write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return counting

    write = os.write
    for name in ("fsync", "replace", "link", "ftruncate", "write", "utime", "chmod", "unlink"):
        setattr(os, name, counted(getattr(os, name)))


@edits
def test_a_kill_at_any_step_leaves_the_old_or_the_new_file(session, state, edits):
    """Whatever is left is brought to an end by the next run, and nothing lies about."""
    result = EditSet(edits).apply(ORIGINAL)
    states = set()
    for step in range(1, 100):
        if not run_and_kill(step, lambda: apply(session, edits, state)):
            break
        recover(state, session.resolve())
        found = look(session)
        states.add(found)
        assert names(session.parent) == ["s.jsonl"]
        for entry in undo.entries(state):
            assert not entry.unfinished
        if found[0] != ORIGINAL:
            transact.undo(state, str(session))
        assert unchanged(session)
    assert step > 20
    assert states == {(ORIGINAL, 0o640, MTIME), (result, 0o600, MTIME)}


@edits
def test_a_kill_at_any_step_of_an_undo_loses_nothing(session, state, edits):
    """The file is the changed one or the old one, and undo can be asked for again."""
    result = EditSet(edits).apply(ORIGINAL)
    states = set()
    for step in range(1, 100):
        apply(session, edits, state)
        killed = run_and_kill(step, lambda: transact.undo(state, str(session)))
        if not killed:
            break
        recover(state, session.resolve())
        states.add(look(session))
        if session.read_bytes() != ORIGINAL:
            transact.undo(state, str(session))
        assert unchanged(session)
    assert step > 10
    assert unchanged(session)
    assert states == {(result, 0o600, MTIME), (ORIGINAL, 0o640, MTIME)}
