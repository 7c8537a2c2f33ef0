"""What leads from a redacted file back to the original: the edits, and applying them.

An edit is three numbers of 8 bytes, the offset and the length of what is replaced in the redacted
bytes and the length of the original ones, and those bytes. Edits stand in order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from sesstool.records.lines import Line
from sesstool.records.source import Source
from sesstool.records.undo import read_range

_EDIT = struct.Struct(">QQQ")


def of_lines(before: Iterable[Line], after: Iterable[Line]) -> Iterator[bytes]:
    """The edits between lines and their redaction; offsets are those of the lines."""
    end = 0
    for old, new in zip_longest(before, after):
        was, now = _bytes(old), _bytes(new)
        at, end = (new.start, new.next) if new else (end, end)
        if was == now:
            continue
        head = _common(was, now)
        tail = _common(was[head:][::-1], now[head:][::-1])
        lost = was[head : len(was) - tail]
        yield _EDIT.pack(at + head, len(now) - head - tail, len(lost))
        yield lost


def of_whole(before: Source, size: int) -> Iterator[bytes]:
    """The edit that puts a whole file in the place of one of `size` bytes."""
    yield _EDIT.pack(0, size, before.size)
    yield from before.chunks()


def restored(edits: Iterable[bytes], redacted: Source, size: int) -> Iterator[bytes]:
    """The original of the first `size` bytes of a file. Raises ValueError where edits are cut."""
    stream = _Stream(edits)
    at = 0
    while head := b"".join(stream.pieces(_EDIT.size)):
        start, length, lost = _EDIT.unpack(head)
        yield from read_range(redacted, at, start)
        yield from stream.pieces(lost)
        at = start + length
    yield from read_range(redacted, at, size)


class _Stream:
    """Takes so many bytes at a time from pieces of any size."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._held = memoryview(b"")

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes; none where nothing is left."""
        begun = False
        while size:
            if not self._held:
                piece = next(self._pieces, None)
                if piece is None:
                    if begun:
                        raise ValueError("the edits are cut")
                    return
                self._held = memoryview(piece)
                continue
            taken, self._held = self._held[:size], self._held[size:]
            size -= len(taken)
            begun = True
            yield bytes(taken)


def _bytes(line: Line | None) -> bytes:
    return line.text + b"\n" * line.ended if line else b""


def _common(one: bytes, other: bytes) -> int:
    """How many bytes are the same at the beginning, by halves and not one by one."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
