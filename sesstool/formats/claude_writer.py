"""Writes a session as a transcript of Claude Code, which resumes it.

Records are one chain. The results of an answer stand in one record, as Claude Code sends them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from sesstool.formats.anthropic_writer import AnthropicScribe, blocks_of, content_of, results_of
from sesstool.formats.claude_home import configured
from sesstool.formats.turns import Header, Turn

# What a project's folder name has a hyphen for.
_NO_SLUG = re.compile(r"[^A-Za-z0-9]")
_USAGE = {"input_tokens": 0, "output_tokens": 0}


class ClaudeScribe(AnthropicScribe):
    """See the module. The prompt of the system is Claude Code's own."""

    times = True
    system = "none"

    def __init__(self, header: Header) -> None:
        """See `Scribe`."""
        super().__init__(header)
        self._space, self._count = UUID(header.id), 0
        self._last: str | None = None
        self._time = header.time

    @classmethod
    def place(cls, header: Header) -> Path:
        """See `Scribe.place`: a folder for each project."""
        return configured() / "projects" / _NO_SLUG.sub("-", header.cwd) / f"{header.id}.jsonl"

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        self._time = turn.time
        if turn.role == "user":
            yield self._record("user", {"role": "user", "content": content_of(turn)})
            return
        message = {
            "id": f"msg_{self._new().replace('-', '')}",
            "type": "message",
            "role": "assistant",
            "model": self.header.model or "unknown",
            "content": blocks_of(turn),
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }
        yield self._record("assistant", message)
        if turn.calls:
            yield self._record("user", {"role": "user", "content": results_of(turn)})

    def _record(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        parent, self._last = self._last, self._new()
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.header.cwd,
            "sessionId": self.header.id,
            "version": "2.0.0",
            "gitBranch": "",
            "type": kind,
            "message": message,
            "uuid": self._last,
            "timestamp": self._time,
            "madeBy": "sesstool",
        }

    def _new(self) -> str:
        """A new id; the same conversion draws the same ones."""
        self._count += 1
        return str(uuid5(self._space, str(self._count)))
