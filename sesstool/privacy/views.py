"""What a text says under its encodings, and where in the text each part of that stands.

A view is a text drawn from another one: with JSON escapes undone, percent signs decoded, terminal
sequences taken out, base64 opened. It maps spans of itself to spans of what it was drawn from,
and so on down to the text that was given. Of a text in which little is encoded a view has only
what is near to that: the rest it would only repeat.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from itertools import pairwise
from typing import NamedTuple

from sesstool.privacy import runs

DEPTH = 4
"""How many encodings are undone, one inside the other."""

WORK = 16
"""All views of a text are at most so many times as long as it, or as _FREE if it is shorter."""

_FREE = 1 << 12
# A view is drawn part by part, so that it costs little to find where a byte of it stands.
_PART = 1 << 14
# How much of what surrounds an encoded character can belong to a value and to what tells of it.
_BEFORE, _BEHIND = 256, 512
_GAPS = (b" ", b"\n", b"\t")
_LIMIT = re.compile(rb"[ \n\t]")
SEAM = b"\n\x00\n"
"""Stands between parts of a view that do not stand together in its base."""


class Coding(NamedTuple):
    """A way in which single characters are encoded.

    `sign` is in every encoded character, which is at most `longest` bytes long and matches
    `pattern`; `put` says what it stands for, and `fast` draws a whole text.
    """

    name: str
    sign: bytes
    longest: int
    pattern: re.Pattern[bytes]
    put: Callable[[bytes], bytes]
    fast: Callable[[bytes], bytes]


@dataclass(slots=True)
class View:
    """A text, and how it was drawn from `base`, which is None for the text that was given.

    Part n begins at `at[n]` of this text and stands for the bytes of the base from `src[n]` to
    `end[n]`: encoded by `coding`, or as a whole if there is none. `chain` names the encodings
    that were undone, the outermost first.
    """

    text: bytes
    base: View | None = None
    chain: tuple[str, ...] = ()
    coding: Coding | None = None
    at: list[int] = field(default_factory=list)
    src: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    _units: dict[int, tuple[list[int], list[int], list[int]]] = field(default_factory=dict)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The span of the text that was given which stands for a span of this one, not empty."""
        view = self
        while view.base is not None:
            start, end = view._below(start)[0], view._below(end - 1)[1]
            view = view.base
        return start, end

    def _below(self, offset: int) -> tuple[int, int]:
        """The span in the base of the byte at an offset."""
        part = max(bisect_right(self.at, offset) - 1, 0)
        if self.coding is None:
            return self.src[part], self.end[part]
        if part not in self._units:
            self._units[part] = self._spread(part, self.coding)
        at, src, end = self._units[part]
        unit = bisect_right(at, offset) - 1
        if unit < 0:
            return self.src[part], self.end[part]
        until = at[unit + 1] if unit + 1 < len(at) else self._until(part)
        if until - at[unit] == end[unit] - src[unit]:
            begin = src[unit] + offset - at[unit]
            return begin, begin + 1
        return src[unit], end[unit]

    def _until(self, part: int) -> int:
        return self.at[part + 1] if part + 1 < len(self.at) else len(self.text)

    def _spread(self, part: int, coding: Coding) -> tuple[list[int], list[int], list[int]]:
        """Where the encoded characters of a part, and what is between them, begin and end."""
        assert self.base is not None
        at: list[int] = []
        src: list[int] = []
        end: list[int] = []
        length, position = self.at[part], self.src[part]
        text = self.base.text
        matches = coding.pattern.finditer(text, position, self.end[part])
        spans = [match.span() for match in matches]
        for start, stop in [*spans, (self.end[part], self.end[part])]:
            for first, last, size in (
                (position, start, start - position),
                (start, stop, len(coding.put(text[start:stop])) if stop > start else 0),
            ):
                if size:
                    at.append(length)
                    src.append(first)
                    end.append(last)
                    length += size
            position = stop
        return at, src, end


