"""Strict JSON out of one record that a lenient scan found whole.

Each fault inside the record becomes a `Defect` with the edits that mend it. Structure first:
what is no JSON at all is `recover`'s matter.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from sesstool.records.edits import Edit, EditSet
from sesstool.records.jsonspan import deeper

_PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^"]++', re.DOTALL)
_ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = re.compile(rb"[\x01-\x1f]")
_NUL = re.compile(rb"\x00+")
_BREAK = re.compile(rb"(?<![ \t\r])[ \t\r]*+\n[ \t\r\n]*+")
_BARE_CONSTANT = re.compile(rb"-?\b(?:NaN|Infinity)\b")
_TRAILING_COMMA = re.compile(rb",(?=[ \t\r\n]*[}\]])")
# orjson stops at 1024 levels; Python's own decoder can run out of stack before that.
_DEPTH = 500
# How Python decodes a byte that is no UTF-8 with "surrogateescape".
_UNDECODED = re.compile("([\udc80-\udcff]+)")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


class Kind(StrEnum):
    """What can be wrong with a line or with the bytes of a record."""

    BOM = "bom"
    UTF16 = "utf-16"
    BLANK = "blank-line"
    CRLF = "crlf"
    NO_NEWLINE = "missing-final-newline"
    NUL = "nul-bytes"
    GLUED = "glued-records"
    TORN = "torn-record"
    TORN_TAIL = "truncated-tail"
    NOISE = "noise-line"
    MERGE_MARKER = "merge-marker"
    BROKEN = "broken-record"
    PRETTY = "pretty-printed"
    ARRAY = "json-array"
    CONTROL = "control-character"
    INVALID_UTF8 = "invalid-utf8"
    SURROGATE = "lone-surrogate"
    NONSTRICT = "nonstrict-json"
    NOT_OBJECT = "not-an-object"
    LIST = "list-of-records"
    OTHER_NOTATION = "other-notation"
    TOO_DEEP = "too-deep"


MILD = frozenset({Kind.BOM, Kind.BLANK, Kind.CRLF, Kind.NO_NEWLINE})
"""What damages no record: it is reported, and no reader stops at it."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault in the bytes [start, end) of a source, and the edits that mend it.

    `count` is how many times it occurs there. No edits means that nobody can tell how to mend
    it.
    """

    kind: Kind
    start: int
    end: int
    edits: tuple[Edit, ...] = ()
    count: int = 1


def decode(raw: bytes | str) -> Any:
    """The value of a strict JSON text. Raises ValueError, also where it is nested too deep."""
    return orjson.loads(raw)


def decode_any(raw: bytes) -> Any:
    """The value of a JSON text as the most lenient agents write it. Raises ValueError.

    That is one with half of a surrogate pair in it, with NaN, or behind a byte order mark.
    """
    try:
        return decode(raw)
    except ValueError:
        try:
            return json.loads(raw.removeprefix(BOM_UTF8).decode("utf-8", "surrogatepass"))
        except RecursionError as error:
            raise ValueError("nested too deep") from error


def heal(raw: bytes, start: int) -> tuple[Any, list[Defect]]:
    """The value of a record and its defects; `start` is the record's offset in the source.

    Raises ValueError where the bytes are no JSON even after every repair.
    """
    # NUL first: a run of it can stand inside a character or an escape.
    nul = _nul(raw)
    text = EditSet(nul.edits).apply(raw) if nul else raw
    defects = [d for look in _LOOKS if (d := look(text)) is not None]
    healed = EditSet(e for d in defects for e in d.edits).apply(text)
    try:
        value = decode(healed)
    except ValueError:
        if deeper(healed, _DEPTH):
            value = {}
            defects.append(Defect(Kind.TOO_DEEP, 0, len(text)))
        else:
            value = json.loads(healed, parse_int=_integer)
    if nul:
        back = _uncut(nul.edits)
        defects = [nul, *(_moved(d, back) for d in defects)]
    return value, [_moved(d, lambda at: at + start) for d in defects]


def _integer(digits: str) -> float:
    # int() refuses more than 4,300 digits, and JSON has no such limit.
    return int(digits) if len(digits) < 4000 else float(digits)


def _moved(defect: Defect, to: Callable[[int], int]) -> Defect:
    """The same defect where `to` says that its bytes stand."""

    def end(at: int) -> int:
        return to(at - 1) + 1

    edits = tuple(Edit(to(e.start), end(e.end), e.text, e.content) for e in defect.edits)
    return Defect(defect.kind, to(defect.start), end(defect.end), edits, defect.count)


def _uncut(cuts: tuple[Edit, ...]) -> Callable[[int], int]:
    """What tells where a byte stood before the cuts."""
    points, sizes, gone = [], [0], 0
    for cut in cuts:
        points.append(cut.start - gone)
        gone += cut.end - cut.start
        sizes.append(gone)
    return lambda at: at + sizes[bisect_right(points, at)]


def _defect(kind: Kind, edits: list[Edit]) -> Defect | None:
    if not edits:
        return None
    return Defect(kind, edits[0].start, edits[-1].end, tuple(edits), len(edits))


def _parts(raw: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """Offset and bytes of each string and of what stands between, and which of both it is."""
    for found in _PART.finditer(raw):
        yield found.start(), found.group(), found.group().startswith(b'"')


def _nul(raw: bytes) -> Defect | None:
    return _defect(Kind.NUL, [Edit(f.start(), f.end()) for f in _NUL.finditer(raw)])


def _line_breaks(raw: bytes) -> Defect | None:
    """Line breaks inside the record: escaped in strings, taken out between tokens."""
    edits, in_string = [], False
    for at, part, is_string in _parts(raw):
        if is_string:
            breaks = [i for i, byte in enumerate(part) if byte == ord("\n")]
            edits += [Edit(at + i, at + i + 1, b"\\n") for i in breaks]
            in_string = in_string or bool(breaks)
        else:
            edits += [Edit(at + f.start(), at + f.end()) for f in _BREAK.finditer(part)]
    return _defect(Kind.BROKEN if in_string else Kind.PRETTY, edits)


def _controls(raw: bytes) -> Defect | None:
    """Other raw control characters in strings: escaped."""
    edits = [
        Edit(at + f.start(), at + f.end(), json.dumps(f.group().decode())[1:-1].encode())
        for at, part, is_string in _parts(raw)
        if is_string
        for f in _CONTROL.finditer(part)
        if f.group() != b"\n"
    ]
    return _defect(Kind.CONTROL, edits)


def _invalid_utf8(raw: bytes) -> Defect | None:
    """Bytes that are no UTF-8: one replacement character for each run."""
    edits = []
    at = 0
    for part in _UNDECODED.split(raw.decode("utf-8", "surrogateescape")):
        end = at + len(part.encode("utf-8", "surrogateescape"))
        if _UNDECODED.match(part):
            edits.append(Edit(at, end, _REPLACEMENT))
        at = end
    return _defect(Kind.INVALID_UTF8, edits)


def _surrogates(raw: bytes) -> Defect | None:
    r"""Escapes of half a character (\ud83c alone): U+FFFD in their place."""
    edits: list[Edit] = []
    high: Edit | None = None
    for at, part, is_string in _parts(raw):
        if not is_string or b"\\u" not in part:
            continue
        for found in _ESCAPE.finditer(part):
            code = int(found.group(1)[1:], 16) if len(found.group(1)) > 1 else 0
            here = Edit(at + found.start(), at + found.end(), b"\\ufffd")
            if 0xDC00 <= code < 0xE000:
                if high is not None and high.end == here.start:
                    edits.pop()
                else:
                    edits.append(here)
            high = here if 0xD800 <= code < 0xDC00 else None
            if high is not None:
                edits.append(high)
    return _defect(Kind.SURROGATE, edits)


def _nonstrict(raw: bytes) -> Defect | None:
    """NaN and Infinity, trailing commas, and a backslash that escapes nothing."""
    edits = []
    for at, part, is_string in _parts(raw):
        if is_string:
            edits += [
                Edit(at + f.start(), at + f.start() + 1, b"\\\\")
                for f in _ESCAPE.finditer(part)
                if len(f.group(1)) == 1 and f.group(1) not in b'"\\/bfnrt'
            ]
        else:
            found = [
                Edit(at + f.start(), at + f.end(), b"null") for f in _BARE_CONSTANT.finditer(part)
            ]
            found += [Edit(at + f.start(), at + f.end()) for f in _TRAILING_COMMA.finditer(part)]
            edits += sorted(found)
    return _defect(Kind.NONSTRICT, edits)


_LOOKS: tuple[Callable[[bytes], Defect | None], ...] = (
    _line_breaks,
    _controls,
    _invalid_utf8,
    _surrogates,
    _nonstrict,
)
