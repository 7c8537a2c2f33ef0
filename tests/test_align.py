"""Alignment: the runs that two sequences share, in order, and the runs that moved."""

from __future__ import annotations

import random
from array import array
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.diff import align as module
from sesstool.diff.align import LEAST, Run, align, moved

few = st.lists(st.integers(-2, 1), max_size=60)  # -1 and -2 have the same hash
some = st.lists(st.integers(-30, 30), max_size=60)
sides = st.tuples(few, few) | st.tuples(some, some)
windows = st.sampled_from([2, 3, 8, 2048])


@pytest.fixture(params=[2048, 64], ids=["exact", "anchors"])
def window(request, monkeypatch):
    """Small gaps as they are, and so small that anchors and windows do the work."""
    monkeypatch.setattr(module, "_WINDOW", request.param)
    return request.param


def matched(runs):
    """How many values a side the runs hold."""
    return sum(run.length for run in runs)


def longest(left, right):
    """The length of a longest common subsequence, by the table of all prefixes."""
    row = [0] * (len(right) + 1)
    for value in left:
        before = row
        row = [0]
        for j, other in enumerate(right):
            row.append(before[j] + 1 if value == other else max(before[j + 1], row[j]))
    return row[-1]


def edited(made, values, share, value):
    """The values with a share of them removed, replaced or followed by a new one."""
    out = []
    for old in values:
        change = made.choice("-~+") if made.random() < share else "="
        out += {"=": [old], "-": [], "~": [value()], "+": [old, value()]}[change]
    return out


def mirrored(runs):
    return [Run(r.right, r.left, r.length) for r in runs]


def check(left, right, runs):
    """Equal values, ordered, disjoint, not touching on both sides; both can be rebuilt."""
    for run in runs:
        assert run.length > 0
        assert left[run.left : run.left + run.length] == right[run.right : run.right + run.length]
    for one, two in pairwise(runs):
        over = two.left - one.left - one.length, two.right - one.right - one.length
        assert min(over) >= 0
        assert max(over) > 0
    rebuilt, at, here = [], 0, 0
    for run in [*runs, Run(len(left), len(right), 0)]:  # what right alone has, then a run of left
        rebuilt += [*right[at : run.right], *left[run.left : run.left + run.length]]
        assert run.left >= here
        at, here = run.right + run.length, run.left + run.length
    assert rebuilt == list(right)


def check_moved(left, right, runs, found):
    """Valid, sorted, each value used once, and each run long enough or of unique values."""
    assert found == sorted(found)
    for key, side in enumerate((left, right)):
        used = [r[key] + step for r in [*runs, *found] for step in range(r.length)]
        assert len(used) == len(set(used)), side
    for run in found:
        values = left[run.left : run.left + run.length]
        assert values == right[run.right : run.right + run.length]
        assert run.length >= LEAST or all(
            left.count(value) == right.count(value) == 1 for value in values
        )


@pytest.mark.parametrize(
    ("left", "right", "runs"),
    [
        ([], [], []),
        ([1], [], []),
        ([1, 2, 3], [1, 2, 3], [(0, 0, 3)]),
        ([1, 2, 3], [4, 5, 6], []),
        ([1, 2, 3, 4], [1, 2, 9, 3, 4], [(0, 0, 2), (2, 3, 2)]),
        ([1, 2, 8, 3, 4], [1, 2, 9, 3, 4], [(0, 0, 2), (3, 3, 2)]),
        ([1, 7, 2, 8, 3], [7, 9, 8], [(1, 0, 1), (3, 2, 1)]),
        ([1, 2, 3, 4, 5, 9], [4, 5, 1, 2, 3, 9], [(0, 2, 3), (5, 5, 1)]),
        ([-1, -2], [-2, -1, -2], [(0, 1, 2)]),
        ([2**63 - 1, -(2**63)], [-(2**63)], [(1, 0, 1)]),
    ],
)
def test_known_runs(left, right, runs):
    """What is shared is found, of lists and of arrays, from both sides."""
    assert align(left, right) == runs
    assert align(array("q", left), array("q", right)) == runs
    assert align(right, left) == mirrored(align(left, right))


