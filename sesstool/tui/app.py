"""`Browser`: the app itself: its settings, its themes, what all of its screens share."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from sesstool.checks.engine import RULES
from sesstool.checks.rule import Rule
from sesstool.config import THEMES
from sesstool.errors import SesstoolError
from sesstool.text import pasted, safe
from sesstool.tui.dialogs import Told
from sesstool.tui.frame import Frame
from sesstool.tui.help import Help
from sesstool.tui.keys import key, shown
from sesstool.tui.signs import in_ascii
from sesstool.tui.themes import DEFAULT, FALLBACK, OWN

if TYPE_CHECKING:
    from datetime import datetime

    from sesstool.encryption.keyring import Keys

_INTERRUPTED = 130
# Seconds that the app may take to leave a terminal that may be gone.
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Options:
    """How the app is to be.

    `writes` says that it may write, where a person confirms it; `keymap` gives bindings other keys,
    by their ids. `policy` is the retention policy of the settings, "" for the user's own. `now` is
    the clock, for the tests.
    """

    writes: bool = False
    theme: str = DEFAULT
    ascii: bool = False
    still: bool = False
    mouse: bool = True
    keys: Keys | None = None
    keymap: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    now: Callable[[], datetime] | None = None


class Browser(App[int]):
    """Shows one screen after the other; esc goes back, q quits at the first."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("question_mark", "help", "this help", "app.help"),
        Binding("ctrl+p", "command_palette", "every action by name", id="app.palette", show=False),
        key("escape", "back", "back", "app.back"),
        key("q", "quit_or_back", "back, or quit", "app.quit"),
        Binding(
            "ctrl+c",
            "copy_or_quit",
            "copy the selection, or quit",
            id="app.interrupt",
            show=False,
            priority=True,
        ),
        key("ctrl+z", "suspend_process", "suspend: fg comes back", "app.suspend"),
    ]

    def __init__(self, first: Frame, options: Options = Options()) -> None:
        """Begin with a screen."""
        super().__init__()
        self.options = options
        self.signs: Callable[[str], str] = in_ascii if options.ascii else str
        self.last_words = ""
        """What is told behind the end of the app: why a write that it waited for has failed."""
        self.ending = False
        self._first = first
        self.broke: Exception | None = None
        for theme in OWN:
            self.register_theme(theme)
        self.theme = options.theme
        if options.still:
            self.animation_level = "none"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of ours for themes that have none."""
        return FALLBACK

    def on_mount(self) -> None:
        """Show the first screen, and end when the terminal does."""
        self.title = "sesstool"
        self.set_class(self.options.ascii, "-ascii")
        self.set_keymap(dict(self.options.keymap))
        if sys.platform != "win32":
            loop = asyncio.get_running_loop()
            # Not in a thread, as in some tests.
            with suppress(RuntimeError, ValueError):
                loop.add_signal_handler(signal.SIGTERM, self._end, 128 + signal.SIGTERM)
            with suppress(RuntimeError, ValueError):
                loop.add_signal_handler(signal.SIGHUP, self._hang_up)
        self.push_screen(self._first)

    def _handle_exception(self, error: Exception) -> None:
        """Keep what went wrong for the command, which tells it without session text."""
        self.broke = self.broke or error
        super()._handle_exception(error)
        self._exit_renderables.clear()

    def _end(self, code: int) -> None:
        def end() -> None:
            self.ending = True
            self.exit(code, return_code=code, message=Text(self.last_words))

        self._leave(end)

    def _hang_up(self) -> None:
        """End when the terminal has gone: what is written to it then may wait for ever."""
        code = 128 + signal.SIGHUP

        def end() -> None:
            watch = threading.Timer(_PATIENCE, os._exit, (code,))
            watch.daemon = True
            watch.start()
            self.ending = True
            self.exit(code, return_code=code)

        self._leave(end)

    def _leave(self, then: Callable[[], object]) -> None:
        """Leave a screen or the app, once a write that runs is done."""
        for screen in self.screen_stack:
            if isinstance(screen, Frame) and screen.busy:
                screen.then = then
                self.say("a write is on its way: this waits for its end")
                return
        then()

    # What every screen has

    def action_help(self) -> None:
        """Show the keys of the screen."""
        if not isinstance(self.screen, Help):
            self.push_screen(Help(self.screen))

    async def action_back(self) -> None:
        """Go back to the screen before; the first one stays."""
        if len(self.screen_stack) > 2:
            self._leave(self.pop_screen)

    def action_quit_or_back(self) -> None:
        """Go back, and quit at the first screen."""
        if len(self.screen_stack) > 2:
            self._leave(self.pop_screen)
        else:
            self._end(0)

    async def action_quit(self) -> None:
        """Quit: the key that Textual has for it."""
        self._end(0)

    def action_suspend_process(self) -> None:
        """Go to the background of the shell, where there is one to come back from."""
        if sys.platform == "win32" or os.getsid(0) == os.getpid():
            self.say("there is no shell to go back to: q quits")
        else:
            super().action_suspend_process()

    def action_copy_or_quit(self) -> None:
        """Copy what is selected; where nothing is, quit as an interrupted command does."""
        selected = self.screen.get_selected_text()
        if selected:
            self.copy(selected, "the selection")
            self.screen.clear_selection()
        else:
            self._end(_INTERRUPTED)

    def copy(self, text: str, what: str) -> None:
        """Put a text on the clipboard, and say so; nothing in it acts where it is pasted."""
        text = pasted(text)
        self.copy_to_clipboard(text)
        self.say(f"copied {what}: {len(text):,} characters")

    def say(self, text: str, *, bad: bool = False) -> None:
        """Tell one sentence for a few seconds."""
        lines = "\n".join(self.signs(safe(line)) for line in text.split("\n"))
        self.notify(lines, severity="error" if bad else "information", markup=False, timeout=4)

    def fail(self, error: SesstoolError) -> None:
        """Tell an error, with its next step."""
        self.say(f"{error.message}\n{error.hint}" if error.hint else error.message, bad=True)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: the actions of the screen, the themes, and the pages of all rules."""
        seen: set[str] = set()
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.id and binding.id not in seen and not binding.id.startswith("move."):
                seen.add(binding.id)
                run = _runner(self, active.node, binding.action)
                title = binding.description[:1].upper() + binding.description[1:]
                yield SystemCommand(title, f"key {shown(binding.key)}", run)
        for theme in THEMES:
            yield SystemCommand(f"Theme: {theme}", "colours", _setter(self, theme))
        for rule in RULES.values():
            yield SystemCommand(f"Rule: {rule.code} {rule.name}", rule.summary, _told(self, rule))


def _runner(app: Browser, node: object, action: str) -> Callable[[], None]:
    def run() -> None:
        app.call_later(app.run_action, action, node)

    return run


def _told(app: Browser, rule: Rule) -> Callable[[], None]:
    def show() -> None:
        app.push_screen(Told(f"{rule.code} {rule.name}", rule.page.split("\n")))

    return show


def _setter(app: Browser, theme: str) -> Callable[[], None]:
    def choose() -> None:
        app.theme = theme

    return choose
