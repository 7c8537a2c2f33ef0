"""What happens to the bytes and lines of session files: each damage takes a random source."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

Damage = Callable[[Random, bytes], bytes]

_CLOSING = re.compile(rb'"(?:[^"\\]|\\.)*"|[}\]]', re.DOTALL)
_SCALARS = (b"null", b"[]", b"42", b'"lone"', b"true")
_NOISE = (b"WARN low battery", b"Traceback (most recent call last):", b"%%EOF", b"\x1b[0m ok")


def lines(data: bytes) -> list[bytes]:
    """The lines without LF; what follows the last LF counts as one if it is not empty."""
    found = data.split(b"\n")
    return found if found[-1] else found[:-1]


def joined(parts: Iterable[bytes]) -> bytes:
    """Lines as a file, each ended by LF."""
    return b"".join(part + b"\n" for part in parts)


def dumps(value: object) -> bytes:
    """JSON as the agents write it."""
    return _encoded(value, separators=(",", ":"))


def _encoded(value: object, **how: Any) -> bytes:
    """JSON in UTF-8; half a character, which UTF-8 has no bytes for, stays an escape."""
    return json.dumps(value, ensure_ascii=False, **how).encode("utf-8", "backslashreplace")


def value_in(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds."""
    try:
        value = json.loads(line) if line.count(b"[") + line.count(b"{") < 800 else None
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict else None


def values(data: bytes) -> list[dict[str, Any]]:
    """The objects that the lines hold."""
    return [value for line in lines(data) if (value := value_in(line)) is not None]


def _at(rng: Random, data: bytes) -> int:
    return rng.randint(0, len(data))


def _line(rng: Random, parts: list[bytes]) -> int:
    return rng.randrange(len(parts))


def cut_tail(rng: Random, data: bytes) -> bytes:
    """A crash in a write: the file ends at any byte."""
    return data[: _at(rng, data)]


def cut_line(rng: Random, data: bytes) -> bytes:
    """A line ends early, and others follow."""
    parts = lines(data)
    n = _line(rng, parts)
    parts[n] = parts[n][: _at(rng, parts[n])]
    return joined(parts)


def cut_head(rng: Random, data: bytes) -> bytes:
    """A line begins late."""
    parts = lines(data)
    n = _line(rng, parts)
    parts[n] = parts[n][_at(rng, parts[n]) :]
    return joined(parts)


def drop_line(rng: Random, data: bytes) -> bytes:
    """A line is gone."""
    parts = lines(data)
    del parts[_line(rng, parts)]
    return joined(parts)


def duplicate_line(rng: Random, data: bytes) -> bytes:
    """A line stands a second time, anywhere."""
    parts = lines(data)
    parts.insert(rng.randint(0, len(parts)), parts[_line(rng, parts)])
    return joined(parts)


def swap_lines(rng: Random, data: bytes) -> bytes:
    """Two lines changed places."""
    parts = lines(data)
    a, b = _line(rng, parts), _line(rng, parts)
    parts[a], parts[b] = parts[b], parts[a]
    return joined(parts)


def glue(rng: Random, data: bytes) -> bytes:
    """A newline between two lines is gone."""
    parts = lines(data)
    n = _line(rng, parts)
    parts[n : n + 2] = [b"".join(parts[n : n + 2])]
    return joined(parts)


def stub_before(rng: Random, data: bytes) -> bytes:
    """The beginning of a line stands before another line, on the same line."""
    parts = lines(data)
    stub = parts[_line(rng, parts)]
    n = _line(rng, parts)
    parts[n] = stub[: rng.randint(0, max(len(stub) - 1, 0))] + parts[n]
    return joined(parts)


def raw_newline(rng: Random, data: bytes) -> bytes:
    """An escaped newline in a string became a real one."""
    return _unescape(rng, data, b"\\n", b"\n")


def raw_tab(rng: Random, data: bytes) -> bytes:
    """An escaped tab in a string became a real one."""
    return _unescape(rng, data, b"\\t", b"\t")


def _unescape(rng: Random, data: bytes, escape: bytes, raw: bytes) -> bytes:
    # A backslash before it would make it text, as in C:\\new.
    spots = [
        n
        for n in range(1, len(data))
        if data.startswith(escape, n) and data[n - 1 : n] not in (b"\\", b"")
    ]
    if not spots:
        return data
    at = rng.choice(spots)
    return data[:at] + raw + data[at + 2 :]


def nul_run(rng: Random, data: bytes) -> bytes:
    """NUL bytes stand anywhere."""
    at = _at(rng, data)
    return data[:at] + bytes(rng.randint(1, 40)) + data[at:]


def nul_tail(rng: Random, data: bytes) -> bytes:
    """The end of the file was never written: NUL bytes stand there."""
    at = _at(rng, data)
    return data[:at] + bytes(len(data) - at)


def bom(_: Random, data: bytes) -> bytes:
    """An editor put a byte order mark in front."""
    return b"\xef\xbb\xbf" + data


def crlf(_: Random, data: bytes) -> bytes:
    """Every line ends with CR LF."""
    return data.replace(b"\n", b"\r\n")


def some_crlf(rng: Random, data: bytes) -> bytes:
    """One line ends with CR LF."""
    parts = lines(data)
    parts[_line(rng, parts)] += b"\r"
    return joined(parts)


def blank_line(rng: Random, data: bytes) -> bytes:
    """A blank line stands somewhere."""
    return _inserted(rng, data, rng.choice((b"", b"  ", b"\t", b"\r")))


