"""What a damaged line holds: its records, and what becomes of the bytes between them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sesstool.records.edits import Edit
from sesstool.records.heal import Defect, Kind, decode, heal
from sesstool.records.jsonspan import members
from sesstool.records.lines import Line

BLANK = b" \t\r\n\x00"
_NEWLINE = re.compile(rb"\n")
_MERGE_MARKER = re.compile(rb"(?:<{7}|\|{7}|>{7})(?: .*)?|={7}")


@dataclass(slots=True)
class Record:
    """One record: bytes [start, end) of the source, from line `line` on.

    `value` is the decoded object; None marks a fragment, which has a defect that says what it
    is. `raw` are the bytes as they stand in the source; `healed` says that they are no strict JSON.
    """

    line: int
    start: int
    end: int
    raw: bytes
    value: dict[str, Any] | None
    defects: list[Defect] = field(default_factory=list)
    healed: bool = False


@dataclass(slots=True)
class _Gap:
    """Bytes [start, end) of a block that belong to no record."""

    kind: Kind
    start: int
    end: int


class Block:
    """A damaged line, with the lines joined to it; offsets count from its start."""

    def __init__(self, line: Line) -> None:
        """Begin with one line; the reader puts others behind it in `text` and `last`."""
        self.first = self.last = line
        self.text = line.text
        self.at = 0
        self.found: list[tuple[int, int]] = []
        self.gaps: list[_Gap] = []
        self._breaks: list[int] = []

    def take(self, end: int) -> None:
        """A record reaches from here to `end`."""
        self.found.append((self.at, end))
        self.at = end

    def fragment(self, kind: Kind, end: int) -> None:
        """What reaches from here to `end` is no record."""
        self.gaps.append(_Gap(kind, self.at, end))
        self.at = end

    mark = fragment

    @property
    def torn(self) -> bool:
        """Whether what stands right before is a piece of a torn record."""
        return bool(self.gaps) and self.gaps[-1].kind is Kind.TORN and self.gaps[-1].end == self.at

    def records(self) -> Iterator[Record]:
        """The records and fragments of the block in order of place."""
        healed: list[Record] = []
        self._breaks = [found.start() for found in _NEWLINE.finditer(self.text)]
        found, self.found = self.found, []
        for start, end in found:
            try:
                healed.append(self._record(start, end))
            except ValueError:
                self.gaps.append(_Gap(Kind.NOISE, start, end))
            else:
                self.found.append((start, end))
        self.gaps.sort(key=lambda gap: gap.start)
        out = healed + (self._between(healed) if healed else self._alone())
        out.sort(key=lambda record: (record.start, record.end))
        if healed and not self.last.ended:
            healed[-1].defects.append(no_newline(self.last))
        yield from out

    def listed(self, *, holds_records: bool) -> Record:
        """A line that is a JSON list: its records could have lines of their own."""
        kind = Kind.LIST if holds_records else Kind.NOT_OBJECT
        if not holds_records:
            return self._fragment(kind, 0, len(self.text), self._whole())
        offset, edits = self.first.start, []
        items = [member for _, member in members(self.text, self.text.index(b"["))]
        starts = [0, *(item.end for item in items)]
        ends = [*(item.start for item in items), len(self.text)]
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            newline = b"\n" if 0 < n < len(items) else b""
            edits.append(Edit(offset + start, offset + end, newline))
        fragment = self._fragment(kind, 0, len(self.text), edits[0])
        fragment.defects = [Defect(kind, offset, self.last.end, tuple(edits))]
        return fragment

    def _record(self, start: int, end: int) -> Record:
        raw = self.text[start:end]
        value, defects = heal(raw, self.first.start + start)
        if type(value) is not dict:
            raise ValueError
        line, offset = self._line(start), self.first.start
        return Record(line, offset + start, offset + end, raw, value, defects, healed=True)

    def _line(self, at: int) -> int:
        return self.first.number + bisect_left(self._breaks, at)

    def _between(self, healed: list[Record]) -> list[Record]:
        """Fragments and marks around records: each stretch is cut, or becomes one newline."""
        fragments: list[Record] = []
        waiting = deque(self.gaps)
        edges = [0, *(edge for pair in self.found for edge in pair), len(self.text)]
        for n, (start, end) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
            inner = 0 < n < len(healed)
            stretch = self.text[start:end]
            gaps = []
            while waiting and waiting[0].end <= end:
                gaps.append(waiting.popleft())
            edit = Edit(self.first.start + start, self.first.start + end, b"\n" if inner else b"")
            if stretch == b"\n" and inner:
                continue
            owner = healed[min(n, len(healed) - 1)]
            torn = [g for g in gaps if g.kind in (Kind.TORN, Kind.NOISE)]
            if torn:
                fragments.append(self._fragment(torn[0].kind, start, end, edit))
            elif gaps:
                owner.defects.append(self._defect(gaps[0].kind, edit))
            elif b"\0" in stretch:
                owner.defects.append(self._defect(Kind.NUL, edit))
            elif stretch == b"\r" and not inner:
                owner.defects.append(self._defect(Kind.CRLF, edit))
            elif inner:
                owner.defects.append(self._defect(Kind.GLUED, edit))
        return fragments

    def _alone(self) -> list[Record]:
        """A line without any record: it goes as a whole, with its newline."""
        return [self._fragment(self._kind(), 0, len(self.text), self._whole())]

    def _whole(self) -> Edit:
        return Edit(self.first.start, self.last.next)

    def _kind(self) -> Kind:
        text = self.text.strip(BLANK)
        if not text:
            return Kind.NUL if b"\0" in self.text else Kind.BLANK
        if _MERGE_MARKER.fullmatch(text):
            return Kind.MERGE_MARKER
        if all(gap.kind is self.gaps[0].kind for gap in self.gaps) and self.gaps[0].kind in (
            Kind.ARRAY,
            Kind.OTHER_NOTATION,
        ):
            return self.gaps[0].kind
        try:
            decode(text)
        except ValueError:
            pass
        else:
            return Kind.NOT_OBJECT
        torn = any(gap.kind is Kind.TORN for gap in self.gaps)
        if torn and not self.last.ended:
            return Kind.TORN_TAIL
        return Kind.TORN if torn else Kind.NOISE

    def _fragment(self, kind: Kind, start: int, end: int, edit: Edit) -> Record:
        line, offset = self._line(start), self.first.start
        raw = self.text[start:end]
        return Record(line, offset + start, offset + end, raw, None, [self._defect(kind, edit)])

    def _defect(self, kind: Kind, edit: Edit) -> Defect:
        return Defect(kind, edit.start, edit.end, (edit,))


def no_newline(line: Line) -> Defect:
    """The defect of a last line whose record is whole and which no LF ends."""
    return Defect(Kind.NO_NEWLINE, line.end, line.end, (Edit(line.end, line.end, b"\n"),))
