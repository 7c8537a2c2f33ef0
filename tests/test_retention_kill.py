"""Prune, trash restore and trash empty that are killed, or meet a full disk, at any change."""

from __future__ import annotations

import errno
import os

import pytest

from sesstool.retention import trash
from tests.faults import at_call, error, forked, kill, kill_points
from tests.retained import COMMANDS, Home

# Each seventh call fails; with EVERY_STEP=1 in the environment each one.
STRIDE = 1 if os.environ.get("EVERY_STEP") else 7
names = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def world(scratch):
    (scratch / "root").mkdir()
    return Home(scratch / "root")


def ended(world, name):
    """The next run; it has nothing to do where that was done."""
    code = world.run(name)
    assert code in (0, 2, 3)
    assert world.problem() is None
    return world.wrong(name)


@names
def test_what_is_done(world, name):
    """Each command alone leaves all as it must be."""
    world.begin(name)
    assert world.problem() is None
    assert world.run(name) == 0
    assert world.problem() is None
    assert world.wrong(name) is None


@names
def test_what_is_killed_is_settled_by_the_next_run(world, name):
    """Each file is there all the time, or told to be gone; at the end all accounts agree."""
    world.begin(name)
    world.keep()
    points = kill_points(lambda: world.run(name), world.home, world.state)
    world.back()
    assert len(points) > 20
    for step in points:
        killed = forked(lambda: world.run(name), at_call(step, kill))[0] is None
        assert killed == (step < points[-1])
        assert world.problem() is None, step
        assert ended(world, name) is None, step
        world.back()


@names
def test_a_call_that_fails(world, name):
    """Whichever it is, nothing is lost, and the next run does what this one could not."""
    world.begin(name)
    world.keep()
    codes = []
    for step in range(1, 800, STRIDE):
        number = (errno.ENOSPC, errno.EDQUOT, errno.EIO)[step % 3]
        code, said = forked(lambda: world.run(name), at_call(step, error(number)))
        codes.append(code)
        assert code in (0, 2, 6), said
        assert world.problem() is None, (step, said)
        assert not trash.damaged(world.state)
        assert ended(world, name) is None, (step, said)
        world.back()
        if codes[-5:] == [0] * 5:
            break
    assert codes.count(6) > 20 // STRIDE


@pytest.fixture
def large(scratch):
    """The same with 200 sessions."""
    (scratch / "root").mkdir()
    return Home(scratch / "root", groups=200)


FAULTS = [kill, error(errno.ENOSPC), error(errno.EIO)]


@pytest.mark.parametrize("name", ["trash", "delete", "sealed"])
def test_a_run_over_two_hundred_sessions(large, name):
    """Broken off at some steps all over it."""
    large.begin(name)
    large.keep()
    steps = large.steps(name)
    large.back()
    assert steps > 200 * 15
    every = 1 if STRIDE == 1 else steps // 2
    for number, step in enumerate(range(7, steps, every)):
        code, said = forked(lambda: large.run(name), at_call(step, FAULTS[number % 3]))
        assert code in (None, 0, 6), said
        assert large.problem() is None, (step, said)
        assert ended(large, name) is None, (step, said)
        large.back()
