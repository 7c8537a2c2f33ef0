"""A comparison for the terminal: side by side, unified, as counts, and what it did to the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sesstool.diff.compare import Comparison
from sesstool.diff.sides import Side
from sesstool.diff.world import Done, World
from sesstool.report import diff_lines
from sesstool.report.amounts import count
from sesstool.report.diff_lines import Line
from sesstool.report.difference import Shown, behind_fork, not_compared, tally
from sesstool.text import safe

# Of what a unit says so many lines are shown, unless all is asked for.
_LINES = 12
# A terminal with fewer cells is written to as if it had so many.
_LEAST = 20
_COLORS = {"-": "\x1b[31m", "+": "\x1b[32m", "~": "\x1b[33m", "<": "\x1b[36m", ">": "\x1b[36m"}
_RESET = "\x1b[0m"


class Style:
    """How wide, and whether in colour and with all the text."""

    def __init__(self, columns: int, *, color: bool = False, whole: bool = False) -> None:
        """Take the width of the terminal in cells."""
        self.columns = max(columns, _LEAST)
        self.lines = 1 << 30 if whole else _LINES
        self._color = color

    def paint(self, line: Line) -> str:
        """A line, its pieces in the colours of their signs."""
        return "".join(self._painted(*tint) for tint in line)

    def _painted(self, text: str, sign: str) -> str:
        color = _COLORS.get(sign) if self._color else None
        return f"{color}{text}{_RESET}" if color and text else text


def head(comparison: Comparison) -> Iterator[str]:
    """What is compared, and how it is related."""
    for sign, side in (("-", comparison.left), ("+", comparison.right)):
        about = f"{side.format.title} session {safe(side.session) or '(no id)'}"
        yield f"{sign * 3} {safe(str(side.name))}  {about}, {count(side.records, 'record')}"
        yield from (f"    {safe(gap)}" for gap in not_compared(side))
    one, other = comparison.fork
    left, right = comparison.left, comparison.right
    where = (
        f"fork at {_at(left, one)} | {_at(right, other)}" if one >= 0 else "nothing shared first"
    )
    if not comparison.differs:
        where = "no difference"
    elif one >= 0 and not behind_fork(comparison):
        where = "the same was said, in other envelopes"
    yield f"    {comparison.lineage}; {where}"


def _at(side: Side, number: int) -> str:
    file = Path(side.file(number)).name
    # A fork by reference begins in the file of its parent.
    elsewhere = "" if file == Path(side.name.path).name else f" of {safe(file)}"
    return f"line {side.line(number)}{elsewhere}"


def unified(rows: Iterable[Shown], style: Style) -> Iterator[str]:
    """One column: what is on the left only, then what is on the right only."""
    for row in rows:
        yield from map(style.paint, diff_lines.unified(row, style.columns, style.lines))


def side_by_side(rows: Iterable[Shown], style: Style) -> Iterator[str]:
    """Two columns, with a sign between."""
    for row in rows:
        for line in diff_lines.beside(row, style.columns, style.lines):
            yield style.paint(line).rstrip()


def stat(comparison: Comparison) -> Iterator[str]:
    """How many units of each kind are shared, changed, moved, or on one side only."""
    yield f"{'':14}{'equal':>9}{'changed':>9}{'moved':>9}{'left only':>11}{'right only':>12}"
    every = Counter[str]()
    for kind, found in tally(comparison):
        yield _counts(f"{kind}s", found)
        every += found
    yield _counts("all", every)


def _counts(name: str, found: Counter[str]) -> str:
    numbers = (found["equal"], found["changed"], found["moved"])
    shown = "".join(f"{n:9}" for n in numbers)
    return f"{name:14}{shown}{found['left']:11}{found['right']:12}"


def world_lines(found: World) -> Iterator[str]:
    """What either side did to the world since they parted."""
    yield "what may have changed in the world"
    for name, calls in (("left", found.left), ("right", found.right)):
        yield f"  {name} side, behind the fork: {count(len(calls), 'call')}"
        yield from _calls(calls)
    yield f"  both sides touched: {count(len(found.both), 'file')}"
    for path in found.both:
        yield f"    {safe(path)}"
    yield f"  inherited by both, done once: {count(len(found.inherited), 'call')}"
    yield from _calls(found.inherited)


def _calls(calls: Iterable[Done]) -> Iterator[str]:
    for done in calls:
        for effect in done.effects:
            target = safe(effect.target) or "(something unknown)"
            yield f"    {done.line:>6}  {effect.kind:8} {safe(done.tool)}: {target}"
