"""The ways through a session's tree: how a branch is named, and which records belong to it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from sesstool.errors import UsageError
from sesstool.formats.events import Meaning
from sesstool.model.graph import ASSISTANT, BOUNDARY, HIDDEN, LOST, RESULT, ROOT, TALK, Graph
from sesstool.model.session import Session
from sesstool.records.recover import Record


class Leaf(NamedTuple):
    """The end of a branch: its row, the line and the id of its record.

    `messages` counts those that no other branch before it in the list has; `live` says that a
    resume takes this one.
    """

    row: int
    line: int
    id: str
    messages: int
    live: bool


class Named:
    """Finds the row that a leaf's name means: its id, its line, or the beginning of its id."""

    def __init__(self, name: str) -> None:
        """Look for a name, "" for none."""
        self._name = name
        self._rows = {"id": -1, "line": -1, "begun": -1}
        self._begun = 0

    @property
    def asked(self) -> bool:
        """Whether there is a name to look for."""
        return bool(self._name)

    def see(self, record: Record, meaning: Meaning, row: int) -> None:
        """Take note of a record and its row."""
        if not self._name:
            return
        if meaning.id == self._name:
            self._rows["id"] = row
        elif str(record.line) == self._name:
            self._rows["line"] = row
        elif meaning.id.startswith(self._name):
            self._rows["begun"] = row
            self._begun += 1

    def row(self, file: str) -> int:
        """Raises UsageError where the name means no record, or several."""
        found = next((row for row in self._rows.values() if row >= 0), -1)
        if found < 0:
            raise UsageError(
                f"{file} has no record {self._name}",
                hint="sesstool diff --branches lists the leaves",
            )
        if found == self._rows["begun"] and self._begun > 1:
            raise UsageError(
                f"{self._begun} records of {file} have an id that begins with {self._name}",
                hint="give more of the id, or the line",
            )
        return found


def way(session: Session, graph: Graph, leaf: int) -> bytearray:
    """For each row whether it belongs to the branch that ends with a leaf.

    Unlike what a resume sends it goes on above a compaction. What subagents said in the same
    file belongs to every branch.
    """
    on_way = bytearray(scope != graph.main for scope in graph.scope)
    row = leaf
    while row >= 0 and not on_way[row]:
        on_way[row] = 1
        row = _above(session, graph, row)
    if not session.format.strict_path:
        _rejoin(graph, on_way)
    return on_way


def way_to(session: Session, graph: Graph, leaf: int) -> bytearray:
    """The same, for the session as it was when a leaf was its last record, without subagents."""
    on_way = bytearray(len(graph))
    row = leaf
    while row >= 0 and not on_way[row]:
        on_way[row] = 1
        row = _above(session, graph, row)
    if not session.format.strict_path:
        _rejoin(graph, on_way, leaf)
    return on_way


def leaves(session: Session, graph: Graph) -> Iterator[Leaf]:
    """The leaves of a session: the live one first, then those last written first."""
    borne = bytearray(len(graph))
    for row in range(len(graph) - 1, -1, -1):
        parent = graph.up[row]
        # Progress and what an agent notes hang beside the talk, and end no branch.
        if parent >= 0 and (graph.flags[row] & TALK or borne[row]):
            borne[parent] = 1
    seen = bytearray(len(graph))
    ends = [row for row in range(len(graph) - 1, -1, -1) if _ends(graph, row) and not borne[row]]
    for row in [graph.leaf, *(row for row in ends if row != graph.leaf)]:
        if row < 0 or seen[row]:
            continue
        on_way = way(session, graph, row)
        new = [n for n, on in enumerate(on_way) if on and not seen[n]]
        messages = sum(bool(graph.flags[n] & TALK) for n in new if graph.scope[n] == graph.main)
        for n in new:
            seen[n] = 1
        place = graph.place(row)
        name = session.format.meaning(session.value(place)).id
        yield Leaf(row, place.line, name, messages, row == graph.leaf)


def forks(graph: Graph, on_way: bytearray) -> set[int]:
    """The rows of a branch from which other branches go off: the last that both share."""
    found = set()
    stem = array("i", [ROOT]) * len(graph)  # the row of the branch that another one hangs from
    for row, parent in enumerate(graph.up):
        if on_way[row] or not 0 <= parent < row:
            continue
        stem[row] = parent if on_way[parent] else stem[parent]
        if stem[row] >= 0 and _ends(graph, row) and not graph.flags[row] & HIDDEN:
            found.add(stem[row])
    return found


def _ends(graph: Graph, row: int) -> bool:
    return bool(graph.flags[row] & TALK) and graph.scope[row] == graph.main


def _above(session: Session, graph: Graph, row: int) -> int:
    """The row above another one; over gaps, and where a compaction hangs from nothing."""
    parent = graph.up[row]
    if parent == LOST:
        return graph.before(row)
    if parent == ROOT and graph.flags[row] & BOUNDARY:
        told = session.format.continues(session.value(graph.place(row)))
        before = graph.row_of(told) if told else None
        return graph.before(row) if before is None or before >= row else before
    return parent


def _rejoin(graph: Graph, on_way: bytearray, last: int | None = None) -> None:
    """Parallel calls and their results hang beside the way, and are sent all the same.

    Those behind the row `last` are left aside.
    """
    turns = {graph.turn(row) for row, on in enumerate(on_way) if on} - {0}
    for row, parent in enumerate(graph.up):
        if not on_way[row] and (last is None or row <= last):
            answers = graph.flags[row] & RESULT and parent >= 0 and on_way[parent]
            beside = bool(answers) and graph.flags[parent] & ASSISTANT
            on_way[row] = bool(beside) or graph.turn(row) in turns
