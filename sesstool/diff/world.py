"""What each side did to the world: copying a session copies no world."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sesstool.diff.compare import Comparison
from sesstool.diff.effects import Effect, effects
from sesstool.diff.sides import Side

# A run of letters and digits that no counter and no tool's name makes.
_DRAWN = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{12,}")


class Done(NamedTuple):
    """A call that may have changed something: its unit, the line, the tool, and what."""

    unit: int
    line: int
    tool: str
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class World:
    """What may have changed in the world.

    `inherited` are the calls that both sides have from before they parted: they were done once.
    `left` and `right` are those of one side, each done apart from the other, also where both did
    the same. `both` are the files that either side touched.
    """

    inherited: tuple[Done, ...]
    left: tuple[Done, ...]
    right: tuple[Done, ...]
    both: tuple[str, ...]


def world(comparison: Comparison) -> World:
    """The calls of a comparison whose tools may have changed something."""
    left, right = comparison.left, comparison.right
    shared = _shared(comparison)
    ours, theirs = tuple(_done(left)), tuple(_done(right))
    apart = tuple(done for done in ours if done.unit not in shared)
    there = tuple(done for done in theirs if done.unit not in set(shared.values()))
    both = {target for target in _files(apart) if target in set(_files(there))}
    inherited = tuple(done for done in ours if done.unit in shared)
    return World(inherited, apart, there, tuple(sorted(both)))


def _shared(comparison: Comparison) -> dict[int, int]:
    """The calls that are one and the same on both sides, by number, left to right.

    A call that both made alike was made twice behind the fork point, unless it has one id, and
    before it where the sides have different ids for it: so have two runs of the same prompt.
    """
    left, right = comparison.left, comparison.right
    fork = comparison.fork[0]
    shared: dict[int, int] = {}
    for change in comparison.changes:
        # What moved is told twice; from the left side once.
        if change.kind == "equal":
            there = change.right
        elif change.kind == "moved" and change.left < change.left_end:
            there = change.elsewhere
        else:
            continue
        for one in range(change.left, change.left_end):
            other = there + one - change.left
            if left.kind(one) == "call":
                ours, theirs = left.identities[one], right.identities[other]
                # Where a session was written anew for another agent the ids may be new as well.
                named = ours and theirs and left.format.name == right.format.name
                if one <= fork:
                    same = ours == theirs or not named
                else:
                    same = ours == theirs != 0 and _is_certain(left, one, right, other)
                if same:
                    shared[one] = other
    return shared


def _is_certain(left: Side, one: int, right: Side, other: int) -> bool:
    """Whether one id of two calls tells that they are the same: some agents count their calls."""
    record = left.about(one).id
    return bool(record and record == right.about(other).id) or bool(
        _DRAWN.search(left.unit(one).id)
    )


def _done(side: Side) -> Iterator[Done]:
    form = side.format
    for number in range(len(side)):
        if side.kind(number) == "call":
            call = side.unit(number)
            found = effects(call.name, call.content, form.harmless, form.waits)
            if found:
                yield Done(number, side.line(number), call.name, tuple(found))


def _files(calls: tuple[Done, ...]) -> Iterator[str]:
    return (effect.target for done in calls for effect in done.effects if effect.kind == "file")
