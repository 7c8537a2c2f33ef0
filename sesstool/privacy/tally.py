"""What was found in one file, counted; it holds no value, and no length of a short one."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from sesstool.privacy.ruleset import Rule
from sesstool.privacy.values import KNOWN

FIRST = 10
"""How many places of a rule are kept for each file. The rest is counted: there can be millions."""
_LEAST = (16, 32, 64, 256)
LENGTHS = ("under 16", "16 to 31", "32 to 63", "64 to 255", "256 or more")
"""Classes of length in bytes. The first is wide: the length of a password is half of it."""


@dataclass(frozen=True, slots=True)
class Spotted:
    """A place: line from 1, offset of its first byte in the file, JSON pointer.

    `action` is as in `rewrite.Place`. `views` are the encodings that were undone, the outermost
    first. `fingerprint` is the same for the same value and key.
    """

    line: int
    byte: int
    pointer: str
    action: str
    views: tuple[str, ...]
    length: str
    fingerprint: str


@dataclass(slots=True)
class Found:
    """What one rule found: its places by action, encodings and length, and the first of them."""

    rule: Rule
    actions: Counter[str] = field(default_factory=Counter)
    views: Counter[tuple[str, ...]] = field(default_factory=Counter)
    lengths: Counter[str] = field(default_factory=Counter)
    values: set[str] = field(default_factory=set)
    first: list[Spotted] = field(default_factory=list)

    @property
    def places(self) -> int:
        """How many places there are."""
        return self.actions.total()

    @property
    def again(self) -> bool:
        """Whether these are values that were found elsewhere, and are known by that."""
        return self.rule.id == KNOWN

    @property
    def title(self) -> str:
        """What was found, in words."""
        return f"{self.rule.kind} that was found elsewhere" if self.again else self.rule.title

    def add(self, spotted: Spotted) -> None:
        """Count one place."""
        self.actions[spotted.action] += 1
        self.views[spotted.views] += 1
        self.lengths[spotted.length] += 1
        self.values.add(spotted.fingerprint)
        if len(self.first) < FIRST:
            self.first.append(spotted)

    def take(self, other: Found) -> None:
        """Count what was found in another file, but for its places."""
        self.actions += other.actions
        self.views += other.views
        self.lengths += other.lengths
        self.values |= other.values


class Tally:
    """What was found, by rule and kind: a value that is known can be of any kind."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._found: dict[tuple[str, str], Found] = {}

    def of(self, rule: Rule) -> Found:
        """The count of one rule."""
        return self._found.setdefault((rule.id, rule.kind), Found(rule))

    def ranked(self) -> list[Found]:
        """All that was found: secrets first, the most frequent first."""
        return sorted(
            self._found.values(),
            key=lambda f: (f.rule.group != "secret", f.again, -f.places, f.rule.id, f.rule.kind),
        )


def length_class(size: int) -> str:
    """Which of `LENGTHS` so many bytes are."""
    return LENGTHS[bisect_right(_LEAST, size)]
