"""The conversation: a session from its first record to its last, with its places at the side."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.worker import get_current_worker

from sesstool import api
from sesstool.api import diffing
from sesstool.api.diffing import Pair
from sesstool.api.replaying import Wish
from sesstool.api.sealing import facts_of
from sesstool.api.viewing import View, open_view
from sesstool.errors import NoMatchError, SesstoolError, UsageError
from sesstool.findings import Finding, Severity
from sesstool.model import query
from sesstool.model.outline import Mark
from sesstool.model.query import Query
from sesstool.records.places import nearest
from sesstool.report.base import count
from sesstool.tui.app import Options
from sesstool.tui.contents import Contents, Item, items
from sesstool.tui.dialogs import Ask
from sesstool.tui.diffing import choose_diff
from sesstool.tui.frame import Frame
from sesstool.tui.inspecting import Inspector
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Prose, Table
from sesstool.tui.raw import copy_line
from sesstool.tui.scroller import Scroller
from sesstool.tui.talk import Shown, Talk

# Seconds between two looks at the file, and of work in the background between two rests.
_POLL = 1.0
_SLICE, _REST = 0.004, 0.002
# Larger sessions are validated when that is asked for, and read anew less often while they grow.
_SMALL = 32 << 20
_CALM = 5.0


class Conversation(Frame):
    """One session."""

    NAME = "Conversation"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "open", "inspect", "talk.open", show=True),
        *pair("[", "]", "finding", "finding", "talk.finding", show=True),
        *pair("{", "}", "prompt", "prompt", "talk.prompt", show=True),
        *pair("(", ")", "call", "tool call", "talk.call", show=False),
        *pair(
            "<",
            ">",
            "turn",
            "fork, compaction",
            "talk.turn",
            show=False,
        ),
        key("slash", "search", "search", "talk.search", show=True),
        *pair("N", "n", "match", "match", "talk.match"),
        key("f", "filter", "filter", "talk.filter", show=True),
        key("t", "switch('thinking')", "thinking", "talk.thinking", show=True),
        key("o", "switch('output')", "tool output", "talk.output", show=True),
        key("a", "switch('notes')", "records that are not sent", "talk.notes"),
        key("w", "switch('wrap')", "wrap long lines", "talk.wrap"),
        key("space", "whole", "the record whole, or folded", "talk.whole"),
        key("colon", "go_to", "go to a line", "talk.go-to"),
        key("d", "diff", "diff with a fork", "talk.diff", show=True),
        key("m", "mark", "mark", "talk.mark"),
        *pair('"', "'", "marked", "mark", "talk.marked"),
        key("b", "branch", "the next branch", "talk.branch"),
        key("v", "validate", "validate", "talk.validate"),
        key("r", "repair", "repair: a preview", "talk.repair"),
        key("x", "redact", "redact: a review", "talk.redact"),
        key("p", "replay", "replay from here", "talk.replay"),
        key("y", "copy", "copy the text", "talk.copy", show=True),
        key("Y", "copy_raw", "copy the raw line", "talk.copy-raw"),
        key("ctrl+r", "reload", "reload from disk", "talk.reload"),
    ]
    shown_pane = 2

    def __init__(self, view: View, line: int = 1) -> None:
        """Show a view, from a line on."""
        super().__init__()
        self.view = view
        self.shown = Shown()
        self.findings: Sequence[Finding] = ()
        self.matches: array[int] = array("q")
        self._line = line
        self._done = 0.0
        self._searched = 1.0
        self._rows: list[Item] = []
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
        return f"{self.view.id[:8]}  {self._title}  ›  {self._branch()}"

    def _branch(self) -> str:
        return "main" if self._leaf < 0 else f"branch to line {self._leaf}"

    def place(self) -> str:
        """See `Frame`."""
        start, total = self.talk.cursor, self.view.places.total
        number = self.view.places.number(start) if start is not None else None
        parts = [f"record {number or '·':,}/{total:,}" if number and total > 0 else ""]
        if self._done < 1:
            parts.append(f"reading {self._done:.0%}")
        if self._searched < 1:
            parts.append(f"searching {self._searched:.0%}")
        elif self.shown.text:
            parts.append(f"{len(self.matches):,} matching")
        if self.shown.only is not None and self._leaf < 0:
            parts.append(f"filter: {len(self.shown.only):,}")
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
                files = [path for path in found if path.suffix == ".jsonl"]
            except SesstoolError as error:
                self.browser.fail(error)
        self._rows = items(self.view, self.findings, files)
        contents = Contents(self.view, self._rows, self.browser.signs)
        self.contents.show(Table(len(self._rows), contents.draw), keep=True)
        self._point()

    def _point(self) -> None:
        """Have the list point to where the talk is."""
        if not self._rows or self.talk.cursor is None or self.contents.has_focus:
            return
        places = [item.start for item in self._rows if item.start >= 0]
        numbers = [n for n, item in enumerate(self._rows) if item.start >= 0]
        at = bisect_right(places[:-1], self.talk.cursor) - 1
        self.contents.go(numbers[max(at, 0)])

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Keep the first line and the list true."""
        if event.scroller is self.talk:
            self._point()
            self.refresh_frame()

    def on_scroller_chosen(self, event: Scroller.Chosen) -> None:
        """Open what is clicked twice."""
        self.action_open()

    # Reading, in the background

    @work(thread=True, exclusive=True, group="read")
    def _begin(self) -> None:
        view, worker = self.view, get_current_worker()
        self._read_at = time.monotonic()
        told = until = time.monotonic()
        for done in view.read():
            now = time.monotonic()
            if now > until:
                if worker.is_cancelled:
                    return
                time.sleep(_REST)
                until = now + _SLICE
            if now - told > 0.25:
                told = now
                self.app.call_from_thread(self._progress, view, min(done, 0.99))
        if not worker.is_cancelled:
            self.app.call_from_thread(self._progress, view, 1.0)

    def _progress(self, view: View, done: float) -> None:
        if view is not self.view:
            return
        self._done = done
        if done >= 1:
            self.talk.redraw()
            self._list()
            if self._line > 1:
                self._go_line(self._line)
                self._line = 1
            if view.source.size <= _SMALL and view.session is not None:
                self._validate(view)
        self.refresh_frame()

    @work(thread=True, exclusive=True, group="validate")
    def _validate(self, view: View) -> None:
        try:
            report = api.validate(view.path, keys=self.browser.options.keys)
        except SesstoolError as error:
            self.app.call_from_thread(self.browser.fail, error)
            return
        self.app.call_from_thread(self._validated, view, list(report.findings))

    def _validated(self, view: View, findings: list[Finding]) -> None:
        if view is self.view:
            self.findings = findings
            self._list()
            self.refresh_frame()

    def _follow(self) -> None:
        """Show what was written since."""
        if not self.is_current:
            return
        if self.view.source.size > _SMALL and time.monotonic() - self._read_at < _CALM:
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
        self._title = ""
        self._show()
        old.close()
        if at_end:
            self.talk.action_last()
        elif cursor is not None and cursor >= fresh.source.size:
            self.talk.action_first()
        self._begin()

    # Moving

    def _jump(self, places: Sequence[int] | array[int], step: int, what: str) -> None:
        cursor = self.talk.cursor
        found = None if cursor is None else nearest(array("q", places), cursor, step)
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

    def _marks(self, *marks: Mark) -> list[int]:
        outline = self.view.outline
        return sorted(p for mark in marks for p in outline.marks[mark]) if outline else []

    def action_finding(self, step: int) -> None:
        """Go to the next thing that is wrong."""
        told = [f.location.start for f in self.findings if f.severity is not Severity.INFORMATION]
        holding = self.view.places.holding
        self._jump(
            sorted({holding(p + 1) for p in [*told, *self._marks("damage")]}), step, "finding"
        )

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
        if not self.shown.text:
            self.browser.say("nothing was searched for: / searches")
            return
        self._jump(self.matches, step, "match")

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

    # Searching

    def action_search(self) -> None:
        """Ask for words to look for."""
        self.app.push_screen(Ask("Search for:", value=self.shown.text), self._asked_search)

    def _asked_search(self, words: str | None) -> None:
        if words is None:
            return
        self.shown.text = words
        self.matches = array("q")
        self._searched = 1.0
        self.workers.cancel_group(self, "search")
        if words:
            self._searched = 0.0
            self._search(Query(words), self.matches, filtering=False)
        self.talk.redraw()
        self.refresh_frame()

    def action_filter(self) -> None:
        """Ask for what is to be shown."""
        question = "Show only (role:user tool:bash is:failed since:2026-03-01 words; nothing: all):"
        self.app.push_screen(Ask(question), self._asked_filter)

    def _asked_filter(self, words: str | None) -> None:
        if words is None:
            return
        self.workers.cancel_group(self, "search")
        self._searched = 1.0
        self._leaf = -1
        self.shown.only = None
        try:
            wanted = query.parse(words)
        except UsageError as error:
            self.browser.fail(error)
            return
        if wanted:
            self.shown.only = array("q")
            self._searched = 0.0
            self._search(wanted, self.shown.only, filtering=True)
        self._show(keep=not wanted)

    @work(thread=True, exclusive=True, group="search")
    def _search(self, wanted: Query, found: array[int], *, filtering: bool) -> None:
        """Gather the records that match, in file order, while the rest goes on."""
        view, worker = self.view, get_current_worker()
        told = until = time.monotonic()
        for start, matching in view.sift(wanted):
            now = time.monotonic()
            if now > until:
                if worker.is_cancelled:
                    return
                time.sleep(_REST)
                until = now + _SLICE
            if matching:
                found.append(start)
            if now - told > 0.25:
                told = now
                self._tell_search(view, found, start / max(view.source.size, 1), filtering)
        if not worker.is_cancelled:
            self._tell_search(view, found, 1.0, filtering)

    def _tell_search(self, view: View, found: array[int], done: float, filtering: bool) -> None:
        self.app.call_from_thread(self._found, view, found, done, filtering)

    def _found(self, view: View, found: array[int], done: float, filtering: bool) -> None:
        first = self._searched == 0.0
        self._searched = done
        if filtering and found is self.shown.only:
            self.talk.redraw()
            if done >= 1 and not found:
                self.browser.say("nothing matches the filter; f with nothing shows all")
        elif found is self.matches and (first or done >= 1):
            cursor = self.talk.cursor
            if found and cursor is not None and cursor not in found:
                self.go(nearest(found, cursor - 1, 1) or found[0])
            elif done >= 1 and not found:
                self.browser.say("no match")
        self.refresh_frame()

    # Showing more or less

    def action_switch(self, what: str) -> None:
        """Show or hide a kind of thing."""
        setattr(self.shown, what, not getattr(self.shown, what))
        self._show()

    def action_whole(self) -> None:
        """Show the record whole, or folded."""
        if (start := self.talk.cursor) is not None:
            self.shown.opened ^= {start}
            self.talk.redraw()

    def action_branch(self) -> None:
        """Show the next branch alone; behind the last one all records again."""
        leaves = self.view.leaves() if self._done >= 1 else []
        if len(leaves) < 2:
            self.browser.say("this session has one branch" if self._done >= 1 else "still reading")
            return
        at = leaves.index(self._leaf) + 1 if self._leaf in leaves else 0
        self._leaf = leaves[at] if at < len(leaves) else -1
        self.shown.only = self.view.way(self._leaf) if self._leaf >= 0 else None
        self._show(keep=False)

    def action_validate(self) -> None:
        """Validate the session."""
        self.browser.say("validating")
        self._validate(self.view)

    def action_repair(self) -> None:
        """Preview a repair of the session."""
        from sesstool.tui.repairing import Repairing  # noqa: PLC0415 - few look at it

        self.app.push_screen(Repairing(self.view.path))

    def action_redact(self) -> None:
        """Review a redaction of the session."""
        from sesstool.tui.redacting import Redacting  # noqa: PLC0415 - few look at it

        self.app.push_screen(Redacting(self.view.path))

    def action_replay(self) -> None:
        """Replay the session from the record under the cursor on."""
        from sesstool.tui.playing import Playing  # noqa: PLC0415 - few look at it

        view, read = self.view, self._done >= 1
        if view.session is None:
            self.browser.say("only sessions can be replayed")
            return
        if not read:
            # It would be read by two at once.
            view = open_view(view.path, self.browser.options.keys)
        start = self.talk.cursor
        wish = Wish(start=-1 if start is None else start)
        self.app.push_screen(Playing(view, wish, owned=not read))

    def action_reload(self) -> None:
        """Read the file anew."""
        self._follow()

    def action_open(self) -> None:
        """Open what the cursor is on: a place of the list, or the record."""
        if self.contents.has_focus and self._rows and self.contents.cursor is not None:
            item = self._rows[self.contents.cursor]
            if item.file is not None:
                open_session(self, item.file)
            elif item.start >= 0:
                self.go(item.start)
                self.action_pane(2)
        elif self.talk.cursor is not None:
            self._inspect(self.talk.cursor)

    def _inspect(self, start: int) -> None:
        self.app.push_screen(Inspector(self.view, start, findings=self.findings))

    def action_diff(self) -> None:
        """Compare with a fork: of those that are known, or with another file."""
        if self.view.source.size > _SMALL:
            self.browser.say("looking for forks")
        self._find_forks()

    @work(thread=True, exclusive=True, group="forks")
    def _find_forks(self) -> None:
        pairs: list[Pair] = []
        try:
            pairs = diffing.related(self.view.path, self.browser.options.keys)
        except SesstoolError as error:
            self.app.call_from_thread(self.browser.fail, error)
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(choose_diff, self, self.view.path, pairs)

    def action_copy(self) -> None:
        """Copy what the record says."""
        if (start := self.talk.cursor) is not None:
            text = "\n\n".join(p.text for p in self.view.look(start).passages if p.text)
            self.browser.copy(text, "the text")

    def action_copy_raw(self) -> None:
        """Copy the record's line as it is in the file."""
        if (start := self.talk.cursor) is not None:
            copy_line(self.browser, self.view, start)


def open_session(screen: Frame, path: Path, line: int = 1) -> None:
    """Open a session on top of a screen; what keeps it from that is told there.

    Of an encrypted one that no key opens the passphrase is asked for.
    """
    browser, keys = screen.browser, screen.browser.options.keys

    def answered(passphrase: str | None) -> None:
        if passphrase and keys is not None:
            keys.give(passphrase.encode())
            open_session(screen, path, line)

    try:
        browser.push_screen(Conversation(open_view(path, keys), line))
    except NoMatchError as error:
        browser.fail(error)
        if keys is not None and "scrypt" in facts_of(path).kinds:
            browser.push_screen(Ask("Passphrase:", secret=True), answered)
    except SesstoolError as error:
        browser.fail(error)


def screen(paths: Sequence[Path], options: Options) -> Conversation:
    """The screen of the one session that is given. Raises UsageError."""
    if len(paths) != 1:
        raise UsageError("this screen shows one session", hint="give its path")
    return Conversation(open_view(paths[0], options.keys))
