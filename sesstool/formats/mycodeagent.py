"""MyCodeAgent transcripts: `<project>/memory/transcripts/transcript-<session id>.jsonl`.

Every line is an event in an envelope; those of type message are the history. Call ids are
unique within a run only, which is one prompt with all that it led to. The life of a call is
told by events of its own, so that the file often knows more of an unanswered call than that it
has no result. A checkpoint has a summary, and the index of the first message sent beside it.
Its window is the matter of `mycodeagent_window`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from sesstool.formats.arguments import argument_fault
from sesstool.formats.base import Format
from sesstool.formats.events import Checkpoint, Event, Meaning, Message, Meta, ToolCall, ToolResult
from sesstool.formats.forking import Forker, Parent
from sesstool.formats.mycodeagent_window import Windows
from sesstool.formats.mycodeagent_writer import MyCodeAgentScribe
from sesstool.formats.payloads import Payload, twins
from sesstool.formats.terms import Evidence, Fault, Origin, Place, Question, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text
from sesstool.records.edits import Edit, EditSet
from sesstool.records.heal import Kind, heal
from sesstool.records.jsonspan import dumps, with_members
from sesstool.records.linewise import take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

_NAME = re.compile(r"transcript-(.+?)\.jsonl")
_TYPES = frozenset({"message", "state_transition", "tool_lifecycle", "checkpoint", "terminal"})
_REQUIRED = ("event_id", "timestamp", "run_id", "step", "event_type")
_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "summary": "system"}
# int() refuses more digits, and so does the agent's reader.
_LONG_NUMBER = re.compile(rb"[0-9]{4301}")
_NO_RESULT = {"status": "success", "data": {"recovered": True}}
# What the reader passes over, or what Python's decoder takes, be it only at times.
_READABLE = frozenset(
    {
        Kind.BLANK,
        Kind.CRLF,
        Kind.NO_NEWLINE,
        Kind.NONSTRICT,
        Kind.SURROGATE,
        Kind.TORN_TAIL,
    }
)


_FROZEN = """
    event_id timestamp session_id run_id step event_type schema_version reference_id
    payload.role payload.tool_name payload.tool_call_id payload.status payload.to_state
    payload.from_state payload.metadata.action_type payload.metadata.tool_calls.id
    payload.metadata.tool_calls.name payload.metadata.tool_name payload.metadata.tool_call_id
    payload.checkpoint_id payload.created_at payload.source_message_count
    payload.retain_start_idx payload.messages_compacted payload.details.checkpoint_id
