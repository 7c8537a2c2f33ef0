"""A comparison as blocks of lines: one block a row, read and laid out when it is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sesstool.api.diffing import FACTS, Comparison, Kind
from sesstool.report import diff_lines
from sesstool.report.amounts import count
from sesstool.report.diff_lines import Tint
from sesstool.report.difference import Fold, Row, Rows
from sesstool.text import elide, safe
from sesstool.tui.lines import Line, Numbered, Span, column, cut

_STYLES = {"-": "removed", "+": "added", "~": "changed", "<": "tool", ">": "tool"}
# Of one side so many lines are shown, folded and whole.
FOLDED, WHOLE = 12, 2000
# Rows of larger records, in bytes of both sides, take too long to be compared while they are drawn.
_HEAVY = 1 << 14
_CONTEXT = 2


class Changes(Numbered):
    """The rows of a comparison, side by side or `unified`.

    `late` is asked for rows that take long, with the width: whoever does it gives the lines to
    `laid`. Until then there is a word in their place.
    """

    def __init__(
        self,
        comparison: Comparison,
        signs: Callable[[str], str] = str,
        late: Callable[[int, int], None] | None = None,
    ) -> None:
        """Show a comparison; without `late` every row is laid out at once."""
        self.comparison = comparison
        self.unified = False
        self.folds = True
        self.whole = False
        self._opened: set[int] = set()
        self._signs = signs
        self._late = late
        self.laid: dict[tuple[int, int], list[Line]] = {}
        self.rows = Rows(comparison)
        super().__init__(len(self.rows))

    def fold(self, *, folds: bool | None = None, opened: int | None = None) -> None:
        """Fold what is equal, or show all of it; or open the one fold in a row."""
        if opened is not None:
            self._opened.add(self.rows.place(opened))
        if folds is not None:
            self.folds = folds
            self._opened.clear()
        context = _CONTEXT if self.folds else 1 << 30
        self.rows = Rows(self.comparison, context, whole=self._opened)
        self.total = len(self.rows)
        self.laid.clear()

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `lines.Blocks`."""
        found = self.laid.get((key, cells))
        if found is not None:
            return found
        if self._late is not None and self._is_heavy(key):
            self._late(key, cells)
            return [(Span("  comparing a long record", "dim"),), ()]
        return self.lay(key, cells)

    def lay(self, key: int, cells: int) -> list[Line]:
        """The lines of a row."""
        row, most = self.rows[key], WHOLE if self.whole else FOLDED
        show = diff_lines.unified if self.unified else diff_lines.beside
        if isinstance(row, Row):
            return [[_span(tint) for tint in line] for line in show(row, cells, most)] or [()]
        # Their words are the app's own.
        style = "dim" if isinstance(row, Fold) else "assistant"
        return [
            cut([Span(self._signs(tint.text), style) for tint in line], cells)
            for line in show(row, cells, most)
        ]

    def _is_heavy(self, key: int) -> bool:
        left, right = self.rows.units(key)
        size = 0
        for side, unit in ((self.comparison.left, left), (self.comparison.right, right)):
            if unit is not None:
                start, end = side.span(unit)
                size += end - start
        return size > _HEAVY

    def head(self, cells: int) -> str:
        """What stands on either side, over the columns."""
        found = self.comparison
        left, right = (
            f"{name}  {count(side.records, 'record')}"
            for name, side in zip(self.names, (found.left, found.right), strict=True)
        )
        if self.unified:
            return elide(f"- {left}   + {right}", cells)
        room = max((cells - 3) // 2, 1)
        return column(left, room) + self._signs(" │ ") + elide(right, room)

    @property
    def names(self) -> list[str]:
        """What the sides are called: by session, else by file, and the end of a branch."""
        sides = (self.comparison.left, self.comparison.right)
        ids = [side.session for side in sides]
        # As much of them as tells them apart.
        short = (slice(8), slice(13), slice(-8, None))
        cut = next((one for one in short if ids[0][one] != ids[1][one]), None)
        if all(ids) and (cut or any(side.name.leaf for side in sides)):
            names = [name[cut or short[0]] for name in ids]
        else:
            names = [Path(side.name.path).stem for side in sides]
        leaves = [f"@{side.name.leaf}" if side.name.leaf else "" for side in sides]
        return [safe(name + leaf) for name, leaf in zip(names, leaves, strict=True)]

    def tally(self) -> str:
        """How much is equal, changed and so on, and what is ignored."""
        counts = self.comparison.counts
        parts = [f"{counts['equal']:,} equal"]
        words: dict[Kind, str] = {
            "changed": "changed",
            "left": "only left",
            "right": "only right",
            "moved": "moved",
        }
        parts += [f"{counts[kind]:,} {word}" for kind, word in words.items() if counts[kind]]
        ignored = [fact for fact in FACTS if fact not in self.comparison.told]
        parts.append(f"ignored: {', '.join(ignored) or 'nothing'}")
        return self._signs(" · ".join(parts))

    def plain(self, key: int) -> str:
        """A row as text, unified and whole."""
        lines = diff_lines.unified(self.rows[key], 1 << 20, 1 << 30)
        return "\n".join("".join(tint.text for tint in line) for line in lines).rstrip("\n")


def _span(tint: Tint) -> Span:
    return Span(tint.text, _STYLES.get(tint.sign, ""))
