"""Goose sessions: rows of `~/.local/share/goose/sessions/sessions.db`, or, older, a file each.

They are read as lines, as the older versions wrote them: the first tells of the session, the others
are messages. A call is a `toolRequest`, its result a `toolResponse` in the next user message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

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
from sesstool.formats.readonly import ReadOnly
from sesstool.formats.terms import Score
from sesstool.formats.values import blocks, fields_of, mapping, milliseconds, share, text
from sesstool.records.databases import id_in

_FROZEN = """
    row id session_id role created timestamp tokens working_dir session_type schedule_id
    created_at updated_at provider_name total_tokens input_tokens output_tokens
    accumulated_total_tokens accumulated_input_tokens accumulated_output_tokens
    metadata.userVisible metadata.agentVisible content.type content.id content.toolCall.status
    content.toolCall.value.name content.toolResult.status content.toolResult.value.type
    content.toolResult.value.content.type content.toolResult.value.isError content.mimeType
"""
_OPAQUE = """
    content.signature content.thoughtSignature content.data
    content.toolResult.value.data content.toolResult.value.content.data
"""
_SQL_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_REQUESTS = frozenset({"toolRequest", "frontendToolRequest"})
_THOUGHTS = frozenset({"thinking", "redactedThinking", "reasoning"})
# What is asked of, or told to, the person at the screen.
_NOTES = frozenset(
    {
        "actionRequired",
        "contextLengthExceeded",
        "conversationCompacted",
        "summarizationRequested",
        "systemNotification",
        "toolConfirmationRequest",
    }
)
# Times of messages are seconds; what is larger than that can only be thousandths.
_SECONDS = 100_000_000_000


class Goose(ReadOnly):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE)
    name = "goose"
    programs = ("goose",)
    title = "Goose"
    resumes = "goose session --resume --session-id"
    variables = ("GOOSE_PATH_ROOT", "XDG_DATA_HOME")

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, (_is_session(v) or _is_message(v) for v in values))
        return Score(ours, f"{ours} % of the records are of Goose")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        if _is_session(value):
            out = Meaning([Meta("", "session")], session=text(value.get("id")))
            out.cwd = text(value.get("working_dir"))
            out.model = text(mapping(value.get("model_config")).get("model_name"))
            began = text(value.get("created_at"))
            out.time = f"{began.replace(' ', 'T')}Z" if _SQL_TIME.fullmatch(began) else began
            return out
        created = value.get("created")
        if type(created) is int and abs(created) < _SECONDS:
            created *= 1000
        out = Meaning(session=text(value.get("session_id")), time=milliseconds(created))
        if not _is_message(value):
            out.events.append(Unknown("", ""))
            return out
        role, content = text(value.get("role")), blocks(value.get("content"))
        metadata = mapping(value.get("metadata"))
        out.events += _tools(content)
        answers = any(type(event) is ToolResult for event in out.events)
        person = role == "user" and not answers and metadata.get("userVisible") is not False
        hidden = metadata.get("agentVisible") is False
        out.events.append(Message("/content", role, content, hidden, person))
        return out

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`. Older versions call it a description."""
        title = text(value.get("name")) or text(value.get("description"))
        return 1, title if _is_session(value) else ""

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        for folder in path.absolute().parents:
            if folder.name == "sessions" and folder.parent in (_data(), *_usual(folder)):
                return folder.parent
        return None

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        return id_in(path) if path.parent.name == "sessions.db" else ""

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`: files of older versions."""
        return [_data() / "sessions"]

    def databases(self) -> Iterable[Path]:
        """See `Format.databases`."""
        return [_data() / "sessions" / "sessions.db"]


def _data() -> Path:
    root = os.environ.get("GOOSE_PATH_ROOT")
    if root:
        return Path(root) / "data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "goose"


def _usual(folder: Path) -> tuple[Path, ...]:
    return (folder.parent,) if folder.parent.parts[-3:] == (".local", "share", "goose") else ()


def _is_session(value: dict[str, Any]) -> bool:
    return "working_dir" in value and "role" not in value


def _is_message(value: dict[str, Any]) -> bool:
    return (
        text(value.get("role")) in ("user", "assistant")
        and type(value.get("created")) is int
        and ("content" in value and "type" not in value)
    )


def _tools(content: list[Any]) -> list[Event]:
    """The events of the blocks of a message that are no words."""
    events: list[Event] = []
    for n, block in enumerate(map(mapping, content)):
        kind, pointer = text(block.get("type")), f"/content/{n}"
        call_id = text(block.get("id"))
        if kind in _REQUESTS:
            call = mapping(block.get("toolCall"))
            asked = mapping(call.get("value"))
            fault = "" if asked else "it is recorded as one that could not be read"
            name, given = text(asked.get("name")), asked.get("arguments")
            inside = "/toolCall/value/arguments"
            events.append(ToolCall(pointer, call_id, name, given, fault=fault, inside=inside))
        elif kind == "toolResponse":
            told = mapping(block.get("toolResult"))
            value = told.get("value")
            held = mapping(value)
            failed = told.get("status") == "error" or held.get("isError") is True
            said = told.get("error") if "error" in told else held.get("content", value)
            events.append(ToolResult(pointer, call_id, said, failed))
        elif kind in _THOUGHTS:
            events.append(Thinking(pointer))
        elif kind in _NOTES:
            events.append(Meta(pointer, kind))
    return events
