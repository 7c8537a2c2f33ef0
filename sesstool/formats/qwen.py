"""Qwen Code transcripts: `~/.qwen/projects/<slug>/chats/<session id>.jsonl`.

Records form a tree by uuid and parentUuid, in an envelope like Claude Code's; what is said stands
in `message`, in the shape of Gemini: parts with text, calls or results. A resume sends the way
from the last record to the root, and stops where a parent is missing. A compaction holds the
whole history that takes the place of what stands before it. What sessions, artifacts and daemons
note of themselves is no part of the tree.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
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
from sesstool.formats.forking import UuidForker
from sesstool.formats.payloads import Payload, members
from sesstool.formats.qwen_tracker import QwenTracker
from sesstool.formats.side_files import below, home_of, present
from sesstool.formats.terms import Origin, Question, Running, Score, SideFile, Trace, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_placeholder
from sesstool.records.jsonspan import dumps, value_at, with_members
from sesstool.records.processes import still_there
from sesstool.records.recover import Record
from sesstool.records.source import is_transcript, read_file

_TYPES = frozenset({"user", "assistant", "tool_result", "system"})
# Members that Qwen Code alone writes, beside an envelope that is Claude Code's too.
_OWN = frozenset({"systemPayload", "provenance", "toolCallResult", "usageMetadata"})
# Subtypes that the reader leaves out of the tree.
_ASIDE = frozenset(
    {
        "session_artifact_event",
        "session_artifact_snapshot",
        "session_sources_snapshot",
        "managed_session_header_v1",
        "managed_session_event_v1",
        "managed_session_commit_v1",
    }
)
_COPIED = (
    *("sessionId", "timestamp", "cwd", "version", "gitBranch"),
    *("agentId", "agentName", "agentColor", "isSidechain"),
)
_HISTORY = "/systemPayload/compressedHistory"
_FILE_ID = re.compile(r"[0-9a-fA-F-]{32,36}\.jsonl")
# What of a result's form for the screen names things, or says what was called for.
_STAYS = frozenset(
    {"type", "version", "directory", "exitCode", "outcome", "fileName", "filePath", "subagentName"}
)
# Where the agent notes who runs a session.
_LOCKS, _RUNTIME = "tmp/session-writer-locks", "projects/*/chats/*.runtime.json"
_SIDE = (".runtime.json", ".worktree.json", ".pr.json")

_FROZEN = """
    uuid parentUuid sessionId timestamp type subtype provenance version model agentId agentRunId
    agentRound isSidechain gitBranch usageMetadata.** forkedFrom.** contextWindowSize
    message.role message.parts.functionCall.id message.parts.functionCall.name
    message.parts.functionResponse.id message.parts.functionResponse.name message.parts.thought
    message.parts.inlineData.mimeType message.parts.fileData.mimeType
    toolCallResult.callId toolCallResult.status toolCallResult.executionStatus
    toolCallResult.resultDisplay.type toolCallResult.errorType
    systemPayload.titleSource systemPayload.info.** systemPayload.uiEvent.event.name
    systemPayload.compressedHistory.role
    systemPayload.compressedHistory.parts.functionCall.id
    systemPayload.compressedHistory.parts.functionCall.name
    systemPayload.compressedHistory.parts.functionResponse.id
    systemPayload.compressedHistory.parts.functionResponse.name
"""
_OPAQUE = """
    message.parts.thoughtSignature message.parts.inlineData.data
    systemPayload.compressedHistory.parts.thoughtSignature
    systemPayload.compressedHistory.parts.inlineData.data
"""


class QwenForker(UuidForker):
    """A fork keeps the ids of its records; each tells which session it is of."""

    @classmethod
    def names(cls, value: dict[str, Any]) -> Iterable[str]:
        """See `Forker.names`."""
        return (text(value.get("uuid")),)

    def drops(self, value: dict[str, Any]) -> bool:
        """See `Forker.drops`: the fork has neither the creator nor the sources of the session."""
        return value.get("subtype") in ("session_sources_snapshot", "parent_session")

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`."""
        value = record.value or {}
        changes: dict[str, bytes | None] = {"sessionId": dumps(self.id)}
        if "parentUuid" in value:
            changes["parentUuid"] = dumps(parent)
        came = {"sessionId": self.parent.id, "messageUuid": value.get("uuid")}
        yield with_members(record.raw, changes | {"forkedFrom": dumps(came)})


