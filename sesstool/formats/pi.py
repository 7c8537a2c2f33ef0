"""Sessions of pi and of OpenClaw, which keeps the same records.

`~/.pi/agent/sessions/--<cwd>--/<time>_<id>.jsonl`, `~/.openclaw/agents/<agent>/sessions/`. A
header comes first; the records behind it form a tree by id and parentId. The last record is
the leaf: a resume sends the way from there to the root and nothing else. A compaction on that
way is sent as its summary, then the records from `firstKeptEntryId` on. Version 1 had no ids:
its records follow each other.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Any

from sesstool.formats.base import Format
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
from sesstool.formats.forking import Parent, UuidForker, written
from sesstool.formats.payloads import Payload, of_results, twins
from sesstool.formats.pi_tracker import PiTracker, is_old
from sesstool.formats.pi_words import sent
from sesstool.formats.pi_writer import PiScribe, agent_folder
from sesstool.formats.terms import Origin, Question, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_blank, is_placeholder
from sesstool.records.jsonspan import dumps, with_members
from sesstool.records.processes import still_there
from sesstool.records.recover import Record
from sesstool.records.source import read_file

_META = frozenset(
    ["session", "model_change", "thinking_level_change", "custom", "label", "session_info"]
)
_TYPES = _META | {"message", "compaction", "branch_summary", "custom_message"}
# What pi sends in a person's place, beside what the person said.
_AS_USER = frozenset({"bashExecution", "custom", "hookMessage", "branchSummary"})
_ROLES = _AS_USER | {"user", "assistant", "toolResult", "compactionSummary", "system"}
# Answers that broke off: pi leaves them out of its requests, with their calls.
_BROKEN_OFF = frozenset({"error", "aborted"})
_FOREIGN_BLOCKS = frozenset({"tool_use", "tool_result"})
_FILE_ID = re.compile(r"(?:.*_)?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?:-topic-.*)?\.jsonl")


_FROZEN = """
    type id parentId timestamp version provider modelId thinkingLevel firstKeptEntryId
    firstKeptEntryIndex tokensBefore customType targetId fromId
    message.role message.toolCallId message.toolName message.provider message.model message.api
    message.stopReason message.responseId message.timestamp message.usage.** message.isError
    message.content.type message.content.id message.content.name message.content.mimeType
"""
_OPAQUE = """
    message.content.thinkingSignature message.content.textSignature message.content.data
    message.content.thoughtSignature content.data