def noise_line(rng: Random, data: bytes) -> bytes:
    """Another program printed into the file."""
    return _inserted(rng, data, rng.choice(_NOISE))


def noise_before(rng: Random, data: bytes) -> bytes:
    """Another program printed in front of a record, on its line."""
    parts = lines(data)
    n = _line(rng, parts)
    parts[n] = rng.choice(_NOISE) + parts[n]
    return joined(parts)


def scalar_line(rng: Random, data: bytes) -> bytes:
    """A line is JSON and no record."""
    return _inserted(rng, data, rng.choice(_SCALARS))


def _inserted(rng: Random, data: bytes, line: bytes) -> bytes:
    parts = lines(data)
    parts.insert(rng.randint(0, len(parts)), line)
    return joined(parts)


def no_final_newline(_: Random, data: bytes) -> bytes:
    """The last newline is gone."""
    return data.removesuffix(b"\n")


def merge_markers(rng: Random, data: bytes) -> bytes:
    """A merge conflict was saved: markers stand around two runs of lines."""
    parts = lines(data)
    a, b, c = sorted(rng.randint(0, len(parts)) for _ in range(3))
    marked = [*parts[:a], b"<<<<<<< HEAD", *parts[a:b], b"=======", *parts[b:c]]
    return joined([*marked, b">>>>>>> other-branch", *parts[c:]])


def pretty(_: Random, data: bytes) -> bytes:
    """A formatter printed every record over several lines."""
    return joined(_encoded(v, indent=2) for v in values(data))


def pretty_one(rng: Random, data: bytes) -> bytes:
    """One record is printed over several lines."""
    parts = lines(data)
    n = _line(rng, parts)
    value = value_in(parts[n])
    if value is not None:
        parts[n] = _encoded(value, indent=rng.choice((1, 2, 4)))
    return joined(parts)


def array(rng: Random, data: bytes) -> bytes:
    """A script wrote the records as one JSON list."""
    indent = rng.choice((None, None, 1, 2))
    return _encoded(values(data), indent=indent) + b"\n"


def array_lines(_: Random, data: bytes) -> bytes:
    """A script put brackets around the lines and a comma between them."""
    return b"[\n" + b",\n".join(lines(data)) + b"\n]\n"


def one_line(rng: Random, data: bytes) -> bytes:
    """All newlines are gone, or are spaces."""
    return rng.choice((b"", b" ")).join(lines(data)) + b"\n"


def doubled(_: Random, data: bytes) -> bytes:
    """The file was appended to itself."""
    return data + data


def utf16(rng: Random, data: bytes) -> bytes:
    """The file went through a shell that writes UTF-16."""
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32")))


def invalid_utf8(rng: Random, data: bytes) -> bytes:
    """Bytes that are no UTF-8 stand anywhere."""
    at = _at(rng, data)
    return data[:at] + rng.choice((b"\xff", b"\xc3", b"\xe9\xe8", b"\xed\xa0\x80")) + data[at:]


def cut_utf8(rng: Random, data: bytes) -> bytes:
    """A character of several bytes lost its last one."""
    spots = [n for n, byte in enumerate(data) if byte >= 0xC0]
    if not spots:
        return data
    at = rng.choice(spots) + 1
    return data[:at] + data[at + 1 :]


def lone_surrogate(rng: Random, data: bytes) -> bytes:
    """Half a character stands in a string."""
    return _in_string(rng, data, rng.choice((b"\\ud83c", b"\\udf00", b"\\ud83c\\ud83c\\udf00")))


def bad_escape(rng: Random, data: bytes) -> bytes:
    """A backslash escapes nothing."""
    return _in_string(rng, data, rng.choice((b"\\x", b"\\ ", b"\\u12")))


def _in_string(rng: Random, data: bytes, text: bytes) -> bytes:
    spots = [n + 2 for n in range(len(data)) if data.startswith(b':"', n)]
    if not spots:
        return data
    at = rng.choice(spots)
    return data[:at] + text + data[at:]


def nan(rng: Random, data: bytes) -> bytes:
    """A script wrote NaN or Infinity."""
    member = rng.choice((b'"score":NaN', b'"score":-Infinity', b'"score":Infinity'))
    return _member(rng, data, member + b",")


def trailing_comma(rng: Random, data: bytes) -> bytes:
    """A comma stands before a closing bracket."""
    spots = [m.start() for m in _CLOSING.finditer(data) if m.group() in (b"}", b"]")]
    spots = [n for n in spots if data[n - 1] not in b"[{"]
    if not spots:
        return data
    at = rng.choice(spots)
    return data[:at] + b"," + data[at:]


def _member(rng: Random, data: bytes, member: bytes) -> bytes:
    parts = lines(data)
    n = _line(rng, parts)
    parts[n] = parts[n].replace(b"{", b"{" + member, 1)
    return joined(parts)


def flip_bytes(rng: Random, data: bytes) -> bytes:
    """Single bytes changed."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def splice(rng: Random, data: bytes) -> bytes:
    """A stretch of the file stands somewhere else, too, or over other bytes."""
    a = _at(rng, data)
    b = min(a + rng.randint(0, 400), len(data))
    at = _at(rng, data)
    over = rng.choice((0, b - a))
    return data[:at] + data[a:b] + data[at + over :]


def drop_range(rng: Random, data: bytes) -> bytes:
    """A stretch of the file is gone."""
    a = _at(rng, data)
    return data[:a] + data[a + rng.randint(1, 400) :]
