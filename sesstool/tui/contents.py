"""The places of a session in a list: prompts, compactions, branches, subagents, findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sesstool.api.viewing import View
from sesstool.findings import Finding, Severity
from sesstool.text import safe
from sesstool.tui.lines import Line, Span, column, spread

_LEGEND = (
    "✓ completed  ✗ failed",
    "… pending    ? uncertain",
    "! finding    ↳ branch",
    "≡ compaction",
)


# The kinds of rows that stand behind those that are in the order of the file.
BEHIND = ("subagents", "file", "end")


class Item(NamedTuple):
    """A row of the list: what stands there, and where; `file` is another file that it opens."""

    kind: str
    start: int = -1
    words: str = ""
    file: Path | None = None


def items(view: View, findings: Sequence[Finding], files: Sequence[Path]) -> list[Item]:
    """The rows, in the order of the file."""
    rows: list[Item] = [Item("main", view.places.numbered(1) or 0)]
    outline = view.outline
    if outline is not None:
        inside = [
            Item(mark, start)
            for mark in ("prompt", "compaction", "branch", "damage")
            for start in outline.marks[mark]
        ]
        told = {item.start for item in inside if item.kind == "damage"}
        inside += [
            Item("finding", f.location.start, f"{f.code} {f.name}")
            for f in findings
            if f.severity is not Severity.INFORMATION and f.location.start not in told
        ]
        # At one place what is wrong comes last.
        order = {"branch": 0, "compaction": 1, "prompt": 2, "finding": 3, "damage": 3}
        rows += sorted(inside, key=lambda item: (item.start, order[item.kind]))
        if outline.scopes or files:
            rows.append(Item("subagents"))
            starts = outline.marks["subagent"]
            for start, (scope, count) in zip(starts, outline.scopes.items(), strict=True):
                rows.append(Item("subagent", start, f"{scope[:12]}  {count:,}"))
        rows += [Item("file", -1, path.stem, path) for path in files]
    last = view.places.last()
    rows.append(Item("end", last if last is not None else 0))
    return rows


class Contents:
    """Draws the rows; the words of a prompt are read when its row is seen."""

    def __init__(self, view: View, rows: Sequence[Item], signs: Callable[[str], str]) -> None:
        """Take the rows of a view."""
        self.view = view
        self.rows = rows
        self._signs = signs

    def draw(self, number: int, cells: int) -> Line:
        """A row."""
        item = self.rows[number]
        if item.kind == "main":
            outline = self.view.outline
            count = f"{outline.records:,}" if outline and outline.done else ""
            return spread([Span(self._signs("▾ main"), "strong")], [Span(count, "dim")], cells)
        if item.kind == "subagents":
            return [Span(self._signs("▾ subagents"), "strong")]
        if item.kind == "file":
            return [Span("    "), Span(safe(item.words), "assistant")]
        if item.kind == "subagent":
            return [Span("    "), Span(safe(item.words))]
        return list(self._place(item))

    def _place(self, item: Item) -> Iterator[Span]:
        line = self.view.places.number(item.start)
        yield Span("  " + column(f"{line}" if line else "·", 7, right=True) + " ", "dim")
        if item.kind == "prompt":
            said = self.view.look(item.start).passages
            text = next((p.text for p in said if p.kind == "message"), "")
            yield Span(safe(text.strip().split("\n", 1)[0][:200]))
        elif item.kind == "compaction":
            yield Span(self._signs("≡ compaction"), "warn")
        elif item.kind == "branch":
            yield Span(self._signs("↳ branch"), "assistant")
        elif item.kind == "damage":
            yield Span("! no record", "bad")
        elif item.kind == "finding":
            yield Span(f"! {item.words}", "warn")
        else:
            yield Span(item.kind, "dim")

    def legend(self) -> list[Span]:
        """What the signs mean."""
        return [Span(self._signs(line), "dim") for line in _LEGEND]
