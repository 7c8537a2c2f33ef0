"""Text made safe to show: control and bidi characters visible, cell width, elision."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

# Letters by category, yet drawn as nothing.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u034f")

# Values under these keys are ids and enumerations, unless one of _FREE is around them.
_SHOWN_KEYS = frozenset(
    b"type role id name tool_use_id call_id tool_call_id uuid parentUuid".split()
)
# What stands below these keys is a tool's own data, whatever its keys are called.
_FREE = frozenset(b"input arguments output toolUseResult".split())
_IDENTIFIER = re.compile(rb"[\w$.:/-]{1,64}")

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(
    rb"(?P<string>" + _STRING + rb")(?P<key>(?=[ \t\r\n]*+:))?"
    rb'|(?P<torn>".*+)'
    rb"|(?P<open>[{\[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)"
    rb"|(?P<space>[ \t\r\n]++)"
    rb"|(?P<number>-?[0-9][0-9.eE+-]*+)(?![\w])"
    rb"|(?P<word>true|false|null|NaN|-?Infinity)(?![\w])"
    rb'|(?P<other>[^"{}\[\],: \t\r\n]++)',
    re.DOTALL,
)
# Controls but tabs and ends of lines, and what turns the direction of writing.
_ACTING = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
# Before a place further than this, a line is not looked at: it would take seconds.
_HEAD = 1 << 17
# Of so many characters it is remembered how they are shown: more than a text of people has.
_KEPT = 1 << 12


class _Piece(NamedTuple):
    """What stands for the bytes [start, end) of a record."""

    start: int
    end: int
    shown: str


def safe(text: str) -> str:
    """The text in one line, with every character that could act on a terminal made visible.

    Control characters become their pictures (␛), others without a shape of their own their
    code point: `<U+202E>`.
    """
    if text.isprintable() and (text.isascii() or _BLANK_LETTERS.isdisjoint(text)):
        return text
    return text.translate(_SHOWN)


def pasted(text: str) -> str:
    """The text in its lines, with nothing that could act where it is pasted into a terminal."""
    return _ACTING.sub(lambda found: _visible(found[0]), text.replace("\r\n", "\n"))


def quoted(path: object) -> str:
    """A path as one word of a shell, in a command that a person is told to run.

    What could act on a terminal stands as escapes, which bash, ksh and zsh take back.
    """
    word = shlex.quote(str(path))
    return word if safe(word) == word else f"$'{''.join(map(_escaped, str(path)))}'"


def _escaped(char: str) -> str:
    """A character inside of a shell's quotes for escapes."""
    if char in "'\\":
        return f"\\{char}"
    if safe(char) == char:
        return char
    lenient = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", lenient))


def from_here(path: str | os.PathLike[str]) -> str:
    """A path as short as it can be said: from the folder that this runs in, or from home."""
    whole = os.path.abspath(path)  # noqa: PTH100 - links stay as they are
    for folder, sign in ((os.getcwd(), ""), (os.path.expanduser("~"), "~" + os.sep)):  # noqa: PTH109, PTH111 - plain text
        if folder != os.sep and whole.startswith(folder + os.sep):
            return safe(sign + whole[len(folder) + 1 :])
    return safe(whole)


def session_word(path: object) -> str:
    """A session in such a command; an encrypted one with the option that opens it."""
    return f"-i KEYFILE {quoted(path)}" if str(path).endswith(".age") else quoted(path)


def lasting(seconds: float) -> str:
    """A time span in words: `0.5 s`, `42 s`, `11 min 24 s`, `3 h 5 min`, `2 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    left, said = round(seconds), []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            said.append(f"{count:,} {unit}")
        elif said:
            break
    return " ".join(said[:2])


def _visible(char: str) -> str:
    if char <= "\x1f":
        return chr(0x2400 + ord(char))
    if char == "\x7f":
        return "␡"
    if char in _BLANK_LETTERS:
        return f"<U+{ord(char):04X}>"
    # An unassigned character is shown by its code point too, for its width is unknown.
    if char.isprintable() or unicodedata.category(char) == "Zs":
        return char
    return f"<U+{ord(char):04X}>"


class _Shown(dict[int, str]):
    """What is shown for each character, found when it is first asked for."""

    def __missing__(self, code: int) -> str:
        shown = _visible(chr(code))
        if len(self) < _KEPT:
            self[code] = shown
        return shown


_SHOWN = _Shown()


def width(text: str) -> int:
    """How many terminal cells a safe text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


