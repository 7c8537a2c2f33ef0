"""One side of a comparison: the units of a session, or of one branch of it, in columns."""

from __future__ import annotations

import os
from array import array
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from glob import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sesstool.errors import InputError, UsageError
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning
from sesstool.formats.terms import Field, Origin, Tracker
from sesstool.model.exact import exact, rounded
from sesstool.model.graph import Graph
from sesstool.model.session import Session, open_session, path_of
from sesstool.model.units import KINDS, Unit, signature, units
from sesstool.model.ways import Named, way
from sesstool.records.heal import decode
from sesstool.records.opening import open_source
from sesstool.records.recover import Record, records, utf16
from sesstool.records.source import FileSource, Source, is_transcript, plain_path
from sesstool.text import quoted

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_KIND = {kind: number for number, kind in enumerate(KINDS)}
CALL, _RESULT = _KIND["call"], _KIND["result"]
# References lead from file to file: more of them in a row would be a circle.
_MOST_FILES = 64
# So many records at the beginning tell where a session comes from.
_HEAD = 64


@dataclass(frozen=True, slots=True)
class Name:
    """What a side is called: a file, "-", and in it the leaf of a branch, "" for the live one.

    A leaf is named by the line or the id of its record, or by the beginning of the id.
    """

    path: Path | str
    leaf: str = ""

    def __str__(self) -> str:
        """As it is written on the command line."""
        return f"{self.path}@{self.leaf}" if self.leaf else str(self.path)


