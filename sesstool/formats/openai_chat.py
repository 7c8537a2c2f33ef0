"""OpenAI chat messages, one a line, as many tools and datasets keep them.

A result must stand right behind the message that called for it, before any other role. A line
`{"messages": […]}` is a conversation of its own, as in fine-tuning datasets, and a line
`{"system": …}` a system prompt that is sent apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sesstool.formats.anthropic_blocks import is_block
from sesstool.formats.arguments import argument_fault
from sesstool.formats.base import Format
from sesstool.formats.chat_writer import ChatScribe
from sesstool.formats.events import Event, Meaning, Message, Meta, ToolCall, ToolResult
from sesstool.formats.payloads import Payload, of_results
from sesstool.formats.terms import ASKING, Question, Score
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_placeholder
from sesstool.records.jsonspan import dumps

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
# Fields and blocks that other vendors' messages have and these never do.
_FOREIGN_KEYS = frozenset(
    {"uuid", "parentUuid", "payload", "event_type", "parentId", "parts", "message", "reasoning"}
)
_FOREIGN_BLOCKS = frozenset({"toolCall", "input_image", "input_text", "output_text"})


_FROZEN = """
    role id tool_call_id tool_calls.id tool_calls.type tool_calls.function.name function_call.name
    content.type content.image_url.detail content.input_audio.format model finish_reason usage.**
"""
_OPAQUE = "content.image_url.url content.input_audio.data content.file.file_data"


class OpenAIChat(Format):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE, "", "messages.")
    name = "openai-chat"
    title = "OpenAI chat"
    schema = "openai-chat"
    provider = "openai-chat"
    pairing = "direct"
    result_key = "tool_call_id"
    verbatim = True
    waits = ASKING
    scribe = ChatScribe

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if any(_foreign(m) for v in values for m in _messages(v)):
            return Score(0, "messages carry another vendor's blocks")
        chat = share(values, (bool(_messages(v)) for v in values))
        return Score(chat, f"{chat} % of the records are chat messages")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        if "messages" in value and "role" not in value:
            inner = [
                Meaning(_events(mapping(m), f"/messages/{n}"))
                for n, m in enumerate(blocks(value["messages"]))
            ]
            return Meaning([Meta("", "conversation")], nested=inner)
        if "system" in value and "role" not in value:
            return Meaning([Meta("", "system")])
        return Meaning(_events(value, ""))

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`: old versions have functions, and no ids."""
        meaning = self.meaning(value)
        yield from of_results(meaning)
        for one in (meaning, *meaning.nested):
            for event in one.events:
                if type(event) is Message and event.role == "function":
                    yield Payload(event.pointer)

    def system(self, value: dict[str, Any]) -> Any:
        """See `Format.system`."""
        return value.get("system") if "role" not in value and "messages" not in value else None

    def said(self, value: dict[str, Any], message: Message) -> Any:
        """See `Format.said`: a refusal stands beside the words."""
        return message.content or value.get("refusal")

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        words = answer_text(question.evidence, question.name)
        return dumps({"role": "tool", "tool_call_id": question.call_id, "content": words})


def _messages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The chat messages that a record is, or holds."""
    if "messages" in value and "role" not in value:
        inner = blocks(value["messages"])
        return inner if inner and all(_is_message(m) for m in inner) else []
    return [value] if _is_message(value) else []


def _is_message(value: Any) -> bool:
    value = mapping(value)
    if value.get("type") == "message":  # an item of the Responses API, or an answer of Anthropic's
        return False
    return text(value.get("role")) in _ROLES and not _FOREIGN_KEYS & value.keys()


def _foreign(message: dict[str, Any]) -> bool:
    content = list(map(mapping, blocks(message.get("content"))))
    return any(text(b.get("type")) in _FOREIGN_BLOCKS or is_block(b) for b in content)


def _events(value: dict[str, Any], pointer: str) -> list[Event]:
    role = text(value.get("role"))
    content = value.get("content")
    if role == "tool":
        call_id = text(value.get("tool_call_id"))
        return [ToolResult(pointer, call_id, content, placeholder=is_placeholder(content))]
    events: list[Event] = []
    for n, call in enumerate(map(mapping, blocks(value.get("tool_calls")))):
        inner = mapping(call.get("function") or call.get("custom"))
        arguments = inner.get("arguments", inner.get("input"))
        fault = argument_fault(arguments) if "function" in call else ""
        name = text(inner.get("name"))
        at, call_id = f"{pointer}/tool_calls/{n}", text(call.get("id"))
        inside = "/function/arguments"
        events.append(ToolCall(at, call_id, name, arguments, False, fault, inside, as_text=True))
    events.append(Message(f"{pointer}/content", role, content, prompt=role == "user"))
    return events
