"""Dialogs: to write, to ask for a line of text, and to tell what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sesstool.text import elide, safe
from sesstool.tui.keys import key
from sesstool.tui.lines import Line, Prose, Span, Table
from sesstool.tui.scroller import Scroller


class WriteDialog(ModalScreen[bool]):
    """Asks before a write: `y` alone says yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("y", "answer(True)", "write", "write.confirm", show=True),
        key("escape,n,q", "answer(False)", "back", "write.back", show=True),
    ]

    def __init__(self, question: str, told: Sequence[Line | Span | str]) -> None:
        """Ask a question, and tell what would be done."""
        super().__init__()
        self._question = question
        self._told = told

    def compose(self) -> ComposeResult:
        """The question, what would be done, and the keys."""
        with Container(id="write", classes="dialog"):
            yield Static(Content(self._question), id="question")
            yield Scroller(Prose(self._told), pick=False, id="told")
            yield Static(Content("Press y to write, esc to go back."), id="how")

    def on_mount(self) -> None:
        """Name it."""
        self.query_one("#write").border_title = "Write"
        self.query_one(Scroller).focus()

    def action_answer(self, yes: bool) -> None:
        """Close with the answer."""
        self.dismiss(yes)


class Ask(ModalScreen[str | None]):
    """Asks for a line of text; None where the person goes back."""

    BINDINGS: ClassVar[list[BindingType]] = [key("escape", "back", "back", "ask.back", show=True)]

    def __init__(self, question: str, *, value: str = "", secret: bool = False) -> None:
        """Ask a question; what is typed as a secret is not shown."""
        super().__init__()
        self._question = question
        self._value = value
        self._secret = secret

    def compose(self) -> ComposeResult:
        """The question and a field."""
        with Container(id="ask", classes="dialog"):
            yield Static(Content(self._question), id="question")
            yield Input(self._value, password=self._secret, id="answer")

    def on_mount(self) -> None:
        """Be ready to type."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with what was typed."""
        self.dismiss(event.value)

    def action_back(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class Choose(ModalScreen[int | None]):
    """Asks for one of some lines; the number from 0, None where the person goes back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "choose", "choose", "choose.this", show=True),
        key("escape,q", "back", "back", "choose.back", show=True),
    ]

    def __init__(self, question: str, lines: Sequence[str]) -> None:
        """Ask a question; the lines are made safe here."""
        super().__init__()
        self._question = question
        self._lines = lines

    def compose(self) -> ComposeResult:
        """The question, and the lines."""
        with Container(id="choose", classes="dialog"):
            yield Static(Content(self._question), id="question")
            yield Scroller(Table(len(self._lines), self._row), id="lines")

    def on_mount(self) -> None:
        """Be ready to choose."""
        self.query_one(Scroller).focus()

    def _row(self, number: int, cells: int) -> Line:
        return [Span(elide(safe(self._lines[number]), cells))]

    def on_scroller_chosen(self, event: Scroller.Chosen) -> None:
        """Take what is clicked twice."""
        self.action_choose()

    def action_choose(self) -> None:
        """Close with the line under the cursor."""
        self.dismiss(self.query_one(Scroller).cursor)

    def action_back(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class Told(ModalScreen[None]):
    """Tells a person something that does not fit into a line; any of its keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("escape,enter,q", "dismiss", "close", "told.close", show=True)
    ]

    def __init__(self, title: str, told: Sequence[Line | Span | str]) -> None:
        """Tell some paragraphs under a title."""
        super().__init__()
        self._title = title
        self._told = told

    def compose(self) -> ComposeResult:
        """One pane."""
        with Container(id="told-box", classes="dialog"):
            yield Scroller(Prose(self._told), pick=False, id="told")

    def on_mount(self) -> None:
        """Name it."""
        self.query_one("#told-box").border_title = Content(self._title).plain
        self.query_one(Scroller).focus()
