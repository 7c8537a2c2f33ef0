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
# So many bytes are looked through at once: places in them are a list. A longer line is one place.
_WINDOW = 1 << 18
_RUN = re.compile(r"\w+")
# Letters that count as the same as others do not stand further behind.
_LETTERS = "".join(map(chr, range(0x41, 0x2200)))
_ASCII_ESCAPE = "\\u00"
# What an escape consists of: one inside of a string in a string may be escaped itself.
_INNER = "005c|0075|003[0-9]|004[1-6]|006[1-6]"
# What stands for something else in an expression.
_UNSURE = re.compile(r"\\[xpPQCX0-9]|\(\?|\|")
_NOT_LITERAL = (
    re.compile(r"\\."),
    re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|[^\]])*\]"),
)
_GROUP = re.compile(r"\([^()]*\)")
_MAYBE = re.compile(r".(?:[*?]|\{[^}]*\})")
_NOTHING = "\0"
# What may stand between two words of a text: no letter, but in an escape.
_BETWEEN = r'(?:[^0-9A-Za-z"]|\\[nrtbf]|\\u[0-9a-fA-F]{4})*'
# What a word may be written with instead of its letters.
_ODD = r"(?:\\u00[3-7]|[\x80-\xff])"

Finder = Callable[[bytes], Iterator[int]]
"""Gives the offsets in some bytes where something stands, from the first one on."""


class Sieve:
    """Finds where a text may be said; `every` says that nobody can tell, so it may be anywhere."""

    def __init__(self, runs: Sequence[str], *, case: bool, together: bool = False) -> None:
        """Look for the rarest of some runs of letters and digits, all of which must be there.

        `together` says that they follow each other, with no other letters or digits between.
        """
        run = max(runs, key=_rank, default="")[:_LONGEST]
        self.every = not run
        if self.every:
            return
        self._near = _neighbours(runs, case=case) if together else None
        ways = [(char,) if case else _cases(char) for char in run]
        # An expression that leaves case out knows only ASCII. A line may say it that has one of the
        # letters of other scripts which count as the same.
        folds = _count(ways) > 1 and all(any(map(str.isascii, chars)) for chars in ways)
        others = {char for chars in ways for char in chars if folds and not char.isascii()}
        self._others = [_literally([char]) for char in others]
        while not folds and _count(ways) > _MOST:
            ways.pop()
        if folds:
            plain = "".join(next(filter(str.isascii, chars)) for chars in ways)
            self._find = _expression(f"(?i){plain}")
        else:
            self._find = _literally("".join(way) for way in product(*ways))
        codes = {_code(char) for chars in ways for char in chars}
        if all(code.startswith("00") for code in codes):
            self._gate: Finder | None = _literally([_ASCII_ESCAPE])
        else:
            self._gate = None
        self._escaped = _expression(rf"\\u(?i:{'|'.join([_INNER, *sorted(codes)])})")

    def may(self, data: bytes) -> bool:
        """Whether some bytes may say it."""
        if self.every:
            return True
        if next(self._find(data), None) is not None and self._is_near(data):
            return True
        return next(self._otherwise(data), None) is not None

    def _is_near(self, data: bytes) -> bool:
        """Whether two words may stand beside each other in bytes that hold one of them."""
        return self._near is None or next(self._near(data), None) is not None

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
        start = 0
        while start < end:
            stop = end
            if end - start > _WINDOW:
                stop = data.rfind(b"\n", start, start + _WINDOW) + 1
            if stop:
                yield from self._lines(data[start:stop], start)
            else:
                stop = data.find(b"\n", start + _WINDOW, end) + 1 or end
                line = data[start:stop].removesuffix(b"\n")
                if self.may(line):
                    yield start, start + len(line)
            start = stop

    def _lines(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """The same of some whole lines, the first of which begins at an offset."""
        others = [] if self.every else sorted(self._otherwise(data))
        places = range(len(data)) if self.every else merge(self._find(data), others)
        done = 0
        for place in places:
            if place < done:
                continue
            start = data.rfind(b"\n", done, place) + 1 or done
            stop = data.find(b"\n", place)
            stop = len(data) if stop < 0 else stop
            if self.every or others or self._is_near(data[start:stop]):
                yield at + start, at + stop
            done = stop + 1


def for_text(text: str, *, case: bool) -> Sieve:
    """What finds a text; blanks in it stand for any blanks."""
    return Sieve(_RUN.findall(text), case=case, together=True)


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


def _neighbours(runs: Sequence[str], *, case: bool) -> Finder | None:
    """What finds the rarest run with that behind it, or else with that before it.

    Behind a quote, which may end a string, the other one may be anywhere.
    """
    at = max(range(len(runs)), key=lambda n: _rank(runs[n]))
    last = at == len(runs) - 1
    first, second = (runs[at - 1], runs[at]) if last else (runs[at], runs[at + 1])
    first, second = first[-_LONGEST:], second[:_LONGEST]
    if len(runs) == 1 or not (first + second).isascii():
        return None
    if last:
        beside = rf'(?:{first}|"|{_ODD}\w*){_BETWEEN}{second}'
    else:
        beside = rf'{first}{_BETWEEN}(?:{second}|"|\w*{_ODD})'
    return _expression(beside if case else f"(?i){beside}")


def _count(ways: Iterable[Sequence[str]]) -> int:
    return prod(map(len, ways))


def _literally(texts: Iterable[str]) -> Finder:
    """What finds texts as they are; a single one at the speed of memory."""
    needles = [_utf8(text) for text in texts]
    matches = BytesAhoCorasick(needles).find_matches_as_indexes
    over = max(map(len, needles)) - 1

    def find(data: bytes) -> Iterator[int]:
        view = memoryview(data)
        for at in range(0, len(data), _WINDOW):
            found = matches(view[at : at + _WINDOW + over])
            yield from (at + start for _, start, _ in found if start < _WINDOW)

    return find


def _expression(expression: str) -> Finder:
    """What finds the matches of an expression over bytes."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    compiled = re2.compile(expression.encode(), options)
    return lambda data: (match.start() for match in compiled.finditer(data))


def _cases(char: str) -> tuple[str, ...]:
    """All characters that count as one where case does not."""
    if char.isascii() and char not in "iksIKS":
        return tuple({char.lower(), char.upper()})
    same = re.compile(re.escape(char), re.IGNORECASE)
    others = {char.lower(), char.upper(), *same.findall(_LETTERS)}
    return tuple(other for other in others if len(other) == 1 and same.match(other))


def _code(char: str) -> str:
    """The digits of an escape of a character; of one beyond U+FFFF those of its first half."""
    number = ord(char)
    return f"{number if number < 0x10000 else 0xD7C0 + (number >> 10):04x}"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
