r"""Which lines of a file may say what is looked for, told by their bytes alone.

JSON may write any character as an escape (`A` as \u0041), and must do so with quotes, backslashes
and controls. A run of letters and digits stands as it is, unless one of them is escaped. So one
such run is looked for in each way of writing it, and the escapes of its characters beside it: a
line without either does not say it. That holds also where JSON stands inside of a JSON string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import product
from math import prod

import re2
from ahocorasick_rs import BytesAhoCorasick

# The rarer a letter is in what people and agents write, the further behind it stands.
_FREQUENT = "etaonirslcdpmuhfgbyvw_kxjqz"
_RARITY = {letter: rank for rank, letter in enumerate(_FREQUENT)}
_OTHER = 12
# So many ways of writing a run are looked for at the speed of one or two.
_MOST = 64
# So many characters of a run are enough.
_LONGEST = 64
_RUN = re.compile(r"\w+")
# Letters of other scripts that count as the same as others do not stand further behind.
_SCRIPTS = "".join(map(chr, range(0x80, 0x2200)))
_ASCII_ESCAPE = "\\u00"
_BACKSLASH = "005c"
# What stands for something else in an expression.
_UNSURE = re.compile(r"\\[xpPQCX0-9]|\(\?|\|")
_NOT_LITERAL = (
    re.compile(r"\\."),
    re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|[^\]])*\]"),
)
_GROUP = re.compile(r"\([^()]*\)")
_MAYBE = re.compile(r".(?:[*?]|\{[^}]*\})")
_NOTHING = "\0"

Finder = Callable[[bytes], Iterator[int]]
"""Gives the offsets in some bytes where something stands, from the first one on."""


class Sieve:
    """Finds where a text may be said; `every` says that nobody can tell, so it may be anywhere."""

    def __init__(self, runs: Iterable[str], *, case: bool) -> None:
        """Look for the rarest of some runs of letters and digits, all of which must be there."""
        run = max(runs, key=_rank, default="")[:_LONGEST]
        self.every = not run
        if self.every:
            return
        ways = [(char,) if case else _cases(char) for char in run]
        if not case and not run.isascii():  # few of them: they are looked for one by one
            while _count(ways) > _MOST:
                ways.pop()
        self._find = _finder(ways)
        # Letters of other scripts that count as one of these: a line that has one may say it.
        others = {char for chars in ways for char in chars if not char.isascii()}
        self._others = [_literally([char]) for char in others if run.isascii()]
        codes = {_BACKSLASH, *(_code(char) for chars in ways for char in chars)}
        if all(code.startswith("00") for code in codes):
            self._gate: Finder | None = _literally([_ASCII_ESCAPE])
        else:
            self._gate = None
        self._escaped = _expression(rf"\\u(?i:{'|'.join(sorted(codes))})")

    def may(self, data: bytes) -> bool:
        """Whether some bytes may say it."""
        return (
            self.every
            or next(self._find(data), None) is not None
            or next(self._otherwise(data), None) is not None
        )

    def _otherwise(self, data: bytes) -> Iterator[int]:
        """Where it may be written in another way, in no order."""
        if self._gate is None or next(self._gate(data), None) is not None:
            yield from self._escaped(data)
        for other in self._others:
            yield from other(data)

    def lines(self, data: bytes, end: int) -> Iterator[tuple[int, int]]:
        """Where the lines of the first `end` bytes begin and end that may say it.

        These bytes are whole lines, of which the last one may lack its end.
        """
        done = 0
        for place in self._places(data, end):
            if place < done:
                continue
            if place >= end:
                return
            start = data.rfind(b"\n", done, place) + 1 or done
            stop = data.find(b"\n", place, end)
            stop = end if stop < 0 else stop
            yield start, stop
            done = stop + 1

    def _places(self, data: bytes, end: int) -> Iterable[int]:
        """Where it may be said, from the first place on."""
        if self.every:
            return range(end)
        others = sorted(self._otherwise(data))
        return merge(self._find(data), others) if others else self._find(data)


def for_text(text: str, *, case: bool) -> Sieve:
    """What finds a text; blanks in it stand for any blanks."""
    return Sieve(_RUN.findall(text), case=case)


def for_expression(expression: str, *, case: bool) -> Sieve:
    """The same for what an RE2 expression matches: some of what stands in each match of it."""
    if _UNSURE.search(expression):
        return Sieve((), case=case)
    for part in _NOT_LITERAL:
        expression = part.sub(_NOTHING, expression)
    while (inner := _GROUP.sub(_NOTHING, expression)) != expression:
        expression = inner
    runs = _MAYBE.sub(_NOTHING, expression).replace("+", _NOTHING)
    return Sieve(re.findall(r"[A-Za-z0-9_]+", runs), case=case)


def _rank(run: str) -> int:
    return sum(_RARITY.get(char.lower(), _OTHER) + 1 for char in run)


def _count(ways: Iterable[Sequence[str]]) -> int:
    return prod(map(len, ways))


def _finder(ways: Sequence[Sequence[str]]) -> Finder:
    """What finds a run, given the characters that may stand at each place of it."""
    if _count(ways) <= 1 or not all(any(map(str.isascii, chars)) for chars in ways):
        return _literally("".join(way) for way in product(*ways))
    plain = "".join(next(filter(str.isascii, chars)) for chars in ways)
    return _expression(f"(?i){plain}")


def _literally(texts: Iterable[str]) -> Finder:
    """What finds texts as they are; a single one at the speed of memory."""
    find = BytesAhoCorasick([_utf8(text) for text in texts]).find_matches_as_indexes
    return lambda data: (start for _, start, _ in find(data))


def _expression(expression: str) -> Finder:
    """What finds the matches of an expression over bytes."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    compiled = re2.compile(expression.encode(), options)
    return lambda data: (match.start() for match in compiled.finditer(data))


def _cases(char: str) -> tuple[str, ...]:
    """All characters that count as one where case does not."""
    if char.isascii() and char not in "iksIKS":
        return tuple({char.lower(), char.upper()})
    same = re.compile(re.escape(char), re.IGNORECASE)
    others = {char.lower(), char.upper(), *same.findall(_SCRIPTS)}
    return tuple(other for other in others if len(other) == 1 and same.match(other))


def _code(char: str) -> str:
    """The digits of an escape of a character; of one beyond U+FFFF those of its first half."""
    number = ord(char)
    return f"{number if number < 0x10000 else 0xD7C0 + (number >> 10):04x}"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
