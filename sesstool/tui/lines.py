"""What the app draws, before it has colours: lines of spans, each a text and the name of its style.

This is plain data, so that what a screen says can be tested without a screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from sesstool.text import elide, safe, width, wrapped

K = TypeVar("K")


class Span(NamedTuple):
    """A safe text and its style: one of `scroller.STYLES`, "" for plain text."""

    text: str
    style: str = ""


Line = Sequence[Span]


class Blocks(Protocol[K]):
    """A list of blocks of lines that is drawn where it is looked at; each has a key."""

    def first(self) -> K | None:
        """The key of the first block; None where there is none."""
        ...

    def last(self) -> K | None:
        """The key of the last block; None where there is none."""
        ...

    def after(self, key: K) -> K | None:
        """The key of the next block; None behind the last."""
        ...

    def before(self, key: K) -> K | None:
        """The key of the block before; None before the first."""
        ...

    def draw(self, key: K, cells: int) -> Sequence[Line]:
        """The lines of a block, at least one, each at most so many cells wide."""
        ...

    def share(self, key: K) -> float:
        """Where a block stands between the beginning, 0, and the end, 1."""
        ...


class Numbered:
    """Blocks known by their numbers from 0."""

    def __init__(self, total: int = 0) -> None:
        """Have so many."""
        self.total = total

    def first(self) -> int | None:
        """See `Blocks`."""
        return 0 if self.total else None

    def last(self) -> int | None:
        """See `Blocks`."""
        return self.total - 1 if self.total else None

    def after(self, key: int) -> int | None:
        """See `Blocks`."""
        return key + 1 if key + 1 < self.total else None

    def before(self, key: int) -> int | None:
        """See `Blocks`."""
        return min(key, self.total) - 1 if key > 0 else None

    def share(self, key: int) -> float:
        """See `Blocks`."""
        return key / max(self.total - 1, 1)


class Prose(Numbered):
    """Paragraphs of the app's own words and of texts, one a block, wrapped where they are drawn."""

    def __init__(self, paragraphs: Iterable[Span | Line | str] = ()) -> None:
        """Take the paragraphs: text, a span, or the spans of one line, which is cut."""
        self._paragraphs = list(paragraphs)
        super().__init__(len(self._paragraphs))

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `Blocks`."""
        one = self._paragraphs[key]
        if isinstance(one, str):
            one = Span(one)
        if isinstance(one, Span):
            return list(paragraph(one.text, cells, one.style))
        return [cut(one, cells)]


class Table(Numbered, Generic[K]):
    """Rows of one line each, drawn by a function of the row's number and the width."""

    def __init__(self, total: int, row: Row) -> None:
        """Have so many rows."""
        super().__init__(total)
        self._row = row

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `Blocks`."""
        return [cut(self._row(key, cells), cells)]


class Row(Protocol):
    """Draws the row of a number into so many cells; what is too long is cut."""

    def __call__(self, number: int, cells: int, /) -> Line:
        """The row."""
        ...


def paragraph(text: str, cells: int, style: str = "", indent: int = 0) -> Iterator[Line]:
    """Any text as lines of at most so many cells, its own line breaks kept."""
    margin = " " * indent
    for line in lines_of(text):
        for part in wrapped(line, cells - indent):
            yield (Span(margin + part, style),)


def lines_of(text: str) -> Iterator[str]:
    """The lines of any text, made safe one by one; tabs become blanks."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield _line(text[start:end])
        start = end + 1
    yield _line(text[start:])


def _line(text: str) -> str:
    return safe(text.removesuffix("\r").expandtabs(4))


def cut(spans: Line, cells: int) -> Line:
    """The spans as far as they fit into so many cells."""
    kept, room = [], cells
    for span in spans:
        size = width(span.text)
        if size <= room:
            kept.append(span)
        elif room > 0:
            kept.append(Span(elide(span.text, room), span.style))
        room -= size
        if room <= 0:
            break
    return kept


def spread(left: Line, right: Line, cells: int) -> Line:
    """Spans at the left and at the right end of a line; the right ones are kept whole."""
    taken = sum(width(span.text) for span in right)
    left = cut(left, max(cells - taken - 1, 0))
    gap = cells - taken - sum(width(span.text) for span in left)
    return cut([*left, Span(" " * max(gap, 0)), *right], cells)


def column(text: str, cells: int, *, right: bool = False) -> str:
    """A safe text in exactly so many cells."""
    text = elide(text, cells)
    gap = " " * (cells - width(text))
    return gap + text if right else text + gap
