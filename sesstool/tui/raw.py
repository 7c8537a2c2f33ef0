"""A line of a session as it stands in the file, as JSON in many lines where it is some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from sesstool.api.viewing import LONGEST, View
from sesstool.records.heal import decode
from sesstool.records.pretty import JsonLine, pretty
from sesstool.text import safe, wrapped
from sesstool.tui.facts import Signs
from sesstool.tui.lines import Line, Numbered, Span, cut

if TYPE_CHECKING:
    from sesstool.tui.app import Browser

# So many lines of JSON are shown at most, so many bytes of one value, and rows of it while folded.
_MOST, _BYTES, _FOLDED = 20_000, 1 << 16, 4
# Of a line that is no JSON, or is too long to be looked into, so many bytes are shown.
_HEAD = 1 << 14
# Strings of JSON may hold these as they are, and a terminal acts on them.
_ESCAPED = re.compile("[\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")


class Raw(Numbered):
    """The lines of one record, and `meant`, the first and the last one of the value asked for.

    `opened` says that long values are shown whole.
    """

    def __init__(self, data: bytes, size: int, pointer: str = "") -> None:
        """Take the bytes of a line, and how many it has in truth."""
        self.data = data
        self.size = size
        self.opened = False
        self.signs: Signs = str
        self._lines: list[JsonLine] = []
        self._more = False
        if size == len(data) and _is_json(data):
            lines = pretty(data, pointer)
            self._lines = list(islice(lines, _MOST))
            self._more = next(lines, None) is not None
        super().__init__(len(self._lines) + self._more or 1)
        meant = [n for n, line in enumerate(self._lines) if line.meant] or [0]
        self.meant = meant[0], meant[-1]

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `lines.Blocks`."""
        if not self._lines:
            return list(self._bytes(cells))
        if key >= len(self._lines):
            return [cut((Span(f"the rest of {self.size:,} bytes is not shown", "dim"),), cells)]
        return list(self._line(self._lines[key], cells))

    def _line(self, line: JsonLine, cells: int) -> Iterator[Line]:
        indent = min(2 * line.depth, cells // 3)
        margin = Span((self.signs("│ ") if line.meant else "  ") + " " * indent, "strong")
        start, end = line.value
        name = self._text(*line.key) + ": " if line.key[1] else ""
        value = self._text(start, min(end, start + _BYTES)) + ("," if line.comma else "")
        rows = wrapped(name + value, max(cells - len(margin.text), 4))
        for n, row in enumerate(islice(rows, None if self.opened else _FOLDED)):
            head = row[: len(name)] if n == 0 else ""
            yield cut((margin, Span(head, "assistant"), Span(row[len(head) :])), cells)
        left = end - start > _BYTES
        if left or (not self.opened and next(rows, None) is not None):
            how = "" if self.opened else " (space shows more)"
            told = Span(self.signs(f"… {end - start:,} bytes{how}"), "dim")
            yield cut((margin, told), cells)

    def _text(self, start: int, end: int) -> str:
        return safe(self.data[start:end].decode("utf-8", "replace"))

    def _bytes(self, cells: int) -> Iterator[Line]:
        text = safe(self.data[:_HEAD].decode("utf-8", "replace"))
        if self.size > LONGEST:
            why = "too long to be looked into"
        else:
            why = "no JSON" if text else "an empty line"
        yield cut((Span(f"! {why}: as it is in the file", "warn"),), cells)
        for row in wrapped(text, cells):
            yield (Span(row),)
        if self.size > _HEAD:
            yield cut((Span(self.signs(f"… {self.size:,} bytes"), "dim"),), cells)


def _is_json(data: bytes) -> bool:
    try:
        decode(data)
    except ValueError:
        return False
    return True


def raw_of(view: View, start: int, pointer: str = "") -> Raw:
    """The line at an offset of a view. Raises InputError."""
    span = view.places.span(start)
    size = span.end - span.start
    return Raw(view.raw(start, LONGEST if size <= LONGEST else _HEAD), size, pointer)


def copy_line(browser: Browser, view: View, start: int) -> None:
    """Copy the line at an offset as it is in the file, where it is not too long for that."""
    if view.look(start).size > LONGEST:
        line = view.places.number(start)
        browser.say(f"too long to be copied: sesstool show --raw --records {line}")
    else:
        browser.copy(as_json(view.raw(start)), "the line")


def as_json(data: bytes) -> str:
    """A line as text; in JSON what could act in a terminal is escaped, which changes no value."""
    text = data.decode("utf-8", "replace")
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _is_json(data) else text
