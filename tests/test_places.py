"""Any line of a source, in any order."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.records import places as module
from sesstool.records.places import Places, nearest


class Bytes:
    name, path, codec = "made", None, ""

    def __init__(self, data):
        self.data, self.size = data, len(data)

    def read(self, start, end):
        return self.data[start:end]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(module, "_STEP", 8)
    monkeypatch.setattr(module, "_WINDOW", 3)


def counted(data, earlier=None):
    places = Places(Bytes(data), earlier)
    done = list(places.count())
    assert done == sorted(done)
    return places


def starts_of(data):
    """Where each line begins, cut in the plainest way."""
    found, at = [], 0
    for line in data.split(b"\n"):
        if at < len(data):
            found.append(at)
        at += len(line) + 1
    return found


@given(st.binary(max_size=60).map(lambda b: b.replace(b"\x00", b"\n")), st.integers(0, 60))
def test_each_line_is_found_from_each_side(data, offset):
    """Forwards, backwards, by number and by any byte in it, the lines are those of a plain cut."""
    places, starts = counted(data), starts_of(data)
    assert places.total == len(starts)
    assert places.last() == (starts[-1] if starts else None)
    for n, start in enumerate(starts):
        behind = starts[n + 1] if n + 1 < len(starts) else None
        assert places.after(start) == behind
        assert places.before(start) == (starts[n - 1] if n else None)
        assert places.number(start) == n + 1
        assert places.numbered(n + 1) == start
        assert data[start : places.span(start).end] == data[start:].split(b"\n")[0]
    assert places.numbered(len(starts) + 1) is None
    if offset < len(data):
        assert places.holding(offset) == max(s for s in starts if s <= offset)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_file_that_grew_is_counted_on(data, more):
    """The counts of the shorter file are those of the longer one, up to its last chunk."""
    data, more = data.replace(b"\x00", b"\n"), more.replace(b"\x00", b"\n")
    places = counted(data + more, counted(data))
    starts = starts_of(data + more)
    assert [places.number(start) for start in starts] == list(range(1, len(starts) + 1))
    assert places.total == len(starts)


def test_a_line_that_is_not_counted_yet_has_no_number():
    """Before the count comes by, a line is known by its offset alone."""
    places = Places(Bytes(b"one\ntwo\nthree\nfour\n"))
    assert places.last() == 14
    assert places.number(14) is None
    assert places.numbered(4) is None


def test_the_nearest_of_sorted_offsets():
    """The one itself is neither before nor behind."""
    found = array("q", [3, 9, 20])
    assert [nearest(found, at, 1) for at in (0, 3, 9, 20)] == [3, 9, 20, None]
    assert [nearest(found, at, -1) for at in (3, 4, 20, 99)] == [None, 3, 9, 20]
