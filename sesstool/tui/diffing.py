"""Two forks of a session, or two branches of one, side by side or unified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import work
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from sesstool import api
from sesstool.api import diffing
from sesstool.api.diffing import FACTS, Comparison, Name, Pair
from sesstool.api.viewing import open_view
from sesstool.errors import SesstoolError, UsageError
from sesstool.report.difference import Fold
from sesstool.tui.changes import Changes
from sesstool.tui.dialogs import Ask, Choose
from sesstool.tui.frame import Frame
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Prose, Span
from sesstool.tui.raw import Raw, as_json, raw_of
from sesstool.tui.scroller import Scroller

if TYPE_CHECKING:
    from sesstool.tui.app import Options

# So many units take a while to be compared.
_MANY = 10_000


class Diffing(Frame):
    """A comparison of two sides."""

    NAME = "Fork diff"
    BINDINGS: ClassVar[list[BindingType]] = [
        *pair("[", "]", "change", "change", "diff.change", show=True),
        key("enter", "open", "open both", "diff.open", show=True),
        key("equals_sign", "switch", "unified", "diff.unified", show=True),
        key("w", "whole", "whole", "diff.whole", show=True),
        key("i", "ignore", "ignore", "diff.ignore", show=True),
        key("z", "fold", "fold", "diff.fold", show=True),
        key("y", "copy", "copy", "diff.copy", show=True),
        key("e", "export", "export HTML", "diff.export", show=True),
    ]

    def __init__(self, left: Name, right: Name) -> None:
        """Compare two sides."""
        super().__init__()
        self.names = (left, right)
        self.changes: Changes | None = None
        self._told = ""
        self._unified: bool | None = None
        self._open = ExitStack()
        self._late: list[tuple[int, int]] = []

    # Frame

    def panes(self) -> Iterable[Widget]:
        """What the sides are, and the rows below."""
        with Vertical(id="pane-1", classes="pane"):
            yield Static(id="sides")
            yield Scroller(id="changes")

    @property
    def rows(self) -> Scroller:
        """The widget with the rows."""
        return self.query_one("#changes", Scroller)

    def where(self) -> str:
        """See `Frame`."""
        if self.changes is None:
            names = [str(Path(name.path).stem) for name in self.names]
        else:
            names = self.changes.names
        return f"diff  {' ↔ '.join(names)}"

    def place(self) -> str:
        """See `Frame`."""
        if self.changes is None:
            return self._told
        found, cursor = self.changes.comparison, self.rows.cursor
        parts = []
        if self.changes.rows.differences and cursor is not None:
            at = self.changes.rows.rank(min(cursor, self.changes.total - 1))
            parts.append(f"change {at:,}/{self.changes.rows.differences:,}")
        if not found.differs:
            parts.append("no difference")
        if found.fork[0] >= 0:
            parts.append(f"fork at {found.left.line(found.fork[0]):,}")
        return "   ".join(parts)

    def on_mount(self) -> None:
        """Begin to compare."""
        self.query_one("#pane-1").border_title = self.NAME
        self.rows.show(Prose(["comparing"]))
        self.rows.focus()
        self._told = "comparing"
        self._compare()
        super().on_mount()

    def on_unmount(self) -> None:
        """Close the files."""
        self._open.close()

    def refresh_frame(self) -> None:
        """Draw the lines around the rows anew, too."""
        if self.changes is not None:
            self._lay_out(self.changes)
            width = max(self.size.width - 5, 10)
            self.query_one("#sides", Static).update(Content(self.changes.head(width)))
        super().refresh_frame()

    def _lay_out(self, changes: Changes) -> None:
        unified = self.has_class("-narrow") if self._unified is None else self._unified
        if unified != changes.unified:
            changes.unified = unified
            changes.laid.clear()
            self.rows.redraw()

    # Comparing, in the background

    @work(thread=True, exclusive=True, group="compare")
    def _compare(self) -> None:
        worker, files = get_current_worker(), ExitStack()
        try:
            found = files.enter_context(diffing.diff(*self.names, keys=self.browser.options.keys))
        except SesstoolError as error:
            self.tell(self._failed, error)
            return
        if worker.is_cancelled:
            files.close()
        else:
            self.tell(self._compared, found, files)

    def _failed(self, error: SesstoolError) -> None:
        self._told = "not compared"
        self.rows.show(Prose([Span(error.message, "bad"), Span(error.hint or "", "dim")]))
        self.browser.fail(error)
        self.refresh_frame()

    def _compared(self, found: Comparison, files: ExitStack | None) -> None:
        if files is not None:
            if not self.is_attached:
                files.close()
                return
            self._open.push(files)
        cursor, before = self.rows.cursor, self.changes
        units = before.rows.units(cursor) if before is not None and cursor is not None else None
        self.changes = changes = Changes(found, self.browser.signs, self._ask)
        self._lay_out(changes)
        self._told = ""
        self.query_one("#pane-1").border_subtitle = Content(changes.tally())
        if units is not None:
            self.rows.show(changes, changes.rows.showing(*units))
        else:
            self.rows.show(changes, changes.rows.following(0, 1) if not self._begins() else 0)
        self.refresh_frame()

    def _begins(self) -> bool:
        """Whether the first row is a difference."""
        assert self.changes is not None
        return self.changes.rows.rank(0) > 0

    def _ask(self, row: int, cells: int) -> None:
        """Have a row laid out behind the rest."""
        if (row, cells) not in self._late:
            self._late.append((row, cells))
            if len(self._late) == 1 and self.changes is not None:
                self._lay_late()

    @work(thread=True, group="rows")
    def _lay_late(self) -> None:
        worker = get_current_worker()
        while not worker.is_cancelled and self._late and (changes := self.changes) is not None:
            row, cells = self._late[-1]
            try:
                lines: list[Line] = changes.lay(row, cells)
            except SesstoolError as error:
                lines = [(Span(f"  {error.message}", "bad"),)]
            except IndexError:  # folded meanwhile
                lines = [()]
            if not worker.is_cancelled:
                self.tell(self._laid, changes, (row, cells), lines)

    def _laid(self, changes: Changes, place: tuple[int, int], lines: list[Line]) -> None:
        changes.laid[place] = lines
        self._late = [one for one in self._late if one != place]
        if changes is self.changes:
            self.rows.redraw()

    # Moving

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Keep the first line true."""
        self.refresh_frame()

    def on_scroller_chosen(self, event: Scroller.Chosen) -> None:
        """Open what is clicked twice."""
        self.action_open()

    def action_change(self, step: int) -> None:
        """Go to the next difference."""
        if self.changes is None or self.rows.cursor is None:
            return
        found = self.changes.rows.following(self.rows.cursor, step)
        if found is None:
            self.browser.say(f"no change {'below' if step > 0 else 'above'}")
        else:
            self.rows.go(found)

    def action_open(self) -> None:
        """Open the records of the row, or the fold."""
        changes, cursor = self.changes, self.rows.cursor
        if changes is None or cursor is None:
            return
        units = changes.rows.units(cursor)
        if units == (None, None):
            if isinstance(changes.rows[cursor], Fold):
                changes.fold(opened=cursor)
                self.rows.redraw()
            return
        found = changes.comparison
        places = [
            Place(Path(side.file(unit)), side.span(unit)[0], side.unit(unit).pointer)
            for side, unit in zip((found.left, found.right), units, strict=True)
            if unit is not None
        ]
        self.app.push_screen(Both(places))

    # Showing it otherwise

    def action_switch(self) -> None:
        """Show it unified, or side by side."""
        if self.changes is not None:
            self._unified = not self.changes.unified
            self.refresh_frame()

    def action_whole(self) -> None:
        """Show long records whole, or their beginnings."""
        if self.changes is not None:
            self.changes.whole = not self.changes.whole
            self.changes.laid.clear()
            self.rows.redraw()

    def action_fold(self) -> None:
        """Fold what is equal, or show it."""
        changes, cursor = self.changes, self.rows.cursor
        if changes is None or cursor is None:
            return
        units, place = changes.rows.units(cursor), changes.rows.place(cursor)
        changes.fold(folds=not changes.folds)
        at = changes.rows.first(place) if units == (None, None) else changes.rows.showing(*units)
        self.rows.show(changes, min(at, changes.total - 1))

    def action_ignore(self) -> None:
        """Ignore what envelopes tell beside what was said and done, or do not."""
        if self.changes is not None:
            found = self.changes.comparison
            if len(found.left) + len(found.right) > _MANY:
                self.browser.say("comparing")
            self._retell(found, frozenset() if found.told else frozenset(FACTS))

    @work(thread=True, exclusive=True, group="compare")
    def _retell(self, found: Comparison, told: frozenset[str]) -> None:
        worker = get_current_worker()
        try:
            other = diffing.retold(found, told)
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
            return
        if not worker.is_cancelled:
            self.tell(self._compared, other, None)

    # Taking it elsewhere

    def action_copy(self) -> None:
        """Copy the row as text."""
        if self.changes is not None and self.rows.cursor is not None:
            self.browser.copy(self.changes.plain(self.rows.cursor), "the change")

    def action_export(self) -> None:
        """Ask for the name of a page to write."""
        if not self.browser.options.writes:
            self.browser.say("read-only: browse --allow-write writes; so does diff --html")
        elif self.changes is not None:
            name = "-".join(Path(n.path).stem[:8] for n in self.names) + ".html"
            self.app.push_screen(Ask("Write the page to a new file:", value=name), self._asked)

    def _asked(self, name: str | None) -> None:
        if name and name.strip() and self.changes is not None:
            self._export(self.changes.comparison, Path(name.strip()).expanduser())

    @work(thread=True, group="export")
    def _export(self, found: Comparison, target: Path) -> None:
        from sesstool.report import diff_html  # noqa: PLC0415 - few runs need it

        try:
            diff_html.save(target, found)
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
            return
        api.note_copy(target, *(name.path for name in self.names))
        self.tell(self.browser.say, f"written: {target}")


