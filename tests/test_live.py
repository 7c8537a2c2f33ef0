"""Telling who writes to a file."""

import fcntl
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from sesstool.errors import InputError
from sesstool.formats.claude_code import ClaudeCode
from sesstool.records import live
from sesstool.records.live import find_writer, lock_is_held, openers_held_off
from sesstool.records.processes import process_alive
from tests.conftest import SESSION

linux = pytest.mark.skipif(sys.platform != "linux", reason="leases and /proc are Linux's")


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n')
    return path


@contextmanager
def other_process(code, *arguments):
    """Another Python process that has run `code` and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys\n{code}\nprint(flush=True)\nsys.stdin.read()",
         *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        process.stdout.readline()
        yield process
    finally:
        process.communicate()


@linux
@pytest.mark.parametrize("mode", ["a", "r+"])
def test_a_process_that_has_the_file_open_for_writing_is_named(session, mode):
    """The description says which process it is."""
    with other_process(f"f = open(sys.argv[1], {mode!r})", session) as process:
        found = find_writer(session, recent_seconds=None)
    assert f"process {process.pid} (python" in found.description
    assert "open for writing" in found.description
    assert find_writer(session, recent_seconds=None) is None


@linux
def test_a_writer_is_found_without_leases(session, monkeypatch):
    """Where a file system has none, the open descriptors decide alone."""
    monkeypatch.setattr(live, "_free_of_writers", lambda _: None)
    with other_process("f = open(sys.argv[1])", session):
        assert find_writer(session, recent_seconds=None) is None
    with other_process("f = open(sys.argv[1], 'a')", session) as process:
        assert str(process.pid) in find_writer(session, recent_seconds=None).description


@linux
def test_a_writer_that_proc_does_not_show_counts(session, monkeypatch):
    """A lease that is refused means a writer, in another container perhaps."""
    monkeypatch.setattr(live, "_writers", lambda _: [])
    with other_process("f = open(sys.argv[1], 'a')", session):
        assert "cannot be seen" in find_writer(session, recent_seconds=None).description


@linux
def test_a_mapping_that_outlives_its_descriptor_counts(session):
    """Memory that is shared with the file can change it with no descriptor open."""
    code = "import mmap\nf = open(sys.argv[1], 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nf.close()"
    with other_process(code, session):
        assert find_writer(session, recent_seconds=None) is not None


def test_a_reader_is_no_writer(session):
    """An editor or `tail -f` does not make a session live."""
    with other_process("f = open(sys.argv[1])", session):
        assert find_writer(session, recent_seconds=None) is None


def test_this_process_is_no_writer(session):
    """What we hold open ourselves does not count, for reading or writing."""
    with session.open("a"), session.open():
        assert find_writer(session, recent_seconds=None) is None


@pytest.mark.parametrize(
    ("age", "recent", "found"),
    [(30, 60, "30 seconds ago"), (90, 60, None), (-3600, 60, "yet to come"), (1, None, None)],
)
def test_a_recent_write_counts_where_it_is_asked_for(session, age, recent, found):
    """Within the seconds given, and in the future, where clocks differ."""
    when = time.time() - age
    os.utime(session, (when, when))
    writer = find_writer(session, recent_seconds=recent)
    assert (writer is None) if found is None else (found in writer.description)


def test_a_file_that_is_gone_is_an_input_error(tmp_path):
    """Nobody can write to it, and nobody can read it."""
    with pytest.raises(InputError, match="no such file"):
        find_writer(tmp_path / "none", recent_seconds=None)


@linux
@pytest.mark.parametrize("take", ["fcntl.flock(f, fcntl.LOCK_EX)", "fcntl.lockf(f, fcntl.LOCK_EX)"])
def test_a_lock_of_another_process_is_seen_and_not_taken(session, take):
    """Both kinds of lock show, until they are given back."""
    assert not lock_is_held(session)
    with other_process(f"import fcntl\nf = open(sys.argv[1], 'a')\n{take}", session):
        assert lock_is_held(session)
        assert lock_is_held(session)
    assert not lock_is_held(session)
    assert not lock_is_held(session.with_name("none"))


@linux
def test_looking_for_a_lock_leaves_a_lease_out(session):
    """A lease says that a file is open, not that it is locked."""
    with session.open() as handle:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        assert not lock_is_held(session)


@linux
def test_a_process_is_alive_until_it_ends():
    """A zombie is dead, and so is a number that was never given."""
    with other_process("") as process:
        assert process_alive(process.pid)
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not process_alive(process.pid)
        process.stdin = None
    assert not process_alive(process.pid)
    assert not process_alive(0)
    assert not process_alive(-1)


@linux
def test_a_reused_process_number_is_not_the_one_asked_for():
    """The start time tells two processes with one number apart."""
    text = Path(f"/proc/{os.getpid()}/stat").read_text()
    started = text.rpartition(")")[2].split()[19]
    assert process_alive(os.getpid(), started)
    assert not process_alive(os.getpid(), str(int(started) + 1))


def test_without_proc_a_process_is_asked(monkeypatch, tmp_path):
    """As on macOS: the signal that does nothing finds it or does not."""
    monkeypatch.setattr(live, "_PROC", tmp_path)
    with other_process("") as process:
        assert process_alive(process.pid)
    assert not process_alive(process.pid)


@linux
def test_an_opener_waits_until_the_block_ends(session):
    """Its bytes come after the change, not into the middle of it."""
    code = "f = open(sys.argv[1], 'ab', buffering=0); f.write(b'late'); f.close()"
    descriptor = os.open(session, os.O_WRONLY)
    try:
        with openers_held_off(descriptor):
            late = subprocess.Popen([sys.executable, "-c", f"import sys; {code}", session])
            with pytest.raises(subprocess.TimeoutExpired):
                late.wait(timeout=0.5)
            os.ftruncate(descriptor, 0)
        assert late.wait(timeout=30) == 0
    finally:
        os.close(descriptor)
    assert session.read_bytes() == b"late"


def test_a_file_that_is_open_elsewhere_is_changed_without_a_wait(session):
    """No lease is had then, and the block runs all the same."""
    descriptor = os.open(session, os.O_WRONLY)
    try:
        with session.open(), openers_held_off(descriptor):
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
    assert session.read_bytes() == b""


@linux
def test_claude_code_is_known_by_what_it_registers(tmp_path):
    """The process must run, and have the session."""
    path = project_of(tmp_path) / f"{SESSION}.jsonl"
    path.touch()
    entry = tmp_path / ".claude" / "sessions" / "1.json"
    entry.parent.mkdir()
    with other_process("") as process:
        entry.write_text(json.dumps({"pid": process.pid, "sessionId": SESSION}))
        assert f"process {process.pid}" in ClaudeCode().writer(path)
        assert ClaudeCode().writer(path.with_name(SESSION[::-1] + ".jsonl")) is None
    assert ClaudeCode().writer(path) is None


@linux
def test_a_claude_code_that_registers_nothing_is_known_by_its_folder(tmp_path, monkeypatch):
    """One that registered another session is not meant."""
    path = project_of(tmp_path) / f"{SESSION}.jsonl"
    path.touch()
    entry = tmp_path / ".claude" / "sessions" / "1.json"
    entry.parent.mkdir()
    assert ClaudeCode().writer(path) is None
    monkeypatch.chdir(tmp_path)
    with other_process("open('/proc/self/comm', 'w').write('claude')") as process:
        assert f"in the folder of this session (process {process.pid})" in ClaudeCode().writer(path)
        entry.write_text(json.dumps({"pid": process.pid, "sessionId": "another"}))
        assert ClaudeCode().writer(path) is None


def project_of(home):
    """Claude Code's folder for a project at `home` itself."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(home))
    folder.mkdir(parents=True)
    return folder
