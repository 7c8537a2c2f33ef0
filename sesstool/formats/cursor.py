"""Cursor agent's transcripts: `~/.cursor/projects/<slug>/agent-transcripts/<id>/<id>.jsonl`.

A message a line, without ids and times; calls have no ids either, and most results are left out.
They are a record for people: the agent resumes from a database of its own, so that there is
nothing to repair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from sesstool.formats.anthropic_blocks import MESSAGE_FROZEN, MESSAGE_OPAQUE
from sesstool.formats.base import Format
from sesstool.formats.events import (
    Event,
    Meaning,
    Message,
    Meta,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.side_files import below, home_of
from sesstool.formats.terms import Question, Score
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.records.source import is_transcript

_ROLES = frozenset({"user", "assistant", "system"})
_CALLS = frozenset({"tool_use", "tool_call", "tool-call"})
_RESULTS = frozenset({"tool_result", "tool-result"})
_FILE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.jsonl")
_FOLDER = "agent-transcripts"


class Cursor(Format):
    """See the module."""

    fields = fields_of("role type model", "") | fields_of(
        MESSAGE_FROZEN, MESSAGE_OPAQUE, "message."
    )
    name = "cursor"
    title = "Cursor agent"
    schema = "cursor"
    pairing = "none"
    programs = ("cursor-agent",)
    repairable = False
    resumes = "cursor-agent --resume"
    beyond = ("chats in its home folder: the databases that the agent resumes from",)

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, map(_is_ours, values))
        if path is not None and ours and self.home(path):
            return Score(max(ours, 90), "lies in a Cursor home")
        return Score(ours, f"{ours} % of the records are of a Cursor agent")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        role, kind = text(value.get("role")), text(value.get("type"))
        if role not in _ROLES:
            return Meaning([Meta("", kind) if kind == "turn_ended" else Unknown("", kind or role)])
        content = mapping(value.get("message")).get("content")
        events: list[Event] = []
        for n, block in enumerate(map(mapping, blocks(content))):
            at, kind = f"/message/content/{n}", text(block.get("type"))
            if kind in _CALLS:
                call_id, name = text(block.get("id")), text(block.get("name"))
                events.append(ToolCall(at, call_id, name, block.get("input", {})))
            elif kind in _RESULTS:
                call_id = text(block.get("tool_use_id"))
                events.append(ToolResult(at, call_id, block.get("content")))
            elif kind == "thinking":
                events.append(Thinking(at))
        prompt = role == "user" and not any(type(event) is ToolResult for event in events)
        events.append(Message("/message/content", role, content, prompt=prompt))
        return Meaning(events)

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`: a fix that holds it is never offered."""
        return b"{}"

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return home_of(path, ".cursor", configured, ("projects",))

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        named = _FILE_ID.fullmatch(path.name) and _FOLDER in path.absolute().parts
        return path.stem if named else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        return configured().glob(f"projects/*/{_FOLDER}/*/{escape(prefix)}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "projects"]

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`."""
        return is_transcript(path) and _FOLDER in path.parts

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: subagents lie in the folder of their session."""
        return "".join(inside[1:2]), inside[3] if inside[4:5] == ("subagents",) else ""

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        if self.session_id(path) and path.parent.name == path.stem:
            yield from below(path.parent, "subagents")


def configured() -> Path:
    """The home of this user."""
    return Path.home() / ".cursor"


def _is_ours(value: dict[str, Any]) -> bool:
    message = value.get("message")
    if value.get("type") == "turn_ended":
        return "message" not in value and "id" not in value
    return text(value.get("role")) in _ROLES and "content" in mapping(message)
