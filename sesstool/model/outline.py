"""What stands where in a session: the places that a reader jumps to, in columns of offsets."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, get_args

from sesstool.formats.events import Checkpoint, Meaning, Message, ToolCall, ToolResult
from sesstool.model.pairing import Call
from sesstool.model.session import Session
from sesstool.records.recover import Record

Mark = Literal["prompt", "call", "failed", "compaction", "damage", "subagent", "branch"]
_PLACE = 40
MARKS: tuple[Mark, ...] = get_args(Mark)


class Outline:
    """The places of a session, filled while its records are read in file order.

    `marks` holds for each kind the offsets of the records, sorted; `reached` is how many bytes
    are read. After the last record `done` is true: only then calls are `unanswered`, by the
    offset of their record and their pointer, and branches are known.
    """

    def __init__(self, session: Session) -> None:
        """Take a session that is not yet read."""
        self.session = session
        self.marks: dict[Mark, array[int]] = {mark: array("q") for mark in MARKS}
        self.reached = 0
        self.done = False
        self.records = 0
        self.unanswered: dict[tuple[int, str], Call] = {}
        self.scopes: dict[str, int] = {}
        self.results = Named()
        self.calls = Named()

    def read(self) -> Iterator[int]:
        """Read the session; yields with each record how many bytes are read."""
        for record, _ in self.reading():
            yield record.end

    def reading(self) -> Iterator[tuple[Record, Meaning | None]]:
        """The same, with each record and its meaning, for whoever needs them as well."""
        for record, meaning in self.session.read():
            if meaning is None:
                self._mark("damage", record.start)
            else:
                self._see(record, meaning)
            self.reached = record.end
            yield record, meaning
        self.results.sort()
        self.calls.sort()
        pairing, graph = self.session.pairing, self.session.graph
        self.unanswered = {(c.place.start, c.place.pointer): c for c in pairing.unanswered}
        if graph is not None:
            places = sorted(graph.place(branch.root).start for branch in graph.branches())
            self.marks["branch"].extend(places)
        self.reached = self.session.source.size
        self.done = True

    def _see(self, record: Record, meaning: Meaning) -> None:
        self.records += 1
        if meaning.scope:
            if meaning.scope not in self.scopes:
                self._mark("subagent", record.start)
            self.scopes[meaning.scope] = self.scopes.get(meaning.scope, 0) + 1
        for event in meaning.events:
            if isinstance(event, Message):
                if event.prompt and not event.hidden and not meaning.scope:
                    self._mark("prompt", record.start)
            elif isinstance(event, ToolCall):
                self._mark("call", record.start)
                self.calls.add(event.id, record.start)
            elif isinstance(event, ToolResult):
                self.results.add(event.id, record.start)
                if event.error:
                    self._mark("failed", record.start)
            elif isinstance(event, Checkpoint):
                self._mark("compaction", record.start)

    def _mark(self, mark: Mark, start: int) -> None:
        """Note a place once, however many records of the kind a damaged line holds."""
        places = self.marks[mark]
        if not places or places[-1] < start:
            places.append(start)

    def resumed(self, start: int) -> bool:
        """Whether a resume reaches the linked record at an offset; true while nobody knows."""
        graph = self.session.graph
        if graph is None or not self.done:
            return True
        row = graph.row_at(start)
        return row >= len(graph) or graph.place(row).start != start or bool(graph.live[row])


class Named:
    """Offsets under names, 8 bytes each: ids of calls may be used again from turn to turn.

    Of a name 24 bits are kept: what is found may now and then be of another one.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._packed = array("Q")

    def add(self, name: str, start: int) -> None:
        """Add a place, an offset below 2**40."""
        self._packed.append(_low(name) | start)

    def __len__(self) -> int:
        """How many places there are."""
        return len(self._packed)

    def before(self, start: int) -> int:
        """How many places stand before an offset; all of them are looked at."""
        return sum(packed & (1 << _PLACE) - 1 < start for packed in self._packed)

    def sort(self) -> None:
        """Make ready to find; nothing may be added after it."""
        self._packed = array("Q", sorted(self._packed))

    def find(self, name: str) -> Iterator[int]:
        """The places under a name, in file order."""
        low = _low(name)
        for at in range(bisect_left(self._packed, low), len(self._packed)):
            if self._packed[at] >> _PLACE != low >> _PLACE:
                return
            yield self._packed[at] - low


def _low(name: str) -> int:
    """The least of what is kept under a name."""
    return (hash(name) & 0xFFFFFF) << _PLACE