@settings(max_examples=400, deadline=None)
@given(sides, windows)
def test_runs_rebuild_both_sides(pair, window):
    """Any two sequences: the runs are sound, rebuild either side, and mirror each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WINDOW", window)
        runs = align(*pair)
        check(*pair, runs)
        check(*reversed(pair), mirrored(runs))
        assert align(*reversed(pair)) == mirrored(runs)


@settings(max_examples=400, deadline=None)
@given(sides)
def test_short_sequences_match_as_many_as_can_be(pair):
    """Up to 60 values a side, no subsequence is longer."""
    assert matched(align(*pair)) == longest(*pair)


@pytest.mark.parametrize("distinct", [2, 20, 200, 10**9])
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_scattered_edits_match_nearly_all(window, distinct, share):
    """Few or many distinct values with scattered edits: 95 % of what could match does."""
    made = random.Random(distinct)
    left = [made.randrange(distinct) for _ in range(2000)]
    right = edited(made, left, share, lambda: made.randrange(distinct))
    runs = align(left, right)
    check(left, right, runs)
    best = longest(left, right)
    assert (best if window == 2048 else best * 0.95) <= matched(runs) <= best


@pytest.mark.parametrize("period", [1, 2, 7, 30])
def test_patterns_match_nearly_all(window, period):
    """A repeated pattern has no place that stands once, and still aligns to 99 %."""
    made = random.Random(period)
    left = [-1, *(i % period for i in range(2000))]
    right = [*edited(made, left[1:], 0.01, lambda: made.randrange(period + 1)), -1]
    runs = align(left, right)
    check(left, right, runs)
    best = longest(left, right)
    assert (best if window == 2048 else best * 0.99) <= matched(runs) <= best


def test_two_patterns_match_as_far_as_they_agree(window):
    """Period 2 beside period 3: what one lacks is left out, and the rest agrees."""
    assert window
    runs = align([i % 2 for i in range(3000)], [i % 3 for i in range(3000)])
    assert matched(runs) == 2000


def test_a_rare_value_does_not_part_the_rest(monkeypatch):
    """A value that stands once on each side by accident outweighs no long row."""
    monkeypatch.setattr(module, "_WINDOW", 64)
    made = random.Random(5)
    rest = [made.randrange(20) for _ in range(1000)]
    left, right = [99, *rest, 5, 6], [7, 8, *rest, 99]
    assert matched(align(left, right)) >= 1000


def test_unique_values_win_over_a_row_that_moved(monkeypatch):
    """Among values that all stand once, a moved row of 64 does not outweigh 200 single ones."""
    monkeypatch.setattr(module, "_WINDOW", 8)
    row = list(range(1000, 1064))
    singles = [range(100 + i, 10_000_000, 10_000)[n] for i in range(2) for n in range(100)]
    left = [x for n, value in enumerate(singles) for x in (value, 20_000_000 + n)]
    right = [x for n, value in enumerate(singles) for x in (value, 20_000_199 - n)]
    assert matched(align([*row, *left], [*right, *row])) >= 200


def test_long_rows_go_first(monkeypatch):
    """A value that stands once a side, a little apart, does not part the row that it left."""
    monkeypatch.setattr(module, "_WINDOW", 8)
    made = random.Random(6)
    rest = [made.randrange(20) for _ in range(1000)]
    left, right = [*rest[:500], 99, *rest[500:]], [*rest[:510], 99, *rest[510:]]
    assert matched(align([7, *left, 8], [8, *right, 7])) >= 1000


def test_a_run_reaches_back_into_a_pattern():
    """What is equal before a row that stands once belongs to its run."""
    left, right = ([*[1, 2] * times, 50, 51, 52, 53] for times in (100, 120))
    gap = module._Gap(0, len(left), 0, len(right))
    assert module._split(left, right, gap, 4) == [(0, 40, 204)]


def test_a_short_side_waits_for_the_long_one(monkeypatch):
    """Of a side that ends in the first window nothing is given up before the other side ends."""
    monkeypatch.setattr(module, "_WINDOW", 16)
    short, long = [1, 2] * 6, [*[3] * 500, *[1, 2] * 6]
    for left, right in ((short, long), (long, short)):
        gap = module._Gap(0, len(left), 0, len(right))
        assert matched(module._by_windows(left, right, gap)) == len(short)


def test_nothing_in_common_takes_no_search(monkeypatch):
    """Values that one side lacks are left out before anything is compared."""
    monkeypatch.setattr(module, "_exact", None)
    assert align(range(3000), range(-3000, 0)) == []


class Counted(int):
    """A number that counts how often it is compared or hashed."""

    __slots__ = ()
    steps = 0

    def __eq__(self, other):
        Counted.steps += 1
        return int(self) == other

    def __ne__(self, other):
        Counted.steps += 1
        return int(self) != other

    def __hash__(self):
        Counted.steps += 1
        return int.__hash__(self)


def _third(values):
    third = len(values) // 3
    return values[third : 2 * third] + values[:third] + values[2 * third :]


HARD = {
    "edits": lambda made, n: (list(range(n)), edited(made, range(n), 0.01, lambda: -1)),
    "few": lambda made, n: (
        values := [made.randrange(200) for _ in range(n)],
        edited(made, values, 0.01, lambda: made.randrange(200)),
    ),
    "bits": lambda made, n: tuple([made.randrange(2) for _ in range(n)] for _ in "ab"),
    "moved": lambda made, n: (list(range(n)), _third(list(range(n)))),  # noqa: ARG005
    "nothing": lambda made, n: (list(range(n)), list(range(-n, 0))),  # noqa: ARG005
    "same": lambda made, n: ([7] * n, [7] * (n - n // 100)),  # noqa: ARG005
    "patterns": lambda made, n: ([i % 2 for i in range(n)], [i % 3 == 0 for i in range(n)]),  # noqa: ARG005
    "shuffled": lambda made, n: (list(range(n)), made.sample(range(n), n)),
    "reversed": lambda made, n: (list(range(n)), list(range(n))[::-1]),  # noqa: ARG005
    "twice": lambda made, n: ([1, 2, *range(n // 2)] * 2, [*range(n // 2), 2, 1] * 2),  # noqa: ARG005
}


@pytest.mark.parametrize("case", HARD)
def test_work_grows_with_the_length(case, monkeypatch):
    """Four times the values: at most five times the comparisons, for whatever input."""
    monkeypatch.setattr(module, "_WINDOW", 32)
    exact, area = module._exact, 0

    def measured(a, b, gap):
        nonlocal area
        area += (gap.left_end - gap.left) * (gap.right_end - gap.right)
        return exact(a, b, gap)

    monkeypatch.setattr(module, "_exact", measured)
    work = []
    for n in (2000, 8000):
        left, right = ([Counted(v) for v in side] for side in HARD[case](random.Random(1), n))
        Counted.steps = area = 0
        runs = align(left, right)
        moved(left, right, runs)
        work.append(Counted.steps)
        # No answer is sought in more than a square, and each decides half a side of it.
        assert area <= (len(left) + len(right)) * 2 * 32
    assert work[1] <= 5 * work[0]


def test_overlapping_rows_cost_no_more(monkeypatch):
    """Rows that pair at many distances within one pattern do not each walk all of it."""
    monkeypatch.setattr(Counted, "steps", 0)
    work = []
    for times in (100, 400):
        pattern = list(range(20)) * times
        # Row t of the pattern stands t times before it on the left, and after it on the right.
        extra = [v for t in range(17) for _ in range(t) for v in (*range(t, t + 4), 99)]
        left, right = (
            [Counted(v) for v in side] for side in ([*extra, *pattern], [*pattern, *extra])
        )
        Counted.steps = 0
        moved(left, right, [])
        work.append(Counted.steps)
    assert work[1] <= 5 * work[0]


def test_a_moved_block_is_found():
    """A block that stands elsewhere moved; so did a single value that stands once a side."""
    block = [5, 5, 6, 5, 5, 6]
    left = [*block, *range(10, 30), 40, *range(50, 60)]
    right = [40, *range(10, 30), *block, *range(50, 60)]
    runs = align(left, right)
    assert runs == [(6, 1, 20), (27, 27, 10)]
    assert moved(left, right, runs) == [(0, 21, 6), (26, 0, 1)]


def test_short_rows_of_common_values_did_not_move():
    """Three values that stand more than once are no moved block; four are."""
    body = list(range(10, 30))
    for length, found in ((LEAST - 1, []), (LEAST, [(0, 20, LEAST)])):
        block = [5] * length
        assert moved([*block, *body], [*body, *block], [Run(length, 0, 20)]) == found


def test_a_block_of_one_value_moved_whole():
    """A row of equal values holds nothing that stands once, and is still one block."""
    left, right = [*[7] * 100, *range(10, 300)], [*range(10, 300), *[7] * 100]
    assert moved(left, right, align(left, right)) == [(0, 290, 100)]


def test_a_moved_block_begins_before_what_stands_once():
    """Common values at the start of a block belong to it, though they stand elsewhere too."""
    body, block = list(range(10, 30)), [*[5] * 6, 60, 61, 62, 63]
    left, right = [*block, *body], [*body, *block, 98, *[5] * 6]
    assert moved(left, right, [Run(10, 0, 20)]) == [(0, 20, 10)]


def test_the_longest_row_is_used_first():
    """Where two blocks want the same values, the longer one has them."""
    left = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0]
    right = [9, 1, 2, 3, 4, 5, 6, 9, 8, 7]
    assert moved(left, right, []) == [(0, 1, 6), (6, 9, 1), (7, 8, 1)]


def test_no_moved_run_reaches_over_an_aligned_one():
    """A block that an aligned run parts is two blocks on that side."""
    left, right = [*range(9), 50], [*range(100, 104), *range(9)]
    found = moved(left, right, [Run(4, 8, 1)])
    assert found == [(0, 4, 4), (5, 9, 4)]


@settings(max_examples=400, deadline=None)
@given(sides)
def test_moved_runs_are_sound(pair):
    """Any two sequences: what moved is outside the runs, valid, and mirrors the other way."""
    runs = align(*pair)
    found = moved(*pair, runs)
    check_moved(*pair, runs, found)
    assert moved(*reversed(pair), mirrored(runs)) == sorted(mirrored(found))
    everything = moved(*pair, [])
    check_moved(*pair, [], everything)


@pytest.mark.parametrize("distinct", [20, 10**9])
def test_shuffled_blocks_are_found(distinct):
    """Blocks of 30 values in another order: nearly all is aligned or moved."""
    made = random.Random(2)
    blocks = [[made.randrange(distinct) for _ in range(30)] for _ in range(40)]
    left = list(chain(*blocks))
    right = list(chain(*made.sample(blocks, 40)))
    runs = align(left, right)
    anchored = [run for run in runs if run.length >= 10]
    found = moved(left, right, anchored)
    check_moved(left, right, anchored, found)
    assert matched(anchored) + matched(found) >= 0.95 * len(left)
