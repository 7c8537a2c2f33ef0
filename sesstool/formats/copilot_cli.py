"""Copilot CLI sessions: `~/.copilot/session-state/<session id>/events.jsonl`.

Every line is an event in an envelope. They are read in the order of the file: each names the one
before it as its parent, but nobody follows that. A call is asked for by a message of the model,
and its result is the event that says that the tool has ended. A compaction begins with an event of
its own, and what is said until it has ended is sent beside the summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.arguments import argument_fault
from sesstool.formats.base import Format
from sesstool.formats.copilot_home import (
    BEYOND,
    EVENTS,
    FOLDER,
    configured,
    copilot_home,
    named,
    project,
    running,
    session_folder,
)
from sesstool.formats.copilot_records import FROZEN, KNOWN, META, OPAQUE
from sesstool.formats.copilot_tracker import CopilotTracker
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    Meta,
    StateChange,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.forking import UuidForker
from sesstool.formats.payloads import Payload, twins
from sesstool.formats.side_files import below
from sesstool.formats.terms import Question, Running, Score, SideFile, Trace, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_blank, is_placeholder
from sesstool.records.heal import Kind
from sesstool.records.jsonspan import dumps, with_members
from sesstool.records.recover import Record
from sesstool.records.source import is_transcript, snapshot_of

_STORE = "session-store.db"
# What its reader passes over in all versions.
_PASSED = frozenset({Kind.BLANK, Kind.CRLF, Kind.NO_NEWLINE, Kind.BOM, Kind.NUL, Kind.SURROGATE})


class CopilotForker(UuidForker):
    """A fork has a folder of its own, and a header that tells its id; records stay as they are."""

    def name(self) -> str:
        """See `Forker.name`."""
        return EVENTS

    def folder(self, beside: Path) -> Path:
        """See `Forker.folder`."""
        top = beside if beside.name == FOLDER else beside.parent
        return top / self.id

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`."""
        value = mapping(record.value)
        if value.get("type") != "session.start":
            yield record.raw
            return
        told = {"sessionId": dumps(self.id), "alreadyInUse": dumps(value=False)}
        data = with_members(dumps(mapping(value.get("data"))), told)
        yield with_members(record.raw, {"data": data})


