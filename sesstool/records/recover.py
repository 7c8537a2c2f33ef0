"""Records out of bytes, however damaged: what a line still holds, and what is left over.

A sound line is decoded and done. A damaged one is taken apart: whole records are found in it,
records that a raw newline broke are joined with the lines that follow, and every byte that
belongs to no record becomes a fragment: a `Record` without a value.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sesstool.records.block import BLANK, Block, Record, no_newline
from sesstool.records.edits import Edit
from sesstool.records.heal import Defect, Kind, decode, heal
from sesstool.records.jsonspan import Scanner, Status
from sesstool.records.lines import Fields, Line, lines
from sesstool.records.source import Source

__all__ = ["HEAD_LINES", "Record", "records", "utf16"]

_BOM = b"\xef\xbb\xbf"
_WIDE_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_ARRAY_MARKS = b"[],"
# An object as Python or JavaScript print it: quoted with ' or with bare keys.
_OTHER_NOTATION = re.compile(rb"[ \t]*\{[ \t]*(?:'|[A-Za-z_$][A-Za-z0-9_$]*[ \t]*:|//|/\*)")
_FOREIGN_WORDS = (b"True", b"False", b"None", b"undefined", b"//", b"/*", b"'")
_BLANK_RUN = re.compile(rb"[%b]++" % BLANK)
_RECORD_START = re.compile(rb'\{[ \t]*"')
# What follows an object inside of another one.
_GOES_ON = re.compile(rb"[ \t]*[,}\]]")
# A value with more keys of the file's records than this is taken for one of them.
_SIBLING_KEYS = 2
HEAD_LINES = 32
"""How many lines of the head tell what the records of a file look like."""
# A record broken by newlines is joined up to this size, in bytes.
_JOIN_LIMIT = 64 << 20
# Scans that come to nothing may read so many times the source in all, and so many bytes more:
# every line of a hostile file could ask for a scan of all that follows.
_PATIENCE = 16
_PATIENCE_AT_LEAST = 1 << 20


def records(source: Source, start: int = 0, number: int = 1) -> Iterator[Record]:
    """The records and fragments of a source in file order.

    They begin with the line at the offset `start`, which has the number `number`.
    """
    encoding = utf16(source.read(0, 256))
    if encoding:
        yield Record(1, 0, source.size, b"", None, [Defect(Kind.UTF16, 0, source.size)])
        return
    yield from _Reader(source, start, number).run()


def utf16(head: bytes) -> str:
    """The Python name of the UTF-16 (or UTF-32) encoding that the first bytes show, or ""."""
    for mark, name in _WIDE_MARKS:
        if head.startswith(mark):
            return name
    # Without a mark: JSON begins with ASCII, whose other byte is NUL.
    if len(head) >= 4 and head[0] in b"{[" and head[1] == 0 and head[2] and not head[3]:
        return "utf-16-le"
    if len(head) >= 4 and not head[0] and head[1] in b"{[" and not head[2] and head[3]:
        return "utf-16-be"
    return ""


class _Reader:
    """Reads one source; knows what its records look like so far."""

    def __init__(self, source: Source, start: int, number: int) -> None:
        self._lines = lines(source)
        self._ahead: deque[Fields] = deque()
        self._decoded: dict[int, Any] = {}  # what of it was decoded, by its offset
        self._first_keys: set[str] = set()
        self._keys: set[str] = set()
        self._in_array: bool | None = None
        self._patience = _PATIENCE * source.size + _PATIENCE_AT_LEAST
        self._look_ahead()
        if start:
            self._lines = lines(source, start, number)
            self._ahead.clear()
            self._decoded.clear()

    def _look_ahead(self) -> None:
        """Learn from the sound lines of the head, for the very first may be damaged."""
        self._ahead.extend(islice(self._lines, HEAD_LINES))
        for _, start, text, _ in self._ahead:
            try:
                value = decode(text)
            except ValueError:
                continue
            if type(value) is dict and value:
                self._learn(value)
                self._decoded[start] = value

    def run(self) -> Iterator[Record]:
        while (line := self._next()) is not None:
            number, start, text, ended = line
            try:
                value = self._decoded.pop(start, None) or decode(text)
            except ValueError:
                yield from self._damaged(Line(*line))
                continue
            if type(value) is dict and value:
                record = Record(number, start, start + len(text), text, value)
                if text.endswith(b"\r"):
                    _strip_return(record)
                if not ended:
                    record.defects.append(no_newline(Line(*line)))
                yield record
            elif type(value) is list and value and self._keys and number > 1:
                yield Block(Line(*line)).listed(holds_records=all(map(self._sibling, value)))
            else:
                yield from self._damaged(Line(*line))

    def _next(self) -> Fields | None:
        return self._ahead.popleft() if self._ahead else next(self._lines, None)

    def _learn(self, value: dict[str, Any]) -> None:
        self._first_keys.add(next(iter(value)))
        self._keys.update(value)

    def _sibling(self, value: Any) -> bool:
        """Whether a value looks like a record of this file, and not like a part of one."""
        if type(value) is not dict or not value:
            return False
        if not self._keys:
            return len(value) > 1
        alike = len(self._keys & value.keys()) > _SIBLING_KEYS
        return alike or next(iter(value)) in self._first_keys

    def _damaged(self, line: Line) -> Iterator[Record]:
        """The records and fragments of a line that is not simply one record."""
        block = Block(line)
        if _OTHER_NOTATION.match(line.text) and line.text.rstrip().endswith(b"}"):
            block.fragment(Kind.OTHER_NOTATION, len(block.text))
        while block.at < len(block.text):
            byte = block.text[block.at]
            if byte in BLANK:
                block.at = _behind_blank(block.text, block.at)
            elif block.text.startswith(_BOM, block.at):
                block.mark(Kind.BOM, block.at + len(_BOM))
            elif byte == ord("{"):
                self._object(block)
            elif byte in _ARRAY_MARKS and self._array_mark(block):
                block.mark(Kind.ARRAY, block.at + 1)
            else:
                self._noise(block)
        for record in block.records():
            if record.value and not self._keys:
                self._learn(record.value)
            yield record

    def _array_mark(self, block: Block) -> bool:
        """Whether `[`, `,` or `]` here belongs to an array that holds the records."""
        if self._in_array is None:
            # Only the first byte that is not blank can open such an array.
            self._in_array = (
                block.first.number == 1 and block.text[block.at] == ord("[") and not block.gaps
            )
            rest = block.text[block.at + 1 :].lstrip(BLANK)
            self._in_array = self._in_array and rest[:1] in (b"", b"{")
        between = block.text[block.at] == ord(",") and bool(block.found)
        return self._in_array or between

    def _object(self, block: Block) -> None:
        """Take the object at the block's position, or the fragment that it is."""
        scanner = Scanner(block.at)
        status = scanner.run(block.text)
        if status is Status.MORE and self._join(block, scanner):
            status = Status.DONE
        if status is Status.DONE:
            if self._in_array is None:
                self._in_array = False
            if block.torn and not self._is_record(block.text, block.at, scanner.at):
                # A part of the torn record, and no record behind it.
                block.fragment(Kind.TORN, scanner.at)
            else:
                block.take(scanner.at)
        elif status is Status.FAILED and _is_foreign(block, scanner.at):
            block.fragment(Kind.OTHER_NOTATION, len(block.text))
        elif status is Status.MORE and self._closed_record(block, scanner):
            block.fragment(Kind.TORN, scanner.closed[0])
        else:
            block.fragment(Kind.TORN, _next_start(block.text, scanner, status))

    def _closed_record(self, block: Block, scanner: Scanner) -> bool:
        """Whether a torn record was followed by a whole one, which reads as its last value."""
        start, end = scanner.closed
        if start <= block.at or block.text[end:].strip(BLANK):
            return False
        return self._is_record(block.text, start, end)

    def _is_record(self, text: bytes, start: int, end: int) -> bool:
        """Whether an object beside a torn record or noise is a record of its own."""
        try:
            value, _ = heal(text[start:end], 0)
        except ValueError:
            return False
        # What goes on behind it is the object that it is a part of, unless it is hardly one.
        # In an array of records a comma goes on behind each.
        inside = bool(_GOES_ON.match(text, end)) and len(self._keys & value.keys()) <= _SIBLING_KEYS
        # The last on the line may be short, where the file's records have all of its keys.
        last = len(value) > 1 and value.keys() <= self._keys and not text[end:].strip(BLANK)
        return (last or self._sibling(value)) and (not inside or bool(self._in_array))

    def _join(self, block: Block, scanner: Scanner) -> bool:
        """Join the following lines to the block where they complete its last record."""
        taken: list[Line] = []
        text, size, batch = block.text, len(block.text), 1
        status, limit = Status.MORE, min(_JOIN_LIMIT, self._patience)
        while status is Status.MORE and size < limit:
            more: list[Line] = []
            while len(more) < batch and (line := self._next()) is not None:
                more.append(Line(*line))
                size += len(line[2]) + 1
            if not more:
                break
            taken += more
            text = b"\n".join([text, *(line.text for line in more)])
            status = scanner.run(text)
            batch *= 2
        if status is Status.DONE and not self._swallowed(text[block.at : scanner.at]):
            length, used = len(block.text), 0
            while length < scanner.at:
                block.last = taken[used]
                length += len(block.last.text) + 1
                used += 1
            block.text = text[:length]
            self._ahead.extendleft(reversed(taken[used:]))
            return True
        self._patience -= size
        self._ahead.extendleft(reversed(taken))
        return False

    def _swallowed(self, raw: bytes) -> bool:
        """Whether a join took in lines that are records by themselves."""
        try:
            heal(raw, 0)
        except ValueError:
            return True
        for text in raw.split(b"\n")[1:]:
            if text.startswith(b"{"):
                try:
                    value = decode(text)
                except ValueError:
                    continue
                if self._sibling(value):
                    return True
        return False

    def _noise(self, block: Block) -> None:
        """Take bytes that are no JSON, up to a record of this file on the same line."""
        for found in _RECORD_START.finditer(block.text, block.at):
            scanner = Scanner(found.start())
            whole = scanner.run(block.text) is Status.DONE
            if whole and self._is_record(block.text, found.start(), scanner.at):
                block.fragment(Kind.NOISE, found.start())
                return
            self._patience -= scanner.at - found.start()
            if self._patience < 0:
                break
        block.fragment(Kind.NOISE, len(block.text))


