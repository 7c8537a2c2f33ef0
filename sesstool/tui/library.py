"""The library: which sessions there are, and what is known of each at a glance."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import work
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from sesstool.api.listing import Glances, sessions
from sesstool.errors import SesstoolError
from sesstool.library import arrange
from sesstool.library.arrange import Groups, Query, Row
from sesstool.library.discover import Item
from sesstool.library.glance import STATES, Glance
from sesstool.text import safe
from sesstool.tui.app import Options
from sesstool.tui.conversation import open_session
from sesstool.tui.dialogs import Ask
from sesstool.tui.frame import Frame
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Prose, Span, Table, column
from sesstool.tui.scroller import Scroller

# Rows whose files are looked at with those that are seen, and seconds between two looks.
_NEAR = 8
_POLL = 0.1
_TELL = 0.25
_ROOMY = 80
# So many of the newest sessions are looked at though nobody scrolls to them.
_MOST = 2000
_MANY = 20_000
_STYLES = {
    "ok": "good",
    "in use": "strong",
    "encrypted": "dim",
    "unknown": "dim",
    "empty": "dim",
    "repairable": "warn",
    "damaged": "bad",
    "unreadable": "bad",
}


class Group(NamedTuple):
    """A row of the left pane: what it is called, which sessions it means, how many these are."""

    title: str
    query: Query = Query()
    total: int = -1
    depth: int = 0


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
                    self.app.call_from_thread(self._found, list(found), done=False)
        except SesstoolError as error:
            self.app.call_from_thread(self.browser.fail, error)
        self.app.call_from_thread(self._found, found, done=True)

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
            self.app.call_from_thread(self._arranged, listed, seen)
        self.app.call_from_thread(self._rested)

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
            self.app.call_from_thread(self._glanced)
        if len(items) <= _NEAR and len(self._items) > _MANY:
            return  # to count takes longer than it tells
        seen = arrange.grouped(arrange.families(map(self._row, self._items)).sessions)
        self.app.call_from_thread(self._grouped, seen)

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
        glance = self.glances.known(item)
        state = arrange.state_of((item, glance))
        mark = "*" if item in self._marked else " "
        about = "" if glance is None or glance.exact or glance.records < 0 else "~"
        fork = "↳ " if glance and glance.origin else ""
        part = "  " if item.is_part else ""
        title = glance.title if glance and glance.title else safe(item.name)
        return [
            Span(mark, "strong"),
            *_columns(
                (state or "…", _STYLES.get(state, "dim")),
                (_moment(glance.started if glance else None, item, self._clock()), "dim"),
                (about + f"{glance.records:,}" if glance and glance.records >= 0 else "–", ""),
                (_size(item.size), ""),
                (safe(arrange.agent_of((item, glance))), "dim"),
                cells=cells,
            ),
            Span(self.browser.signs(part + fork)),
            Span(title),
        ]

    def _show_groups(self) -> None:
        self._groups = list(_groups(self._seen))
        titles: Table[int] = Table(len(self._groups), self._draw_group)
        self.query_one("#pane-1", Scroller).show(titles, keep=True)
        shown = f"{len(self._rows):,}"
        words = " ".join(filter(None, (self._text,)))
        pane = self.query_one("#pane-2")
        pane.border_title = self.browser.signs(f"{shown} sessions · {self._order} first")
        heads = _columns(
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
        lines = [] if item is None else list(_details(item, self.glances))
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
        elif (item := self._current()) is not None:
            if item.trouble:
                self.browser.say(item.trouble, bad=True)
            else:
                open_session(self, item.path)

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
            self._query = _parsed(words)
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
        self.app.call_from_thread(self._glanced)

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


def _columns(
    state: tuple[str, str],
    when: tuple[str, str],
    records: tuple[str, str],
    size: tuple[str, str],
    agent: tuple[str, str],
    *,
    cells: int,
) -> Iterator[Span]:
    """The columns before the title; where there is little room, fewer."""
    yield Span(column(state[0], 11), state[1])
    yield Span(column(when[0], 13), when[1])
    if cells >= _ROOMY:
        yield Span(column(records[0], 8, right=True), records[1])
    yield Span(column(size[0], 10, right=True) + "  ", size[1])
    if cells >= _ROOMY:
        yield Span(column(agent[0], 12) + " ", agent[1])


def _groups(seen: Groups) -> Iterator[Group]:
    """The rows of the left pane."""
    total = sum(sum(projects.values()) for projects in seen.agents.values())
    yield Group("All sessions", Query(), total)
    for agent, projects in sorted(seen.agents.items()):
        yield Group(
            agent or "other places", Query(agents=frozenset({agent})), sum(projects.values()), 1
        )
        for project, count in sorted(projects.items(), key=lambda pair: (-pair[1], pair[0])):
            if project:
                name = Path(seen.names.get(project, project)).name or project
                agents, only = frozenset({agent}), frozenset({project})
                yield Group(name, Query(agents=agents, projects=only), count, 2)
    if seen.attention:
        yield Group("Needs attention", Query(states=frozenset(seen.attention)))
        for state, count in seen.attention.items():
            yield Group(state, Query(states=frozenset({state})), count, 1)
    if seen.encrypted:
        yield Group("Protection")
        yield Group("encrypted", Query(states=frozenset({"encrypted"})), seen.encrypted, 1)


def _parsed(words: str) -> Query:
    """What a filter means. Raises ValueError in words for a person."""
    agents, states, text, since = set(), set(), [], None
    for word in words.split():
        name, colon, value = word.partition(":")
        if colon and name == "agent":
            agents |= set(value.split(","))
        elif colon and name == "state":
            states |= set(value.replace("-", " ").split(","))
        elif colon and name == "since":
            try:
                since = datetime.fromisoformat(value).astimezone(UTC)
            except ValueError as error:
                raise ValueError("since: takes a date such as 2026-03-01") from error
        else:
            text.append(word)
    if unknown := states - set(STATES):
        raise ValueError(f"state: takes one of {', '.join(STATES)}, not {min(unknown)}")
    return Query(frozenset(agents), states=frozenset(states), text=" ".join(text), since=since)


def _moment(started: datetime | None, item: Item, now: datetime) -> str:
    """When a session began, else when it was last written, as people say it."""
    when = started or datetime.fromtimestamp(item.mtime / 1e9, UTC)
    age = now.date() - when.date()
    if not age:
        return f"today {when:%H:%M}"
    if timedelta(0) < age < timedelta(7):
        return f"{when:%a %H:%M}"
    return f"{when:%b %d %H:%M}" if when.year == now.year else f"{when:%Y-%m-%d}"


def _size(size: float) -> str:
    """Bytes for people."""
    if size < 1000:
        return f"{size:.0f} B"
    for unit in ("KB", "MB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"


def _details(item: Item, glances: Glances) -> Iterator[Line | Span | str]:
    """What is known of a session, line by line."""
    glance = glances.known(item) or Glance(arrange.state_of((item, None)))
    yield Span(f"{safe(glance.id or item.id)}  {safe(str(item.path))}")
    yield Span(f"{'state':11}{glance.state or 'not looked at yet'}  {safe(glance.why)}")
    sure = f", {glance.score} % sure" if glance.score else ""
    form = safe(glance.format or item.format or "unknown")
    ends = f"ends with {_ARTICLES[glance.ends]}" if glance.ends in _ARTICLES else ""
    yield Span(f"{'format':11}{form}{sure}   {ends}{', torn' if glance.torn else ''}")
    if glance.started or glance.last:
        span = [f"{when:%Y-%m-%d %H:%M}" if when else "?" for when in (glance.started, glance.last)]
        yield Span(f"{'span':11}{span[0]} to {span[1]} UTC")
    if glance.cwd or item.project:
        yield Span(f"{'project':11}{safe(glance.cwd or item.project)}")
    if glance.model:
        yield Span(f"{'model':11}{safe(glance.model)}")
    if glance.origin:
        yield Span(f"{'fork of':11}{safe(glance.origin.session)}")
    examined = glances.examined(item)
    if examined is None:
        yield Span(f"{'findings':11}not validated (v validates)", "dim")
    else:
        counts = f"{examined.errors} errors, {examined.warnings} warnings"
        yield Span(f"{'findings':11}{counts}, {examined.safe} safe fixes: {safe(examined.why)}")


_ARTICLES = {
    "answer": "an answer",
    "prompt": "a prompt",
    "call": "a call without result",
    "question": "a question to a person",
    "result": "a tool result",
    "compaction": "a compaction",
}


def screen(paths: Sequence[Path], options: Options) -> Library:
    """The library of some paths, by default of all agents."""
    return Library([str(path) for path in paths], options)