class Views:
    """The views of a text; `bounded` says, when all were had, that there would have been more."""

    def __init__(self, view: View) -> None:
        """Take the view to begin with."""
        self._first = view
        self.bounded = False

    def __iter__(self) -> Iterator[View]:
        """The view itself, and all that it says under its encodings, the outermost first."""
        left = WORK * max(len(self._first.text), _FREE)
        queue = deque([(self._first, DEPTH)])
        seen: dict[int, View] = {}
        while queue:
            view, depth = queue.popleft()
            yield view
            if not depth:
                continue
            for drawn in _drawn(view):
                left -= len(drawn.text)
                if left < 0:
                    self.bounded = True
                    break
                if drawn.text and not _repeats(drawn, seen):
                    queue.append((drawn, depth - 1))


def _repeats(view: View, seen: dict[int, View]) -> bool:
    """Whether the same came of the same bytes: encodings can be undone in any order."""
    other = seen.setdefault(hash(view.text), view)
    if other is view:
        return False
    length = len(view.text)
    return other.text == view.text and other.source(0, length) == view.source(0, length)


def unescaped(view: View) -> View | None:
    """The view with one level of JSON escapes undone, None where it has none."""
    if b"\\" not in view.text:
        return None
    return _decoded(view, _JSON, [(0, len(view.text))])


def _drawn(view: View) -> Iterator[View]:
    for coding in _CODINGS:
        if coding.sign in view.text:
            regions = _regions(view.text, coding)
            if regions:
                yield _decoded(view, coding, regions)
    for name, find in (("base64", runs.base64), ("hex", runs.hexadecimal)):
        found = list(find(view.text))
        if found:
            yield _opened(view, found, name)


def _regions(text: bytes, coding: Coding) -> list[tuple[int, int]]:
    """The parts of a text in which something is encoded, with what is near."""
    regions: list[tuple[int, int]] = []
    position = 0
    while match := coding.pattern.search(text, position):
        floor = regions[-1][1] if regions else 0
        start = max(match.start() - _BEFORE, floor)
        start = max(floor, *(text.rfind(gap, floor, start) + 1 for gap in _GAPS))
        limit = _LIMIT.search(text, match.end() + _BEHIND)
        end = limit.start() if limit else len(text)
        end = _cut(text, coding, match.end(), end)
        if regions and start == floor:
            start = regions.pop()[0]
        regions.append((start, end))
        # What is encoded near the end has its own surroundings.
        position = _cut(text, coding, match.end(), max(end - _BEHIND, match.end()))
    return regions


def _decoded(base: View, coding: Coding, regions: list[tuple[int, int]]) -> View:
    """Regions of the base with a coding undone."""
    view = View(b"", base, (*base.chain, coding.name), coding)
    parts: list[bytes] = []
    length = 0

    def add(start: int, end: int, text: bytes) -> None:
        nonlocal length
        view.at.append(length)
        view.src.append(start)
        view.end.append(end)
        parts.append(text)
        length += len(text)

    for start, end in regions:
        if parts:
            add(start, start, SEAM)
        for first, last in pairwise(_cuts(base.text, coding, start, end)):
            add(first, last, coding.fast(base.text[first:last]))
    view.text = b"".join(parts)
    return view


def _cuts(text: bytes, coding: Coding, start: int, end: int) -> Iterator[int]:
    """Where to cut a region into parts: its ends, and never in an encoded character."""
    yield start
    while end - start > _PART:
        start = _cut(text, coding, start, start + _PART)
        yield start
    yield end


def _cut(text: bytes, coding: Coding, start: int, cut: int) -> int:
    """The place to cut next to `cut` that is in no encoded character, if `start` is in none."""
    sign = text.rfind(coding.sign, max(cut - coding.longest, start), cut)
    if sign < 0:
        return cut
    return _before_escape(text, start, sign) if coding is _JSON else sign


def _before_escape(text: bytes, start: int, sign: int) -> int:
    """Where the escape begins, or ends, whose backslash stands at `sign`."""
    if _backslashes(text, start, sign + 1) % 2 == 0:
        return sign + 1
    # Two escapes can be one character.
    if _HIGH.match(text, sign - 6) and _backslashes(text, start, sign - 5) % 2:
        return sign - 6
    return sign


