"""What a text says under its encodings, and where in the text each part of that stands.

A view is a text drawn from another one: with JSON escapes undone, percent signs decoded, terminal
sequences taken out, base64 opened. It maps spans of itself to spans of what it was drawn from,
and so on down to the text that was given.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

DEPTH = 4
"""How many encodings are undone, one inside the other."""

_JSON_ESCAPE = re.compile(rb'\\(?:u[0-9A-Fa-f]{4}(?:\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})?|["\\/bfnrt])')
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
# What a terminal obeys: colours and cursor moves, titles and links.
_TERMINAL = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x80-\x9f]\[m"
)
_BASE64 = re.compile(rb"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(rb"(?<![A-Za-z0-9])(?:[0-9A-Fa-f]{2}){12,}(?![A-Za-z0-9])")
_SIMPLE = {
    ord("b"): b"\b",
    ord("f"): b"\f",
    ord("n"): b"\n",
    ord("r"): b"\r",
    ord("t"): b"\t",
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(slots=True)
class View:
    """A text, and how it was drawn from `base`, which is None for the text that was given.

    Segment n begins at `at[n]` of this text and stands for `size[n]` bytes from `src[n]` of the
    base. Where its own size is the same, its bytes stand one for one; else it is a unit.
    `chain` names the encodings that were undone, the outermost first.
    """

    text: bytes
    base: View | None = None
    chain: tuple[str, ...] = ()
    at: list[int] = field(default_factory=list)
    src: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The span of the text that was given which stands for a span of this one."""
        view = self
        while view.base is not None:
            start, end = view._below(start, end)
            view = view.base
        return start, end

    def _below(self, start: int, end: int) -> tuple[int, int]:
        first = bisect_right(self.at, start) - 1
        last = bisect_right(self.at, max(end - 1, start)) - 1
        begin = self.src[first]
        if self._one_for_one(first):
            begin += start - self.at[first]
        if self._one_for_one(last):
            return begin, self.src[last] + end - self.at[last]
        return begin, self.src[last] + self.size[last]

    def _one_for_one(self, number: int) -> bool:
        until = self.at[number + 1] if number + 1 < len(self.at) else len(self.text)
        return until - self.at[number] == self.size[number]


def views(view: View) -> Iterator[View]:
    """A view itself, and all that it says under its encodings."""
    yield from _deeper(view, DEPTH)


def _deeper(view: View, depth: int) -> Iterator[View]:
    yield view
    if not depth:
        return
    for draw in (_unescaped, _percent, _plain, _opened):
        for drawn in draw(view):
            yield from _deeper(drawn, depth - 1)


def unescaped(view: View) -> View | None:
    """The view with one level of JSON escapes undone, None where it has none."""
    if b"\\" not in view.text:
        return None
    return _drawn(view, _JSON_ESCAPE, _json_character, "json")


def _unescaped(view: View) -> Iterator[View]:
    drawn = unescaped(view)
    if drawn is not None:
        yield drawn


def _percent(view: View) -> Iterator[View]:
    if b"%" in view.text and "percent" not in view.chain:
        drawn = _drawn(view, _PERCENT, lambda m: bytes([int(m[0][1:], 16)]), "percent")
        if drawn is not None:
            yield drawn


def _plain(view: View) -> Iterator[View]:
    if b"\x1b" in view.text:
        drawn = _drawn(view, _TERMINAL, lambda _: b"", "terminal")
        if drawn is not None:
            yield drawn


def _opened(view: View) -> Iterator[View]:
    """Runs of base64 and of hexadecimal digits that hold text."""
    if "base64" not in view.chain:
        for match in _BASE64.finditer(view.text):
            yield from _run(view, match.span(), _base64(match[0]), "base64")
    if "hex" not in view.chain:
        for match in _HEX.finditer(view.text):
            yield from _run(view, match.span(), bytes.fromhex(match[0].decode()), "hex")


def _run(view: View, span: tuple[int, int], text: bytes, name: str) -> Iterator[View]:
    if len(text) >= 8 and _is_text(text):
        # One unit: a part of it cannot be replaced alone.
        start, end = span
        yield View(text, view, (*view.chain, name), [0], [start], [end - start + len(text) + 1])


def _is_text(text: bytes) -> bool:
    if _CONTROL.search(text):
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _base64(run: bytes) -> bytes:
    digits = run.rstrip(b"=").translate(_STANDARD)
    try:
        return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))
    except binascii.Error:
        return b""


_STANDARD = bytes.maketrans(b"-_", b"+/")


def _json_character(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    if escape[1] == ord("u"):
        units = b"".join(bytes.fromhex(u.decode()) for u in escape.split(b"\\u")[1:])
        return units.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")
    return _SIMPLE.get(escape[1], escape[1:])


def _drawn(
    base: View, pattern: re.Pattern[bytes], put: Callable[[re.Match[bytes]], bytes], name: str
) -> View | None:
    """The base with every match replaced, None where there is none."""
    view = View(b"", base, (*base.chain, name))
    parts: list[bytes] = []
    length = position = 0
    for match in pattern.finditer(base.text):
        start, end = match.span()
        if start > position:
            view.at.append(length)
            view.src.append(position)
            view.size.append(start - position)
            parts.append(base.text[position:start])
            length += start - position
        piece = put(match)
        if piece:
            view.at.append(length)
            view.src.append(start)
            view.size.append(end - start)
            parts.append(piece)
            length += len(piece)
        position = end
    if not position:
        return None
    if position < len(base.text):
        view.at.append(length)
        view.src.append(position)
        view.size.append(len(base.text) - position)
        parts.append(base.text[position:])
    view.text = b"".join(parts)
    return view
