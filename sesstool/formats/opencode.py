"""OpenCode sessions: rows of `~/.local/share/opencode/opencode.db`, or, older, many JSON files.

They are read as lines. The first is `{"info": session}`, the others are messages as the agent's
own export has them: `{"info": message, "parts": [...]}`. A call and its result are one part. A
subagent is a session with a parent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sesstool.formats.events import (
    Checkpoint,
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
from sesstool.formats.side_files import home_of
from sesstool.formats.terms import Evidence, Origin, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, milliseconds, share, text
from sesstool.formats.wording import is_blank
from sesstool.records import documents
from sesstool.records.databases import id_in
from sesstool.records.recover import Record
from sesstool.records.source import Source

_FROZEN = """
    info.id info.sessionID info.parentID info.projectID info.workspaceID info.slug info.version
    info.role info.mode info.agent info.modelID info.providerID info.finish info.cost info.tokens.**
    info.time.** info.model.** info.summary.additions info.summary.deletions info.summary.files
    info.error.name info.revert.messageID info.revert.partID info.revert.snapshot
    parts.id parts.sessionID parts.messageID parts.type parts.tool parts.callID parts.state.status
    parts.state.time.** parts.time.** parts.tokens.** parts.cost parts.reason parts.snapshot
    parts.hash parts.mime parts.auto parts.tail_start_id parts.synthetic
    parts.state.attachments.id parts.state.attachments.sessionID parts.state.attachments.messageID
    parts.state.attachments.type parts.state.attachments.mime
