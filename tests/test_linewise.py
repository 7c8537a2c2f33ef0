"""Lines that are put in or taken out: whatever shares a line with a record stays whole."""

from __future__ import annotations

import pytest

from sesstool.records.edits import EditSet
from sesstool.records.linewise import put_before, put_behind, take_out
from tests.conftest import Memory

LONG = b"x" * 10_000


@pytest.mark.parametrize(
    ("data", "at", "wanted"),
    [
        (b"one\ntwo\n", 3, b"one\nnew\ntwo\n"),
        (b"one piece\ntwo\n", 3, b"one piece\nnew\ntwo\n"),
        (b"one\ntwo\n", 8, b"one\ntwo\nnew\n"),
        (b"one\ntwo", 7, b"one\ntwo\nnew"),
        (b"one\ntwo", 4, b"one\ntwo\nnew"),
        (LONG + b"\ntwo\n", 1, LONG + b"\nnew\ntwo\n"),
    ],
)
def test_put_behind(data, at, wanted):
    """A record comes behind the whole line, and the end of the file keeps or lacks its LF."""
    assert EditSet([put_behind(Memory(data), at, b"new")]).apply(data) == wanted


@pytest.mark.parametrize(
    ("data", "at", "wanted"),
    [
        (b"one\ntwo\n", 0, b"new\none\ntwo\n"),
        (b"one\ntwo\n", 4, b"one\nnew\ntwo\n"),
        (b"one\npiece two\n", 10, b"one\nnew\npiece two\n"),
        (b"one\n" + LONG, 9_000, b"one\nnew\n" + LONG),
        (LONG, 9_000, b"new\n" + LONG),
    ],
)
def test_put_before(data, at, wanted):
    """A record comes before the whole line."""
    assert EditSet([put_before(Memory(data), at, b"new")]).apply(data) == wanted


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"a\nRECORD\nb\n", b"a\nb\n"),
        (b"RECORD\n", b""),
        (b"a\nRECORD", b"a\n"),
        (b"a\npieceRECORD\nb\n", b"a\npiece\nb\n"),
        (b"a\nRECORDpiece\nb\n", b"a\npiece\nb\n"),
    ],
)
def test_take_out(data, wanted):
    """A record takes its LF along only where it has the line to itself."""
    start = data.index(b"RECORD")
    assert EditSet([take_out(Memory(data), start, start + 6)]).apply(data) == wanted
