"""The retention preview: why each session stays or goes, and that it does what the command does."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest
from textual.worker import WorkerCancelled

from sesstool import api
from sesstool.api import retaining
from sesstool.api.previews import Without
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.errors import WriteError
from sesstool.retention import holds, policy, trash
from sesstool.tui.retaining import Retaining
from tests.conftest import jsonl, prompt
from tests.retained import CANARY, OLD, YOUNG, Home
from tests.screens import SMALL, running, shown
from tests.writes import driven, frame, press, words

ACTIONS = ("trash", "delete", "archive", "sealed")


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    made = Home(tmp_path / "root")
    made.state.mkdir(parents=True)
    return made


def previewed(world, action="trash"):
    return Retaining([world.home], str(world.root / f"{action}.toml"))


def files(folder):
    """All files with what they hold."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def entries(state):
    """The entries of the trash, but for ids and times."""
    return sorted(
        (e.session, e.path, e.action, e.rule, e.size, sorted(str(i.path) for i in e.items))
        for e in trash.entries(state)
    )


def account(state):
    """What the log tells, but for ids, times, and hashes of what is encrypted anew each time."""
    lines = [(one["action"], one["path"], one["before"]) for one in log.read(state)]
    return [one for one in lines if one[0] != "hold"]


@pytest.mark.parametrize("action", ACTIONS)
def test_what_y_does_is_what_the_command_does(world, action):
    """The same files are left, the same entries in the trash, the same lines in the log."""
    world.keep()
    rules = ["--policy", str(world.root / f"{action}.toml"), "--trust-clock"]
    assert run(["prune", "--write", "--yes", *rules, str(world.home)]) == 0
    expected = files(world.home), entries(world.state), account(world.state)
    assert CANARY not in b"".join(expected[0].values())
    world.back()
    assert CANARY in b"".join(files(world.home).values())
    text = driven(previewed(world, action), "t", "W", "y", "u", writes=True)
    assert (files(world.home), entries(world.state), account(world.state)) == expected
    assert "WRITTEN" in text[-1]
    assert "u to undo" not in text[-1]
    assert "sesstool trash restore gives back" in text[-1]


def test_without_allow_write_nothing_is_done(world):
    """Neither pruned nor held."""
    old = files(world.root)
    frames = driven(previewed(world), "t", "W", "y", "H", "u")
    assert "read-only: start with --allow-write" in frames[1]
    assert "Press y" not in frames[1]
    assert files(world.root) == old
    assert not list(world.state.iterdir())


def test_each_row_says_why(world):
    """Action, age, size and the reason with its rule; what stays is shown, too."""
    text = shown(previewed(world), "t")
    assert "2 trash" in text
    assert "1 of 3 sessions stay" in text
    assert "older than 30d (rule old)" in text
    assert "no rule is for it" in text
    assert "sesstool trash restore gives it back until" in words(text)
    assert "old: session 0a*" in text
    assert "gone after 30d, trash" in text


def test_a_small_terminal_shows_each_pane_by_its_number(world):
    """The plan, the session, the policy."""
    frames = driven(previewed(world), "t", "2", "3", size=SMALL)
    assert "older than 30d" in frames[0]
    assert "2 files" in frames[1] or "4 files" in frames[1]
    assert "old: session 0a*" in frames[2]


def test_without_a_policy_the_next_step_is_told(world):
    """There is none: how one is made. One that is wrong: where."""
    text = words(driven(Retaining([world.home]), "W", writes=True)[-1])
    assert "there is no retention policy" in text
    assert "this makes one, to be changed: mkdir -p" in text
    wrong = world.root / "wrong.toml"
    wrong.write_text("version = 1\nrules = 3\n")
    assert "wrong.toml" in words(shown(Retaining([world.home], str(wrong))))


