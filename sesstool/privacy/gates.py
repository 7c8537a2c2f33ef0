"""Which rules can match in a text: told in a few passes over it, not one for each rule.

Most rules are rare, hardly a text holds an anchor of one: an expression looks for the anchors of
all of them. Of the rules that have none, or whose anchors stand in many texts, some are tried
together, by an expression that matches wherever one of them does. Those that match in many texts
are tried each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sesstool.privacy.ruleset import Rule, compiled

# Expressions that repeat without end multiply their states when they are tried together.
_BATCH, _BATCH_LOOPING = 32, 16
# So do those that count far: up to here alone they count.
_COUNTED = 8
_MEMORY = 1 << 26
_LOOP = re.compile(r"(?<!\\)[*+]|,\}")
# What is kept, what is counted, and what goes: the names of groups, and where a line begins.
_PART = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|(?P<name>\?P<\w+>)|\^"
)


class Gates:
    """Tells which of some rules can match in a text."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Take the rules, which go by their numbers; those with labels alone are left out."""
        tried = [n for n, rule in enumerate(rules) if rule.anchors or not rule.label_pattern]
        self.rare = [n for n in tried if rules[n].anchors and not rules[n].often]
        """The rules that are looked for by their anchors."""
        anchors = sorted({re.escape(a) for n in self.rare for a in rules[n].anchors})
        self._anchor = _union(anchors) if anchors else None
        self._loud = [n for n in tried if rules[n].often == "matches"]
        left = sorted({*tried}.difference(self.rare, self._loud))
        self._batches = list(_batches({n: loosened(rules[n].regex) for n in left}))

    def is_rare_in(self, lower: bytes) -> bool:
        """Whether an anchor of a rare rule stands in a text, given in lower case."""
        return self._anchor is not None and self._anchor.search(lower) is not None

    def others(self, text: bytes) -> list[int]:
        """The rules that are not rare and can match in a text."""
        hit = [members for gate, members in self._batches if gate.search(text) is not None]
        return [*self._loud, *(number for members in hit for number in members)]


def loosened(regex: str) -> str:
    """An expression without groups that matches wherever the given one does, and cheaply."""
    return _PART.sub(_loose, regex)


def _loose(part: re.Match[str]) -> str:
    if part[0] == "^":
        return ""
    if part["name"]:
        return "?:"
    if not part["least"]:
        return part[0]
    least, most = int(part["least"]), part["most"]
    far = least if most is None else int(most or _COUNTED + 1)
    return part[0] if far <= _COUNTED else f"{{{min(least, _COUNTED)},}}"


def _batches(regexes: dict[int, str]) -> Iterator[tuple[Any, list[int]]]:
    looping = [n for n, regex in regexes.items() if _LOOP.search(regex)]
    finite = [n for n in regexes if n not in looping]
    for numbers, size in ((finite, _BATCH), (looping, _BATCH_LOOPING)):
        for at in range(0, len(numbers), size):
            members = numbers[at : at + size]
            yield _union(regexes[n] for n in members), members


def _union(expressions: Iterable[str]) -> Any:
    return compiled("|".join(f"(?:{one})" for one in expressions), "rules together", _MEMORY)
