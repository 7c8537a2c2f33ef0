"""Writes a session as OpenAI's chat messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sesstool.formats.turns import Call, Image, Part, Scribe, Text, Turn


class ChatScribe(Scribe):
    """Each result is a message of its own behind the one with the calls."""

    result_images = False
    marks_errors = False
    free_text = text_arguments = True
    odd_name = "[^a-zA-Z0-9_-]"
    longest_id = longest_name = 64
    most_calls = 128

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        message: dict[str, Any] = {"role": turn.role, "content": _content(turn.parts)}
        if turn.calls:
            message["tool_calls"] = [_call(call) for call in turn.calls]
        yield message
        for call in turn.calls:
            yield {"role": "tool", "tool_call_id": call.id, "content": call.result.words}


def _content(parts: list[Part]) -> Any:
    """The content of a message: a text where it is one."""
    if not parts:
        return None
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].words
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": part.link}}
    return {"type": "text", "text": part.words}


def _call(call: Call) -> dict[str, Any]:
    if call.free:
        tool = {"name": call.name, "input": call.arguments}
        return {"id": call.id, "type": "custom", "custom": tool}
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