"""


class PiForker(UuidForker):
    """A fork has a header of its own, which names the parent's file; records stay as they are."""

    def __init__(self, parent: Parent, new_id: str, now: datetime) -> None:
        """See `Forker`."""
        super().__init__(parent, new_id, now)
        self._begun = False

    def name(self) -> str:
        """See `Forker.name`."""
        return f"{re.sub('[:.]', '-', written(self.now))}_{self.id}.jsonl"

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`. pi reads nothing of a file that begins without a header."""
        begins, self._begun = not self._begun, True
        is_header = mapping(record.value).get("type") == "session"
        if begins:
            header = record.raw if is_header else b'{"type":"session","version":3}'
            told = {"id": self.id, "timestamp": written(self.now)}
            if not is_header:
                told["cwd"] = self.parent.cwd
            if self.parent.path is not None:
                told["parentSession"] = str(self.parent.path.absolute())
            yield with_members(header, {key: dumps(value) for key, value in told.items()})
        if not (begins and is_header):
            yield record.raw


class Pi(Format):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE)
    name = "pi"
    title = "pi"
    time_key = "timestamp"
    schema = "pi"
    linked = True
    id_key = "id"
    parent_key = "parentId"
    strict_path = True
    result_key = "toolCallId"
    keep_key = "firstKeptEntryId"
    pairing = "direct"
    programs = ("pi",)
    harmless = frozenset({"read", "grep", "find", "ls"})
    forker = PiForker
    scribe = PiScribe
    resumes = "pi --session"
    variables = ("PI_CODING_AGENT_DIR",)

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if any(_foreign(v) for v in values):
            return Score(0, "messages carry another vendor's blocks")
        if not any(_is_certain(v) for v in values):
            return Score(0, "nothing in the records is pi's alone")
        ours = share(values, map(_is_ours, values))
        if path is not None and self.home(path) and ours:
            return Score(max(ours, 90), "lies in a home of pi or OpenClaw")
        return Score(ours, f"{ours} % of the records are of pi")

    def fitting(self, values: Sequence[dict[str, Any]]) -> Format:
        """See `Format.fitting`: a record that names a parent is of version 2 or newer."""
        header = next((v for v in values if v.get("type") == "session"), {})
        records = [v for v in values if v.get("type") != "session"]
        linked = any("parentId" in v for v in records) or not records
        return self if linked or not is_old(header) else _VERSION_1

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind = text(value.get("type"))
        out = Meaning(time=text(value.get("timestamp")))
        if kind == "session":
            out.session, out.cwd = text(value.get("id")), text(value.get("cwd"))
        elif self.linked and value:  # an empty one stands for what could not be looked into
            out.linked, out.id = True, text(value.get("id"))
            parent = value.get("parentId", "")
            out.parent = None if parent is None else text(parent)
        if kind == "message":
            message = mapping(value.get("message"))
            out.model = text(message.get("model"))
            out.events += _talk(message)
        elif kind == "compaction":
            out.events += _compaction(value)
        elif kind == "branch_summary" and text(value.get("summary")):
            out.events.append(Message("/summary", "user", value["summary"]))
        elif kind == "custom_message":
            out.events.append(Message("/content", "user", value.get("content")))
        elif kind in _TYPES:
            out.model = text(value.get("modelId"))
            out.events.append(Meta("", kind))
        else:
            out.events.append(Unknown("", kind))
        return out

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        yield from of_results(self.meaning(value))
        if mapping(value.get("message")).get("role") == "toolResult":
            yield from twins("/message", "details")

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return PiTracker(self.session_id(path) if path else "", linked=self.linked)

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        record = question.record
        message = {
            "role": "toolResult",
            "toolCallId": question.call_id,
            "toolName": question.name,
            "content": [{"type": "text", "text": answer_text(question.evidence, question.name)}],
            "isError": question.evidence.state != "completed",
        }
        return self._record(record, question.id, question.parent or text(record.get("id")), message)

    def prompt(
        self, beside: dict[str, Any], record_id: str, words: str, parent: str | None = None
    ) -> bytes:
        """See `Format.prompt`."""
        message = {"role": "user", "content": [{"type": "text", "text": words}]}
        return self._record(beside, record_id, parent, message)

    def _record(
        self, beside: dict[str, Any], record_id: str, parent: str | None, message: dict[str, Any]
    ) -> bytes:
        """A message record, at the time of the one beside it."""
        out: dict[str, Any] = {"type": "message"}
        if self.linked:
            out |= {"id": record_id, "parentId": parent}
        when = mapping(beside.get("message")).get("timestamp")
        if type(when) is int:
            message["timestamp"] = when
        out |= {"timestamp": beside.get("timestamp"), "message": message, "madeBy": "sesstool"}
        return dumps(out)

    def leaves_out(self, words: str) -> bool:
        """See `Format.leaves_out`."""
        return not words.strip()

    def said(self, value: dict[str, Any], message: Message) -> Any:
        """See `Format.said`."""
        return sent(value, message.content)

    def kept(self, value: dict[str, Any]) -> Iterable[str]:
        """See `Format.kept`."""
        return [value["firstKeptEntryId"]] if text(value.get("firstKeptEntryId")) else []

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """See `Format.origin`: the header has the path of the parent's file."""
        parent = text(value.get("parentSession")) if value.get("type") == "session" else ""
        return Origin(self.session_id(Path(parent)) or parent, "copy") if parent else None

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`."""
        return 1, text(value.get("name")) if value.get("type") == "session_info" else ""

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        configured = os.environ.get("PI_CODING_AGENT_DIR")
        for folder in path.absolute().parents:
            agent = folder.parent
            if folder.name != "sessions":
                continue
            if (agent.name == "agent" and agent.parent.name == ".pi") or str(agent) == configured:
                return agent
            if agent.parent.name == "agents" and agent.parent.parent.name == ".openclaw":
                return agent.parent.parent
        return None

    def writer(self, path: Path) -> str | None:
        """See `Format.writer`: OpenClaw writes its process into a lock beside the session."""
        lock = path.with_name(f"{path.name}.lock")
        try:
            pid = mapping(json.loads(read_file(lock))).get("pid")
        except (OSError, ValueError):
            return None
        if type(pid) is int and still_there(pid, lock):
            return f"OpenClaw writes this session (process {pid})"
        return None

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        found = _FILE_ID.fullmatch(path.name)
        return found.group(1) if found else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        (sessions, agents), name = self.folders(), escape(prefix)
        yield from sessions.glob(f"*/*_{name}*.jsonl{ending}")
        yield from agents.glob(f"*/sessions/{name}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return agent_folder() / "sessions", Path.home() / ".openclaw" / "agents"

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`. OpenClaw has a folder for each of its agents."""
        return "".join(inside[1:2]), ""


