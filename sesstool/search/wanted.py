"""What is looked for, and what of a record is it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import re2

from sesstool.errors import UsageError
from sesstool.model.moments import moment
from sesstool.model.passages import Passage
from sesstool.records.heal import decode
from sesstool.search import sieve

# What is looked for has at most so many characters: it costs time in each line that may match.
_LONGEST = 4000
# A match is shown up to so many characters.
_SHOWN = 200
_ROLES = {"thinking": "assistant", "call": "assistant", "result": "tool"}

Span = tuple[int, int]


class Excerpt(NamedTuple):
    """A match with what stands around it, in one line; an ellipsis stands for what is left out."""

    before: str
    match: str
    after: str


@dataclass(frozen=True)
class Wanted:
    """All of this must hold; what is empty does not count.

    `text` is looked for as it is, where blanks stand for any blanks and ends of lines; with
    `regex` it is an RE2 expression. `case` says that capitals count. `roles` and `tools` are in
    lower case. Records from `since` on count, and before `until`.
    """

    text: str
    regex: bool = False
    case: bool = False
    roles: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what is no expression, nothing, or very long. Raises UsageError."""
        if not self.text.strip():
            raise UsageError("nothing is looked for", hint="give a word or some, in quotes")
        if len(self.text) > _LONGEST:
            raise UsageError(
                f"what is looked for is longer than {_LONGEST:,} characters",
                hint="give a part of it, which finds the same",
            )
        assert self._find is not None

    @cached_property
    def sieve(self) -> sieve.Sieve:
        """What tells by the bytes of a line that it does not say it."""
        make = sieve.for_expression if self.regex else sieve.for_text
        return make(self.text, case=self.case)

    @cached_property
    def _find(self) -> Callable[[str], Span | None]:
        if self.regex:
            return _expression(self.text, case=self.case)
        words = r"\s+".join(map(re.escape, self.text.split()))
        search = re.compile(words, 0 if self.case else re.IGNORECASE).search

        def find(text: str) -> Span | None:
            found = search(text)
            return found.span() if found else None

        return find

    def at(self, time: str) -> bool:
        """Whether a record of this time is meant."""
        if self.since is None and self.until is None:
            return True
        when = moment(time) if time else None
        if when is None:
            return False
        return (self.since is None or when >= self.since) and (
            self.until is None or when < self.until
        )

    def within(self, passage: Passage, tool: Callable[[str], str]) -> Span | None:
        """Where a passage says it, None where it does not; (0, 0) for the name of the tool alone.

        `tool` tells the name of the tool that was called with an id.
        """
        if self.roles and _ROLES.get(passage.kind, passage.name).lower() not in self.roles:
            return None
        if self.tools and passage.kind not in ("call", "result"):
            return None
        found = self._find(said(passage))
        if found is None and passage.kind == "call" and self._find(passage.name):
            found = (0, 0)
        if found is None or not self.tools:
            return found
        name = passage.name if passage.kind == "call" else tool(passage.id)
        return found if name.lower() in self.tools else None


def said(passage: Passage) -> str:
    """The text of a passage; of a record that is not known, the texts in it, without their keys."""
    return _texts(passage.text) if passage.kind == "unknown" else passage.text


def _texts(body: str) -> str:
    try:
        todo: list[Any] = [decode(body)]
    except ValueError:
        return body
    found = []
    while todo:
        value = todo.pop()
        if type(value) is str:
            found.append(value)
        elif type(value) is list:
            todo += reversed(value)
        elif type(value) is dict:
            todo += reversed(value.values())
    return "\n".join(found)


def excerpt(text: str, span: Span, context: int) -> Excerpt:
    """A match in a text, with so many characters on each side of it."""
    start, end = span
    first, last = max(start - context, 0), end + context
    match = _line(text[start : min(end, start + _SHOWN)])
    return Excerpt(
        "…" * (first > 0) + _line(text[first:start]).lstrip(),
        match + "…" * (end - start > _SHOWN),
        _line(text[end:last]).rstrip() + "…" * (last < len(text)),
    )


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _expression(text: str, *, case: bool) -> Callable[[str], Span | None]:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = case
    try:
        search = re2.compile(text.encode("utf-8", "replace"), options).search
    except re2.error as error:
        raise UsageError(
            "the expression cannot be read", hint="it is one of RE2; without --regex it is text"
        ) from error

    def find(said: str) -> Span | None:
        raw = said.encode("utf-8", "replace")
        found = search(raw)
        if found is None:
            return None
        start = len(raw[: found.start()].decode("utf-8", "ignore"))
        return start, start + len(raw[found.start() : found.end()].decode("utf-8", "ignore"))

    return find
