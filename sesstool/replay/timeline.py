"""When each record of a session was written, and when a replay shows it.

Two clocks: the recorded time, in seconds since the first record, and the time of the replay, in
which a pause is no longer than the idle limit. Nothing of what the session says is kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate, islice, repeat
from operator import sub
from typing import Any, NamedTuple

from sesstool.errors import UsageError
from sesstool.formats.events import Meaning, Message
from sesstool.formats.terms import Place
from sesstool.model.graph import Graph
from sesstool.model.moments import moment
from sesstool.model.passages import Passage, passages
from sesstool.model.session import Session, path_of
from sesstool.model.ways import Named, forks, way
from sesstool.records.recover import Record

IDLE = 2.0
"""Seconds that a pause is cut to."""

# How many characters a second are typed, and read where no times tell the pace.
_TYPED, _READ = 400, 100
# A record without a time stands for so many seconds at least, and at most.
_SHORTEST, _LONGEST = 0.5, 5.0
# Times outside of these were not told by a clock.
_FIRST = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
_LAST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
# A clock that goes back further was set anew; less is the order of writing.
_SET_BACK = 86_400

WHATS = (
    *("prompt", "user", "assistant", "system", "tool", "thinking", "call", "result"),
    *("compaction", "rollback", "unknown", "damage"),
)
"""What a record can be."""
_WHAT = {what: n for n, what in enumerate(WHATS)}
_MARKERS = {_WHAT["prompt"]: "prompt", _WHAT["compaction"]: "compaction"}
# Bits beside what a record is.
_FORK, _ASIDE, _KIND = 0x80, 0x40, 0x3F
_KINDS = bytes(byte & _KIND for byte in range(256))
# What somebody said, and is typed; all else was there at once.
_BY_HAND = {"prompt", "user", "assistant", "thinking"}
_MOST = (1 << 16) - 1
# With each of so many lines it is told how far the session is read.
_TOLD = 1024


class Marker(NamedTuple):
    """A record to jump to, by its index, and what it is, of "prompt", "compaction" and "fork"."""

    at: int
    names: tuple[str, ...]


class Timeline:
    """The records that a replay shows, by index from 0, in columns of 39 bytes a record.

    `timed` says that the session tells times; else the length of the texts sets the pace, and no
    pause is cut. `idle` is the limit of pauses in seconds, infinite for none.
    """

    def __init__(self) -> None:
        """Start without records; `build` fills them in."""
        self.idle = IDLE
        self.timed = False
        self._lines = array("i")
        self._starts = array("q")
        self._ends = array("q")
        self._times = array("d")  # as recorded
        self._shown = array("d")  # in the replay
        self._whats = bytearray()
        self._lengths = array("H")  # of texts, in characters, up to _MOST
        self._marked = array("i")

    def __len__(self) -> int:
        """How many records are shown."""
        return len(self._lines)

    def place(self, index: int) -> Place:
        """Where a record stands."""
        return Place(self._lines[index], self._starts[index], self._ends[index])

    def what(self, index: int) -> str:
        """What a record is, one of WHATS."""
        return WHATS[self._whats[index] & _KIND]

    def is_typed(self, index: int) -> bool:
        """Whether the text of a record was said by somebody, and not there at once."""
        return self.what(index) in _BY_HAND

    def recorded(self, index: int) -> float:
        """Seconds from the first record to this one, as recorded; never less than before."""
        return self._times[index]

    def gap(self, index: int) -> float:
        """Seconds without a record before this one, as recorded."""
        return self._times[index] - self._times[index - 1] if index else 0.0

    def is_cut(self, index: int) -> bool:
        """Whether the replay shortens the pause before a record."""
        return self.timed and self.gap(index) > self.idle

    def time_of(self, index: int) -> float:
        """Seconds from the start of the replay to a record."""
        return self._shown[index]

    def room(self, index: int) -> float:
        """Seconds from a record to the next, or to the end of the replay."""
        if index + 1 < len(self):
            return self._shown[index + 1] - self._shown[index]
        return min(self._lengths[index] / _TYPED, _SHORTEST)

    def typing(self, index: int) -> float:
        """Seconds that it takes to type a record's text; the next one does not wait for it."""
        return min(self._lengths[index] / _TYPED, self.room(index))

    @property
    def duration(self) -> float:
        """Seconds that the replay takes at its own speed, 0 where nothing is shown."""
        return self._shown[-1] + self.room(len(self) - 1) if len(self) else 0.0

    def recorded_at(self, index: int, seconds: float) -> float:
        """The recorded time, `seconds` of the replay after a record; a cut pause passes quickly."""
        room = self.room(index)
        if not self.timed or index + 1 == len(self) or not room:
            return self._times[index] if self.timed else self._shown[index] + seconds
        return self._times[index] + self.gap(index + 1) * min(seconds / room, 1.0)

    def index_at(self, seconds: float) -> int:
        """The record that was shown last at a time of the replay, -1 where nothing is shown."""
        return bisect_right(self._shown, max(seconds, 0.0)) - 1

    def first_at(self, seconds: float) -> int:
        """The first record that is shown at a time of the replay or later."""
        return bisect_left(self._shown, seconds)

    def index_from(self, start: int) -> int:
        """The first record that begins at a byte offset or behind it; the last where none does."""
        return min(bisect_left(self._starts, start), len(self) - 1)

    def index_of(self, line: int) -> int:
        """The first record that stands at a line or below it; the last one where none does."""
        return min(bisect_left(self._lines, line), len(self) - 1)

    def markers(self) -> Iterator[Marker]:
        """The records to jump to, in order."""
        return (Marker(index, self.names(index)) for index in self._marked)

    def names(self, index: int) -> tuple[str, ...]:
        """What the marker at a record is called, nothing where there is none."""
        at = bisect_left(self._marked, index)
        if at == len(self._marked) or self._marked[at] != index:
            return ()
        what = self._whats[index]
        name = _MARKERS.get(what & _KIND)
        return (*((name,) if name else ()), *(("fork",) if what & _FORK else ()))

    def marker(self, index: int, step: int) -> int:
        """The index of the next marker after a record (`step` 1) or before it (-1), -1 for none."""
        if step > 0:
            at = bisect_right(self._marked, index)
            return self._marked[at] if at < len(self._marked) else -1
        at = bisect_left(self._marked, index)
        return self._marked[at - 1] if at else -1

    def is_aside(self, index: int) -> bool:
        """Whether a record is of another branch than the one that a resume goes on with."""
        return bool(self._whats[index] & _ASIDE)

    def cut(self, idle: float) -> None:
        """Cut pauses to `idle` seconds from now on."""
        self.idle = idle
        self._shown = array("d", self._paces())

    def _paces(self) -> Iterator[float]:
        """The time of the replay at each record, and nothing where there is none."""
        if self.timed:
            gaps = map(sub, islice(self._times, 1, None), self._times)
            waits = map(min, gaps, repeat(self.idle))
        else:
            waits = map(self._read, range(len(self) - 1))
        return islice(accumulate(waits, initial=0.0), len(self))

    def _read(self, index: int) -> float:
        return min(max(self._lengths[index] / _READ, _SHORTEST), _LONGEST)

    def add(self, record: Record, what: str, length: int, seconds: float) -> None:
        """Add a record; `length` counts the characters of its text."""
        self._lines.append(record.line)
        self._starts.append(record.start)
        self._ends.append(record.end)
        self._times.append(seconds)
        self._whats.append(_WHAT[what])
        self._lengths.append(min(length, _MOST))

    def keep(self, chosen: Callable[[int], bool]) -> None:
        """Leave only the records that begin at offsets which are chosen."""
        kept = array("q", (n for n, start in enumerate(self._starts) if chosen(start)))
        if len(kept) == len(self):
            return
        for name in ("_lines", "_starts", "_ends", "_times", "_lengths"):
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, (column[n] for n in kept)))
        self._whats = bytearray(self._whats[n] for n in kept)

    def unmarked(self) -> Timeline:
        """A copy that knows of no markers and branches: `keep` and `finish` make a branch of it."""
        out = copy(self)
        vars(out).update(_whats=self._whats.translate(_KINDS), _marked=array("i"))
        return out

    def part(self, of_branch: Callable[[int], bool]) -> None:
        """Tell the records of other branches; `of_branch` takes the offset of a record."""
        for index, start in enumerate(self._starts):
            if not of_branch(start):
                self._whats[index] |= _ASIDE

    def finish(self, forks_at: Iterable[int] = ()) -> None:
        """Set markers and pace, once all records are there; `forks_at` are offsets of forks."""
        for start in forks_at:
            # Where the last record that branches share is not shown, the one before it counts.
            index = bisect_right(self._starts, start) - 1
            if index >= 0:
                self._whats[index] |= _FORK
        before = ""
        for index, what in enumerate(self._whats):
            name = _MARKERS.get(what & _KIND, "")
            # A compaction can be two records: where it was, and what it put in place.
            if (name and not name == before == "compaction") or what & _FORK:
                self._marked.append(index)
            before = name
        first = self._times[0] if self._times else 0.0
        self._times = array("d", (time - first for time in self._times))
        self.timed = bool(self._times) and self._times[-1] > 0
        self.cut(self.idle)


