"""How a run went: the life of its calls, where its loop went, how it ended, what it used.

A session tells that where it holds facts (`store.facts`), and else a trace of the recorder. What
the trace alone has is what the model used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.formats.events import Checkpoint as Compaction
from sesstool.formats.events import Meaning, Message, Meta, ToolCall, ToolResult
from sesstool.formats.values import mapping, text
from sesstool.model.moments import moment
from sesstool.records.lines import lines
from sesstool.records.recover import Record
from sesstool.report.amounts import counted as count
from sesstool.store.codec import Call
from sesstool.store.facts import Checkpoint, End, Fact, Phase, Transition
from sesstool.store.history import Life
from sesstool.store.mycodeagent import MyCodeAgentCodec
from sesstool.store.reading import opened, parsed
from sesstool.text import lasting

# So many calls and steps are listed; nobody reads a longer list.
_LISTED = 1000
_PHASES = ("requested", "started", "completed", "failed")
_STATES = ("completed", "failed", "uncertain", "pending")
# So many kinds of usage are told; providers have a handful.
_KINDS = 12


@dataclass(slots=True)
class Row:
    """A call: the line of its message, 0 for none, its life, and the times of its phases."""

    line: int
    life: Life
    listed: bool
    times: dict[str, str] = field(default_factory=dict)

    @property
    def began(self) -> str:
        """When it was started, or asked for; "" where that is not told."""
        return self.times.get("started") or self.times.get("requested", "")

    @property
    def took(self) -> str:
        """How long it ran, in words, "" where that is not told."""
        begin = moment(self.times.get("started"))
        end = moment(self.times.get("completed") or self.times.get("failed"))
        if begin is None or end is None or end < begin:
            return ""
        return lasting((end - begin).total_seconds())


class Step(NamedTuple):
    """Where the loop went, or a compaction, or an end: when, what, and why."""

    time: str
    what: str
    why: str


class Run:
    """See the module. `calls` and `steps` are the first ones, `step_count` is how many there are.

    Memory grows with the calls that have no result, and not with the others.
    """

    def __init__(self, format_name: str) -> None:
        """Nothing is known at first."""
        self.calls: list[Row] = []
        self.steps: list[Step] = []
        self.step_count = 0
        self._holds_facts = format_name == MyCodeAgentCodec.format.name
        self._codec: MyCodeAgentCodec | None = None
        self._rows: dict[tuple[str, str], Row] = {}
        self._past: Counter[str] = Counter()
        self._ended = ""
        self._agents: dict[str, str] = {}
        self._parent = ""
        self._traced = ""
        self._usage: Counter[str] = Counter()

    def see(self, record: Record, meaning: Meaning) -> None:
        """Take note of a record of the session, in file order."""
        if not self._holds_facts:
            return
        for event in meaning.events:
            if isinstance(event, Message):
                self._ended = ""
            elif isinstance(event, ToolCall):
                self._row(meaning.run, event.id, event.name, record.line)
            elif isinstance(event, ToolResult):
                self._answer(meaning.run, event)
        if all(isinstance(event, (Meta, Compaction)) for event in meaning.events):
            self._codec = self._codec or MyCodeAgentCodec(meaning.session)
            self._note(self._codec.decode(record.value or {}), meaning.time, meaning.run)

    def trace(self, path: Path, session_id: str) -> None:
        """Take note of what a trace tells of the session. Raises InputError."""
        found = others = damaged = answers = 0
        with opened(path) as source:
            for _, _, line, _ in lines(source):
                value = parsed(line)
                if value is None:
                    damaged += bool(line.strip())
                elif value.get("session_id") != session_id:
                    others += 1
                else:
                    found += 1
                    answers += self._use(mapping(value.get("usage")))
                    if not self._holds_facts:
                        self._retell(value)
        parts = [count(found, "record") if found else "tells nothing of this session"]
        parts += [f"{count(others, 'record')} of others"] if others else []
        parts += [f"{count(damaged, 'line')} that are no record"] if damaged else []
        self._traced = ", ".join(parts)
        self._usage["answers"] = answers

    @property
    def unlisted(self) -> bool:
        """Whether there are more calls than those that are listed."""
        return bool(self._past) or any(not row.listed for row in self._rows.values())

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, nothing where the session tells of no run."""
        return list(self._facts())

    def _facts(self) -> Iterator[tuple[str, str]]:
        states = self._past + Counter(row.life.state for row in self._open())
        if states or self.steps:
            yield "Ended", self._ended or "no end is recorded"
        if states:
            named = (f"{states[state]:,} {state}" for state in _STATES if states[state])
            yield "Calls", f"{states.total():,}: {', '.join(named)}"
        if self._parent:
            yield "Started by", self._parent
        for name, end in islice(self._agents.items(), _LISTED):
            yield "Subagent", name + (f", ended: {end}" if end else "")
        used = [f"{n:,} {name}" for name, n in self._usage.items() if name != "answers"]
        if used:
            yield "Used", f"{', '.join(used)}, in {count(self._usage['answers'], 'answer')}"
        if self._traced:
            yield "Trace", self._traced

    def _open(self) -> Iterator[Row]:
        """The calls whose states are not counted yet."""
        yield from self.calls
        yield from (row for row in self._rows.values() if not row.listed)

    def _row(self, run: str, call_id: str, tool: str, line: int) -> Row:
        """The row of a call; a message with a call of a known id is about another one."""
        row = self._rows.get((run, call_id))
        if row is not None and line and row.line:
            self._leave(row)
            row = None
        if row is None:
            listed = len(self.calls) < _LISTED
            row = Row(line, Life(Call(call_id, tool, None), run, -1), listed)
            self._rows[run, call_id] = row
            self.calls += [row] if listed else []
        row.line = row.line or line
        return row

    def _answer(self, run: str, result: ToolResult) -> None:
        row = self._rows.get((run, result.id))
        if row is not None:
            row.life.answered, row.life.made_up = True, result.placeholder
            if not result.placeholder:
                self._leave(self._rows.pop((run, result.id)))

    def _leave(self, row: Row) -> None:
        """Count a call that nothing more is told of, unless it is listed."""
        if not row.listed:
            self._past[row.life.state] += 1

    def _note(self, fact: Fact | None, time: str, run: str) -> None:
        if isinstance(fact, Phase):
            row = self._row(run, fact.call_id, fact.tool, 0)
            row.life.phases.add(fact.name)
            row.times.setdefault(fact.name, time)
        elif isinstance(fact, Transition):
            way = f"{fact.before} → {fact.to}" if fact.before else fact.to
            self._step(time, way, fact.reason + self._linked(fact))
        elif isinstance(fact, Checkpoint):
            self._step(time, "compaction", f"messages before {fact.keep_from:,} stand in a summary")
        elif isinstance(fact, End):
            self._ended = fact.reason
            self._step(time, "end", fact.reason)

    def _retell(self, value: dict[str, Any]) -> None:
        """Take note of a record of a trace; there calls end without a message."""
        fact = _traced(value)
        self._note(fact, text(value.get("time")), "")
        if isinstance(fact, Phase) and fact.name in ("completed", "failed"):
            self._leave(self._rows.pop(("", fact.call_id)))
        elif value.get("event") == "said":
            self._ended = ""

    def _step(self, time: str, what: str, why: str) -> None:
        self.step_count += 1
        if len(self.steps) < _LISTED:
            self.steps.append(Step(time, what, why))

    def _linked(self, fact: Transition) -> str:
        """The session that a transition names, if any: that of a subagent, or who started this."""
        for role in ("subagent", "parent"):
            link = mapping(fact.details.get(role))
            if name := text(link.get("session_id")):
                told = f"{name} ({text(link.get('transcript'))})"
                if role == "parent":
                    self._parent = told
                else:
                    self._agents[told] = text(fact.details.get("end"))
                return f": {told}"
        return ""

    def _use(self, usage: dict[str, Any]) -> int:
        """Add up what one answer used; how many answers that is."""
        known = {key: n for key, n in usage.items() if type(n) is int and n >= 0}
        for key, number in known.items():
            if key in self._usage or len(self._usage) < _KINDS:
                self._usage[key] += number
        return bool(known)


def _traced(value: dict[str, Any]) -> Fact | None:
    """The fact that a record of a trace tells; messages the session has itself."""
    event, details = value.get("event"), mapping(value.get("details"))
    if event == "phase" and value.get("name") in _PHASES and text(value.get("call_id")):
        return Phase(text(value["call_id"]), text(value.get("tool")), value["name"])
    if event == "transition":
        before = text(value.get("before")) or None
        return Transition(text(value.get("to")), text(value.get("reason")), before, details)
    if event == "checkpoint" and type(value.get("keep_from")) is int:
        return Checkpoint("", value["keep_from"])
    return End(text(value.get("reason"))) if event == "end" else None
