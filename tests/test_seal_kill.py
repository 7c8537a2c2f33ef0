"""Encrypt, decrypt and rekey that are killed at any change that they make."""

from __future__ import annotations

import os

import pytest

from tests.faults import at_call, command, forked, kill
from tests.sealed import Home

COMMANDS = ["encrypt", "decrypt", "rekey"]
names = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def home(tmp_path, monkeypatch):
    # A kill takes nothing away that was written, so nothing must reach a disk here.
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Home(tmp_path / "root")


@names
def test_what_is_killed_is_settled_by_the_next_run(home, name):
    """Each file is there all the time, plain or encrypted; at the end nothing is left over."""
    killed_at_any_step(home, name)


def killed_at_any_step(home, name, every=1):
    """The next run is told the folder at each second of the steps, and else the session."""
    home.begin(name)
    home.keep()
    ways = [command(*home.commands(path)[name]) for path in (home.home, home.path_for(name))]
    for step in range(1, 500, every):
        run = ways[step // every % 2]
        killed = forked(run, at_call(step, kill))[0] is None
        assert home.problem() is None, step
        ended = home.wrong(name) is None
        # Where it had ended, nothing is there any more that it could be done to.
        assert run() == 0 or ended, step
        assert home.wrong(name) is None, step
        home.back()
        if not killed:
            break
    assert step > 60
