"""A power cut at any moment of prune, trash restore or trash empty: nothing is lost.

`crashmodel` tells every tree that may be left. In each of them the command is run again.
"""

from __future__ import annotations

import os
from itertools import islice

import pytest

from tests import crashmodel
from tests.retained import COMMANDS, Home

STRIDE = 1 if os.environ.get("EVERY_STEP") else 3


class World(Home):
    """A session of two files, and a command that was recorded."""

    def record(self, name):
        """Have a command done, and recorded."""
        self.name = name
        self.begin(name)
        codes = []
        folders = [self.home, *(path for path in self.home.rglob("*") if path.is_dir())]
        named = ("files", "subagents")  # that are there only in between
        recording = crashmodel.record(
            self.root, lambda: codes.append(self.run(name)), folders, named
        )
        assert codes == [0]
        assert self.wrong(name) is None
        return recording

    def problem_of(self, tree, ended):
        """What is wrong with a tree that a power cut left; None if nothing is."""
        crashmodel.put(self.root, tree)
        if lost := self.problem():
            return lost
        if ended:
            return self.wrong(self.name)
        code = self.run(self.name)
        return self.problem() or self.wrong(self.name) or (code and f"it ended with {code}") or None


@pytest.fixture
def make(scratch, monkeypatch):
    """Makes a world; syncs are only recorded."""
    crashmodel.only_record(monkeypatch)

    def world(name):
        root = scratch / name / "root"
        root.mkdir(parents=True)
        monkeypatch.setenv("XDG_STATE_HOME", str(root / "var"))
        return World(root, 1, small=True)

    return world


@pytest.mark.parametrize("name", COMMANDS)
def test_a_power_cut_loses_nothing(make, name):
    """Whatever had reached the disk, the same command brings it to its end.

    Each third tree is looked at; with EVERY_STEP=1 in the environment each one.
    """
    world = make(name)
    recording = world.record(name)
    for number, (tree, ended) in enumerate(islice(recording.trees(), 0, None, STRIDE)):
        assert world.problem_of(tree, ended) is None, number
