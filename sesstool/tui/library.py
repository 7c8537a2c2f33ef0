"""The library: which sessions there are, and what is known of each at a glance."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from sesstool.api.diffing import Name
from sesstool.api.listing import Glances, sessions
from sesstool.errors import SesstoolError
from sesstool.library import arrange
from sesstool.library.arrange import Groups, Query, Row
from sesstool.library.discover import Item
from sesstool.text import safe
from sesstool.tui.app import Options
from sesstool.tui.conversation import open_session
from sesstool.tui.dialogs import Ask
from sesstool.tui.frame import Frame
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Prose, Span, Table, column
from sesstool.tui.scroller import Scroller
from sesstool.tui.shelf import Group, columns, details, drawn, groups, parsed

# Rows whose files are looked at with those that are seen, and seconds between two looks.
_NEAR = 8
_POLL = 0.1
_TELL = 0.25
# So many of the newest sessions are looked at though nobody scrolls to them.
_MOST = 2000
_MANY = 20_000


class Library(Frame):
    """All sessions of this computer's agents, or those below some folders."""

    NAME = "Library"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "open", "open", "library.open", show=True),
        key("space", "mark", "mark", "library.mark", show=True),
        key("slash", "search", "search", "library.search", show=True),
        *pair("N", "n", "match", "match", "library.match"),
        key("f", "filter", "filter", "library.filter", show=True),
        key("s", "sort", "sort", "library.sort", show=True),
        key("v", "validate", "validate", "library.validate", show=True),
        key("r", "repair", "repair", "library.repair", show=True),
        key("x", "redact", "redact", "library.redact", show=True),
        key("d", "diff", "diff marked", "library.diff", show=True),
        key("P", "prune", "what retention would do", "library.prune"),
        key("a", "parts", "subagents too", "library.parts"),
        key("y", "copy", "copy the path", "library.copy"),
        key("ctrl+r", "reload", "look again", "library.reload"),
    ]
    shown_pane = 2

    def __init__(self, names: Sequence[str], options: Options) -> None:
        """List the sessions that some names mean, by default those of all agents."""
        super().__init__()
        self._names = names
        self._clock = options.now or (lambda: datetime.now(UTC))
        self.glances = Glances(options.keys)
        self._items: list[Item] = []
        self._family: set[Item] = set()
        self._rows: list[Item] = []
        self._groups: list[Group] = [Group("All sessions")]
        self._group = Query()
        self._query = Query()
        self._text = ""
        self._order = "newest"
        self._parts = False
        self._marked: dict[Item, None] = {}
        self._listing = True
        self._wanted: tuple[Item, ...] = ()
        self._touched = False
        self._asked = self._arranging = False

    # Frame

    def panes(self) -> Iterable[Widget]:
        """Groups at the left, sessions at the right, one of them closely below."""
        yield Scroller(id="pane-1").add_class("pane", "side")
        with Vertical(id="right"):
            with Vertical(id="pane-2", classes="pane"):
                yield Static(id="columns")
                yield Scroller(id="listed")
            yield Scroller(pick=False, id="pane-3").add_class("pane", "details")

    @property
    def listed(self) -> Scroller:
        """The widget with the sessions."""
        return self.query_one("#listed", Scroller)

    def where(self) -> str:
        """See `Frame`."""
        return ", ".join(self._names) or "all agents"

    def place(self) -> str:
        """See `Frame`."""
        if self._listing:
            return f"{len(self._items):,} found so far"
        needing = sum(self._seen.attention.values())
        marked = f"{len(self._marked)} marked" if self._marked else ""
        told = f"{needing} need attention" if needing else ""
        return "  ".join(filter(None, (marked, told)))

    def on_mount(self) -> None:
        """Begin to list."""
        self._seen = arrange.grouped(())
        self.query_one("#pane-1").border_title = "Library"
        self.query_one("#pane-3").border_title = "Details"
        self._show_groups()
        self.listed.focus()
        self._list_all()
        self.set_interval(_POLL, self._look)
        super().on_mount()

    # Listing and looking, in the background

    @work(thread=True, exclusive=True, group="list")
    def _list_all(self) -> None:
        found: list[Item] = []
        told = time.monotonic()
        try:
            for item in sessions(self._names):
                found.append(item)
                # Told a few times only: to arrange them takes as long as to find them.
                if time.monotonic() - told > _TELL and len(found) > 2 * len(self._items):
                    told = time.monotonic()
                    if get_current_worker().is_cancelled:
                        return
                    self.tell(self._found, list(found), done=False)
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
        self.tell(self._found, found, done=True)

    def _found(self, items: list[Item], *, done: bool) -> None:
        self._items = items
        self._listing = not done
        self._arrange()

    def _arrange(self) -> None:
        """Make the list anew, once more where that is asked for while it is made."""
        self._asked = True
        if not self._arranging:
            self._arranging = True
            self._arrange_all()

    def _row(self, item: Item) -> Row:
        return item, self.glances.known(item)

    @work(thread=True, group="arrange")
    def _arrange_all(self) -> None:
        """What is meant, in its order; and the groups, with their counts."""
        while self._asked and not get_current_worker().is_cancelled:
            self._asked = False
            rows = [self._row(item) for item in self._items]
            family = arrange.families(rows)
            shown = rows if self._parts else [*family.sessions, *family.loose]
            meant = [row for row in shown if self._group.fits(row) and self._query.fits(row)]
            listed = [item for item, _ in arrange.ordered(meant, self._order)]
            seen = arrange.grouped(family.sessions)
            self.tell(self._arranged, listed, seen)
        self.tell(self._rested)

    def _rested(self) -> None:
        self._arranging = False
        if self._asked:
            self._arrange()

    def _arranged(self, listed: list[Item], seen: Groups) -> None:
        cursor = self._current() if self._touched else None
        self._rows, self._seen = listed, seen
        self._show_groups()
        self.listed.show(Table(len(listed), self._draw), keep=cursor is not None)
        if cursor is not None and cursor in listed:
            self.listed.go(listed.index(cursor))
        elif cursor is not None:
            self.listed.action_first()
        self._show_details()
        self.refresh_frame()

    def _current(self) -> Item | None:
        at = self.listed.cursor
        return self._rows[at] if at is not None and 0 <= at < len(self._rows) else None

    def _look(self) -> None:
        """Have the sessions that are seen, and some near them, looked at."""
        if not self.is_current or not self._rows:
            return
        seen = sorted({block for block, _ in self.listed.rows()})
        if not seen:
            return
        near = range(seen[0], min(seen[-1] + 1 + _NEAR, len(self._rows)))
        wanted = tuple(self._rows[n] for n in near)
        unseen = [item for item in wanted if self.glances.known(item) is None]
        if unseen and wanted != self._wanted:
            self._wanted = wanted
            self._glance(unseen)
        elif not any(worker.group == "glance" for worker in self.workers) and (
            rest := self._rest()
        ):
            self._glance(rest)

    @work(thread=True, exclusive=True, group="glance")
    def _glance(self, items: list[Item]) -> None:
        worker = get_current_worker()
        for start in range(0, len(items), _NEAR):
            if worker.is_cancelled:
                return
            self.glances.page(items[start : start + _NEAR])
            self.tell(self._glanced)
        if len(items) <= _NEAR and len(self._items) > _MANY:
            return  # to count takes longer than it tells
        seen = arrange.grouped(arrange.families(map(self._row, self._items)).sessions)
        self.tell(self._grouped, seen)

    def _glanced(self) -> None:
        self.listed.redraw()
        self._show_details()

    def _grouped(self, seen: Groups) -> None:
        self._seen = seen
        self._show_groups()
        self.refresh_frame()

    def _rest(self) -> list[Item]:
        """The newest sessions at which nobody has looked yet, a handful."""
        newest = itertools.islice(self._rows, _MOST)
        return list(itertools.islice((i for i in newest if not self.glances.known(i)), 4 * _NEAR))

    # Drawing

    def _draw(self, number: int, cells: int) -> Line:
        item = self._rows[number]
        row = item, self.glances.known(item)
        return drawn(row, cells, self._clock(), self.browser.signs, marked=item in self._marked)

    def _show_groups(self) -> None:
        side = self.query_one("#pane-1", Scroller)
        was = self._groups[side.cursor].place if side.cursor is not None else None
        self._groups = list(groups(self._seen))
        side.show(Table(len(self._groups), self._draw_group), keep=True)
        # What stands above may be new: the cursor stays on its group, not on its row.
        side.go(next((n for n, group in enumerate(self._groups) if group.place == was), 0))
        if (means := self._groups[side.cursor].query) != self._group:
            self._group = means
            self._arrange()
        shown = f"{len(self._rows):,}"
        words = " ".join(filter(None, (self._text,)))
        pane = self.query_one("#pane-2")
        pane.border_title = self.browser.signs(f"{shown} sessions · {self._order} first")
        heads = columns(
            ("STATE", ""),
            ("STARTED", ""),
            ("RECORDS", ""),
            ("SIZE", ""),
            ("AGENT", ""),
            cells=self.listed.size.width - 3,
        )
        line = "   " + "".join(span.text for span in heads) + "TITLE"
        self.query_one("#columns", Static).update(Content(line))
        pane.border_subtitle = safe(f"filter: {words}") if words else ""

    def _draw_group(self, number: int, cells: int) -> Line:
        group = self._groups[number]
        count = f"{group.total:,}" if group.total >= 0 else ""
        room = max(cells - len(count), 1)
        title = column("  " * group.depth + safe(group.title), room)
        return [Span(title, "strong" if not group.depth else ""), Span(count, "dim")]

    def _show_details(self) -> None:
        item = self._current()
        lines = [] if item is None else list(details(item, self.glances))
        self.query_one("#pane-3", Scroller).show(Prose(lines))

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Show what the cursor is on."""
        if event.scroller is self.listed:
            self._touched = self._touched or bool(event.block)
            self._show_details()
            self.refresh_frame()
        elif event.scroller.id == "pane-1" and event.block is not None:
            self._group = self._groups[event.block].query
            self._arrange()

    def on_scroller_chosen(self, event: Scroller.Chosen) -> None:
        """Open what is clicked twice."""
        if event.scroller is self.listed:
            self.action_open()

    # Keys

    def action_open(self) -> None:
        """Open the session, or go to the sessions of the group."""
        if self.focused_pane() == 1:
            self.action_pane(2)
        elif (path := self._sound()) is not None:
            open_session(self, path)

    def action_mark(self) -> None:
        """Mark the session, or take its mark away."""
        if (item := self._current()) is not None:
            if item in self._marked:
                del self._marked[item]
            else:
                self._marked[item] = None
            self.listed.redraw()
            self.listed.action_down()
            self.refresh_frame()

    def action_repair(self) -> None:
        """Preview a repair of the session."""
        from sesstool.tui.repairing import Repairing  # noqa: PLC0415 - few look at it

        if (path := self._sound()) is not None:
            self.app.push_screen(Repairing(path))

    def action_redact(self) -> None:
        """Review a redaction of the session."""
        from sesstool.tui.redacting import Redacting  # noqa: PLC0415 - few look at it

        if (path := self._sound()) is not None:
            self.app.push_screen(Redacting(path))

    def action_diff(self) -> None:
        """Compare the two sessions that are marked."""
        from sesstool.tui.diffing import Diffing  # noqa: PLC0415 - few look at it

        if len(self._marked) != 2:
            self.browser.say("mark two sessions with space, then d compares them")
            return
        left, right = self.marked
        self.app.push_screen(Diffing(Name(left), Name(right)))

    def action_prune(self) -> None:
        """Preview what the retention policy does with all sessions that are listed here."""
        from sesstool.tui.retaining import Retaining  # noqa: PLC0415 - few look at it

        paths = [Path(name) for name in self._names]
        self.app.push_screen(Retaining(paths, self.browser.options.policy))

    def _sound(self) -> Path | None:
        """The path of the session under the cursor; one that cannot be read is told."""
        item = self._current()
        if item is not None and item.trouble:
            self.browser.say(item.trouble, bad=True)
        return item.path if item is not None and not item.trouble else None

    @property
    def marked(self) -> list[Path]:
        """The paths of the sessions that are marked, in the order of their marks."""
        return [item.path for item in self._marked]

    def action_search(self) -> None:
        """Ask for words in titles, paths and ids."""
        self.app.push_screen(Ask("Search titles, paths and ids:"), self._asked_search)

    def _asked_search(self, words: str | None) -> None:
        if words:
            self._found_text = words
            self.action_match(1, here=True)

    _found_text = ""

    def action_match(self, step: int, *, here: bool = False) -> None:
        """Go to the next session that was searched for."""
        if not self._found_text:
            self.browser.say("nothing was searched for: / searches")
            return
        query = Query(text=self._found_text)
        at = self.listed.cursor or 0
        order = range(at + (0 if here else step), len(self._rows) if step > 0 else -1, step)
        found = next((n for n in order if query.fits(self._row(self._rows[n]))), None)
        if found is None:
            self.browser.say("no match " + ("below" if step > 0 else "above"))
        else:
            self.listed.go(found)

    def action_filter(self) -> None:
        """Ask for what is to be listed."""
        question = "List only (agent:codex state:damaged since:2026-03-01 words; nothing: all):"
        self.app.push_screen(Ask(question, value=self._text), self._asked_filter)

    def _asked_filter(self, words: str | None) -> None:
        if words is None:
            return
        try:
            self._query = parsed(words)
        except ValueError as error:
            self.browser.say(str(error), bad=True)
            return
        self._text = words
        self._arrange()

    def action_sort(self) -> None:
        """Sort in the next order."""
        orders = list(arrange.ORDERS)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self._arrange()
        self.browser.say(f"sorted: {self._order} first")

    def action_parts(self) -> None:
        """List subagents and other parts of sessions too, or not."""
        self._parts = not self._parts
        self._arrange()

    def action_validate(self) -> None:
        """Have all rules look at the session."""
        if (item := self._current()) is not None and not item.trouble:
            self.browser.say("validating")
            self._examine(item)

    @work(thread=True, group="examine")
    def _examine(self, item: Item) -> None:
        self.glances.examine(item)
        self.tell(self._glanced)

    def action_copy(self) -> None:
        """Copy the path of the session."""
        if (item := self._current()) is not None:
            self.browser.copy(str(item.path), "the path")

    def action_reload(self) -> None:
        """List anew."""
        self._listing = True
        self._wanted = ()
        self.glances = Glances(self.browser.options.keys)
        self._list_all()


def screen(paths: Sequence[Path], options: Options) -> Library:
    """The library of some paths, by default of all agents."""
    return Library([str(path) for path in paths], options)
