"""The inspector: one tool call with its result, its state and why, and the record as it is."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.worker import get_current_worker

from sesstool.api import inspecting
from sesstool.api.inspecting import Inspection, Like, Spot
from sesstool.api.viewing import View
from sesstool.errors import SesstoolError
from sesstool.findings import Finding
from sesstool.text import safe
from sesstool.tui.facts import Facts, facts, findings_told, lasted
from sesstool.tui.frame import Frame
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Prose, Span, Table, column, spread
from sesstool.tui.raw import Raw, copy_line, raw_of
from sesstool.tui.scroller import Scroller
from sesstool.tui.signs import STATES

# So many calls of the same tool are listed.
_LIKES = 100
# Seconds of work in the background between two rests.
_SLICE, _REST = 0.004, 0.002


class Inspector(Frame):
    """One passage of a record: a call, a result, or whatever the record is."""

    NAME = "Inspector"
    BINDINGS: ClassVar[list[BindingType]] = [
        *pair("(", ")", "call", "tool call", "inspect.call", show=True),
        key("enter", "other", "result or call", "inspect.other", show=True),
        key("space", "whole", "whole or folded", "inspect.whole", show=True),
        key("c", "show", "in the conversation", "inspect.show", show=True),
        key("y", "copy", "copy the pane", "inspect.copy", show=True),
        key("Y", "copy_raw", "copy the raw line", "inspect.copy-raw", show=True),
    ]

    def __init__(
        self, view: View, start: int, pointer: str = "", findings: Sequence[Finding] = ()
    ) -> None:
        """Show the passage at a pointer of the record at an offset; "" is its first call."""
        super().__init__()
        self.view = view
        self.findings = findings
        self.seen: Inspection | None = None
        self._aim = (start, pointer)
        self._opened = False
        self._position = (0, 0)
        self._likes: list[Like] = []

    # Frame

    def panes(self) -> Iterable[Widget]:
        """The call and the raw record above, its like and the findings below."""
        with Vertical(id="rows"):
            with Horizontal(id="upper"):
                yield Scroller(pick=False, id="pane-1").add_class("pane")
                yield Scroller(pick=False, id="pane-2").add_class("pane")
            with Horizontal(id="lower"):
                yield Scroller(id="pane-3").add_class("pane")
                yield Scroller(pick=False, id="pane-4").add_class("pane")

    def where(self) -> str:
        """See `Frame`."""
        parts = [self.view.id[:8]]
        if (seen := self.seen) is not None:
            parts.append(f"record {seen.spot.line or '·'}")
            passage = seen.passage
            what = "tool call" if passage and passage.kind == "call" else "tool result"
            asked = seen.asked
            if asked is not None:
                parts.append(f"{what} {asked.name}")
        return "  ›  ".join(parts)

    def place(self) -> str:
        """See `Frame`."""
        at, total = self._position
        return f"call {at:,}/{total:,}" if at else ""

    def pane(self, number: int) -> Scroller:
        """One of the four panes."""
        return self.query_one(f"#pane-{number}", Scroller)

    def on_mount(self) -> None:
        """Show the record."""
        self.pane(3).border_title = "Same tool in this session"
        self.pane(4).border_title = "Findings"
        self._look()
        self.pane(1).focus()
        super().on_mount()

    def refresh_frame(self) -> None:
        """Give the row of panes that is not seen no room."""
        super().refresh_frame()
        for name in ("#upper", "#lower"):
            row = self.query_one(name)
            row.set_class(all(pane.has_class("-away") for pane in row.children), "-away")

    # What is shown

    @work(thread=True, exclusive=True, group="look")
    def _look(self) -> None:
        worker = get_current_worker()
        try:
            seen = inspecting.inspect(self.view, *self._aim)
            raw = raw_of(self.view, seen.spot.start, seen.spot.pointer)
            position = inspecting.position(self.view, seen.call)
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
            return
        if worker.is_cancelled:
            return
        self.tell(self._looked, seen, raw, position)
        if seen.asked is None or seen.call is None:
            return
        likes: list[Like] = []
        until = time.monotonic() + _SLICE
        for like in inspecting.alike(self.view, seen.call.start, seen.asked.name):
            if time.monotonic() > until:
                if worker.is_cancelled:
                    return
                time.sleep(_REST)
                until = time.monotonic() + _SLICE
            if like is not None:
                likes.append(like)
        likes = nearest_likes(likes, seen.call)
        if not worker.is_cancelled:
            self.tell(self._listed, likes)

    def _looked(self, seen: Inspection, raw: Raw, position: tuple[int, int]) -> None:
        self.seen = seen
        self._position = position
        self._likes = []
        self._opened = False
        title = "Call" if seen.asked else "Record"
        self.pane(1).border_title = title
        line = f"{seen.spot.line:,}" if seen.spot.line else "·"
        self.pane(2).border_title = f"Raw record, line {line}"
        self.pane(2).border_subtitle = f"{raw.size:,} bytes"
        self._fill()
        raw.signs = self.browser.signs
        self.pane(2).show(raw)
        for end in reversed(raw.meant):  # as much of it as there is room for, its first line surely
            self.pane(2).go(end)
        found = inspecting.at_record(self.view, seen.spot.start, self.findings)
        self.pane(4).show(Prose(list(findings_told(found))))
        self.pane(3).show(Prose(["reading"] if seen.asked else ["no tool call"]))
        self.refresh_frame()

    def _fill(self) -> None:
        if self.seen is not None:
            told = list(facts(self.seen, self.browser.signs, opened=self._opened))
            self.pane(1).show(Facts(told), keep=True)

    def _listed(self, likes: list[Like]) -> None:
        self._likes = likes
        seen = self.seen
        at = [n for n, like in enumerate(likes) if seen and like.spot == seen.call]
        self.pane(3).show(Table(len(likes), self._row), at[0] if at else None)

    def _row(self, number: int, cells: int) -> Line:
        like = self._likes[number]
        sign = self.browser.signs(STATES.get(like.state, "?") if like.state else " ")
        style = {"completed": "good", "failed": "bad"}.get(like.state, "warn")
        left = [
            Span(column(like.time[11:19], 8) + "  ", "dim"),
            Span(column(f"{like.spot.line or '·'}", 6, right=True) + "  ", "dim"),
            Span(safe(like.words)),
        ]
        right = [Span(f" {sign} ", style), Span(column(lasted(like.seconds), 9, right=True), "dim")]
        return spread(left, right, cells)

    # Moving

    def _go(self, start: int, pointer: str) -> None:
        self._aim = (start, pointer)
        self._look()

    def action_call(self, step: int) -> None:
        """Go to the next tool call."""
        found = inspecting.step(self.view, *self._here(), step)
        if found is None:
            self.browser.say(f"no tool call {'below' if step > 0 else 'above'}")
        else:
            self._go(found.start, found.pointer)

    def _here(self) -> tuple[int, str]:
        return self.seen.spot[0::2] if self.seen else self._aim

    def action_other(self) -> None:
        """Go from the call to its result, or back; in the list to the call under the cursor."""
        listed, seen = self.pane(3), self.seen
        if listed.has_focus and self._likes and listed.cursor is not None:
            spot = self._likes[listed.cursor].spot
            self._go(spot.start, spot.pointer)
            return
        if seen is None or seen.passage is None or seen.passage.kind not in ("call", "result"):
            self.browser.say("this record is no tool call and no result")
            return
        is_call = seen.passage.kind == "call"
        other: Spot | None = seen.result if is_call else seen.call
        if other is None:
            self.browser.say("there is no result" if is_call else "there is no call")
        else:
            self._go(other.start, other.pointer)

    def action_whole(self) -> None:
        """Show long texts whole, or folded."""
        raw = self.pane(2).blocks
        if self.pane(2).has_focus and isinstance(raw, Raw):
            raw.opened = not raw.opened
            self.pane(2).redraw()
        else:
            self._opened = not self._opened
            self._fill()

    def action_show(self) -> None:
        """Show the record in the conversation."""
        from sesstool.tui.conversation import Conversation  # noqa: PLC0415 - it opens this screen

        start, below = self._here()[0], self.app.screen_stack[-2]
        if isinstance(below, Conversation):
            self.app.pop_screen()
            below.go(start)
            below.action_pane(2)
        else:
            from sesstool.tui.conversation import open_session  # noqa: PLC0415 - likewise

            open_session(self, self.view.path, self.view.places.number(start) or 1)

    # Copying

    def action_copy(self) -> None:
        """Copy what the pane with the focus says."""
        number = self.focused_pane() or 1
        if number == 2:
            self.action_copy_raw()
        else:
            text = self._facts() if number == 1 else "\n".join(self._said(number))
            self.browser.copy(text, "the pane")

    def _facts(self) -> str:
        return Facts(list(facts(self.seen, str, opened=True))).plain() if self.seen else ""

    def _said(self, number: int) -> Iterator[str]:
        blocks = self.pane(number).blocks
        block = blocks.first()
        while block is not None:
            yield from ("".join(s.text for s in line) for line in blocks.draw(block, 200))
            block = blocks.after(block)

    def action_copy_raw(self) -> None:
        """Copy the record's line as it is in the file."""
        copy_line(self.browser, self.view, self._here()[0])


def nearest_likes(likes: list[Like], call: Spot) -> list[Like]:
    """The calls nearest to one, at most `_LIKES`, in the order of the file."""
    likes = sorted(likes, key=lambda like: abs(like.spot.start - call.start))[:_LIKES]
    return sorted(likes, key=lambda like: (like.spot.start, like.spot.pointer))
