"""Rules on one text: which of them match where, and which of two overlapping matches wins."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import ahocorasick_rs

from sesstool.privacy.candidate import Candidate
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.validators import holds

# A text is looked at in windows: what only one part of it asks for is not tried on all of it.
_WINDOW = 1 << 16
_OVERLAP = 1 << 13
_CONTEXT = 48
_BESIDE = {
    "token": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"),
    "word": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"),
    "digits": frozenset(b"0123456789"),
    "none": frozenset(b""),
}


class Match(NamedTuple):
    """A value in a text, by byte offsets, and the rule that found it."""

    start: int
    end: int
    rule: Rule


class Matcher:
    """Finds what a set of rules describes."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Compile the index of anchors; the expressions are compiled when first used."""
        self._always: list[Rule] = []
        by_anchor: defaultdict[str, list[int]] = defaultdict(list)
        self.rules = tuple(rules)
        for number, rule in enumerate(self.rules):
            if not rule.anchors:
                self._always.append(rule)
            for anchor in rule.anchors:
                by_anchor[anchor].append(number)
        self._of_anchor = [tuple(numbers) for numbers in by_anchor.values()]
        self._index = ahocorasick_rs.BytesAhoCorasick([a.encode() for a in by_anchor])

    def find(self, text: bytes) -> list[Match]:
        """The values in a text, in order, none overlapping another."""
        found: list[Match] = []
        for start in range(0, max(len(text), 1), _WINDOW):
            window = text[max(start - _OVERLAP, 0) : start + _WINDOW + _OVERLAP]
            self._find(window, max(start - _OVERLAP, 0), found)
        return settled(found)

    def _find(self, text: bytes, offset: int, found: list[Match]) -> None:
        lower = text.lower()
        hits = self._index.find_matches_as_indexes(lower, overlapping=True)
        numbers = {n for anchor in {hit[0] for hit in hits} for n in self._of_anchor[anchor]}
        for rule in [*self._always, *(self.rules[n] for n in sorted(numbers))]:
            _apply(rule, text, lower, offset, found)


def _apply(rule: Rule, text: bytes, lower: bytes, offset: int, found: list[Match]) -> None:
    beside = _BESIDE[rule.boundary]
    for match in rule.compiled.finditer(text):
        start, end = max(map(match.span, rule.value_groups))
        if start < 0:
            start, end = match.span()
        if start == end:
            continue
        if beside and (
            (start > 0 and text[start - 1] in beside) or (end < len(text) and text[end] in beside)
        ):
            continue
        if rule.context and not any(
            word.encode() in lower[max(start - _CONTEXT, 0) : start] for word in rule.context
        ):
            continue
        key = b"" if rule.key_group is None else match[rule.key_group] or b""
        if all(holds(check, Candidate(text, start, end, key)) for check in rule.validate):
            found.append(Match(offset + start, offset + end, rule))


def settled(found: list[Match]) -> list[Match]:
    """In order and without overlaps: of two matches the better stays.

    That is the one of higher confidence, else the longer, else the earlier. Where both are
    secrets it grows to cover the other: what is left of a secret would still tell of it.
    """
    kept: list[Match] = []
    for match in sorted(found, key=lambda m: (-m.rule.confidence, m.start - m.end, m.start)):
        at = bisect_left(kept, match.start, key=lambda m: m.end - 1)
        last = at
        while last < len(kept) and kept[last].start < match.end:
            last += 1
        rivals = kept[at:last]
        if not rivals:
            kept.insert(at, match)
        elif match.rule.group == "secret" and all(r.rule.group == "secret" for r in rivals):
            start = min(match.start, rivals[0].start)
            end = max(match.end, rivals[-1].end)
            kept[at:last] = [Match(start, end, rivals[0].rule)]
    return kept
