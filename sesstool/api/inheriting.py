"""What a fork has of its session: the records, what was done in them, and what stands open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sesstool.diff.sides import Name, Side
from sesstool.errors import InputError, StalePlanError, UsageError
from sesstool.formats.events import Checkpoint, Meaning, Message, ToolCall
from sesstool.formats.forking import Forker, Parent
from sesstool.formats.terms import Place
from sesstool.model.effects import Effect, effects
from sesstool.model.graph import TALK, Graph
from sesstool.model.session import Session, path_of
from sesstool.model.units import flat, units
from sesstool.model.ways import Named, way_to
from sesstool.records.heal import Kind
from sesstool.records.recover import Record, records
from sesstool.records.source import FileSource, bare_path
from sesstool.repair.resume import OpenCall, effect_of
from sesstool.text import elide

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

Progress = Callable[[int], None]
# A title of a first prompt, and what is kept of a command line: a session may have many.
_TITLE, _TARGET = 60, 500


class Inherited(NamedTuple):
    """A call in the part that both sides have which may have changed something: it was done once.

    Long targets of its effects are cut, with an ellipsis. `path` is the file in which it stands.
    """

    line: int
    tool: str
    effects: tuple[Effect, ...]
    path: str


class Cut:
    """Reads a session to tell where a fork of it ends, and what of it comes along.

    `place` is that of the last record, `id` its own and `first` the first one of the session;
    `on_way` says of each row of the graph whether it comes along, None where there is no graph.
    `named` says that somebody chose the end, and `unfinished` what the last record begins that the
    next one would end.
    """

    def __init__(
        self, source: FileSource, session: Session, at: str, progress: Progress | None
    ) -> None:
        """Read all of it. Raises InputError, and UsageError where `at` names no such record."""
        form = session.format
        named = Named(at)
        title, rank, said, ordinal, rising = "", 0, "", -1, True
        self.place = Place(0, -1, -1)
        first: Record | None = None
        for record, meaning in session.read():
            if progress is not None:
                progress(record.end)
            if meaning is None or record.value is None:
                continue
            first = first or record
            self.place = Place(record.line, record.start, record.end)
            for name in ("", *form.forker.names(record.value)) if at else ():
                named.see(record, Meaning(id=name), record.start)
            new, name = form.titled(record.value)
            if name and new >= max(rank, 1):
                rank, title = new, name
            said = said or _first_prompt(meaning)
            number = form.ordinal(record.value)
            rising = rising and (number < 0 or number > ordinal)
            ordinal = max(ordinal, number)
        if first is None:
            raise InputError(
                f"{source.name} holds no record: there is nothing to fork", hint="look for a copy"
            )
        _refuse_shorter(source)
        self.first, self.named = first, bool(at)
        try:
            start = named.row(path_of(source)) if at else self.place.start
        except UsageError as error:
            raise UsageError(
                error.message, hint="name its line or its whole id; sesstool show tells the lines"
            ) from error
        self.on_way: bytearray | None = None
        if session.graph is not None:
            self._along(session, session.graph, start if at else -1)
        elif at:
            self.place = _place(source, start)
        ending = session.value(self.place)
        meant = form.meaning(ending)
        self.id, self.unfinished = meant.id, _unfinished(ending, meant)
        number = form.ordinal(ending) if rising else -1
        ends = source.read(self.place.end, self.place.end + 1) == b"\n"
        path = bare_path(source.path) if source.path is not None else None
        self.parent = Parent(
            session.id or (path.name.removesuffix(".jsonl") if path is not None else ""),
            path,
            session.cwd,
            title or said,
            source.path is not None and not source.stored,
            self.place.end + 1 if ends else -1,
            number + 1 if number >= 0 else -1,
        )

    def _along(self, session: Session, graph: Graph, start: int) -> None:
        """Find the way to the record at an offset, or to the leaf where it is -1."""
        name = path_of(session.source)
        row = graph.leaf if start < 0 else graph.row_at(start)
        if start < 0 and row < 0:
            raise InputError(
                f"{name} has no message that a resume would send",
                hint="name the record that the fork is to end with: --at",
            )
        if start >= 0 and (row >= len(graph) or graph.place(row).start != start):
            raise UsageError(
                "what --at names is a note beside the messages, and no fork can end there",
                hint="name a message; sesstool show lists them",
            )
        if graph.main:
            raise InputError(
                f"{name} is the transcript of a subagent, which no agent resumes by itself",
                hint="fork the session that it belongs to; sesstool validate names it",
            )
        if graph.scope[row] != graph.main:
            raise UsageError(
                "what --at names was said by a subagent, and no fork can end there",
                hint="name a message of the session itself; sesstool show lists them",
            )
        self.place, self.on_way = graph.place(row), way_to(session, graph, row)


class Shared:
    """What a fork has of its session, read once: the lines, and what is told of them.

    `left_out` and `inherited` are as in `Fork`, and complete once the lines came to their end.
    """

    def __init__(self, source: FileSource, session: Session, cut: Cut, forker: Forker) -> None:
        """Read nothing yet."""
        self._source, self._session, self._cut, self._forker = source, session, cut, forker
        self._read = Session(session.source, session.format, session.reason)
        self.count = self.left_out = 0
        self.inherited: list[Inherited] = []

    def lines(self) -> Iterator[bytes]:
        """The lines of the fork, with their ends. Raises StalePlanError."""
        source, end = self._source, self._cut.place
        for record, meaning, parent in self._records():
            self._take(record, meaning)
            last = record.start == end.start or meaning.id == self._cut.id != ""
            for line in self._forker.record(record, parent, last=last):
                yield line + b"\n"
        for line in self._forker.tail():
            yield line + b"\n"
        _refuse_shorter(source)

    def _records(self) -> Iterator[tuple[Record, Meaning, str | None]]:
        """The records that are shared, with the id of what each hangs from."""
        on_way, graph, row = self._cut.on_way, self._session.graph, -1
        form = self._session.format
        for record in records(self._session.source):
            behind = record.start > self._cut.place.start
            if record.value is None:
                blank = any(d.kind is Kind.BLANK for d in record.defects)
                self.left_out += not (blank or (behind and self._cut.named))
                continue
            if behind and on_way is None:
                return
            meaning = form.meaning(record.value)
            linked = meaning.linked and on_way is not None
            row += linked
            if (linked and on_way is not None and not on_way[row]) or self._forker.drops(
                record.value
            ):
                continue
            parent = meaning.parent
            if linked and graph is not None:
                parent = self._above(graph, graph.up[row], parent)
            self._read.see(record, meaning)
            if self._read.tracker.reads(meaning):
                yield record, meaning, parent
            else:
                self.left_out += 1

    def _above(self, graph: Graph, row: int, parent: str | None) -> str | None:
        """The id of the nearest record that the fork has, from a row on whose id is `parent`."""
        session = self._session
        while row >= 0 and not (graph.scope[row] == graph.main and graph.flags[row] & TALK):
            value = session.value(graph.place(row))
            if not self._forker.drops(value):
                break
            parent = session.format.meaning(value).parent
            if graph.up[row] >= row:
                break
            row = graph.up[row]
        return parent

    def _take(self, record: Record, meaning: Meaning) -> None:
        self.count += 1
        for event in meaning.events:
            if type(event) is ToolCall and not event.server:
                name, given = event.name, event.arguments
                self.inherited += _inherited(self._session, record.line, name, given)

    def unfinished(self) -> str:
        """What the last record begins that the next one would end; "" for nothing.

        To be asked once the lines came to their end.
        """
        if not self._cut.named or self._cut.unfinished:
            return self._cut.unfinished
        for fault in self._read.tracker.faults(self._read.source):
            if fault.rule == "lost-message" and fault.place.start == self._cut.place.start:
                return "an event that tells a message, without the message"
        return ""

    def open_calls(self) -> Iterator[OpenCall]:
        """The calls that have no result in the fork, once the lines came to their end."""
        read = self._read
        read.finish_calls()
        read.finish_graph()
        for call in read.pairing.unanswered:
            if not call.server and read.reaches(call.row, call.place):
                state = read.tracker.evidence(call.id, read.source, call.scope).state
                waits = call.name in read.format.waits
                state = "pending" if waits and state == "uncertain" else state
                told = effect_of(read.format, call.name, state)
                yield OpenCall(call.id, call.name, call.place.line, state, told)


def _inherited(
    session: Session, line: int, tool: str, given: Any, path: str = ""
) -> Iterator[Inherited]:
    """What a call has changed, nothing where it only looked."""
    form = session.format
    found = effects(tool, given, form.harmless, form.waits)
    if found:
        cut = tuple(Effect(e.kind, elide(e.target, _TARGET)) for e in found)
        yield Inherited(line, tool, cut, path or path_of(session.source))


def done_before(session: Session, cut: Cut, keys: Keys | None) -> tuple[list[Inherited], str]:
    """What was done in the sessions whose files a session goes on from, and what is not known."""
    origin = session.format.origin(cut.first.value or {})
    if origin is None or origin.mode != "reference" or session.source.path is None:
        return [], ""
    found: list[Inherited] = []
    own = path_of(session.source)
    with Side(Name(session.source.path), keys=keys) as side:
        for number in range(len(side)):
            if side.kind(number) == "call" and side.file(number) != own:
                call, line = side.unit(number), side.line(number)
                found += _inherited(session, line, call.name, call.content, side.file(number))
        return found, side.missing


def _unfinished(value: dict[str, Any], meaning: Meaning) -> str:
    """What a record begins that the next one would end, beside calls; "" for nothing."""
    if {unit.kind for unit in units(value, meaning)} == {"thinking"}:
        return "a thought without what came of it"
    points = [event for event in meaning.events if type(event) is Checkpoint]
    if points and not any(point.summary for point in points):
        return "a compaction without its summary"
    return ""


def _first_prompt(meaning: Meaning) -> str:
    """The words of a prompt in one line, cut to be a title; "" where the record has none."""
    for event in meaning.events:
        if isinstance(event, Message) and event.prompt and not event.hidden:
            words = " ".join(flat(event.content, lambda _: "").split())
            if not words.startswith("<"):  # what the agent puts in a person's mouth
                return elide(words, _TITLE)
    return ""


def _refuse_shorter(source: FileSource) -> None:
    """Refuse a file that was cut since it was opened; one that grew is as it was then."""
    if os.fstat(source.handle.fileno()).st_size < source.size and not source.stored:
        raise StalePlanError(
            f"{source.name} was shortened while it was read", hint="run the command again"
        )


def _place(source: FileSource, start: int) -> Place:
    """The place of the record that begins at an offset."""
    found = next(r for r in records(source) if r.start == start and r.value is not None)
    return Place(found.line, found.start, found.end)
