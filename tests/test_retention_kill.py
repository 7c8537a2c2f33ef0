"""Prune, trash restore and trash empty that are killed, or meet a full disk, at any change."""

from __future__ import annotations

import errno
import os

import pytest

from sesstool.retention import trash
from tests.faults import at_call, error, forked, kill
from tests.retained import COMMANDS, Home

names = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def home(tmp_path, monkeypatch):
    # A kill takes nothing away that was written, so nothing must reach a disk here.
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    return Home(tmp_path / "root")


def ended(home, name):
    """The next run; it has nothing to do where that was done."""
    code = home.run(name)
    assert code in (0, 2, 3)
    assert home.problem() is None
    return home.wrong(name)


@names
def test_what_is_done(home, name):
    """Each command alone leaves all as it must be."""
    home.begin(name)
    assert home.problem() is None
    assert home.run(name) == 0
    assert home.problem() is None
    assert home.wrong(name) is None


@names
def test_what_is_killed_is_settled_by_the_next_run(home, name):
    """Each file is there all the time, or told to be gone; at the end all accounts agree."""
    home.begin(name)
    home.keep()
    for step in range(1, 800):
        killed = forked(lambda: home.run(name), at_call(step, kill))[0] is None
        assert home.problem() is None, step
        assert ended(home, name) is None, step
        home.back()
        if not killed:
            break
    assert step > 40


@names
def test_a_call_that_fails(home, name):
    """Whichever it is, nothing is lost, and the next run does what this one could not."""
    home.begin(name)
    home.keep()
    codes = []
    for step in range(1, 800):
        number = (errno.ENOSPC, errno.EDQUOT, errno.EIO)[step % 3]
        code, said = forked(lambda: home.run(name), at_call(step, error(number)))
        codes.append(code)
        assert code in (0, 2, 6), said
        assert home.problem() is None, (step, said)
        assert not trash.damaged(home.state)
        assert ended(home, name) is None, (step, said)
        home.back()
        if codes[-8:] == [0] * 8:
            break
    assert codes.count(6) > 20
