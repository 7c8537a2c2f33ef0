"""The values that were found, and where else they stand, however they are spelled there."""

from __future__ import annotations

import base64
import re
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal

import ahocorasick_rs

from sesstool.privacy.matcher import Match
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.spelling import spellings
from sesstool.privacy.standin import canonical

KNOWN = "known-value"
"""The rule that finds again what others found."""
_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_SLUG = re.compile(r"[^A-Za-z0-9]")
# Shorter values stand in too many words; see `_spreads`.
_LONG, _SHORT = 8, 5
_NO_WORD = 20
_BASE64_LEAST = 8
# How many digits of base64 are looked for first, and of how many values they can be at most.
_HEAD, _ALIKE = 9, 16


@dataclass(frozen=True, slots=True)
class Value:
    """A value that is to go: what a stand-in calls it, one spelling, and how it was found."""

    kind: str
    text: bytes
    group: Literal["secret", "personal"]
    title: str


class Values:
    """The table of the values of one set of files. `find` looks for what `learn` was told."""

    def __init__(self) -> None:
        """Begin with none."""
        self._values: dict[tuple[str, str], Value] = {}
        self._stale = True
        self._rules: list[Rule] = []
        # What is looked for: spellings, of each its value; then digits of base64, of each from
        # where on in `_codes` its values are, each with where in three bytes it begins.
        self._plain = array("L")
        self._begins = array("L")
        self._codes = array("L")
        self._all: list[Value] = []
        self._index: ahocorasick_rs.BytesAhoCorasick | None = None

    def __len__(self) -> int:
        """How many values there are."""
        return len(self._values)

    def __iter__(self) -> Iterator[Value]:
        """The values, in the order in which they were found."""
        return iter(self._values.values())

    def learn(self, value: Value, *, always: bool = False) -> None:
        """Take a value in; one that many words could be is left out unless `always`."""
        key = (value.kind, canonical(value.kind, value.text))
        if key not in self._values and (always or _spreads(value)):
            self._values[key] = value
            self._stale = True

    def find(self, text: bytes) -> list[Match]:
        """Where values stand in a text; the matches bear the rule `known-value`."""
        if self._stale:
            self._build()
        if self._index is None:
            return []
        found: list[Match] = []
        for number, start, end in self._index.find_matches_as_indexes(text.lower()):
            if number >= len(self._plain):
                found += self._in_base64(text, start, number - len(self._plain))
            elif (start == 0 or text[start - 1] not in _LETTERS) and (
                end == len(text) or text[end] not in _LETTERS
            ):
                found.append(Match(start, end, self._rules[self._plain[number]]))
        return found

    def _in_base64(self, text: bytes, start: int, number: int) -> Iterator[Match]:
        """The value, of those that begin so in base64, that stands at an offset."""
        for code in self._codes[self._begins[number] : self._begins[number + 1]]:
            value, shift = divmod(code, 3)
            digits = _base64(self._all[value].text, shift)
            if text.startswith(digits, start):
                yield Match(*_run(text, start, start + len(digits)), self._rules[value])
                return

    def _build(self) -> None:
        self._index = None
        self._all = list(self)
        self._rules = [_rule(v.group, v.kind, v.title) for v in self._all]
        seen: dict[bytes, int] = {}
        for number, value in enumerate(self._all):
            for spelling in _spellings(value):
                seen.setdefault(spelling.lower(), number)
        self._plain = array("L", seen.values())
        self._begins, self._codes = array("L", [0]), array("L")
        wanted = list(seen)
        for digits, codes in self._digits():
            if digits not in seen:
                wanted.append(digits)
                self._codes.extend(codes)
                self._begins.append(len(self._codes))
        del seen
        if wanted:
            self._index = ahocorasick_rs.BytesAhoCorasick(
                wanted, matchkind=ahocorasick_rs.MatchKind.LeftmostLongest
            )
        self._stale = False

    def _digits(self) -> Iterator[tuple[bytes, list[int]]]:
        """What to look for of the values in base64, with the codes of those that it can be of.

        Beginnings: whole they would be most of the index, and hardly one is ever met.
        """
        # As bytes, for there can be hundreds of thousands.
        rows = sorted(
            _base64(value.text[:_BASE64_LEAST], shift)[:_HEAD].lower()
            + (3 * number + shift).to_bytes(8, "big")
            for number, value in enumerate(self._all)
            if len(value.text) >= _BASE64_LEAST
            for shift in range(3)
        )
        for head, alike in groupby(rows, lambda row: row[:_HEAD]):
            codes = [int.from_bytes(row[_HEAD:], "big") for row in alike]
            codes.sort(key=lambda code: -len(self._all[code // 3].text))
            if len(codes) <= _ALIKE:
                yield head, codes
                continue
            for code in codes:
                yield _base64(self._all[code // 3].text, code % 3).lower(), [code]


@lru_cache(256)
def _rule(group: Literal["secret", "personal"], kind: str, title: str) -> Rule:
    return Rule(KNOWN, group, kind, title, 0.5, regex="")


def _spreads(value: Value) -> bool:
    """Whether a value is peculiar enough to be taken out wherever it stands."""
    text = value.text
    if len(text) < _SHORT:
        return False
    if value.group == "secret":
        # A password that is a word is one only where it stands as one.
        return len(text) >= _NO_WORD if text.isalpha() and not _mixed(text) else True
    return len(text) >= _LONG or value.kind != "PERSON" or b" " in text


def _mixed(text: bytes) -> bool:
    """Whether letters change their case inside of the text."""
    return not (text.islower() or text.isupper() or text[1:].islower())


def _spellings(value: Value) -> Iterator[bytes]:
    """Each spelling. The table ignores the case of ASCII anyway."""
    text = value.text.decode("utf-8", "surrogateescape")
    forms = {text, text.lower(), text.upper()}
    forms |= {unicodedata.normalize(form, one) for one in set(forms) for form in ("NFC", "NFD")}
    if value.kind in ("USER", "EMAIL"):
        # As a folder's name, in which an agent keeps a path, has it.
        forms |= {_SLUG.sub("-", one) for one in set(forms) if len(one) >= _SHORT}
    if value.kind == "PERSON":
        # As accounts and names of files have it.
        forms |= {one.replace(" ", joint) for one in forms for joint in "._-"} | spellings(text)
    for form in forms:
        yield form.encode("utf-8", "surrogateescape")


def _base64(text: bytes, shift: int) -> bytes:
    """The digits of base64 of which every bit is the text's own, `shift` bytes behind others."""
    digits = base64.b64encode(b"\0" * shift + text)
    return digits[-(-8 * shift // 6) : (8 * (shift + len(text))) // 6]


_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")


def _run(text: bytes, start: int, end: int) -> tuple[int, int]:
    """The whole run of base64 that a part of it stands in."""
    while start and text[start - 1] in _BASE64:
        start -= 1
    while end < len(text) and text[end] in _BASE64:
        end += 1
    return start, end
