"""The repair preview: what is wrong, what each fix does to the bytes, and which are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import BindingType
from textual.widget import Widget
from textual.worker import get_current_worker

from sesstool import api
from sesstool.api import mending
from sesstool.api.mending import Change, Preview, Row, Wish
from sesstool.checks.engine import RULES
from sesstool.errors import SesstoolError, UsageError
from sesstool.findings import Severity
from sesstool.repair.resume import ResumeReport
from sesstool.report.amounts import count
from sesstool.text import elide, safe, width
from sesstool.tui.dialogs import Told
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Numbered, Prose, Span, column, cut, spread
from sesstool.tui.scroller import Scroller
from sesstool.tui.writing import Proposal, Writing, Written

if TYPE_CHECKING:
    from sesstool.tui.app import Options

_BOX = {"chosen": "[x]", "open": "[ ]"}
_LISTED = 12
# Of what stands around a change, so much is shown: cells before it, and lines of it.
_HEAD, _TALL = 24, 4
_OPENED = 50


class _Stopped(Exception):  # noqa: N818 - no error
    """Another plan is wanted."""


class Repairing(Writing):
    """What a repair of one session would do."""

    NAME = "repair"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("space", "choose", "choose", "repair.choose", show=True),
        key("a", "wish(False)", "all safe", "repair.safe", show=True),
        key("A", "wish(True)", "all", "repair.all", show=True),
        key("enter", "details", "the rule", "repair.details", show=True),
        key("b", "both", "before/after", "repair.both", show=True),
        *pair("[", "]", "fix", "fix to choose", "repair.fix"),
        key("ctrl+r", "again", "look at the file anew", "repair.again"),
    ]

    def __init__(self, path: Path) -> None:
        """Preview the repair of a session."""
        super().__init__(classes="halves")
        self.path = path
        self.preview: Preview | None = None
        self.resume: ResumeReport | None = None
        self._wish = Wish()
        self._used = ""
        self._read = -1
        self._fault = ""

    # Frame

    def panes(self) -> Iterable[Widget]:
        """The fixes at the left; what one does, and what all do, at the right."""
        yield Scroller(id="pane-1").add_class("pane")
        yield Scroller(id="pane-2", pick=False).add_class("pane")
        effect = Scroller(id="pane-3", pick=False)
        effect.add_class("pane", "details")
        yield effect

    @property
    def fixes(self) -> Scroller:
        """The widget with the fixes."""
        return self.query_one("#pane-1", Scroller)

    def where(self) -> str:
        """See `Frame`."""
        return f"repair  {self.path.name}"

    def place(self) -> str:
        """See `Frame`."""
        if self._read >= 0:
            return f"reading, {self._read:,} bytes"
        if self.preview is None:
            return ""
        able = [row for row in self.preview.rows if row.state in _BOX]
        if not able:
            return ""
        chosen = sum(row.state == "chosen" for row in able)
        return f"{chosen} of {count(len(able), 'fix').replace('fixs', 'fixes')} chosen"

    def on_mount(self) -> None:
        """Look at the session."""
        for number, title in enumerate(("Fixes", "What this fix does", "Effect"), start=1):
            self.query_one(f"#pane-{number}").border_title = title
        self.fixes.focus()
        super().on_mount()
        self.plan()

    # Planning, in the background

    def plan(self) -> None:
        """See `Writing`."""
        if self.busy:
            return  # it comes when the write is done
        self._read = 0
        self.refresh_frame()
        self._plan(self._wish)

    @work(thread=True, exclusive=True, group="plan")
    def _plan(self, wish: Wish) -> None:
        worker, keys = get_current_worker(), self.browser.options.keys
        told = 0

        def progress(done: int) -> None:
            nonlocal told
            if worker.is_cancelled:
                raise _Stopped
            if done - told > 1 << 24:
                told = done
                self.tell(self._reading, done)

        try:
            preview = mending.preview(self.path, wish, progress=progress, keys=keys)
            used = mending.in_use(self.path)
            self._back(self._planned, preview, used)
            self._back(self._resumed, preview, mending.resumed(preview.repair, keys=keys))
        except SesstoolError as error:
            self._back(self._failed, error)
        except _Stopped:
            return

    def _back(self, told: Callable[..., None], *what: object) -> None:
        """Tell the screen, unless another plan is wanted by now."""
        if get_current_worker().is_cancelled:
            raise _Stopped
        self.tell(told, *what)

    def _reading(self, done: int) -> None:
        self._read = done
        self.refresh_frame()

    def _planned(self, preview: Preview, used: str) -> None:
        rows, same = len(preview.rows), self.preview is not None and len(self.preview.rows)
        at = self.fixes.cursor
        self.fixes.show(_Fixes(preview, self.browser.signs), keep=rows == same)
        if at and rows != same and rows:
            self.fixes.go(min(at, rows - 1))
        self.preview, self._used, self.resume, self._fault = preview, used, None, ""
        self._read = -1
        self._tell()

    def _resumed(self, preview: Preview, report: ResumeReport) -> None:
        if preview is self.preview:
            self.resume = report
            self._tell()

    def _failed(self, error: SesstoolError) -> None:
        self._read = -1
        if self.preview is None:
            self._fault = error.message
        self.browser.fail(error)
        self._tell()

    # What is shown

    def _row(self) -> Row | None:
        if self.preview is None or self.fixes.cursor is None:
            return None
        at: int = self.fixes.cursor
        return self.preview.rows[at]

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Tell of the fix under the cursor."""
        if event.scroller is self.fixes:
            self._tell()

    def on_scroller_chosen(self, event: Scroller.Chosen) -> None:
        """Choose what is clicked twice."""
        if event.scroller is self.fixes:
            self.action_choose()

    def _tell(self) -> None:
        self.query_one("#pane-2", Scroller).show(Prose(list(self._what())))
        self.query_one("#pane-3", Scroller).show(Prose(list(self._effect())))
        self.refresh_frame()

    def _what(self) -> Iterator[Span | Line | str]:
        preview, row = self.preview, self._row()
        if preview is None:
            yield self._fault or "looking at the session"
        elif row is None:
            yield "nothing to repair: no rule finds anything here"
        else:
            yield from self._about(preview, row)
        if self.resume is not None:
            yield ""
            yield Span("Resume after the repair", "strong")
            yield from _resume(self.resume)

    def _about(self, preview: Preview, row: Row) -> Iterator[Span | Line | str]:
        finding, rule = row.finding, RULES[row.finding.code]
        yield Span(f"{finding.code} {finding.name}: {finding.message}", "strong")
        yield rule.summary
        yield from (f"note: {note}" for note in finding.notes)
        yield _sentence(rule.sections["Repair"])
        if row.follows and row.state == "chosen":
            yield "It comes up behind another fix, and is mended with it."
        if row.state == "gone":
            yield "It goes with another fix."
        edits = preview.edits(row)
        if not edits:
            return
        yield ""
        try:
            keys = self.browser.options.keys
            for change in mending.changes(preview.repair, edits, most=3, keys=keys):
                yield from _drawn(change, self.browser.signs, _TALL)
        except SesstoolError as error:
            yield Span(error.message, "bad")
        if len(edits) > 3:
            yield Span(f"{len(edits) - 3:,} more places (b shows them)", "dim")

    def _effect(self) -> Iterator[Span | Line | str]:
        if self.preview is None:
            return
        signs, repair = self.browser.signs, self.preview.repair
        outcome = repair.outcome
        before, after = outcome.before, outcome.after
        gone = sum(edit.end - edit.start for edit in outcome.edits)
        size, new = before.size, before.size + outcome.edits.growth()
        come = new - size + gone
        share = (size - gone) / size if size else 1.0
        yield _pair("file", signs(f"{size:,} → {new:,} bytes  (-{gone:,} +{come:,})"))
        records = signs(f"{before.records:,} → {after.records:,}")
        yield _pair("records", f"{records}   unchanged bytes {size - gone:,} ({share:.1%})")
        for file in repair.files[1:]:
            yield _pair("also", f"{file.path.name}: {'; '.join(file.titles)}")
        yield _pair("left", _left(self.preview))
        yield _pair("lock", f"in use: {self._used}" if self._used else "free: no writer")
        yield _pair("undo", f"u, or sesstool undo; kept in {api.state_folder() / 'undo'} (0600)")
        yield Span("A rule is chosen as a whole. The same by command:", "dim")
        yield self.preview.command
        if self.preview.more:
            yield Span(f"{self.preview.more:,} more findings are not listed", "warn")

    # Choosing

    def action_choose(self) -> None:
        """Choose the rule under the cursor, or leave it out."""
        row = self._row()
        if row is None or self.preview is None:
            return
        fix = row.finding.fix
        if row.state == "gone":
            self.browser.say("it goes with another fix: choose or leave that one")
        elif fix is None or row.state not in _BOX:
            self.browser.say(f"no edit can mend it{f': {fix.title}' if fix else ''}")
        else:
            self._wish = self._wish.toggled(row)
            self.plan()

    def action_wish(self, every: bool) -> None:
        """Choose all safe fixes, or the unsafe ones too."""
        self._wish = Wish(every=every)
        self.plan()

    def action_fix(self, step: int) -> None:
        """Go to the next fix that can be chosen."""
        rows = self.preview.rows if self.preview else ()
        able = [n for n, row in enumerate(rows) if row.state in _BOX]
        at = self.fixes.cursor
        beyond = [n for n in able if at is not None and (n - at) * step > 0]
        if beyond:
            self.fixes.go(beyond[0] if step > 0 else beyond[-1])
        else:
            self.browser.say(f"no fix {'below' if step > 0 else 'above'}")

    def action_again(self) -> None:
        """Look at the file anew."""
        self.plan()

    def action_details(self) -> None:
        """Show the page of the rule."""
        if (row := self._row()) is not None:
            page = RULES[row.finding.code].page
            self.app.push_screen(Told(f"Rule {row.finding.code}", page.split("\n")))

    def action_both(self) -> None:
        """Show all that the fix changes, before and after."""
        row = self._row()
        if row is None or self.preview is None:
            return
        edits = self.preview.edits(row)
        told: list[Span | Line | str] = []
        try:
            keys = self.browser.options.keys
            for change in mending.changes(self.preview.repair, edits, most=_OPENED, keys=keys):
                drawn = _drawn(change, self.browser.signs, _OPENED)
                told += (Span("".join(s.text for s in line), line[-1].style) for line in drawn)
        except SesstoolError as error:
            self.browser.fail(error)
            return
        if len(edits) > _OPENED:
            told.append(Span(f"{len(edits) - _OPENED:,} more places", "dim"))
        self.app.push_screen(Told("Before and after", told or ["no byte of the file changes"]))

    # Writing

    def proposal(self) -> Proposal | str:
        """See `Writing`."""
        preview = self.preview
        if preview is None or self._read >= 0:
            return "the session is still looked at"
        if not preview.repair:
            return "nothing to write: no fix is chosen"
        mended = preview.repair.outcome.mended
        what = count(len(mended), "fix").replace("fixs", "fixes")
        told: list[Span | Line | str] = []
        for finding in mended[:_LISTED]:
            line = f"line {finding.location.line}: " if finding.location.line else ""
            told.append(f"{finding.code} {line}{finding.fix.title if finding.fix else ''}")
        if len(mended) > _LISTED:
            told.append(f"and {len(mended) - _LISTED:,} more")
        growth = preview.repair.outcome.edits.growth()
        longer = f"{abs(growth):,} bytes {'longer' if growth > 0 else 'shorter'}"
        told += [
            "",
            f"The file is replaced in one step, and is {longer} then.",
            "What goes is kept: undo with u, or with sesstool undo.",
        ]
        if self._used:
            told.append(Span(f"It is in use, and will not be written: {self._used}", "warn"))
        repair = preview.repair
        return Proposal(
            f"Write {what} to {safe(self.path.name)}?", told, lambda: self._write(repair)
        )

    def _write(self, repair: api.Repair) -> Written:
        plan, keys = api.plan_of([repair]), self.browser.options.keys
        done = api.apply(plan, command="repair", keys=keys)
        ids = [one.undo_id for one in done if one.undo_id]
        return Written(f"written; undo: u, or sesstool undo {ids[0]}" if ids else "written", ids)


