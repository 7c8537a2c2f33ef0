"""Tool calls and their results: a call arms its id, a result consumes it.

Ids may be used again from turn to turn, so there is no set of ids seen: only calls that are open
now, and what was answered last under an id. A call that was answered costs three numbers.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sesstool.formats.events import Checkpoint, Meaning, Message, ToolCall, ToolResult
from sesstool.formats.terms import Place
from sesstool.formats.values import text
from sesstool.records.recover import Record

# What stands in no id that an agent or a provider made.
_ODD = re.compile(r"[^\w.:|-]|\ufffd")
# How many characters of an id damage may change, and among how many calls its own is looked for.
_DAMAGED, _FEW = 3, 16


@dataclass(slots=True)
class Block:
    """Calls that stand together, with their results: `end` is the offset behind the last.

    In mode "next", `last` is the last result that stands where it should, and `since` the offset
    of the first record of which a call is answered there. `turn` is one for all blocks whose
    calls one result could answer.
    """

    end: int
    turn: int
    answered: bool = False
    last: Place | None = None
    since: int = 0


@dataclass(slots=True)
class Call:
    """A tool call. `row` is its record's row in the graph, -1 where there is none.

    `scope` is the subagent or the run that it belongs to: ids are unique inside it only.
    `result` is its own where it is told for a call in `Pairing.reused` or `twins`, else None.
    """

    id: str
    name: str
    place: Place
    turn: str
    scope: str
    row: int
    server: bool
    block: Block
    result: Result | None = None


@dataclass(slots=True)
class Result:
    """A tool result; `alone` says that its record holds nothing else.

    `block` are the calls that it stands directly behind, `turn` is as theirs.
    """

    id: str
    place: Place
    scope: str
    row: int
    alone: bool
    server: bool
    placeholder: bool
    block: Block | None
    turn: int


class Pairing:
    """Pairs the calls and results of one file, in file order.

    After `finish`: `unanswered` calls, `orphans` (results without a call), `duplicates` (a
    result and the place of the one before it), `displaced` (a result that stands where it must
    not, or in a tree may stand where it must not, and its call), `twins` (of two calls that have
    one id at once, the one to change and the other), `reused` (a call under an id that was
    answered before, where each may stand once), `nameless` (a result and a call that can only
    belong together, of which one has no id, or another's), `undecided` (calls and results of
    which nobody can tell which belong together).
    """

    def __init__(
        self,
        mode: Literal["direct", "next", "turn", "order", "none"],
        *,
        once: bool = False,
        twice: bool = False,
    ) -> None:
        """See `Format.pairing` for the mode, and `Format.once`.

        `twice` says that a second result is sound.
        """
        self._twice = twice
        self._mode = mode
        self._once = once
        self._adjacent = mode in ("direct", "next")
        self._role = self._message = ""
        self._open: dict[tuple[str, str], Call] = {}
        self._late: dict[tuple[str, str], Call] = {}
        self._early: dict[tuple[str, str], Result] = {}
        self._answered: dict[int, int] = {}
        self._places = array("q")
        self._block: Block | None = None
        self._said: dict[str, str] = {}
        self._prompted = -1
        self.calls = 0
        self.unanswered: list[Call] = []
        self.orphans: list[Result] = []
        self.duplicates: list[tuple[Result, Place]] = []
        self.displaced: list[tuple[Result, Call]] = []
        self.twins: list[tuple[Call, Call]] = []
        self.reused: list[Call] = []
        self.nameless: list[tuple[Result, Call]] = []
        self.undecided: list[Call | Result] = []

    def see(self, record: Record, meaning: Meaning, row: int) -> None:
        """Take the calls and results of one record."""
        if self._mode == "none":
            return
        calls: list[ToolCall] = []
        results: list[ToolResult] = []
        words: Message | None = None
        message = checkpoint = False
        for event in meaning.events:
            if isinstance(event, Message):
                message = True
                if words is None and not event.hidden:
                    words = event
            elif isinstance(event, ToolCall):
                calls.append(event)
            elif isinstance(event, ToolResult):
                results.append(event)
            elif isinstance(event, Checkpoint):
                checkpoint = True
        if words is not None and (words.prompt or words.role == "assistant"):
            self._said[meaning.scope] = meaning.turn
            if words.prompt:
                self._prompted = record.start
        elif checkpoint:
            self._said[meaning.scope] = ""
        role = words.role if words is not None else ""
        goes_on = self._mode == "next" and self._goes_on(role)
        if message:
            goes_on = goes_on or bool(meaning.joins and meaning.id and meaning.id == self._message)
            self._message = meaning.id
        if not calls and not results:
            if self._block is not None and message and not goes_on:
                self._block = None
                self._close_block()
            return
        if calls:
            if self._block is None or self._block.answered or not (goes_on or not self._adjacent):
                turn = record.start if self._adjacent else self._prompted
                self._block = Block(record.end, turn)
                self._close_block()
            self._block.end = record.end
            for call in calls:
                self._call(_call(call, record, meaning, row, self._block))
        says_more = bool(results) and _has_words(meaning)
        alone = len(results) == 1 and not says_more
        for result in results:
            self._result(self._result_of(result, record, meaning, row, alone=alone))
        if self._mode == "next" and self._role == "user" and not calls and says_more:
            # What comes behind the words can no longer stand with the results before them.
            self._block = None
            self._close_block()

    def _goes_on(self, role: str) -> bool:
        """Whether a message goes on with the model's message before it."""
        if not role:
            return False
        before, self._role = self._role, role
        return before == role == "assistant" and not (self._block and self._block.answered)

    def finish(self) -> None:
        """Judge what is left after the last record."""
        # What was answered is asked about by records alone, and takes the most room.
        self._answered, self._places = {}, array("q")
        self.unanswered += self._late.values()
        self.unanswered += self._open.values()
        self._match_early()
        self._match_twins()
        self.unanswered.sort(key=lambda call: (call.place.start, call.place.pointer))
        self.orphans += self._early.values()
        self.orphans.sort(key=lambda result: result.place.start)
        self._match_nameless()

    def _match_early(self) -> None:
        """A result without a call may be that of an unanswered one further down.

        Or it is the only one left for a call without an id.
        """
        unnamed: defaultdict[str, list[Call]] = defaultdict(list)
        named: defaultdict[str, list[Call]] = defaultdict(list)
        for call in self.unanswered:
            (named[call.id] if call.id else unnamed[call.scope]).append(call)
        taken: set[int] = set()
        for orphan in [o for o in self.orphans if o.id]:
            waiting, into = unnamed[orphan.scope], self.nameless
            if len(waiting) != 1 or waiting[0].place.start >= orphan.place.start:
                waiting, into = named[orphan.id], self.displaced
                waiting = [c for c in waiting if c.place.start > orphan.place.start][:1]
            for call in waiting:
                into.append((orphan, call))
                (named[call.id] if call.id else unnamed[call.scope]).remove(call)
                taken |= {id(orphan), id(call)}
        self._leave_out(taken)

    def _leave_out(self, taken: set[int]) -> None:
        self.orphans = [o for o in self.orphans if id(o) not in taken]
        self.unanswered = [c for c in self.unanswered if id(c) not in taken]

    def _match_twins(self) -> None:
        """A second result under the id of two calls is that of the second call."""
        again: defaultdict[tuple[str, str], list[Call]] = defaultdict(list)
        for call, _ in reversed(self.twins):
            again[call.scope, call.id].append(call)
        rest = []
        for result, first in self.duplicates:
            waiting = again.get((result.scope, result.id))
            if waiting:
                waiting.pop().result = result
            else:
                rest.append((result, first))
        self.duplicates = rest

    def match_left(self, near: Callable[[Result, Call], bool]) -> None:
        """Pair a call and a result of one block whose ids went apart, where that can be seen.

        The call's id is that of another call beside it, or damage shows in one of the two ids, or
        one message holds the block's other results and this one, and nothing else is left.
        `near` says of a result and the call above it whether they can be of one turn.
        """
        twins = {id(call) for call, _ in self.twins if call.result is None}
        waiting: defaultdict[int, list[Call]] = defaultdict(list)
        for call in [*self.unanswered, *(call for call, _ in self.twins if id(call) in twins)]:
            if call.id and not call.server:
                waiting[id(call.block)].append(call)
        left = Counter(id(orphan.block) for orphan in self.orphans)
        taken: set[int] = set()
        for orphan in self.orphans:
            calls = waiting.get(id(orphan.block), []) if orphan.block is not None else []
            if not orphan.id or orphan.server or orphan.placeholder or len(calls) > _FEW:
                continue
            alone = len(calls) == left[id(orphan.block)] == 1
            calls = [
                c
                for c in calls
                if id(c) not in taken
                and (
                    id(c) in twins
                    or _mangled(c.id, orphan.id)
                    or (alone and c.block.last and c.block.last.start == orphan.place.start)
                )
            ]
            if len(calls) != 1 or not near(orphan, calls[0]):
                continue
            taken |= {id(orphan), id(calls[0])}
            if id(calls[0]) in twins:
                calls[0].result = orphan
            else:
                self.nameless.append((orphan, calls[0]))
        self._leave_out(taken)

    def _match_nameless(self) -> None:
        """Results without an id belong to calls above them that nobody else answered."""
        for scope in {o.scope for o in self.orphans if not o.id}:
            results = [o for o in self.orphans if not o.id and o.scope == scope]
            calls = [
                c
                for c in self.unanswered
                if c.scope == scope and c.id and c.place.start < results[-1].place.start
            ]
            if not calls:
                continue
            results = [o for o in results if o.place.start > calls[0].place.start]
            if len(results) == len(calls) == 1:
                self.nameless.append((results[0], calls[0]))
            else:
                self.undecided += [*calls, *results]
            self._leave_out({id(one) for one in (*calls, *results)})

    def _close_block(self) -> None:
        """Another message: where results must follow directly, they can only come late now."""
        if not self._adjacent:
            return
        for key, call in self._open.items():
            stale = self._late.pop(key, None)
            if stale is not None:
                self.unanswered.append(stale)
            self._late[key] = call
        self._open.clear()

    def _call(self, call: Call) -> None:
        self.calls += 1
        key = (call.scope, call.id)
        if not self._adjacent and (early := self._early.pop(key, None)) is not None:
            self.displaced.append((early, call))
            self._answer(key, early)
            return
        before = self._open.get(key)
        if before is not None:
            one_turn = before.turn and before.turn == call.turn
            if one_turn if self._mode == "turn" else before.block is call.block:
                self.twins.append((call, before))
                return
            if self._mode == "order":
                # The result stands behind the later one: the earlier is its copy, or needs an id.
                self.twins.append((before, call))
            else:
                self.unanswered.append(before)
        self._open[key] = call
        if self._once and hash(key) in self._answered:
            self.reused.append(call)

    def _result(self, result: Result) -> None:
        if not result.id:
            self._nameless(result)
            return
        key = (result.scope, result.id)
        if key in self._open:
            call = self._open.pop(key)
            if self._is_late(result, call):
                self.displaced.append((result, call))
            elif self._mode == "next" and not result.server:
                block, begins = call.block, call.place.start
                block.since = begins if block.last is None else min(block.since, begins)
                block.last = result.place
            self._answer(key, result)
            call.result = result
        elif key in self._late and not result.server:
            call = self._late.pop(key)
            self.displaced.append((result, call))
            self._answer(key, result)
            call.result = result
        elif (at := self._answered.get(hash(key))) is not None:
            line, start, end = self._places[at : at + 3]
            if not self._twice:
                self.duplicates.append((result, Place(line, start, end)))
        elif not self._adjacent and key not in self._early:
            self._early[key] = result
        else:
            self.orphans.append(result)

    def _result_of(
        self, event: ToolResult, record: Record, meaning: Meaning, row: int, *, alone: bool
    ) -> Result:
        place = Place(record.line, record.start, record.end, event.pointer)
        scope = meaning.scope or meaning.run
        # In the model's own message no result can stand.
        block = None if self._mode == "next" and self._role == "assistant" else self._block
        turn = self._prompted
        if self._adjacent:
            turn = block.turn if block is not None else -1
        more = (event.server, event.placeholder, block, turn)
        return Result(event.id, place, scope, row, alone, *more)

    def _is_late(self, result: Result, call: Call) -> bool:
        """Whether something was said between a call and its result."""
        if self._mode == "turn":
            return self._said.get(result.scope) != call.turn
        if self._mode == "next":
            return self._role == "assistant" and not result.server
        return self._mode == "order" and self._prompted > call.place.start

    def _nameless(self, result: Result) -> None:
        """A result that names no call is the answer of the only one that is open."""
        waiting = [key for key in self._open if key[0] == result.scope]
        if len(waiting) == 1 and self._open[waiting[0]].id:
            self.nameless.append((result, self._open.pop(waiting[0])))
        else:
            self.orphans.append(result)

    def _answer(self, key: tuple[str, str], result: Result) -> None:
        if self._block is not None:
            self._block.end = max(self._block.end, result.place.end)
            self._block.answered = True
        self._answered[hash(key)] = len(self._places)
        self._places.extend(result.place[:3])


def _call(event: ToolCall, record: Record, meaning: Meaning, row: int, block: Block) -> Call:
    place = Place(record.line, record.start, record.end, event.pointer)
    scope = meaning.scope or meaning.run
    return Call(event.id, event.name, place, meaning.turn, scope, row, event.server, block)


def _mangled(one: str, other: str) -> bool:
    """Whether two ids were one before a few bytes of one of them were damaged."""
    same = _alike(one, other) + _alike(one[::-1], other[::-1])
    damaged = bool(_ODD.search(one + other))
    return damaged and same >= max(len(one), len(other)) - _DAMAGED


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _has_words(meaning: Meaning) -> bool:
    """Whether the record says something beside its results."""
    for event in meaning.events:
        if type(event) is Message and type(event.content) is list:
            for block in event.content:
                if type(block) is dict and not text(block.get("type")).endswith("tool_result"):
                    return True
            return False
    return False
