"""`Session`: one conversation, built in one pass over its records."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from sesstool.errors import InputError
from sesstool.formats.base import Format
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    Meta,
    StateChange,
    ToolResult,
)
from sesstool.formats.registry import SAMPLE, by_name, detect
from sesstool.formats.terms import Place
from sesstool.model.graph import Graph
from sesstool.model.pairing import Pairing
from sesstool.model.strict import StrictGraph
from sesstool.model.upserts import Upserts, part
from sesstool.records.heal import decode, heal
from sesstool.records.recover import Record, records, utf16
from sesstool.records.source import Source, plain_path


class Session:
    """One conversation with what is known of it.

    Counts and `graph`, `pairing`, `tracker` are filled by `read`, which must be exhausted
    before they are looked at. `last_message` is the byte offset of the last record with words.
    """

    def __init__(self, source: Source, form: Format, reason: str) -> None:
        """Use `open_session`."""
        self.source = source
        self.format = form
        self.reason = reason
        self.records = 0
        path = plain_path(source.path) if source.path else None
        self.id = form.session_id(path) if path else ""
        self.cwd = self.version = self.model = ""
        self.first_time = self.last_time = ""
        self.last_message = -1
        self.graph: Graph | None = None
        if form.linked:
            self.graph = StrictGraph() if form.strict_path else Graph()
        self.pairing = Pairing(form.pairing, once=form.once, twice=form.upserts)
        self.tracker = form.tracker(path)
        self._linear = _Linear()
        self.upserts = Upserts() if form.upserts else None
        self._leaf: str | None = None
        self._leaf_row = -1
        # A record can have thousands of findings, about calls whose results stand in another one.
        self._raw = lru_cache(maxsize=2)(source.read)
        self._value = lru_cache(maxsize=2)(partial(_decoded, source))

    def read(self) -> Iterator[tuple[Record, Meaning | None]]:
        """The records with their meaning, None for fragments; builds the session on the way."""
        for record in records(self.source):
            if record.value is None:
                self.tracker.fragment(record)
                yield record, None
                continue
            meaning = self.format.meaning(record.value)
            self.see(record, meaning)
            yield record, meaning
        self.finish_calls()
        if self.graph is not None:
            self.finish_graph()
            if isinstance(self.graph, StrictGraph) and self.graph.branched:
                self.pairing = self._along_the_way(self.graph)

    def again(self) -> Iterator[tuple[Record, Meaning | None]]:
        """The same once more, for whoever shows records by what is known after the last one."""
        tracker = self.format.tracker(plain_path(self.source.path) if self.source.path else None)
        for record in records(self.source):
            if record.value is None:
                tracker.fragment(record)
                yield record, None
                continue
            meaning = self.format.meaning(record.value)
            tracker.see(record, meaning)
            if not tracker.reads(meaning):
                meaning.events = [Meta("", "passed over")]
            yield record, meaning

    def finish_calls(self) -> None:
        """Tell the pairing that all records were added; of upserts it is told what is left."""
        for place, wanted in self.upserts.in_order() if self.upserts is not None else ():
            value = self.value(place)
            record = Record(place.line, place.start, place.end, b"", value)
            self.pairing.see(record, part(self.format.meaning(value), wanted), -1)
        self.pairing.finish()

    def finish_graph(self) -> None:
        """Tell the graph that all records were added, and which leaf the session names."""
        if self.graph is not None:
            known = self._leaf_row == len(self.graph) and self._leaf_row >= 0
            self.graph.finish(self._leaf, known)

    def steer(self, event: Event) -> None:
        """Take note of an event that says which leaf is the live one."""
        if isinstance(event, StateChange) and event.name == "leaf":
            self._leaf_change(event.value)

    def _along_the_way(self, graph: StrictGraph) -> Pairing:
        """The pairing of a strict way in its own order, with what hangs beside it apart.

        A call that is answered beside the way only was gone on from before its result: the
        agent knows that, and answers it itself.
        """
        pairing = Pairing(self.format.pairing, once=self.format.once)
        for row in graph.in_order():
            place = graph.place(row)
            value = self.value(place)
            meaning = self.format.meaning(value)
            meaning.scope = "" if graph.live[row] else "aside"
            raw = self.source.read(place.start, place.end)
            pairing.see(Record(place.line, place.start, place.end, raw, value), meaning, row)
        pairing.finish()
        open_before = {call.place for call in self.pairing.unanswered}
        pairing.unanswered = [c for c in pairing.unanswered if c.place in open_before]
        return pairing

    def see(self, record: Record, meaning: Meaning) -> None:
        """Take in one record."""
        self.records += 1
        self.tracker.see(record, meaning)
        if not self.tracker.reads(meaning):
            meaning.events = [Meta("", "passed over")]
        events, row = meaning.events, -1
        # A record about the session only has no words, no calls and nothing that steers.
        idle = len(events) == 1 and type(events[0]) is Meta
        if self.graph is None:
            if self.upserts is not None:
                self.upserts.see(record, meaning)
            elif not idle and not meaning.scope:
                self._linear.see(record, meaning)
        elif meaning.linked:
            if meaning.parent and meaning.parent == self.id:
                meaning.parent = None  # hangs from the header, which is no part of the tree
            row = self.graph.add(record, meaning)
        self._about(meaning)
        if idle:
            return
        if self.upserts is None:
            self.pairing.see(record, meaning, row)
        for event in events:
            if isinstance(event, Message):
                self.last_message = record.start
            else:
                self.steer(event)

    def _about(self, meaning: Meaning) -> None:
        self.id = self.id or meaning.session
        self.cwd = self.cwd or meaning.cwd
        self.version = meaning.version or self.version
        self.model = meaning.model or self.model
        if meaning.time > self.last_time:
            self.first_time = self.first_time or meaning.time
            self.last_time = meaning.time

    def _leaf_change(self, value: dict[str, Any]) -> None:
        """A rewind names a leaf; it counts as long as no record follows it."""
        if self.graph is not None and (value.get("explicit") or value.get("rewound")):
            leaf = value.get("leafUuid")
            self._leaf = leaf if type(leaf) is str else None
            self._leaf_row = len(self.graph)

    def messages(self) -> tuple[int, int]:
        """How many messages a resume sends, and how many there are for it to send."""
        if self.graph is not None:
            return self.graph.messages()
        return (self.upserts or self._linear).messages()

    def reaches(self, row: int, place: Place) -> bool:
        """Whether a resume reaches a record."""
        if self.graph is None or row < 0:
            return place.start >= 0 and not (self.upserts and self.taken_back(place.start))
        return bool(self.graph.live[row])

    def taken_back(self, start: int) -> str:
        """What took the record at an offset out of a session without a tree: "" for nothing.

        That is "compaction" or "rollback", or "superseded" where something took its place.
        """
        return (self.upserts or self._linear).taken_back(start)

    def value(self, place: Place) -> dict[str, Any]:
        """The decoded record at a place, read again; it is not to be changed."""
        return self._value(place.start, place.end)

    def raw(self, place: Place) -> bytes:
        """The bytes of the record at a place, read again."""
        return self._raw(place.start, place.end)


def _decoded(source: Source, start: int, end: int) -> dict[str, Any]:
    raw = source.read(start, end)
    try:
        value = decode(raw)
    except ValueError:
        value, _ = heal(raw, start)
    return value if type(value) is dict else {}


class _Linear:
    """Counts of a session without a tree: a compaction or a rollback takes messages away."""

    def __init__(self) -> None:
        self._turns: list[tuple[int, int]] = []
        self._count = 0
        self._counts = array("i")
        self._starts = array("q")
        self._kept_from = 0
        self._replaced = 0
        self._begun: tuple[int, int] | None = None
        self._undone: list[tuple[int, int]] = []

    def see(self, record: Record, meaning: Meaning) -> None:
        before, talk = self._count, False
        for event in meaning.events:
            if isinstance(event, Message):
                talk = True
                if event.prompt:
                    self._turns.append((self._count, record.start))
                self._count += event.role in ("user", "assistant") and not event.hidden
            elif isinstance(event, ToolResult):
                talk = True
            elif isinstance(event, Checkpoint):
                if event.kept_from >= 0:
                    self._kept_from = event.kept_from
                    if event.kept_from >= len(self._starts):
                        self._replaced = record.start
                elif event.summary:
                    self._summed_up(*(self._begun or (self._count, record.start)))
            elif isinstance(event, StateChange) and event.name == "rollback":
                self._roll_back(event.value, record.start)
            elif isinstance(event, StateChange) and event.name == "compaction begins":
                self._begun = self._count, record.start
        if talk:
            self._counts.append(before)
            self._starts.append(record.start)

    def _summed_up(self, count: int, start: int) -> None:
        """Leave out the first messages, which stand before an offset; others came meanwhile."""
        self._turns = [(n - count, at) for n, at in self._turns if at >= start]
        self._count -= count
        self._replaced, self._begun = start, None

    def _roll_back(self, turns: Any, start: int) -> None:
        if type(turns) is int and 0 < turns <= len(self._turns):
            self._count, begin = self._turns[-turns]
            del self._turns[-turns:]
            while self._undone and self._undone[-1][0] >= begin:
                self._undone.pop()
            self._undone.append((begin, start))

    def taken_back(self, start: int) -> str:
        kept = self._kept_from
        first = self._starts[kept] if 0 < kept < len(self._starts) else 0
        if start < max(first, self._replaced):
            return "compaction"
        at = bisect_right(self._undone, start, key=lambda span: span[0])
        return "rollback" if at and start < self._undone[at - 1][1] else ""

    def messages(self) -> tuple[int, int]:
        gone = self._kept_from
        before = self._counts[gone] if gone < len(self._counts) else self._count
        count = self._count - before if gone else self._count
        return count, count


def open_session(source: Source, format_name: str = "") -> Session:
    """The session that a source holds, not yet read.

    The format is detected unless it is named. Raises NotASessionError.
    """
    values = [v for r in islice(_head(source), SAMPLE) if (v := r.value)]
    if format_name:
        form, reason = by_name(format_name), "named by the user"
    else:
        form, reason = detect(values, plain_path(source.path) if source.path else None, source.name)
    return Session(source, form.fitting(values), reason)


def open_known(source: Source, format_name: str = "") -> Session:
    """The same, where it is known what its records mean. Raises InputError as well."""
    session = open_session(source, format_name)
    if not session.format.known:
        raise InputError(
            f"sesstool knows sessions of {session.format.title} by name only, and nothing of what "
            f"is in {source.name}",
            hint="sesstool show prints the records; all else only the agent itself can do",
        )
    return session


def _head(source: Source) -> Iterator[Record]:
    """Records of the head of a source, also of one in UTF-16."""
    encoding = utf16(source.read(0, 256))
    if not encoding:
        return records(source)
    return records(_Text(source, encoding))


class _Text:
    """The head of a UTF-16 source as UTF-8, for detection only."""

    def __init__(self, source: Source, encoding: str) -> None:
        self.name, self.path, self.codec = source.name, source.path, source.codec
        head = source.read(0, 1 << 20)
        self._data = head.decode(encoding, "ignore").lstrip("\ufeff").encode("utf-8", "ignore")
        self.size = len(self._data)

    def read(self, start: int, end: int) -> bytes:
        return self._data[start:end]

    def chunks(self) -> Iterator[bytes]:
        yield self._data


def path_of(source: Source) -> str:
    """The name of a source for findings."""
    return str(source.path) if isinstance(source.path, Path) else source.name