def test_an_empty_policy_keeps_all(world):
    """And W has nothing to do."""
    empty = world.root / "empty.toml"
    empty.write_text("version = 1\n")
    keys = ("t", "3", "W")
    text = driven(Retaining([world.home], str(empty)), *keys, size=SMALL, writes=True)[-1]
    assert "the policy has no rule: it keeps all" in text
    assert "nothing to do: all sessions stay" in text


def test_a_filter_shows_one_action_and_a_sort_another_order(world):
    """Keys a and s; behind the last one it is as before."""
    frames = driven(previewed(world), "t", "a", "a", "a", "s", "s", "s", "s")
    assert "(only keep)" in frames[1]
    assert "older than 30d" not in frames[1]
    assert "(only trash)" in frames[2]
    assert "no rule is for it" not in frames[2]
    assert "(only" not in frames[3]
    assert [f.rpartition("sorted by ")[2][:3] for f in frames[4:]] == ["age", "siz", "ses", "act"]


def test_a_what_if_date_shows_another_day_and_writes_nothing(world):
    """Long ago nothing was due; W is refused until it is today again."""
    old = files(world.home)

    async def run_():
        async with running(previewed(world), writes=True) as pilot:
            frames = []
            for date in ("2026-03-02", "no date", "2027-12-31", ""):
                await press(pilot, "p")
                pilot.app.screen.query_one("Input").value = date
                await press(pilot, "enter")
                frames.append(frame(pilot))
                if date == "2027-12-31":
                    await press(pilot, "W", "y")
                    frames.append(frame(pilot))
            return frames

    early, wrong, late, refused, now = asyncio.run(run_())
    assert "what if: as of 2026-03-03" in early
    assert "3 of 3 sessions stay" in early
    assert "is no date" in wrong
    assert "2 trash" in late
    assert "p with nothing shows what is to be done now" in words(refused)
    assert "what if" not in now.split("\n")[0]
    assert files(world.home) == old


def test_a_session_that_is_left_out_stays_and_the_others_go(world):
    """Space leaves it out of this run, again has it in."""
    screen = previewed(world)
    frames = driven(screen, "t", "space", "space")
    assert "left out this time" in frames[1]
    assert "1 trash" in frames[1]
    assert "2 trash" in frames[2]
    screen = previewed(world)
    driven(screen, "t", "space", "W", "y", writes=True)
    (left,) = screen._out
    there = [
        p for p in world.home.rglob("*.jsonl") if OLD.format(0) in p.name or OLD.format(1) in p.name
    ]
    assert Path(left) in there
    assert len(trash.entries(world.state)) == 1


def test_what_is_left_out_bounds_a_plan_before_its_limit_is_judged(world):
    """As a saved preview does; the base of a fork that stays is kept with it by that."""
    rules = policy.load(world.root / "trash.toml")
    every = retaining.plan([str(world.home)], rules, trust_clock=True)
    first = every.changes[0].group.path
    made = retaining.plan([str(world.home)], rules, trust_clock=True, saved=Without([first]))
    assert [row.group.path for row in made.changes] == [
        row.group.path for row in every.changes if row.group.path != first
    ]
    assert next(r for r in made.rows if r.group.path == first).decision.action == "keep"


def test_too_many_sessions_are_not_removed_from_here(world):
    """Only the command has the option that allows it."""
    rules = world.root / "trash.toml"
    rules.write_text(
        rules.read_text().replace("max_delete_fraction = 1.0", "max_delete_fraction = 0.1")
    )
    old = files(world.home)
    text = words(driven(previewed(world), "t", "W", "y", writes=True)[-1])
    assert "nothing can be done from here" in text
    assert "--max-delete" in text
    assert files(world.home) == old