"""


class TranscriptForker(Forker):
    """The agent knows no forks, and reads no records but those that bear the session's id."""

    by_name = False

    @classmethod
    def fresh(cls, parent: Parent, now: datetime, beside: Path | None) -> str:  # noqa: ARG003 - see `Forker.fresh`
        """See `Forker.fresh`."""
        return f"session-{uuid4().hex}"

    @classmethod
    def names(cls, value: dict[str, Any]) -> Iterable[str]:
        """See `Forker.names`."""
        return (text(value.get("event_id")),)

    def name(self) -> str:
        """See `Forker.name`."""
        return f"transcript-{self.id}.jsonl"

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`."""
        yield with_members(record.raw, {"session_id": dumps(self.id)})


class MyCodeAgent(Format):
    """See the module."""

    fields = fields_of(_FROZEN, "")
    name = "mycodeagent"
    title = "MyCodeAgent"
    time_key = "timestamp"
    schema = "mycodeagent"
    told = ("event_id", "event_type", "run_id", "step")
    provider = "openai-chat"
    result_key = "tool_call_id"
    pairing = "direct"
    harmless = frozenset({"Glob", "Grep", "Read"})
    forker = TranscriptForker
    scribe = MyCodeAgentScribe
    resumes = "mycodeagent --resume"

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, ("event_type" in v and "event_id" in v for v in values))
        return Score(ours, f"{ours} % of the records are MyCodeAgent events")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind, payload = text(value.get("event_type")), mapping(value.get("payload"))
        out = Meaning(
            session=text(value.get("session_id")),
            run=text(value.get("run_id")),
            time=text(value.get("timestamp")),
        )
        if kind == "message":
            out.events = _message(payload)
        elif kind == "checkpoint" and not payload.get("legacy_snapshot_import"):
            kept = payload.get("retain_start_idx")
            kept = kept if type(kept) is int else 0
            out.events = [Checkpoint("/payload", summary=True, kept_from=max(kept, 0))]
        else:
            out.events = [Meta("/payload", kind)]
        return out

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        if value.get("event_type") == "tool_lifecycle":
            yield from twins("/payload", "result", "result_text", "error")
        elif mapping(value.get("payload")).get("role") == "tool":
            yield Payload("/payload/content")

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """See `Format.origin`: sesstool's own recorder links a subagent to who started it."""
        details = mapping(mapping(value.get("payload")).get("details"))
        parent = text(mapping(details.get("parent")).get("session_id"))
        return Origin(parent, "subagent") if parent else None

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return _Tracker(self.session_id(path) if path else "")

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`. It says what the agent itself would put in on resume."""
        record, evidence = question.record, question.evidence
        words = evidence.output  # may be empty, and is the result all the same
        if evidence.state != "completed":
            message = answer_text(evidence, question.name)
            error = {"code": evidence.code, "message": message}
            body = {"status": "error", "error": error, "data": {"recovered": True}}
            words = json.dumps(body, ensure_ascii=False)
        seed = f"{record.get('event_id')}/{question.call_id}"
        seed = seed.encode("utf-8", "backslashreplace").decode()  # an id may hold half a character
        envelope = ("timestamp", "session_id", "run_id", "step")
        out = {"event_id": f"evt-{uuid5(NAMESPACE_OID, seed).hex}"}
        out |= {key: record[key] for key in envelope if key in record}
        metadata = {
            "tool_name": question.name,
            "tool_call_id": question.call_id,
            "recovered": True,
            "madeBy": "sesstool",
        }
        payload = {"role": "tool", "content": words, "metadata": metadata}
        return dumps(out | {"event_type": "message", "payload": payload, "schema_version": 1})

    def bad_line(self, kind: Kind) -> str:
        """See `Format.bad_line`."""
        return "" if kind in _READABLE else "MyCodeAgent loads no session with such a line"

    def home(self, path: Path) -> Path | None:
        """See `Format.home`: there is one in each project."""
        folder = path.absolute().parent
        ours = folder.name == "transcripts" and folder.parent.name == "memory"
        return folder.parent if ours and self.session_id(path) else None

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        found = _NAME.match(path.name)
        return found.group(1) if found else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`: those of the project that the user stands in."""
        return Path("memory/transcripts").glob(f"transcript-{escape(prefix)}*.jsonl{ending}")

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: the home lies in the project."""
        return str(home.parent), ""


def _message(payload: dict[str, Any]) -> list[Event]:
    """The events of a message of the history."""
    role, content = text(payload.get("role")), payload.get("content")
    metadata = mapping(payload.get("metadata"))
    call_id = text(metadata.get("tool_call_id"))
    if role == "tool" and call_id:
        recovered = metadata.get("recovered") is True
        return [ToolResult("/payload/metadata", call_id, content, placeholder=recovered)]
    # A tool's message that names no call is sent as words of the user.
    events: list[Event] = []
    if role == "assistant":
        for n, call in enumerate(map(mapping, blocks(metadata.get("tool_calls")))):
            pointer = f"/payload/metadata/tool_calls/{n}"
            arguments = call.get("arguments")
            fault = _fault(arguments)
            name = text(call.get("name"))
            call_id = text(call.get("id"))
            events.append(ToolCall(pointer, call_id, name, arguments, fault=fault, as_text=True))
        if not metadata.get("tool_calls"):
            events += _older_call(metadata)
    prompt = role == "user" and metadata.get("source") != "completion_gate"
    events.append(Message("/payload/content", _ROLES.get(role, role), content, prompt=prompt))
    return events


def _older_call(metadata: dict[str, Any]) -> list[Event]:
    """The only call of a message that has no list of them, as older versions wrote it."""
    call_id, name = text(metadata.get("tool_call_id")), text(metadata.get("tool_name"))
    if metadata.get("action_type") != "tool_call" or not call_id or not name:
        return []
    arguments = metadata.get("tool_args")
    fault = "its arguments are no object" if arguments and type(arguments) is not dict else ""
    pointer = "/payload/metadata"
    return [ToolCall(pointer, call_id, name, arguments, fault=fault, inside="/tool_args")]


def _fault(arguments: Any) -> str:
    """Why the arguments of a call cannot be sent: text must be JSON, nothing becomes {}."""
    return "" if not arguments or type(arguments) is dict else argument_fault(arguments)


class _Tracker(Tracker):
    """The life of calls, and what the agent's reader stops at or passes over."""

    def __init__(self, file_id: str) -> None:
        """`file_id` is the session that the file's name tells, or ""."""
        self._file_id = file_id
        self._session = ""
        self._foreign: dict[str, int] = {}
        self._first: Place | None = None
        self._passed: Place | None = None
        self._lives: dict[int, set[str]] = {}
        self._ends: dict[int, Place] = {}
        self._refused: list[tuple[Place, str]] = []
        self._lines: set[int] = set()
        self._copies: list[Place] = []
        self.windows = Windows()

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        value, place = record.value or {}, Place(record.line, record.start, record.end)
        if any(d.kind is Kind.TOO_DEEP for d in record.defects):
            self.windows.torn = True  # nobody has looked into it
            return
        self._session = self._session or meaning.session
        self._first = self._first or place
        if not self.reads(meaning):
            self._foreign[meaning.session] = self._foreign.get(meaning.session, 0) + 1
            self._passed = self._passed or place
            return
        if refusal := _refusal(value) or _long_number(record.raw):
            self._refused.append((place, refusal))
        key = hash(record.raw)
        if key in self._lines and value.get("event_id"):
            self._copies.append(place)
        self._lines.add(key)
        payload = mapping(value.get("payload"))
        if value.get("event_type") == "tool_lifecycle":
            self._lifecycle(meaning.run, payload, place)
        elif value.get("event_type") == "message":
            self.windows.message(payload, place)
        elif any(type(event) is Checkpoint for event in meaning.events):
            self.windows.checkpoint(payload, place)
        for event in meaning.events:
            if type(event) is ToolResult:  # of an answered call nothing more is asked
                self._lives.pop(hash((meaning.run, event.id)), None)
                self._ends.pop(hash((meaning.run, event.id)), None)

    def fragment(self, record: Record) -> None:
        """See `Tracker.fragment`."""
        self.windows.torn = True

    def reads(self, meaning: Meaning) -> bool:
        """See `Tracker.reads`: the first record tells the session."""
        return not self._session or meaning.session == self._session

    def _lifecycle(self, run: str, payload: dict[str, Any], place: Place) -> None:
        key, status = hash((run, text(payload.get("tool_call_id")))), text(payload.get("status"))
        life = self._lives.setdefault(key, set())
        life.add(status)
        if status == "completed" or (status == "failed" and "completed" not in life):
            self._ends[key] = place

    def evidence(self, call_id: str, source: Source, scope: str = "") -> Evidence:
        """See `Tracker.evidence`."""
        key = hash((scope, call_id))
        life = self._lives.get(key, set())
        if not life & {"requested", "started", "completed", "failed"}:
            return Evidence("uncertain", code="RECOVERY_STATE_UNKNOWN")
        if place := self._ends.get(key):
            value, _ = heal(source.read(place.start, place.end), place.start)
            payload = mapping(mapping(value).get("payload"))
            if "completed" in life:
                return Evidence("completed", result_of(payload))
            return Evidence("failed", error_of(payload), code="EXECUTION_FAILED")
        if "started" in life:
            return Evidence("uncertain", code="INTERRUPTED_UNCERTAIN")
        return Evidence("never started", code="NOT_EXECUTED_REPLAN")

    def follow(self, before: Tracker, step: EditSet, source: Source) -> Sequence[Edit]:
        """See `Tracker.follow`: the windows of checkpoints are told by index."""
        assert isinstance(before, _Tracker)  # a plan keeps to one format
        return self.windows.follow(before.windows, step, source)

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        if self._first and self._session.startswith("subagent-"):
            yield Fault("subagent", self._first, "this is the transcript of a subagent")
        if self._passed and self._session:
            count, others = sum(self._foreign.values()), len(self._foreign)
            message = f"{count} records of {others} other sessions: MyCodeAgent passes over them"
            # The first record tells the session: it may hide the one that the file is for.
            hidden = self._file_id in self._foreign
            title = "move them into a transcript of their own"
            severity = "error" if hidden else ""
            yield Fault("wrong-session", self._passed, message, title, severity=severity)
        for place, refusal in self._refused:
            edits = (take_out(source, place.start, place.end),)
            message = f"MyCodeAgent stops here, and loads no session: {refusal}"
            yield Fault("refused-record", place, message, "take it out", edits, safe=False)
        for place in self._copies:
            edits = (take_out(source, place.start, place.end),)
            message = "exact copy of a record above"
            yield Fault("copied-record", place, message, "take the copy out", edits, safe=True)
        yield from self.windows.faults(source)


