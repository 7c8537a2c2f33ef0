"""The turns of a session out of its records: each call with its result, in one turn.

Results may stand far behind their calls, and prompts between them. What comes meanwhile waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sesstool.convert.content import as_object, is_free, parts_of
from sesstool.convert.losses import Losses
from sesstool.convert.sent import SECOND, Sent, Way, key_of, ordered
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.turns import Call, Result, Text, Turn
from sesstool.formats.values import mapping, text
from sesstool.formats.wording import answer_text
from sesstool.model.units import json_of, units
from sesstool.records.jsonspan import value_at

_SEALED = ("encrypted_content", "data")
_SIGNED = ("signature", "thinkingSignature")


@dataclass(slots=True)
class _Item:
    """What a record says, in one piece: words of a role, a call, or a result.

    `group` is the answer of the model that it belongs to, "" where that is not told. `key` is that
    of a call and of a result; `answered` says that the result of a call follows.
    """

    turn: Turn
    group: str = ""
    key: int = 0
    call: Call | None = None
    result: Result | None = None
    answered: bool = False


class Exchanges:
    """The turns of a session, with what is lost on the way to them."""

    def __init__(self, way: Way, losses: Losses) -> None:
        """Take what is sent of a session that was read."""
        self._way, self._losses = way, losses
        self._form = way.session.format
        self._answered, self._matched = way.pairs()
        self._calls = self._results = 0
        self._turn: Turn | None = None
        self._group = ""
        self._begun = False  # whether a call of the turn has its result
        self._open: dict[int, list[Call]] = {}
        self._waits: deque[_Item] = deque()

    def turns(self) -> Iterator[Turn]:
        """The turns in their order."""
        for sent in self._way.records(self._losses):
            for item in self._items(sent):
                yield from self._feed(item)
        yield from self._flush()

    def _feed(self, item: _Item) -> Iterator[Turn]:
        if self._open and not self._belongs(item):
            self._waits.append(item)
            return
        yield from self._take(item)
        while self._waits and not self._open:
            yield from self._take(self._waits.popleft())
            # Results of calls that waited stand behind them.
            for other in [w for w in self._waits if self._open and self._belongs(w)]:
                self._waits.remove(other)
                yield from self._take(other)

    def _belongs(self, item: _Item) -> bool:
        """Whether something is of the answer whose results are still missing."""
        if item.result is not None:
            return item.key in self._open
        if item.turn.role != "assistant" or self._turn is None:
            return False
        return self._is_same(item) or not (self._waits or self._begun)

    def _is_same(self, item: _Item) -> bool:
        return bool(item.group) and item.group == self._group

    def _take(self, item: _Item) -> Iterator[Turn]:
        if item.result is not None:
            found = self._open.get(item.key)
            assert found is not None  # what matches no call never gets here
            found.pop(0).result, self._begun = item.result, True
            if not found:
                del self._open[item.key]
            return
        if item.turn.role != "assistant":
            yield from self._flush()
            yield item.turn
            return
        if self._turn is not None and not self._joins(item):
            yield from self._flush()
        if self._turn is None:
            self._turn, self._group = Turn("assistant", [], time=item.turn.time), item.group
        self._turn.parts += item.turn.parts
        if item.call is not None:
            self._turn.calls.append(item.call)
            if item.answered:
                self._open.setdefault(item.key, []).append(item.call)

    def _joins(self, item: _Item) -> bool:
        """Whether words or a call are part of the answer that was begun."""
        assert self._turn is not None
        if self._is_same(item) or self._open:
            return True
        return item.call is not None and not self._begun

    def _flush(self) -> Iterator[Turn]:
        turn, self._turn, self._group, self._begun = self._turn, None, "", False
        if turn is not None and (turn.parts or turn.calls):
            yield turn

    def _items(self, sent: Sent) -> Iterator[_Item]:
        prompt = self._form.system(sent.value)
        if prompt is not None:
            parts = parts_of(prompt, self._losses, "", frozenset())
            if parts:
                yield _Item(Turn("system", parts, own=not self._form.verbatim))
        self._losses.add("usage", int(_tells_usage(sent.value)))
        for meaning in sent.meanings:
            events = ordered(meaning.events)
            if all(type(e).__name__ in ("Meta", "StateChange") for e in events):
                self._about(events, told=prompt is not None)
                continue
            own = frozenset(e.pointer for e in events if type(e) is not Message)
            # A summary is sent, also where the agent shows it in another way than messages.
            summary = any(type(e) is Checkpoint and e.summary for e in events)
            for event in events:
                if isinstance(event, Message) and event.hidden and not summary:
                    self._losses.add("not-sent")
                else:
                    yield from self._item(sent.value, meaning, event, own)

    def _about(self, events: list[Event], *, told: bool) -> None:
        """Count a record about the session, unless all of it was told."""
        name = getattr(events[0], "name", "") if events else ""
        if name.endswith("_call"):
            self._losses.add("server-call")
        elif "token" in name:
            self._losses.add("usage")
        elif not told:
            self._losses.add("session-record")

    def _item(
        self, value: dict[str, Any], meaning: Meaning, event: Event, own: frozenset[str]
    ) -> Iterator[_Item]:
        time, group = meaning.time, meaning.turn
        if isinstance(event, Message):
            content = self._form.said(value, event)
            parts = parts_of(content, self._losses, event.pointer, own)
            if parts:
                # What an agent that sends no other system prompt says of itself is its own.
                own_prompt = event.role == "system" and not self._form.verbatim
                yield _Item(Turn(_role(event.role), parts, time=time, own=own_prompt), group)
        elif isinstance(event, ToolCall):
            yield from self._call(meaning, event)
        elif isinstance(event, ToolResult):
            yield from self._result(meaning, event)
        elif isinstance(event, Thinking):
            self._losses.add(_thought(value, event))
        elif isinstance(event, Checkpoint):
            if not any(type(e) is Message for e in meaning.events):
                yield from self._summary(value, meaning)
        elif isinstance(event, Unknown):
            self._losses.add("unknown")

    def _summary(self, value: dict[str, Any], meaning: Meaning) -> Iterator[_Item]:
        words = "".join(unit.words for unit in units(value, meaning))
        if words.strip():
            yield _Item(Turn("user", [Text(words)], time=meaning.time))
        else:
            self._losses.add("session-record")  # a boundary alone

    def _call(self, meaning: Meaning, event: ToolCall) -> Iterator[_Item]:
        if event.server:
            self._losses.add("server-call")
            return
        answered, self._calls = bool(self._answered[self._calls]), self._calls + 1
        call = Call(event.id, event.name, event.arguments, Result([]))
        call.free = is_free(event.arguments, event.fault)
        if not call.free and as_object(event.arguments) is None:
            self._losses.add("arguments")
            call.arguments = {"input": event.arguments}
        if not answered:
            self._losses.add("unanswered")
            session = self._way.session
            scope = meaning.scope or meaning.run
            evidence = session.tracker.evidence(event.id, session.source, scope)
            words = answer_text(evidence, event.name)
            call.result = Result([Text(words)], evidence.state != "completed", made=True)
        key = key_of(meaning, event.id)
        turn = Turn("assistant", [], time=meaning.time)
        yield _Item(turn, meaning.turn, key, call, answered=answered)

    def _result(self, meaning: Meaning, event: ToolResult) -> Iterator[_Item]:
        if event.server:
            self._losses.add("server-result")
            return
        matched, self._results = self._matched[self._results], self._results + 1
        key = key_of(meaning, event.id)
        if matched in (0, SECOND):
            self._losses.add("second-result" if matched else "orphan-result")
            return
        content = event.content
        if type(content) is dict and type(content.get("content")) not in (str, list):
            content = json_of(content)
        parts = parts_of(content, self._losses, "", frozenset())
        turn = Turn("user", [], time=meaning.time)
        yield _Item(turn, "", key, result=Result(parts, event.error))


def _role(role: str) -> Any:
    """The role of a turn: whoever is no model and no program speaks in a person's place."""
    if role in ("system", "developer"):
        return "system"
    return "assistant" if role == "assistant" else "user"


def _thought(value: Any, event: Thinking) -> str:
    """What kind of thing is lost with a thought."""
    held = mapping(value_at(value, event.pointer))
    if any(text(held.get(name)) for name in _SEALED):
        return "encrypted-reasoning"
    return "signed-thinking" if any(text(held.get(name)) for name in _SIGNED) else "thinking"


def _tells_usage(value: dict[str, Any]) -> bool:
    """Whether a record tells of tokens beside what it says."""
    return "usage" in value or "usage" in mapping(value.get("message"))
