"""JSON as bytes: where a value lies, and how far a text still is JSON.

A decoder says what a record holds but not where, and stops at the first fault. `Scanner` finds
the extent of a value in a text that may be cut or glued; `locate` maps a JSON pointer to a byte
span. Both accept what a lenient reader would (NUL as white space, raw control characters in
strings, trailing commas), for they look for extents: what is strict is judged afterwards.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

_SPACE = re.compile(rb"[ \t\r\n\x00]*+")
_SCALARS = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")
# NUL bytes can stand inside any token, also between a backslash and what it escapes.
_WORDS = b"|".join(rb"\x00*+".join(re.findall(b".", word)) for word in _SCALARS)
_STRING = rb'"[^"\\]*+(?:\\\x00*+.[^"\\]*+)*+"'
_TOKEN = re.compile(
    rb"(?P<string>%b)|(?P<mark>[{}\[\],:])|(?P<scalar>-?\x00*+[0-9][0-9eE+.\-\x00]*+|%b)"
    % (_STRING, _WORDS),
    re.DOTALL,
)
_BRACKET = re.compile(rb"%b|[{}\[\]]" % _STRING, re.DOTALL)
# A bracket, a short plain string, or the quote that begins a longer one.
_STOP = re.compile(rb'[{}\[\]]|"[^"\\]{0,64}+"|"')
# A member of an object with a plain key and a plain value, as most are, and what follows it.
_PLAIN = re.compile(
    rb'"([^"\\\x00]*+)"[ \t\r\n]*+:[ \t\r\n]*+'
    rb'("[^"\\\x00]*+"|true|false|null|-?[0-9][0-9eE+.\-]*+)[ \t\r\n]*+(?:,[ \t\r\n\x00]*+|(?=}))'
)
_OPEN_OBJECT = ord("{")
_QUOTE = ord('"')


class Status(Enum):
    """How a scan ended."""

    DONE = "the value is whole"
    MORE = "the text ends inside the value"
    FAILED = "the text stops being JSON"


class _Expect(Enum):
    VALUE = 0
    VALUE_OR_END = 1
    KEY_OR_END = 2
    COLON = 3
    COMMA_OR_END = 4


class Scanner:
    """Finds where the JSON value that begins at `start` of a text ends.

    After `run`: `at` is the offset behind the value (DONE), of the byte that cannot be JSON
    (FAILED) or of the token that the text cuts (MORE); `token` is the offset of the last token
    read; `closed` is the span of the object that was closed last.
    """

    __slots__ = ("_expect", "_stack", "at", "closed", "token")

    def __init__(self, start: int = 0) -> None:
        """Begin at an offset."""
        self.at = start
        self.token = start
        self.closed = (start, start)
        self._stack: list[tuple[int, int]] = []
        self._expect = _Expect.VALUE

    def run(self, data: bytes) -> Status:
        """Scan on; `data` is the text so far, grown at its end since the last call."""
        while True:
            space = _SPACE.match(data, self.at)
            self.at = space.end() if space else self.at
            found = _TOKEN.match(data, self.at)
            if found is None:
                return Status.MORE if _may_grow(data, self.at) else Status.FAILED
            kind = found.lastgroup
            if kind == "scalar" and found.end() == len(data) and self._stack:
                return Status.MORE
            if not self._take(kind or "", data[self.at]):
                return Status.FAILED
            self.token, self.at = self.at, found.end()
            if not self._stack and self._expect is _Expect.COMMA_OR_END:
                return Status.DONE

    def _take(self, kind: str, byte: int) -> bool:
        """Whether the token may stand here; moves the state on if so."""
        expect = self._expect
        takes_value = expect in (_Expect.VALUE, _Expect.VALUE_OR_END)
        if kind == "string" and expect is _Expect.KEY_OR_END:
            self._expect = _Expect.COLON
        elif kind in ("string", "scalar"):
            if not takes_value:
                return False
            self._expect = _Expect.COMMA_OR_END
        elif byte in b"{[":
            if not takes_value:
                return False
            self._stack.append((byte, self.at))
            self._expect = _Expect.KEY_OR_END if byte == _OPEN_OBJECT else _Expect.VALUE_OR_END
        elif byte in b"}]":
            return self._close(byte)
        elif byte == ord(":"):
            if expect is not _Expect.COLON:
                return False
            self._expect = _Expect.VALUE
        else:
            if expect is not _Expect.COMMA_OR_END or not self._stack:
                return False
            in_object = self._stack[-1][0] == _OPEN_OBJECT
            self._expect = _Expect.KEY_OR_END if in_object else _Expect.VALUE_OR_END
        return True

    def _close(self, byte: int) -> bool:
        if not self._stack:
            return False
        opened, start = self._stack[-1]
        wanted, empty = (
            (ord("}"), _Expect.KEY_OR_END)
            if opened == _OPEN_OBJECT
            else (ord("]"), _Expect.VALUE_OR_END)
        )
        if byte != wanted or self._expect not in (_Expect.COMMA_OR_END, empty):
            return False
        self._stack.pop()
        if opened == _OPEN_OBJECT:
            self.closed = (start, self.at + 1)
        self._expect = _Expect.COMMA_OR_END
        return True


def _may_grow(data: bytes, at: int) -> bool:
    """Whether what stands from `at` to the end of the text may be the start of a token."""
    if at >= len(data) or data[at] == ord('"'):
        return True
    rest = data[at : at + 10]
    return at + len(rest) == len(data) and (
        rest == b"-" or any(scalar.startswith(rest) for scalar in _SCALARS)
    )


class Member(NamedTuple):
    """Where a value lies: `start`, `end`, and for a member of an object its key's offset.

    `key` is -1 for an item of an array and for the whole text.
    """

    start: int
    end: int
    key: int = -1


def skip(data: bytes, at: int) -> int:
    """The offset behind the (valid) JSON value that begins at `at`."""
    if data[at] == _QUOTE:
        return _string_end(data, at)
    if data[at] not in b"{[":
        found = _TOKEN.match(data, at)
        return found.end() if found else len(data)
    depth = 0
    while (found := _STOP.search(data, at)) is not None:
        at = found.end()
        byte = data[found.start()]
        if byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
            if depth == 0:
                return at
        elif at == found.start() + 1:
            at = _string_end(data, found.start())
    return len(data)


def _string_end(data: bytes, at: int) -> int:
    """The offset behind the string whose quote stands at `at`; many times as fast as _STRING."""
    end = data.find(b'"', at + 1)
    while end >= 0:
        back = end
        while data[back - 1] in b"\\\0":
            back -= 1
        if data.count(b"\\", back, end) % 2 == 0:
            return end + 1
        end = data.find(b'"', end + 1)
    return len(data)


def deeper(data: bytes, levels: int) -> bool:
    """Whether the objects and arrays of a JSON text are nested deeper than so many levels."""
    if data.count(b"{") + data.count(b"[") <= levels:
        return False
    depth = 0
    for found in _BRACKET.finditer(data):
        byte = data[found.start()]
        if byte in b"{[":
            depth += 1
            if depth > levels:
                return True
        elif byte in b"}]":
            depth -= 1
    return False


def members(data: bytes, at: int) -> Iterator[tuple[str, Member]]:
    """The members of the valid JSON object or array at `at`, by key or index, in order."""
    in_object = data[at] == _OPEN_OBJECT
    at, nth = _next(data, at + 1), 0
    while at < len(data) and data[at] not in b"}]":
        if in_object and (plain := _PLAIN.match(data, at)):
            yield plain[1].decode("utf-8", "surrogateescape"), Member(*plain.span(2), at)
            at = plain.end()
            continue
        key, name = -1, str(nth)
        if in_object:
            key, end = at, skip(data, at)
            name = _key(data[at:end])
            at = _next(data, _next(data, end) + 1)
        end = skip(data, at)
        yield name, Member(at, end, key)
        nth += 1
        at = _next(data, end)
        if at < len(data) and data[at] == ord(","):
            at = _next(data, at + 1)


def _key(raw: bytes) -> str:
    text = raw.decode("utf-8", "surrogateescape")
    if "\\" not in text:
        return text[1:-1]
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]


def _root(data: bytes) -> int:
    """Where the value of a JSON text begins."""
    return _next(data, len(BOM_UTF8) * data.startswith(BOM_UTF8))


def _next(data: bytes, at: int) -> int:
    space = _SPACE.match(data, at)
    return space.end() if space else at


class _Index:
    """Where the values of one JSON text lie, as far as anybody has asked."""

    def __init__(self, data: bytes) -> None:
        start = _root(data)
        self.root = Member(start, skip(data, start))
        self._data = data
        self._inside: dict[int, dict[str, Member]] = {}

    def inside(self, member: Member) -> dict[str, Member]:
        """What a value holds, by key or index; nothing where it is a string or a scalar."""
        at = member.start
        if self._data[at] not in b"{[":
            return {}
        if at not in self._inside:
            self._inside[at] = dict(members(self._data, at))
        return self._inside[at]


@lru_cache(maxsize=2)
def _index(data: bytes) -> _Index:
    # A record can have thousands of findings, and each asks for places in it and in one other.
    return _Index(data)


def locate(data: bytes, pointer: str) -> Member | None:
    """Where the value that an RFC 6901 JSON pointer names lies in a valid JSON text.

    A key that stands twice means its last value, as decoders take it. None where there is none.
    """
    index = _index(data)
    here: Member | None = index.root
    for part in parts(pointer):
        here = index.inside(here).get(part) if here else None
    return here


def parts(pointer: str) -> list[str]:
    """The unescaped parts of an RFC 6901 JSON pointer."""
    return [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:]]


def value_at(value: Any, pointer: str) -> Any:
    """What stands at a JSON pointer in a value, None where nothing does."""
    for part in parts(pointer):
        if type(value) is list:
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
        else:
            value = value.get(part) if type(value) is dict else None
    return value


def join(*names: str | int) -> str:
    """The RFC 6901 JSON pointer made of these keys and indexes."""
    return "".join("/" + str(n).replace("~", "~0").replace("/", "~1") for n in names)


def without(data: bytes, member: Member) -> tuple[int, int]:
    """The span to delete so that a member or item goes, together with one comma."""
    start = member.start if member.key < 0 else member.key
    after = _next(data, member.end)
    if data[after : after + 1] == b",":
        return start, _next(data, after + 1)
    before = start
    while before > 0 and data[before - 1] in b" \t\r\n":
        before -= 1
    if before > 0 and data[before - 1] == ord(","):
        return before - 1, member.end
    return start, member.end


def with_members(data: bytes, values: Mapping[str, bytes | None]) -> bytes:
    """A JSON object with these members, each as JSON, and without those that are None.

    All else keeps its bytes. What is new stands last; a key that stands twice is changed twice.
    """
    start = _root(data)
    found = list(members(data, start))
    kept = [n for n, (name, _) in enumerate(found) if values.get(name, b"") is not None]
    out, at = [], 0
    for n, (name, member) in enumerate(found):
        value = values.get(name, b"")
        if value:
            out += [data[at : member.start], value]
            at = member.end
        elif value is None and kept and n < kept[-1]:
            out.append(data[at : member.key])
            at = found[n + 1][1].key
        elif value is None and n - 1 == (kept[-1] if kept else -1):
            before = found[kept[-1]][1].end if kept else member.key
            out.append(data[at:before])
            at = found[-1][1].end
    new = [b"%b:%b" % (dumps(k), v) for k, v in values.items() if v and k not in dict(found)]
    if new:
        place = max(at, found[kept[-1]][1].end if kept else start + 1)
        out += [data[at:place], b"," * bool(kept), b",".join(new)]
        at = place
    return b"".join((*out, data[at:]))


def dumps(value: object) -> bytes:
    """Compact JSON in UTF-8, as the agents write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
