"""A comparison as rows to be shown, whatever shows them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from sesstool.diff.compare import Change, Comparison, told_apart
from sesstool.diff.fields import MISSING, changed_fields
from sesstool.diff.sides import Side
from sesstool.diff.words import Piece, lines, too_long, words
from sesstool.model.passages import title
from sesstool.model.units import KINDS, Unit, canonical
from sesstool.report.base import count

# No word of any language is so long.
_BLOB = re.compile(r"[A-Za-z0-9+/]{400,}={0,2}")
# Longer texts are compared by their lines.
_LONG = 2000
_SHORT = 100
# Scattered words that happen to be the same tell nothing, if they are less than one of so many.
_LITTLE = 6
Sign = Literal["=", "-", "+", "~", "<", ">"]
"""Equal, on the left only, on the right only, changed; moved: stands here on that side."""


@dataclass(slots=True)
class Part:
    """A piece of what a unit says: of a call one field, named, of all others the whole.

    The pieces of a side are those of its own sign and those that both have.
    """

    name: str
    pieces: list[Piece]


@dataclass(slots=True)
class Cell:
    """A unit on one side: the line of its record, what it is, and what it says.

    `note` tells what is to be known beside that, "" where there is nothing.
    """

    line: int
    title: str
    parts: list[Part] = field(default_factory=list)
    note: str = ""


class Row(NamedTuple):
    """What stands side by side; `number` counts the differences from 1, and is 0 for none."""

    sign: Sign
    left: Cell | None
    right: Cell | None
    number: int = 0


class Fold(NamedTuple):
    """So many equal units that are not shown."""

    size: int


class More(NamedTuple):
    """So many units of one stretch that are not shown: on one side only, or moved."""

    sign: Sign
    size: int


class Fork(NamedTuple):
    """Where the sides part."""


Shown = Row | Fold | More | Fork


def rows(comparison: Comparison, context: int = 2, most: int = 1 << 30) -> Iterator[Shown]:
    """What is to be shown, in order.

    Of what is equal that is `context` units around differences, of a stretch that is on one side
    only the first `most`.
    """
    number = 0
    changes = comparison.changes
    for place, change in enumerate(changes):
        if change.kind == "equal":
            before, behind = place > 0, place + 1 < len(changes)
            yield from _equal(
                comparison, change, context if before else 0, context if behind else 0
            )
        else:
            for row in _different(comparison, change, most):
                number += isinstance(row, Row)
                yield row._replace(number=number) if isinstance(row, Row) else row
        forked = change.left <= comparison.fork[0] < change.left_end
        if forked and change.kind != "moved" and behind_fork(comparison):
            yield Fork()


def behind_fork(comparison: Comparison) -> bool:
    """Whether anything that was said differs behind what both share from the beginning on."""
    return comparison.fork[0] >= 0 and any(c.kind != "equal" for c in comparison.said)


def outline(comparison: Comparison) -> Iterator[tuple[Sign, int | None, int | None]]:
    """The sign and the units of each difference, in the order in which `rows` counts them."""
    for change in comparison.changes:
        if change.kind == "changed":
            yield "~", change.left, change.right
        elif change.kind != "equal":
            moved = change.kind == "moved"
            for n in range(change.left, change.left_end):
                yield "<" if moved else "-", n, None
            for n in range(change.right, change.right_end):
                yield ">" if moved else "+", None, n


def tally(comparison: Comparison) -> Iterator[tuple[str, Counter[str]]]:
    """How many units of each kind are "equal", "changed", "moved", and on the "left" or "right".

    Kinds of which there are none are left out. Of what moved, one of both counts.
    """
    left, right = comparison.left, comparison.right
    table: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for change in comparison.changes:
        for n in range(change.left, change.left_end):
            table[left.kind(n)][change.kind] += 1
        if change.kind == "right":
            for n in range(change.right, change.right_end):
                table[right.kind(n)]["right"] += 1
    return ((kind, found) for kind, found in table.items() if found)


def not_compared(side: Side) -> Iterator[str]:
    """What of a side the comparison does not know of, a sentence each."""
    if side.damaged:
        yield f"{count(side.damaged, 'piece')} that cannot be read as a record: not compared"
    if side.missing:
        yield f"{side.missing}: what stands there is not compared"


def _equal(
    comparison: Comparison, change: Change, before: int, behind: int
) -> Iterator[Row | Fold]:
    """The ends of what is equal next to differences, with the middle folded."""
    size = change.left_end - change.left
    shown = [*range(min(before, size)), *range(max(size - behind, min(before, size)), size)]
    folded = size - len(shown)
    for n in shown:
        if folded and n >= before:
            yield Fold(folded)
            folded = 0
        left = _cell(comparison.left, change.left + n)
        if comparison.left.kind(change.left + n) == "call":  # its arguments may be in another order
            right = _cell(comparison.right, change.right + n)
        else:
            right = replace(left, line=comparison.right.line(change.right + n))
        yield Row("=", left, right)
    if folded:
        yield Fold(folded)


def _different(comparison: Comparison, change: Change, most: int) -> Iterator[Row | More]:
    left, right = comparison.left, comparison.right
    if change.kind == "changed":
        yield Row("~", *_both(comparison, change.left, change.right))
        return
    moved = change.kind == "moved"
    for n in range(change.left, min(change.left_end, change.left + most)):
        there = right.line(change.elsewhere + n - change.left) if moved else 0
        cell = _cell(left, n, _note(comparison, 0, n, there))
        yield Row("<" if moved else "-", cell, None)
    for n in range(change.right, min(change.right_end, change.right + most)):
        there = left.line(change.elsewhere + n - change.right) if moved else 0
        cell = _cell(right, n, _note(comparison, 1, n, there))
        yield Row(">" if moved else "+", None, cell)
    on_left = change.left_end > change.left
    size = (change.left_end - change.left if on_left else change.right_end - change.right) - most
    if size > 0:
        signs: tuple[Sign, Sign] = ("<", ">") if moved else ("-", "+")
        yield More(signs[not on_left], size)


def _note(comparison: Comparison, side: int, number: int, there: int) -> str:
    """Where a unit is on the other side, or what it means where the common ancestor is known."""
    if there:
        return f"moved: line {there} there"
    if comparison.based is None:
        return ""
    other = ("right", "left")[side]
    return f"the {other} side took it out" if comparison.based[side][number] else "new here"


def _cell(side: Side, number: int, note: str = "") -> Cell:
    unit = side.unit(number)
    return Cell(side.line(number), title(unit), list(_plain(unit)), note)


def _plain(unit: Unit) -> Iterator[Part]:
    if unit.kind == "call" and type(unit.content) is dict:
        for name, value in unit.content.items():
            yield Part(name, [Piece("=", shown(value))])
    elif unit.words:
        yield Part("", [Piece("=", unit.words)])


def shown(value: Any) -> str:
    """A value of an argument: text as it is, all else as JSON."""
    return value if type(value) is str else canonical(value).decode("utf-8", "replace")


def _both(comparison: Comparison, one: int, other: int) -> tuple[Cell, Cell]:
    """The cells of a unit that changed, both with the pieces of both."""
    left, right = comparison.left, comparison.right
    parts = changed_parts(comparison, one, other)
    ours, theirs = title(left.unit(one)), title(right.unit(other))
    coarse = "too long to compare by lines" if any(map(_is_coarse, parts)) else ""
    note = "; ".join(filter(None, (_changed_by(comparison, one, other), coarse)))
    return Cell(left.line(one), ours, parts, note), Cell(right.line(other), theirs, parts, note)


def _changed_by(comparison: Comparison, one: int, other: int) -> str:
    """Which side changed a unit, where the common ancestor is known."""
    if comparison.based is None:
        return ""
    ours, theirs = comparison.based[0][one], comparison.based[1][other]
    if ours and theirs:
        return ""
    if ours or theirs:
        return f"the {'right' if ours else 'left'} side changed it"
    return "new, or changed by both sides"


def _is_coarse(part: Part) -> bool:
    """Whether a part that changed has too many lines for all of its changes to be found."""
    # What both have counts on both sides.
    return too_long(sum(p.text.count("\n") * (2 if p.sign == "=" else 1) for p in part.pieces))


def changed_parts(comparison: Comparison, one: int, other: int) -> list[Part]:
    """What changed in a unit: the facts of its envelope that were asked for, and what it says."""
    left, right = comparison.left, comparison.right
    facts = told_apart(left, one, right, other, comparison.told)
    parts = [_replaced(name, ours, theirs) for name, ours, theirs in facts]
    a, b = left.unit(one), right.unit(other)
    parts += _changed(a, b)
    if a.key() == b.key():
        calls = left.answers[one], right.answers[other]
        if min(calls) >= 0 and left.nth_call(calls[0]) != right.nth_call(calls[1]):
            ours, theirs = _call(left, calls[0]), _call(right, calls[1])
            parts.insert(0, _replaced("answers", ours, theirs))
    elif not any(piece.sign != "=" for part in parts for piece in part.pieces):
        # Values that mean the same and are written otherwise, such as 1 and 1.0.
        parts.append(_replaced("as written", a.words, b.words))
    return parts


def _replaced(name: str, left: str, right: str) -> Part:
    return Part(name, compared(left, right))


def _call(side: Side, number: int) -> str:
    return f"call {side.nth_call(number)} of its turn, {side.unit(number).name}"


def _changed(a: Unit, b: Unit) -> Iterator[Part]:
    if a.name != b.name:
        yield _replaced("tool" if a.kind == "call" else "role", a.name, b.name)
    if a.error != b.error:
        yield _replaced("failed", *("yes" if unit.error else "no" for unit in (a, b)))
    if a.kind == "call":
        yield from _same_fields(a.content, b.content)
        for change in changed_fields(a.content, b.content):
            texts = ("" if v is MISSING else shown(v) for v in (change.left, change.right))
            yield Part(change.pointer.removeprefix("/"), compared(*texts))
    else:
        yield Part("", compared(a.words, b.words))


def _same_fields(left: Any, right: Any) -> Iterator[Part]:
    """The short arguments that both calls were given: they tell what the others are about."""
    if type(left) is dict and type(right) is dict:
        for name, value in left.items():
            text = shown(value)
            if len(text) <= _SHORT and name in right and shown(right[name]) == text:
                yield Part(name, [Piece("=", text)])


def without_blobs(text: str) -> str:
    """A text for people: pictures and the like in base64 as what tells them from each other."""
    return _BLOB.sub(_told, text)


def _told(blob: re.Match[str]) -> str:
    if not all(re.search(kind, blob[0]) for kind in ("[a-z]", "[A-Z]", "[0-9]")):
        return blob[0]  # a line that somebody drew, say
    digest = hashlib.sha256(blob[0].encode()).hexdigest()[:8]
    return f"({len(blob[0])} characters of base64, sha256 {digest})"


def compared(left: str, right: str) -> list[Piece]:
    """Two texts as pieces: by words, long ones by lines, each as one where little is the same."""
    pieces = (lines if len(left) + len(right) > _LONG else words)(left, right)
    same = sum(len(piece.text.strip()) for piece in pieces if piece.sign == "=")
    if same * _LITTLE < len(left) + len(right):
        return [Piece(sign, text) for sign, text in (("-", left), ("+", right)) if text]
    return pieces
