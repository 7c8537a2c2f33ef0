"""The content blocks of Anthropic messages: tool calls, results and thinking.

Every agent that speaks to Anthropic keeps them in this shape, each in an envelope of its own.
"""

from __future__ import annotations

import re
from typing import Any

from sesstool.formats.base import text
from sesstool.formats.events import Event, Thinking, ToolCall, ToolResult
from sesstool.formats.wording import is_placeholder

_SIGNATURE = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MASK = re.compile(r"redacted|masked|removed|omitted|\*{3}|…", re.IGNORECASE)


def block_event(block: dict[str, Any], pointer: str) -> Event | None:
    """What a content block means, None where it is words or an image."""
    kind = text(block.get("type"))
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        arguments = block.get("input")
        fault = "" if type(arguments) is dict else "its input is no object"
        server = kind != "tool_use"
        name = text(block.get("name"))
        return ToolCall(pointer, text(block.get("id")), name, arguments, server, fault)
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
    if _MASK.search(text(block.get("thinking"))[:64]) and "[" in text(block.get("thinking"))[:2]:
        return Thinking(pointer, "its text was changed after it was signed", guess=True)
    return Thinking(pointer)


def _sealed_fault(value: Any, name: str) -> str:
    """Why the provider would not open what it sealed itself as base64; "" where it would."""
    if type(value) is not str or not value:
        return f"it has no {name}"
    if not _SIGNATURE.fullmatch(value) or _MASK.search(value):
        return f"its {name} is none"
    return ""
