"""Writes a session as Anthropic messages: the results of a turn stand in one message behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sesstool.formats.turns import Image, Part, Scribe, Text, Turn


class AnthropicScribe(Scribe):
    """Bare messages; a system prompt is a line of its own."""

    odd_id = "[^a-zA-Z0-9_-]"
    longest_name = 200

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        if turn.role == "system":
            yield {"system": [block_of(part) for part in turn.parts]}
            return
        yield {"role": turn.role, "content": content_of(turn)}
        if turn.calls:
            yield {"role": "user", "content": results_of(turn)}


def content_of(turn: Turn) -> Any:
    """The content of a message: a text where it is one."""
    if not turn.calls and len(turn.parts) == 1 and isinstance(turn.parts[0], Text):
        return turn.parts[0].words
    return blocks_of(turn)


def blocks_of(turn: Turn) -> list[dict[str, Any]]:
    """The blocks of a message: words and images, then calls."""
    calls = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": call.arguments,
        }
        for call in turn.calls
    ]
    return [block_of(part) for part in turn.parts] + calls


def results_of(turn: Turn, *, as_text: bool = False) -> list[dict[str, Any]]:
    """The blocks with the results of a turn's calls; `as_text` each as one text."""
    return [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": call.result.words if as_text else _result(call.result.parts),
            **({"is_error": True} if call.result.error else {}),
        }
        for call in turn.calls
    ]


def _result(parts: list[Part]) -> Any:
    """The content of a result: a text where it is one, or nothing."""
    if all(isinstance(part, Text) for part in parts) and len(parts) < 2:
        return "".join(part.words for part in parts if isinstance(part, Text))
    return [block_of(part) for part in parts]


def block_of(part: Part) -> dict[str, Any]:
    """A text or image block."""
    if not isinstance(part, Image):
        return {"type": "text", "text": part.words}
    if part.url:
        source = {"type": "url", "url": part.url}
    else:
        source = {"type": "base64", "media_type": part.media, "data": part.data}
    return {"type": "image", "source": source}
