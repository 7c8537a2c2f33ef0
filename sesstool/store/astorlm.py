"""astorLM's sessions: `<id>.jsonl` with messages of blocks, and `<id>.meta.json`.

Unlike astorLM itself, which writes both anew on every save, this appends; what is there after it
is the same.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from sesstool.errors import InputError, UsageError
from sesstool.formats.astorlm import AstorLM, side_file
from sesstool.formats.base import Evidence, Question, blocks, mapping, text
from sesstool.model.units import flat
from sesstool.records.source import read_file, unreadable
from sesstool.records.write import create
from sesstool.store.codec import Call, Codec
from sesstool.store.facts import Fact, Message, Said

_ROLES = frozenset({"user", "assistant", "system"})


class AstorLMCodec(Codec):
    """See the module. Content that is given as text becomes one block of it."""

    format = AstorLM()

    @classmethod
    def path(cls, folder: Path, session_id: str) -> Path:
        """See `Codec.path`."""
        return folder / f"{session_id}.jsonl"

    def encode(self, fact: Fact) -> dict[str, Any] | None:
        """See `Codec.encode`. A message without id gets one: forks are told by it."""
        if not isinstance(fact, Said):
            return None
        message = fact.message
        if message.get("role") not in _ROLES:
            raise UsageError(
                "a message has no role that astorLM has",
                hint=f"give it one of {', '.join(sorted(_ROLES))}",
            )
        content = message.get("content")
        if type(content) is str:
            content = [{"type": "text", "text": content}]
        if type(content) is not list or not all(type(block) is dict for block in content):
            raise UsageError(
                "the content of a message is neither text nor a list of blocks",
                hint="give blocks as astorLM has them: text, tool_use, tool_result, thinking",
            )
        return {"id": str(uuid4()), **message, "content": content}

    def decode(self, value: dict[str, Any]) -> Fact | None:
        """See `Codec.decode`."""
        return Said(value) if value.get("role") in _ROLES else None

    def calls(self, message: Message) -> list[Call]:
        """See `Codec.calls`."""
        return [
            Call(text(b.get("id")), text(b.get("name")), b.get("input"))
            for b in map(mapping, blocks(message.get("content")))
            if b.get("type") == "tool_use" and text(b.get("id"))
        ]

    def results(self, message: Message) -> list[tuple[str, str]]:
        """See `Codec.results`."""
        return [
            (text(b.get("tool_use_id")), flat(b.get("content")))
            for b in map(mapping, blocks(message.get("content")))
            if b.get("type") == "tool_result"
        ]

    def answers(self, found: list[tuple[Call, Evidence]]) -> list[Message]:
        """See `Codec.answers`: one message with all of them."""
        questions = (Question(call.id, call.tool, {}, None, evidence) for call, evidence in found)
        content = [json.loads(self.format.answer(question)) for question in questions]
        return [{"role": "user", "content": content}] if content else []

    def without(self, message: Message, call_ids: set[str]) -> Message | None:
        """See `Codec.without`."""
        kept = [b for b in blocks(message.get("content")) if mapping(b).get("id") not in call_ids]
        return {**message, "content": kept} if kept else None

    def begin(self, path: Path) -> None:
        """See `Codec.begin`: a session without its side file is none to astorLM."""
        if not side_file(path).exists():
            now = _now()
            told = {"id": self.session_id, "metadata": {}, "createdAt": now, "updatedAt": now}
            create(side_file(path), [json.dumps(told, indent=2, ensure_ascii=False).encode()])

    def finish(self, path: Path) -> None:
        """See `Codec.finish`."""
        side = side_file(path)
        try:
            told = json.loads(read_file(side))
        except (OSError, ValueError, RecursionError) as error:
            reason = error if isinstance(error, OSError) else OSError("it is no JSON")
            raise unreadable("read", side, reason) from error
        if type(told) is not dict:
            raise InputError(f"{side} is no JSON object", hint=f"sesstool validate {path}")
        told["updatedAt"] = _now()
        create(side, [json.dumps(told, indent=2, ensure_ascii=False).encode()], force=True)


def _now() -> int:
    return time.time_ns() // 1_000_000
