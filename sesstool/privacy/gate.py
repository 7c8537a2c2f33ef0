"""Which of many lines may hold a value: the others need not be looked at.

A line is let through where it has what some rule's match must have, in whatever way JSON escapes
it, and where it has an encoding that can hide one. With hyperscan, which the extra `fast`
installs, that takes one pass; without it the anchors are looked for first.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import merge
from typing import Any

import ahocorasick_rs

from sesstool.privacy import runs
from sesstool.privacy.expressions import Shape, sign
from sesstool.privacy.matcher import BESIDE
from sesstool.privacy.ruleset import Rule, compiled

_HIDING = (
    r"%[2-7][0-9A-Fa-f]",
    r"&(?:#|quot;|amp;|apos;|lt;|gt;|nbsp;)",
    # Letters of ASCII, and the beginning of what a terminal obeys.
    r"\\u00[0-7]|\\x[2-7]|\\x1[bB]|\\(?:0[4-7]|1[0-7])[0-7]|\\033|\\e\[|\x1b|\\/",
    runs.BASE64,
    runs.HEXADECIMAL,
)
_ESCAPED = re.compile(r"""[^!#-\[\]-~ ]""")
_MEMORY = 1 << 26
# Hyperscan refuses what is much longer.
_LONGEST = 4000

Find = Callable[[bytes, int], int | None]
"""Where the first match in a chunk from an offset on is."""
_WINDOW = 1 << 14


class Gate:
    """Tells which lines a scanner with the same rules may find a value in."""

    def __init__(self, rules: Iterable[Rule], *, fast: bool = True) -> None:
        """Index the rules. `fast` takes hyperscan where it is installed."""
        self._always = list(_HIDING)
        self._signs: list[str] = []
        of_anchor: defaultdict[str, set[int]] = defaultdict(set)
        for rule in rules:
            text = sign(
                Shape(
                    rule.gate or rule.regex,
                    rule.anchors,
                    rule.context,
                    BESIDE[rule.boundary],
                    whole=rule.value_groups == (0,),
                    joined=rule.joined,
                )
            )
            # What of an anchor no escape can change; that of a slash is let through anyway.
            pieces = [max(_ESCAPED.split(anchor), key=len) for anchor in rule.anchors]
            if not pieces or min(map(len, pieces)) < 2:
                self._always.append(text)
                continue
            for anchor in pieces:
                of_anchor[anchor].add(len(self._signs))
            self._signs.append(text)
        self._of_anchor = list(of_anchor.values())
        self._index = ahocorasick_rs.BytesAhoCorasick([a.encode() for a in of_anchor])
        self._overlap = max(map(len, of_anchor), default=1) - 1
        self._compiled: dict[int, Any] = {}
        self._one = compiled("|".join(self._always), "what hides values", _MEMORY)
        self._database = _database([*self._always, *self._signs]) if fast else None

    def lines(self, chunk: bytes) -> Iterator[tuple[int, int]]:
        """The spans of the lines that must be looked at; `chunk` is of whole lines."""
        if self._database is None:
            sources = [_at_lines(chunk, _searching(self._one)), self._anchored(chunk)]
        else:
            sources = [_at_lines(chunk, find) for find in self._database.finds]
        last = None
        for line in merge(*sources):
            if line != last:
                yield line
            last = line

    def _anchored(self, chunk: bytes) -> Iterator[tuple[int, int]]:
        """The lines with the sign of a rule that has anchors."""
        lower = chunk.lower()
        start, end = 0, -1
        tried: set[int] = set()
        for window in range(0, len(lower), _WINDOW):
            part = lower[window : window + _WINDOW + self._overlap]
            for anchor, at, _ in self._index.find_matches_as_indexes(part, overlapping=True):
                if window + at < start:
                    continue
                if window + at > end:
                    start, end = _line(chunk, window + at)
                    tried.clear()
                fresh = self._of_anchor[anchor] - tried
                tried |= fresh
                if any(self._has_sign(number, chunk, start, end) for number in fresh):
                    yield start, end
                    start = end + 1

    def _has_sign(self, number: int, chunk: bytes, start: int, end: int) -> bool:
        if number not in self._compiled:
            self._compiled[number] = compiled(self._signs[number], "the sign of a rule")
        return self._compiled[number].search(chunk, start, end) is not None


def _line(chunk: bytes, at: int) -> tuple[int, int]:
    end = chunk.find(b"\n", at)
    return chunk.rfind(b"\n", 0, at) + 1, len(chunk) if end < 0 else end


def _searching(expression: Any) -> Find:
    def find(chunk: bytes, position: int) -> int | None:
        match = expression.search(chunk, position)
        return None if match is None else int(match.start())

    return find


def _at_lines(chunk: bytes, find: Callable[[bytes, int], int | None]) -> Iterator[tuple[int, int]]:
    """The lines in which something is found, in order."""
    position = 0
    while (at := find(chunk, position)) is not None:
        start, end = _line(chunk, at)
        yield start, end
        position = end + 1


class _Database:
    """Expressions as hyperscan runs them."""

    def __init__(self, hyperscan: Any, expressions: list[str]) -> None:
        self._halted = hyperscan.ScanTerminated
        kept = [e for e in expressions if len(e) <= _LONGEST]
        self._database = hyperscan.Database()
        self._compile(hyperscan, self._database, kept)
        self.finds: list[Find] = [self.find]
        if len(kept) < len(expressions):
            long = "|".join(e for e in expressions if len(e) > _LONGEST)
            self.finds.append(_searching(compiled(long, "signs", _MEMORY)))

    @staticmethod
    def _compile(hyperscan: Any, database: Any, expressions: list[str]) -> None:
        flags = [hyperscan.HS_FLAG_SINGLEMATCH] * len(expressions)
        database.compile(expressions=[e.encode() for e in expressions], flags=flags)

    def find(self, chunk: bytes, position: int) -> int | None:
        """Where the first match from an offset on ends."""
        found: list[int] = []

        def matched(_id: int, _from: int, to: int, _flags: int, _context: object) -> bool:
            found.append(to)
            return True

        while position < len(chunk):
            # It takes a copy of what it is given.
            end = chunk.find(b"\n", min(position + _WINDOW, len(chunk))) + 1 or len(chunk)
            with suppress(self._halted):
                self._database.scan(chunk[position:end], match_event_handler=matched)
            if found:
                return position + found[0] - 1
            position = end
        return None


def _database(expressions: list[str]) -> _Database | None:
    """None where hyperscan is not installed, or takes them not."""
    try:
        hyperscan = importlib.import_module("hyperscan")
    except ImportError:
        return None
    try:
        return _Database(hyperscan, expressions)
    except hyperscan.error:
        # One of them is too large for it, and it does not say which.
        return None