def choose_diff(screen: Frame, path: Path, pairs: Sequence[Pair]) -> None:
    """Ask what a session is to be compared with, and open that."""
    app = screen.app

    def asked(words: str | None) -> None:
        if words and words.strip():
            other = diffing.name_of(str(Path(words.strip()).expanduser()))
            app.push_screen(Diffing(Name(path), other))

    def chosen(number: int | None) -> None:
        if number is not None and number < len(pairs):
            app.push_screen(Diffing(*pairs[number][:2]))
        elif number is not None:
            app.push_screen(Ask("Compare with the session in the file:"), asked)

    if pairs:
        lines = [f"{pair_.why}  {_other(path, pair_)}".rstrip() for pair_ in pairs]
        app.push_screen(Choose("Compare with:", [*lines, "another file"]), chosen)
    else:
        chosen(0)


def _other(path: Path, pair_: Pair) -> str:
    """The name of the file beside a session."""
    names = [Path(name.path).name for name in pair_[:2] if name.path != path]
    return names[0] if names else ""


class Place(NamedTuple):
    """A record: its file, the offset of its line, and a pointer in it."""

    path: Path
    start: int
    pointer: str


class Both(Frame):
    """The records of a row as they are in their files."""

    NAME = "Records"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "open", "open the conversation here", "both.open", show=True),
        key("space", "whole", "whole or folded", "both.whole", show=True),
        key("y,Y", "copy", "copy the line", "both.copy", show=True),
    ]

    def __init__(self, places: Sequence[Place]) -> None:
        """Show the lines at these places."""
        super().__init__()
        self._places = places
        self._lines: list[tuple[int, Raw]] = []

    def where(self) -> str:
        """See `Frame`."""
        names = [place.path.stem for place in self._places]
        return f"diff  ›  {' ↔ '.join(names)}"

    def panes(self) -> Iterable[Widget]:
        """One pane a record."""
        for n, _ in enumerate(self._places, 1):
            yield Scroller(pick=False, id=f"pane-{n}").add_class("pane")

    def on_mount(self) -> None:
        """Read the records."""
        self.query_one("#pane-1").focus()
        self._read()
        super().on_mount()

    @work(thread=True, exclusive=True, group="read")
    def _read(self) -> None:
        found = []
        try:
            for path, start, pointer in self._places:
                with open_view(path, self.browser.options.keys) as view:
                    for _ in view.places.count():
                        pass
                    found.append((view.places.number(start) or 0, raw_of(view, start, pointer)))
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
            return
        if not get_current_worker().is_cancelled:
            self.tell(self._show, found)

    def _show(self, lines: list[tuple[int, Raw]]) -> None:
        self._lines = lines
        for n, (line, raw) in enumerate(lines, 1):
            raw.signs = self.browser.signs
            pane = self.query_one(f"#pane-{n}", Scroller)
            pane.border_title = Content(f"line {line:,}")
            pane.border_subtitle = Content(f"{raw.size:,} bytes")
            pane.show(raw)
            for end in reversed(raw.meant):
                pane.go(end)

    def _here(self) -> int:
        return max(self.focused_pane(), 1) - 1

    def action_open(self) -> None:
        """Open the session of the pane with the focus, at this record."""
        from sesstool.tui.conversation import open_session  # noqa: PLC0415 - it opens these

        if self._lines:
            open_session(self, self._places[self._here()].path, self._lines[self._here()][0])

    def action_whole(self) -> None:
        """Show long values whole, or folded."""
        if self._lines:
            raw = self._lines[self._here()][1]
            raw.opened = not raw.opened
            self.query_one(f"#pane-{self._here() + 1}", Scroller).redraw()

    def action_copy(self) -> None:
        """Copy the line as it is in its file."""
        if self._lines:
            line, raw = self._lines[self._here()]
            if raw.size > len(raw.data):
                self.browser.say(f"too long to be copied: sesstool show --raw --records {line}")
            else:
                self.browser.copy(as_json(raw.data), "the line")


def screen(paths: Sequence[Path], options: Options) -> Diffing:
    """The comparison of two sessions, or of two branches of one. Raises what keeps it from that."""
    if len(paths) == 2:
        return Diffing(*(diffing.name_of(str(path)) for path in paths))
    if len(paths) != 1:
        raise UsageError("this screen compares two sessions", hint="browse --screen diff A B")
    found = diffing.branches(paths[0], options.keys)
    if len(found) < 2:
        raise UsageError(f"{paths[0]} has no other branch", hint="browse --screen diff A B")
    return Diffing(*(Name(paths[0], str(leaf.line)) for leaf in found[:2]))
