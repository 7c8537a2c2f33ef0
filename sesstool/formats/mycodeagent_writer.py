"""Writes a session as a transcript of MyCodeAgent: messages alone, a run for each prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.turns import Header, Part, Scribe, Text, Turn


class MyCodeAgentScribe(Scribe):
    """See the module. The prompt of the system is the program's own."""

    images = result_images = marks_errors = False
    text_arguments = times = True
    system = "none"
    odd_name = "[^a-zA-Z0-9_-]"
    longest_id = longest_name = 64
    most_calls = 128

    def __init__(self, header: Header) -> None:
        """See `Scribe`."""
        super().__init__(header)
        self._count = self._run = self._step = 0
        self._time = header.time

    @classmethod
    def place(cls, header: Header) -> Path:
        """See `Scribe.place`: in the project."""
        return Path(header.cwd) / "memory" / "transcripts" / f"transcript-{header.id}.jsonl"

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        self._time, words = turn.time, _words(turn.parts)
        if turn.role == "user":
            self._run, self._step = self._run + 1, 0
            yield self._event({"role": "user", "content": words, "metadata": {}})
            return
        self._step += 1
        told: dict[str, Any] = {"action_type": "final"}
        if turn.calls:
            calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in turn.calls]
            told = {"action_type": "tool_call", "tool_calls": calls}
        yield self._event({"role": "assistant", "content": words, "metadata": told})
        for call in turn.calls:
            told = {"tool_name": call.name, "tool_call_id": call.id}
            if call.result.made:
                told |= {"recovered": True, "madeBy": "sesstool"}
            yield self._event({"role": "tool", "content": call.result.words, "metadata": told})

    def _event(self, payload: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        name = uuid5(NAMESPACE_OID, f"{self.header.id}/{self._count}")
        return {
            "event_id": f"evt-{name.hex}",
            "timestamp": self._time,
            "session_id": self.header.id,
            "run_id": f"run-{max(self._run, 1)}",
            "step": self._step,
            "event_type": "message",
            "payload": payload,
            "schema_version": 1,
        }


def _words(parts: list[Part]) -> str:
    return "\n".join(part.words for part in parts if isinstance(part, Text))
