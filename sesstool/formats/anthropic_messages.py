"""Anthropic messages, one `{role, content}` a line, as tools and datasets keep them.

The results of a turn's calls stand first in the user message behind it, all of them; neighbours
of one role count as one message. A line `{"system": …}` is the system prompt, and a line
`{"messages": […]}` a conversation of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sesstool.formats.anthropic_blocks import (
    MESSAGE_FROZEN,
    MESSAGE_OPAQUE,
    block_event,
    is_block,
    result_block,
)
from sesstool.formats.anthropic_writer import AnthropicScribe
from sesstool.formats.base import Format
from sesstool.formats.events import Event, Meaning, Message, Meta, ToolResult
from sesstool.formats.terms import ASKING, Question, Score
from sesstool.formats.values import blocks, fields_of, mapping, share, text

_ROLES = frozenset({"user", "assistant", "system"})
# What messages of other formats have and these never do.
_FOREIGN = frozenset(
    {"uuid", "parentUuid", "parentId", "payload", "parts", "message", "tool_calls", "tool_call_id"}
)


class AnthropicMessages(Format):
    """See the module."""

    fields = fields_of(MESSAGE_FROZEN, MESSAGE_OPAQUE, "", "messages.")
    name = "anthropic-messages"
    title = "Anthropic messages"
    schema = "anthropic-messages"
    provider = "anthropic"
    verbatim = True
    once = True
    pairing = "next"
    waits = ASKING
    scribe = AnthropicScribe

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`. An agent that adds ids or a side file to such messages goes first."""
        ours = share(values, (bool(_messages(v)) or _is_system(v) for v in values))
        messages = [m for v in values for m in _messages(v)]
        # A system prompt in a line of its own is of these messages too, whatever they say.
        signed = bool(messages) and any(map(_is_system, values))
        if not signed and not any(
            is_block(mapping(b)) for m in messages for b in blocks(m.get("content"))
        ):
            return Score(0, "no message holds a block of Anthropic's")
        named = any("id" in m and m.get("type") != "message" for m in messages)
        if named or (path is not None and path.with_suffix(".meta.json").exists()):
            ours = min(ours, 60)
        return Score(ours, f"{ours} % of the records are Anthropic's messages")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        if "role" in value:
            return Meaning(_events(value, ""))
        if "messages" in value:
            inner = [
                Meaning(_events(mapping(m), f"/messages/{n}"))
                for n, m in enumerate(blocks(value["messages"]))
            ]
            return Meaning([Meta("", "conversation")], nested=inner)
        return Meaning([Meta("", "system")])

    def system(self, value: dict[str, Any]) -> Any:
        """See `Format.system`."""
        return value.get("system") if "role" not in value and "messages" not in value else None

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        return result_block(question)

    def message(self, block: bytes) -> bytes:
        """See `Format.message`."""
        return b'{"role":"user","content":[' + block + b"]}"


def _messages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that a record is, or holds."""
    if "messages" in value and "role" not in value:
        inner = blocks(value["messages"])
        return inner if all(_is_message(m) for m in inner) else []
    return [value] if _is_message(value) else []


def _is_message(value: Any) -> bool:
    value = mapping(value)
    return text(value.get("role")) in _ROLES and not _FOREIGN & value.keys()


def _is_system(value: dict[str, Any]) -> bool:
    return "system" in value and "role" not in value


def _events(value: dict[str, Any], pointer: str) -> list[Event]:
    role, content = text(value.get("role")), value.get("content")
    events: list[Event] = []
    for n, block in enumerate(map(mapping, blocks(content))):
        event = block_event(block, f"{pointer}/content/{n}")
        if event is not None:
            events.append(event)
    prompt = role == "user" and not any(type(e) is ToolResult for e in events)
    events.append(Message(f"{pointer}/content", role, content, prompt=prompt))
    return events
