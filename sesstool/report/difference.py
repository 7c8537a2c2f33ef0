"""A comparison as rows to be shown, whatever shows them."""

from __future__ import annotations

import hashlib
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, overload

from sesstool.diff.compare import Change, Comparison, told_apart
from sesstool.diff.fields import MISSING, changed_fields
from sesstool.diff.sides import Side
from sesstool.diff.words import Piece, lines, too_long, words
from sesstool.model.passages import title
from sesstool.model.units import KINDS, Unit, canonical
from sesstool.report.amounts import count

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


class Rows(Sequence[Shown]):
    """What is to be shown, in order; a row is read when it is asked for.

    Of what is equal that is `context` units around differences, all of it in the changes of the
    numbers in `whole`; of a stretch that is on one side only the first `most`.
    """

    def __init__(
        self,
        comparison: Comparison,
        context: int = 2,
        most: int = 1 << 30,
        whole: Container[int] = (),
    ) -> None:
        """Count the rows; nothing is read."""
        self.comparison = comparison
        self._context = context
        self._most = most
        self._whole = whole
        # For each change its first row, and how many differences, and changes that are such, there
        # are before it; of the latter itself is included.
        self._firsts, self._numbers, self._ranks = array("q"), array("q"), array("q")
        total = number = rank = 0
        fork = behind_fork(comparison)
        self._fork = -1
        for place, change in enumerate(comparison.changes):
            self._firsts.append(total)
            self._numbers.append(number)
            rank += change.kind != "equal"
            self._ranks.append(rank)
            if change.kind == "equal":
                head, folded, tail = self._parts(place)
                total += head + bool(folded) + tail
            elif change.kind == "changed":
                total += 1
                number += 1
            else:
                size = max(change.left_end - change.left, change.right_end - change.right)
                total += min(size, most) + (size > most)
                number += min(size, most)
            forked = change.left <= comparison.fork[0] < change.left_end
            if fork and forked and change.kind != "moved":
                self._fork = total
                total += 1
        self._total = total
        self.differences = rank
        """How many changes are differences."""

    def __len__(self) -> int:
        """How many rows there are."""
        return self._total

    @overload
    def __getitem__(self, number: int) -> Shown: ...

    @overload
    def __getitem__(self, number: slice) -> list[Shown]: ...

    def __getitem__(self, number: int | slice) -> Shown | list[Shown]:
        """Read a row."""
        if isinstance(number, slice):
            return [self[n] for n in range(self._total)[number]]
        if not 0 <= number < self._total:
            raise IndexError(number)
        place, nth = self._at(number)
        comparison, change = self.comparison, self.comparison.changes[place]
        if number == self._fork:
            return Fork()
        if change.kind == "equal":
            head, folded, _ = self._parts(place)
            if folded and nth == head:
                return Fold(folded)
            at = nth if nth < head else nth - bool(folded) + folded
            return _equal(comparison, change.left + at, change.right + at)
        size = max(change.left_end - change.left, change.right_end - change.right)
        if change.kind != "changed" and nth == self._most:
            return More(_sign(change), size - self._most)
        return _different(comparison, change, nth, self._numbers[place] + nth + 1)

    def units(self, number: int) -> tuple[int | None, int | None]:
        """The units of a row on both sides; None where a side has none."""
        if number == self._fork:
            return None, None
        place, nth = self._at(number)
        change = self.comparison.changes[place]
        if change.kind == "equal":
            head, folded, _ = self._parts(place)
            if folded and nth == head:
                return None, None
            nth += folded - 1 if folded and nth > head else 0
        elif change.kind != "changed" and nth == self._most:
            return None, None
        left = change.left + nth if change.left_end > change.left else None
        return left, change.right + nth if change.right_end > change.right else None

    def place(self, number: int) -> int:
        """The number of the change that a row is of."""
        return self._at(number)[0]

    def first(self, place: int) -> int:
        """The first row of the change of a number."""
        return self._firsts[place]

    def rank(self, number: int) -> int:
        """How many changes that are differences begin at a row or before it."""
        return self._ranks[self._at(number)[0]]

    def following(self, number: int, step: int) -> int | None:
        """The row where the next difference begins (`step` 1), or the one before a row (-1)."""
        place, nth = self._at(number)
        place += step if step > 0 or nth == 0 else 0
        while 0 <= place < len(self._firsts):
            if self.comparison.changes[place].kind != "equal":
                return self._firsts[place]
            place += step
        return None

    def showing(self, left: int | None, right: int | None) -> int:
        """The row of two units, or the fold that they are in; 0 where there is none."""
        for place, change in enumerate(self.comparison.changes):
            ours = left is not None and change.left <= left < change.left_end
            theirs = right is not None and change.right <= right < change.right_end
            if not (ours or theirs):
                continue
            at = left - change.left if ours and left is not None else (right or 0) - change.right
            if change.kind != "equal":
                return self._firsts[place] + min(at, self._most)
            head, folded, _ = self._parts(place)
            if at >= head + folded:
                at -= folded - bool(folded)
            elif at > head:
                at = head
            return self._firsts[place] + at
        return 0

    def _at(self, number: int) -> tuple[int, int]:
        """The change that a row is of, and which of its rows it is."""
        place = bisect_right(self._firsts, number) - 1
        return place, number - self._firsts[place]

    def _parts(self, place: int) -> tuple[int, int, int]:
        """Of an equal stretch how many units are shown first, folded, and shown last."""
        changes = self.comparison.changes
        change = changes[place]
        size = change.left_end - change.left
        if place in self._whole:
            return size, 0, 0
        head = min(self._context if place > 0 else 0, size)
        tail = min(self._context if place + 1 < len(changes) else 0, size - head)
        return head, size - head - tail, tail


def behind_fork(comparison: Comparison) -> bool:
    """Whether anything that was said differs behind what both share from the beginning on."""
    return comparison.fork[0] >= 0 and any(c.kind != "equal" for c in comparison.said)


def outline(comparison: Comparison) -> Iterator[tuple[Sign, int | None, int | None]]:
    """The sign and the units of each difference, in the order in which `Rows` counts them."""
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


def _equal(comparison: Comparison, one: int, other: int) -> Row:
    left = _cell(comparison.left, one)
    if comparison.left.kind(one) == "call":  # its arguments may be in another order
        right = _cell(comparison.right, other)
    else:
        right = replace(left, line=comparison.right.line(other))
    return Row("=", left, right)


def _sign(change: Change) -> Sign:
    on_left, moved = change.left_end > change.left, change.kind == "moved"
    return ("<" if moved else "-") if on_left else (">" if moved else "+")


def _different(comparison: Comparison, change: Change, nth: int, number: int) -> Row:
    left, right = comparison.left, comparison.right
    if change.kind == "changed":
        return Row("~", *_both(comparison, change.left, change.right), number)
    on_left, moved = change.left_end > change.left, change.kind == "moved"
    side, other = (left, right) if on_left else (right, left)
    n = (change.left if on_left else change.right) + nth
    there = other.line(change.elsewhere + nth) if moved else 0
    cell = _cell(side, n, _note(comparison, not on_left, n, there))
    return Row(_sign(change), cell if on_left else None, None if on_left else cell, number)


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
