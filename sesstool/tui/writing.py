"""`Writing`: what the screens have in common that can write: a preview, `W` and then `y`, `u`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual import work
from textual.binding import BindingType

from sesstool import api
from sesstool.errors import SesstoolError
from sesstool.text import safe
from sesstool.tui.dialogs import Told, WriteDialog
from sesstool.tui.frame import PREVIEW, WRITTEN, Frame
from sesstool.tui.keys import key
from sesstool.tui.lines import Line, Span

FOREVER = "WRITTEN"
_READ_ONLY = "read-only: start with --allow-write"


class Written(NamedTuple):
    """What a write did, in a sentence, and the ids by which it is undone, the newest last.

    `errors` tell of what was not done of it.
    """

    told: str
    ids: Sequence[str] = ()
    errors: Sequence[SesstoolError] = ()


class Proposal(NamedTuple):
    """What is to be written: a question, what would be done, and what does it.

    `do` runs in a thread of its own and raises SesstoolError.
    """

    question: str
    told: Sequence[Line | Span | str]
    do: Callable[[], Written]


class Writing(Frame):
    """A screen that shows what a write would do; only `y` in its dialog does it.

    Where the app may not write, nothing here does.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key("W", "write", "write", "write.write", show=True),
        key("u", "undo", "undo the last write", "write.undo"),
    ]
    mode = PREVIEW
    no_undo = "this cannot be undone"

    def __init__(self, *, classes: str = "") -> None:
        """Nothing is written yet."""
        super().__init__(classes=classes)
        self._ids: list[str] = []

    # What a screen says

    def proposal(self) -> Proposal | str:
        """What `W` is about, or why there is nothing to write."""
        raise NotImplementedError

    def plan(self) -> None:
        """Make the preview anew, in the background: what is on the disk has changed."""
        raise NotImplementedError

    # Writing

    def may_write(self) -> bool:
        """Whether the app may write; says so where it may not."""
        if not self.browser.options.writes:
            self.browser.say(_READ_ONLY)
        elif self.busy:
            self.browser.say("still writing")
        return self.browser.options.writes and not self.busy

    def action_write(self) -> None:
        """Ask whether to write."""
        if not self.may_write():
            return
        proposal = self.proposal()
        if isinstance(proposal, str):
            self.browser.say(proposal)
        else:
            self.propose(proposal)

    def propose(self, proposal: Proposal) -> None:
        """Ask whether to write something."""

        def answered(yes: bool | None) -> None:
            if yes:
                self.do(proposal.do)

        self.app.push_screen(WriteDialog(proposal.question, proposal.told), answered)

    def action_undo(self) -> None:
        """Take the last write back."""
        if not self.may_write():
            return
        if not self._ids:
            told = self.no_undo if self.mode == FOREVER else "nothing was written yet"
            self.browser.say(told)
            return
        self.do(self._take_back)

    def _take_back(self) -> Written:
        while self._ids:
            entry = api.undo(self._ids[-1])
            self._ids.pop()
        return Written(f"put back as before {entry.command} {entry.id}")

    def do(self, write: Callable[[], Written]) -> None:
        """Write, in a thread; the screen and the app stay until it is done."""
        if self.may_write():
            self.busy = True
            self._run(write)

    @work(thread=True, group="write")
    def _run(self, write: Callable[[], Written]) -> None:
        try:
            done: Written | SesstoolError = write()
        except SesstoolError as error:
            done = error
        self.tell(self._done, done)

    def _done(self, done: Written | SesstoolError) -> None:
        failed = isinstance(done, SesstoolError)
        errors = [done] if isinstance(done, SesstoolError) else done.errors
        told = [safe(text) for error in errors for text in (error.message, error.hint) if text]
        self.browser.last_words = "\n".join(told)
        if not isinstance(done, SesstoolError):
            self._ids += done.ids
            self.mode = self.written(done)
            self.browser.say(done.told)
        if not self.written_to_the_end():
            self.plan()
            self.refresh_frame()
        if told and not self.browser.ending:
            title = "Not written" if failed else "Not all was written"
            self.app.push_screen(Told(title, told), self._heard)

    def _heard(self, _: None) -> None:
        self.browser.last_words = ""

    def written(self, done: Written) -> str:
        """The mode after a write, or after its undoing."""
        return WRITTEN if self._ids else PREVIEW
