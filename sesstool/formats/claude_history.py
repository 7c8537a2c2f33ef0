"""Claude Code's `~/.claude/history.jsonl`: the prompts of all projects, as they were typed.

It is no session, and belongs to none: whoever wants to see it names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sesstool.formats.events import Event, Meaning, Message, Unknown
from sesstool.formats.readonly import ReadOnly
from sesstool.formats.terms import Score
from sesstool.formats.values import fields_of, mapping, milliseconds, share
from sesstool.records.jsonspan import join

_FROZEN = "timestamp sessionId"


class ClaudeHistory(ReadOnly):
    """See the module."""

    fields = fields_of(_FROZEN, "")
    name = "claude-history"
    title = "Claude Code history"

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, map(_is_ours, values))
        return Score(ours, f"{ours} % of the records are prompts in a history of Claude Code")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`. What was pasted stands apart from the prompt that refers to it."""
        if not _is_ours(value):
            return Meaning([Unknown("", "")])
        events: list[Event] = [Message("/display", "user", value["display"], prompt=True)]
        for name, pasted in mapping(value.get("pastedContents")).items():
            content = mapping(pasted).get("content")
            if type(content) is str:
                pointer = f"/pastedContents{join(name)}/content"
                events.append(Message(pointer, "user", content))
        return Meaning(events, time=milliseconds(value.get("timestamp")))


def _is_ours(value: dict[str, Any]) -> bool:
    return type(value.get("display")) is str and "timestamp" in value and "type" not in value