def _behind_blank(text: bytes, at: int) -> int:
    found = _BLANK_RUN.match(text, at)
    return found.end() if found else at


def _is_foreign(block: Block, at: int) -> bool:
    """Whether a line stops being JSON at a word or comment of another notation."""
    alone = not block.found and not block.gaps
    return (
        alone and block.text.startswith(_FOREIGN_WORDS, at) and block.text.rstrip().endswith(b"}")
    )


def _next_start(text: bytes, scanner: Scanner, status: Status) -> int:
    """Where the next record may begin on a line whose record is torn.

    A stub that is cut inside a string swallows the brace of the record behind it: the string
    then seems to end at that record's first quote, one byte after the brace.
    """
    if status is Status.MORE:
        return len(text)
    swallowed = scanner.at - 2
    if text[scanner.token : scanner.at].endswith(b'{"') and swallowed > scanner.token:
        return swallowed
    found = _RECORD_START.search(text, scanner.at)
    return found.start() if found else len(text)


def _strip_return(record: Record) -> None:
    """Leave the CR of a CRLF line end out of the record."""
    record.end -= 1
    record.raw = record.raw[:-1]
    edit = Edit(record.end, record.end + 1)
    record.defects.append(Defect(Kind.CRLF, edit.start, edit.end, (edit,)))
