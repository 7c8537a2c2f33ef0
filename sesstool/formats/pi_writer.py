"""Writes a session as one of pi, which resumes it: a chain of records behind a header."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from sesstool.formats.turns import Header, Image, Part, Scribe, Turn

_COST = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
_COUNTS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")


def agent_folder() -> Path:
    """The folder of this user's agent."""
    return Path(os.environ.get("PI_CODING_AGENT_DIR") or Path.home() / ".pi" / "agent")


class PiScribe(Scribe):
    """See the module. The prompt of the system is pi's own."""

    times = True
    system = "none"
    image_links = False

    def __init__(self, header: Header) -> None:
        """See `Scribe`."""
        super().__init__(header)
        self._space, self._count = UUID(header.id), 0
        self._last: str | None = None
        self._time = header.time

    @classmethod
    def place(cls, header: Header) -> Path:
        """See `Scribe.place`: a folder for each project."""
        folder = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", header.cwd))
        name = f"{re.sub('[:.]', '-', header.time)}_{header.id}.jsonl"
        return agent_folder() / "sessions" / f"--{folder}--" / name

    def begin(self) -> Iterable[dict[str, Any]]:
        """See `Scribe.begin`."""
        header = self.header
        told = {"id": header.id, "timestamp": header.time, "cwd": header.cwd}
        yield {"type": "session", "version": 3, **told}

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        self._time = turn.time
        content = [_block(part) for part in turn.parts]
        if turn.role == "user":
            yield self._record({"role": "user", "content": content})
            return
        for call in turn.calls:
            told = {"id": call.id, "name": call.name, "arguments": call.arguments}
            content.append({"type": "toolCall", **told})
        yield self._record(
            {
                "role": "assistant",
                "content": content,
                "api": "unknown",
                "provider": "unknown",
                "model": self.header.model or "unknown",
                "usage": dict.fromkeys(_COUNTS, 0) | {"cost": _COST},
                "stopReason": "toolUse" if turn.calls else "stop",
            }
        )
        for call in turn.calls:
            yield self._record(
                {
                    "role": "toolResult",
                    "toolCallId": call.id,
                    "toolName": call.name,
                    "content": [_block(part) for part in call.result.parts],
                    "isError": call.result.error,
                }
            )

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        parent, self._last = self._last, uuid5(self._space, str(self._count)).hex[:16]
        moment = datetime.fromisoformat(self._time).astimezone(UTC)
        message["timestamp"] = int(moment.timestamp() * 1000)
        told = {"type": "message", "id": self._last, "parentId": parent, "timestamp": self._time}
        return told | {"message": message, "madeBy": "sesstool"}


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, Image):
        return {"type": "image", "data": part.data, "mimeType": part.media}
    return {"type": "text", "text": part.words}