class Side:
    """The units of one side; all of them by number from 0, read again when they are asked for.

    `keys` are equal where units say the same, `identities` where they are the same record or
    call. `origin` is what the session tells of where it comes from.
    """

    def __init__(self, name: Name, *, known: Sequence[Path] = (), keys: Keys | None = None) -> None:
        """Read a session. `known` are files that may be its parent, `keys` open encrypted ones.

        Raises InputError, NotASessionError, and UsageError for a leaf that is none.
        """
        self.name = name
        self._keys = keys
        self.keys = array("q")
        self.identities = array("q")
        self.kinds = bytearray()
        self.origin: Origin | None = None
        self.missing = ""
        """What of the session could not be read, in a few words; "" where that is nothing."""
        self.damaged = 0
        """How many pieces are no record, and are not compared."""
        self.records = 0
        self.rows = array("i")
        """For each unit the row of its record in the graph, -1 where there is none."""
        self._line = array("i")
        self._start = array("q")
        self._end = array("q")
        self._nth = array("i")
        self._file = bytearray()
        self._fact = array("i")
        self._facts: list[tuple[str, str, str]] = [("", "", "")]  # folder, version, model
        self._sources: list[Source] = []
        self._stack = ExitStack()
        try:
            session = self._read(self._open(name.path), known)
        except BaseException:
            self._stack.close()
            raise
        self._session = session
        self.session = session.id
        self.format: Format = session.format
        self.cwd, self.version = session.cwd, session.version
        self.graph = session.graph
        self._raw = lru_cache(maxsize=8)(self._units)

    def __len__(self) -> int:
        """How many units there are."""
        return len(self.keys)

    def __enter__(self) -> Self:
        """Close the files on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._stack.close()

    def unit(self, number: int) -> Unit:
        """What a unit says."""
        at = (self._file[number], self._start[number], self._end[number])
        return self._raw(*at)[0][self._nth[number]]

    def about(self, number: int) -> Meaning:
        """The facts of the envelope around a unit."""
        return self._raw(self._file[number], self._start[number], self._end[number])[1]

    def facts(self, number: int) -> dict[str, str]:
        """The folder, the version and, of what a model said, the model; told there or before."""
        cwd, version, model = self._facts[self._fact[number]]
        by_model = (
            self.kind(number) in ("thinking", "call") or self.unit(number).name == "assistant"
        )
        return {"cwd": cwd, "version": version, "model": model if by_model else ""}

    def signature(self, number: int) -> str:
        """The signatures of a unit."""
        at = (self._file[number], self._start[number], self._end[number])
        return signature(self._raw(*at)[2], self.unit(number))

    def mark(self, number: int) -> Hashable:
        """What only the same unit of another side has: its identity, else where it stands."""
        return self.identities[number] or (self.file(number), self._start[number])

    def kind(self, number: int) -> str:
        """The kind of a unit."""
        return KINDS[self.kinds[number]]

    def line(self, number: int) -> int:
        """The line of the record that a unit stands in."""
        return self._line[number]

    def span(self, number: int) -> tuple[int, int]:
        """The bytes of the record that a unit stands in, by offsets in its file."""
        return self._start[number], self._end[number]

    @cached_property
    def answers(self) -> array[int]:
        """For each unit the number of the call whose result it is, -1 where it is of none."""
        calls: dict[int, int] = {}
        found = array("i", [-1]) * len(self)
        for n, (kind, name) in enumerate(zip(self.kinds, self.identities, strict=True)):
            if kind == CALL and name:
                calls[name] = n
            elif kind == _RESULT:
                found[n] = calls.get(~name, -1)
        return found

    def nth_call(self, number: int) -> int:
        """How many calls there are from the last result on up to this one, itself included."""
        results = self.kinds.rfind(_RESULT, 0, number)
        return self.kinds.count(CALL, results + 1, number + 1)

    def parent(self) -> Path | None:
        """The file of the session that this one says it comes from, if it is near."""
        return parent_of(self._session, self.origin, (), self._keys) if self.origin else None

    def file(self, number: int) -> str:
        """The file that a unit stands in."""
        return path_of(self._sources[self._file[number]])

    def _open(self, path: Path | str) -> FileSource:
        return self._stack.enter_context(open_source(path, self._keys))

    def _units(self, file: int, start: int, end: int) -> tuple[list[Unit], Meaning, dict[str, Any]]:
        raw = self._sources[file].read(start, end)
        value = _value(raw)
        meaning = self._forms[file].meaning(value)
        return list(_said(self._forms[file], value, meaning)), meaning, value

    def _read(self, source: FileSource, known: Sequence[Path]) -> Session:
        """Read the files that the side is made of, the oldest first."""
        if utf16(source.read(0, 256)):
            raise InputError(
                f"{source.name} is in UTF-16, which is not compared",
                hint=f"sesstool repair --unsafe --write {quoted(source.name)} makes it UTF-8 first",
            )
        session = open_session(source)
        origin = origin_of(session)
        self.origin = origin
        chain: list[tuple[FileSource, Origin | None]] = [(source, None)]
        while origin is not None and origin.mode == "reference":
            parent = parent_of(session, origin, known, self._keys)
            if parent is None or len(chain) == _MOST_FILES:
                self.missing = f"session {origin.session}, which it goes on from, is not found"
                break
            source = self._open(parent)
            chain.append((source, origin))
            session = open_session(source)
            origin = origin_of(session)
        self._forms: list[Format] = []
        for one, cut in reversed(chain):
            session = open_session(one)
            self._sources.append(one)
            self._forms.append(session.format)
            self._take(session, cut)
        return session

    def _take(self, session: Session, cut: Origin | None) -> None:
        """Take in the units of one file, up to where another one goes on from it."""
        graph, form, tracker = session.graph, session.format, session.tracker
        picky = type(tracker).reads is not Tracker.reads
        first, file = len(self.keys), len(self._sources) - 1
        leaf = Named(self.name.leaf)
        shared = Shared(cut, session.source.size) if cut else None
        for record in records(session.source):
            if shared and not shared.has(record, form):
                continue
            if record.healed or rounded(record.raw):
                record.value = _value(record.raw)
            if not record.value:
                self.damaged += 1
                continue
            meaning = form.meaning(record.value)
            self.records += 1
            if picky:
                tracker.see(record, meaning)
                if not tracker.reads(meaning):
                    continue
            session.id = session.id or meaning.session
            session.cwd = session.cwd or meaning.cwd
            session.version = meaning.version or session.version
            self._tell(meaning)
            row = -1
            if graph is not None and meaning.linked:
                if meaning.parent and meaning.parent == session.id:
                    meaning.parent = None
                row = graph.add(record, meaning)
                leaf.see(record, meaning, row)
            elif graph is not None:
                for event in meaning.events:
                    session.steer(event)
            self._add(file, record, meaning, row)
        if shared and shared.torn:
            self.missing = f"{path_of(session.source)} was changed after it was forked"
        elif shared and shared.short:
            self.missing = f"session {shared.cut.session}, which it goes on from, was shortened"
        if graph is not None:
            session.finish_graph()
            named = leaf.row(path_of(session.source)) if self.name.leaf else graph.leaf
            self._keep(first, session, graph, named)
        elif self.name.leaf:
            raise UsageError(
                f"{path_of(session.source)} has no branches", hint="leave out what is behind the @"
            )

    def _tell(self, meaning: Meaning) -> None:
        """Keep what a record tells of the records from it on."""
        before = self._facts[-1]
        told = (
            meaning.cwd or before[0],
            meaning.version or before[1],
            meaning.model or before[2],
        )
        if told != before:
            self._facts.append(told)

    def _add(self, file: int, record: Record, meaning: Meaning, row: int) -> None:
        assert record.value is not None
        made_of = self._forms[-1].origin(record.value) if self.origin is not None else None
        own = (made_of.at if made_of else "") or meaning.id
        for nth, unit in enumerate(_said(self._forms[-1], record.value, meaning)):
            kind, known = unit.kind, unit.id or (f"{own}#{nth}" if own else "")
            self.keys.append(unit.key())
            self.identities.append(_identity(unit, known) if known else 0)
            self.kinds.append(_KIND[kind])
            self.rows.append(row)
            self._line.append(record.line)
            self._start.append(record.start)
            self._end.append(record.end)
            self._nth.append(nth)
            self._file.append(file)
            self._fact.append(len(self._facts) - 1)

    def _keep(self, first: int, session: Session, graph: Graph, leaf: int) -> None:
        """Leave only the units of the branch that ends with a leaf."""
        on_way = way(session, graph, leaf)
        # A record without a place in the tree belongs to every branch.
        rows = self.rows
        kept = [n for n in range(first, len(rows)) if rows[n] < 0 or on_way[rows[n]]]
        if len(kept) == len(self.keys) - first:
            return
        for name in ("keys", "identities", "rows", "_line", "_start", "_end", "_nth", "_fact"):
            column = getattr(self, name)
            column[first:] = array(column.typecode, (column[n] for n in kept))
        for name in ("kinds", "_file"):
            column = getattr(self, name)
            column[first:] = bytes(column[n] for n in kept)


def _said(form: Format, value: dict[str, Any], meaning: Meaning) -> Iterator[Unit]:
    """The units of a record; of one that nobody knows what stands beside ids and times."""
    for unit in units(value, meaning):
        if unit.kind == "unknown" and not unit.pointer:
            unit.content = {
                key: held
                for key, held in value.items()
                if Field.FROZEN not in (form.fields.get(key), form.fields.get(f"{key}.**"))
            }
        yield unit


def _identity(unit: Unit, known: str) -> int:
    # That of a result is the inverse of its call's: so it is found.
    if unit.kind == "result" and unit.id:
        return ~hash(("call", known))
    return hash((unit.kind, known))


def _value(raw: bytes) -> dict[str, Any]:
    """The object of a record, {} where it cannot be told exactly."""
    value: Any = None
    if not rounded(raw):
        with suppress(ValueError):
            value = decode(raw)
    if value is None:
        with suppress(ValueError):
            value = exact(raw)
    return value if type(value) is dict else {}


class Shared:
    """Tells which records of a file belong to a session that goes on from it.

    Their numbers tell, if there are any, as they stay what they are where a repair or a redaction
    moves bytes; else the bytes.
    """

    def __init__(self, cut: Origin, size: int) -> None:
        """Begin a file of this size."""
        self.cut = cut
        self.torn = False
        self._size = size
        self._inside: bool | None = None
        self._last = -1

    @property
    def short(self) -> bool:
        """Whether some of them are gone."""
        return self._size < self.cut.end if self._last < 0 else self._last < self.cut.ordinals - 1

    def has(self, record: Record, form: Format) -> bool:
        """Whether the next record does."""
        number = form.ordinal(record.value or {})
        if min(number, self.cut.ordinals) >= 0:
            self._inside = number < self.cut.ordinals
            self._last = max(self._last, number if self._inside else 0)
        if self._inside is not None or self.cut.end < 0:
            # One without a number stands with the one before it.
            return self._inside is not False
        self.torn = self.torn or record.start < self.cut.end < record.end
        return record.end <= self.cut.end


def origin_of(session: Session) -> Origin | None:
    """Where a session says that it comes from: its head tells, or the last copied record."""
    head = (record.value for record in islice(records(session.source), _HEAD))
    told = (session.format.origin(value) for value in head if value is not None)
    return next(filter(None, told), None)


def parent_of(
    session: Session, origin: Origin, known: Sequence[Path], keys: Keys | None
) -> Path | None:
    """The file of the session that another refers to: one that is known, or one near it."""
    path = session.source.path
    form = session.format
    near: list[Path] = list(known)
    if path is not None:
        pattern = f"*{escape(origin.session)}*.jsonl*"
        near += sorted(filter(is_transcript, path.parent.glob(pattern)))
        home = form.home(plain_path(path))
        if home is not None:
            near += sorted(filter(is_transcript, home.rglob(pattern)))
    named = (p for p in near if form.session_id(plain_path(p)) == origin.session)
    return next(named, None) or next((p for p in known if _is(p, origin.session, keys)), None)


def _is(path: Path, name: str, keys: Keys | None) -> bool:
    """Whether a file, whatever it is called, holds the session of an id."""
    with open_source(path, keys) as source:
        session = open_session(source)
        head = (record.value for record in islice(records(source), _HEAD))
        told = (session.format.meaning(value).session for value in head if value is not None)
        return next(filter(None, told), "") == name


def name_of(given: str) -> Name:
    """The side that a command line names: PATH, or PATH@LEAF."""
    path, at, leaf = given.rpartition("@")
    # Not Path.exists: of a folder that cannot be searched it raises OSError.
    if not at or not path or os.path.lexists(given):
        return Name(given)
    return Name(path, leaf)
