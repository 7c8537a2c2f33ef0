"""What an expression tells of its matches before it is tried.

How far a match reaches from the literal in it, and a looser expression that holds for every raw
line in which the value stands under JSON escapes, however often it was escaped.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from itertools import product
from math import inf
from re import IGNORECASE, _parser, error  # type: ignore[attr-defined]
from typing import Any, NamedTuple

# So many bytes behind the literal say enough of a value: more costs states, and rejects no more.
_TELLING = 10
# Of a value without a literal all is told that its form has.
_WHOLE = 40
_STRINGS = 400
_LINE_END = ord("\n")
_SPELLED = {8: ord("b"), 9: ord("t"), 10: ord("n"), 12: ord("f"), 13: ord("r")}
_ESCAPED = frozenset(b'"\\/') | frozenset(_SPELLED)
_CONTINUATION = frozenset(range(0x80, 0xC0))
_UNICODE = r"\\+u[0-9A-Fa-f]{4}"
_IN_UNICODE = frozenset(b"\\u0123456789abcdefABCDEF")
# A line break soon behind the anchor, as an escape has it.
_BROKEN = r"[A-Za-z0-9_.=+/:~-]{0,9}\\"
_ALL = frozenset(range(256))
_HIGH = frozenset(range(0x80, 0x100))
_MOST = 24
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


class Shape(NamedTuple):
    """What the sign of a rule is made from; see `ruleset` for the members of a rule.

    `beside` is what must not stand before the value, `whole` says that a match is all value, and
    `joined` that line breaks may be in it, behind its anchor.
    """

    regex: str
    anchors: Sequence[str]
    context: Sequence[str]
    beside: Class
    whole: bool
    joined: bool


def sign(shape: Shape) -> str:
    r"""An expression that every raw line matches in which a match of a rule stands.

    It tells of the match from its anchor on as much as needed. Escapes that spell an ASCII letter
    (`\u0041`), and encodings other than JSON, are not its matter. It never matches a line end.
    """
    tree = _parse(shape.regex)
    writer = _Writer()
    words = "|".join(writer.literal(a.encode()) for a in shape.context or shape.anchors)
    if tree is None:
        return words or "."
    items = _flat(tree, _folds(tree))
    lead = _lead(shape.beside) if shape.whole else ""
    if shape.anchors:
        factor = _factor(
            items, tuple(a.encode() for a in shape.anchors), writer, lead, shape.joined
        )
        if factor is not None:
            return factor[0]
    form = writer.sequence(items, _WHOLE)[0]
    if not shape.context:
        return lead + form
    return f"(?:{words}).*{form}" if shape.whole else words


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


def _factor(
    items: list[Item], anchors: tuple[bytes, ...], writer: _Writer, lead: str, joined: bool
) -> tuple[str, int] | None:
    """What every match has at an anchor, None where it may have none. `lead` begins the match.

    With how much is left to tell: 0 where not all items are told.
    """
    run = _run(items, anchors)
    if run:
        text = "(?:" + "|".join(writer.literal(s) for s in run.strings) + ")"
        rest, left = writer.sequence(items[run.until :], _TELLING)
        if joined:
            rest = f"(?:{rest}|{_BROKEN})"
        if not run.first:
            return lead + text + rest, left
        least, one = _one(items[run.first - 1])
        return (writer.one(one) if one and least else "") + text + rest, left
    number = _choice(items, anchors)
    if number is None:
        return None
    item = items[number]
    lead = "" if number else lead
    inner = [_factor(_flat(b, item.folds), anchors, writer, lead, joined) for b in item.value[1]]
    known = [factor for factor in inner if factor]
    rest, left = writer.sequence(items[number + 1 :], min(n for _, n in known))
    return "(?:" + "|".join(text for text, _ in known) + ")" + rest, left


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


def _one(item: Item) -> tuple[int, Class]:
    """How often at least an item of one byte stands, and the bytes; no bytes if it is another."""
    if item.name != "MAX_REPEAT":
        return 1, _class(item)
    inner = _flat(item.value[2], item.folds)
    if len(inner) != 1:
        return 1, frozenset()
    least, one = _one(inner[0])
    return least * item.value[0], one


def _lead(beside: Class) -> str:
    if not beside:
        return ""
    return rf"(?:(?m:^)|{_set(_ALL - beside)}|\\[bfnrt])"


def _set(letters: Class) -> str:
    letters -= {_LINE_END}
    ranges: list[list[int]] = []
    for letter in sorted(letters):
        if ranges and ranges[-1][1] == letter - 1:
            ranges[-1][1] = letter
        else:
            ranges.append([letter, letter])
    inside = "".join(rf"\x{a:02x}" if a == b else rf"\x{a:02x}-\x{b:02x}" for a, b in ranges)
    return f"[{inside}]" if inside else r"\\"


class _Writer:
    """Writes loose expressions."""

    def literal(self, text: bytes) -> str:
        """A text in any case."""
        plain = re.compile(rb"[A-Za-z0-9_@:=.$!#~ -]+").fullmatch(text)
        if plain:
            return f"(?i:{re.escape(text.decode())})"
        return "".join(self.one(_class(Item("LITERAL", c, folds=True))) for c in text)

    def one(self, letters: Class) -> str:
        """One byte of a class as it stands in a raw line."""
        spelled = {_SPELLED[c] for c in letters if c in _SPELLED}
        text = _set(letters | spelled)
        if letters & _ESCAPED:
            text = rf"\\*{text}"
        if not letters.isdisjoint(_HIGH) and not letters >= _IN_UNICODE:
            text = f"(?:{text}|{_UNICODE})"
            if not letters.isdisjoint(_CONTINUATION):
                text += "?"
        return text

    def sequence(self, items: Iterable[Item], left: int) -> tuple[str, int]:
        """Items until so many bytes are told, and how many of these are left to tell."""
        parts = []
        for item in items:
            if left <= 0:
                break
            text, left = self._item(item, left)
            parts.append(text)
        return "".join(parts), left

    def _item(self, item: Item, left: int) -> tuple[str, int]:
        if item.name == "AT":
            return "", left
        if item.name == "BRANCH":
            written = [self.sequence(_flat(b, item.folds), left) for b in item.value[1]]
            return "(?:" + "|".join(t for t, _ in written) + ")", max(n for _, n in written)
        if item.name == "MAX_REPEAT":
            return self._repeat(item, left)
        letters = _class(item)
        optional = not letters.isdisjoint(_CONTINUATION) and not letters >= _IN_UNICODE
        return self.one(letters), left - (not optional)

    def _repeat(self, item: Item, left: int) -> tuple[str, int]:
        least, most, inner = item.value
        text, after = self.sequence(_flat(inner, item.folds), left)
        each = left - after
        if not text or not most:
            return "", left
        if each:
            least = min(least, -(-left // each))
        left -= each * least
        if left <= 0:
            return f"(?:{text}){{{least}}}", left
        # Under escapes one byte may be many, and a class be entered anew.
        exact = most <= _MOST and not _one(item)[1] & (_ESCAPED | _HIGH)
        exact = exact and bool(_one(item)[1])
        if exact or most == 1:
            return f"(?:{text}){{{least},{most}}}", left
        return f"(?:{text}){{{least},}}", left
