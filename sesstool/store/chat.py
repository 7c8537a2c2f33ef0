"""OpenAI's chat messages: what the codecs that keep them share, and the one that keeps them bare.

A file of bare messages has no place for the life of a call: of one without a result nobody can
tell more than that its outcome is unknown.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sesstool.errors import UsageError
from sesstool.formats.openai_chat import OpenAIChat
from sesstool.formats.terms import Evidence, Question
from sesstool.formats.values import blocks, mapping, text
from sesstool.model.units import flat
from sesstool.store.codec import Call, Codec, given
from sesstool.store.facts import Fact, Message, Said

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


class Chat(Codec):
    """What every codec of chat messages knows of them."""

    def calls(self, message: Message) -> list[Call]:
        """See `Codec.calls`."""
        found: list[Call] = []
        if "tool_calls" not in message:
            return found
        for call in map(mapping, blocks(message["tool_calls"])):
            inner = mapping(call.get("function") or call.get("custom"))
            arguments = inner.get("arguments", inner.get("input"))
            if call_id := text(call.get("id")):
                found.append(Call(call_id, text(inner.get("name")), arguments))
        return found

    def results(self, message: Message) -> list[tuple[str, str]]:
        """See `Codec.results`."""
        if message.get("role") != "tool":
            return []
        return [(text(message.get("tool_call_id")), flat(message.get("content")))]

    def without(self, message: Message, call_ids: set[str]) -> Message | None:
        """See `Codec.without`."""
        if message.get("role") == "tool":
            return None if text(message.get("tool_call_id")) in call_ids else message
        calls = blocks(message.get("tool_calls"))
        kept = [call for call in calls if text(mapping(call).get("id")) not in call_ids]
        rest = {key: value for key, value in message.items() if key != "tool_calls"}
        if kept:
            return rest | {"tool_calls": kept}
        return rest if rest.get("content") else None


class OpenAIChatCodec(Chat):
    """Messages as they are, one a line: `<id>.jsonl`."""

    format = OpenAIChat()

    @classmethod
    def path(cls, folder: Path, session_id: str) -> Path:
        """See `Codec.path`."""
        return folder / f"{session_id}.jsonl"

    def encode(self, fact: Fact) -> dict[str, Any] | None:
        """See `Codec.encode`."""
        return checked(fact.message) if isinstance(fact, Said) else None

    def decode(self, value: dict[str, Any]) -> Fact | None:
        """See `Codec.decode`."""
        return Said(value) if text(value.get("role")) in _ROLES else None

    def answers(self, found: list[tuple[Call, Evidence]]) -> list[Message]:
        """See `Codec.answers`."""
        questions = (Question(call.id, call.tool, {}, None, evidence) for call, evidence in found)
        return [json.loads(self.format.answer(question)) for question in questions]


def checked(message: Message) -> dict[str, Any]:
    """A chat message, as a dict. Raises UsageError where it is none."""
    role = text(given(message).get("role"))
    if role not in _ROLES:
        raise UsageError(
            "a message has no role that chat messages have",
            hint=f"give it one of {', '.join(sorted(_ROLES))}",
        )
    if role == "tool" and not text(message.get("tool_call_id")):
        raise UsageError(
            "a tool message names no call", hint="give it the tool_call_id of the call it answers"
        )
    calls = blocks(message.get("tool_calls"))
    if not all(text(mapping(call).get("id")) for call in calls):
        raise UsageError(
            "a tool call has no id, so that no result could be told to be its own",
            hint="give each call of the message an id of your own, and its result the same",
        )
    return dict(message)
