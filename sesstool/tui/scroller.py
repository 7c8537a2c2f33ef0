"""`Scroller`: one widget for every long view, which draws only what is seen.

It knows the block at its top and how many of its lines are above the edge, and walks from there.
Nothing is laid out before it is looked at, so a session of any size opens at once, and nothing
jumps when a height becomes known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Blocks, Line, Prose

STYLES = (
    "user",
    "assistant",
    "tool",
    "dim",
    "strong",
    "good",
    "bad",
    "warn",
    "added",
    "removed",
    "changed",
    "match",
    "cursor",
    "thumb",
)
"""The names that spans use."""

_GUTTER = 2
_WHEEL = 3
_KEPT = 256


class Scroller(Widget, can_focus=True):
    """Blocks of lines, one under the cursor where `pick` is true."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"scroller--{name}" for name in STYLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        key("j,down", "down", "down", "move.down"),
        key("k,up", "up", "up", "move.up"),
        *pair("ctrl+u", "ctrl+d", "half", "half page", "move.half"),
        *pair("pageup", "pagedown", "page", "page", "move.page"),
        key("g,home", "first", "first", "move.first"),
        key("G,end", "last", "last", "move.last"),
    ]

    class Moved(Message):
        """The cursor is on another block."""

        def __init__(self, scroller: Scroller, block: Any) -> None:
            """Tell which one, None where there is none."""
            self.scroller = scroller
            self.block = block
            super().__init__()

    class Chosen(Message):
        """A block was clicked that had the cursor already."""

        def __init__(self, scroller: Scroller, block: Any) -> None:
            """Tell which one."""
            self.scroller = scroller
            self.block = block
            super().__init__()

    def __init__(
        self, blocks: Blocks[Any] | None = None, *, pick: bool = True, id: str | None = None
    ) -> None:
        """Show some blocks."""
        super().__init__(id=id)
        self.blocks: Blocks[Any] = blocks or Prose()
        self.pick = pick
        self.cursor: Any = self.blocks.first()
        self._top: Any = self.cursor
        self._skip = 0
        self._drawn: dict[tuple[Any, int], list[Line]] = {}
        self._rows: list[tuple[Any, Line]] | None = None

    # What is shown

    def show(self, blocks: Blocks[Any], cursor: Any = None, *, keep: bool = False) -> None:
        """Show other blocks, from the first or the one given; `keep` leaves all where it is."""
        self.blocks = blocks
        if not keep:
            self._top = self.cursor = blocks.first()
            self._skip = 0
        self.redraw()
        if cursor is not None:
            self.go(cursor)

    def redraw(self) -> None:
        """Draw everything anew: what the blocks say has changed."""
        self._drawn.clear()
        if self.cursor is None:
            self._top = self.cursor = self.blocks.first()
        self._moved()

    def renew(self, block: Any) -> None:
        """Draw one block anew: what it says has changed."""
        for place in [place for place in self._drawn if place[0] == block]:
            del self._drawn[place]
        self._moved()

    @property
    def at_end(self) -> bool:
        """Whether the last line of all is seen."""
        rows, last = self.rows(), self.blocks.last()
        if not rows or rows[-1][0] != last:
            return not rows
        above = self._skip if self._top == last else 0
        seen = sum(block == last for block, _ in rows)
        return bool(above + seen >= len(self._block(last)))

    def _moved(self) -> None:
        self._rows = None
        self.refresh()

    @property
    def _cells(self) -> int:
        return max(self.size.width - 1 - (_GUTTER if self.pick else 1), 4)

    def _block(self, block: Any) -> list[Line]:
        place = (block, self._cells)
        lines = self._drawn.get(place)
        if lines is None:
            if len(self._drawn) > _KEPT:
                self._drawn.clear()
            lines = self._drawn[place] = list(self.blocks.draw(block, self._cells))
        return lines

    def _lay_out(self) -> list[tuple[Any, Line]]:
        """The rows that are seen, from the block at the top on."""
        height = self.size.height
        if self._top is not None:
            self._skip = min(self._skip, max(len(self._block(self._top)) - 1, 0))
        rows = self._from(self._top, self._skip, height)
        if len(rows) < height and self._top is not None:
            # The end is above the lower edge: pull down what stands above.
            self._back(height - len(rows))
            rows = self._from(self._top, self._skip, height)
        return rows

    def _from(self, block: Any, skip: int, height: int) -> list[tuple[Any, Line]]:
        rows: list[tuple[Any, Line]] = []
        while block is not None and len(rows) < height:
            rows += [(block, line) for line in self._block(block)[skip : skip + height]]
            skip = 0
            block = self.blocks.after(block)
        return rows[:height]

    def _back(self, lines: int) -> None:
        """Move the top up by so many lines, as far as there are any."""
        while lines > self._skip:
            above = self.blocks.before(self._top)
            if above is None:
                self._skip = 0
                return
            lines -= self._skip + 1
            self._top, self._skip = above, len(self._block(above)) - 1
        self._skip -= lines

    def _forth(self, lines: int) -> None:
        while self._top is not None and lines:
            left = len(self._block(self._top)) - 1 - self._skip
            if lines <= left:
                self._skip += lines
                return
            below = self.blocks.after(self._top)
            if below is None:
                self._skip += left
                return
            lines -= left + 1
            self._top, self._skip = below, 0

    def rows(self) -> list[tuple[Any, Line]]:
        """The rows that are seen, each with the key of its block."""
        if self._rows is None:
            self._rows = self._lay_out()
        return self._rows

    # Moving

    def scroll_lines(self, lines: int) -> None:
        """Move what is seen by so many lines; the cursor stays within it."""
        if self._top is None:
            return
        if lines < 0:
            self._back(-lines)
        else:
            self._forth(lines)
        self._moved()
        seen = [block for block, _ in self.rows()]
        if self.pick and seen and self.cursor not in seen:
            self._set(seen[0] if lines > 0 else seen[-1])

    def go(self, block: Any) -> None:
        """Put the cursor on a block and have it seen; unseen ones come to a third of the height."""
        seen = [one for one, _ in self.rows()]
        if seen.count(block) < min(len(self._block(block)), self.size.height):
            self._top, self._skip = block, 0
            if block not in seen:
                self._back(self.size.height // 3)
            elif seen and block == seen[-1]:
                self._back(max(self.size.height - len(self._block(block)), 0))
            self._moved()
        self._set(block)

    def _set(self, block: Any) -> None:
        if block != self.cursor:
            self.cursor = block
            self.post_message(self.Moved(self, block))
        self.refresh()

    def action_down(self) -> None:
        """Go to the next block; one that goes on below the edge is scrolled first."""
        if not self.pick or self.cursor is None:
            self.scroll_lines(1)
            return
        if self._goes_on():
            self.scroll_lines(max(self.size.height // 2, 1))
        elif (below := self.blocks.after(self.cursor)) is not None:
            self.go(below)

    def _goes_on(self) -> bool:
        """Whether the block under the cursor goes on below the lower edge, from above it."""
        rows = self.rows()
        whole = len(self._block(self.cursor))
        if not rows or rows[-1][0] != self.cursor or whole <= self.size.height:
            return False
        seen = sum(block == self.cursor for block, _ in rows)
        above = self._skip if self._top == self.cursor else 0
        return bool(above + seen < whole)

    def action_up(self) -> None:
        """Go to the block before; one that begins above the edge is scrolled first."""
        if not self.pick or self.cursor is None:
            self.scroll_lines(-1)
        elif self._top == self.cursor and self._skip:
            self.scroll_lines(-min(self._skip, max(self.size.height // 2, 1)))
        elif (above := self.blocks.before(self.cursor)) is not None:
            self.go(above)

    def action_half(self, direction: int) -> None:
        """Scroll half a page."""
        self.scroll_lines(direction * max(self.size.height // 2, 1))

    def action_page(self, direction: int) -> None:
        """Scroll a page; a line of it stays."""
        self.scroll_lines(direction * max(self.size.height - 1, 1))

    def action_first(self) -> None:
        """Go to the beginning."""
        self._top, self._skip = self.blocks.first(), 0
        self._moved()
        if self._top is not None:
            self._set(self._top)

    def action_last(self) -> None:
        """Go to the end."""
        last = self.blocks.last()
        if last is None:
            return
        self._top, self._skip = last, len(self._block(last)) - 1
        self._back(self.size.height - 1)
        self._moved()
        self._set(last)

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        rows = self.rows()
        cells = self._cells
        base = self.rich_style
        if y >= len(rows):
            return self._edge([Segment(" " * (self.size.width - 1), base)], y)
        block, line = rows[y]
        picked = self.pick and block == self.cursor
        under = self._style("cursor") if picked and self.has_focus else Style()
        signs = getattr(self.app, "signs", str)
        gutter = (signs("▌") if picked else " ").ljust(_GUTTER) if self.pick else " "
        segments = [Segment(gutter, base + self._style("strong") + under)]
        segments += [
            Segment(
                self._ended(span.text),
                base + (self._style(span.style) if span.style else Style()) + under,
            )
            for span in line
        ]
        strip = Strip(segments).adjust_cell_length(len(gutter) + cells, base + under)
        return self._edge(self._selected(strip, y), y)

    def _ended(self, text: str) -> str:
        """A text that may have been cut, with the sign for it that the terminal has."""
        plain = text.endswith("…") and getattr(self.app, "signs", str)("…") != "…"
        return text[:-1] + "~" if plain else text

    def _edge(self, segments: Strip | list[Segment], y: int) -> Strip:
        """Add the right column, with the thumb where there is more than is seen."""
        strip = segments if isinstance(segments, Strip) else Strip(segments)
        thumb = self._thumb() == y
        signs = getattr(self.app, "signs", str)
        edge = Segment(signs("▐") if thumb else " ", self.rich_style + self._style("thumb"))
        return Strip([*strip, edge]).apply_offsets(0, y)

    def _thumb(self) -> int:
        """The row of the thumb, -1 where all is seen."""
        rows = self.rows()
        if not rows or (
            self._skip == 0
            and rows[0][0] == self.blocks.first()
            and rows[-1][0] == self.blocks.last()
        ):
            return -1
        last = self.size.height - 1
        if rows[-1][0] == self.blocks.last():
            return last
        return min(round(self.blocks.share(rows[0][0]) * last), last)

    def _style(self, name: str) -> Style:
        """The colours of a span's style; nothing where it has none."""
        if not name:
            return Style()
        return self.get_component_rich_style(f"scroller--{name}", partial=True)

    def notify_style_update(self) -> None:
        """Draw anew in other colours."""
        super().notify_style_update()
        self.refresh()

    # The mouse

    def _selected(self, strip: Strip, y: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(y) if selection else None
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end < 0 else end
        style = self.screen.get_component_rich_style("screen--selection")
        return Strip.join(
            [
                strip.crop(0, start),
                strip.crop(start, end).apply_style(Style(bgcolor=style.bgcolor)),
                strip.crop(end),
            ]
        )

    def selection_updated(self, selection: Selection | None) -> None:
        """Show what is selected."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text of what is seen."""
        gutter = " " * (_GUTTER if self.pick else 1)
        text = "\n".join(gutter + "".join(s.text for s in line) for _, line in self.rows())
        return selection.extract(text), "\n"

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll with the wheel."""
        event.stop()
        self.scroll_lines(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll with the wheel."""
        event.stop()
        self.scroll_lines(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; on the block that has it, choose it."""
        rows = self.rows()
        if not self.pick or not 0 <= event.y < len(rows):
            return
        block = rows[event.y][0]
        if block == self.cursor:
            self.post_message(self.Chosen(self, block))
        self._set(block)

    def on_resize(self) -> None:
        """Lay out anew."""
        self._moved()

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Take all there is."""
        return container.width


def plain(rows: Sequence[tuple[Any, Line]]) -> list[str]:
    """Rows as text, for tests and for copying."""
    return ["".join(span.text for span in line) for _, line in rows]
