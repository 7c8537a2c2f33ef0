"""ASCII armor: an age file as text (C2SP age, the strict form of RFC 7468).

Line ends may be LF or CRLF, white space may stand around the armor; all else must be as an
encoder writes it.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from sesstool.encryption.primitives import blocks
from sesstool.errors import ArmorError

BEGIN = b"-----BEGIN AGE ENCRYPTED FILE-----"
END = b"-----END AGE ENCRYPTED FILE-----"
SPACE = b" \t\r\n"
_ROW = 48  # bytes in a line of 64 characters
_LINE = 65
_ROWS = 1 << 14
# White space around the armor that is looked at where a file is read by position.
_AROUND = 1 << 12
_DAMAGED = "the file was cut or changed; take it from a backup"
_WHOLE = "sesstool decrypt reads it from start to end, which tells what is wrong or works"


def armor(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes as lines of base64 between a begin and an end line."""
    yield BEGIN + b"\n"
    for block, _ in blocks(chunks, _ROW, _ROWS):
        yield _encode(block)
    yield END + b"\n"


def dearmor(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes that were armored. Raises ArmorError."""
    pieces = _plain_ends(chunks)
    held = b""
    for piece in pieces:
        held = (held + piece).lstrip(SPACE)
        if len(held) > len(BEGIN):
            break
    if not held.startswith(BEGIN + b"\n"):
        raise ArmorError("the armor does not start with its begin line", _DAMAGED)
    held = held[len(BEGIN) + 1 :]
    # No base64 holds the sign that the end line begins with.
    while (at := held.find(b"-")) < 0:
        # The last line before the end may be padded, so one is always held back.
        if whole := max(len(held) - 1, 0) // _LINE * _LINE:
            yield _decode(held[:whole], last=False)
            held = held[whole:]
        piece = next(pieces, b"")
        if not piece:
            raise ArmorError("the armor has no end line", _DAMAGED)
        held += piece
    yield _decode(held[:at], last=True)
    rest = held[at:]
    while len(rest) < len(END) and (piece := next(pieces, b"")):
        rest += piece
    behind = chain([rest[len(END) :]], pieces)
    if not rest.startswith(END) or any(piece.strip(SPACE) for piece in behind):
        raise ArmorError("the armor does not end with its end line", _DAMAGED)


def by_position(
    read: Callable[[int, int], bytes], size: int
) -> tuple[Callable[[int, int], bytes], int]:
    """The armored bytes by range, and how many they are, without decoding them all.

    Raises ArmorError, at once or on reading, also where line ends are mixed.
    """
    head = read(0, _AROUND)
    start = len(head) - len(head.lstrip(SPACE)) + len(BEGIN)
    end_of_line = b"\r\n" if head[start : start + 2] == b"\r\n" else b"\n"
    start += len(end_of_line)
    line = _LINE - 1 + len(end_of_line)
    tail = read(max(start, size - _AROUND), size).rstrip(SPACE)
    end = max(start, size - _AROUND) + len(tail) - len(END)
    if BEGIN + end_of_line not in head[:start] or not tail.endswith(END) or end < start:
        raise _irregular()
    lines = -(-(end - start) // line)

    def decoded(first: int, behind: int) -> bytes:
        """The bytes in some of the lines."""
        text = read(start + first * line, min(start + behind * line, end))
        if end_of_line == b"\r\n":
            text = text.replace(end_of_line, b"\n")
        try:
            return _decode(text, last=behind >= lines)
        except ArmorError:
            raise _irregular() from None

    whole = max(lines - 1, 0)
    total = whole * _ROW + len(decoded(whole, lines))

    def part(first: int, behind: int) -> bytes:
        behind = min(behind, total)
        if first >= behind:
            return b""
        at = first // _ROW
        return decoded(at, -(-behind // _ROW))[first - at * _ROW : behind - at * _ROW]

    return part, total


def _irregular() -> ArmorError:
    """Mixed line ends, or damage: to tell which, all of the armor must be read."""
    return ArmorError("the armor has not the regular form that can be read in parts", _WHOLE)


def _encode(data: bytes | memoryview) -> bytes:
    text = binascii.b2a_base64(data, newline=False)
    lines = [text[at : at + _LINE - 1] for at in range(0, len(text), _LINE - 1)]
    return b"\n".join([*lines, b""])


def _decode(text: bytes, *, last: bool) -> bytes:
    """The bytes of some lines. Raises ArmorError unless they are as an encoder writes them."""
    try:
        data = binascii.a2b_base64(text.replace(b"\n", b""), strict_mode=True)
    except binascii.Error:
        data = b""
    if _encode(data) != text:
        raise ArmorError("a line of the armor is malformed", _DAMAGED)
    if len(data) % _ROW and not last:
        raise ArmorError("a line of the armor ends too early", _DAMAGED)
    return data


def _plain_ends(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Text with LF for each CRLF; no piece of it is empty."""
    held = b""
    for chunk in chunks:
        text = held + chunk
        held = b"\r" if text.endswith(b"\r") else b""
        if text := text[: len(text) - len(held)].replace(b"\r\n", b"\n"):
            yield text
    if held:
        yield held
