"""A new session that starts as a copy of another one, in its agent's own way of forking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sesstool import api
from sesstool.diff.sides import Name, Side
from sesstool.errors import InputError, StalePlanError, UsageError, WriteError
from sesstool.formats.base import Format, Place
from sesstool.formats.events import Meaning, Message, ToolCall
from sesstool.formats.forking import Forker, Parent
from sesstool.formats.side_files import beside
from sesstool.model.effects import Effect, effects
from sesstool.model.graph import TALK, Graph
from sesstool.model.session import Session, open_session, path_of
from sesstool.model.units import flat
from sesstool.model.ways import Named, way_to
from sesstool.records.heal import Kind
from sesstool.records.opening import open_source
from sesstool.records.recover import Record, records, utf16
from sesstool.records.source import FileSource, bare_path
from sesstool.records.write import create
from sesstool.repair.resume import OpenCall, effect_of
from sesstool.text import elide, quoted

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

Progress = Callable[[int], None]
# A title of a first prompt, and what is kept of a command line: a session may have many.
_TITLE, _TARGET = 60, 500
_SIDE_LIMIT = 1 << 24


class Inherited(NamedTuple):
    """A call in the part that both sides have which may have changed something: it was done once.

    Long targets of its effects are cut, with an ellipsis. `path` is the file in which it stands.
    """

    line: int
    tool: str
    effects: tuple[Effect, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork that was made.

    It ends with the record at line `at` of its `parent`, of which it has `records`; the file at
    `path` holds them unless it is `by_reference`. `left_out` counts pieces that are no record, or
    none of this session. `missing` says what nobody knows of what is inherited, "" for nothing.
    `open_calls` stand unanswered at its end. `command` is the agent's own that resumes it, "" where
    there is none. `in_use` says who writes to the parent, "" for nobody.
    """

    path: Path
    session_id: str
    format: str
    parent: str
    parent_id: str
    at: int
    records: int
    left_out: int
    by_reference: bool
    inherited: tuple[Inherited, ...]
    missing: str
    open_calls: tuple[OpenCall, ...]
    command: str
    in_use: str


