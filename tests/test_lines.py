"""Physical lines: cut at LF alone, whatever the chunks are."""

from __future__ import annotations

import random
from itertools import starmap

import pytest

from sesstool.records.lines import Line, lines
from tests.conftest import Memory


def test_lines_have_their_place():
    """Number, offset, text and end of each line; CR and other separators are text."""
    data = "a\r\n\n\u2028b\x0bc\nend".encode()
    assert list(lines(Memory(data))) == [
        Line(1, 0, b"a\r", ended=True),
        Line(2, 3, b"", ended=True),
        Line(3, 4, "\u2028b\x0bc".encode(), ended=True),
        Line(4, 11, b"end", ended=False),
    ]


def test_line_ends():
    """`end` is where the LF stands, `next` where the next line begins."""
    first, last = starmap(Line, lines(Memory(b"ab\ncd")))
    assert (first.end, first.next) == (2, 3)
    assert (last.end, last.next) == (5, 5)


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", b"a", b"a\n"])
def test_a_final_newline_begins_no_line(data):
    """There are as many lines as newlines, and one more where text follows the last."""
    expected = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert len(list(lines(Memory(data)))) == expected


def test_chunks_do_not_matter():
    """Lines are the same however the source is read, and hold every byte."""
    made = random.Random(7)
    for _ in range(200):
        data = bytes(made.choice(b"ab\n\r\0") for _ in range(made.randrange(40)))
        expected = list(starmap(Line, lines(Memory(data))))
        assert b"".join(line.text + b"\n" * line.ended for line in expected) == data
        for step in (1, 2, 3, 7):
            assert list(lines(Memory(data, step=step))) == expected
