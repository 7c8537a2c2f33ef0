"""A session record by record, as people read it: what `show` and every export are made of.

It is read twice. What a record is in the whole, whether a resume reaches it, what became of its
calls, only the end of the file tells; the second time each record is given and forgotten.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import UsageError
from sesstool.export.run import Run
from sesstool.formats.events import Checkpoint, Event, Meaning, Message, ToolCall, ToolResult
from sesstool.formats.terms import Origin, Place
from sesstool.model.graph import Branch, Graph
from sesstool.model.pairing import Call, Result
from sesstool.model.passages import Passage, named, passages
from sesstool.model.session import open_session
from sesstool.model.units import flat
from sesstool.model.ways import Named, way
from sesstool.records.recover import Record
from sesstool.records.source import Source
from sesstool.text import elide, safe

END = 1 << 62
"""Behind the last line of every file."""
UNANSWERED = "no result; "
"""How the state of a call begins that has no result."""
NO_CALL = "answers no call"
_TAKEN_BACK = {
    "": "",
    "compaction": "before the compaction",
    "rollback": "rolled back",
    "superseded": "superseded",
}
SUBAGENT = "a subagent's own"
_TITLE = 80
# So much of a prompt is looked at for its title.
_HEAD = 4096
# So many records at the beginning tell where a session comes from.
_ORIGIN = 64


class Prompt(NamedTuple):
    """What opens a turn: its number from 1, its line, and the first line that it says, elided."""

    turn: int
    line: int
    title: str


@dataclass(slots=True)
class Section:
    """One record, or a fragment: bytes that are no record, where `said` is None.

    `turn` is the turn that it belongs to, 0 before the first prompt, and `opens` says that it is
    the prompt of that turn. `scope` is the subagent that it belongs to. `aside` says why a resume
    does not reach it, in a few words, "" where it does. `before` and `after` tell of branches that
    begin or part here.
    """

    record: Record
    turn: int
    opens: bool = False
    time: str = ""
    scope: str = ""
    aside: str = ""
    said: list[Passage] | None = None
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Whose it is, and why a resume does not reach it."""
        own = [f"subagent {self.scope}"] if self.scope else []
        return own + [self.aside] * (self.aside != SUBAGENT or not own) * bool(self.aside)

    @property
    def size(self) -> int:
        """How many bytes the record has."""
        return self.record.end - self.record.start


@dataclass(frozen=True, slots=True)
class Choice:
    """Which records are shown: those of these lines.

    `thinking` and `notes` say whether thinking is shown, and what the file tells of the session
    without saying anything. `expand` says that nothing is folded.
    """

    first: int = 1
    last: int = END
    thinking: bool = True
    notes: bool = False
    expand: bool = False


