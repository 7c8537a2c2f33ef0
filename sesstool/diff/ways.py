"""The way to a leaf: the records of one branch, from its root on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sesstool.model.graph import ASSISTANT, BOUNDARY, LOST, RESULT, ROOT, TALK, Graph
from sesstool.model.session import Session


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


def _rejoin(graph: Graph, on_way: bytearray) -> None:
    """Parallel calls and their results hang beside the way, and are sent all the same."""
    turns = {graph.turn(row) for row, on in enumerate(on_way) if on} - {0}
    for row, parent in enumerate(graph.up):
        if not on_way[row]:
            answers = graph.flags[row] & RESULT and parent >= 0 and on_way[parent]
            beside = bool(answers) and graph.flags[parent] & ASSISTANT
            on_way[row] = bool(beside) or graph.turn(row) in turns