class _Clock:
    """Adds up the time between records that tell when they were written."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._passed = 0.0

    def see(self, told: str) -> float:
        """Seconds from the first record with a time to this one; never less than before.

        A record that tells no time, or one that cannot be, has that of the record before it.
        """
        time = moment(told) if told else None
        seconds = time.timestamp() if time else 0.0
        if not _FIRST <= seconds <= _LAST:
            return self._passed
        if self._last is None or self._last - seconds > _SET_BACK:
            self._last = seconds
        self._passed += max(seconds - self._last, 0.0)
        self._last = max(seconds, self._last)
        return self._passed


def build(
    session: Session,
    branch: str = "all",
    *,
    thinking: bool = False,
    progress: Callable[[int], None] | None = None,
    records: Iterable[tuple[Record, Meaning | None]] | None = None,
) -> Timeline:
    """The timeline of a session that was not read yet; it is read once.

    `progress` is told now and then up to which byte offset it is read. `records` are those of the
    session, where somebody else looks at them too, or reads them again.

    `branch` is "all", "live" for what a resume reaches, or the record that a branch ends with, by
    line, id or beginning of the id. `thinking` says that thoughts are shown too. Raises UsageError
    where there is no such branch.
    """
    out, clock, graph = Timeline(), _Clock(), session.graph
    named = Named("" if branch in ("all", "live") else branch)
    for record, meaning in session.read() if records is None else records:
        if progress is not None and record.line % _TOLD == 0:
            progress(record.end)
        if meaning is None:
            if record.raw.strip() or record.end > record.start + len(record.raw):
                out.add(record, "damage", 0, clock.see(""))
            continue
        if graph is not None and meaning.linked:
            named.see(record, meaning, graph.row_at(record.start))
        seconds, what, length = clock.see(meaning.time), "", 0
        for passage in shown(record.value or {}, meaning, thinking=thinking):
            what = what or _what_is(passage, meaning)
            length += len(passage.text)
        if what:
            out.add(record, what, length, seconds)
    if graph is None:
        if branch not in ("all", "live"):
            raise UsageError(
                f"{path_of(session.source)} has no branches", hint="leave out --branch"
            )
        out.finish()
        return out
    leaf = graph.leaf if branch in ("all", "live") else named.row(path_of(session.source))
    on_way = way(session, graph, leaf)
    if branch == "all":
        out.part(partial(_belongs, graph, on_way))
    else:
        out.keep(partial(_belongs, graph, graph.live if branch == "live" else on_way))
    out.finish(graph.place(row).start for row in forks(graph, on_way))
    return out


def branch_of(whole: Timeline, session: Session, leaf: int) -> Timeline:
    """The branch whose leaf is a row of the session's graph, out of the timeline of all branches.

    It is what `build` makes of the branch, without the session being read again.
    """
    graph, out = session.graph, whole.unmarked()
    assert graph is not None
    on_way = way(session, graph, leaf)
    out.keep(partial(_belongs, graph, on_way))
    out.finish(graph.place(row).start for row in forks(graph, on_way))
    return out


def _belongs(graph: Graph, rows: bytearray, start: int) -> bool:
    """Whether the record at an offset is of a branch; one without a place in the tree always is."""
    row = graph.row_at(start)
    return row == len(graph) or graph.place(row).start != start or bool(rows[row])


def shown(value: dict[str, Any], meaning: Meaning, *, thinking: bool) -> Iterator[Passage]:
    """The passages of a record that a replay shows: what was said and done, without notes."""
    return (p for p in passages(value, meaning) if is_shown(p, thinking=thinking))


def is_shown(passage: Passage, *, thinking: bool) -> bool:
    """Whether a replay shows a passage."""
    if passage.kind == "thinking":
        return thinking and bool(passage.text)
    return passage.kind != "note"


def _what_is(passage: Passage, meaning: Meaning) -> str:
    if passage.kind != "message":
        return passage.kind
    opens = any(isinstance(event, Message) and event.prompt for event in meaning.events)
    if opens and not meaning.scope:
        return "prompt"
    return passage.name if passage.name in _WHAT else "system"