class _Fixes(Numbered):
    """The findings, two lines each, with a box where there is a fix to choose."""

    def __init__(self, preview: Preview, signs: Callable[[str], str]) -> None:
        super().__init__(len(preview.rows))
        self._rows = preview.rows
        self._signs = signs

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `Blocks`."""
        row = self._rows[key]
        finding, fix = row.finding, row.finding.fix
        kind = "goes" if row.state == "gone" else fix.applicability if fix else "no fix"
        style = {"chosen": "good", "open": "warn" if kind == "unsafe" else ""}.get(row.state, "dim")
        name = "bad" if finding.severity is Severity.ERROR else "warn"
        left = [
            Span(f"{_BOX.get(row.state, '   ')} ", style),
            Span(f"{finding.code}  ", "strong"),
            Span(f"{column(kind, 6)}  ", style),
            Span(finding.name, name if row.state != "gone" else "dim"),
        ]
        right = [Span(f"line {row.line:,}" if row.line else "", "dim")]
        words = fix.title if fix else finding.message
        if row.follows:
            words = f"then: {words}"
        return [spread(left, right, cells), cut([Span(f"      {safe(words)}", "dim")], cells)]


def _pair(name: str, words: str) -> Span:
    return Span(f"{column(name, 8)} {words}")


def _left(preview: Preview) -> str:
    after = preview.repair.outcome.after
    parts = [(after.count(Severity.ERROR), "error"), (after.count(Severity.WARNING), "warning")]
    return ", ".join(count(number, noun) for number, noun in parts if number) or "nothing"


def _resume(report: ResumeReport) -> Iterator[Span | str]:
    told = f"{report.sent:,} of {count(report.present, 'message')} reach the model"
    if report.acceptable:
        yield Span(f"{report.format}: yes, {told}", "good")
    else:
        first = report.refusals[0]
        where = f" at line {first.location.line}" if first.location.line else ""
        yield Span(f"{report.format}: no, {first.code}{where} is still open; {told}", "bad")
    if report.losses:
        yield Span(f"something is missing from it: {count(len(report.losses), 'finding')}", "warn")


def _sentence(text: str) -> str:
    """The first paragraph of a section, on one line."""
    return " ".join(text.partition("\n\n")[0].split())


def _drawn(change: Change, signs: Callable[[str], str], tall: int) -> Iterator[Line]:
    """A change as lines of a diff; what stands before it is cut at its left."""
    what = [f"{count(change.size, 'byte')} cut"] * bool(change.size)
    what += [f"{count(change.new, 'byte')} added"] * bool(change.new)
    yield (Span(f"byte {change.start:,}: {', '.join(what)}", "dim"),)
    head = safe(change.head.decode("utf-8", "replace"))
    if width(head) > _HEAD:
        head = signs("…") + head[-_HEAD:]
    tail = elide(safe(change.tail.decode("utf-8", "replace")), 80)
    for sign, text, style, size in (
        ("-", change.before, "removed", change.size),
        ("+", change.after, "added", change.new),
    ):
        lines = text.decode("utf-8", "replace").splitlines(keepends=True)
        for number, line in enumerate(lines[:tall] if size else ()):
            spans = [Span(f"  {sign} ", style)]
            spans += [Span(head, "dim")] * (number == 0)
            spans.append(Span(elide(safe(line), 400), style))
            spans += [Span(tail, "dim")] * (number == len(lines) - 1 and not line.endswith("\n"))
            yield spans
        if len(lines) > tall:
            yield (Span(signs(f"    … {len(lines) - tall:,} more lines"), "dim"),)


def screen(paths: Sequence[Path], options: Options) -> Repairing:  # noqa: ARG001 - as all have it
    """The screen of the one session that is given. Raises UsageError."""
    if len(paths) != 1:
        raise UsageError("this screen shows one session", hint="give its path")
    return Repairing(paths[0])
