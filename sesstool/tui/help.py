"""The help: made of the bindings themselves, so that it cannot say what is not so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen, Screen

from sesstool.tui.frame import stem_of
from sesstool.tui.keys import key, listed, shown
from sesstool.tui.lines import Line, Prose, Span, column
from sesstool.tui.scroller import Scroller

_KEYS, _WHAT = 14, 33
# So many cells has a terminal in which two columns are not cut, with the frame around them.
_TWO = 104
_GROUPS = ("This screen", "Moving", "Everywhere", "Writing (asks, and can be undone)")


class Help(ModalScreen[None]):
    """The keys of the screen below it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("question_mark,escape,q", "dismiss", "close", "help.close", show=True),
        key("f2", "names", "the names of the keys, for [keys] in the settings", "help.names"),
    ]

    def __init__(self, below: Screen[Any]) -> None:
        """Show the keys of a screen."""
        super().__init__()
        self._below = below
        self._names = False

    def compose(self) -> ComposeResult:
        """One pane."""
        with Container(id="help", classes="dialog"):
            yield Scroller(pick=False, id="keys")

    def on_mount(self) -> None:
        """Show the keys."""
        self.query_one("#help").border_title = "Help"
        self._fill()
        self.query_one(Scroller).focus()

    def action_names(self) -> None:
        """Show the ids of the bindings, or what they do."""
        self._names = not self._names
        self._fill()

    def _fill(self) -> None:
        scroller = self.query_one(Scroller)
        signs = getattr(self.app, "signs", str)
        two = not self._names and self.size.width >= _TWO
        lines = _lines(self._below, signs, names=self._names, columns=2 if two else 1)
        scroller.show(Prose(list(lines)))


def _lines(
    screen: Screen[Any], signs: Callable[[str], str], *, names: bool, columns: int
) -> Iterator[Line | Span | str]:
    groups = grouped(screen)
    for title in _GROUPS:
        rows = list(_rows(groups[title], names=names))
        if not rows:
            continue
        yield (Span(title, "strong"),)
        half = -(-len(rows) // columns)
        for n in range(half):
            spans: list[Span] = []
            here = rows[n::half]
            for keys, what in here:
                last = (keys, what) == here[-1]
                spans.append(Span(column(signs(keys), _KEYS), "tool"))
                spans.append(Span(what if last else column(what, _WHAT)))
            yield tuple(spans)
        yield ""
    yield (
        Span(
            "? or esc closes. Keys are changed in config.toml under [keys]; F2 names them.", "dim"
        ),
    )


def _rows(bindings: Iterable[Binding], *, names: bool) -> Iterator[tuple[str, str]]:
    found: dict[str, tuple[list[str], str]] = {}
    for binding in bindings:
        stem = (binding.id or binding.action) if names else stem_of(binding)
        what = binding.description
        if binding.group is not None and not names:
            what = binding.group.description
            if binding.description.startswith("previous "):
                what = f"previous, next {what}"
        keys, _ = found.setdefault(stem, ([], f"{stem}  {what}" if names else what))
        if shown(binding.key) not in keys:
            keys.append(shown(binding.key))
    yield from ((listed(keys), what) for keys, what in found.values())


def grouped(screen: Screen[Any]) -> dict[str, list[Binding]]:
    """The bindings that count on a screen, by the headings of the help."""
    groups: dict[str, list[Binding]] = {title: [] for title in _GROUPS}
    for active in screen.active_bindings.values():
        binding, node = active.binding, active.node
        if binding.system or not binding.id:
            continue
        if binding.id.startswith("write."):
            title = _GROUPS[3]
        elif isinstance(node, Scroller) or binding.id.startswith(("move.", "pane.")):
            title = _GROUPS[1]
        elif node is screen:
            title = _GROUPS[0]
        else:
            title = _GROUPS[2]
        groups[title].append(binding)
    return groups
