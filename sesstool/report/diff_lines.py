"""The rows of a comparison as lines of plain text: side by side, or unified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sesstool.diff.words import Piece
from sesstool.report.amounts import count
from sesstool.report.difference import (
    Cell,
    Fold,
    Fork,
    More,
    Part,
    Row,
    Shown,
    Sign,
    without_blobs,
)
from sesstool.text import elide, safe, width

# Where a side by side view has less room, it is no help.
SIDE_BY_SIDE = 100
_MIDDLE: dict[Sign, str] = {"=": "=", "-": "<", "+": ">", "~": "~", "<": "<", ">": ">"}
_MARKS = {"-": ("[", "]"), "+": ("{", "}"), "=": ("", "")}


class Tint(NamedTuple):
    """A safe text, and the sign of the difference that it tells of, "" for none."""

    text: str
    sign: str = ""


Line = Sequence[Tint]


def unified(row: Shown, columns: int, most: int) -> Iterator[Line]:
    """A row in one column: what is on the left only, then what is on the right only.

    Of what a unit says so many lines are shown at `most`.
    """
    if isinstance(row, Fork):
        yield (Tint("  ↳ fork point"),)
    elif isinstance(row, Fold):
        yield (Tint(f"  ⋯ {count(row.size, 'equal unit')} ⋯"),)
    elif isinstance(row, More):
        yield (Tint(f"{row.sign} ⋯ {_more(row)} ⋯", row.sign),)
    else:
        for line in _unified(row, columns, most):
            yield (Tint(line, line[:1].strip()),)
    if not isinstance(row, Row) or row.sign != "=":
        yield ()


def _more(row: More) -> str:
    return f"{count(row.size, 'more unit')}: --whole shows all"


def _unified(row: Row, columns: int, most: int) -> Iterator[str]:
    cell = row.left or row.right
    assert cell is not None
    line = f"{row.left.line}|{row.right.line}" if row.left and row.right else str(cell.line)
    sign = " " if row.sign == "=" else row.sign
    yield f"{sign} {line} {_title(cell)}"
    room = columns - 6
    for side, one in (("-", row.left), ("+", row.right)):
        if one is None or (row.sign == "=" and side == "+"):
            continue
        mark = side if row.sign == "~" else sign
        for text in _body(one, side if row.sign == "~" else "", room, most):
            yield f"{mark}     {text}"


def beside(row: Shown, columns: int, most: int) -> Iterator[Line]:
    """A row in two columns of one height, with a sign between; `most` as in `unified`."""
    room = (columns - 3) // 2
    if isinstance(row, Fork):
        yield (Tint(f"{'':{room}} ↳ fork point"),)
    elif isinstance(row, Fold):
        text = f"   ⋯ {count(row.size, 'equal unit')} ⋯"
        yield (Tint(f"{text:{room}} = {text}"),)
    elif isinstance(row, More):
        text = f"{row.sign} ⋯ {_more(row)} ⋯"
        ours, theirs = (text, "") if row.sign in "-<" else ("", text)
        yield (Tint(f"{ours:{room}} {_MIDDLE[row.sign]} {theirs}".rstrip(), row.sign),)
    else:
        left = _column(row.left, "-", row.sign, room, most)
        right = _column(row.right, "+", row.sign, room, most)
        for n in range(max(len(left), len(right))):
            ours = left[n] if n < len(left) else ""
            theirs = right[n] if n < len(right) else ""
            yield (
                Tint(ours + " " * (room - width(ours)), ours[:1].strip()),
                Tint(f" {_MIDDLE[row.sign]} "),
                Tint(theirs, theirs[:1].strip()),
            )
        if row.sign != "=":
            yield (Tint(f"{'':{room}} │"),)


def _column(cell: Cell | None, side: str, sign: Sign, room: int, most: int) -> list[str]:
    if cell is None:
        return []
    mark = " " if sign == "=" else sign
    lines = [elide(f"{mark} {cell.line} {_title(cell)}", room)]
    body = _body(cell, side if sign == "~" else "", room - 6, most)
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
