"""Writes a session as a rollout of Codex, which resumes it: in the older way, without numbers.

Codex writes since 0.150 threads whose records are numbered, and reads both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from sesstool.formats.codex_forks import configured
from sesstool.formats.responses_writer import ResponsesScribe, items_of
from sesstool.formats.turns import Header, Text, Turn


class CodexScribe(ResponsesScribe):
    """See the module. A system prompt of a program is a developer's message to Codex."""

    times = True
    system = "told"

    def __init__(self, header: Header) -> None:
        """See `Scribe`."""
        super().__init__(header)
        self._time = header.time

    @classmethod
    def place(cls, header: Header) -> Path:
        """See `Scribe.place`: a folder for each day, in local time."""
        when = _moment(header.time).astimezone()
        name = f"rollout-{when:%Y-%m-%dT%H-%M-%S}-{header.id}.jsonl"
        return configured() / f"sessions/{when:%Y/%m/%d}" / name

    def begin(self) -> Iterable[dict[str, Any]]:
        """See `Scribe.begin`: Codex reads no file without a header."""
        header = self.header
        meta = {
            "id": header.id,
            "timestamp": header.time,
            "cwd": header.cwd,
            "originator": "sesstool",
            "cli_version": "0.0.0",
            "source": "cli",
        }
        yield self._line("session_meta", meta)

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`. What is said is told again, for the screen."""
        self._time = turn.time
        for item in items_of(turn, "developer"):
            yield self._line("response_item", item)
            words = "\n".join(part.words for part in turn.parts if isinstance(part, Text))
            if item["type"] == "message" and turn.role != "system" and words:
                kind = "user_message" if turn.role == "user" else "agent_message"
                yield self._line("event_msg", {"type": kind, "message": words})

    def _line(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": self._time, "type": kind, "payload": payload}


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)
