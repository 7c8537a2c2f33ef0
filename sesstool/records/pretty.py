"""A JSON text in lines that people can read, without decoding it: every byte is as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sesstool.records.jsonspan import Member, locate, members, skip

# What is nested deeper than this, or takes no more bytes than that, stands in one line.
_DEEPEST, _SHORT = 40, 60


class JsonLine(NamedTuple):
    """A line: how deep it is, the bytes of its key, those of its value or bracket, a comma.

    `key` is empty where there is none. `meant` says that it is of the value that was asked for.
    """

    depth: int
    key: tuple[int, int]
    value: tuple[int, int]
    comma: bool
    meant: bool


_NO_KEY = (0, 0)


def pretty(data: bytes, pointer: str = "") -> Iterator[JsonLine]:
    """The lines of a valid JSON text; those of the value at `pointer` are meant, "" means none."""
    start = locate(data, "")
    assert start is not None
    aim = locate(data, pointer) if pointer else None
    yield from _Lines(data, aim).of(start)


def _member(named: tuple[str, Member]) -> Member:
    return named[1]


class _Lines:
    def __init__(self, data: bytes, aim: Member | None) -> None:
        self._data = data
        self._aim = aim

    def of(self, whole: Member) -> Iterator[JsonLine]:
        # The containers that are open, each with its members that are still to come.
        opened: list[tuple[Member, bool, Iterator[Member], Member | None]] = []
        here: Member | None = whole
        comma = False
        while True:
            if here is not None:
                if self._is_plain(here, len(opened)):
                    yield self._line(len(opened), here, (here.start, here.end), comma)
                else:
                    yield self._line(len(opened), here, (here.start, here.start + 1), comma=False)
                    inside: Iterator[Member] = map(_member, members(self._data, here.start))
                    opened.append((here, comma, inside, next(inside, None)))
            if not opened:
                return
            holder, behind, rest, here = opened.pop()
            if here is None:
                end = Member(holder.start, holder.end)
                yield self._line(len(opened), end, (holder.end - 1, holder.end), behind)
                continue
            following = next(rest, None)
            opened.append((holder, behind, rest, following))
            comma = following is not None

    def _is_plain(self, member: Member, depth: int) -> bool:
        """Whether a value stands in one line."""
        if self._data[member.start] not in b"{[" or depth >= _DEEPEST:
            return True
        holds = self._aim is not None and member.start < self._aim.start < member.end
        return member.end - member.start <= _SHORT and not holds

    def _line(self, depth: int, member: Member, value: tuple[int, int], comma: bool) -> JsonLine:
        key = _NO_KEY if member.key < 0 else (member.key, skip(self._data, member.key))
        aim = self._aim
        meant = aim is not None and aim.start <= member.start and member.end <= aim.end
        return JsonLine(depth, key, value, comma, meant)