"""
_OPAQUE = "parts.url parts.state.attachments.url parts.metadata.**"
# What it calls a session that has no title yet.
_UNTITLED = re.compile(r"(?:New|Child) session - \d{4}-")
_WORDS = frozenset({"text", "file", "agent", "subtask"})
_NOTES = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", "compaction"})
_ABORTED = "MessageAbortedError"
_DATABASES = "opencode*.db"


class OpenCode(ReadOnly):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE)
    name = "opencode"
    programs = ("opencode",)
    title = "OpenCode"
    call_key = result_key = "callID"
    waits = frozenset({"question"})
    harmless = frozenset(
        {
            "read",
            "grep",
            "glob",
            "list",
            "webfetch",
            "websearch",
            "codesearch",
            "todowrite",
            "skill",
        }
    )
    resumes = "opencode --session"
    variables = ("OPENCODE_DB", "XDG_DATA_HOME")

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, map(_is_ours, values))
        return Score(ours, f"{ours} % of the records are rows of OpenCode")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        info = mapping(value.get("info"))
        role = text(info.get("role"))
        out = Meaning(id=text(info.get("id")))
        out.time = milliseconds(mapping(info.get("time")).get("created"))
        out.model = text(info.get("modelID")) or text(mapping(info.get("model")).get("modelID"))
        if not role:
            out.session, out.version = out.id, text(info.get("version"))
            out.cwd = text(info.get("directory"))
            out.events.append(Meta("", "session") if info else Unknown("", ""))
            return out
        out.session = text(info.get("sessionID"))
        out.cwd = text(mapping(info.get("path")).get("cwd"))
        if role == "assistant":
            out.turn = out.id
        out.events += _talk(info, role, blocks(value.get("parts")))
        return out

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return _Tracker()

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """See `Format.origin`. A fork tells nothing of what it was copied from."""
        info = mapping(value.get("info"))
        parent = "" if "role" in info else text(info.get("parentID"))
        return Origin(parent, "subagent") if parent else None

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`."""
        info = mapping(value.get("info"))
        title = "" if "role" in info else text(info.get("title"))
        return (0, "") if _UNTITLED.match(title) else (1, title)

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        if path.parent.match(_DATABASES) and path.parent.parent.name == "opencode":
            return path.parent.parent
        return home_of(path, "opencode", _data, ("storage",))

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        name = path.stem if path.suffix in (".json", ".jsonl") else id_in(path)
        return name if name.startswith("ses_") else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        yield from super().find(prefix, ending)
        if not ending:
            for path in (_data() / "storage" / "session").glob("*/ses_*.json"):
                if path.name.startswith(prefix):
                    yield path

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [_data() / "storage" / "session"]

    def databases(self) -> Iterable[Path]:
        """See `Format.databases`. Those of development versions have other names."""
        named = os.environ.get("OPENCODE_DB")
        return [_data() / named] if named else sorted(_data().glob(_DATABASES))

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`."""
        return documents.is_document(path) or path.parent.is_file()


def _data() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"


def _is_ours(value: dict[str, Any]) -> bool:
    info = mapping(value.get("info"))
    if "role" in info:
        return "sessionID" in info and type(value.get("parts")) is list
    return "id" in info and ("directory" in info or "projectID" in info)


def _talk(info: dict[str, Any], role: str, parts: list[Any]) -> list[Event]:
    """The events of a message with its parts."""
    events: list[Event] = []
    said = asked = False
    words = ""
    for n, part in enumerate(map(mapping, parts)):
        kind, pointer = text(part.get("type")), f"/parts/{n}"
        if kind in _WORDS:
            said = True
            asked = asked or part.get("synthetic") is not True
            if kind == "text" and not words:
                words = f"{pointer}/text"
        elif kind == "reasoning":
            events.append(Thinking(pointer))
        elif kind == "tool":
            events += _tool(part, pointer)
        elif kind in _NOTES:
            events.append(Meta(pointer, kind))
        else:
            events.append(Unknown(pointer, kind))
    failed = text(mapping(info.get("error")).get("name"))
    if failed:
        events.append(Meta("/info/error", failed))
    if role == "assistant" and info.get("summary") is True and info.get("finish") and not failed:
        index = int(words.split("/")[2]) if words else 0
        summary = mapping(parts[index]).get("text") if words else ""
        events.append(Checkpoint(words or "/parts", summary=True, hollow=is_blank(summary)))
    if said or not events:
        # An answer that failed is not sent again, but for what was said until it was stopped.
        hidden = bool(failed) and failed != _ABORTED
        prompt = role == "user" and asked
        events.append(Message("/parts", role, parts, hidden, prompt))
    return events


def _tool(part: dict[str, Any], pointer: str) -> list[Event]:
    """A call, and its result where there is one."""
    call_id, state = text(part.get("callID")), mapping(part.get("state"))
    server = mapping(part.get("metadata")).get("providerExecuted") is True
    name, given = text(part.get("tool")), state.get("input")
    events: list[Event] = [ToolCall(pointer, call_id, name, given, server, inside="/state/input")]
    status = state.get("status")
    if status in ("completed", "error"):
        failed = status == "error"
        content = state.get("error" if failed else "output")
        events.append(ToolResult(f"{pointer}/state", call_id, content, failed, server))
    return events


class _Tracker(Tracker):
    """Follows what was taken back, what a compaction keeps, and calls that were never started."""

    def __init__(self) -> None:
        self._reverted = ""
        self._partly = self._reached = self._gone = False
        self._talk = 0
        self._indexes: dict[str, int] = {}
        self._keeps = ""
        self._pending: set[str] = set()

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        value = record.value or {}
        info = mapping(value.get("info"))
        if "role" not in info:
            revert = mapping(info.get("revert"))
            self._reverted = text(revert.get("messageID"))
            # Where only the last parts were taken back, the message itself stays.
            self._partly = bool(text(revert.get("partID")))
            return
        if self._reached:
            self._gone = True
        elif self._reverted and meaning.id == self._reverted:
            self._reached, self._gone = True, not self._partly
        self._indexes[meaning.id] = self._talk
        self._talk += any(isinstance(event, Message | ToolResult) for event in meaning.events)
        for part in map(mapping, blocks(value.get("parts"))):
            if part.get("type") == "compaction":
                self._keeps = text(part.get("tail_start_id"))
            elif mapping(part.get("state")).get("status") == "pending":
                self._pending.add(text(part.get("callID")))
        for event in meaning.events:
            if isinstance(event, Checkpoint):
                event.kept_from = self._indexes.get(self._keeps, -1)

    def reads(self, meaning: Meaning) -> bool:
        """See `Tracker.reads`: what a person took back goes with the next prompt."""
        return not self._gone

    def evidence(self, call_id: str, source: Source, scope: str = "") -> Evidence:
        """See `Tracker.evidence`: a call that is pending was still being written by the model."""
        return Evidence("never started" if call_id in self._pending else "uncertain")
