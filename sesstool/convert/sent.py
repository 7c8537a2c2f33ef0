"""Which records of a session reach the model when it is resumed, and in which order."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sesstool.convert.losses import Losses
from sesstool.errors import InputError, UsageError
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
)
from sesstool.model.graph import BOUNDARY, SUMMARY, Graph
from sesstool.model.session import open_known
from sesstool.model.strict import StrictGraph
from sesstool.model.upserts import part
from sesstool.model.ways import Named
from sesstool.records.recover import Record
from sesstool.records.source import Source

_TAKEN_BACK = {
    "compaction": "compacted",
    "rollback": "rolled-back",
    "superseded": "superseded",
}


_CALL, _RESULT, _PROMPT = range(3)
_MATCHED, SECOND = 1, 2


class Sent(NamedTuple):
    """A record that is sent, decoded, with what it means.

    `meanings` are more than one where it holds, or stands for, several messages.
    """

    value: dict[str, Any]
    meanings: Sequence[Meaning]


class Way:
    """A session that was read to its end, for what of it is sent.

    `branch` is the record that the way ends with, by line, id or the beginning of its id, "" for
    the last one of the session.
    """

    def __init__(self, source: Source, format_name: str = "", *, branch: str = "") -> None:
        """Read it once. Raises InputError, NotASessionError, and UsageError for no branch."""
        self.session = open_known(source, format_name)
        self._opening = -1  # the row, or the offset, of the summary that stands before all else
        self._rows: array[int] = array("i")
        # Of each call, result and prompt: where its record begins, what it is, and its key.
        self._starts, self._kinds, self._keys = array("q"), bytearray(), array("q")
        self._read(Named(branch))
        graph = self.session.graph
        # Records whose ids somebody replaced by one word form no tree: they are as they stand.
        self._graph = graph if graph is not None and len(graph) else None
        if self._graph is not None:
            self._rows = self._sent_rows(self._graph)

    def records(self, losses: Losses) -> Iterator[Sent]:
        """What is sent, in its order; all else is counted."""
        if self._graph is None:
            yield from self._linear(losses)
        else:
            yield from self._linked(self._graph, losses)

    def _read(self, named: Named) -> None:
        session, conversations = self.session, 0
        graph = session.graph
        for record, meaning in session.read():
            if meaning is None:
                continue
            conversations += bool(meaning.nested)
            if any(type(e) is Checkpoint and _sums_up(e) for e in meaning.events):
                self._opening = record.start
            if graph is not None and meaning.linked:
                named.see(record, meaning, len(graph) - 1)
            if graph is not None or not meaning.scope:
                for one in self._meanings(record.value or {}, meaning):
                    self._note(record, one)
        if conversations > 1:
            raise InputError(
                f"{session.source.name} holds {conversations} conversations, one in a line",
                hint="give each a file of its own",
            )
        if not named.asked:
            return
        if graph is None:
            raise UsageError(f"{session.source.name} has no branches", hint="leave out --branch")
        graph.lead(named.row(session.source.name))

    def _note(self, record: Record, meaning: Meaning) -> None:
        for event in ordered(meaning.events):
            kind, key = -1, 0
            if isinstance(event, ToolCall | ToolResult) and not event.server:
                kind = _CALL if isinstance(event, ToolCall) else _RESULT
                key = key_of(meaning, event.id)
            elif isinstance(event, Message) and event.prompt:
                kind = _PROMPT
            if kind >= 0:
                self._starts.append(record.start)
                self._kinds.append(kind)
                self._keys.append(key)

    def pairs(self) -> tuple[bytearray, bytearray]:
        """Which calls have a result, and which results a call, in the order of `records`.

        A result without one is SECOND where the call has one already. Calls of one id are answered
        in their order; behind the next prompt only the newer is.
        """
        calls, results = bytearray(), bytearray()
        waiting: dict[int, list[tuple[int, int]]] = {}
        given: set[int] = set()
        turn = 0
        for at in self._noted():
            kind, key = self._kinds[at], self._keys[at]
            turn += kind == _PROMPT
            if kind == _CALL:
                among = waiting.setdefault(key, [])
                among[:] = [one for one in among if one[1] == turn]
                among.append((len(calls), turn))
                calls.append(0)
            elif kind == _RESULT:
                found = waiting.get(key, [])
                results.append(_MATCHED if found else SECOND if key in given else 0)
                if found:
                    given.add(key)
                    calls[found.pop(0)[0]] = 1
                if not found:
                    waiting.pop(key, None)
        return calls, results

    def _noted(self) -> Iterator[int]:
        """What was noted of the records that are sent."""
        graph = self._graph
        places: Iterable[int] = (self._opening,) if self._opening >= 0 else ()
        if graph is None:
            yield from (n for start in places for n in self._of(start))
            for n, start in enumerate(self._starts):
                if start != self._opening and not self.session.taken_back(start):
                    yield n
            return
        for row in self._rows:
            yield from self._of(graph.place(row).start)

    def _of(self, start: int) -> range:
        """What was noted of the record at an offset."""
        return range(bisect_left(self._starts, start), bisect_right(self._starts, start))

    def _meanings(self, value: dict[str, Any], meaning: Meaning) -> Sequence[Meaning]:
        """The messages that a record holds, or stands for; itself for most."""
        if meaning.nested:
            return meaning.nested
        if len(meaning.messages) > 1:
            return [part(meaning, [n]) for n in range(len(meaning.messages))]
        summary = any(type(e) is Checkpoint and e.summary for e in meaning.events)
        return (self.session.format.replacement(value) if summary else ()) or (meaning,)

    def _sent(self, value: dict[str, Any] | None, meaning: Meaning) -> Sent:
        return Sent(value or {}, self._meanings(value or {}, meaning))

    def _sent_rows(self, graph: Graph) -> array[int]:
        """The rows that are sent, a summary of what stood before them first."""
        if not isinstance(graph, StrictGraph):
            rows = array("i", (row for row in range(len(graph)) if graph.live[row]))
            at = next((n for n, row in enumerate(rows) if graph.flags[row] & SUMMARY), -1)
            return rows[: at + 1] + self._kept(graph, rows) + rows[at + 1 :]
        rows = array("i", (row for row in graph.in_order() if graph.live[row]))
        whole = BOUNDARY | SUMMARY
        summaries = [row for row in rows if graph.flags[row] & whole == whole]
        if summaries:
            rows = array("i", (row for row in rows if row not in summaries))
            rows.insert(0, summaries[-1])
        return rows

    def _kept(self, graph: Graph, rows: array[int]) -> array[int]:
        """The rows that the newest compaction keeps behind its summary, and no walk comes by."""
        kept: set[int] = set()
        boundary = next((row for row in reversed(rows) if graph.flags[row] & BOUNDARY), -1)
        if boundary >= 0:
            names = self.session.format.kept(self.session.value(graph.place(boundary)))
            found = (graph.row_of(name) for name in names)
            kept = {row for row in found if row is not None and row < boundary}
        first, row = min(kept, default=0), max(kept, default=-1)
        while row > first:  # of older versions only the ends are told
            kept.add(row)
            row = graph.up[row] if graph.up[row] < row else -1
        return array("i", sorted(kept.difference(rows)))

    def _linear(self, losses: Losses) -> Iterator[Sent]:
        opened = self._opening < 0
        for record, meaning in self.session.again():
            if meaning is None:
                losses.add("fragment", int(not _is_blank(record)))
                continue
            talks, aside = _talks(meaning), self.session.taken_back(record.start)
            if meaning.scope and talks:
                losses.add("subagent")
            elif record.start == self._opening:
                if not opened:
                    yield self._sent(record.value, meaning)
                opened = True
            elif talks and (aside or _is_older(meaning, self._opening)):
                losses.add(_TAKEN_BACK.get(aside, "compacted"))
            elif not talks:
                yield self._sent(record.value, meaning)
            else:
                if not opened:
                    yield self._sent(*self._summary())
                opened = True
                yield self._sent(record.value, meaning)

    def _summary(self) -> tuple[dict[str, Any] | None, Meaning]:
        """The record of the newest compaction."""
        for record, meaning in self.session.again():
            if meaning is not None and record.start == self._opening:
                return record.value, meaning
        raise InputError(
            f"{self.session.source.name} was changed while it was read", hint="run it again"
        )

    def _linked(self, graph: Graph, losses: Losses) -> Iterator[Sent]:
        in_file = all(a < b for a, b in zip(self._rows, self._rows[1:], strict=False))
        live = bytearray(len(graph))
        for row in self._rows:
            live[row] = 1
        for record, meaning in self.session.again():
            if meaning is None:
                losses.add("fragment", int(not _is_blank(record)))
                continue
            row = graph.row_at(record.start) if meaning.linked else -1
            if row < 0 or row >= len(graph):
                if any(type(e) is Message for e in meaning.events):
                    losses.add("not-sent")
                else:
                    yield self._sent(record.value, meaning)
            elif not live[row]:
                self._aside(graph, row, meaning, losses)
            elif in_file:
                yield self._sent(record.value, meaning)
        for row in () if in_file else self._rows:
            value = self.session.value(graph.place(row))
            yield self._sent(value, self.session.format.meaning(value))

    def _aside(self, graph: Graph, row: int, meaning: Meaning, losses: Losses) -> None:
        """Count a record that is not sent."""
        if graph.scope[row] != graph.main:
            losses.add("subagent")
        elif not _talks(meaning):
            losses.add("session-record")
        elif graph.on_way[row] or row < self._first(graph):
            losses.add("compacted")
        else:
            losses.add("branch")

    def _first(self, graph: Graph) -> int:
        """The newest compaction that is sent, 0 for none: what stands before it is replaced."""
        boundaries = (row for row in self._rows if graph.flags[row] & BOUNDARY)
        return max(boundaries, default=0)


def key_of(meaning: Meaning, name: str) -> int:
    """A number for a call id, within the part of the session that it counts in."""
    return hash((meaning.scope or meaning.run, name))


def ordered(events: Iterable[Event]) -> list[Event]:
    """The events of a record as providers take them: results first, then words, then calls.

    The result of a call in the same record follows it.
    """
    own = {event.id for event in events if isinstance(event, ToolCall)}

    def rank(event: Event) -> int:
        if isinstance(event, ToolResult):
            return 4 if event.id in own else 1
        return {Thinking: 0, Message: 2, ToolCall: 3}.get(type(event), 0)

    return sorted(events, key=rank)


def _sums_up(event: Checkpoint) -> bool:
    return event.summary or event.kept_from >= 0


def _is_older(meaning: Meaning, opening: int) -> bool:
    """Whether a record is a compaction before the newest one."""
    return opening >= 0 and any(type(e) is Checkpoint and _sums_up(e) for e in meaning.events)


def _talks(meaning: Meaning) -> bool:
    return any(type(e) in (Message, ToolCall, ToolResult, Checkpoint) for e in meaning.events)


def _is_blank(record: Record) -> bool:
    """Whether what is no record is nothing at all: blank lines."""
    return not record.raw.strip() and record.end <= record.start + len(record.raw)
