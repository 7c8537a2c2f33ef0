"""What reaches the model when a session is resumed, and what does not."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import orjson

from sesstool.checks.context import Options
from sesstool.checks.engine import Progress, examine
from sesstool.errors import NotASessionError
from sesstool.findings import FileReport, Finding, Severity
from sesstool.formats.base import Format
from sesstool.formats.events import Checkpoint, Meaning, Message, ToolCall, ToolResult
from sesstool.model.session import Session
from sesstool.records.recover import records
from sesstool.records.source import Source

# Families whose errors a provider answers with a refusal of the request.
_REFUSED = ("T", "C", "J201")
# Findings that say that something is missing from what the model will see.
_LOSSES = (
    *("B102", "B104", "B105", "B112", "M701", "M703", "M712", "M713", "S304", "T402"),
    *("G501", "G505", "G507", "G508", "G510", "G511"),
)
_BYTES_A_TOKEN = 4
_SENT = (Message, ToolCall, ToolResult)


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a result. `effect` says whether its tool may have changed the world."""

    id: str
    tool: str
    line: int
    state: str
    effect: str


@dataclass(frozen=True, slots=True)
class ResumeReport:
    """What a resume of one session sends, and what it leaves out.

    `sent` of `present` messages reach the model. `size` counts bytes of what is sent, `tokens`
    is a rough guess from it. `refusals` are the findings for which a provider would refuse the
    next request, `losses` those that say that something is missing. `command` is the agent's own.
    `base` is the session from whose own file this one goes on, which is sent before it and counts
    for nothing here; "" for none.
    """

    path: str
    format: str
    session_id: str
    version: str
    model: str
    cwd: str
    last_time: str
    sent: int
    present: int
    calls: int
    completed: int
    open_calls: tuple[OpenCall, ...]
    branches: int
    size: int
    tokens: int
    refusals: tuple[Finding, ...]
    losses: tuple[Finding, ...]
    command: str
    base: str

    @property
    def acceptable(self) -> bool:
        """Whether nothing is known for which the provider would refuse the next request."""
        return not self.refusals


def resume(
    source: Source, *, format_name: str = "", progress: Progress | None = None
) -> ResumeReport:
    """What a resume of the session in a source would send. Raises NotASessionError."""
    session, report = examine(source, Options(), format_name=format_name, progress=progress)
    if session is None:
        raise NotASessionError(
            f"{source.name} is empty: there is nothing to resume", hint="look for a copy"
        )
    sent, present = session.messages()
    size = _sent_bytes(session)
    subagent = any(f.code == "M707" for f in report.findings)
    command = "" if subagent else session.format.resume_command(session.id)
    calls = tuple(_open_call(session, f) for f in report.findings if _is_open(f))
    return ResumeReport(
        report.path,
        report.format,
        session.id,
        session.version,
        session.model,
        session.cwd,
        session.last_time,
        sent,
        present,
        session.pairing.calls,
        session.pairing.calls - len(calls),
        calls,
        len(session.graph.branches()) if session.graph is not None else 0,
        size,
        size // _BYTES_A_TOKEN,
        tuple(f for f in _errors(report) if f.code.startswith(_REFUSED)),
        tuple(f for f in report.findings if f.code in _LOSSES and _matters(f)),
        command,
        _base(session),
    )


def _base(session: Session) -> str:
    first = next((r.value for r in records(session.source) if r.value is not None), {})
    origin = session.format.origin(first)
    return origin.session if origin is not None and origin.mode == "reference" else ""


def _is_open(finding: Finding) -> bool:
    return finding.code in ("T401", "T407")


def _errors(report: FileReport) -> list[Finding]:
    return [f for f in report.findings if f.severity is Severity.ERROR]


def _matters(finding: Finding) -> bool:
    return finding.severity is not Severity.INFORMATION


def _open_call(session: Session, finding: Finding) -> OpenCall:
    tool, state = finding.labels.get("tool", ""), finding.labels.get("state", "uncertain")
    effect = effect_of(session.format, tool, state)
    return OpenCall(finding.labels.get("call_id", ""), tool, finding.location.line, state, effect)


def effect_of(form: Format, tool: str, state: str) -> str:
    """Whether a call of a tool without a result may have changed the world, in a few words."""
    if state == "pending":
        return "waits for a person"
    if tool in form.harmless:
        return "changes nothing"
    if state == "uncertain":
        return "may have changed something: inspect before it is repeated"
    if state == "never started":
        return "did not run"
    return "its outcome is recorded elsewhere in the file"


def _sent_bytes(session: Session) -> int:
    """The bytes of the messages, calls and results that are sent."""
    again = Session(session.source, session.format, session.reason)
    size = 0
    sizes, kept_from = array("q"), 0
    for record, meaning in again.read():
        if meaning is None:
            continue
        row = again.graph.row_at(record.start) if again.graph is not None else -1
        if session.graph is None:
            for event in meaning.events:
                if type(event) is Checkpoint and event.kept_from >= 0:
                    kept_from = event.kept_from
                elif type(event) is Checkpoint and event.summary:
                    sizes = array("q")
            if any(type(e) in _SENT for e in meaning.events):
                sizes.append(_said(meaning))
        elif meaning.linked and row < len(session.graph) and session.graph.sent[row]:
            size += _said(meaning)
    return size + sum(sizes[kept_from:])


def _said(meaning: Meaning) -> int:
    parts: list[Any] = []
    holds_blocks = False
    for event in meaning.events:
        if type(event) is Message and not event.hidden:
            parts.append(event.content)
            holds_blocks = holds_blocks or type(event.content) is list
    for event in meaning.events:
        if not holds_blocks and type(event) is ToolCall:
            parts.append(event.arguments)
        elif not holds_blocks and type(event) is ToolResult:
            parts.append(event.content)
    return sum(_length(part) for part in parts)


def _length(value: Any) -> int:
    """The bytes of a value in a request: of a text its own, else those of its JSON."""
    if value is None:
        return 0
    if type(value) is str:
        return len(value.encode("utf-8", "replace"))
    try:
        return len(orjson.dumps(value))
    except (TypeError, orjson.JSONEncodeError):
        return 0
