"""A power cut at any moment of a write leaves the original or the result.

`crashmodel` tells every tree that may be left. Each is looked at as the next run does: what was
broken off is settled first.
"""

from __future__ import annotations

import os
import stat

import pytest

from sesstool import api
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.errors import SesstoolError
from sesstool.records import transact, undo
from sesstool.records.edits import Edit, EditSet
from sesstool.records.plan import FilePlan
from sesstool.records.source import fingerprint
from tests import crashmodel
from tests.conftest import answer, jsonl, prompt, use

MTIME = 1_700_000_000_123_456_789
LINES = b'{"n":1}\n{"n":2}\n{"n":3}\n{"n'
EDITS = {
    "cut": [Edit(24, 27)],
    "append": [Edit(27, 27, b'":4}\n')],
    "middle": [Edit(8, 16, b'{"n":"two"}\n'), Edit(24, 27)],
    "mode": [],
}
SESSIONS = {
    "repair-cut": jsonl(prompt(1, None), answer(2, 1)) + b'{"cut',
    "repair-append": jsonl(prompt(1, None), answer(2, 1, use("a"))),
    "repair-middle": jsonl(prompt(1, None), b"\0\0\0", answer(2, 1)) + b'{"cut',
}
WRITES = {
    **{name: (name,) for name in [*EDITS, *SESSIONS]},
    "two-files": ("middle", "cut"),
    "no-undo": ("middle", "--no-undo"),
}
UNDOS = [*EDITS, "repair-middle"]


class World:
    """Sessions in a folder, a state folder that is not there yet, and a command that is run."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.root.mkdir()
        self.plan = folder / "plan.json"
        self.state = self.root / "var" / "sesstool"
        self.home = self.root / "home"
        self.home.mkdir()
        self.starts, self.ends = {}, {}
        self.keeps_undo = True

    def write(self, *names):
        """Record `repair --write` of one session, or `apply --write` of a plan for some."""
        flags = [name for name in names if name.startswith("--")]
        names = [name for name in names if name not in flags]
        self.keeps_undo = not flags
        if names[0] in SESSIONS:
            return self._record("repair", "--write", self._session(names[0], SESSIONS[names[0]]))
        files = []
        for name in names:
            path = self._session(name, LINES)
            edits = EditSet(EDITS[name])
            files.append(FilePlan(path, fingerprint(path), "", edits, 0o600, ("B104",)))
        api.Plan(tuple(files), "", "").save(self.plan)
        return self._record("apply", "--write", self.plan, *flags)

    def undo(self, name):
        """Record the undo of such a write."""
        self.write(name)
        return self._record("undo", *self.starts)

    def problem(self, tree, ended):
        """What is wrong with a tree that a power cut left; None if nothing is."""
        crashmodel.put(self.root, tree)
        for path in self.starts:
            api.settle(path)
        now = {path: look(path) for path in self.starts}
        if any(now[path] not in (self.starts[path], self.ends[path]) for path in now):
            return "neither the original nor the result"
        if ended and now != self.ends:
            return "the command had ended, and its change is not there"
        if sorted(self.home.iterdir()) != sorted(self.starts):
            return "left over beside the session"
        if [path for path in self.state.rglob(".*") if path.name != ".lock"]:
            return "left over in the state folder"
        if not self.keeps_undo and not ended:
            return None  # nothing tells then what was broken off
        if log.verify(self.state):
            return "the audit log is damaged"
        if any(entry.unfinished for entry in undo.entries(self.state)):
            return "an entry is not settled"
        lines = [(line["path"], line["action"], line["undo"]) for line in log.read(self.state)]
        changed = [path for path in now if now[path] == self.ends[path]]
        before = len(self.starts) if self.undoing else 0
        if len(set(lines)) != len(lines) or len(lines) != before + len(changed):
            return "a change is not in the audit log once"
        if not self.keeps_undo:
            return None
        for path in changed if not self.undoing else set(now) - set(changed):
            try:
                transact.undo(self.state, str(path))
            except SesstoolError:
                return "a change cannot be undone"
            if look(path) != (self.ends if self.undoing else self.starts)[path]:
                return "an undo did not bring back the original"
        return None

    def problems(self, recording):
        """The problems of all trees, as they are found."""
        for tree, ended in recording.trees():
            if problem := self.problem(tree, ended):
                yield problem

    def _session(self, name, data):
        path = self.home / f"{name}.jsonl"
        path.write_bytes(data)
        path.chmod(0o640)
        os.utime(path, ns=(MTIME, MTIME))
        self.starts[path] = look(path)
        return path

    def _record(self, *arguments):
        self.starts = {path: look(path) for path in self.starts}
        self.undoing = arguments[0] == "undo"
        codes = []
        recording = crashmodel.record(
            self.root, lambda: codes.append(run(list(map(str, arguments)))), [self.home]
        )
        assert codes == [0]
        self.ends = {path: look(path) for path in self.starts}
        assert self.starts != self.ends
        return recording


def look(path):
    """The bytes, mode and mtime of a file."""
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


@pytest.fixture
def worlds(scratch, monkeypatch):
    """Makes a world; in all of them syncs are only recorded."""
    crashmodel.only_record(monkeypatch)

    def make(name):
        folder = scratch / name
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "root" / "var"))
        return World(folder)

    return make


@pytest.mark.parametrize("name", WRITES)
def test_a_power_cut_leaves_the_original_or_the_result(worlds, name):
    """Whatever of the write had reached the disk; and it is recorded, and can be undone."""
    world = worlds(name)
    recording = world.write(*WRITES[name])
    assert list(world.problems(recording)) == []


@pytest.mark.parametrize("name", UNDOS)
def test_a_power_cut_in_an_undo_leaves_the_result_or_the_original(worlds, name):
    """An undo that did not come to its end can be asked for again."""
    world = worlds(name)
    recording = world.undo(name)
    assert list(world.problems(recording)) == []


# Of the head of the log: without it a head could lag behind more than one addition, which verify
# tells of; of the one addition that each of these runs makes it forgives that.
HEAD = ("_point", "_append", "append")
# Syncs that another one does as well in these worlds, which are left in: they are not alike.
COVERED = {
    # The name is an old one; whoever made the file may not have had it on disk.
    ("sync_folder", "_confirm", "edit_in_place"),
    # Only of the folder for locks, which are nothing that must stay.
    ("sync_folder", "make_folder", "locked"),
    # Of all files of an entry but the last.
    ("sync_folder", "create", "begin"),
    # Of the head's name: those of the log and of undo entries are made later in the same folder.
    ("sync_folder", "make", "_opened"),
    HEAD,
}


def test_no_sync_can_be_left_out(worlds):
    """Each one prevents a tree that is wrong, so the model sees what they are for."""
    needed, seen = set(), set()
    for name in ["cut", "append", "middle", "no-undo"]:
        # One world at a time: the state folder is that of the newest.
        world = worlds(name)
        recording = world.write(*WRITES[name])
        seen |= recording.sites()
        needed |= recording.needed(recording.sites() - needed, world.problem)
    assert seen - needed == COVERED
