"""Where the answers to unanswered calls go, and what hangs from them.

In a tree each result hangs from its own call, or on a strict way from the result before it; the
record that came next may still name the result that was lost: the answer then takes the lost
record's id, so that nothing else changes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from sesstool.checks.surgery import id_of, set_parent
from sesstool.formats.terms import Place, Question
from sesstool.model.graph import ASSISTANT, LOST, Graph
from sesstool.model.pairing import Call
from sesstool.model.session import Session
from sesstool.model.strict import StrictGraph
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps, locate, parts
from sesstool.records.linewise import put_behind


class Answers:
    """The answers to all unanswered calls of a session, which are numbered and linked together."""

    def __init__(self, session: Session, calls: list[Call]) -> None:
        """Take the calls in file order."""
        self._session = session
        self._calls = [c for c in calls if session.reaches(c.row, c.place)]
        self._given: dict[int, list[Edit]] | None = None

    def edits(self, call: Call) -> list[Edit]:
        """The edits that answer one of the calls."""
        if self._given is None:
            self._given = {}
            graph = self._session.graph
            made = self._linked(graph) if graph is not None else self._linear()
            for owner, edits in made:
                self._given.setdefault(id(owner), []).extend(edits)
        return self._given.get(id(call), [])

    def _linear(self) -> Iterator[tuple[Call, list[Edit]]]:
        ordinal = self._session.tracker.next_ordinal()
        if self._session.format.pairing == "next":
            yield from self._beside()
            return
        for call in self._calls:
            answer = self._answer(call, "", ordinal)
            yield call, [self._placed(call, answer)]
            ordinal += ordinal >= 0

    def _placed(self, call: Call, answer: bytes) -> Edit:
        """Behind the calls that stand with it, or behind its message in a record of many."""
        session, place = self._session, call.place
        inside = session.format.inside(place.pointer)
        member = locate(session.raw(place), inside) if inside else None
        if member is None:
            return put_behind(session.source, call.block.end, answer)
        at = place.start + member.end
        return Edit(at, at, b"," + answer, content=True)

    def _beside(self) -> Iterator[tuple[Call, list[Edit]]]:
        """The results of a message stand in one, too: the first that is missing makes it.

        The others have no edits until it is there.
        """
        made: set[int] = set()
        for call in self._calls:
            start = call.place.start
            if sibling(call) is not None or start not in made:
                made.add(start)
                yield call, [beside(self._session, call, self._answer(call, "", -1))]

    def _linked(self, graph: Graph) -> Iterator[tuple[Call, list[Edit]]]:
        # What follows hangs from the last of the answers to one model answer.
        final = {graph.turn(c.row) or f"row {c.row}": c for c in self._calls}
        given: dict[int, str] = {}
        for call in self._calls:
            last, child = graph.behind(call.row)
            name, edits = self._fresh(call), []
            if child >= 0 and final[graph.turn(call.row) or f"row {call.row}"] is call:
                if graph.up[child] == LOST and graph.lost.get(child):
                    name = graph.lost[child]
                elif isinstance(graph, StrictGraph) or graph.flags[graph.up[child]] & ASSISTANT:
                    edits = set_parent(self._session, graph, child, dumps(name))
            parent = given.get(call.row) or id_of(self._session, graph, last)
            given[call.row] = name
            source = self._session.source
            # Behind everything where no row follows: what moves the leaf must come last.
            at = graph.place(last).end if child >= 0 else source.size
            answer = self._answer(call, name, -1, parent)
            edits.append(put_behind(source, at, answer))
            yield call, edits

    def _answer(self, call: Call, name: str, ordinal: int, parent: str = "") -> bytes:
        session = self._session
        record = session.value(call.place)
        evidence = session.tracker.evidence(call.id, session.source, call.scope)
        block: Any = record
        for part in parts(call.place.pointer):
            block = block[int(part)] if isinstance(block, list) else block[part]
        question = Question(call.id, call.name, record, block, evidence, name, ordinal, parent)
        return session.format.answer(question)

    def _fresh(self, call: Call) -> str:
        """A new id; the same call always gets the same one, so that plans can be compared."""
        seed = f"{self._session.id}/{call.id}/{call.place.start}"
        return str(uuid.uuid5(uuid.NAMESPACE_OID, seed))


def sibling(call: Call) -> Place | None:
    """The last result that one for a call must stand beside, in pairing "next"; None if none.

    Those of messages before the first that is answered there have one of their own: a message
    that the model wrote behind its calls is most often another answer, and the results between
    them were lost.
    """
    return call.block.last if call.block.since <= call.place.start else None


def beside(session: Session, call: Call, block: bytes) -> Edit:
    """Put a result's block behind those of its siblings, or else into a message of its own."""
    last = sibling(call)
    raw = session.raw(last) if last else b""
    member = locate(raw, last.pointer) if last else None
    if last is None or member is None:
        return put_behind(session.source, call.place.end, session.format.message(block))
    at = last.start + member.end
    return Edit(at, at, b"," + block, content=True)
