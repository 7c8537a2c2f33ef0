"""A power cut at any moment leaves every record that the policy says is on disk.

`crashmodel` tells each tree that may be left; each is opened as the next run does.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from sesstool import SessionStore
from sesstool.cli.main import run
from sesstool.errors import InputError, SesstoolError
from sesstool.records.undo import state_folder
from tests import crashmodel
from tests.test_store import SAY, TALKS, call, result

TORN = b'{"role":"assistant","con'
CHAT = [{"role": "user", "content": "Is it lit?"}, call(thing="oil"), result(), SAY]
GIVEN = {"openai-chat": CHAT, "mycodeagent": CHAT, "astorlm": TALKS["astorlm"]}
FORMS = tuple(GIVEN)


class World:
    """A store below a root, and a state folder; a run of it, and what a power cut leaves."""

    def __init__(self, folder, form, policy):
        self.root = folder / "root"
        self.root.mkdir()
        self.store = SessionStore(self.root / "sessions", form, durability=policy)
        self.form, self.policy, self.given, self.torn = form, policy, GIVEN[form], b""
        self.mended = 0

    def begun(self):
        """A session of two messages, with a torn tail behind them; all of it is on disk."""
        self.write(self.given[:2])
        self.torn = TORN
        with self.store.path("harbour").open("ab") as file:
            file.write(TORN)

    def write(self, messages, told=lambda _: None):
        with self.store.open("harbour") as session:
            for message in messages:
                session.append(message)
                # By "turn" results wait for the next message.
                if self.policy == "record" or not session._codec.results(message):
                    told(session.history.count)
        told(len(self.given))

    def recorded(self):
        """Write what is left to write, and record it."""
        done = [2 if self.torn else 0]
        rest = self.given[done[0] :]
        return crashmodel.record(
            self.root, lambda: self.write(rest, done.append), [], told=lambda: done[-1]
        )

    def problem(self, tree, told):
        """What is wrong with a tree that a power cut left; None if nothing is."""
        crashmodel.put(self.root, tree)
        path = self.store.path("harbour")
        mended = False
        try:
            session = self.store.open("harbour")
        except InputError as error:
            if self.policy == "record" or "sesstool repair --write" not in error.hint:
                return "it does not open"
            run(["repair", "--write", "--quiet", str(path)])
            session, mended = self.store.open("harbour"), True
            self.mended += 1
        try:
            return self._wrong(session, told, mended=mended)
        finally:
            with suppress(SesstoolError):  # of a side file that is damaged
                session.close()

    def _wrong(self, session, told, *, mended):
        path = session.path
        found = session.messages()
        count = session.history.count
        if not mended and count < told:
            return "a record that was durable is gone"
        if found[:told] != self.given[:told]:
            return "a record that was durable is gone or another one"
        if not mended and found[:count] != self.given[:count]:
            return "there is a gap, or more than was written"
        if self.torn and TORN not in path.read_bytes():
            kept = [one.read_bytes() for one in state_folder().rglob("cut.bin")]
            if TORN not in kept:
                return "what was cut is lost"
        session.append(self.given[0])
        return None

    def problems(self, recording):
        for tree, told in recording.trees():
            side = tree.get("sessions/harbour.meta.json")
            if self.form == "astorlm" and (told or side) and not is_whole(side):
                yield "astorLM does not find the session"
            if problem := self.problem(tree, told):
                yield problem


def is_whole(side):
    """Whether there is a side file, and it is sound."""
    try:
        return json.loads(side.data)["id"] == "harbour"
    except (AttributeError, ValueError):
        return False


@pytest.fixture
def worlds(scratch, monkeypatch):
    """Makes a world; in all of them syncs are only recorded."""
    crashmodel.only_record(monkeypatch)

    def make(form, policy, name="world"):
        folder = scratch / name
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "root" / "var"))
        return World(folder, form, policy)

    return make


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", ["record", "turn"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_power_cut_takes_nothing_that_is_durable(worlds, form, policy, begun):
    """Of a new session in a new folder, and of one whose torn tail was cut, which is kept."""
    world = worlds(form, policy)
    if begun:
        world.begun()
    recording = world.recorded()
    assert recording.told == len(world.given)
    assert list(world.problems(recording)) == []
    # Behind the last sync of a turn a hole may be left before what is whole.
    assert (world.mended > 0) == (policy == "turn" and form != "astorlm")


# The name of the side file: the first record has its folder synced as well, and of what close
# writes there nothing depends.
COVERED = {"mycodeagent": set(), "astorlm": {("sync_folder", "create")}}


@pytest.mark.parametrize("form", COVERED)
@pytest.mark.parametrize("policy", ["record", "turn"])
def test_no_sync_can_be_left_out(worlds, form, policy):
    """Each one prevents a tree that is wrong, so the model sees what they are for."""
    world = worlds(form, policy)
    recording = world.recorded()
    needed = {
        site for site in recording.sites() if next(world.problems(recording.without(site)), None)
    }
    assert recording.sites() - needed == COVERED[form]
