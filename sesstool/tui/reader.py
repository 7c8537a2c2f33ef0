"""A session on a screen: it is read in the background, followed as it grows, and moved in."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from textual import work
from textual.containers import Vertical
from textual.widget import Widget
from textual.worker import get_current_worker

from sesstool import api
from sesstool.api.viewing import View
from sesstool.errors import SesstoolError
from sesstool.findings import Finding, Severity
from sesstool.model.outline import Mark
from sesstool.model.query import Query
from sesstool.records.places import nearest
from sesstool.records.source import bare_path, is_transcript
from sesstool.report.amounts import count
from sesstool.tui.contents import BEHIND, Contents, Item, items
from sesstool.tui.dialogs import Ask
from sesstool.tui.frame import Frame
from sesstool.tui.lines import Prose, Table
from sesstool.tui.pace import paced
from sesstool.tui.scroller import Scroller
from sesstool.tui.talk import Shown, Talk

# Seconds between two looks at the file.
_POLL = 1.0
# Larger sessions are validated when that is asked for, and read anew less often while they grow.
SMALL = 32 << 20
_CALM = 5.0


T = TypeVar("T")


@dataclass(slots=True)
class Sought:
    """What is looked for: the offsets of the records that were found, in file order.

    `reached` is the offset of the last line looked at, `done` how much of the file that is, from 0
    to 1; `told` says that the person was told of what came out.
    """

    query: Query
    found: array[int] = field(default_factory=lambda: array("q"))
    reached: int = 0
    done: float = 0.0
    told: bool = False

    def again(self, view: View) -> Sought:
        """The same in another view: from the last line on, where the file has only grown."""
        if not view.longer:
            return Sought(self.query, told=True)
        kept = self.found[: bisect_left(self.found, self.reached)]
        return Sought(self.query, kept, self.reached, told=self.told)


class Reader(Frame):
    """What the conversation is but for its keys: the view, what is shown of it, and the cursor."""

    NAME = "Conversation"
    shown_pane = 2

    def __init__(self, view: View, line: int = 1) -> None:
        """Show a view, from a line on."""
        super().__init__()
        self.view = view
        self.shown = Shown()
        self.findings: Sequence[Finding] = ()
        self.search: Sought | None = None
        self.filter: Sought | None = None
        self._line = line
        self._done = 0.0
        self._rows: list[Item] = []
        self._starts: array[int] = array("q")
        self._title = ""
        self._leaf = -1
        self._read_at = 0.0
        self._lost = False

    # Frame

    def panes(self) -> Iterable[Widget]:
        """The places at the left, the talk at the right."""
        with Vertical(id="pane-1", classes="pane side"):
            yield Scroller(id="contents")
            yield Scroller(pick=False, id="legend")
        yield Scroller(id="pane-2").add_class("pane")

    @property
    def talk(self) -> Scroller:
        """The widget with the records."""
        return self.query_one("#pane-2", Scroller)

    @property
    def contents(self) -> Scroller:
        """The widget with the places."""
        return self.query_one("#contents", Scroller)

    def where(self) -> str:
        """See `Frame`."""
        return "  ".join(filter(None, (self.view.id[:8], self._title, "›", self._branch())))

    def _branch(self) -> str:
        return "main" if self._leaf < 0 else f"branch to line {self._leaf}"

    def place(self) -> str:
        """See `Frame`."""
        start, total = self.talk.cursor, self.view.places.total
        number = self.view.places.number(start) if start is not None else None
        parts = ["" if self.view.source.size else "an empty file"]
        parts.append(f"record {number:,}/{total:,}" if number and total > 0 else "")
        if self._done < 1:
            parts.append(f"reading {self._done:.0%}")
        if (search := self.search) is not None and search.done < 1:
            parts.append(f"searching {search.done:.0%}")
        elif search is not None:
            parts.append(f"{len(search.found):,} matching")
        if self.filter is not None:
            parts.append(f"filter: {len(self.filter.found):,}")
            parts.append(f"at {self.filter.done:.0%}" if self.filter.done < 1 else "")
        bad = sum(f.severity is not Severity.INFORMATION for f in self.findings)
        parts.append(count(bad, "finding") if bad else "")
        return "  ".join(filter(None, parts))

    def on_mount(self) -> None:
        """Show the head of the session at once, and read the rest behind it."""
        self.query_one("#pane-1").border_title = "Contents"
        self.query_one("#legend", Scroller).show(
            Prose(Contents(self.view, [], self.browser.signs).legend())
        )
        self._show(keep=False)
        self.talk.focus()
        self._begin()
        self.set_interval(_POLL, self._follow)
        super().on_mount()

    def on_unmount(self) -> None:
        """Close the file."""
        self.view.close()

    # What is shown

    def _show(self, *, keep: bool = True) -> None:
        talk = Talk(self.view, self.shown, self.browser.signs)
        self.talk.show(talk, keep=keep)
        if not self._title:
            self._title = self.view.title()
        self.refresh_frame()

    def _list(self) -> None:
        """Draw the list of places anew."""
        files = []
        if (session := self.view.session) is not None:
            try:
                found = sorted(session.format.parts(self.view.path))
                own = bare_path(self.view.path)
                files = [p for p in found if is_transcript(p) and p != own]
            except SesstoolError as error:
                self.browser.fail(error)
        self._rows = items(self.view, self.findings, files)
        inside = takewhile(lambda item: item.kind not in BEHIND, self._rows)
        self._starts = array("q", (item.start for item in inside))
        contents = Contents(self.view, self._rows, self.browser.signs)
        self.contents.show(Table(len(self._rows), contents.draw), keep=True)
        self._point()

    def _point(self) -> None:
        """Have the list point to where the talk is."""
        if not self._rows or self.talk.cursor is None or self.contents.has_focus:
            return
        self.contents.go(max(bisect_right(self._starts, self.talk.cursor) - 1, 0))

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Keep the first line and the list true."""
        if event.scroller is self.talk:
            self._point()
            self.refresh_frame()

    # Reading, in the background

    @work(thread=True, exclusive=True, group="read")
    def _begin(self) -> None:
        view, worker = self.view, get_current_worker()
        self._read_at = time.monotonic()
        done = self.unless_closed(view, view.read())
        for _ in paced(done, lambda share: self.tell(self._progress, view, min(share, 0.99))):
            pass
        if not worker.is_cancelled:
            self.tell(self._progress, view, 1.0)

    def unless_closed(self, view: View, what: Iterable[T]) -> Iterator[T]:
        """What a view yields, up to where another took its place, which closes its file."""
        try:
            yield from what
        except ValueError:
            if view is self.view and self.is_attached:
                raise

    def _progress(self, view: View, done: float) -> None:
        if view is not self.view:
            return
        self._done = done
        if done >= 1:
            self._follow_branch()
            self.talk.redraw()
            self._list()
            if self._line > 1:
                self._go_line(self._line)
                self._line = 1
            if view.source.size <= SMALL and view.session is not None:
                self._validate(view)
        self.refresh_frame()

    @work(thread=True, exclusive=True, group="validate")
    def _validate(self, view: View) -> None:
        try:
            report = api.validate(view.path, keys=self.browser.options.keys)
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
            return
        self.tell(self._validated, view, list(report.findings))

    def _validated(self, view: View, findings: list[Finding]) -> None:
        if view is self.view:
            self.findings = findings
            self._list()
            self.refresh_frame()

    def _follow(self) -> None:
        """Show what was written since."""
        if not self.is_current:
            return
        if self.view.source.size > SMALL and time.monotonic() - self._read_at < _CALM:
            return
        try:
            fresh = self.view.grown(self.browser.options.keys)
        except SesstoolError as error:
            if not self._lost:
                self.browser.fail(error)
            self._lost = True
            return
        self._lost = False
        if fresh is None:
            return
        at_end = self.talk.cursor == self.talk.blocks.last()
        old, self.view = self.view, fresh
        cursor = self.talk.cursor
        self._title, self._done = "", 0.0
        if not fresh.longer:
            self._forget()
        self.renewed()
        self._show(keep=fresh.longer)
        old.close()
        if at_end:
            self.talk.action_last()
        elif cursor is not None and not fresh.longer:
            self.go(cursor)
        self._begin()

    def _follow_branch(self) -> None:
        """Show what was added to the branch that is shown alone."""
        if self._leaf >= 0 and (only := self.shown.only):
            for leaf in self.view.leaves():
                way = self.view.way(leaf)
                if way is not None and only[-1] in way:
                    self._leaf, self.shown.only = leaf, way
                    return

    def _forget(self) -> None:
        """Forget the places in a file that is another one now."""
        self.shown.opened.clear()
        self.shown.marked.clear()
        self.shown.only, self._leaf = None, -1
        self.findings = ()

    def renewed(self) -> None:
        """What else is to be done where another view took the place of the one before."""

    # Moving

    def _jump(self, places: Sequence[int], step: int, what: str) -> None:
        cursor = self.talk.cursor
        found = None if cursor is None else nearest(places, cursor, step)
        if found is not None:
            self.go(found)
        elif self._done < 1:
            self.browser.say(f"still reading: no {what} found yet")
        else:
            self.browser.say(f"no {what} {'below' if step > 0 else 'above'}")

    def go(self, start: int) -> None:
        """Go to the record at an offset, or the next one that is shown."""
        talk = self.talk.blocks
        assert isinstance(talk, Talk)
        if (place := talk.at(start)) is not None:
            self.talk.go(place)

    def _marks(self, *marks: Mark) -> Sequence[int]:
        outline = self.view.outline
        if outline is None:
            return ()
        if len(marks) == 1:
            return outline.marks[marks[0]]
        return sorted(place for mark in marks for place in outline.marks[mark])

    def told(self) -> set[int]:
        """The offsets of the lines in which something is wrong."""
        found = [f.location.start for f in self.findings if f.severity is not Severity.INFORMATION]
        holding = self.view.places.holding
        return {holding(place + 1) for place in [*found, *self._marks("damage")]}

    def action_finding(self, step: int) -> None:
        """Go to the next thing that is wrong."""
        self._jump(sorted(self.told()), step, "finding")

    def action_prompt(self, step: int) -> None:
        """Go to the next prompt."""
        self._jump(self._marks("prompt"), step, "prompt")

    def action_call(self, step: int) -> None:
        """Go to the next tool call."""
        self._jump(self._marks("call"), step, "tool call")

    def action_turn(self, step: int) -> None:
        """Go to the next compaction or branch."""
        self._jump(self._marks("compaction", "branch"), step, "fork or compaction")

    def action_match(self, step: int) -> None:
        """Go to the next match."""
        if self.search is None:
            self.browser.say("nothing was searched for: / searches")
            return
        self._jump(self.search.found, step, "match")

    def action_mark(self) -> None:
        """Mark the record, or take its mark away."""
        if (start := self.talk.cursor) is not None:
            self.shown.marked ^= {start}
            self.talk.redraw()

    def action_marked(self, step: int) -> None:
        """Go to the next mark."""
        self._jump(sorted(self.shown.marked), step, "mark")

    def action_go_to(self) -> None:
        """Ask for a line, and go there."""
        self.app.push_screen(Ask("Go to line (a number, a per cent, or end):"), self._asked_line)

    def _asked_line(self, words: str | None) -> None:
        words = (words or "").strip()
        if words == "end":
            self.talk.action_last()
        elif words.endswith("%") and words[:-1].isdecimal():
            self.go(self.view.source.size * min(int(words[:-1]), 100) // 100)
        elif words.isdecimal():
            self._go_line(int(words))
        elif words:
            self.browser.say("write a number, a per cent such as 50%, or end", bad=True)

    def _go_line(self, number: int) -> None:
        start = self.view.places.numbered(number)
        if start is None:
            total = self.view.places.total
            told = f"there are {total:,} lines" if total >= 0 else "still counting the lines"
            self.browser.say(told)
        else:
            self.go(start)
