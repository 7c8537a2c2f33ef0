"""Which values two sequences share, in order, and which stand elsewhere.

Every step is linear in the values but for a logarithm. Values that one side lacks are left out,
which loses no match. Equal ends are cut off. What is left is split at values that stand once on
each side, or, where few do, at rows of values that do: the longest rows first, as a single value
that is rare by accident would part the rest at the wrong place. A gap of bounded area gets an
exact longest common subsequence; one that cannot be split, such as a repeated pattern, gets it
window by window.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

LEAST = 4  # values of a moved run
_GRAMS = (64, 16, 4, 1)  # values in a row that are looked for at once, powers of two
_WINDOW = 2048  # values a side of the greatest square whose exact answer is sought
_PARTED = 16  # values that a value of a run may keep from matching, where few stand once

Pair = tuple[int, int]
"""A place on the left and one on the right that hold the same value."""


_Values = tuple[list[int], list[float]]
"""Places, and the values that stand there."""


class Run(NamedTuple):
    """Equal values: left[left : left + length] == right[right : right + length]."""

    left: int
    right: int
    length: int


class _Gap(NamedTuple):
    """The part of both sequences between two runs; ends are exclusive."""

    left: int
    left_end: int
    right: int
    right_end: int

    def most(self) -> int:
        """How many values could match."""
        return min(self.left_end - self.left, self.right_end - self.right)

    def small(self) -> bool:
        """Whether its exact answer is sought."""
        return (self.left_end - self.left) * (self.right_end - self.right) <= _WINDOW**2


def align(left: Sequence[int], right: Sequence[int]) -> list[Run]:
    """The runs that both have, in order in both; neighbours do not touch on both sides.

    Nearly as many values as a longest common subsequence has, and exactly as many where the
    product of the lengths is at most `_WINDOW` squared. With the sides exchanged, the answer is
    the same with its sides exchanged.
    """
    a, b = list(left), list(right)
    return _mirrored(_align(b, a)) if _exchanged(a, b) else _align(a, b)


def moved(left: Sequence[int], right: Sequence[int], runs: Sequence[Run]) -> list[Run]:
    """The runs outside the aligned `runs` that stand elsewhere on the other side.

    Each value is used once, the longest run first. A run has at least `LEAST` values, or
    consists of values that stand once in the whole of each side. Rows that stand several times
    count where both sides have the same number of them outside `runs`. Sorted by the left side;
    with the sides exchanged, the same runs.
    """
    a, b = list(left), list(right)
    if _exchanged(a, b):
        return sorted(_mirrored(_moved(b, a, _mirrored(runs))))
    return _moved(a, b, runs)


def _exchanged(a: list[int], b: list[int]) -> bool:
    """Whether to work with the sides exchanged: one order of work for both questions."""
    return (len(a), a) > (len(b), b)


def _mirrored(runs: Iterable[Run]) -> list[Run]:
    return [Run(right, left, length) for left, right, length in runs]


def _align(a: list[int], b: list[int]) -> list[Run]:
    common = set(a).intersection(b)
    places = [[i for i, value in enumerate(side) if value in common] for side in (a, b)]
    found = _common([a[i] for i in places[0]], [b[i] for i in places[1]])
    return _runs(
        pair
        for i, j, length in found
        for pair in zip(places[0][i : i + length], places[1][j : j + length], strict=True)
    )


def _runs(pairs: Iterable[Pair]) -> list[Run]:
    """Ordered pairs, those that touch on both sides made one run."""
    runs: list[Run] = []
    left, right, length = 0, 0, 0
    for i, j in pairs:
        if i != left + length or j != right + length:
            if length:
                runs.append(Run(left, right, length))
            left, right, length = i, j, 0
        length += 1
    if length:
        runs.append(Run(left, right, length))
    return runs


def _common(a: list[int], b: list[int]) -> list[Run]:
    """Runs in order, which may touch."""
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    tail = next((i for i in range(shorter - head) if a[-1 - i] != b[-1 - i]), shorter - head)
    found = [Run(0, 0, head), Run(len(a) - tail, len(b) - tail, tail)]
    gaps = _between(_Gap(0, len(a), 0, len(b)), found)
    for gram in _GRAMS:
        rest: list[_Gap] = []
        for gap in gaps:
            if gap.small():
                found += _exact(a, b, gap)
            else:
                runs = _split(a, b, gap, gram)
                found += runs
                rest += _between(gap, runs)
        gaps = rest
    for gap in gaps:
        found += _by_windows(a, b, gap)
    return sorted(run for run in found if run.length)


def _between(gap: _Gap, runs: Iterable[Run]) -> list[_Gap]:
    """What the runs leave of a gap where both sides have values."""
    starts = [(gap.left, gap.right), *((r.left + r.length, r.right + r.length) for r in runs)]
    ends = [*((r.left, r.right) for r in runs), (gap.left_end, gap.right_end)]
    gaps = (_Gap(i, i_end, j, j_end) for (i, j), (i_end, j_end) in zip(starts, ends, strict=True))
    return [g for g in gaps if g.left < g.left_end and g.right < g.right_end]


def _split(a: list[int], b: list[int], gap: _Gap, gram: int) -> list[Run]:
    """Runs around the values, or the rows of `gram` values, that stand once on each side.

    None where they would part far more values than they hold.
    """
    sides = a[gap.left : gap.left_end], b[gap.right : gap.right_end]
    pairs = _once_in_both(*sides)
    if 2 * len(pairs) >= gap.most():
        return _around(a, b, gap, _chain(pairs))
    pairs = _once_in_both(*(_grams(side, gram) for side in sides))
    runs = _around(a, b, gap, _chain(pairs))
    held = sum(run.length for run in runs)
    parted = gap.most() - held - sum(rest.most() for rest in _between(gap, runs))
    return runs if parted <= held * _PARTED else []


def _around(a: list[int], b: list[int], gap: _Gap, chain: list[Pair]) -> list[Run]:
    """Each pair of a chain, counted from the start of the gap, and the equal values around it."""
    runs: list[Run] = []
    left, right = gap.left, gap.right
    for i, j in chain:
        start, other = gap.left + i, gap.right + j
        # A pair may lie inside the run before it, and hashes of rows may be equal by accident.
        if start < left or other < right or a[start] != b[other]:
            continue
        end, other_end = start + 1, other + 1
        while start > left and other > right and a[start - 1] == b[other - 1]:
            start, other = start - 1, other - 1
        while end < gap.left_end and other_end < gap.right_end and a[end] == b[other_end]:
            end, other_end = end + 1, other_end + 1
        runs.append(Run(start, other, end - start))
        left, right = end, other_end
    return runs


def _grams(values: Sequence[Hashable], gram: int) -> list[int]:
    """A hash of each row of `gram` values, by the place where the row starts."""
    hashes = list(map(hash, values))
    width = 1
    while width < gram:
        hashes = list(map(hash, zip(hashes, hashes[width:], strict=False)))
        width *= 2
    return hashes


def _once_in_both(a: list[int], b: list[int]) -> list[Pair]:
    """The places of what stands once on each side, in the order of the left one."""
    return _once_among(a, b, set(a).intersection(b))


def _once_among(a: list[int], b: list[int], common: set[int]) -> list[Pair]:
    there = _once(b, common)
    return [(i, there[key]) for key, i in _once(a, common).items() if key in there]


def _once(keys: list[int], common: set[int]) -> dict[int, int]:
    """Where each of the common keys stands that stands only once."""
    places: dict[int, int] = {}
    for i, key in enumerate(keys):
        if key in common:
            places[key] = -1 if key in places else i
    return {key: i for key, i in places.items() if i >= 0}


def _chain(pairs: list[Pair]) -> list[Pair]:
    """The longest part of pairs, ordered on the left, that is ordered on the right too."""
    ends: list[int] = []  # the lowest right place at which a chain of each length ends
    last: list[int] = []  # and the pair that stands there
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        last[length : length + 1] = [number]
    chain: list[Pair] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _exact(a: list[int], b: list[int], gap: _Gap) -> list[Run]:
    """The runs of a longest common subsequence of a gap."""
    sides = a[gap.left : gap.left_end], b[gap.right : gap.right_end]
    if len(sides[0]) < len(sides[1]):  # the longer side becomes the bits
        pairs = [(i, j) for j, i in _subsequence(sides[1], sides[0])]
    else:
        pairs = _subsequence(*sides)
    return _runs((gap.left + i, gap.right + j) for i, j in pairs)


def _subsequence(a: list[int], b: list[int]) -> list[Pair]:
    """A longest common subsequence: one whole number of len(a) bits for each value of `b`.

    A bit is 0 where a longest common subsequence of the values of `a` up to it and the values
    of `b` so far is longer than one without it (Crochemore, Iliopoulos, Pinzon and Reid 2001).
    """
    size = len(a) // 8 + 1
    masks = {value: bytearray(size) for value in b}
    for i, value in enumerate(a):
        if value in masks:
            masks[value][i >> 3] |= 1 << (i & 7)
    bits = {value: int.from_bytes(mask, "little") for value, mask in masks.items()}
    full = row = (1 << len(a)) - 1
    rows = [row.to_bytes(size, "little")]
    for value in b:
        hits = row & bits[value]
        row = ((row + hits) | (row - hits)) & full
        rows.append(row.to_bytes(size, "little"))
    pairs: list[Pair] = []
    i, j = len(a) - 1, len(b)
    while i >= 0 and j > 0:
        byte, bit = i >> 3, 1 << (i & 7)
        if rows[j][byte] & bit:
            i -= 1
        else:
            j -= 1
            if rows[j][byte] & bit:  # it turned 0 at this value: they match
                pairs.append((i, j))
                i -= 1
    return pairs[::-1]


def _by_windows(a: list[int], b: list[int], gap: _Gap) -> Iterator[Run]:
    """Exact runs of square windows; the second half of each is decided by the next one."""
    while not gap.small():
        left, left_end, right, right_end = gap
        window = _Gap(left, min(left + _WINDOW, left_end), right, min(right + _WINDOW, right_end))
        # Nothing of a side is given up as long as the other side has values to come.
        half = left_end if window.left_end == left_end else left + _WINDOW // 2
        other_half = right_end if window.right_end == right_end else right + _WINDOW // 2
        left = left if half == left_end else half
        right = right if other_half == right_end else other_half
        for run in _exact(a, b, window):
            kept = max(0, min(run.length, half - run.left, other_half - run.right))
            yield Run(run.left, run.right, kept)
            left, right = max(left, run.left + kept), max(right, run.right + kept)
            if kept < run.length:
                left, right = run.left + kept, run.right + kept
                break
        gap = _Gap(left, left_end, right, right_end)
    yield from _exact(a, b, gap)


def _moved(a: list[int], b: list[int], runs: Sequence[Run]) -> list[Run]:
    used = bytearray(len(a)), bytearray(len(b))

    def use(run: Run) -> None:
        for side, start in zip(used, (run.left, run.right), strict=True):
            side[start : start + run.length] = b"\1" * run.length

    for run in runs:
        use(run)
    common = {value for value, taken in zip(a, used[0], strict=True) if not taken}
    common.intersection_update(v for v, taken in zip(b, used[1], strict=True) if not taken)
    # What another value cuts apart is no row: the breaks equal no value, nor each other.
    sides = _unused(a, used[0], common, 0.5), _unused(b, used[1], common, 1.5)
    found: list[Run] = []
    heap = [(-run.length, run.left, run.right) for run in _elsewhere(*sides)]
    heapq.heapify(heap)
    while heap:
        longest, left, right = heapq.heappop(heap)
        length = -longest
        # What is used is no shorter than this run, so it reaches over one of the ends.
        while length and (used[0][left] or used[1][right]):
            left, right, length = left + 1, right + 1, length - 1
        while length and (used[0][left + length - 1] or used[1][right + length - 1]):
            length -= 1
        if length == -longest:
            found.append(Run(left, right, length))
            use(found[-1])
        elif length >= LEAST:
            heapq.heappush(heap, (-length, left, right))
    # A value that stands once a side is used on both or on neither.
    alone = (Run(i, j, 1) for i, j in _once_among(a, b, common) if not used[0][i])
    runs = sorted([*found, *alone])
    return _runs((i + n, j + n) for i, j, length in runs for n in range(length))


def _elsewhere(left: _Values, right: _Values) -> Iterator[Run]:
    """Equal runs of at least `LEAST` unused values, which may overlap."""
    (places, values), (others, theirs) = left, right
    for gram in (gram for gram in _GRAMS if gram >= LEAST):
        pairs = _as_often(_grams(values, gram), _grams(theirs, gram))
        number = 0
        while number < len(pairs):
            i, j = pairs[number]
            # A run holds no row of another pair that is not in line with it: else long runs
            # that overlap could make the work quadratic.
            first = pairs[number - 1][0] + 1 if number else 0
            number += 1
            start, end, shift = i, i, j - i
            while start > max(first, -shift) and values[start - 1] == theirs[start - 1 + shift]:
                start -= 1
            last = min(len(values), len(theirs) - shift)
            while end < last and values[end] == theirs[end + shift]:
                end += 1
                if number < len(pairs) and pairs[number][0] + gram == end:
                    if pairs[number][1] - pairs[number][0] != shift:
                        break
                    number += 1
            if end - start >= LEAST:
                yield Run(places[start], others[start + shift], end - start)


def _unused(side: list[int], used: bytearray, common: set[int], gap: float) -> _Values:
    """What is common and not used, with `gap` where others stood between."""
    places: list[int] = []
    values: list[float] = []
    for i, value in enumerate(side):
        if used[i] or value not in common:
            continue
        if places and places[-1] != i - 1:
            places.append(-1)
            values.append(gap)
        places.append(i)
        values.append(value)
    return places, values


def _as_often(a: list[int], b: list[int]) -> list[Pair]:
    """The places of what stands equally often on both sides, the first with the first."""
    same = {key for key, _ in Counter(a).items() & Counter(b).items()}
    here, there = (
        sorted((i for i, key in enumerate(side) if key in same), key=side.__getitem__)
        for side in (a, b)
    )
    return sorted(zip(here, there, strict=True))
