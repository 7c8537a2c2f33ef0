"""What a conversion leaves out, or has to change, in counts and kinds and never in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

KINDS = {
    "signed-thinking": "thinking with a signature, which only its own provider can read",
    "encrypted-reasoning": "encrypted reasoning, which only its own provider can read",
    "thinking": "thoughts of the model, which no provider takes from another one",
    "image": "images that the format cannot carry there; words stand in their place",
    "block": "blocks that are neither text nor image",
    "blank": "texts of nothing but white space",
    "cache-mark": "marks of what the provider shall cache",
    "server-call": "calls of tools that the provider runs itself",
    "server-result": "results of tools that the provider runs itself",
    "orphan-result": "results that follow no call of their own",
    "second-result": "second results of one call",
    "unanswered": "calls without a result, which were answered as a repair would",
    "error-mark": "marks that a result tells of a failure",
    "arguments": "calls whose arguments are no object, which were wrapped in one",
    "call-id": "call ids that were changed, the same on the call and on its result",
    "tool-name": "calls whose tool has another name now",
    "system": "system prompts",
    "not-sent": "messages that the agent shows and never sends",
    "compacted": "records before a compaction",
    "rolled-back": "records that were rolled back",
    "superseded": "records that later ones took the place of",
    "branch": "records of branches that were not taken",
    "subagent": "records of subagents",
    "base": "sessions that this one goes on from, whose records could not be read",
    "side-file": "files beside the session",
    "session-record": "records about the session",
    "unknown": "records or blocks of an unknown type",
    "usage": "accounts of tokens used",
    "time": "times of messages",
    "fragment": "pieces that are no record",
}
"""What can be lost or has to be changed, in the order in which it is told, and what it is."""


@dataclass(frozen=True, slots=True)
class Loss:
    """How often something of a kind was lost, or changed; `what` says what one of it is."""

    kind: str
    count: int
    what: str


class Losses:
    """Counts what is lost."""

    def __init__(self) -> None:
        """Start with nothing lost."""
        self._counts: Counter[str] = Counter()

    def add(self, kind: str, count: int = 1) -> None:
        """Count something that was lost."""
        assert kind in KINDS
        self._counts[kind] += count

    def __getitem__(self, kind: str) -> int:
        """How many were lost of a kind."""
        return self._counts[kind]

    def all(self) -> tuple[Loss, ...]:
        """Every kind of which something was lost."""
        found = ((kind, self._counts[kind], what) for kind, what in KINDS.items())
        return tuple(Loss(*one) for one in found if one[1])
