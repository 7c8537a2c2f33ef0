"""What an expression tells of its matches before it is tried.

How far a match reaches from the literal in it.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from itertools import product
from math import inf
from re import IGNORECASE, _parser, error  # type: ignore[attr-defined]  # no public parser
from typing import Any, NamedTuple

_STRINGS = 400
_ALL = frozenset(range(256))
_CATEGORIES = {
    "CATEGORY_DIGIT": frozenset(string.digits.encode()),
    "CATEGORY_SPACE": frozenset(b" \t\n\r\f\v"),
    "CATEGORY_WORD": frozenset((string.ascii_letters + string.digits + "_").encode()),
}

Class = frozenset[int]


class Reach(NamedTuple):
    """How many bytes of a match may stand before the start of its anchor, and from there on."""

    before: float
    after: float


def reach(regex: str, anchors: Iterable[str], near: int) -> Reach:
    """How far a match reaches from an anchor in it, or from one that is at most so near before it.

    inf where that is not known.
    """
    tree = _parse(regex)
    if tree is None:
        return Reach(inf, inf)
    width = _width(tree)
    anchors = tuple(anchors)
    before = _before(_flat(tree, _folds(tree)), tuple(a.encode() for a in anchors))
    if before is not None:
        return Reach(before, width)
    if not near:
        return Reach(inf, inf)
    return Reach(width, width + near + max(map(len, anchors)))


class Item(NamedTuple):
    """A node of an expression, and whether its letters stand for both cases."""

    name: str
    value: Any
    folds: bool


class _Run(NamedTuple):
    """A part of a sequence that is one of few strings, each of which holds an anchor.

    It is `items[first:until]`, and no anchor in it begins later than `before` bytes in a match.
    """

    strings: list[bytes]
    first: int
    until: int
    before: float


def _parse(regex: str) -> Any:
    # Python's parser does for what both dialects mean alike.
    if "[[:" in regex:
        return None
    try:
        return _parser.parse(regex.encode())
    except (error, OverflowError):
        return None


def _folds(tree: Any) -> bool:
    return bool(tree.state.flags & IGNORECASE)


def _width(tree: Any) -> float:
    width = tree.getwidth()[1]
    return inf if width >= _parser.MAXREPEAT else float(width)


def _flat(nodes: Iterable[Any], folds: bool) -> list[Item]:
    """The items of a sequence, those of its groups among them."""
    items = []
    for name, value in nodes:
        if str(name) == "SUBPATTERN":
            _, add, drop, inner = value
            items += _flat(inner, bool((folds or add & IGNORECASE) and not drop & IGNORECASE))
        else:
            items.append(Item(str(name).replace("MIN_", "MAX_"), value, folds))
    return items


def _item_width(item: Item) -> float:
    if item.name == "BRANCH":
        return max(_width(branch) for branch in item.value[1])
    if item.name == "MAX_REPEAT":
        most = inf if item.value[1] >= _parser.MAXREPEAT else item.value[1]
        width = _width(item.value[2])
        return width * most if width and most else 0
    return 0 if item.name == "AT" else 1


def _run(items: list[Item], anchors: tuple[bytes, ...]) -> _Run | None:
    """The first run of items that holds an anchor whatever of it is matched."""
    before: float = 0
    first, ahead, run = 0, 0.0, [b""]
    for number, item in enumerate(items):
        some = _strings(item)
        if some is None:
            first, ahead, run = number + 1, before + _item_width(item), [b""]
        elif len(run) * len(some) <= _STRINGS:
            run = [a + b for a, b in product(run, some)]
        else:
            first, ahead, run = number, before, some
        if all(any(a in s.lower() for a in anchors) for s in run):
            offset = max(min(s.lower().index(a) for a in anchors if a in s.lower()) for s in run)
            return _Run(sorted(set(run)), first, number + 1, ahead + offset)
        before += _item_width(item)
    return None


def _choice(items: list[Item], anchors: tuple[bytes, ...]) -> int | None:
    """The first item that is a choice of sequences with an anchor in each."""
    for number, item in enumerate(items):
        if item.name == "BRANCH" and all(
            _before(_flat(branch, item.folds), anchors) is not None for branch in item.value[1]
        ):
            return number
    return None


def _before(items: list[Item], anchors: tuple[bytes, ...]) -> float | None:
    """How many bytes of a match may stand before an anchor in it, None where it may have none."""
    run = _run(items, anchors)
    if run:
        return run.before
    number = _choice(items, anchors)
    if number is None:
        return None
    item = items[number]
    inner = [_before(_flat(branch, item.folds), anchors) or 0 for branch in item.value[1]]
    return sum(_item_width(i) for i in items[:number]) + max(inner)


def _strings(item: Item) -> list[bytes] | None:
    """All that an item matches, None if that is much; letters that fold are in lower case."""
    if item.name == "AT":
        return [b""]
    if item.name in {"LITERAL", "IN"}:
        letters = _class(item)
        if item.folds:
            letters = frozenset(bytes(letters).lower())
        return [bytes([c]) for c in sorted(letters)] if len(letters) <= 16 else None
    if item.name == "BRANCH":
        branches = [_sequence_strings(_flat(b, item.folds)) for b in item.value[1]]
        if any(b is None for b in branches):
            return None
        every = [s for b in branches if b for s in b]
        return every if len(every) <= _STRINGS else None
    if item.name == "MAX_REPEAT" and item.value[1] <= 1:
        inner = _sequence_strings(_flat(item.value[2], item.folds))
        return inner if inner is None or item.value[0] else [b"", *inner]
    return None


def _sequence_strings(items: list[Item]) -> list[bytes] | None:
    run = [b""]
    for item in items:
        some = _strings(item)
        if some is None or len(run) * len(some) > _STRINGS:
            return None
        run = [a + b for a, b in product(run, some)]
    return run


def _class(item: Item) -> Class:
    """The bytes that an item of one byte matches; empty if it is not of one byte."""
    name, value, folds = item
    if name == "LITERAL":
        letters = {value}
    elif name == "NOT_LITERAL":
        letters = set(_ALL - {value})
    elif name == "ANY":
        letters = set(_ALL)
    elif name == "IN":
        letters = set()
        for kind, what in value:
            match str(kind):
                case "LITERAL":
                    letters.add(what)
                case "RANGE":
                    letters.update(range(what[0], what[1] + 1))
                case "CATEGORY":
                    letters |= _category(str(what))
        if str(value[0][0]) == "NEGATE":
            letters = set(_ALL - letters)
    else:
        return frozenset()
    if folds:
        letters |= {c ^ 0x20 for c in letters if chr(c).isalpha()}
    return frozenset(letters)


def _category(name: str) -> Class:
    if name in _CATEGORIES:
        return _CATEGORIES[name]
    return _ALL - _CATEGORIES[name.replace("_NOT", "")]