class Qwen(Format):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE)
    name = "qwen"
    title = "Qwen Code"
    time_key = "timestamp"
    schema = "qwen"
    linked = True
    id_key = "uuid"
    parent_key = "parentUuid"
    strict_path = True
    call_key = "functionCall/id"
    result_key = "functionResponse/id"
    pairing = "direct"
    programs = ("qwen",)
    waits = frozenset({"ask_user_question", "exit_plan_mode"})
    harmless = frozenset(
        {"read_file", "read_many_files", "list_directory", "glob", "grep_search", "web_search"}
    )
    forker = QwenForker
    resumes = "qwen --resume"
    variables = ("QWEN_HOME", "QWEN_RUNTIME_DIR")
    beyond = (
        "tmp in its home folder: long outputs of tools, by the project",
        "memory and QWEN.md files, where the agent may have noted what it was told",
    )

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if not any(map(_is_certain, values)):
            return Score(0, "nothing in the records is Qwen Code's alone")
        ours = share(values, map(_is_ours, values))
        if path is not None and ours and self.home(path):
            return Score(max(ours, 90), "lies in a Qwen Code home")
        return Score(ours, f"{ours} % of the records are of Qwen Code")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind, subtype = text(value.get("type")), text(value.get("subtype"))
        out = Meaning(
            id=text(value.get("uuid")),
            session=text(value.get("sessionId")),
            time=text(value.get("timestamp")),
            version=text(value.get("version")),
            cwd=text(value.get("cwd")),
            model=text(value.get("model")),
        )
        aside = kind == "system" and subtype in _ASIDE
        out.linked = not aside and (kind in _TYPES or "uuid" in value)
        if out.linked:
            out.joins = True
            parent = value.get("parentUuid", "")
            out.parent = None if parent is None else text(parent)
            if value.get("isSidechain") is True:
                out.scope = text(value.get("agentId")) or "sidechain"
        if kind == "system" and subtype == "chat_compression":
            out.events += _compaction(value)
        elif kind == "system":
            out.events.append(Meta("", subtype))
        elif kind in _TYPES:
            out.events += _talk(value, kind, subtype)
        else:
            out.events.append(Unknown("", kind))
        return out

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        for event in self.meaning(value).events:
            if type(event) is ToolResult:
                response = mapping(value_at(value, event.pointer)).get("functionResponse")
                at = f"{event.pointer}/functionResponse"
                for name in mapping(mapping(response).get("response")):
                    if name in ("output", "error"):
                        yield Payload(f"{at}/response/{name}")
                yield Payload(f"{at}/parts", twin=True)
        result = mapping(value.get("toolCallResult"))
        if "resultDisplay" in result:
            yield from members(result["resultDisplay"], "/toolCallResult/resultDisplay", _STAYS)

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return QwenTracker(self.session_id(path) if path else "")

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        done = question.evidence.state == "completed"
        words = answer_text(question.evidence, question.name)
        response = {"output" if done else "error": words}
        told = {"id": question.call_id, "name": question.name, "response": response}
        above = question.parent or text(question.record.get("uuid"))
        out = _envelope(question.record, question.id, above, "tool_result")
        out["message"] = {"role": "user", "parts": [{"functionResponse": told}]}
        status = "success" if done else "error"
        out["toolCallResult"] = {"callId": question.call_id, "status": status}
        return dumps(out | {"madeBy": "sesstool"})

    def prompt(
        self, beside: dict[str, Any], record_id: str, words: str, parent: str | None = None
    ) -> bytes:
        """See `Format.prompt`."""
        out = _envelope(beside, record_id, parent, "user")
        out["message"] = {"role": "user", "parts": [{"text": words}]}
        return dumps(out | {"madeBy": "sesstool"})

    def replacement(self, value: dict[str, Any]) -> Sequence[Meaning]:
        """See `Format.replacement`."""
        history = blocks(mapping(value.get("systemPayload")).get("compressedHistory"))
        return [Meaning(_compacted(content, n)) for n, content in enumerate(history)]

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """See `Format.origin`."""
        told = mapping(value.get("forkedFrom"))
        name = text(told.get("sessionId"))
        return Origin(name, "copy", text(told.get("messageUuid"))) if name else None

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`."""
        if value.get("subtype") != "custom_title":
            return 0, ""
        payload = mapping(value.get("systemPayload"))
        return 1 + (payload.get("titleSource") != "auto"), text(payload.get("customTitle"))

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return home_of(path, ".qwen", configured, ("projects",))

    def writer(self, path: Path) -> str | None:
        """See `Format.writer`: the agent writes its process beside the session, or into a lock."""
        home, name = self.home(path), self.session_id(path)
        if home is None or not name:
            return None
        for note in (home / _LOCKS / f"{name}.lock", path.with_name(f"{name}.runtime.json")):
            if pid := _noted(note):
                return f"Qwen Code runs this session (process {pid})"
        return None

    def running(self, home: Path) -> Iterable[Running]:
        """See `Format.running`."""
        for pattern, ending in ((f"{_LOCKS}/*.lock", ".lock"), (_RUNTIME, ".runtime.json")):
            for note in home.glob(pattern):
                if pid := _noted(note):
                    yield Running(f"process {pid}", note.name.removesuffix(ending), pid=pid)

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        return path.stem if _FILE_ID.fullmatch(path.name) else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        for folder in ("chats", "chats/archive"):
            yield from configured().glob(f"projects/*/{folder}/{escape(prefix)}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "projects"]

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`: a project's folder has journals of workflows, too."""
        return is_transcript(path) and bool({"chats", "subagents"} & {*path.parts[-4:-1]})

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: `projects/<slug>/subagents/<session id>/` is of that session."""
        return "".join(inside[1:2]), "".join(inside[3:4]) if inside[2:3] == ("subagents",) else ""

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        name = self.session_id(path)
        home = self.home(path) if name else None
        if home is None:
            return
        for ending in _SIDE:
            yield from below(path.parent, name + ending)
        chats = next(folder for folder in path.absolute().parents if folder.name != "archive")
        yield from below(chats.parent, "subagents", name)
        yield from below(home, "file-history", name)
        yield from below(home, "debug", f"{name}.txt")

    def traces(self, path: Path) -> Iterable[Trace]:
        """See `Format.traces`."""
        home, name = self.home(path), self.session_id(path)
        if home is not None and name:
            usage = "what the session used"
            yield Trace(home / "usage_record.jsonl", "lines", (name,), usage, ("sessionId",))

    def others(self, path: Path) -> Iterable[SideFile]:
        """See `Format.others`."""
        home = self.home(path)
        if home is not None:
            yield from present(home, {"todos": "the lists of what was to be done"})
            notes = {"memory": "what the agent keeps in mind of the project"}
            yield from present(path.parent.parent, notes)


def configured() -> Path:
    """The folder of this user's sessions and of all else that the agent writes as it runs."""
    moved = os.environ.get("QWEN_RUNTIME_DIR") or os.environ.get("QWEN_HOME")
    return Path(moved).expanduser() if moved else Path.home() / ".qwen"


