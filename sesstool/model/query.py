"""What a person looks for in a session: words, roles, tools and times."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from sesstool.errors import UsageError
from sesstool.model.passages import Passage

_KEYS = ("role", "tool", "is", "since", "until")
_IS = (
    *("prompt", "call", "result", "failed", "thinking", "compaction", "note", "damage", "subagent"),
    "finding",
)
# What no passage tells: it is judged by its record, or by whoever asks.
_BESIDE = ("subagent", "damage", "finding")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d(?::\d\d(?::\d\d)?)?)?")
# Letters and digits stand in JSON as they are, so that lines without them need no decoding.
_SURE = re.compile(r"[A-Za-z0-9]{2,}")


@dataclass(frozen=True, slots=True)
class Query:
    """All of these must hold; what is empty does not count.

    `text` is looked for without regard to case. `roles` and `tools` are in lower case, `kinds` are
    some of `is:`; "finding" is judged by whoever asks. `since` and `until` are beginnings of RFC
    3339 times, both inclusive.
    """

    text: str = ""
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        """Whether anything is looked for."""
        return self != Query()

    def sieve(self) -> re.Pattern[bytes] | None:
        """What the bytes of a line must hold for its text to match; None where nobody can tell."""
        words = _SURE.findall(self.text)
        longest = max(words, key=len, default="")
        return re.compile(longest.encode(), re.IGNORECASE) if longest else None

    def matches(self, time: str, scope: str, said: Sequence[Passage], fault: str = "") -> bool:
        """Whether what a record says is looked for."""
        if (self.since and time < self.since) or (
            self.until and time[: len(self.until)] > self.until
        ):
            return False
        if (self.since or self.until) and not time:
            return False
        if fault and "damage" in self.kinds:
            return not self.text
        if "subagent" in self.kinds and not scope:
            return False
        return any(map(self._one, said))

    def _one(self, passage: Passage) -> bool:
        if self.roles and not (passage.kind == "message" and passage.name.lower() in self.roles):
            return False
        if self.tools and not (passage.kind == "call" and passage.name.lower() in self.tools):
            return False
        kinds = [kind for kind in self.kinds if kind not in _BESIDE]
        if kinds and not any(_is(passage, kind) for kind in kinds):
            return False
        wanted = self.text.casefold()
        return wanted in passage.text.casefold() or wanted in passage.name.casefold()


def _is(passage: Passage, kind: str) -> bool:
    if kind == "failed":
        return passage.error
    if kind == "prompt":
        return passage.kind == "message" and passage.name == "user"
    return passage.kind == kind


def parse(words: str) -> Query:
    """A query of words such as `role:user tool:bash is:failed since:2026-03-01 lamp oil`.

    What has no key is one text. Raises UsageError.
    """
    try:
        parts = shlex.split(words)
    except ValueError:
        parts = words.split()
    found: dict[str, list[str]] = {key: [] for key in _KEYS}
    text = []
    for part in parts:
        key, colon, value = part.partition(":")
        if colon and key in _KEYS and value:
            found[key] += value.split(",")
        else:
            text.append(part)
    for kind in found["is"]:
        if kind not in _IS:
            raise UsageError(f"is: takes one of {', '.join(_IS)}", hint=f"{kind} is none of them")
    for time in found["since"] + found["until"]:
        if not _TIME.fullmatch(time):
            raise UsageError(
                "a time is not written as one", hint="write since:2026-03-01 or 2026-03-01T14:30"
            )
    return Query(
        " ".join(text),
        tuple(map(str.lower, found["role"])),
        tuple(map(str.lower, found["tool"])),
        tuple(found["is"]),
        max(found["since"], default=""),
        min(found["until"], default=""),
    )