class Reading:
    """A session that was read to its end, for its sections.

    `name` is what it is called, `profile` that of its redaction, "" for none. `fragments`,
    `notes` and `unanswered` count pieces that are no record, records that say nothing, and calls
    without a result. `origin` is the session that it goes on from, `run` what is told of the run.
    `branch` is "all", "live" for what a resume reaches, or the record that a branch ends with, by
    line, id or the beginning of its id.
    """

    def __init__(
        self,
        source: Source,
        format_name: str = "",
        *,
        name: str = "",
        profile: str = "",
        branch: str = "all",
    ) -> None:
        """Read it once. Raises InputError, NotASessionError, and UsageError for no branch."""
        self.name = name or source.name
        self.profile = profile
        self.branch = branch
        self.session = open_session(source, format_name)
        self.fragments = self.notes = self.unanswered = 0
        self.origin: Origin | None = None
        self.run = Run(self.session.format.name)
        self._main: str | None = None
        self._prompts = (array("q"), array("q"), array("q"))
        self._states: dict[int, str] = {}
        self._tools: dict[int, str] = {}
        self._failed: set[int] = set()
        self._again: set[tuple[str, str]] = set()
        leaf = self._read()
        self._know_calls()
        graph = self.session.graph
        self._way = self._rows = bytearray()
        self.branches: list[Branch] = []
        if graph is not None:
            self._way = way(self.session, graph, graph.leaf)
            self.branches = graph.branches()
            if branch not in ("all", "live"):
                self._rows = way(self.session, graph, leaf)
        self._begin = {other.root: other for other in self.branches}
        self._part: defaultdict[int, list[Branch]] = defaultdict(list)
        for other in self.branches:
            self._part[other.fork].append(other)

    def trace(self, path: Path) -> None:
        """Take in what a recorder's trace tells of the run. Raises InputError."""
        form, own = self.session.format, self.session.source.path
        named = form.session_id(own) or own.name.partition(".jsonl")[0] if own else ""
        self.run.trace(path, self.session.id or named)

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return len(self._prompts[0])

    @property
    def untitled(self) -> str:
        """What stands before the first turn is called."""
        return "Before the first prompt" if self.turns else "No prompt"

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the session's bytes, decompressed and decrypted."""
        found = hashlib.sha256()
        for chunk in self.session.source.chunks():
            found.update(chunk)
        return found.hexdigest()

    def prompts(self, choice: Choice, first: int = 1, last: int = END) -> Iterator[Prompt]:
        """The prompts that are shown, of the turns from `first` to `last`."""
        for turn in range(first, min(last, self.turns) + 1):
            line, start = self._prompts[0][turn - 1], self._prompts[1][turn - 1]
            if choice.first <= line <= choice.last and self._is_shown(start):
                yield Prompt(turn, line, self.title(turn))

    def title(self, turn: int) -> str:
        """The first line of the prompt that opens a turn, elided, whether it is shown or not."""
        line, start, end = (column[turn - 1] for column in self._prompts)
        meaning = self.session.format.meaning(self.session.value(Place(line, start, end)))
        for event in meaning.events:
            if isinstance(event, Message) and event.prompt:
                lines = flat(event.content, named)[:_HEAD].split("\n")
                said = next((line for line in lines if line.strip()), "")
                return elide(safe(said.strip()), _TITLE)
        return ""

    def sections(self, choice: Choice = Choice()) -> Iterator[Section]:
        """The records and fragments in file order, but for those that the choice leaves out."""
        turn = 0
        open_calls: dict[tuple[str, str], str] = {}
        for record, meaning in self.session.again():
            opens = meaning is not None and self._opens(meaning)
            turn += opens
            if meaning is None:
                inside = choice.first <= record.line <= choice.last
                if inside and self.branch == "all" and not _is_blank(record):
                    yield Section(record, turn)
                continue
            tools = list(self._tools_of(meaning, open_calls))
            if not (choice.first <= record.line <= choice.last and self._is_shown(record.start)):
                continue
            aside = self._aside(record.start)
            section = Section(record, turn, opens, meaning.time, meaning.scope, aside)
            section.said = list(self._said(record, meaning, tools, choice))
            if meaning.linked:
                self._mark(section)
            if section.said or section.before or section.after:
                yield section

    def _read(self) -> int:
        """Take note of the prompts, and of the calls whose result tells of a failure.

        Returns the row of the branch's leaf, -1 where none is named.
        """
        waiting: dict[tuple[str, str], int] = {}
        graph = self.session.graph
        named_leaf = Named("" if self.branch in ("all", "live") else self.branch)
        for number, (record, meaning) in enumerate(self.session.read()):
            if meaning is None:
                self.fragments += not _is_blank(record)
                continue
            self.run.see(record, meaning)
            if graph is not None and meaning.linked:
                named_leaf.see(record, meaning, len(graph) - 1)
            if number < _ORIGIN and self.origin is None and record.value is not None:
                self.origin = self.session.format.origin(record.value)
            if self._opens(meaning):
                for column, value in zip(
                    self._prompts, (record.line, record.start, record.end), strict=True
                ):
                    column.append(value)
            self.notes += not _says(meaning.events)
            for event in meaning.events:
                if isinstance(event, ToolCall):
                    waiting[_key(meaning, event.id)] = _at(record.start, event.pointer)
                elif isinstance(event, ToolResult):
                    call = waiting.pop(_key(meaning, event.id), None)
                    if event.error:
                        self._failed.add(_at(record.start, event.pointer))
                        if call is not None:
                            self._states[call] = "failed"
        if self.branch in ("all", "live"):
            return -1
        if graph is None:
            raise UsageError(f"{self.name} has no branches", hint="leave out --branch")
        return named_leaf.row(self.name)

    def _know_calls(self) -> None:
        """What is known of calls without results, and of those whose ids alone tell no result.

        All other calls are followed to their results by id, as they stand in the file.
        """
        session, pairing = self.session, self.session.pairing
        lost: list[Call | Result] = [*pairing.unanswered, *pairing.undecided]
        lost += [call for call, _ in pairing.twins if call.result is None]
        for one in lost:
            if isinstance(one, Call):
                found = session.tracker.evidence(one.id, session.source, one.scope)
                self._states[_at(one.place.start, one.place.pointer)] = UNANSWERED + found.state
                self.unanswered += 1
        for result in pairing.orphans:
            self._states[_at(result.place.start, result.place.pointer)] = NO_CALL
        twins = [call for both in pairing.twins for call in both]
        pairs = [(call.result, call) for call in twins if call.result is not None]
        for result, call in (*pairing.nameless, *pairing.displaced, *pairs):
            answer, asked = (_at(one.place.start, one.place.pointer) for one in (result, call))
            self._tools[answer] = call.name
            if answer in self._failed:
                self._states[asked] = "failed"
            else:
                self._states.pop(asked, None)
        self._again = {(result.scope, result.id) for result, _ in pairing.duplicates}

    def _opens(self, meaning: Meaning) -> bool:
        """Whether a record is a prompt of the session itself, and no summary of a compaction."""
        prompt = any(isinstance(event, Message) and event.prompt for event in meaning.events)
        if not prompt or any(isinstance(event, Checkpoint) for event in meaning.events):
            return False
        if self._main is None:
            self._main = meaning.scope
        return meaning.scope == self._main

    def _is_shown(self, start: int) -> bool:
        """Whether a record is of the branch that is shown."""
        graph = self.session.graph
        if self.branch == "all":
            return True
        if self.branch == "live":
            return not self._aside(start)
        if graph is None:
            return True
        row = graph.row_at(start)
        return row >= len(graph) or graph.place(row).start != start or bool(self._rows[row])

    def _aside(self, start: int) -> str:
        """Why a resume does not reach the record at an offset, "" where it does.

        What subagents said in the same file is for themselves alone.
        """
        graph = self.session.graph
        if graph is None:
            return _TAKEN_BACK[self.session.taken_back(start)]
        row = graph.row_at(start)
        if row >= len(graph) or graph.live[row] or graph.place(row).start != start:
            return ""
        if graph.scope[row] != graph.main:
            return SUBAGENT
        return _TAKEN_BACK["compaction"] if self._way[row] else "not resumed"

    def _said(
        self, record: Record, meaning: Meaning, tools: list[tuple[str, str]], choice: Choice
    ) -> Iterator[Passage]:
        """The passages of a record, with the tools and the states of calls."""
        by_pointer = dict(tools)
        said = None
        for said in passages(record.value or {}, meaning):
            if said.kind == "thinking" and not choice.thinking:
                continue
            if said.kind == "note" and not said.text and not choice.notes:
                continue
            if said.kind not in ("call", "result"):
                yield said
                continue
            at = _at(record.start, said.pointer)
            name = self._tools.get(at) or by_pointer.get(said.pointer, "") or said.name
            state = self._states.get(at) or ("failed" if said.error else "completed")
            yield said._replace(name=name, state=state)
        if said is None and choice.notes:
            yield Passage("note", "without a word", "")

    def _tools_of(
        self, meaning: Meaning, waiting: dict[tuple[str, str], str]
    ) -> Iterator[tuple[str, str]]:
        """The pointers of a record's results with the tools of their calls."""
        for event in meaning.events:
            if isinstance(event, ToolCall):
                waiting[_key(meaning, event.id)] = event.name
            elif isinstance(event, ToolResult):
                key = _key(meaning, event.id)
                yield event.pointer, waiting.get(key, "")
                if key not in self._again:  # else another result of the same call follows
                    waiting.pop(key, None)

    def _mark(self, section: Section) -> None:
        """Tell of the branches that begin or part at a record."""
        graph = self.session.graph
        assert graph is not None
        row = graph.row_at(section.record.start)
        begins, parting = self._begin.get(row), self._part.get(row, [])
        if begins is not None:
            section.before.append(_begins(graph, begins))
        if parting:
            lines = [str(graph.place(other.root).line) for other in parting]
            several = f"other branches begin at lines {', '.join(lines)}"
            one = f"another branch begins at line {lines[0]}"
            section.after.append(f"Fork: {one if len(lines) == 1 else several}")


def _begins(graph: Graph, branch: Branch) -> str:
    where = f" from line {graph.place(branch.fork).line}" if branch.fork >= 0 else ""
    messages = f"{branch.messages} message{'s' * (branch.messages != 1)}"
    return f"Branch that is not resumed:{where or ' from nothing'}, {messages}"


def _is_blank(record: Record) -> bool:
    """Whether what is no record is nothing at all: blank lines."""
    return not record.raw.strip() and record.end <= record.start + len(record.raw)


def _says(events: Iterable[Event]) -> bool:
    """Whether a record says or does something, or is of a type that is not known."""
    return any(type(event).__name__ not in ("Meta", "StateChange") for event in events)


def _key(meaning: Meaning, name: str) -> tuple[str, str]:
    return meaning.scope or meaning.run, name


def _at(start: int, pointer: str) -> int:
    """A number for a place in the file; a record has few of them."""
    return hash((start, pointer))
