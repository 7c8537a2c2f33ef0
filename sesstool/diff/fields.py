"""What changed inside a structured value, such as the arguments of a tool call."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from sesstool.diff.align import align
from sesstool.model.effects import decoded
from sesstool.records.jsonspan import join

# What lies deeper is told as one change.
_DEEPEST = 32


class Absent(Enum):
    """Stands for a value that a side does not have."""

    MISSING = "missing"


MISSING = Absent.MISSING


class FieldChange(NamedTuple):
    """A value that is not the same on both sides; `MISSING` on the side that lacks it.

    `pointer` is the JSON pointer to it in the left value, or in the right one where the left
    lacks it; "" is the whole.
    """

    pointer: str
    left: Any
    right: Any


def changed_fields(left: Any, right: Any) -> list[FieldChange]:
    """The smallest parts that differ, as JSON: 1 is 1.0 but not true, and keys have no order.

    An object or list may be given as its JSON text. The items of a list are compared by position,
    after those that are equal on both sides were matched.
    """
    return list(_changed("", decoded(left), decoded(right), _DEEPEST))


def _changed(pointer: str, left: Any, right: Any, depth: int) -> Iterator[FieldChange]:
    if depth and type(left) is dict and type(right) is dict:
        for key in sorted(left.keys() | right.keys()):
            a, b = left.get(key, MISSING), right.get(key, MISSING)
            yield from _changed(pointer + join(key), a, b, depth - 1)
    elif depth and type(left) is list and type(right) is list:
        for n, a, b in _items(left, right):
            yield from _changed(pointer + join(n), a, b, depth - 1)
    elif _meaning(left) != _meaning(right):
        yield FieldChange(pointer, left, right)


def _items(left: list[Any], right: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """The items that have no equal on the other side, in pairs, with the index of each pair."""
    meant = [[_meaning(item) for item in side] for side in (left, right)]
    # Numbers that are the same when the sides change, so that the answer is.
    numbers = {text: n for n, text in enumerate(sorted({*meant[0], *meant[1]}))}
    sides = [[numbers[text] for text in side] for side in meant]
    at, over = 0, 0
    for run in [*align(*sides), (len(left), len(right), 0)]:
        for n in range(max(run[0] - at, run[1] - over)):
            has, gets = at + n < run[0], over + n < run[1]
            a = left[at + n] if has else MISSING
            yield at + n if has else over + n, a, right[over + n] if gets else MISSING
        at, over = run[0] + run[2], run[1] + run[2]


def _meaning(value: Any) -> str:
    """A text that is the same for values that mean the same, however deep they are."""
    out: list[str] = []
    left = [value]
    while left:
        value = left.pop()
        if type(value) is dict:
            keys = sorted(value)
            out.append(f"object {keys}")
            left += [value[key] for key in keys]
        elif type(value) is list:
            out.append(f"list {len(value)}")
            left += value
        else:
            whole = type(value) is float and value.is_integer()
            out.append(repr(int(value) if whole else value))
    return " ".join(out)