def _refusal(value: dict[str, Any]) -> str:
    """Why the agent's reader stops at a record, "" where it does not."""
    for key in _REQUIRED:
        if key not in value:
            return f"it has no {key}"
    if text(value["event_type"]) not in _TYPES:
        return "its event_type is none that it knows"
    if not _is_number(value["step"]) or not _is_number(value.get("schema_version") or 1):
        return "its step or its schema_version is no number"
    if value.get("payload") and type(value["payload"]) is not dict:
        return "its payload is no object"
    return ""


def _long_number(raw: bytes) -> str:
    """Why Python's decoder stops at a number, "" where there is none so long."""
    if not _LONG_NUMBER.search(raw):
        return ""
    sizes: list[int] = []
    try:
        json.loads(raw, parse_int=lambda digits: sizes.append(len(digits.lstrip("-"))))
    except (ValueError, RecursionError):
        return ""  # its bytes are mended first
    return "it holds an integer of over 4,300 digits" if max(sizes, default=0) > 4300 else ""


def _is_number(value: Any) -> bool:
    try:
        int(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def result_of(payload: dict[str, Any]) -> str:
    """The result that a completed event records, as the model is told it."""
    result = payload.get("result", payload.get("result_text"))
    result = _NO_RESULT if result is None else result
    return result if type(result) is str else json.dumps(result, ensure_ascii=False)


def error_of(payload: dict[str, Any]) -> str:
    """The error that a failed event records, "" where it records none."""
    error = payload.get("error") or mapping(payload.get("result")).get("error")
    return text(error) or text(mapping(error).get("message"))
