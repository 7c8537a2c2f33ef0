"""Changing a file, and making a new one, as a whole or not at all."""

import errno
import os
import resource
import stat
from contextlib import contextmanager

import pytest

from sesstool.errors import WriteError
from sesstool.records.write import create, edit_in_place, replace

ORIGINAL = b'{"n":1}\n{"n":2}\n{"n":3}\n{"n'
MTIME = 1_700_000_000_123_456_789


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "home" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(ORIGINAL)
    path.chmod(0o640)
    os.utime(path, ns=(MTIME, MTIME))
    return path


def look(path):
    """The bytes, mode and mtime of a file."""
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


def names(folder):
    return [path.name for path in folder.iterdir()]


def unchanged(path):
    """Nothing is left of a change that failed."""
    return look(path) == (ORIGINAL, 0o640, MTIME) and names(path.parent) == [path.name]


def nothing():
    pass


@contextmanager
def file_size_limit(size):
    """No file can grow beyond `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_another_writers_bytes_are_not_cut_with_ours(session, monkeypatch):
    """Where somebody appended behind a broken append, nothing is taken back, and it is said."""
    write = os.write

    def broken(descriptor, data):
        if len(data) < 10:
            other.write(b"theirs")
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:6])

    with session.open("ab", buffering=0) as other:
        monkeypatch.setattr(os, "write", broken)
        with pytest.raises(WriteError, match=r"a part of the change is in .* no space left"):
            edit_in_place(session, at=27, data=b"0123456789", mode=0o640, mtime=1, expect=nothing)
    assert session.read_bytes() == ORIGINAL + b"012345theirs"


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    """A folder, a device or a pipe is no session, and stays what it is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match="no regular file"):
        replace(pipe, [b""], mode=0o600, mtime=0, expect=nothing)
    with pytest.raises(WriteError, match="no regular file"):
        create(pipe, [b""], force=True)
    assert pipe.is_fifo()


def test_an_edit_in_place_never_cuts_and_appends(session):
    """A crash in between would leave neither the old file nor the new one."""
    with pytest.raises(ValueError, match="either cuts or appends"):
        edit_in_place(session, at=20, data=b"x", mode=0o640, mtime=MTIME, expect=nothing)
    assert unchanged(session)


def test_a_disk_that_does_not_confirm_is_told(session, monkeypatch):
    """The file is changed then, and the error does not say otherwise."""

    def fail(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("sesstool.records.write.sync_folder", fail)
    with pytest.raises(WriteError, match="was changed, but the disk did not confirm"):
        edit_in_place(session, at=24, data=b"", mode=0o640, mtime=MTIME, expect=nothing)
    assert session.read_bytes() == ORIGINAL[:24]


def test_bytes_are_on_disk_before_names_are(session, monkeypatch):
    """The file before the rename, its folder after it: else a power cut leaves an empty file."""
    steps = []
    fsync, rename = os.fsync, os.replace

    def traced(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(*arguments):
        steps.append("rename")
        rename(*arguments)

    monkeypatch.setattr(os, "fsync", traced)
    monkeypatch.setattr(os, "replace", renamed)
    replace(session, [b"new"], mode=0o640, mtime=MTIME, expect=nothing)
    assert steps == ["file", "rename", "folder"]
    steps.clear()
    create(session, [b"new"], force=True)
    assert steps == ["file", "rename", "folder"]
    steps.clear()
    edit_in_place(session, at=1, data=b"", mode=0o640, mtime=MTIME, expect=nothing)
    assert steps == ["file", "folder"]


def test_a_new_file_is_private_and_whole(tmp_path):
    """Nothing else is left in the folder."""
    create(tmp_path / "new", [b"a", b"b"])
    assert (tmp_path / "new").read_bytes() == b"ab"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    assert names(tmp_path) == ["new"]


def test_a_new_file_takes_no_name_that_is_taken(session):
    """Unless it is told to; the mode is then that of the new file."""
    with pytest.raises(WriteError, match="exists already") as caught:
        create(session, [b"new"])
    assert "remove it first" in caught.value.hint
    assert unchanged(session)
    create(session, [b"new"], mode=0o644, force=True)
    assert look(session)[:2] == (b"new", 0o644)


def test_a_new_file_that_fails_is_not_there(tmp_path):
    """Neither where the disk is full, nor where the bytes end early."""

    def broken():
        yield b"x"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create(tmp_path / "new", broken())
    with file_size_limit(10), pytest.raises(WriteError, match="file too large"):
        create(tmp_path / "new", [b"x" * 20])
    with pytest.raises(WriteError, match="no such file") as caught:
        create(tmp_path / "none" / "new", [b"x"])
    assert "see to the disk" in caught.value.hint
    assert names(tmp_path) == []
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError, match="not a directory") as caught:
        create(tmp_path / "file" / "new", [b"x"])
    assert "a file is where a folder must be" in caught.value.hint


def test_a_new_file_needs_no_hard_links(tmp_path, monkeypatch):
    """Some file systems have none, and a taken name stays taken there."""

    def refuse(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    create(tmp_path / "new", [b"one"])
    with pytest.raises(WriteError, match="exists already"):
        create(tmp_path / "new", [b"two"])
    assert (tmp_path / "new").read_bytes() == b"one"
    assert names(tmp_path) == ["new"]
