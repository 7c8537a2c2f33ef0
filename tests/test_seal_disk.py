"""Encrypt, decrypt and rekey on a disk that is full or fails, at whatever moment."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from functools import partial

import pytest

from tests.faults import at_call, command, error, forked
from tests.sealed import Home, holders
from tests.test_full_disk import fill
from tests.test_seal_kill import home, names

__all__ = ["home"]


def fails_and_goes_on(home, name, disk, emptied=lambda: None):
    """A run on such a disk loses nothing, and one on a good disk ends it; its exit code."""
    run = command(*home.commands()[name])
    code, said = forked(run, disk)
    emptied()
    assert code in (0, 6), said
    assert home.problem() is None, said
    if code == 0:
        assert home.wrong(name) is None, said
    else:
        assert "sesstool: error: cannot" in said or "was changed, but" in said, said
        assert not [path for path in home.home.rglob(".*") if path in holders(home.home)], said
    ended = home.wrong(name) is None
    assert run() == 0 or ended, said
    assert home.wrong(name) is None, said
    return code


@names
def test_a_call_that_fails(home, name):
    """Whichever it is, the next run does what this one could not."""
    home.begin(name)
    home.keep()
    codes = []
    for step in range(1, 200):
        number = (errno.ENOSPC, errno.EDQUOT, errno.EIO)[step % 3]
        codes.append(fails_and_goes_on(home, name, at_call(step, error(number))))
        home.back()
        if codes[-8:] == [0] * 8:
            break
    assert codes.count(6) > 40


@names
def test_a_limit_on_the_size_of_files(home, name):
    """Writes then come through in part."""
    home.begin(name)
    home.keep()
    codes = set()
    for size in range(0, 4500, 250):
        limit = (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        codes.add(
            fails_and_goes_on(home, name, partial(resource.setrlimit, resource.RLIMIT_FSIZE, limit))
        )
        home.back()
    assert codes == {0, 6}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
@names
def test_a_disk_without_space(tmp_path, monkeypatch, name):
    """A real one, with some pages left and with none."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk]
    if subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk / "state"))
        home = Home(disk / "root")
        home.begin(name)
        home.keep()
        codes = set()
        for pages in range(16):
            full = partial(fill, disk / "fill", pages)
            emptied = partial((disk / "fill").unlink, missing_ok=True)
            codes.add(fails_and_goes_on(home, name, full, emptied))
            home.back()
        assert codes == {0, 6}
    finally:
        subprocess.run(["umount", disk], check=True)
