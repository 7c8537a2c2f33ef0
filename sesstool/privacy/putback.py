"""Values in the place of their stand-ins, where only the table of a vault tells which they are.

What stood there may have been another spelling of the value: this is no way to an original byte
for byte, but to one with all its values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import ahocorasick_rs

from sesstool.privacy.fields import leaves
from sesstool.privacy.standin import MARK, stand_ins
from sesstool.privacy.vault import Known
from sesstool.records.heal import decode_any
from sesstool.records.lines import Line

_DEPTH = 8
_TAG = "⟦".encode()
# A stand-in of style shape with all of its number; what is shorter could be another's.
_SHAPE = re.compile(MARK + b"[0-9a-f]{8}")


class PutBack:
    """Replaces stand-ins; `done` and `left` count those that were and could not be replaced."""

    def __init__(self, table: Iterable[Known]) -> None:
        """Take the rows of a table. A stand-in of several values tells nothing."""
        values: dict[bytes, bytes | None] = {}
        for _, stand_in, value in table:
            if stand_in.startswith(_TAG) or _SHAPE.search(stand_in):
                same = values.setdefault(stand_in, value) == value
                values[stand_in] = value if same else None
        self._known = [(s, v) for s, v in values.items() if v is not None]
        # The longest first: where one stand-in of style shape begins like another.
        kind = ahocorasick_rs.MatchKind.LeftmostLongest
        self._index = ahocorasick_rs.BytesAhoCorasick([s for s, _ in self._known], matchkind=kind)
        self.done = 0
        self.left = 0

    def lines(self, lines: Iterable[Line]) -> Iterator[bytes]:
        """Lines with values in the place of stand-ins."""
        for line in lines:
            yield self._text(line.text, _DEPTH) + b"\n" * line.ended

    def _text(self, text: bytes, depth: int) -> bytes:
        """A text, which may be JSON."""
        if depth and text.lstrip()[:1] in (b"{", b"[", b'"'):
            try:
                decode_any(text)
            except ValueError:
                pass
            else:
                return self._document(text, depth)
        return self._replaced(text, escaped=False)

    def _document(self, text: bytes, depth: int) -> bytes:
        out: list[bytes] = []
        at = 0
        for leaf in leaves(text):
            if leaf.kind != "number":
                raw = text[leaf.start : leaf.end]
                out += (text[at : leaf.start], self._string(raw, depth))
                at = leaf.end
        return b"".join([*out, text[at:]])

    def _string(self, raw: bytes, depth: int) -> bytes:
        """A JSON string without its quotes; what is not replaced keeps its escapes."""
        if b"\\" not in raw:
            return self._replaced(raw, escaped=True)
        counts = self.done, self.left
        try:
            inside = json.loads(b'"%b"' % raw, strict=False)
            for ascii_only in (False, True):
                # Only where writing it again changes nothing else.
                if _dumped(inside, ascii_only=ascii_only) == raw:
                    new = self._text(inside.encode("utf-8", "surrogatepass"), depth - 1)
                    return _dumped(new.decode("utf-8", "surrogatepass"), ascii_only=ascii_only)
        except UnicodeError:  # bytes that are no text
            self.done, self.left = counts
        return self._replaced(raw, escaped=True)

    def _replaced(self, text: bytes, *, escaped: bool) -> bytes:
        out: list[bytes] = []
        at = 0
        for number, start, end in self._index.find_matches_as_indexes(text):
            value = self._known[number][1]
            if escaped:
                value = _dumped(value.decode("utf-8", "surrogateescape"), ascii_only=False)
            out += (text[at:start], value)
            at = end
            self.done += 1
        result = b"".join([*out, text[at:]])
        self.left += len(stand_ins(result))
        return result


def _dumped(text: str, *, ascii_only: bool) -> bytes:
    written = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    return written.encode("utf-8", "surrogateescape" if not _high(written) else "surrogatepass")


def _high(text: str) -> bool:
    """Whether there are surrogates that no byte stands for."""
    return any("\ud800" <= c <= "\udc7f" or "\udd00" <= c <= "\udfff" for c in text)
