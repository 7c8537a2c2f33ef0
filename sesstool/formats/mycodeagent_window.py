"""The windows of MyCodeAgent checkpoints: an index among the messages tells where one begins.

The index counts the messages that the agent's reader makes of the file, which puts in a result
behind the calls that have none. In a session that went on after a cancelled tool, without being
loaded anew, it counts those of the file alone. How many there were is told beside it. The
agent begins a window at a user's message.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sesstool.formats.terms import Fault, Place
from sesstool.formats.values import blocks, mapping, text
from sesstool.records.edits import Edit, EditSet
from sesstool.records.jsonspan import locate
from sesstool.records.source import Source

_USER, _RESULT, _OTHER = range(3)
_ROLES = frozenset({"user", "assistant", "tool", "summary"})


@dataclass(frozen=True, slots=True)
class _Mark:
    """A checkpoint: where its window begins, and how many messages it says stand before it.

    `total` is -1 where it does not say. `written` and `read` are how many do, in the file and
    as the agent reads it; `as_written` says that `begin` counts the former. `compacted` is a
    second copy of `begin`, -1 where it is none. `torn` says that a line before it was not read,
    which may be a message.
    """

    place: Place
    begin: int
    total: int
    compacted: int
    written: int
    read: int
    as_written: bool
    torn: bool


class Windows:
    """Follows the messages and checkpoints of one file; `torn` is set at what nobody can read."""

    def __init__(self) -> None:
        """Nothing is known at first."""
        self._kinds = array("b")
        self._starts = array("q")
        self._numbers = array("q")  # as the agent reads them
        self._count = 0
        self._open: list[str] = []
        self._marks: dict[int, _Mark] = {}
        self._last: _Mark | None = None
        self.torn = False

    def message(self, payload: dict[str, Any], place: Place) -> None:
        """Take note of a message, in file order."""
        role, metadata = text(payload.get("role", "assistant")), mapping(payload.get("metadata"))
        call_id = text(metadata.get("tool_call_id"))
        if role == "tool":
            self._open = [name for name in self._open if name != call_id]
        else:
            self._count += len(self._open)
            calls = blocks(metadata.get("tool_calls")) if role == "assistant" else []
            self._open = [name for c in map(mapping, calls) if (name := text(c.get("id")))]
        if role in _ROLES:
            result = role == "tool" and bool(call_id)
            self._kinds.append(_RESULT if result else _USER if role == "user" else _OTHER)
            self._starts.append(place.start)
            self._numbers.append(self._count)
            self._count += 1

    def checkpoint(self, payload: dict[str, Any], place: Place) -> None:
        """Take note of a checkpoint, in file order: the agent takes the last one."""
        begin, total = payload.get("retain_start_idx"), payload.get("source_message_count")
        self._last = None
        if type(begin) is int and begin > 0:  # else all is sent
            total = total if type(total) is int else -1
            compacted = begin if payload.get("messages_compacted") == begin else -1
            written, read = len(self._starts), self._count
            prompt = begin < written and self._kinds[begin] == _USER
            alone = total == written != read and prompt
            self._last = _Mark(place, begin, total, compacted, written, read, alone, self.torn)
            self._marks[place.start] = self._last

    def _kind(self, number: int) -> int:
        """What a message is, by its number as the agent reads it."""
        at = bisect_left(self._numbers, number)
        if at == len(self._numbers):
            return _OTHER
        return self._kinds[at] if self._numbers[at] == number else _RESULT

    def follow(self, before: Windows, step: EditSet, source: Source) -> list[Edit]:
        """See `Tracker.follow`."""
        mark = self._last
        if mark is None:
            return []
        start = mark.place.start
        old = before._marks.get(step.origins([start])[start])
        if old is None or (old.begin, old.total) != (mark.begin, mark.total):
            return []  # the step itself wrote it anew
        if self._meant(mark, old):
            return _written(mark, self._sendable(mark.begin), mark.total, source)
        numbers = range(len(before._starts)) if old.as_written else before._numbers
        at = bisect_left(numbers, old.begin)
        if at < len(numbers):
            now = bisect_left(self._starts, step.moved(before._starts[at]))
            ahead = numbers[at] - old.begin
        else:
            now = len(self._starts)
            ahead = (len(numbers) if old.as_written else before._count) - old.begin
        begin = (self._numbers[now] if now < len(self._numbers) else self._count) - ahead
        grown = mark.read - (old.written if old.as_written else old.read)
        return _written(mark, self._sendable(begin), max(mark.total + grown, 0), source)

    def _meant(self, mark: _Mark, old: _Mark) -> bool:
        """Whether a checkpoint's index counts the messages as they are now, not as they were.

        So it is where a copy went that it does not count, or a result is where it was.
        """
        if mark.total < 0 or old.as_written:
            return False
        now, then = abs(mark.total - mark.read), abs(mark.total - old.read)
        return now < then or (now == 0 and self._kind(mark.begin) == _USER)

    def faults(self, source: Source) -> Iterator[Fault]:
        """What is wrong with the window that the agent would send."""
        mark = self._last
        if mark is None or mark.torn or mark.as_written:
            return
        if (kind := self._kind(mark.begin)) == _USER:
            return
        missing = mark.total - mark.read
        # Where it does not say, or all are there, nothing tells that another was meant.
        wrong = mark.total >= 0 and missing != 0
        begin = self._beginning(mark.begin, missing if wrong else 0)
        rule, result = "compaction-bad-pointer", kind == _RESULT
        if (
            wrong
            and begin != mark.begin
            and (result or (missing > 0 and self._kind(begin) == _USER))
        ):
            message = f"the checkpoint counts {mark.total} messages; {mark.read} stand before it"
            title = f"let its window begin at message {begin}, and not at {mark.begin}"
            edits = tuple(_written(mark, begin, mark.read, source))
            severity = "error" if result else "warning"
            yield Fault(rule, mark.place, message, title, edits, safe=True, severity=severity)
        elif result:
            message = f"the window begins at message {mark.begin}, a result: its call is not sent"
            title = f"set retain_start_idx to {begin} by hand if the provider refuses that"
            yield Fault(rule, mark.place, message, title, severity="information")

    def _beginning(self, begin: int, missing: int) -> int:
        """Where a window should begin: at the first user's message that can be meant."""
        begin = min(begin, self._count)
        low, high = sorted((begin, min(max(begin - missing, 0), self._count)))
        for number in range(low, high + 1):
            if self._kind(number) == _USER:
                return number
        return self._sendable(low)

    def _sendable(self, begin: int) -> int:
        """A message itself, or of a result its call: the provider takes none without the other."""
        while begin > 0 and self._kind(begin) == _RESULT:
            begin -= 1
        return max(begin, 0)


def _written(mark: _Mark, begin: int, total: int, source: Source) -> list[Edit]:
    """The edits that write the numbers of a checkpoint anew, as far as they change."""
    place = mark.place
    raw = source.read(place.start, place.end)
    changes = [("retain_start_idx", mark.begin, begin)]
    if mark.total >= 0:
        changes.append(("source_message_count", mark.total, total))
    if mark.compacted >= 0:
        changes.append(("messages_compacted", mark.compacted, begin))
    edits = []
    for key, old, new in changes:
        member = locate(raw, f"/payload/{key}")
        if member is not None and old != new:
            edits.append(Edit(place.start + member.start, place.start + member.end, b"%d" % new))
    return edits
