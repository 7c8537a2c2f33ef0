"""The content blocks of Anthropic messages: tool calls, results and thinking.

Every agent that speaks to Anthropic keeps them in this shape, each in an envelope of its own.
"""

from __future__ import annotations

import re
from typing import Any

from sesstool.formats.events import Event, Thinking, ToolCall, ToolResult
from sesstool.formats.terms import Question
from sesstool.formats.values import text
from sesstool.formats.wording import answer_text, has_word, is_placeholder
from sesstool.records.jsonspan import dumps

MESSAGE_FROZEN = """
    role id type model stop_reason stop_sequence usage.**
    content.type content.id content.tool_use_id content.name content.caller.** content.is_error
    content.source.type content.source.media_type content.content.type
    content.content.source.type content.content.source.media_type content.content.tool_name
"""
MESSAGE_OPAQUE = """
    content.signature content.data content.source.data content.content.source.data
"""
"""The fields of a message that are no plain text, see `fields_of`."""
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_OWN = _CALLS | {"tool_result", "thinking", "redacted_thinking"}
# Base64; of the alphabet that words are made of too, only what is no word.
_SIGNATURE = re.compile(
    r"[A-Za-z0-9+/]+={0,2}|(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9_-]{40,}={0,2}"
)
_WORDS = ("redacted", "masked", "removed", "omitted")
_MASK = re.compile("|".join([*_WORDS, r"\*{3}", "…"]), re.IGNORECASE)


def is_block(block: dict[str, Any]) -> bool:
    """Whether a content block is of a kind that no other provider has."""
    kind = text(block.get("type"))
    sourced = kind in ("image", "document") and "source" in block
    return kind in _OWN or kind.endswith("_tool_result") or sourced


def result_block(question: Question) -> bytes:
    """The block that answers a call."""
    block = {
        "type": "tool_result",
        "tool_use_id": question.call_id,
        "content": answer_text(question.evidence, question.name),
    }
    failed = question.evidence.state != "completed"
    return dumps(block | ({"is_error": True} if failed else {}))


def block_event(block: dict[str, Any], pointer: str) -> Event | None:
    """What a content block means, None where it is words or an image."""
    kind = text(block.get("type"))
    if kind in _CALLS:
        arguments = block.get("input")
        fault = "" if type(arguments) is dict else "its input is no object"
        server = kind != "tool_use"
        name = text(block.get("name"))
        return ToolCall(pointer, text(block.get("id")), name, arguments, server, fault, "/input")
    if kind == "tool_result" or kind.endswith("_tool_result"):
        content = block.get("content")
        return ToolResult(
            pointer,
            text(block.get("tool_use_id")),
            content,
            block.get("is_error") is True,
            kind != "tool_result",
            is_placeholder(content),
        )
    if kind == "thinking":
        return thinking(block, pointer)
    if kind == "redacted_thinking":
        return Thinking(pointer, _sealed_fault(block.get("data"), "data"))
    return None


def thinking(block: dict[str, Any], pointer: str) -> Thinking:
    """The event of an Anthropic thinking block, with what the provider would refuse in it."""
    fault = _sealed_fault(block.get("signature"), "signature")
    if fault:
        return Thinking(pointer, fault)
    words = text(block.get("thinking"))
    if "[" in words[:2] and _MASK.search(words[:64]):
        return Thinking(pointer, "its text was changed after it was signed", guess=True)
    return Thinking(pointer)


def _sealed_fault(value: Any, name: str) -> str:
    """Why the provider would not open what it sealed itself as base64; "" where it would."""
    if type(value) is not str or not value:
        return f"it has no {name}"
    if not _SIGNATURE.fullmatch(value) or has_word(value, _WORDS):
        return f"its {name} is none"
    return ""