class CopilotCLI(Format):
    """See the module."""

    fields = fields_of(FROZEN, OPAQUE)
    name = "copilot-cli"
    title = "Copilot CLI"
    time_key = "timestamp"
    beyond = BEYOND
    schema = "copilot-cli"
    told = (
        "id",
        "parentId",
        "timestamp",
        "data",
        *(name for kind in KNOWN.values() for name in kind),
    )
    pairing = "order"
    call_key = result_key = "toolCallId"
    waits = frozenset({"ask_user"})
    harmless = frozenset({"view", "grep", "glob", "read_bash", "list_bash", "report_intent"})
    forker = CopilotForker
    resumes = "copilot --resume"
    variables = ("COPILOT_HOME",)

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, map(_is_ours, values))
        return Score(ours, f"{ours} % of the records are events of Copilot CLI")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind, data = text(value.get("type")), mapping(value.get("data"))
        out = Meaning(
            id=text(value.get("id")),
            time=text(value.get("timestamp")),
            version=text(data.get("copilotVersion")),
            cwd=text(mapping(data.get("context")).get("cwd")) or text(data.get("cwd")),
            scope=text(value.get("agentId")) or text(data.get("parentToolCallId")),
        )
        if kind == "session.start":
            out.session = text(data.get("sessionId"))
        if kind in ("session.start", "session.model_change", "assistant.message"):
            names = ("model", "newModel", "selectedModel")
            out.model = next((text(data[name]) for name in names if data.get(name)), "")
        out.events = _events(kind, data)
        return out

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        kind = value.get("type")
        if kind == "tool.execution_complete":
            yield Payload("/data/result/content")
            yield Payload("/data/error/message")
            yield from twins("/data/result", "detailedContent", "contents", "structuredContent")
        elif kind == "tool.execution_partial_result":
            yield from twins("/data", "partialOutput")
        elif kind in ("hook.start", "hook.end"):
            yield from twins("/data", "input/toolResult", "output/modifiedResult")

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`. The agent itself keeps titles in workspace.yaml."""
        named_so = value.get("type") == "session.title_changed"
        return 1, text(mapping(value.get("data")).get("title")) if named_so else ""

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return CopilotTracker(self.session_id(path) if path else "")

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        record, evidence = question.record, question.evidence
        data: dict[str, Any] = {"toolCallId": question.call_id}
        told = mapping(record.get("data"))
        data |= {key: told[key] for key in ("interactionId", "turnId") if key in told}
        words = answer_text(evidence, question.name)
        if evidence.state == "completed":
            data |= {"success": True, "result": {"content": words}}
        else:
            data |= {"success": False, "error": {"message": words}}
        seed = f"{record.get('id')}/{question.call_id}"
        seed = seed.encode("utf-8", "backslashreplace").decode()  # an id may hold half a character
        out = {
            "type": "tool.execution_complete",
            "data": data,
            "id": str(uuid5(NAMESPACE_OID, seed)),
            "timestamp": record.get("timestamp"),
            "parentId": record.get("id"),
        }
        return dumps(out | {"madeBy": "sesstool"})

    def bad_line(self, kind: Kind) -> str:
        """See `Format.bad_line`."""
        if kind in _PASSED:
            return ""
        return "Copilot CLI does not load a session with such a line, or cuts it out of the file"

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return copilot_home(path)

    def writer(self, path: Path) -> str | None:
        """See `Format.writer`: each process leaves its id in the session's folder."""
        folder = session_folder(path)
        pid = next(running(folder), None) if folder and self.home(path) else None
        return f"Copilot CLI runs this session (process {pid})" if pid else None

    def running(self, home: Path) -> Iterable[Running]:
        """See `Format.running`."""
        for folder in (home / FOLDER).glob("*/"):
            for pid in running(folder):
                yield Running(f"process {pid}", folder.name, pid=pid)

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`: the folder's name; before 1.0.11 that of the file."""
        return named(path)

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        folder, name = configured() / FOLDER, escape(prefix)
        yield from folder.glob(f"{name}*/{EVENTS}{ending}")
        yield from folder.glob(f"{name}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / FOLDER]

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`: a session's folder may hold whatever the agent made."""
        return is_transcript(path) and (bool(session_folder(path)) or path.parent.name == FOLDER)

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`."""
        return project(home.joinpath(*inside)) if len(inside) > 1 else "", ""

    def drawn(self, path: Path) -> Iterable[SideFile]:
        """See `Format.drawn`."""
        home = self.home(path)
        if home is not None and (home / _STORE).is_file():
            fate = "Copilot CLI resumes from the events, not from there"
            erase = f"`copilot` draws {_STORE} anew when it is deleted while it does not run"
            yield SideFile(home / _STORE, fate, erase)

    def traces(self, path: Path) -> Iterable[Trace]:
        """See `Format.traces`."""
        home, name = self.home(path), self.session_id(path)
        if home is not None and name:
            what, lost = "prompts, answers and files", "what it noted of all sessions"
            yield Trace(home / _STORE, "rows", (name,), what, lost=lost, program="copilot")

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        folder, home, name = session_folder(path), self.home(path), self.session_id(path)
        if folder is not None:
            snapshot = snapshot_of(path).name
            own = (place for place in below(folder) if place.name != path.name)
            yield from (place for place in own if not place.name.startswith(snapshot))
        if home is not None and name:
            yield from below(home / FOLDER, ".session-operation-locks", f"{name}.lock")


def _is_ours(value: dict[str, Any]) -> bool:
    """Whether a record has the envelope: no other agent has a dot in its types and `data`."""
    kind = text(value.get("type"))
    dotted = "." in kind or kind == "abort"
    return dotted and "data" in value and ("id" in value or "parentId" in value)


def _events(kind: str, data: dict[str, Any]) -> list[Event]:
    """What an event of Copilot CLI means."""
    if kind == "user.message":
        typed = not text(data.get("source"))
        return [Message("/data/content", "user", data.get("content"), prompt=typed)]
    if kind == "assistant.message":
        return _answered(data)
    if kind == "tool.execution_complete":
        return [_result(data)] if data.get("isUserRequested") is not True else [Meta("", kind)]
    if kind == "system.message":
        return [Message("/data/content", "system", data.get("content"))]
    if kind == "system.notification":
        return [Message("/data/content", "user", data.get("content"))]
    if kind == "session.compaction_start":
        return [StateChange("", "compaction begins")]
    if kind == "session.compaction_complete":
        summary = data.get("summaryContent")
        if data.get("success") is not True or is_blank(summary):
            return [Meta("", kind)]
        at = "/data/summaryContent"
        return [Checkpoint(at, summary=True), Message(at, "user", summary)]
    return [Meta("", kind)] if kind in META else [Unknown("", kind)]


def _answered(data: dict[str, Any]) -> list[Event]:
    """What a message of the model says, thinks and asks for."""
    events: list[Event] = []
    for n, request in enumerate(map(mapping, blocks(data.get("toolRequests")))):
        call_id, name = text(request.get("toolCallId")), text(request.get("name"))
        arguments = request.get("arguments")
        free = request.get("type") == "custom" or arguments is None or type(arguments) is dict
        fault = "" if free else argument_fault(arguments)
        at = f"/data/toolRequests/{n}"
        events.append(ToolCall(at, call_id, name, arguments, fault=fault, as_text=True))
    if text(data.get("reasoningText")):
        events.append(Thinking("/data/reasoningText"))
    if not events or not is_blank(data.get("content")):
        events.append(Message("/data/content", "assistant", data.get("content")))
    return events


def _result(data: dict[str, Any]) -> ToolResult:
    """The end of a tool: what it put out, or what went wrong."""
    failed = data.get("success") is not True
    said = mapping(data.get("error")).get("message") if failed else None
    words = mapping(data.get("result")).get("content") if said is None else said
    call_id, made_up = text(data.get("toolCallId")), is_placeholder(words)
    return ToolResult("/data", call_id, words, failed, placeholder=made_up)
