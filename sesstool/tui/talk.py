"""A session as blocks of lines: one block a record, drawn when it is seen."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sesstool.api.viewing import Look, View
from sesstool.model.passages import Passage
from sesstool.records.places import nearest
from sesstool.text import safe, wrapped
from sesstool.tui.lines import Line, Span, column, cut, lines_of, spread
from sesstool.tui.signs import STATES

NUMBER = 8
INDENT = NUMBER + 2
# Lines of one passage that are shown, folded and opened, and lines without a word for the reader
# that are passed over at once.
FOLDED, OPENED = 12, 2000
_PASSED = 512
_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)")
_STYLES = {"call": "tool", "result": "tool", "thinking": "dim", "note": "dim"}


@dataclass(slots=True)
class Shown:
    """What is shown of a session: thinking, what tools put out, notes, and which records whole.

    With `whole` records are shown whole, but those in `opened`. `only` are the offsets of the
    records that are shown, all where it is None. `text` is what is looked for, and `marked` what a
    person marked.
    """

    thinking: bool = False
    output: bool = True
    notes: bool = False
    wrap: bool = True
    whole: bool = False
    opened: set[int] = field(default_factory=set)
    marked: set[int] = field(default_factory=set)
    only: array[int] | None = None
    text: str = ""


class Talk:
    """The records of a view, each known by the offset of its line."""

    OPENS = "space"
    """The key that shows all of a long text."""

    def __init__(self, view: View, shown: Shown, signs: Callable[[str], str] = str) -> None:
        """Show a view."""
        self.view = view
        self.shown = shown
        self._signs = signs

    def first(self) -> int | None:
        """See `lines.Blocks`."""
        if (only := self.shown.only) is not None:
            return only[0] if only else None
        return self._near(0 if self.view.source.size else None, self.view.places.after)

    def last(self) -> int | None:
        """See `lines.Blocks`."""
        if (only := self.shown.only) is not None:
            return only[-1] if only else None
        return self._near(self.view.places.last(), self.view.places.before)

    def after(self, key: int) -> int | None:
        """See `lines.Blocks`."""
        if self.shown.only is not None:
            return nearest(self.shown.only, key, 1)
        return self._near(self.view.places.after(key), self.view.places.after, nowhere=None)

    def before(self, key: int) -> int | None:
        """See `lines.Blocks`."""
        if self.shown.only is not None:
            return nearest(self.shown.only, key, -1)
        return self._near(self.view.places.before(key), self.view.places.before, nowhere=None)

    def share(self, key: int) -> float:
        """See `lines.Blocks`."""
        return key / max(self.view.source.size, 1)

    def at(self, offset: int) -> int | None:
        """The record at an offset, or the next one that is shown."""
        start = self.view.places.holding(offset + 1)
        if (only := self.shown.only) is not None:
            place = bisect_left(only, start)
            return only[place] if place < len(only) else self.last()
        found = self._near(start, self.view.places.after, nowhere=None)
        return found if found is not None else self.last()

    def _near(
        self, start: int | None, step: Callable[[int], int | None], nowhere: int | None = -1
    ) -> int | None:
        """The first line from one on that says something; after many that do not, one of these."""
        begin = start
        for _ in range(_PASSED):
            if start is None:
                return begin if nowhere is not None else None
            if self._says(self.view.look(start)):
                return start
            start = step(start)
        return start

    def _says(self, look: Look) -> bool:
        return bool(look.fault) or any(map(self._visible, look.passages))

    def _visible(self, passage: Passage) -> bool:
        return passage.kind != "note" or self.shown.notes

    # Drawing

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `lines.Blocks`."""
        look = self._look(key)
        lines: list[Line] = []
        said = [p for p in look.passages if self._visible(p)]
        if not said and not look.fault:
            said = list(look.passages[:1]) or [Passage("note", "empty line", "")]
        for number, passage in enumerate(said):
            lines += self._passage(key, look, passage, cells, first=number == 0)
        if look.fault:
            lines += self._fault(key, look, cells)
        lines.append(())
        return [self._found(line) for line in lines]

    def _look(self, key: int) -> Look:
        return self.view.look(key)

    def _passage(
        self, key: int, look: Look, passage: Passage, cells: int, *, first: bool
    ) -> Iterator[Line]:
        style = _STYLES.get(passage.kind, "")
        if passage.kind == "message":
            style = passage.name if passage.name in ("user", "assistant") else "strong"
        head = [Span(self._number(key) if first else " " * NUMBER, "dim"), Span("  ")]
        head.append(Span(safe(passage.title), "bad" if passage.error else style))
        if look.scope:
            head.append(Span(f"  subagent {safe(look.scope)[:12]}", "dim"))
        if not self._resumed(key):
            head.append(Span("  not resumed", "dim"))
        if passage.kind == "result" and not passage.name and (name := self._tool(key, passage)):
            head.insert(3, Span(f" {safe(name)}", "tool"))
        clock = _CLOCK.match(look.time) if first else None
        right = [*self._state(key, passage), Span(clock[1] if clock else " " * 8, "dim")]
        yield spread(head, right, cells)
        yield from self._words(key, passage, cells)

    def _number(self, key: int) -> str:
        number = self.view.places.number(key)
        sign = "*" if key in self.shown.marked else " "
        return sign + column(f"{number}" if number else "·", NUMBER - 1, right=True)

    def _resumed(self, key: int) -> bool:
        outline = self.view.outline
        return outline is None or outline.resumed(key)

    def _tool(self, key: int, passage: Passage) -> str:
        """The tool whose result this is."""
        place = self.view.call(key, passage)
        if place is None:
            return ""
        said = self.view.look(place).passages
        return next((p.name for p in said if p.kind == "call" and p.id == passage.id), "")

    def _state(self, key: int, passage: Passage) -> Iterator[Span]:
        state = self.view.state(key, passage)
        if state:
            style = {"completed": "good", "failed": "bad"}.get(state, "warn")
            yield Span(self._signs(f"{STATES.get(state, '?')} {state}  "), style)

    def _words(self, key: int, passage: Passage, cells: int) -> Iterator[Line]:
        margin = Span(" " * INDENT)
        style = "dim" if passage.kind in ("thinking", "note") else ""
        if passage.kind == "thinking" and not self.shown.thinking:
            words = len(passage.text.split())
            told = f"~ thinking, {words:,} words (t shows it)" if words else "~ thinking, sealed"
            yield (margin, Span(told, "dim"))
            return
        text = passage.text.rstrip("\n")
        if not text:
            return
        if passage.kind == "result" and not self.shown.output:
            count = text.count("\n") + 1
            yield (margin, Span(f"~ output, {count:,} lines (o shows it)", "dim"))
            return
        most = OPENED if (key in self.shown.opened) != self.shown.whole else FOLDED
        room = max(cells - INDENT, 4)
        shown = taken = 0
        for line in lines_of(text):
            taken += 1
            parts = wrapped(line, room) if self.shown.wrap else iter([line])
            for part in islice(parts, most - shown):
                yield cut((margin, Span(part, style)), cells)
                shown += 1
            if next(parts, None) is not None or shown >= most:
                break
        left = text.count("\n") + 1 - taken
        if shown >= most and (left or len(text) > room * most):
            how = f"{self.OPENS} shows them" if most == FOLDED else "Y copies the record"
            more = f"{left:,} more lines" if left else "this line goes on"
            yield (margin, Span(self._signs(f"… {more} ({how})"), "dim"))

    def _fault(self, key: int, look: Look, cells: int) -> Iterator[Line]:
        head = [Span(self._number(key), "dim"), Span("  "), Span(f"! {look.fault}", "warn")]
        yield cut(head, cells)
        raw = self.view.raw(key, 4096).decode("utf-8", "replace")
        most = FOLDED if key in self.shown.opened else 2
        for line in islice(wrapped(safe(raw), max(cells - INDENT, 4)), most):
            yield (Span(" " * INDENT), Span(line, "dim"))

    def _found(self, line: Line) -> Line:
        """The line with what is looked for in another style."""
        wanted = safe(self.shown.text)
        if not wanted or not any(wanted.casefold() in span.text.casefold() for span in line):
            return line
        spans: list[Span] = []
        for span in line:
            at = 0
            for found in re.finditer(re.escape(wanted), span.text, re.IGNORECASE):
                spans.append(Span(span.text[at : found.start()], span.style))
                spans.append(Span(found[0], "match"))
                at = found.end()
            spans.append(Span(span.text[at:], span.style))
        return spans
