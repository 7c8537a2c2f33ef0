"""Any line of a source, in any order, without reading what lies between.

A line is known by the byte offset at which it begins. Numbers of lines come from counts that are
made once, chunk by chunk: 8 bytes for each 256 KiB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sesstool.records.source import Source

# Bytes between two counts, and bytes that are read at once to find where a line ends.
_STEP = 1 << 18
_WINDOW = 1 << 16


class Span(NamedTuple):
    """A line's bytes [start, end) without its LF; the next line begins at `next`."""

    start: int
    end: int
    next: int


class Places:
    """Where the lines of a source are. Nothing of their text is kept."""

    def __init__(self, source: Source, earlier: Places | None = None) -> None:
        """Take a source; `earlier` are the places of the same file when it was shorter."""
        self.source = source
        self.size = source.size
        # How many lines end before each chunk; the last chunk may have grown since.
        self._counts: array[int] = earlier.whole_counts() if earlier else array("q")
        self.total = -1
        self.span = lru_cache(maxsize=256)(self._span)

    def whole_counts(self) -> array[int]:
        """The counts that hold as well for the file when it has grown."""
        return self._counts[:-1]

    def count(self) -> Iterator[int]:
        """Count the lines, a chunk with each step; yields how many bytes are done."""
        known = max(len(self._counts) - 1, 0)
        if not self._counts:
            self._counts.append(0)
        for start in range(known * _STEP, self.size, _STEP):
            chunk = self.source.read(start, min(start + _STEP, self.size))
            self._counts.append(self._counts[-1] + chunk.count(b"\n"))
            yield start + len(chunk)
        torn = self.size > 0 and self.source.read(self.size - 1, self.size) != b"\n"
        self.total = self._counts[-1] + torn

    def _span(self, start: int) -> Span:
        for at in range(start, self.size, _WINDOW):
            found = self.source.read(at, min(at + _WINDOW, self.size)).find(b"\n")
            if found >= 0:
                return Span(start, at + found, at + found + 1)
        return Span(start, self.size, self.size)

    def holding(self, offset: int) -> int:
        """Where the line begins that holds the byte at an offset, or that ends there."""
        end = min(offset, self.size)
        while end > 0:
            start = max(end - _WINDOW, 0)
            found = self.source.read(start, end).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def after(self, start: int) -> int | None:
        """Where the next line begins; None behind the last."""
        following = self.span(start).next
        return following if following < self.size else None

    def before(self, start: int) -> int | None:
        """Where the line before begins; None before the first."""
        return self.holding(start - 1) if start > 0 else None

    def last(self) -> int | None:
        """Where the last line begins; None in an empty source."""
        return self.holding(self.size - 1) if self.size else None

    def number(self, start: int) -> int | None:
        """The number, from 1, of the line that begins here; None while it is not counted."""
        chunk = start // _STEP
        if chunk >= len(self._counts):
            return None
        return self._counts[chunk] + self.source.read(chunk * _STEP, start).count(b"\n") + 1

    def numbered(self, number: int) -> int | None:
        """Where the line of a number begins; None where it is not counted or does not exist."""
        if number <= 1:
            return 0 if self.size else None
        chunk = bisect_left(self._counts, number - 1) - 1
        if chunk + 1 >= len(self._counts):
            return None
        at, missing = chunk * _STEP, number - 1 - self._counts[chunk]
        data = self.source.read(at, min(at + _STEP, self.size))
        place = -1
        for _ in range(missing):
            place = data.find(b"\n", place + 1)
        start = at + place + 1
        return start if start < self.size else None


def nearest(places: Sequence[int], offset: int, step: int) -> int | None:
    """Of sorted offsets the next one behind an offset (`step` 1), or the one before it (-1)."""
    if step > 0:
        at = bisect_right(places, offset)
        return places[at] if at < len(places) else None
    at = bisect_left(places, offset)
    return places[at - 1] if at else None
