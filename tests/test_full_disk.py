"""A disk that is full, at whatever moment: the file is as before, or the message says not."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
from functools import partial

import pytest

from sesstool import api
from sesstool.audit import log
from sesstool.records import undo
from tests.faults import SESSIONS, at_call, command, error, forked, look, make

sessions = pytest.mark.parametrize("name", SESSIONS)


@pytest.fixture
def folder(scratch):
    folder = scratch / "sessions"
    folder.mkdir()
    return folder


def is_told(code, words, now, before, after):
    """What a run that had a full disk tells of the file is true."""
    if code == 0:
        return now == after
    if "was changed, but" in words:
        return now[0] == after[0]
    return code == 6 and now == before and "sesstool: error: cannot" in words


def nothing_left(path):
    """Beside the session, and in the state folder."""
    state = api.state_folder()
    return list(path.parent.iterdir()) == [path] and not list((state / "undo").glob("*"))


def try_both(path, disk, emptied=lambda: None):
    """Repair on a full disk, then on one with space, and the same for undo.

    Returns the exit codes on the full disk.
    """
    codes, before = [], look(path)
    assert command("repair", "--write", path)() == 0
    after = look(path)
    assert command("undo", path)() == 0
    shutil.rmtree(api.state_folder())
    for action, start, end in (
        (["repair", "--write"], before, after),
        (["undo"], after, before),
    ):
        code, words = forked(command(*action, path), disk)
        codes.append(code)
        assert is_told(code, words, look(path), start, end), words
        assert list(path.parent.iterdir()) == [path]
        if "as before" in words and action != ["undo"]:
            assert nothing_left(path), words
        emptied()
        again = command(*action, path)()
        assert again == 0 or look(path) == end
        assert look(path) == end
        assert log.verify(api.state_folder()) == []
        assert not any(entry.unfinished for entry in undo.entries(api.state_folder()))
    return codes


@sessions
def test_a_call_that_fails(folder, name):
    """Whichever it is, the next run does what this one could not.

    The three sessions share the calls among them, for they are nearly the same.
    """
    path = make(folder, name)
    codes = set()
    for step in range(1 + list(SESSIONS).index(name), 200, 3):
        number = (errno.ENOSPC, errno.EDQUOT, errno.EIO)[step // 3 % 3]
        found = try_both(path, at_call(step, error(number)))
        codes.update(found)
        if found == [0, 0] and step > 80:
            break
    assert codes == {0, 6}


@sessions
def test_a_limit_on_the_size_of_files(folder, name):
    """Where writes come through in part, those of buffered writes among them."""
    path = make(folder, name)
    codes = set()
    for size in range(0, 1500, 97):
        limit = (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        disk = partial(resource.setrlimit, resource.RLIMIT_FSIZE, limit)
        codes.update(try_both(path, disk))
    assert codes == {0, 6}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
@sessions
def test_a_disk_without_space(tmp_path, monkeypatch, name):
    """A real one, with some bytes left and with none."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]
    if subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk / "state"))
        (disk / "sessions").mkdir()
        path = make(disk / "sessions", name)
        codes = set()
        for pages in range(12):
            full = partial(fill, disk / "fill", pages)
            emptied = partial((disk / "fill").unlink, missing_ok=True)
            codes.update(try_both(path, full, emptied))
        assert codes == {0, 6}
    finally:
        subprocess.run(["umount", disk], check=True)


def fill(path, pages):
    """Leave so many pages free."""
    free = os.statvfs(path.parent)
    with path.open("wb", buffering=0) as handle:
        handle.write(bytes(max(free.f_bavail - pages, 0) * free.f_frsize))
