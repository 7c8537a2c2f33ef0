"""Checks on what an expression matched, named in the rules: `CHECKS` is their table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple


class Candidate(NamedTuple):
    """A value that an expression found in a text, by byte offsets, and the name it has there."""

    text: bytes
    start: int
    end: int
    key: bytes = b""

    @property
    def value(self) -> bytes:
        """The bytes of the value."""
        return self.text[self.start : self.end]


Check = Callable[[Candidate, str], bool]


def holds(check: str, candidate: Candidate) -> bool:
    """Whether a check, as rules write it (`name` or `name:argument`), holds for a candidate."""
    name, _, argument = check.partition(":")
    return CHECKS[name](candidate, argument)


def _entropy(candidate: Candidate, least: str) -> bool:
    """At least so many bits a byte."""
    value = candidate.value
    counts = Counter(value).values()
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return bits >= float(least)


def _not_placeholder(candidate: Candidate, _: str) -> bool:
    """Not what stands in for a value in documentation."""
    value = candidate.value.lower()
    return not any(word in value for word in _PLACEHOLDERS) and len(set(value)) > 3


_PLACEHOLDERS = (b"example", b"redacted", b"xxxx", b"your_", b"your-", b"placeholder", b"changeme")

CHECKS: dict[str, Check] = {
    "entropy": _entropy,
    "not-placeholder": _not_placeholder,
}