@lru_cache(maxsize=1024)
def _cells(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def elide(text: str, cells: int) -> str:
    """The safe text if it fits into so many cells, else its beginning and an ellipsis."""
    if width(text) <= cells:
        return text
    room = max(cells - 1, 0)
    if text[:cells].isascii():  # nearly always, and much quicker
        return text[:room] + "…"
    kept = []
    for char in text:
        room -= _cells(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"


def wrapped(text: str, cells: int) -> Iterator[str]:
    """The safe text in lines of at most so many cells, cut at blanks where there are any.

    No character is lost but the blanks at which it is cut.
    """
    cells = max(cells, 2)
    start, size = 0, len(text)
    while start < size:
        end = _fitting_end(text, start, cells)
        if end >= size:
            break
        blank = text.rfind(" ", start + 1, end + 1)
        cut = blank if blank > start else end
        yield text[start:cut]
        start = cut + (text[cut] == " ")
    yield text[start:]


def _fitting_end(text: str, start: int, cells: int) -> int:
    """Where what begins at `start` no longer fits into so many cells."""
    part = text[start : start + cells]
    if part.isascii():
        return start + cells
    end = start
    while end < len(text) and (cells := cells - _cells(text[end])) >= 0:
        end += 1
    return max(end, start + 1)


def structure(
    raw: bytes,
    start: int,
    end: int,
    max_width: int,
    *,
    show_text: bool = False,
    headless: bool = False,
) -> tuple[str, int, int]:
    """One line that shows a JSON record's structure around its bytes [start, end).

    Returns the line and the cells [first, last) in which the range lies, at least one.
    Strings and numbers are elided, but for short ids and enumerations; `show_text` shows
    them. Bytes that are no JSON are only counted. `headless` says that the record began before
    `raw`: what stands before the range is then left out. Never fails, whatever the bytes are.
    """
    end = max(end, start + 1)
    longest = max_width // 2 if show_text else 0
    if headless or start > _HEAD:
        at = min(start, len(raw))
        pieces = [] if headless else [_Piece(0, at, f"…{at} bytes…")]
        pieces += islice(_pieces(raw, at, longest), max(max_width, 1))
    else:
        pieces = _from_head(raw, longest)
    first = bisect_right(pieces, start, key=lambda piece: piece.end)
    # A piece takes a cell or more: what is further away cannot be shown.
    before = pieces[max(first - max(max_width, 1), 0) : first]
    inside: list[_Piece] = []
    after: list[_Piece] = []
    cells = 0
    for piece in islice(pieces, first, None):
        (inside if piece.start < end else after).append(piece)
        cells += width(piece.shown)
        if cells > max_width:
            break
    middle = elide("".join(p.shown for p in inside) or " ", max(max_width - 2, 1))
    room = max_width - width(middle) - 2
    behind = sum(width(p.shown) for p in after)
    left = _fitting(reversed(before), room - min(room // 2, behind))[::-1]
    right = _fitting(after, room - sum(width(p.shown) for p in left))
    shown = [*left, *inside, *right] or [_Piece(len(raw), len(raw), "")]
    ahead = ("…" if headless or shown[0].start > 0 else "") + "".join(p.shown for p in left)
    rest = "".join(p.shown for p in right)
    if shown[-1].end < len(raw) and not (middle + rest).endswith("…"):
        rest += "…"
    return ahead + middle + rest, width(ahead), width(ahead) + width(middle)


def _fitting(pieces: Iterable[_Piece], room: int) -> list[_Piece]:
    """The first of the pieces, as many as fit into so many cells."""
    kept = []
    for piece in pieces:
        room -= width(piece.shown)
        if room < 0:
            break
        kept.append(piece)
    return kept


@lru_cache(maxsize=1)
def _from_head(raw: bytes, longest: int) -> list[_Piece]:
    """The pieces of a record, which is cut once, however many findings it has."""
    return list(_pieces(raw, 0, longest, names=True))


def _pieces(raw: bytes, at: int, longest: int, *, names: bool = False) -> Iterator[_Piece]:
    """Cut a record into pieces from `at` on; `longest` is how many cells of a string are shown.

    `names` says that ids and enumerations are shown: where the head was skipped, nobody knows
    whose they are.
    """
    key, depth, free = b"", 0, 0
    for match in _TOKEN.finditer(raw, at):
        kind, token = match.lastgroup, match[0]
        if kind == "open":
            depth += 1
            free = free or (depth if key in _FREE else 0)
        elif kind == "close":
            free = 0 if depth == free else free
            depth -= 1
        named = names and key in _SHOWN_KEYS and not free
        yield _Piece(*match.span(), _shown(kind, token, longest, names=named))
        if kind == "key":
            key = token[1:-1]
        elif kind not in {"space", "colon"}:
            key = b""


def _shown(kind: str | None, token: bytes, longest: int, *, names: bool) -> str:
    """What stands for a token; `names` says that it is the value of an id or enumeration."""
    match kind:
        case "open" | "close" | "comma" | "colon" | "word":
            return token.decode()
        case "space":
            return " "
        case "key" if _IDENTIFIER.fullmatch(token[1:-1]):
            return token.decode()
        case "string" if names and _IDENTIFIER.fullmatch(token[1:-1]):
            return token.decode()
        case "key" | "string" if longest:
            return f'"{elide(safe(token[1:-1].decode(errors="replace")), longest)}"'
        case "key" | "string":
            return '"…"'
        case "number":
            return elide(token.decode(), longest) if longest else "…"
    return f"…{len(token)} bytes…"
