"""A power cut at any moment of encrypt, decrypt or rekey: nothing is lost, nor plain text left.

`crashmodel` tells every tree that may be left. In each of them the command is run again.
"""

from __future__ import annotations

import pytest

from tests import crashmodel
from tests.faults import command
from tests.sealed import Home
from tests.test_crash_model import HEAD
from tests.test_seal_kill import COMMANDS, names


class World(Home):
    """A session, with side files or not, and a command that was recorded."""

    def record(self, name):
        """Have a command done, and recorded."""
        self.name = name
        self.begin(name)
        self.again = command(*self.commands()[name])
        codes = []
        folders = [self.home, *(path for path in self.home.rglob("*") if path.is_dir())]
        recording = crashmodel.record(self.root, lambda: codes.append(self.again()), folders)
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
        was_done = self.wrong(self.name) is None
        code = self.again()
        wrong = self.wrong(self.name)
        return wrong if wrong or was_done or code == 0 else f"it ended with {code}"

    def problems(self, recording):
        """The problems of all trees, as they are found."""
        for tree, ended in recording.trees():
            if problem := self.problem_of(tree, ended):
                yield problem


@pytest.fixture
def worlds(scratch, monkeypatch):
    """Makes a world; in all of them syncs are only recorded."""
    crashmodel.only_record(monkeypatch)

    def make(name, files):
        root = scratch / name / "root"
        root.mkdir(parents=True)
        monkeypatch.setenv("XDG_STATE_HOME", str(root / "var"))
        return World(root, files)

    return make


@names
def test_a_power_cut_loses_nothing_and_leaves_no_plain_text(worlds, name):
    """Whatever had reached the disk, the same command brings it to its end."""
    world = worlds(name, 2)
    recording = world.record(name)
    assert list(world.problems(recording)) == []


def test_no_sync_can_be_left_out(worlds):
    """Each one prevents a tree that is wrong, so the model sees what they are for."""
    needed, seen = set(), set()
    for name in COMMANDS:
        world = worlds(name, 1)
        recording = world.record(name)
        seen |= recording.sites()
        needed |= recording.needed(recording.sites() - needed, world.problem_of)
    assert seen - needed == {HEAD}
