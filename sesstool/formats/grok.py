"""Grok CLI sessions: `~/.grok/sessions/<encoded path>/<session id>/chat_history.jsonl`.

An item a line, without ids and times: the system prompt, what a person or the agent in a person's
place says, reasoning, answers with their calls, results. `summary.json` beside it has the title.
What the agent itself makes of damage is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sesstool.formats.arguments import argument_fault
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
from sesstool.formats.forking import FolderForker
from sesstool.formats.side_files import below, home_of
from sesstool.formats.terms import Question, Score
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_placeholder
from sesstool.records.jsonspan import dumps
from sesstool.records.source import bare_path, is_transcript

_FILE = "chat_history.jsonl"
_SAID = frozenset({"system", "user", "assistant"})
# What other vendors' records of these types have, and these never do.
_FOREIGN = frozenset(
    {"uuid", "id", "timestamp", "role", "message", "data", "parentId", "sessionId", "payload"}
)
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_FROZEN = """
    type id tool_call_id tool_calls.id tool_calls.name content.type summary.type model_id
    model_fingerprint prompt_index synthetic_reason is_error
"""
_OPAQUE = "encrypted_content content.url"


class GrokForker(FolderForker):
    """See `FolderForker`."""

    file = _FILE


class Grok(Format):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE)
    name = "grok"
    title = "Grok CLI"
    schema = "grok"
    pairing = "direct"
    programs = ("grok",)
    result_key = "tool_call_id"
    harmless = frozenset({"read_file", "grep", "list_dir", "web_search", "web_fetch"})
    forker = GrokForker
    resumes = "grok --resume"
    variables = ("GROK_HOME",)

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if not any(map(_is_certain, values)):
            return Score(0, "nothing in the records is Grok CLI's alone")
        ours = share(values, (_is_certain(v) or v.get("type") == "reasoning" for v in values))
        if path is not None and ours and self.home(path):
            return Score(max(ours, 90), "lies in a Grok CLI home")
        return Score(ours, f"{ours} % of the records are of Grok CLI")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind, content = text(value.get("type")), value.get("content")
        if kind == "tool_result":
            call_id, failed = text(value.get("tool_call_id")), value.get("is_error") is True
            made_up = is_placeholder(content)
            return Meaning([ToolResult("", call_id, content, failed, placeholder=made_up)])
        if kind == "reasoning":
            return Meaning([Thinking("")])
        if kind not in _SAID:
            return Meaning([Unknown("", kind)])
        if kind == "system":
            return Meaning([Meta("", kind)])
        prompt = kind == "user" and value.get("synthetic_reason") is None
        model = text(value.get("model_id"))
        return Meaning(
            [*_calls(value), Message("/content", kind, content, prompt=prompt)], model=model
        )

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        words = answer_text(question.evidence, question.name)
        return dumps({"type": "tool_result", "tool_call_id": question.call_id, "content": words})

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return home_of(path, ".grok", configured, ("sessions",))

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`: it is the name of the folder."""
        folder = path.absolute().parent
        return folder.name if path.name == _FILE and _ID.fullmatch(folder.name) else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        return configured().glob(f"sessions/*/{escape(prefix)}*/{_FILE}{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "sessions"]

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`: what the screen was told, and usage, are parts."""
        return is_transcript(path) and bare_path(path).name == _FILE

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: the folder of a project is called by its path."""
        owner = inside[2] if inside[3:4] == ("subagents",) else ""
        return unquote("".join(inside[1:2])), owner

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`: all that lies in the session's folder."""
        if not self.session_id(path):
            return
        for place in below(path.parent.parent, path.parent.name):
            if bare_path(place) != bare_path(path):
                yield place


def configured() -> Path:
    """The home of this user."""
    return Path(os.environ.get("GROK_HOME") or Path.home() / ".grok")


def _is_certain(value: dict[str, Any]) -> bool:
    """Whether no other agent writes such a record."""
    kind = text(value.get("type"))
    if _FOREIGN & value.keys():
        return False
    if kind == "tool_result":
        return "tool_call_id" in value
    return kind in _SAID and ("content" in value or "tool_calls" in value)


def _calls(value: dict[str, Any]) -> list[Event]:
    """The calls of an answer; their arguments are JSON text."""
    events: list[Event] = []
    for n, call in enumerate(map(mapping, blocks(value.get("tool_calls")))):
        arguments = call.get("arguments")
        fault = "" if type(arguments) is dict else argument_fault(arguments)
        at, call_id, name = f"/tool_calls/{n}", text(call.get("id")), text(call.get("name"))
        events.append(ToolCall(at, call_id, name, arguments, fault=fault, as_text=True))
    return events
