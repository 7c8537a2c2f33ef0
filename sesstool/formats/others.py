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
from sesstool.formats.values import mapping, share, text


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


def _gemini(value: dict[str, Any]) -> bool:
    return (
        "projectHash" in value
        or "$set" in value
        or "$rewindTo" in value
        or value.get("type") in ("gemini", "model")
        or ("id" in value and "type" in value and "content" in value and "timestamp" in value)
    )


def _droid(value: dict[str, Any]) -> bool:
    return value.get("type") == "session_start" or (
        value.get("type") == "message" and "role" in mapping(value.get("message"))
    )


def _cursor(value: dict[str, Any]) -> bool:
    return ("role" in value and "message" in value) or value.get("type") == "turn_ended"


NAMED: tuple[Format, ...] = (
    Named("gemini", "Gemini CLI", _gemini),
    Named("droid", "Factory Droid", _droid),
    Named("cursor", "Cursor agent", _cursor),
)