def fork(
    path: Path | str,
    *,
    at: str = "",
    new_id: str = "",
    target: Path | None = None,
    force: bool = False,
    format_name: str = "",
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> Fork:
    """Make a new session of a beginning of another one, which is only read.

    It ends with the record `at`, a line or an id, or with the last one that a resume would send;
    of a session with branches it is the way that leads there. The new file is where the agent
    looks for it, or at `target`, plain and for this user alone, whole or not at all; the log is
    told of it. Raises InputError, NotASessionError, AuthError; UsageError where `at` or `new_id`
    is none; and WriteError, also where the file exists and `force` is not given.
    """
    writer = api.in_use(path) if isinstance(path, Path) else ""
    with open_source(path, keys) as source:
        if utf16(source.read(0, 256)):
            raise InputError(
                f"{source.name} is in UTF-16, which no agent forks",
                hint=f"sesstool repair --unsafe --write {quoted(source.name)} makes it UTF-8 first",
            )
        session = open_session(source, format_name)
        if not session.format.repairable:
            raise InputError(
                f"sesstool knows sessions of {session.format.title} by name only: it forks none",
                hint="fork it in its agent",
            )
        cut = _Cut(source, session, at, progress)
        kind, now = session.format.forker, datetime.now(UTC)
        name = _named(session.format, new_id, target)
        forker = kind(cut.parent, name or kind.fresh(cut.parent, now), now)
        target = _target(forker, source, target, force=force)
        shared = _Shared(source, session, cut, forker)
        side = _side(forker, target, keys)
        if side is not None:
            _refuse_taken(side[0], force=force)
        whole = forker.reference(target, cut.first)
        if whole:
            for _ in shared.lines():
                pass
        create(target, [whole] if whole else shared.lines(), force=force)
        if side is not None:
            _beside(target, *side, force=force)
        if source.path is not None:
            for one in (target, *(side or ())[:1]):
                api.note_copy(one, source.path)
        before, missing = _before(session, cut, keys)
        near = source.path is None or target.parent.absolute() == source.path.parent.absolute()
        known = near or session.format.home(target)
        return Fork(
            target,
            forker.id,
            session.format.name,
            path_of(source),
            cut.parent.id,
            cut.place.line,
            shared.count,
            shared.left_out,
            bool(whole),
            (*before, *shared.inherited),
            missing,
            tuple(shared.open_calls()),
            session.format.resume_command(forker.id, session.cwd) if known else "",
            writer,
        )


class _Cut:
    """Reads a session to tell where a fork of it ends, and what of it comes along.

    `on_way` says of each row of the graph whether it does, None where there is no graph.
    """

    def __init__(
        self, source: FileSource, session: Session, at: str, progress: Progress | None
    ) -> None:
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
            raise InputError(f"{source.name} holds no record: there is nothing to fork")
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
        self.id = form.meaning(ending).id
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


class _Shared:
    """What a fork has of its session, read once: the lines, and what is told of them.

    `left_out` and `inherited` are as in `Fork`, and complete once the lines came to their end.
    """

    def __init__(self, source: FileSource, session: Session, cut: _Cut, forker: Forker) -> None:
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

    def open_calls(self) -> Iterator[OpenCall]:
        """The calls that have no result in the fork, once the lines came to their end."""
        read = self._read
        read.pairing.finish()
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


def _before(session: Session, cut: _Cut, keys: Keys | None) -> tuple[list[Inherited], str]:
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


def _first_prompt(meaning: Meaning) -> str:
    """The first line of a prompt, cut to be a title; "" where the record has none."""
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


def _named(form: Format, new_id: str, target: Path | None) -> str:
    """The id that is asked for, by itself or by the name of the file; "" for none."""
    told = ""
    if target is not None and not target.is_dir():
        told = form.session_id(target)
        if form.forker.by_name and not told:
            told = target.name.removesuffix(".jsonl")
    if new_id and (why := form.forker.refusal(new_id)):
        raise UsageError(
            f"{new_id} is no id for a {form.title} session: {why}",
            hint="leave it out, and a new one is drawn",
        )
    if new_id and told and told != new_id:
        raise UsageError(
            f"{target} is the name of another session than {new_id}",
            hint="give the id, or the name of the file, and leave the other out",
        )
    return new_id or told


def _target(forker: Forker, source: FileSource, target: Path | None, *, force: bool) -> Path:
    """Where the new file is to be. Raises UsageError and WriteError."""
    if target is None:
        if source.path is None:
            raise UsageError(
                "what is piped in has no place for a fork", hint="name a new file with -o"
            )
        folder = forker.folder(source.path.parent)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(
                f"cannot make {folder}: {(error.strerror or '').lower()}",
                hint="name a new file with -o",
            ) from error
        target = folder / forker.name()
    elif target.is_dir():
        target = target / forker.name()
    if source.path is not None and os.path.exists(target) and target.samefile(source.path):  # noqa: PTH110 - Path.exists may raise
        raise UsageError(f"{target} is the session itself", hint="name a new file with -o")
    _refuse_taken(target, force=force)
    return target


def _refuse_taken(path: Path, *, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise WriteError(
            f"cannot write {path}: it exists already", hint="choose another name, or add --force"
        )


def _side(forker: Forker, target: Path, keys: Keys | None) -> tuple[Path, bytes] | None:
    """The side file of a fork, and what is to be in it; None where it needs none."""
    own = forker.side()
    there = beside(own) if own is not None else None
    if there is None:
        return forker.side_file(target, b"")
    with open_source(there, keys) as source:
        return forker.side_file(target, source.read(0, _SIDE_LIMIT))


def _beside(target: Path, side: Path, data: bytes, *, force: bool) -> None:
    """Write the side file; without it there is no fork either."""
    try:
        create(side, [data], force=force)
    except WriteError:
        if not force:
            target.unlink(missing_ok=True)
        raise
