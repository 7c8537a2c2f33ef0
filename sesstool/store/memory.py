"""What a session was about and how it stands, told record by record in bounded memory.

An item is its kind and the places in the file that it is drawn from; its words are a pure function
of what stands there. So the state can be kept without a word of the session in it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from sesstool.formats.base import Format
from sesstool.formats.events import Checkpoint, Event, Meaning, Message, ToolCall, ToolResult
from sesstool.formats.terms import Place
from sesstool.store import remarks
from sesstool.store.lineage import Lineage, whole
from sesstool.store.remarks import Called, Outcome

VERSION = 1
"""Of what is saved."""
Kind = Literal["goal", "done", "decided", "failed", "check", "todo", "task", "said", "ended"]
LIMITS: dict[Kind, int] = {
    "goal": 32,
    "done": 200,
    "decided": 60,
    "failed": 60,
    "check": 60,
    "todo": 8,
    "task": 100,
    "said": 40,
    "ended": 4,
}
"""How many items of each kind are remembered, taken back ones among them."""
OPEN = 100
"""How many calls without a result are."""
_Key = tuple[str, str]  # the scope or run of a call, and its id
_DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


@dataclass(slots=True)
class Item:
    """Something worth remembering: the turn it is of, where it stands, and what is told of it.

    `told` is for "goal" and "said" the words, for "todo" and an update of a task the `Called`, for
    "ended" the reason, else the `Called` and its `Outcome`. `phase` is one of `remarks.PHASES` for
    an open call where the format tells, else "".
    """

    turn: int
    places: tuple[Place, ...]
    told: tuple[Any, ...]
    phase: str = ""

    @property
    def line(self) -> int:
        """The line of the record that it was known by."""
        return self.places[-1].line

    @property
    def start(self) -> int:
        """The offset of that record."""
        return self.places[-1].start


class SessionMemory:
    """The memory of one session, fed with its records in file order.

    `records` counts them, `end` is the offset behind the last, `line` its line; `unread` counts
    pieces between them that are none, for whoever reads them to set. What a rollback or a rewind
    took back is left out; what stands before a compaction is not.
    """

    def __init__(self, form: Format) -> None:
        """Start before the first record."""
        self.format = form
        self.records = self.end = self.line = self.compactions = self.unread = 0
        self.items: dict[Kind, list[Item]] = {kind: [] for kind in LIMITS}
        self.lineage = Lineage(form)
        self.base: Item | None = None
        """The session whose own file this one goes on from, by its first record."""
        self._open: list[tuple[_Key, Item]] = []

    def see(self, value: dict[str, Any], meaning: Meaning, start: int, end: int, line: int) -> None:
        """Take in a record: its decoded value, what it means, its byte span and its line."""
        if not self.records and (name := remarks.base(value, self.format)):
            self.base = Item(0, (Place(line, start, end),), (name,))
        self.records += 1
        self.end, self.line = end, line
        turn = self.lineage.see(meaning, start, end)
        self._see(meaning, turn, start, end, line)
        for inner in meaning.nested:
            if inner is meaning.nested[0]:  # a conversation of its own
                self.lineage.begin_anew(start)
            self._see(inner, self.lineage.see(inner, start, end), start, end, line)
        self._about(value, meaning, turn, Place(line, start, end))
        for gone in self.lineage.forgotten:
            self._let_go(gone.number, gone.cut, gone.start, live=gone.live)
        self.lineage.forgotten.clear()

    def _see(self, meaning: Meaning, turn: int, start: int, end: int, line: int) -> None:
        scope = meaning.scope or meaning.run
        for event in meaning.events:
            place = Place(line, start, end, event.pointer)
            if type(event) is Message:
                if not (event.hidden or meaning.scope):
                    self._message(event, meaning, turn, place)
            elif type(event) is ToolCall:
                self._call(event, scope, turn, place)
            elif type(event) is ToolResult:
                self._result(event, scope, turn, place)
            elif type(event) is Checkpoint:
                self.compactions += event.summary

    def _message(self, event: Message, meaning: Meaning, turn: int, place: Place) -> None:
        if event.prompt:
            summary = any(type(other) is Checkpoint for other in meaning.events)
            if not summary and (words := remarks.goal(event)):
                self._keep("goal", Item(turn, (place,), (words,)))
        elif event.role == "assistant" and (words := remarks.conclusion(event)):
            said = self.items["said"]
            if said and said[-1].turn == turn:
                said.pop()
            self._keep("said", Item(turn, (place,), (words,)))

    def _call(self, event: ToolCall, scope: str, turn: int, place: Place) -> None:
        call = remarks.called(event, self.format)
        item = Item(turn, (place,), (call,))
        if call.role == "todo":
            self._keep("todo", item)
        elif call.role == "task" and call.more[0]:
            self._keep("task", item)
        key = (scope, event.id)
        at = self._awaited(key)
        # Ids may be used again, but not in the turn that waits for the result: that is a copy.
        if at is not None and (turn, item.told) == (self._open[at][1].turn, self._open[at][1].told):
            item.phase = self._open.pop(at)[1].phase
        self._open.append((key, item))
        if len(self._open) > OPEN:
            self.lineage.count(self._open.pop(0)[1].turn, "open")

    def _awaited(self, key: _Key) -> int | None:
        """Where the newest open call of an id is, for ids may be used again."""
        at = len(self._open) - 1
        while at >= 0 and self._open[at][0] != key:
            at -= 1
        return at if at >= 0 else None

    def _result(self, event: ToolResult, scope: str, turn: int, place: Place) -> None:
        at = self._awaited((scope, event.id))
        if at is None or event.placeholder:
            return
        _, item = self._open.pop(at)
        call: Called = item.told[0]
        ended = remarks.outcome(call, event, self.format)
        kind = _kind(call, ended)
        if kind is not None:
            self._keep(kind, Item(turn, (*item.places, place), (call, ended)))

    def _about(self, value: dict[str, Any], meaning: Meaning, turn: int, place: Place) -> None:
        """Take in what only the record as a whole tells."""
        call_id, phase = remarks.phase(value, self.format)
        at = self._awaited((meaning.scope or meaning.run, call_id)) if phase else None
        if at is not None:
            item = self._open[at][1]
            item.phase = max(phase, item.phase, key=("", *remarks.PHASES).index)
        if reason := remarks.ending(value, self.format):
            self._keep("ended", Item(turn, (place,), (reason,)))

    def _keep(self, kind: Kind, item: Item) -> None:
        items = self.items[kind]
        items.append(item)
        if len(items) > LIMITS[kind]:
            # The first prompt says what the session is for.
            gone = items.pop(int(kind == "goal"))
            self.lineage.count(gone.turn, kind)

    def _let_go(self, number: int, cut: int, start: int, *, live: bool) -> None:
        """Lay what is of a forgotten turn to turn 0, or drop it where it was taken back."""

        def stays(item: Item) -> bool:
            if item.turn == number:
                item.turn = 0
                return live
            return not (live and item.turn == 0 and cut <= item.start < start)

        for items in self.items.values():
            items[:] = [item for item in items if stays(item)]
        self._open = [(key, item) for key, item in self._open if stays(item)]

    def live(self, kind: Kind) -> list[Item]:
        """The items of a kind that were not taken back, the oldest first."""
        return [i for i in self.items[kind] if self.lineage.is_live(i.turn, i.start)]

    def open_calls(self) -> list[Item]:
        """The calls without a result that were not taken back, the oldest first."""
        return [i for _, i in self._open if self.lineage.is_live(i.turn, i.start)]

    def copy(self) -> SessionMemory:
        """A memory of its own that goes on from here."""
        other = SessionMemory(self.format)
        other.records, other.end, other.line = self.records, self.end, self.line
        other.compactions, other.unread = self.compactions, self.unread
        other.items, other.base = deepcopy(self.items), self.base
        other.lineage, other._open = deepcopy(self.lineage), deepcopy(self._open)
        return other

    def as_dict(self) -> dict[str, Any]:
        """The memory as JSON, by its sections; every text is one line, safe to show."""
        from sesstool.store.recall import as_dict  # noqa: PLC0415 - it reads this module

        return as_dict(self)

    def render(self, limit: int = 4000) -> str:
        """The memory as one system message of at most so many characters."""
        from sesstool.store.recall import render  # noqa: PLC0415 - it reads this module

        return render(self, limit)

    def saved(self) -> dict[str, Any]:
        """The state as JSON, without any text of the session: places, counts, hashes of ids."""
        return {
            "version": VERSION,
            "format": self.format.name,
            "linked": self.format.linked,
            "seen": [self.records, self.end, self.line, self.compactions, self.unread],
            "lineage": self.lineage.saved(),
            "items": {k: [_packed(item) for item in items] for k, items in self.items.items()},
            "open": [_packed(item) for _, item in self._open],
            "base": _packed(self.base) if self.base is not None else None,
        }

    @classmethod
    def restored(
        cls, form: Format, saved: dict[str, Any], read: Callable[[Place], dict[str, Any]]
    ) -> SessionMemory:
        """Take up what was saved; `read` gives the decoded record at a place.

        Raises ValueError where it is damaged, is of another version, or does not fit the file.
        """
        memory = cls(form)
        try:
            if (saved["version"], saved["format"], saved["linked"]) != (
                *(VERSION, form.name, form.linked),
            ):
                raise ValueError("saved by another version")
            whole(*saved["seen"])
            memory.records, memory.end, memory.line, *counts = saved["seen"]
            memory.compactions, memory.unread = counts
            memory.lineage.restore(saved["lineage"])
            drawn = _Drawn(form, read)
            for kind in LIMITS:
                packed = saved["items"][kind][: LIMITS[kind]]
                memory.items[kind] = [drawn.item(kind, one) for one in packed]
            memory._open = [drawn.open(one) for one in saved["open"][:OPEN]]
            memory.base = drawn.base(saved["base"]) if saved["base"] is not None else None
        except _DAMAGED as error:
            raise ValueError(f"it cannot be taken up: {type(error).__name__}") from error
        return memory


def _kind(call: Called, ended: Outcome) -> Kind | None:
    """What a call with its result is remembered as, None for nothing."""
    if ended.state == "refused" or (call.role == "ask" and ended.state == "ok"):
        return "decided"
    if call.role == "check":
        return "check"
    if ended.state == "failed":
        # Where a search finds nothing, its program fails without a word.
        silent = call.role == "look" and ended.first in ("", "(no output)")
        return None if silent else "failed"
    if call.role == "task" and not call.more[0]:
        return "task"
    return "done" if call.role == "effect" else None


def _packed(item: Item) -> list[Any]:
    return [item.turn, item.phase, *(list(place) for place in item.places)]


class _Drawn:
    """Draws the words of items once more from where they stand."""

    def __init__(self, form: Format, read: Callable[[Place], dict[str, Any]]) -> None:
        self._form = form
        self._read = read
        self._last: tuple[tuple[int, int], dict[str, Any], Meaning] | None = None

    def _record(self, place: Place) -> tuple[dict[str, Any], Meaning]:
        span = (place.start, place.end)
        if self._last is None or self._last[0] != span:
            value = self._read(place)
            self._last = span, value, self._form.meaning(value)
        return self._last[1:]

    def _event(self, place: Place, kind: type[Event]) -> tuple[Any, Meaning]:
        """The event of a kind at a place, and the meaning that it is of."""
        _, meaning = self._record(place)
        for one in chain([meaning], meaning.nested):
            for event in one.events:
                if type(event) is kind and event.pointer == place.pointer:
                    return event, one
        raise ValueError("there is no such event")

    def item(self, kind: Kind, packed: list[Any]) -> Item:
        turn, _, places = _unpacked(packed)
        first, last = places[0], places[-1]
        told: tuple[Any, ...]
        if kind == "goal":
            told = (remarks.goal(self._event(first, Message)[0]),)
        elif kind == "said":
            told = (remarks.conclusion(self._event(first, Message)[0]),)
        elif kind == "ended":
            told = (remarks.ending(self._record(first)[0], self._form),)
        else:
            call = remarks.called(self._event(first, ToolCall)[0], self._form)
            told = (call,)
            if len(places) > 1:
                result = self._event(last, ToolResult)[0]
                told = (call, remarks.outcome(call, result, self._form))
        if not told[0] or len(places) != _PLACES.get(kind, len(told)):
            raise ValueError("nothing is told there")
        return Item(turn, places, told)

    def open(self, packed: list[Any]) -> tuple[_Key, Item]:
        """An open call, behind the key of its result."""
        turn, phase, places = _unpacked(packed)
        event, meaning = self._event(places[0], ToolCall)
        key = (meaning.scope or meaning.run, event.id)
        return key, Item(turn, places[:1], (remarks.called(event, self._form),), phase)

    def base(self, packed: list[Any]) -> Item:
        turn, _, places = _unpacked(packed)
        name = remarks.base(self._record(places[0])[0], self._form)
        if not name:
            raise ValueError("nothing is told there")
        return Item(turn, places, (name,))


_PLACES = {"done": 2, "decided": 2, "failed": 2, "check": 2, "todo": 1, "goal": 1, "said": 1}


def _unpacked(packed: list[Any]) -> tuple[int, str, tuple[Place, ...]]:
    turn, phase, *places = packed
    if phase not in ("", *remarks.PHASES) or not 1 <= len(places) <= 2:
        raise ValueError("no phase, or no places")
    whole(turn)
    found = tuple(Place(*place) for place in places)
    for place in found:
        whole(*place[:3])
        if not (0 <= place.start <= place.end and type(place.pointer) is str):
            raise ValueError("no place")
    return turn, phase, found
