"""Writes a session as items of the OpenAI Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sesstool.formats.turns import Call, Image, Part, Scribe, Text, Turn


class ResponsesScribe(Scribe):
    """Bare items: calls behind the words that came with them, then all the outputs."""

    marks_errors = False
    free_text = text_arguments = True
    odd_name = "[^a-zA-Z0-9_-]"
    longest_id = longest_name = 64

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        yield from items_of(turn, "system")


def items_of(turn: Turn, system: str) -> Iterator[dict[str, Any]]:
    """The items of a turn; `system` is the role of a system prompt."""
    if turn.parts:
        kind = "output_text" if turn.role == "assistant" else "input_text"
        role = system if turn.role == "system" else turn.role
        content = [part_of(part, kind) for part in turn.parts]
        yield {"type": "message", "role": role, "content": content}
    for call in turn.calls:
        yield _call(call)
    for call in turn.calls:
        output = "custom_tool_call_output" if call.free else "function_call_output"
        yield {"type": output, "call_id": call.id, "output": _output(call.result.parts)}


def part_of(part: Part, kind: str) -> dict[str, Any]:
    """A piece of a content; `kind` is that of words."""
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": part.link}
    return {"type": kind, "text": part.words}


def _call(call: Call) -> dict[str, Any]:
    if call.free:
        free = {"type": "custom_tool_call", "call_id": call.id, "name": call.name}
        return free | {"input": call.arguments}
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _output(parts: list[Part]) -> Any:
    """The output of a call: a text where it is one, or nothing."""
    if all(isinstance(part, Text) for part in parts) and len(parts) < 2:
        return "".join(part.words for part in parts if isinstance(part, Text))
    return [part_of(part, "input_text") for part in parts]