class _Version1(Pi):
    """Version 1: one record follows the other. pi gives them ids when it opens the file."""

    linked = False


_VERSION_1 = _Version1()


def _is_ours(value: dict[str, Any]) -> bool:
    kind = text(value.get("type"))
    if kind == "session":
        return "id" in value and bool({"cwd", "version", "timestamp"} & value.keys())
    if kind == "message":
        return text(mapping(value.get("message")).get("role")) in _ROLES
    linked = "id" in value and "parentId" in value
    return kind in _TYPES or (linked and bool(kind) and "data" not in value)


def _is_certain(value: dict[str, Any]) -> bool:
    """Whether no other agent writes such a record: their messages may look alike."""
    kind, message = text(value.get("type")), mapping(value.get("message"))
    if kind != "message":
        return kind in _TYPES and _is_ours(value)
    return (
        type(message.get("timestamp")) is int
        or "stopReason" in message
        or message.get("role") in ("toolResult", "bashExecution")
        or any(mapping(b).get("type") == "toolCall" for b in blocks(message.get("content")))
    )


def _foreign(value: dict[str, Any]) -> bool:
    content = blocks(mapping(value.get("message")).get("content"))
    return "uuid" in value or any(text(mapping(b).get("type")) in _FOREIGN_BLOCKS for b in content)


def _talk(message: dict[str, Any]) -> list[Event]:
    """The events of a message record."""
    role, content = text(message.get("role")), message.get("content")
    if role == "toolResult":
        call_id, failed = text(message.get("toolCallId")), message.get("isError") is True
        made_up = is_placeholder(content)
        return [ToolResult("/message", call_id, content, failed, placeholder=made_up)]
    if role == "bashExecution":
        left_out = message.get("excludeFromContext") is True
        return [Message("/message/output", "user", message.get("output"), left_out)]
    if role != "assistant":
        known = role == "user" or role in _AS_USER
        words = message.get("summary") if role == "branchSummary" else content
        shown = "user" if known else role
        return [Message("/message/content", shown, words, not known, role == "user")]
    if text(message.get("stopReason")) in _BROKEN_OFF:
        return [Message("/message/content", role, content, hidden=True)]
    events: list[Event] = []
    for n, block in enumerate(map(mapping, blocks(content))):
        pointer = f"/message/content/{n}"
        if block.get("type") == "toolCall":
            arguments = block.get("arguments")
            fault = "" if type(arguments) is dict else "its arguments are no object"
            call_id, name = text(block.get("id")), text(block.get("name"))
            events.append(ToolCall(pointer, call_id, name, arguments, fault=fault))
        elif block.get("type") == "thinking":
            events.append(Thinking(pointer))
    return [*events, Message("/message/content", role, content)]


def _compaction(value: dict[str, Any]) -> list[Event]:
    """A compaction is boundary and summary in one; the summary is sent as a message."""
    summary = value.get("summary")
    first = text(value.get("firstKeptEntryId"))
    return [
        Checkpoint("", keeps=first),
        Checkpoint("/summary", summary=True, hollow=is_blank(summary)),
        Message("/summary", "user", summary),
    ]
