"""Encrypt, decrypt and rekey that are killed at any change that they make."""

from __future__ import annotations

import pytest

from tests.faults import at_call, command, forked, kill, kill_points
from tests.sealed import Home

COMMANDS = ["encrypt", "decrypt", "rekey"]
names = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def home(scratch):
    return Home(scratch / "root")


@names
def test_what_is_killed_is_settled_by_the_next_run(home, name):
    """Each file is there all the time, plain or encrypted; at the end nothing is left over."""
    killed_at_any_step(home, name)


def killed_at_any_step(home, name, every=1):
    """At each of the steps that leave something else; the next run is told folder or session."""
    home.begin(name)
    home.keep()
    ways = [command(*home.commands(path)[name]) for path in (home.home, home.path_for(name))]
    points = []
    for run in ways:
        points.append(kill_points(run, home.home, home.state))
        home.back()
    # Where only each second is asked for, the two ways take turns; at 0 nothing is killed.
    chosen = [(w, step) for w in (0, 1) for step in [*points[w][w % every : -1 : every], 0]]
    for way, step in chosen:
        run = ways[way]
        killed = forked(run, at_call(step, kill))[0] is None
        assert killed == (step > 0)
        assert home.problem() is None, step
        ended = home.wrong(name) is None
        # Where it had ended, nothing is there any more that it could be done to.
        assert run() == 0 or ended, step
        assert home.wrong(name) is None, step
        home.back()
    assert len(chosen) > 40 // every
