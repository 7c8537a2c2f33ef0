"""Sessions of agents that sesstool can name but not yet repair.

They are read as bytes and JSON only, so that nothing of theirs is taken for another format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sesstool.formats.base import Format
from sesstool.formats.events import Meaning, Unknown
from sesstool.formats.terms import Score
from sesstool.formats.values import share, text


class Named(Format):
    """A format that is known by name only."""

    repairable = known = False

    def __init__(self, name: str, title: str, matches: Callable[[dict[str, Any]], bool]) -> None:
        """`matches` says whether a record is of this format."""
        self.name = name
        self.title = title
        self._matches = matches

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        matching = share(values, (self._matches(v) for v in values))
        return Score(matching, f"{matching} % of the records are of {self.title}")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`: nothing is known of it."""
        return Meaning([Unknown("", text(value.get("type")))])


def _kimi_code(value: dict[str, Any]) -> bool:
    kind = text(value.get("type"))
    if kind == "metadata":
        return "protocol_version" in value and "created_at" in value
    return "." in kind and type(value.get("time")) is int


NAMED: tuple[Format, ...] = (Named("kimi-code", "Kimi Code", _kimi_code),)
