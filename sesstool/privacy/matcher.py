"""Rules on one text: which of them match where, and which of two overlapping matches wins.

What a rule matches is what its expression finds over the whole text. In a long one a rare rule is
tried only where an anchor of it is within reach, which finds the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import ahocorasick_rs

from sesstool.privacy.candidate import Candidate
from sesstool.privacy.expressions import Reach, reach
from sesstool.privacy.gates import Gates
from sesstool.privacy.labels import Labels, headed, labelled
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.validators import holds

# Anchors are looked for in parts: a list of all of them could be far larger than the text.
_WINDOW = 1 << 16
# In a text up to so long a rule is tried on all of it, else only near its anchors.
_WHOLE = 1 << 15
# It costs as much to look for the anchors of all rules as to try so many.
_FEW = 8
# Of so many anchors in a part the places are not told apart.
_DENSE = 1 << 12
# It costs as much to start an expression as to run it over so many bytes.
_GAP = 1 << 9
_CONTEXT = 48
_IN_CHARACTER = 0x80
# Matches that are refused hide others that begin inside them: so many are looked for in a row.
_RETRIES = 16
_LONG = 1 << 10
BESIDE = {
    "token": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"),
    "word": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"),
    "digits": frozenset(b"0123456789"),
    "none": frozenset(b""),
}
# Prefixes of tokens that are words as well: what stands before them makes another name of them.
_WORDS = frozenset(
    b"key api app sdk test live sandbox secret dataset pat sat as ak re pa md pk ck cs cu ver"
    b" tid".split()
)
_DASHES = frozenset(b"-_")
_UNDERSCORE = 0x5F
# What may stand before a dash that begins something; nothing does at the begin of a text.
_APART = frozenset([b"", *(bytes([c]) for c in b" \t\r\n\"'`([{>=,:;|*~")])


class Match(NamedTuple):
    """A value in a text, by byte offsets, and the rule that found it."""

    start: int
    end: int
    rule: Rule


class Matcher:
    """Finds what a set of rules describes."""

    def __init__(self, rules: Iterable[Rule], window: int = _WINDOW) -> None:
        """Index the anchors; the expressions of the rules are compiled when first used."""
        self.rules = tuple(rules)
        self._window = window
        self._gates = Gates(self.rules)
        self._reaches: dict[int, Reach] = {}
        of_anchor: defaultdict[bytes, list[int]] = defaultdict(list)
        self._loose = set()
        for number, rule in enumerate(self.rules):
            # A full stop or a colon stands in nearly every text.
            if rule.anchors and min(map(len, rule.anchors)) > 1:
                for anchor in rule.anchors_bytes:
                    of_anchor[anchor].append(number)
            else:
                self._loose.add(number)
        self._index = ahocorasick_rs.BytesAhoCorasick(list(of_anchor))
        self._held = list(of_anchor.values())
        self._rare = frozenset(self._gates.rare)
        self._overlap = max(map(len, of_anchor), default=1) - 1
        self._labels = Labels(
            {
                number: (rule.labels or rule.headings, not rule.labels)
                for number, rule in enumerate(self.rules)
                if rule.label_pattern and not rule.anchors
            }
        )

    def _reach(self, number: int) -> Reach:
        if number not in self._reaches:
            rule = self.rules[number]
            near = _CONTEXT if rule.context else 0
            within = Reach(rule.within, rule.within)
            self._reaches[number] = within if rule.within else reach(rule.regex, rule.anchors, near)
        return self._reaches[number]

    def _beside(self, number: int) -> frozenset[int]:
        """What cannot stand before an anchor, of a rule whose matches begin with it."""
        rule = self.rules[number]
        begins = self._reach(number).before == 0 and rule.value_groups == (0,)
        return BESIDE[rule.boundary] if begins else frozenset()

    def find(self, text: bytes) -> list[Match]:
        """The values in a text, in order, none overlapping another."""
        lower = text.lower()
        found: list[Match] = []
        for number in self._tried(text, lower):
            _apply(self.rules[number], text, lower, 0, len(text), found)
        if len(text) > _WHOLE and self._gates.is_rare_in(lower):
            self._apply_near(text, lower, found)
        for number, near in self._labels.parts(text).items():
            for start, end in near:
                _apply(self.rules[number], text, lower, start, min(end, len(text)), found)
        return settled(found) if len(found) > 1 else found

    def _tried(self, text: bytes, lower: bytes) -> Iterable[int]:
        """The rules that are to be tried on all of a text."""
        tried = self._gates.others(text)
        short = len(text) <= _WHOLE
        rare = short and self._gates.is_rare_in(lower)
        if short and (rare or len(tried) > _FEW):
            hits = self._index.find_matches_as_indexes(lower, overlapping=True)
            held = {number for index in {hit[0] for hit in hits} for number in self._held[index]}
            tried = [number for number in tried if number in held or number in self._loose]
            tried += held & self._rare
        return sorted(tried)

    def _apply_near(self, text: bytes, lower: bytes, found: list[Match]) -> None:
        """Add what rare rules find near their anchors."""
        whole = ((0, len(text)),)
        for number, places in self._places(lower).items():
            everywhere = self._is_all(number, places, len(text))
            for start, end in whole if everywhere else self._parts(number, places, len(text)):
                _apply(self.rules[number], text, lower, start, end, found)

    def _places(self, lower: bytes) -> dict[int, list[int]]:
        """For each rule where it may match the offsets of its anchors; none where all may be."""
        places: defaultdict[int, list[int]] = defaultdict(list)
        everywhere: set[int] = set()
        for start in range(0, len(lower), self._window):
            part = lower[start : start + self._window + self._overlap]
            hits = self._index.find_matches_as_indexes(part, overlapping=True)
            if len(hits) > _DENSE:
                for index in {hit[0] for hit in hits}:
                    everywhere |= self._rare.intersection(self._held[index])
                continue
            offsets: dict[int, list[int]] = {}
            for index, at, _ in hits:
                offsets.setdefault(index, []).append(start + at)
            for index, some in offsets.items():
                for number in self._rare.intersection(self._held[index]) - everywhere:
                    # A rule that begins with its anchor needs the boundary before it.
                    beside = self._beside(number)
                    places[number] += [
                        at
                        for at in some
                        if not at
                        or lower[at - 1] not in beside
                        or (beside is BESIDE["token"] and not _continues(lower, at))
                    ]
        found = {number: some for number, some in places.items() if some}
        return found | {number: [] for number in everywhere}

    def _is_all(self, number: int, places: list[int], length: int) -> bool:
        """Whether the parts that a rule must be tried on are about all of the text."""
        before, after = self._reach(number)
        return not places or (before + after + _GAP) * len(places) >= length

    def _parts(self, number: int, places: list[int], length: int) -> Iterator[tuple[int, int]]:
        """The parts of the text that hold every match of a rule, with what is near joined."""
        before, after = self._reach(number)
        places.sort()
        first = last = places[0]
        for at in places:
            if at - before > last + after + _GAP:
                yield max(first - int(before), 0), int(min(last + after, length))
                first = at
            last = at
        yield max(first - int(before), 0), int(min(last + after, length))


def _apply(rule: Rule, text: bytes, lower: bytes, start: int, end: int, found: list[Match]) -> None:
    """Add what a rule finds in a part of a text, or begins there."""
    search = rule.compiled.search
    refused = 0
    while match := search(text, start, end):
        first, last = match.span()
        begin, finish = max(map(match.span, rule.value_groups))
        if begin < 0:
            begin, finish = first, last
        start = max(last, first + 1)
        if begin == finish:
            continue
        # A character goes as a whole, where a bound of the expression falls into it.
        while begin < finish < len(text) and _splits(text, finish):
            finish += 1
        key = b"" if rule.key_group is None else match[rule.key_group] or b""
        if _stands(rule, lower, Candidate(text, begin, finish, key)):
            found.append(Match(begin, finish, rule))
            refused = 0
        elif refused < _RETRIES and last - first < _LONG:
            refused += 1
            start = _anew(rule, lower, first, start)
        else:
            refused = 0


def _splits(text: bytes, at: int) -> bool:
    """Whether an offset lies within a character of UTF-8."""
    return text[at - 1] >= _IN_CHARACTER and text[at] & 0xC0 == _IN_CHARACTER


def _anew(rule: Rule, lower: bytes, first: int, last: int) -> int:
    """Where a match may begin by an anchor inside one that was refused."""
    if rule.value_groups == (0,) and rule.anchors and lower.startswith(rule.anchors_bytes, first):
        begins = (lower.find(anchor, first + 1, last) for anchor in rule.anchors_bytes)
        return min((at for at in begins if at >= 0), default=last)
    return last


def _stands(rule: Rule, lower: bytes, candidate: Candidate) -> bool:
    """Whether what surrounds a value and its checks let it stand."""
    text, start, end, _ = candidate
    if not _stands_alone(rule, text, lower, start, end):
        return False
    if rule.context:
        near = lower[max(start - _CONTEXT, 0) : start]
        if not any(word.encode() in near for word in rule.context):
            return False
    if not all(holds(check, candidate) for check in rule.validate):
        return False
    labels = rule.label_pattern
    if labels is None:
        return True
    return (labelled if rule.labels else headed)(text, start, end, labels)


def _stands_alone(rule: Rule, text: bytes, lower: bytes, start: int, end: int) -> bool:
    """Whether nothing stands beside a value that is a part of it."""
    beside = BESIDE[rule.boundary]
    before = start > 0 and text[start - 1] in beside
    behind = end < len(text) and text[end] in beside
    if (before or behind) and rule.boundary == "token" and rule.group == "secret":
        strong = _is_strong(rule, lower, start)
        before = before and _continues(lower, start, strong=strong)
        behind = behind and not _is_closed(lower, start, end, strong=strong)
    return not (before or behind)


def _continues(lower: bytes, at: int, *, strong: bool = True) -> bool:
    """Whether the character of a token before an offset makes one thing of it and what follows.

    A dash or underscore alone does not, which marks a line of a diff or emphasis; before what is
    strong none does, nor does the letter of an option.
    """
    before = lower[max(at - 3, 0) : at]
    if lower[at - 1] in _DASHES:
        return not strong and before[-2:-1] not in _APART and before[-2:] != b"__"
    return not (strong and before[-2:-1] == b"-" and before[-3:-2] in _APART)


def _is_strong(rule: Rule, lower: bytes, start: int) -> bool:
    """Whether a value begins with a prefix that tokens alone have."""
    return any(
        lower.startswith(anchor, start) and anchor.strip(b"-_.:=") not in _WORDS
        for anchor in rule.anchors_bytes
    )


def _is_closed(lower: bytes, start: int, end: int, *, strong: bool) -> bool:
    """Whether an underscore behind a token is no part of it: the form says so, or emphasis."""
    emphasis = lower[start - 1 : start] == b"_" and not lower[end + 1 : end + 2].isalnum()
    return lower[end] == _UNDERSCORE and (strong or emphasis)


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


def overlaps(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of some spans in order overlaps [start, end)."""
    at = bisect_right(spans, start, key=lambda span: span[1])
    return at < len(spans) and spans[at][0] < end
