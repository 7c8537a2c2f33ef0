"""What two sides share, what each has alone, and what changed from one to the other."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from sesstool.diff.align import Run, align, moved
from sesstool.diff.likeness import alike_in_order
from sesstool.diff.sides import CALL, Side
from sesstool.formats.terms import Origin

Kind = Literal["equal", "left", "right", "changed", "moved"]
FACTS = ("times", "ids", "cwd", "version", "model", "signature")
"""What envelopes tell beside what was said and done: no difference unless it is asked for."""
# Pairs of units that only resemble each other are looked for where so many could, at most.
_MOST_PAIRS = 1 << 14


class Change(NamedTuple):
    """A stretch of units: [left, left_end) of the left side, [right, right_end) of the right.

    "equal" and "changed" have as many on both sides, "changed" one; "left" and "right" are on
    one side only. "moved" are on one side here, and begin at `elsewhere` on the other, where
    they are told a second time.
    """

    kind: Kind
    left: int
    left_end: int
    right: int
    right_end: int
    elsewhere: int = -1


@dataclass(frozen=True)
class Comparison:
    """Two sides and all of both, in order: `changes` leave out nothing.

    `lineage` says in a few words how the two are related, and `origin` what told it.
    `based` says for each unit of a side whether the common ancestor has it, where there is one.
    `said` are the changes by what was said and done alone, whatever envelopes tell.
    """

    left: Side
    right: Side
    changes: tuple[Change, ...]
    lineage: str
    origin: Origin | None = None
    told: frozenset[str] = frozenset()
    based: tuple[bytearray, bytearray] | None = None
    said: tuple[Change, ...] = ()

    @cached_property
    def counts(self) -> dict[Kind, int]:
        """How many units there are of each kind; of what moved, one of both."""
        found: dict[Kind, int] = dict.fromkeys(("equal", "left", "right", "changed", "moved"), 0)
        for change in self.changes:
            size = max(change.left_end - change.left, change.right_end - change.right)
            found[change.kind] += size
        found["moved"] //= 2
        return found

    @property
    def differs(self) -> bool:
        """Whether there is any difference."""
        return any(change.kind != "equal" for change in self.changes)

    @property
    def fork(self) -> tuple[int, int]:
        """The last units that both share from the beginning on, -1 where they share none."""
        first = self.said[0] if self.said else None
        shared = first is not None and first.kind == "equal"
        return (first.left_end - 1, first.right_end - 1) if first and shared else (-1, -1)


def compare(
    left: Side, right: Side, base: Side | None = None, *, told: frozenset[str] = frozenset()
) -> Comparison:
    """Compare two sides, and where a common ancestor is given each with it.

    Units that say the same are "changed" where any of the FACTS in `told` differ.
    """
    runs = align(left.keys, right.keys)
    elsewhere = moved(left.keys, right.keys, runs)
    changes: Iterable[Change] = _changes(left, right, runs, elsewhere)
    said = tuple(_forked(left, right, _crossed(left, right, list(changes))))
    shown = tuple(_told(left, right, said, told)) if told else said
    based = None
    if base is not None:
        based = (_in_base(base, left), _in_base(base, right))
    return Comparison(left, right, shown, *related(left, right, runs), told, based, said)


def retold(comparison: Comparison, told: frozenset[str]) -> Comparison:
    """The same comparison, where other facts of the envelopes are a difference."""
    left, right, said = comparison.left, comparison.right, comparison.said
    shown = tuple(_told(left, right, said, told)) if told else said
    return replace(comparison, changes=shown, told=told)


def envelope(side: Side, number: int) -> dict[str, str]:
    """What the envelope around a unit tells, by FACTS and their parts."""
    about, unit = side.about(number), side.unit(number)
    return {
        "times": about.time,
        "ids.record": about.id,
        "ids.parent": about.parent or "",
        "ids.session": about.session,
        "ids.call": unit.id,
        **side.facts(number),
        "signature": side.signature(number),
    }


def told_apart(
    left: Side, one: int, right: Side, other: int, told: frozenset[str]
) -> list[tuple[str, str, str]]:
    """The facts around two units that differ, each with both values."""
    ours, theirs = envelope(left, one), envelope(right, other)
    return [
        (name, value, theirs[name])
        for name, value in ours.items()
        if value != theirs[name] and name.partition(".")[0] in told
    ]


def _told(
    left: Side, right: Side, changes: Iterable[Change], told: frozenset[str]
) -> Iterator[Change]:
    """The changes, with what is equal but for its envelope as changed."""

    def differ(one: int, other: int) -> bool:
        return bool(told_apart(left, one, right, other, told))

    return _apart(changes, differ)


def _crossed(left: Side, right: Side, changes: list[Change]) -> Iterator[Change]:
    """The changes, with results that say the same but answer another call as changed.

    Ids may be new in a copy: a call is another one where the one that the result answers has
    its like elsewhere. That counts among parallel calls only, as rows of the same calls and
    results may be matched in several ways.
    """
    there: dict[int, int] = {}
    for change in changes:
        if change.kind != "left":
            shift = (change.elsewhere if change.kind == "moved" else change.right) - change.left
            calls = (n for n in range(change.left, change.left_end) if left.kinds[n] == CALL)
            there.update((n, n + shift) for n in calls)
    back = {other: one for one, other in there.items()}

    def differ(one: int, other: int) -> bool:
        ours, theirs = left.answers[one], right.answers[other]
        if min(ours, theirs) < 0 or left.nth_call(ours) == right.nth_call(theirs):
            return False
        return there.get(ours, theirs) != theirs or back.get(theirs, ours) != ours

    return _apart(changes, differ)


def _apart(changes: Iterable[Change], differ: Callable[[int, int], bool]) -> Iterator[Change]:
    """The changes, with pairs that are equal and yet differ as changed."""
    for change in changes:
        if change.kind != "equal":
            yield change
            continue
        a, b = change.left, change.right
        for n in range(change.left_end - change.left):
            one, other = change.left + n, change.right + n
            if differ(one, other):
                if one > a:
                    yield Change("equal", a, one, b, other)
                yield Change("changed", one, one + 1, other, other + 1)
                a, b = one + 1, other + 1
        if change.left_end > a:
            yield Change("equal", a, change.left_end, b, change.right_end)


def _forked(left: Side, right: Side, changes: Iterable[Change]) -> Iterator[Change]:
    """The changes, the first one cut in two where what both said alike is no longer shared."""
    for change in changes:
        cut = change.left_end
        if change.kind == "equal" and change.left == change.right == 0:
            cut = _shared(left, right, cut)
        yield change._replace(left_end=cut, right_end=change.right_end - change.left_end + cut)
        if cut < change.left_end:
            yield change._replace(left=cut, right=cut)


def _shared(left: Side, right: Side, size: int) -> int:
    """How many of so many equal units at the beginning are the same ones.

    Where ids survive a fork, the first ones of their sort that differ are behind it, unless the
    same ids come again: two forks may go on with the same words. Where none survive, all count.
    """
    if left.identities[:size] == right.identities[:size] and all(left.identities[:size]):
        return size
    kept: set[bool] = set()
    shared = size
    for n in range(size):
        of_call = left.kind(n) in ("call", "result")
        if left.mark(n) == right.mark(n):
            kept.add(of_call)
            shared = size
        elif shared == size and of_call in kept:
            shared = n
    return shared


def related(left: Side, right: Side, runs: Sequence[Run]) -> tuple[str, Origin | None]:
    """How two sides are related, as far as they tell."""
    if left.name.path == right.name.path and left.name.path != "-":
        return "branches of one file", None
    for one, other, word in ((right, left, "right"), (left, right, "left")):
        origin = one.origin
        if origin is not None and origin.session and origin.session == other.session:
            what = {
                "copy": "a fork of",
                "reference": "a fork, by reference, of",
                "subagent": "a subagent of",
            }[origin.mode]
            return f"the {word} one is {what} the other", origin
    if left.session and left.session == right.session:
        return "two files of one session", None
    if left.origin and right.origin and left.origin.session == right.origin.session:
        return "two forks of one session", left.origin
    ours, theirs = left.identities, right.identities
    if runs and ours[runs[0].left] and ours[runs[0].left] == theirs[runs[0].right]:
        return "copies that kept the ids of their records", None
    return "no lineage is recorded", None


def _in_base(base: Side, side: Side) -> bytearray:
    found = bytearray(len(side))
    for run in align(base.keys, side.keys):
        found[run.right : run.right + run.length] = b"\1" * run.length
    return found


def _changes(
    left: Side, right: Side, runs: Sequence[Run], elsewhere: Sequence[Run]
) -> Iterator[Change]:
    """All of both sides in order: what is equal, and in the gaps what is not."""
    gaps = _Gaps(left, right, elsewhere)
    a = b = 0
    for run in runs:
        yield from gaps.changes(a, run.left, b, run.right)
        a, b = run.left + run.length, run.right + run.length
        yield Change("equal", run.left, a, run.right, b)
    yield from gaps.changes(a, len(left), b, len(right))


class _Gaps:
    """Finds in what the two sides do not share what changed, what moved, and what is new."""

    def __init__(self, left: Side, right: Side, elsewhere: Sequence[Run]) -> None:
        self._left, self._right = left, right
        self._from_left = sorted((run.left, run.left + run.length, run.right) for run in elsewhere)
        self._from_right = sorted(
            (run.right, run.right + run.length, run.left) for run in elsewhere
        )

    def changes(self, a: int, a_end: int, b: int, b_end: int) -> Iterator[Change]:
        """The changes of a gap: [a, a_end) of the left side, [b, b_end) of the right."""
        lefts = list(_stretches(a, a_end, self._from_left))
        rights = list(_stretches(b, b_end, self._from_right))
        new_left = [n for start, end, to in lefts if to < 0 for n in range(start, end)]
        new_right = [n for start, end, to in rights if to < 0 for n in range(start, end)]
        for one, other in self._pairs(new_left, new_right):
            yield from _one_side("left", lefts, one, b)
            yield from _one_side("right", rights, other, one)
            yield Change("changed", one, one + 1, other, other + 1)
            _drop(lefts, one + 1)
            _drop(rights, other + 1)
            a, b = one + 1, other + 1
        yield from _one_side("left", lefts, a_end, b)
        yield from _one_side("right", rights, b_end, a_end)

    def _pairs(self, lefts: list[int], rights: list[int]) -> Iterator[tuple[int, int]]:
        """Units that stand for each other, in order on both sides.

        Those of one identity; between them those of one kind, role or tool that are alike.
        """
        if not lefts or not rights:
            return
        same = align(self._names(self._left, lefts, 0), self._names(self._right, rights, 1))
        a = b = 0
        for run in [*same, Run(len(lefts), len(rights), 0)]:
            yield from self._alike(lefts[a : run.left], rights[b : run.right])
            a, b = run.left + run.length, run.right + run.length
            for n in range(run.length):
                yield lefts[run.left + n], rights[run.right + n]

    def _names(self, side: Side, numbers: list[int], nameless: int) -> array[int]:
        # A unit without an identity is like no other: one is even and the other odd.
        return array("q", (side.identities[n] or -(2 * n + 2 + nameless) for n in numbers))

    def _alike(self, lefts: list[int], rights: list[int]) -> Iterator[tuple[int, int]]:
        """The longest row of pairs that are alike; the same from either side."""
        if len(lefts) * len(rights) > _MOST_PAIRS:
            return
        one, other = [self._left.unit(n) for n in lefts], [self._right.unit(n) for n in rights]
        swapped = [u.key() for u in one] > [u.key() for u in other]
        for a, b in alike_in_order(other, one) if swapped else alike_in_order(one, other):
            yield (lefts[b], rights[a]) if swapped else (lefts[a], rights[b])


Stretch = tuple[int, int, int]


def _stretches(start: int, end: int, moved_: Sequence[Stretch]) -> Iterator[Stretch]:
    """A range cut into parts that moved, with where they are, and others, with -1."""
    at = max(bisect_right(moved_, (start, end, 0)) - 1, 0)
    for first, last, to in moved_[at:]:
        if first >= end:
            break
        if first >= start:
            if start < first:
                yield start, first, -1
            yield first, last, to
            start = last
    if start < end:
        yield start, end, -1


def _one_side(
    kind: Literal["left", "right"], stretches: list[Stretch], until: int, other: int
) -> Iterator[Change]:
    """Take what stands before a unit off the stretches, as changes of one side."""
    while stretches and stretches[0][0] < until:
        start, end, to = stretches.pop(0)
        if end > until:
            stretches.insert(0, (until, end, to))
            end = until
        what: Kind = kind if to < 0 else "moved"
        if kind == "left":
            yield Change(what, start, end, other, other, to)
        else:
            yield Change(what, other, other, start, end, to)


def _drop(stretches: list[Stretch], until: int) -> None:
    """Leave out what a change of both sides has told."""
    while stretches and stretches[0][0] < until:
        _, end, to = stretches.pop(0)
        if end > until:
            stretches.insert(0, (until, end, to))
