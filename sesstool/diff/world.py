"""What each side did to the world: copying a session copies no world."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sesstool.diff.compare import Comparison
from sesstool.diff.sides import Side
from sesstool.model.effects import Effect, effects, folder_of
from sesstool.model.paths import located

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
    the same. `both` are the files that either side touched, each in its shortest spelling.
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
    both = _both(_files(left, apart, right.cwd), _files(right, there, left.cwd))
    inherited = tuple(done for done in ours if done.unit in shared)
    return World(inherited, apart, there, tuple(both))


def _shared(comparison: Comparison) -> dict[int, int]:
    """The calls that are one and the same on both sides, by number, left to right.

    A call that both made alike was made twice behind the fork point, unless it has one id, and
    before it where the sides have different ids for it: so have two runs of the same prompt.
    """
    left, right = comparison.left, comparison.right
    fork = comparison.fork[0]
    shared: dict[int, int] = {}
    for change in comparison.said:
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


def _files(side: Side, calls: tuple[Done, ...], cwd: str) -> Iterator[tuple[str, str]]:
    """The files that calls touched: where each is, and how it is spelled.

    `cwd` is the folder of the session where it tells of none.
    """
    for done in calls:
        targets = [e.target for e in done.effects if e.kind == "file" and e.target]
        if targets:
            base = side.facts(done.unit)["cwd"] or side.cwd or cwd
            run_in = folder_of(side.unit(done.unit).content, base)
            for target in targets:
                place = located(target, run_in)
                # What is told from another folder than the session's is no help to a reader.
                yield place, target if place == located(target, base) else place


def _both(left: Iterable[tuple[str, str]], right: Iterable[tuple[str, str]]) -> list[str]:
    """The files of both sides, each in its shortest spelling."""
    ours, theirs = set(left), set(right)
    common = {place for place, _ in ours} & {place for place, _ in theirs}
    spelled: dict[str, str] = {}
    for place, path in sorted(ours | theirs, key=lambda file: (len(file[1]), file[1])):
        if place in common:
            spelled.setdefault(place, path)
    return sorted(spelled.values())