def _is_certain(value: dict[str, Any]) -> bool:
    """Whether no other agent writes such a record."""
    return _is_ours(value) and (
        "parts" in mapping(value.get("message")) or bool(_OWN & value.keys())
    )


def _is_ours(value: dict[str, Any]) -> bool:
    message = value.get("message")
    return (
        text(value.get("type")) in _TYPES
        and "uuid" in value
        and (message is None or "content" not in mapping(message))
    )


def _envelope(
    beside: dict[str, Any], record_id: str, parent: str | None, kind: str
) -> dict[str, Any]:
    """A record without its message, at the time of the one beside it."""
    out: dict[str, Any] = {"uuid": record_id, "parentUuid": parent}
    out |= {key: beside[key] for key in _COPIED if key in beside}
    return out | {"type": kind}


def _talk(value: dict[str, Any], kind: str, subtype: str) -> list[Event]:
    """The events of a record with a message."""
    parts = mapping(value.get("message")).get("parts")
    events = _parts(parts, "/message/parts")
    if kind == "tool_result" and events:
        return events
    role = "assistant" if kind == "assistant" else "user"
    prompt = kind == "user" and not subtype and not events
    hidden = subtype == "realtime_message" or "message" not in value
    # A subagent's own reader passes over an answer without words; a session's loses the one before.
    hidden = hidden or (value.get("isSidechain") is True and not parts)
    return [*events, Message("/message/parts", role, parts, hidden, prompt)]


def _parts(parts: Any, pointer: str) -> list[Event]:
    """The calls, results and thoughts among the parts of a message."""
    events: list[Event] = []
    for n, part in enumerate(map(mapping, blocks(parts))):
        at = f"{pointer}/{n}"
        if "functionCall" in part:
            call = mapping(part["functionCall"])
            arguments = call.get("args", {})
            fault = "" if type(arguments) is dict else "its arguments are no object"
            name, inside = text(call.get("name")), "/functionCall/args"
            events.append(
                ToolCall(at, text(call.get("id")), name, arguments, fault=fault, inside=inside)
            )
        elif "functionResponse" in part:
            result = mapping(part["functionResponse"])
            response = mapping(result.get("response"))
            failed = "error" in response and "output" not in response
            words = response.get("error" if failed else "output", response)
            made_up = is_placeholder(words)
            call_id = text(result.get("id"))
            events.append(ToolResult(at, call_id, words, failed, placeholder=made_up))
        elif part.get("thought") is True:
            events.append(Thinking(at))
    return events


def _compaction(value: dict[str, Any]) -> list[Event]:
    """A compaction holds all that is sent of what stands before it; without that it is none."""
    history = mapping(value.get("systemPayload")).get("compressedHistory")
    if type(history) is not list:
        return [Meta("", "chat_compression")]
    events: list[Event] = [
        Checkpoint(""),
        Checkpoint(f"{_HISTORY}/0/parts" if history else "", summary=True, hollow=not history),
    ]
    return events + [event for n, one in enumerate(history) for event in _compacted(one, n)]


def _compacted(content: Any, n: int) -> list[Event]:
    """The events of one message of those that a compaction holds."""
    held = mapping(content)
    role = "assistant" if held.get("role") == "model" else "user"
    parts, at = held.get("parts"), f"{_HISTORY}/{n}/parts"
    return [*_parts(parts, at), Message(at, role, parts)]


def _noted(note: Path) -> int:
    """The process that noted in a file of this computer that it runs a session, 0 for none."""
    try:
        told = mapping(json.loads(read_file(note)))
    except (OSError, ValueError, RecursionError):
        return 0
    pid, began = told.get("pid"), text(told.get("process_start_identity"))
    ticks = began.rpartition(":")[2] if began.startswith("linux:") else None
    here = told.get("hostname") in (None, platform.node())
    return pid if here and type(pid) is int and still_there(pid, note, ticks) else 0
