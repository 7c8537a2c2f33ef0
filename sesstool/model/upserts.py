"""What is left of a session in which records replace and take back what was said before.

Gemini CLI keeps such a log: a message takes the place of an earlier one of its id, a checkpoint
restates all messages, and a rewind takes the last ones back. What a resume sends is what is left.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby

from sesstool.formats.events import Meaning, Message, StateChange
from sesstool.formats.terms import Place
from sesstool.records.recover import Record

_FATES = ("", "superseded", "rollback", "compaction")
_LIVE, _SUPERSEDED, _ROLLBACK, _COMPACTION = range(4)
_TALK = ("user", "assistant")


class Upserts:
    """Follows the messages of one session; each is a row."""

    def __init__(self) -> None:
        """Start without rows."""
        self._starts = array("q")
        self._ends = array("q")
        self._lines = array("q")
        self._nth = array("l")  # which of its record's messages a row is
        self._sent = bytearray()  # whether it is a message that is sent
        self._fate = bytearray()
        self._rows: dict[int, int] = {}  # those that are left, in the order in which they are sent
        self._cleared: dict[int, int] = {}  # those that a checkpoint has not restated

    def see(self, record: Record, meaning: Meaning) -> None:
        """Take in one record."""
        for event in meaning.events:
            if isinstance(event, StateChange) and event.name == "restated":
                for row in self._rows.values():
                    self._fate[row] = _COMPACTION
                self._cleared |= self._rows
                self._rows = {}
            elif isinstance(event, StateChange) and event.name == "rewind":
                self._rewind(hash(event.value))
        for nth, (name, events) in enumerate(
            zip(meaning.messages, [*meaning.spans()][1:], strict=True)
        ):
            key, row = hash(name[0]), len(self._starts)
            before = self._rows.get(key, self._cleared.pop(key, -1))
            if before >= 0:
                self._fate[before] = _SUPERSEDED
            self._rows[key] = row
            self._starts.append(record.start)
            self._ends.append(record.end)
            self._lines.append(record.line)
            self._nth.append(nth)
            said = (e for e in events if isinstance(e, Message))
            self._sent.append(any(e.role in _TALK and not e.hidden for e in said))
            self._fate.append(_LIVE)

    def _rewind(self, key: int) -> None:
        """Take a message back with all behind it; all of them where it is not there."""
        gone = None
        while self._rows and gone != key:
            gone, row = self._rows.popitem()
            self._fate[row] = _ROLLBACK

    def taken_back(self, start: int) -> str:
        """What took the record at an offset back, "" where some of it is left.

        That is "superseded", "rollback" or "compaction".
        """
        row = bisect_left(self._starts, start)
        fate = _LIVE
        while row < len(self._starts) and self._starts[row] == start:
            fate = self._fate[row]
            if fate == _LIVE:
                break
            row += 1
        return _FATES[fate]

    def messages(self) -> tuple[int, int]:
        """See `Session.messages`."""
        count = sum(self._sent[row] for row in self._rows.values())
        return count, count

    def in_order(self) -> Iterator[tuple[Place, list[int]]]:
        """The records that are left, in the order in which they are sent.

        Each with those of its messages that follow each other there.
        """
        for start, rows in groupby(self._rows.values(), key=self._starts.__getitem__):
            found = list(rows)
            place = Place(self._lines[found[0]], start, self._ends[found[0]])
            yield place, [self._nth[row] for row in found]


def part(meaning: Meaning, wanted: list[int]) -> Meaning:
    """The same record with the events of some of its messages only, in this order."""
    spans = [*meaning.spans()][1:]
    events = [event for nth in wanted for event in spans[nth]]
    return Meaning(events, time=meaning.time, scope=meaning.scope)
