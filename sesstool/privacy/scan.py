"""Values in a text, under whatever encodings they stand there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sesstool.privacy.matcher import Match, Matcher, settled
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.views import views


class Hit(NamedTuple):
    """A value: its span in the text that was given, and its bytes with the encodings undone.

    `chain` names the encodings that were undone, the outermost first.
    """

    start: int
    end: int
    rule: Rule
    value: bytes
    chain: tuple[str, ...]


class Scanner:
    """Finds values by a set of rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Compile the rules."""
        rules = tuple(rules)
        self._matcher = Matcher(rules)
        self._joined = Matcher(rule for rule in rules if rule.joined)

    def scan(self, text: bytes) -> list[Hit]:
        """The values in a text, in order, none overlapping another."""
        hits: dict[Match, Hit] = {}
        for view in views(text):
            for match in self._matcher.find(view.text):
                start, end = view.source(match.start, match.end)
                value = view.text[match.start : match.end]
                hit = Hit(start, end, match.rule, value, view.chain)
                hits.setdefault(Match(start, end, match.rule), hit)
        return [
            hits.get(match) or Hit(*match, text[match.start : match.end], ())
            for match in settled(list(hits))
        ]
