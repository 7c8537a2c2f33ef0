"""The redaction review: the values that are found, masked, and what becomes of each."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import BindingType
from textual.selection import Selection
from textual.widget import Widget
from textual.worker import get_current_worker

from sesstool.api import reviewing
from sesstool.api.publishing import publish
from sesstool.api.redaction import PROFILES, Choice
from sesstool.api.reviewing import Item, Review, Site
from sesstool.errors import SesstoolError, UsageError
from sesstool.privacy.allow import Entry
from sesstool.report.amounts import count
from sesstool.text import safe, session_word
from sesstool.tui.dialogs import Ask
from sesstool.tui.keys import key, pair
from sesstool.tui.lines import Line, Prose, Span, Table, column, spread
from sesstool.tui.scroller import Scroller
from sesstool.tui.writing import FOREVER, Proposal, Writing, Written

if TYPE_CHECKING:
    from sesstool.tui.app import Options

_STYLES = ("tag", "shape", "label")
_MASKS = {"value": "▒▒▒▒▒▒▒▒▒▒▒▒", "other": "▒▒▒▒"}
_SECONDS = 3.0
_ALSO = 6


class _Private(Scroller):
    """Text that nobody can copy: it may show a value for a moment."""

    ALLOW_SELECT = False

    def get_selection(self, selection: Selection) -> None:
        """Nothing."""


class Redacting(Writing):
    """What a redaction of one session and its side files would do."""

    NAME = "redact"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("space", "keep", "keep or redact", "redact.keep", show=True),
        *pair("(", ")", "site", "place", "redact.place", show=True),
        key("V", "reveal", "show the value for 3 s", "redact.reveal", show=True),
        key("p", "profile", "profile", "redact.profile", show=True),
        key("s", "style", "stand-ins", "redact.style", show=True),
        key("o", "output", "in place, or copies", "redact.output", show=True),
        key("ctrl+r", "again", "look at the session anew", "redact.again"),
    ]

    def __init__(self, path: Path, *, stand_ins: bytes = b"") -> None:
        """Review a session. `stand_ins` is their key; without one there is one for this review."""
        super().__init__(classes="halves")
        self.path = path
        self.review: Review | None = None
        self.items: list[Item] = []
        self.folder: Path | None = None
        self._key = stand_ins or secrets.token_bytes(32)
        self._profile, self._style = "", _STYLES[0]
        self._kept: dict[tuple[str, str], tuple[Item, list[Entry]]] = {}
        self._asked: dict[tuple[str, str], bool] = {}
        self._site = 0
        self._value = ""
        self._looking = False
        self._fault = ""

    # Frame

    def panes(self) -> Iterable[Widget]:
        """The values at the left; one of them, and what all comes to, at the right."""
        yield Scroller(id="pane-1").add_class("pane")
        yield _Private(id="pane-2", pick=False).add_class("pane")
        effect = Scroller(id="pane-3", pick=False)
        effect.add_class("pane", "details")
        yield effect

    @property
    def values(self) -> Scroller:
        """The widget with the values."""
        return self.query_one("#pane-1", Scroller)

    @property
    def profile(self) -> str:
        """The profile: the one that was chosen, else that of the command for the same output."""
        return self._profile or ("resume" if self.folder is None else "share")

    def where(self) -> str:
        """See `Frame`."""
        return f"redact  {self.path.name}"

    def place(self) -> str:
        """See `Frame`."""
        return "looking at it" if self._looking else f"profile: {self.profile}"

    def on_mount(self) -> None:
        """Look at the session."""
        for number, title in enumerate(("Values, masked", "Place", "Effect"), start=1):
            self.query_one(f"#pane-{number}").border_title = title
        self.values.focus()
        super().on_mount()
        self.plan()

    def on_unmount(self) -> None:
        """Close the files."""
        self._value = ""
        if self.review is not None:
            self.review.close()

    # Planning, in the background

    def plan(self) -> None:
        """See `Writing`. One at a time; what is asked for meanwhile comes after it."""
        if self.busy:
            return  # it comes when the write is done
        if self._looking:
            self._asked.setdefault(("", ""), True)
            return
        self._looking, self._value = True, ""
        kept = {name for name, keep in self._asked.items() if keep}
        for name in self._asked:
            self._kept.pop(name, None)
        self._asked.clear()
        items = [item for item in self.items if item.name in kept and not item.kept]
        choice = Choice(profile=self.profile, style=self._style)
        self._tell()
        self._plan(self.review, items, choice, dict(self._kept))

    @work(thread=True, exclusive=True, group="plan")
    def _plan(
        self,
        before: Review | None,
        items: Sequence[Item],
        choice: Choice,
        kept: dict[tuple[str, str], tuple[Item, list[Entry]]],
    ) -> None:
        worker, keys = get_current_worker(), self.browser.options.keys
        try:
            for item in items if before is not None else ():
                assert before is not None
                kept[item.name] = (item, before.entries(item, self._key))
            allowed = reviewing.allowing(
                choice, [e for _, entries in kept.values() for e in entries]
            )
            made = reviewing.review(
                self.path, allowed, self._key, stopped=lambda: worker.is_cancelled, keys=keys
            )
        except SesstoolError as error:
            if not worker.is_cancelled:
                self.tell(self._failed, error)
            return
        if made is not None and worker.is_cancelled:
            made.close()
        elif made is not None:
            self.tell(self._planned, made, kept)

    def _planned(self, made: Review, kept: dict[tuple[str, str], tuple[Item, list[Entry]]]) -> None:
        old, self.review = self.review, made
        if old is not None:
            old.close()
        self._kept, self._looking, self._fault = kept, False, ""
        found = {item.name for item in made.items}
        for item, _ in kept.values():
            item.kept = True
        gone = [item for name, (item, _) in kept.items() if name not in found]
        at = self.values.cursor
        name = self.items[at].name if at is not None and at < len(self.items) else None
        before = len(self.items)
        self.items = sorted([*made.items, *gone], key=reviewing.order)
        self.values.show(Table(len(self.items), self._row), keep=len(self.items) == before)
        places = [n for n, item in enumerate(self.items) if item.name == name]
        if places:
            self.values.go(places[0])
        if self._asked:
            self.plan()
        self._tell()

    def _failed(self, error: SesstoolError) -> None:
        self._looking = False
        self._asked.clear()
        if self.review is None:
            self._fault = error.message
        self.browser.fail(error)
        self._tell()

    # What is shown

    def _item(self) -> Item | None:
        at = self.values.cursor
        return self.items[at] if at is not None and at < len(self.items) else None

    def on_scroller_moved(self, event: Scroller.Moved) -> None:
        """Tell of the value under the cursor."""
        if event.scroller is self.values:
            self._site, self._value = 0, ""
            self._tell()

    def _row(self, number: int, cells: int) -> Line:
        item = self.items[number]
        style = {"redact": "bad" if item.secret else "warn", "keep": "good"}.get(item.state, "dim")
        left = [
            Span(f"{column(item.state, 6)}  ", style),
            Span(f"{column(safe(item.kind), 10)} "),
            Span(f"{item.places:>6,}  "),
            Span(safe(item.title), "dim"),
        ]
        return spread(left, [], cells)

    def _tell(self) -> None:
        self.query_one("#pane-2", Scroller).show(Prose(list(self._where())))
        self.query_one("#pane-3", Scroller).show(Prose(list(self._effect())))
        self.refresh_frame()

    def _where(self) -> Iterator[Span | Line | str]:
        item = self._item()
        if self._looking or self.review is None:
            yield self._fault or "looking at the session"
            return
        if item is None:
            yield "nothing is found here"
            return
        site = item.sites[self._site]
        yield Span(f"{item.kind} {item.fingerprint}: {item.title}", "strong")
        of = f"{self._site + 1:,} of {item.places:,}"
        yield Span(f"place {of}   line {site.line:,}   byte {site.start:,}   {site.pointer}", "dim")
        if site.path != self.path:
            yield Span(f"in {self.review.redaction.shown(Path(site.path))}", "dim")
        yield ""
        try:
            yield from self._text(self.review, item, site)
        except SesstoolError as error:
            yield Span(error.message, "bad")
        yield ""
        yield Span("value", "strong")
        yield self._value or f"hidden; its length is {item.length} (V shows it for 3 s)"
        others = item.sites[: _ALSO + 1]
        if len(others) > 1:
            yield ""
            yield Span("also at", "strong")
            yield from (f"line {o.line:,}   {o.pointer}" for o in others if o != site)
        if item.places > len(others):
            yield Span(f"and {item.places - len(others):,} more: ( and ) go there", "dim")

    def _text(self, review: Review, item: Item, site: Site) -> Iterator[str | Span]:
        kept = [item for item, _ in self._kept.values()]
        pieces = review.around(site, kept)
        yield "".join(p.text or self.browser.signs(_MASKS[p.what]) for p in pieces)
        yield ""
        if item.state == "keep":
            yield Span("it is kept as it is", "good")
            return
        if site.action != "replaced":
            stays = site.action == "kept"
            yield Span(
                "it stays: the agent needs this field as it is"
                if stays
                else "it goes, with the thinking block around it",
                "warn",
            )
            return
        made = review.stand_in(item, site)
        yield Span("becomes", "strong")
        yield "".join(
            p.text
            or (made or "a stand-in" if p.what == "value" else self.browser.signs(_MASKS[p.what]))
            for p in pieces
        )

    def _effect(self) -> Iterator[Span | Line | str]:
        review = self.review
        if review is None:
            return
        states = Counter(item.state for item in self.items)
        told = [f"{states[name]:,} {name}" for name in ("redact", "keep", "stays") if states[name]]
        yield _pair("values", ", ".join(told) or "none")
        files = count(len(review.redaction.files), "file")
        yield _pair("places", f"{review.places:,} in {files}; looked at again: nothing is left")
        yield _pair("profile", f"{self.profile}: {PROFILES[self.profile]}")
        yield _pair("style", self._style)
        where = (
            "in place: no plain copy is kept" if self.folder is None else f"copies in {self.folder}"
        )
        yield _pair("output", where)
        yield from (Span(f"not covered: {note}", "warn") for note in review.notes())
        yield Span("The same by command:" if not self._kept else "By command, with --allow:", "dim")
        yield self.command

    @property
    def command(self) -> str:
        """The command that does the same, but for what is kept."""
        parts = ["sesstool redact"]
        if self.folder is None:
            parts.append("--write --in-place")
        else:
            parts.append(f"-o {session_word(str(self.folder))}/")
        parts += [f"--profile {self._profile}"] if self._profile else []
        parts += [f"--style {self._style}"] if self._style != _STYLES[0] else []
        return " ".join([*parts, session_word(self.path)])

    # Deciding

    def action_keep(self) -> None:
        """Keep the value under the cursor, or redact it after all."""
        item = self._item()
        if item is not None:
            self._asked[item.name] = not self._asked.get(item.name, item.kept)
            self.plan()

    def action_profile(self) -> None:
        """Take the other profile."""
        names = list(PROFILES)
        self._profile = names[(names.index(self.profile) + 1) % len(names)]
        self.plan()

    def action_style(self) -> None:
        """Take the next style of stand-ins."""
        self._style = _STYLES[(_STYLES.index(self._style) + 1) % len(_STYLES)]
        self.plan()

    def action_output(self) -> None:
        """Redact in place, or into copies in a folder that is asked for."""
        if self.folder is not None:
            self._put(None)
            return
        self.app.push_screen(Ask("A folder for the copies:", value="redacted"), self._put)

    def _put(self, folder: str | None) -> None:
        before = self.folder
        self.folder = Path(folder).expanduser() if folder else None
        if self.folder != before:
            self.plan()

    def action_again(self) -> None:
        """Look at the session anew."""
        self.plan()

    def action_site(self, step: int) -> None:
        """Go to the next place of the value."""
        item = self._item()
        if item is None:
            return
        if 0 <= self._site + step < len(item.sites):
            self._site, self._value = self._site + step, ""
            self._tell()
        else:
            self.browser.say(f"no place {'below' if step > 0 else 'above'}")

    def action_reveal(self) -> None:
        """Show the value at the cursor for a moment, on this screen alone."""
        item, review = self._item(), self.review
        if item is None or review is None or self._looking:
            return
        if self._value:
            self._hide()
            return
        try:
            self._value = review.value(item, item.sites[self._site]) or " "
        except SesstoolError as error:
            self.browser.fail(error)
            return
        self._tell()
        self._hiding = self.set_timer(_SECONDS, self._hide)

    def _hide(self) -> None:
        self._hiding.stop()
        self._value = ""
        self._tell()

    # Writing

    def proposal(self) -> Proposal | str:
        """See `Writing`."""
        review, folder = self.review, self.folder
        if review is None or self._looking:
            return "the session is still looked at"
        files = review.redaction.files
        values = count(sum(item.state == "redact" for item in self.items), "value")
        changed = sum(file.changed for file in files)
        places = f"{count(review.places, 'place')} of {values} in {count(changed, 'file')}"
        told: list[Span | Line | str] = [f"{places} are replaced, with the profile {self.profile}."]
        told += (Span(f"not covered: {note}", "warn") for note in review.notes())
        if folder is not None:
            told += ["", f"Copies come into {folder}; the session stays as it is."]
            question = f"Write {count(len(files), 'copy').replace('copys', 'copies')}?"
        elif not review.changes:
            return "nothing to write: nothing is to be replaced"
        else:
            told += ["", Span("No plain copy is kept, and undo entries of these files go: this "
                              "cannot be undone.", "warn"),
                     "Revoke secrets that were in the session all the same."]  # fmt: skip
            question = f"Redact {safe(self.path.name)} in place?"
        return Proposal(question, told, lambda: self._write(review, folder))

    def _write(self, review: Review, folder: Path | None) -> Written:
        publish(review.redaction, folder)
        done = review.redaction.published
        return Written(
            f"written: {', '.join(path.name for path in done[:3])}{' ...' * (len(done) > 3)}"
        )

    def written(self, done: Written) -> str:
        """See `Writing`: it keeps nothing to undo it with."""
        return FOREVER


def _pair(name: str, words: str) -> Span:
    return Span(f"{column(name, 8)} {words}")


def screen(paths: Sequence[Path], options: Options) -> Redacting:  # noqa: ARG001 - as all have it
    """The screen of the one session that is given. Raises UsageError."""
    if len(paths) != 1:
        raise UsageError("this screen shows one session", hint="give its path")
    return Redacting(paths[0])
