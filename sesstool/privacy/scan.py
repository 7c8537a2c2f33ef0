"""Values in a text, under whatever encodings they stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from sesstool.privacy.matcher import Match, Matcher, overlaps, settled
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.views import SEAM, View, Views, unescaped
from sesstool.privacy.wraps import wrapped

_BACKSLASH = ord("\\")
# An escape of which only the beginning is there.
_BEGUN = re.compile(rb"\\(?:u[0-9A-Fa-f]{0,3})?")


class Hit(NamedTuple):
    """A value: its span in the text that was given, and its bytes with the encodings undone.

    `chain` names the encodings that were undone, the outermost first.
    """

    start: int
    end: int
    rule: Rule
    value: bytes
    chain: tuple[str, ...]


class Known(Protocol):
    """Finds values that were found before; false where there are none."""

    def find(self, text: bytes) -> list[Match]:
        """Where they stand in a text."""
        ...


class Scanner:
    """Finds values by a set of rules."""

    def __init__(self, rules: Iterable[Rule], known: Known | None = None) -> None:
        """Compile the rules; `known` finds values that are known already."""
        self._known = known
        self.bounded = 0
        """How many texts were encoded so often that not all of it was looked at."""
        rules = tuple(rules)
        self._matcher = Matcher(rules)
        self._joined = Matcher(rule for rule in rules if rule.joined)

    def scan(self, text: bytes, *, escaped: bool = False, clean: bool = False) -> list[Hit]:
        """The values in a text, in order, none overlapping another.

        `escaped` says that the text is JSON: what its escapes stand for is looked at, and not
        their letters. `clean` says that the rules find nothing in it.
        """
        if clean and not self._known:
            return []
        root = View(text)
        begin = (unescaped(root) if escaped else None) or root
        whole: dict[Match, Hit] = {}
        torn: dict[Match, Hit] = {}
        drawn = Views(begin)
        for view in drawn:
            matches = [] if clean else self._matcher.find(view.text)
            if not clean and b"\n" in view.text:
                for match, value in wrapped(view.text, self._joined):
                    span = Match(*view.source(match.start, match.end), match.rule)
                    whole.setdefault(span, Hit(*span, value, (*view.chain, "wrapped")))
            if self._known is not None:
                matches += self._known.find(view.text)
            for match in matches:
                if SEAM in view.text[match.start : match.end]:
                    continue
                end = match.end - _odd_backslash(view.text, match.start, match.end)
                span = Match(*view.source(match.start, end), match.rule)
                hit = Hit(*span, view.text[match.start : end], view.chain)
                (torn if _in_escape(view.text, match.start) else whole).setdefault(span, hit)
        self.bounded += drawn.bounded
        if torn:
            ends = sorted((span.start, span.end) for span in settled(list(whole)))
            # Where the escape is one, a deeper view has the value without its letter.
            whole |= {s: hit for s, hit in torn.items() if not overlaps(ends, s.start, s.end)}
        return [
            whole.get(match) or Hit(*match, text[match.start : match.end], ())
            for match in settled(list(whole))
        ]


def _in_escape(text: bytes, at: int) -> bool:
    """Whether an offset is behind the backslash of a JSON escape, and before its end."""
    back = text.rfind(b"\\", max(at - 5, 0), at)
    if back < 0 or not _BEGUN.fullmatch(text, back, at):
        return False
    run = back
    while run >= 0 and text[run] == _BACKSLASH:
        run -= 1
    return (back - run) % 2 == 1


def _odd_backslash(text: bytes, start: int, end: int) -> int:
    """1 where a span ends with the backslash of an escape whose letter is behind it, else 0."""
    value = text[start:end]
    return (len(value) - len(value.rstrip(b"\\"))) % 2 if end < len(text) else 0
