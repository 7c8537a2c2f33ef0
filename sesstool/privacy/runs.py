"""Runs of base64 and of hexadecimal digits that hold text."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Callable, Iterator
from typing import NamedTuple

import re2

_STANDARD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL = _STANDARD[:-2] + b"-_"
_BOTH = _STANDARD + b"-_"


def _marks(letters: bytes) -> bytes:
    """A table that turns all but some letters to spaces."""
    return bytes(byte if byte in letters else ord(" ") for byte in range(256))


_IN_STANDARD, _IN_URL, _IN_BOTH = map(_marks, (_STANDARD, _URL, _BOTH))
_IN_HEX = _marks(b"0123456789abcdefABCDEF")
_AS_STANDARD = bytes.maketrans(b"-_", b"+/")
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_PADDING = re.compile(rb"={0,2}")
_NEXT = re.compile(rb"\r?\n[ \t>|]{0,64}([A-Za-z0-9+/]+)(={0,2})(?![^\s\"'])")
_NONE = (0, 0)
# Lines of a run that was wrapped are this long at least.
_WRAPPED = 40


class Run(NamedTuple):
    """A run in a text, by byte offsets, and what it holds."""

    start: int
    end: int
    text: bytes


def _digits(allowed: Callable[[int], bool]) -> str:
    digits = [n for n in range(64) if allowed(n)]
    letters = [*(chr(_STANDARD[n]) for n in digits), *(chr(_URL[n]) for n in digits if n > 61)]
    return "[" + "".join(re.escape(letter) for letter in letters) + "]"


# Four digits that stand for three bytes of printable ASCII, tab and line end among it.
_GROUP = (
    _digits(lambda n: n in {2, 3} or 8 <= n < 32)
    + _digits(lambda n: n % 16 in {0, 2, 3, 4, 5, 6, 7})
    + _digits(lambda n: n % 4 < 2)
    + _digits(lambda _: True)
)
BASE64 = f"(?:{_GROUP}){{4}}"
"""Stands in every run of base64 that is opened: what is there holds twelve bytes of text."""

HEXADECIMAL = "(?:[2-7][0-9A-Fa-f]|0[9AaDd]){10}"
"""Stands in every run of hexadecimal digits that is opened."""

_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_BASE64_SIGN = re2.compile(BASE64.encode(), _OPTIONS)
_HEX_SIGN = re2.compile(HEXADECIMAL.encode(), _OPTIONS)
_ISLAND = re.compile(f"(?:{_GROUP})+".encode())
_HEX_ISLAND = re.compile(rb"(?:[2-7][0-9A-Fa-f]|0[9AaDd])+")


def base64(text: bytes) -> Iterator[Run]:
    """The runs of base64 that hold text, wrapped ones too."""
    position = 0
    # What was found to be no text as a whole is not tried again.
    tried = _NONE
    while match := _BASE64_SIGN.search(text, position):
        at = match.start()
        run = None
        if at >= tried[1]:
            run, tried = _wrapped(text, at)
        if run is None and not tried[0] <= at < tried[1]:
            run = _whole(text, at)
            if run is None:
                tried = _bounds(text, at, _IN_BOTH)
        if run is None:
            # A stretch of text in what is else none; bytes at its ends may be half in it.
            island = _ISLAND.match(text, at)
            start, end = at, island.end() if island else match.end()
            first, last = tried
            start, end = start - 4 * (start - 4 >= first), end + 4 * (end + 4 <= last)
            run = Run(start, end, _from_base64(text[start:end]))
        yield run
        position = max(run.end, match.end())


def hexadecimal(text: bytes) -> Iterator[Run]:
    """The runs of hexadecimal digits that hold text."""
    position = 0
    while match := _HEX_SIGN.search(text, position):
        at = match.start()
        start, end = _bounds(text, at, _IN_HEX)
        start += (at - start) % 2
        end -= (end - start) % 2
        opened = bytes.fromhex(text[start:end].decode())
        if not _is_text(opened):
            island = _HEX_ISLAND.match(text, at)
            start, end = at, island.end() if island else match.end()
            opened = bytes.fromhex(text[start:end].decode())
        yield Run(start, end, opened)
        position = end


def _whole(text: bytes, at: int) -> Run | None:
    """The longest run around an offset, where a group begins, that is text as a whole."""
    spans = {_bounds(text, at, alphabet) for alphabet in (_IN_BOTH, _IN_STANDARD, _IN_URL)}
    for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
        aligned = start + (at - start) % 4
        opened = _from_base64(text[aligned:end])
        if _is_text(opened):
            padding = _PADDING.match(text, end)
            return Run(aligned, padding.end() if padding else end, opened)
    return None


def _wrapped(text: bytes, at: int) -> tuple[Run | None, tuple[int, int]]:
    """The run around an offset over lines of one length if it is text, and if not what it is."""
    start, end = _bounds(text, at, _IN_STANDARD)
    size = end - start
    if size < _WRAPPED or (at - start) % 4:
        return None, _NONE
    lines = [text[start:end]]
    while line := _NEXT.match(text, end):
        if len(line[1]) > size:
            break
        lines.append(line[1])
        end = line.end()
        if len(line[1]) < size or line[2]:
            break
    opened = _from_base64(b"".join(lines))
    if len(lines) == 1 or not _is_text(opened):
        return None, (start, end) if len(lines) > 2 else _NONE
    return Run(start, end, opened), _NONE


def _bounds(text: bytes, at: int, letters: bytes) -> tuple[int, int]:
    """The run of some letters, as `_marks` tells them, around an offset."""
    size = 256
    while True:
        gap = text[max(at - size, 0) : at].translate(letters).rfind(b" ")
        if gap >= 0 or size >= at:
            break
        size *= 4
    start = max(at - size, 0) + gap + 1
    size = 256
    while True:
        gap = text[at : at + size].translate(letters).find(b" ")
        if gap >= 0:
            return start, at + gap
        if at + size >= len(text):
            return start, len(text)
        size *= 4


def _is_text(text: bytes) -> bool:
    if _CONTROL.search(text):
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_base64(run: bytes) -> bytes:
    digits = run.translate(_AS_STANDARD)
    # One digit alone is less than a byte.
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    try:
        return a2b_base64(digits + b"=" * (-len(digits) % 4))
    except Error:
        return b""
