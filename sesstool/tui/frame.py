"""`Frame`: what all screens have: a first line, the panes, a last line with the keys, and help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.events import Resize
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from sesstool.text import elide, safe, width
from sesstool.tui.keys import key, listed, shown
from sesstool.tui.scroller import Scroller

if TYPE_CHECKING:
    from sesstool.tui.app import Browser

READ_ONLY = "READ-ONLY"
PREVIEW = "PREVIEW: nothing written yet"
WRITTEN = "WRITTEN (u to undo)"
_NARROW, _LOW = 100, 30
LEAST = (60, 16)
_PANE = Binding.Group("go to a pane")


class Frame(Screen[None]):
    """A screen of the app.

    A screen says `where` it is and, at the right, its `place`; `mode` is one of the three words.
    Its panes have the ids `pane-1`, `pane-2`...; in a narrow terminal one of them is seen at a
    time, at first number `shown_pane`. While it is `busy` with a write nobody leaves it or the app:
    `then` is what is to be done once that is over.
    """

    NAME: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        key("tab", "next_pane", "next pane", "pane.next"),
        *(
            Binding(str(n), f"pane({n})", f"pane {n}", show=False, id=f"pane.{n}", group=_PANE)
            for n in range(1, 10)
        ),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_NARROW, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (_LOW, "-high")]  # noqa: RUF012 - as Textual declares it
    mode = READ_ONLY
    shown_pane = 1
    busy = False
    then: Callable[[], object] | None = None

    @property
    def browser(self) -> Browser:
        """The app."""
        from sesstool.tui.app import Browser  # noqa: PLC0415 - it imports the screens

        assert isinstance(self.app, Browser)
        return self.app

    def where(self) -> str:
        """Where this is: the left part of the first line."""
        return self.NAME

    def place(self) -> str:
        """What else is to be seen at once: the right part of the first line."""
        return ""

    def panes(self) -> Iterable[Widget]:
        """The widgets of the screen."""
        return ()

    def compose(self) -> ComposeResult:
        """Put the first and the last line around the panes."""
        yield Static(id="head")
        with Container(id="panes"):
            yield from self.panes()
        yield Static(id="foot")
        yield Static(id="small")

    def on_mount(self) -> None:
        """Begin with the first line true."""
        self.refresh_frame()

    def on_screen_resume(self) -> None:
        """Be true again when another screen has gone."""
        self.refresh_frame()

    def on_resize(self, event: Resize) -> None:
        """Ask for more room where there is too little."""
        columns, rows = event.size
        small = columns < LEAST[0] or rows < LEAST[1]
        self.set_class(small, "-small")
        if small:
            least = "sesstool needs {} columns and {} rows".format(*LEAST)
            text = f"{least}; here are {columns} by {rows}. q quits."
            self.query_one("#small", Static).update(Content(text))
        self.call_after_refresh(self.refresh_frame)

    def refresh_frame(self) -> None:
        """Draw the first and the last line anew."""
        if not self.is_mounted:
            return
        self._show_panes()
        columns = self.size.width
        self.query_one("#head", Static).update(Content(self._head(columns)))
        self.query_one("#foot", Static).update(Content(self._foot(columns)))

    def _head(self, columns: int) -> str:
        signs = self.browser.signs
        right = "   ".join(filter(None, (self.mode, self.place())))
        name = "" if self.has_class("-narrow") else "sesstool  "
        left = elide(safe(name + self.where()), max(columns - width(right) - 2, 10))
        if signs("…") != "…" and left.endswith("…"):
            left = left[:-1] + "~"  # as wide
        gap = max(columns - width(left) - width(right), 1)
        return elide(signs(left + " " * gap + right), columns)

    def _foot(self, columns: int) -> str:
        always = "? help"
        room = columns - width(always) - 2
        text = ""
        for keys, what in footer(self):
            part = f"{self.browser.signs(keys)} {what}"
            longer = f"{text}  {part}" if text else part
            if width(longer) > room:
                break
            text = longer
        return text + " " * max(room + 2 - width(text), 1) + always

    def tell(self, what: Callable[..., object], *arguments: Any, **named: Any) -> None:
        """Have something done by the app, from a worker; nothing where this screen has gone."""
        try:
            app = self.app
        except RuntimeError:  # there is none any more
            return
        if not self.is_attached or not app.is_running:
            return
        try:
            app.call_from_thread(what, *arguments, **named)
        except RuntimeError:
            if app.is_running:
                raise

    def written_to_the_end(self) -> bool:
        """A write is over: what waited for it is done now; whether something did."""
        self.busy = False
        then, self.then = self.then, None
        if then is not None:
            then()
        return then is not None

    # Panes

    def _panes(self) -> list[Widget]:
        return [w for w in self.query("#panes *") if (w.id or "").startswith("pane-")]

    def _show_panes(self) -> None:
        one = self.has_class("-narrow")
        for pane in self._panes():
            pane.set_class(one and pane.id != f"pane-{self.shown_pane}", "-away")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There are only so many panes to go to."""
        if action == "pane":
            return f"pane-{parameters[0]}" in {pane.id for pane in self._panes()}
        return super().check_action(action, parameters)

    def action_pane(self, number: int) -> None:
        """Go to a pane."""
        for pane in self._panes():
            if pane.id == f"pane-{number}":
                self.shown_pane = number
                self._show_panes()
                target = pane if pane.can_focus else next(iter(pane.query(Scroller)), None)
                if target is not None:
                    target.focus()
                self.refresh_frame()

    def action_next_pane(self) -> None:
        """Go to the next pane."""
        numbers = [int((pane.id or "").removeprefix("pane-")) for pane in self._panes()]
        if numbers:
            at = self.focused_pane()
            self.action_pane(next((n for n in numbers if n > at), numbers[0]))

    def focused_pane(self) -> int:
        """The number of the pane with the focus, 0 where none has it."""
        focused = self.focused
        while focused is not None and not (focused.id or "").startswith("pane-"):
            parent = focused.parent
            focused = parent if isinstance(parent, Widget) else None
        return int((focused.id or "0").removeprefix("pane-")) if focused is not None else 0


def footer(screen: Frame) -> Iterable[tuple[str, str]]:
    """The keys that the last line names, each with what it does; pairs as one."""
    done: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        if not binding.show or active.node is not screen or not active.enabled:
            continue
        stem = stem_of(binding)
        if stem in done:
            continue
        done.add(stem)
        if binding.group is not None:
            yield listed(keys_of(screen, stem)), binding.group.description
        else:
            yield shown(binding.key), binding.description


def keys_of(screen: Screen[Any], stem: str) -> list[str]:
    """The keys of the bindings whose id begins with a stem."""
    return [
        shown(active.binding.key)
        for active in screen.active_bindings.values()
        if stem_of(active.binding) == stem
    ]


def stem_of(binding: Binding) -> str:
    """What the bindings of a pair have in common; the id of a single one."""
    name = binding.id or binding.action
    return name.rpartition(".")[0] if binding.group is not None else name
