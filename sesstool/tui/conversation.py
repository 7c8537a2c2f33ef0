"""The conversation: a session from its first record to its last, with its places at the side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.worker import get_current_worker

from sesstool.api import diffing
from sesstool.api.diffing import Pair
from sesstool.api.replaying import Wish
from sesstool.api.sealing import facts_of
from sesstool.api.viewing import open_view
from sesstool.errors import NoMatchError, SesstoolError, UsageError
from sesstool.text import safe
from sesstool.tui.app import Options
from sesstool.tui.dialogs import Ask
from sesstool.tui.diffing import choose_diff
from sesstool.tui.frame import Frame
from sesstool.tui.inspecting import Inspector
from sesstool.tui.keys import key, pair
from sesstool.tui.raw import copy_line
from sesstool.tui.reader import SMALL
from sesstool.tui.scroller import Scroller
from sesstool.tui.searching import Searching


class Conversation(Searching):
    """One session."""

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

    def on_scroller_chosen(self, event: Scroller.Chosen) -> None:
        """Open what is clicked twice."""
        self.action_open()

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
        self.show_all()
        if at < len(leaves):
            self._leaf = leaves[at]
            self.shown.only = self.view.way(self._leaf)
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
        if self.view.source.size > SMALL:
            self.browser.say("looking for forks")
        self._find_forks()

    @work(thread=True, exclusive=True, group="forks")
    def _find_forks(self) -> None:
        pairs: list[Pair] = []
        try:
            pairs = diffing.related(self.view.path, self.browser.options.keys)
        except SesstoolError as error:
            self.tell(self.browser.fail, error)
        if not get_current_worker().is_cancelled:
            self.tell(choose_diff, self, self.view.path, pairs)

    def action_copy(self) -> None:
        """Copy what the record says."""
        if (start := self.talk.cursor) is not None:
            text = "\n\n".join(p.text for p in self.view.look(start).passages if p.text)
            self.browser.copy(text, "the text")

    def action_copy_raw(self) -> None:
        """Copy the record's line as it is in the file."""
        if (start := self.talk.cursor) is not None:
            copy_line(self.browser, self.view, start)


def open_session(screen: Frame, path: Path, line: int = 1, *, again: bool = False) -> None:
    """Open a session on top of a screen; what keeps it from that is told there.

    Of an encrypted one that no key opens the passphrase is asked for, `again` if one was given.
    """
    browser, keys = screen.browser, screen.browser.options.keys

    def answered(passphrase: str | None) -> None:
        if passphrase and keys is not None:
            keys.give(passphrase.encode())
            open_session(screen, path, line, again=True)

    try:
        browser.push_screen(Conversation(open_view(path, keys), line))
    except NoMatchError as error:
        askable = keys is not None and "scrypt" in facts_of(path).kinds
        if again or not askable:
            browser.fail(error)
        if askable:
            browser.push_screen(Ask(f"Passphrase of {safe(path.name)}:", secret=True), answered)
    except SesstoolError as error:
        browser.fail(error)


def screen(paths: Sequence[Path], options: Options) -> Conversation:
    """The screen of the one session that is given. Raises UsageError."""
    if len(paths) != 1:
        raise UsageError("this screen shows one session", hint="give its path")
    return Conversation(open_view(paths[0], options.keys))
