"""Edits: order, overlap, where bytes go, and one set behind another."""

from __future__ import annotations

import random

import pytest

from sesstool.records.edits import Edit, EditSet, Kept, OverlapError
from tests.conftest import naive

DATA = b"0123456789"


def some_edits(made: random.Random, size: int) -> EditSet:
    """A few edits of a text of `size` bytes, none overlapping another."""
    points = sorted(made.randrange(size + 1) for _ in range(2 * made.randrange(5)))
    texts = (bytes(made.choice(b"XYZ") for _ in range(made.randrange(4))) for _ in points)
    return EditSet(Edit(a, b, t) for a, b, t in zip(points[::2], points[1::2], texts, strict=False))


def test_edits_are_sorted_and_applied():
    """Edits in any order give one text; insertions at one place keep their order."""
    edits = EditSet([Edit(8, 9, b"B"), Edit(2, 4), Edit(5, 5, b"x"), Edit(5, 5, b"y")])
    assert edits.apply(DATA) == b"014xy567B9"
    assert [e.start for e in edits] == [2, 5, 5, 8]
    assert (len(edits), bool(edits), edits.growth()) == (4, True, 0)


def test_no_edits_change_nothing():
    """An empty set is false and keeps the text."""
    assert not EditSet()
    assert EditSet().apply(DATA) == DATA
    assert list(EditSet().pieces(10)) == [Kept(0, 10)]
    assert list(EditSet().pieces(0)) == []


@pytest.mark.parametrize(
    "edits", [[Edit(2, 5), Edit(4, 6)], [Edit(2, 5), Edit(3, 3, b"x")], [Edit(5, 4)]]
)
def test_overlap_is_refused(edits):
    """Two edits that claim one byte are an error, and so is one that ends before it begins."""
    with pytest.raises(OverlapError):
        EditSet(edits)


def test_touching_edits_do_not_overlap():
    """An edit may begin where another ends, and insert there too."""
    edits = EditSet([Edit(2, 4, b"A"), Edit(4, 4, b"-"), Edit(4, 6, b"B")])
    assert edits.apply(DATA) == b"01A-B6789"


def test_shifted():
    """A shifted edit keeps its text and whether that is session text."""
    assert Edit(1, 2, b"x", content=True).shifted(5) == Edit(6, 7, b"x", content=True)


@pytest.mark.parametrize(
    ("edits", "offset", "now"),
    [
        ([Edit(2, 4)], 1, 1),
        ([Edit(2, 4)], 2, 2),
        ([Edit(2, 4, b"xyz")], 2, 2),
        ([Edit(2, 4, b"xyz")], 3, 5),
        ([Edit(2, 4, b"xyz")], 4, 5),
        ([Edit(4, 4, b"xyz")], 4, 7),
        ([Edit(4, 4, b"xyz")], 3, 3),
        ([Edit(0, 3), Edit(5, 5, b"abc")], 9, 9),
        ([], 6, 6),
    ],
)
def test_moved(edits, offset, now):
    """An offset goes where its byte goes; behind an insertion, to the end of a replacement."""
    assert EditSet(edits).moved(offset) == now


def test_moved_keeps_what_stands_there():
    """The byte at a moved offset is the same byte, wherever no edit took it away."""
    made = random.Random(3)
    for _ in range(300):
        edits = some_edits(made, len(DATA))
        text = edits.apply(DATA)
        for offset in range(len(DATA)):
            if not any(e.start <= offset < e.end for e in edits):
                now = edits.moved(offset)
                assert text[now : now + 1] == DATA[offset : offset + 1]


def test_origins():
    """A byte that was kept is found again; inside an insertion it is where that was made."""
    made = random.Random(13)
    for _ in range(300):
        edits = some_edits(made, len(DATA))
        kept = [n for n in range(len(DATA)) if not any(e.start <= n < e.end for e in edits)]
        moved = [edits.moved(n) for n in kept]
        assert [edits.origins(moved)[n] for n in moved] == kept
    assert EditSet([Edit(2, 4, b"xyz")]).origins([1, 2, 3, 4, 5]) == {1: 1, 2: 2, 3: 2, 4: 2, 5: 4}


@pytest.mark.parametrize("seed", range(5))
def test_then_does_both(seed):
    """One set made of two gives what the two give one after the other."""
    made = random.Random(seed)
    for _ in range(400):
        data = DATA[: made.randrange(11)]
        first = some_edits(made, len(data))
        middle = naive(first, data)
        assert first.apply(data) == middle
        later = some_edits(made, len(middle))
        both = first.then(later, len(data))
        assert both.apply(data) == naive(later, middle)
        assert both.growth() == first.growth() + later.growth()


def test_then_keeps_untouched_bytes():
    """What neither set touches is kept, and not written again as session text."""
    both = EditSet([Edit(1, 2, b"A")]).then(EditSet([Edit(8, 9, b"B")]), len(DATA))
    assert [(e.start, e.end, e.text) for e in both] == [(1, 2, b"A"), (8, 9, b"B")]


def test_then_takes_back():
    """An insertion that the later set cuts again leaves no edit."""
    both = EditSet([Edit(4, 4, b"abc")]).then(EditSet([Edit(4, 7)]), len(DATA))
    assert not both