def test_a_hold_is_asked_for_and_keeps_the_session(world):
    """Name and reason, then y; it is the hold of the command."""

    async def run_(last):
        async with running(previewed(world), writes=True) as pilot:
            await press(pilot, "t", "H")
            for answer in ("CASE-7", "asked for by the court"):
                pilot.app.screen.query_one("Input").value = answer
                await press(pilot, "enter")
            await press(pilot, last)
            return frame(pilot)

    asyncio.run(run_("escape"))
    assert not holds.read(world.state)
    text = asyncio.run(run_("y"))
    made = holds.read(world.state)
    assert {hold.name for hold in made} == {"CASE-7"}
    assert {hold.reason for hold in made} == {"asked for by the court"}
    assert "hold CASE-7" in text
    assert "1 trash" in text
    assert "sesstool hold release CASE-7" in text


def test_what_is_skipped_is_told_with_its_next_step(world):
    """A session that changed since the preview stays; the other goes."""

    async def run_():
        screen = previewed(world)
        async with running(screen, writes=True) as pilot:
            await press(pilot, "t", "W")
            changed = Path(screen.retention.changes[0].group.path)
            grow(changed)
            await press(pilot, "y")
            return frame(pilot), changed

    def grow(path):
        path.write_bytes(path.read_bytes() + jsonl(prompt(9, None)))

    text, changed = asyncio.run(run_())
    assert "Not all was written" in text
    assert "has changed since it was looked at" in words(text)
    assert changed.exists()
    assert len(trash.entries(world.state)) == 1


def test_a_run_that_fails_is_told_and_leaves_the_sessions(world, monkeypatch):
    """The disk is full: the first error ends it, and all is as it was."""
    old = files(world.home)

    def refuse(*_, **__):
        raise WriteError("cannot move it: no space left on device", hint="make room")

    monkeypatch.setattr(trash, "take", refuse)
    text = driven(previewed(world), "t", "W", "y", writes=True)[-1]
    assert "no space left on device" in text
    assert "make room" in text
    assert files(world.home) == old


def test_who_leaves_while_it_runs_stops_it_between_two_sessions(world, monkeypatch):
    """The session at hand is done, the others are as they were."""
    screen = previewed(world)
    whole = trash.take

    def leave(*args, **more):
        screen.then = lambda: screen.browser._end(0)
        return whole(*args, **more)

    monkeypatch.setattr(trash, "take", leave)

    async def run_():
        async with running(screen, writes=True) as pilot:
            await press(pilot, "t", "W")
            with suppress(WorkerCancelled):
                await press(pilot, "y")
        return pilot.app.last_words

    assert "the rest is as it was" in asyncio.run(run_())
    assert len(trash.entries(world.state)) == 1


def test_the_trash_is_part_of_the_plan(world):
    """What was archived goes for good where a later rule is due."""
    rules = world.root / "archive.toml"
    options = ["--policy", str(rules), "--trust-clock"]
    assert run(["prune", "--write", "--yes", *options, str(world.home)]) == 0
    more = '[[rule]]\nname = "end"\nexpire_after = "60d"\naction = "delete"\n'
    rules.write_text(rules.read_text() + more)
    screen = Retaining([world.home], str(rules))
    frames = driven(screen, "t", "W", "y", writes=True)
    assert "1 delete, 2 purge" in frames[0]
    assert "and a later rule is due" in frames[0]
    assert not [e for e in trash.entries(world.state) if e.stage is trash.Stage.HELD]


def test_files_of_any_bytes_are_listed(world):
    """Broken sessions among the others raise nothing."""
    folder = world.home / ".claude/projects/-srv-lamp"
    (folder / "x\x1b[31m.jsonl").write_bytes(b"\x00\xff{")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "list.jsonl").write_bytes(json.dumps([1]).encode())
    for text in driven(previewed(world), "t", "G", "k", "a", "space", "W"):
        assert "\x1b" not in text


def test_the_young_session_is_never_touched(world):
    """No rule is for it."""
    young = next(world.home.rglob(f"{YOUNG}.jsonl"))
    old = young.read_bytes()
    driven(previewed(world, "delete"), "t", "W", "y", writes=True)
    assert young.read_bytes() == old
    assert api.state_folder() == world.state
