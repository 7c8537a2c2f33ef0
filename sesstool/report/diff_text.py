"""A comparison for the terminal: side by side, unified, as counts, and what it did to the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sesstool.diff.compare import Comparison
from sesstool.diff.sides import Side
from sesstool.diff.words import Piece
from sesstool.diff.world import Done, World
from sesstool.report.base import count
from sesstool.report.difference import (
    Cell,
    Fold,
    Fork,
    More,
    Part,
    Row,
    Shown,
    Sign,
    behind_fork,
    not_compared,
    tally,
    without_blobs,
)
from sesstool.text import elide, safe, width

# Where a side by side view has less room, it is no help.
SIDE_BY_SIDE = 100
# Of what a unit says so many lines are shown, unless all is asked for.
_LINES = 12
# A terminal with fewer cells is written to as if it had so many.
_LEAST = 20
_MIDDLE: dict[Sign, str] = {"=": "=", "-": "<", "+": ">", "~": "~", "<": "<", ">": ">"}
_MARKS = {"-": ("[", "]"), "+": ("{", "}"), "=": ("", "")}
_COLORS = {"-": "\x1b[31m", "+": "\x1b[32m", "~": "\x1b[33m", "<": "\x1b[36m", ">": "\x1b[36m"}
_RESET = "\x1b[0m"


class Style:
    """How wide, and whether in colour and with all the text."""

    def __init__(self, columns: int, *, color: bool = False, whole: bool = False) -> None:
        """Take the width of the terminal in cells."""
        self.columns = max(columns, _LEAST)
        self.lines = 1 << 30 if whole else _LINES
        self._color = color

    def paint(self, sign: str, line: str) -> str:
        """A line in the colour of its sign."""
        color = _COLORS.get(sign) if self._color else None
        return f"{color}{line}{_RESET}" if color else line


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
        if isinstance(row, Fork):
            yield "  ↳ fork point"
        elif isinstance(row, Fold):
            yield f"  ⋯ {count(row.size, 'equal unit')} ⋯"
        elif isinstance(row, More):
            yield style.paint(row.sign, f"{row.sign} ⋯ {_more(row)} ⋯")
        else:
            for line in _unified(row, style):
                yield style.paint(line[:1], line)
        if not isinstance(row, Row) or row.sign != "=":
            yield ""


def _more(row: More) -> str:
    return f"{count(row.size, 'more unit')}: --whole shows all"


def _unified(row: Row, style: Style) -> Iterator[str]:
    cell = row.left or row.right
    assert cell is not None
    line = f"{row.left.line}|{row.right.line}" if row.left and row.right else str(cell.line)
    sign = " " if row.sign == "=" else row.sign
    yield f"{sign} {line} {_title(cell)}"
    room = style.columns - 6
    for side, one in (("-", row.left), ("+", row.right)):
        if one is None or (row.sign == "=" and side == "+"):
            continue
        mark = side if row.sign == "~" else sign
        for text in _body(one, side if row.sign == "~" else "", room, style.lines):
            yield f"{mark}     {text}"


def side_by_side(rows: Iterable[Shown], style: Style) -> Iterator[str]:
    """Two columns, with a sign between."""
    room = (style.columns - 3) // 2
    for row in rows:
        if isinstance(row, Fork):
            yield f"{'':{room}} ↳ fork point"
            continue
        if isinstance(row, Fold):
            text = f"   ⋯ {count(row.size, 'equal unit')} ⋯"
            yield f"{text:{room}} = {text}"
            continue
        if isinstance(row, More):
            text = f"{row.sign} ⋯ {_more(row)} ⋯"
            ours, theirs = (text, "") if row.sign in "-<" else ("", text)
            beside = f"{ours:{room}} {_MIDDLE[row.sign]} {theirs}"
            yield style.paint(row.sign, beside.rstrip())
            continue
        left = _column(row.left, "-", row.sign, room, style)
        right = _column(row.right, "+", row.sign, room, style)
        for n in range(max(len(left), len(right))):
            ours = left[n] if n < len(left) else ""
            theirs = right[n] if n < len(right) else ""
            padded = ours + " " * (room - width(ours))
            line = f"{style.paint(ours[:1], padded)} {_MIDDLE[row.sign]} "
            yield (line + style.paint(theirs[:1], theirs)).rstrip()
        if row.sign != "=":
            yield f"{'':{room}} │"


def _column(cell: Cell | None, side: str, sign: Sign, room: int, style: Style) -> list[str]:
    if cell is None:
        return []
    mark = " " if sign == "=" else sign
    lines = [elide(f"{mark} {cell.line} {_title(cell)}", room)]
    body = _body(cell, side if sign == "~" else "", room - 6, style.lines)
    return lines + [f"{mark}     {text}" for text in body]


def _title(cell: Cell) -> str:
    note = f"  ({cell.note})" if cell.note else ""
    return safe(cell.title + note)


def _body(cell: Cell, side: str, room: int, most: int) -> Iterator[str]:
    """What a unit says on one side, in lines that fit; `side` is "" where both say the same."""
    lines = [line for part in cell.parts for line in _part(part, side, room)]
    # A line more costs no more room than the word of it.
    if len(lines) <= most + 1:
        yield from lines
        return
    yield from lines[:most]
    yield f"… {count(len(lines) - most, 'more line')}"


def _part(part: Part, side: str, room: int) -> Iterator[str]:
    """The lines of a part, its name before them; what changed is in brackets."""
    text = "".join(_marked(piece, side) for piece in part.pieces if piece.sign in ("=", side))
    name = f"{safe(part.name)}: " if part.name else ""
    text = without_blobs(text)
    lines = text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    for n, line in enumerate(lines):
        yield from _wrapped((name if n == 0 else "") + safe(line), room)


def _marked(piece: Piece, side: str) -> str:
    before, behind = _MARKS[piece.sign] if side else ("", "")
    body = piece.text.rstrip("\n")
    return f"{before}{body}{behind}{piece.text[len(body) :]}" if body else piece.text


def _wrapped(line: str, room: int) -> list[str]:
    """A safe line in lines that fit, by cells."""
    if width(line) <= room:
        return [line]
    if line.isascii():
        return list(_cut(line, max(room, 1)))
    lines, held, cells = [], "", 0
    for char in line:
        size = width(char)
        if cells + size > room and held:
            lines.append(held)
            held, cells = "", 0
        held += char
        cells += size
    return [*lines, held]


def _cut(line: str, room: int) -> Iterator[str]:
    """A line cut behind spaces where it has any."""
    start = 0
    while len(line) - start > room:
        space = line.rfind(" ", start + 1, start + room + 1)
        end = space + 1 if space > 0 else start + room
        yield line[start:end].rstrip(" ") or line[start:end]
        start = end
    yield line[start:]


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