def _backslashes(text: bytes, start: int, end: int) -> int:
    """How many stand in a row before an offset, down to `start`."""
    size = 64
    while True:
        before = text[max(end - size, start) : end]
        run = len(before) - len(before.rstrip(b"\\"))
        if run < len(before) or end - size <= start:
            return run
        size *= 4


def _opened(base: View, found: list[runs.Run], name: str) -> View:
    """What runs of the base hold."""
    view = View(b"", base, (*base.chain, name))
    parts: list[bytes] = []
    length = 0
    for start, end, text in found:
        view.at.append(length)
        view.src.append(start)
        view.end.append(end)
        parts += (text, SEAM)
        length += len(text) + len(SEAM)
    view.text = b"".join(parts)
    return view


_UNIT = rb"u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}"
_UNICODE = re.compile(rb"\\(?:" + _UNIT + rb")")
_JSON_ESCAPE = re.compile(rb"\\(?:[\"\\/bfnrt]|" + _UNIT + rb")")
_HIGH = re.compile(rb"\\u[Dd][89ABab][0-9A-Fa-f]{2}")
_PLAIN = (
    (b'\\"', b'"'),
    (b"\\n", b"\n"),
    (b"\\/", b"/"),
    (b"\\t", b"\t"),
    (b"\\r", b"\r"),
    (b"\\b", b"\b"),
    (b"\\f", b"\f"),
)
_OF_ESCAPE = dict(_PLAIN) | {b"\\\\": b"\\"}


def _json_character(escape: bytes) -> bytes:
    return _OF_ESCAPE.get(escape) or _unicode(escape)


@lru_cache(1 << 12)
def _unicode(escape: bytes) -> bytes:
    units = bytes.fromhex(escape.replace(b"\\u", b"").decode())
    return units.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")


def _json(text: bytes) -> bytes:
    """As replacing each escape by what it stands for, at a multiple of the speed."""
    if b"\\" not in text:
        return text
    # While the others are undone, another byte stands for an escaped backslash.
    hole = next((bytes([c]) for c in range(256) if c not in text), None)
    if hole is None:
        return _JSON_ESCAPE.sub(lambda m: _json_character(m[0]), text)
    text = text.replace(b"\\\\", hole)
    for escape, letter in _PLAIN:
        text = text.replace(escape, letter)
    if b"\\u" in text:
        text = _UNICODE.sub(lambda m: _unicode(m[0]), text)
    return text.replace(hole, b"\\")


def _coding(
    name: str, sign: bytes, longest: int, pattern: bytes, put: Callable[[bytes], bytes]
) -> Coding:
    compiled = re.compile(pattern)
    return Coding(
        name, sign, longest, compiled, put, lambda t: compiled.sub(lambda m: put(m[0]), t)
    )


_PERCENTS = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")


def _percent(run: bytes) -> bytes:
    return bytes.fromhex(run.replace(b"%", b"").decode())


@lru_cache(1 << 10)
def _entity(code: bytes) -> bytes:
    return unescape(code.decode()).encode("utf-8", "surrogatepass")


@lru_cache(1 << 10)
def _byte(code: bytes) -> bytes:
    if code == rb"\e":
        return b"\x1b"
    return bytes.fromhex(code[2:].decode()) if code[1:2] == b"x" else bytes([int(code[1:], 8)])


_JSON = Coding("json", b"\\", 12, _JSON_ESCAPE, _json_character, _json)
_CODINGS = (
    _JSON,
    Coding(
        "percent",
        b"%",
        3,
        re.compile(rb"%[0-9A-Fa-f]{2}"),
        _percent,
        lambda text: _PERCENTS.sub(lambda run: _percent(run[0]), text),
    ),
    # What a terminal obeys: colours and cursor moves, titles and links.
    _coding(
        "terminal",
        b"\x1b",
        4096,
        rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]"
        rb"|[\]PX^_][^\x07\x1b]{0,4000}(?:\x07|\x1b\\)?|[@-Z\\-_])",
        lambda _: b"",
    ),
    _coding(
        "html",
        b"&",
        12,
        rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|quot|amp|apos|lt|gt|nbsp);",
        _entity,
    ),
    # As in source text and in what shells print.
    _coding("escape", b"\\", 4, rb"\\(?:x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|e(?=\[))", _byte),
)
