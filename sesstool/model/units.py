"""What a record says and does, as units: one message, call, result or thought each.

Units are what is read, and what two sessions share or do not. They mean the same in every format:
envelopes, ids and times are no part of what they say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    StateChange,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.values import mapping, text
from sesstool.model.exact import loads, rounded
from sesstool.records.heal import decode
from sesstool.records.jsonspan import value_at

KINDS = ("message", "thinking", "call", "result", "compaction", "rollback", "unknown")


@dataclass(slots=True)
class Unit:
    """One thing that was said or done.

    `kind` is one of KINDS. `name` is the role of a message, or the tool of a call. `content` is
    text, or what a call was given. `id` is the call's id for calls and results. `pointer` tells
    where in the record it stands. `error` says that a result tells of a failure.
    """

    kind: str
    name: str
    content: Any
    id: str = ""
    pointer: str = ""
    error: bool = False

    @property
    def words(self) -> str:
        """The content as text."""
        return self.content if type(self.content) is str else canonical(self.content).decode()

    def key(self) -> int:
        """A number of 64 bits, with a sign, that is the same for units that say the same.

        It is so within one run, and of another one in the next.
        """
        content = self.content
        said = content if type(content) is str else canonical(content)
        return hash((self.kind, self.name, self.error, said))


Told = Callable[[Any], str]


def json_of(block: Any) -> str:
    """A block as JSON."""
    return canonical(block).decode()


def encoded(words: str) -> bytes:
    """A text as UTF-8, also one with half a character in it."""
    try:
        return words.encode()
    except UnicodeEncodeError:
        return words.encode("utf-8", "surrogatepass")


def units(value: dict[str, Any], meaning: Meaning, told: Told = json_of) -> Iterator[Unit]:
    """The units of a record, in the order in which the model gets them.

    `told` gives the words for a block that has no text, by default its JSON.
    """
    events = meaning.events
    if len(events) == 1 and type(events[0]) is Message:  # most records
        unit = _said(events[0], set(), told)
        if unit is not None:
            yield unit
        return
    compaction = [event for event in events if type(event) is Checkpoint]
    if compaction:
        pointer = max(compaction, key=lambda event: event.summary).pointer
        yield Unit("compaction", "", _summary(value_at(value, pointer), told), pointer=pointer)
        return
    own = {event.pointer for event in events if type(event) is not Message}
    for event in (e for span in meaning.spans() for e in sorted(span, key=_order)):
        unit = _said(event, own, told) if isinstance(event, Message) else _unit(value, event, told)
        if unit is not None:
            yield unit


def _order(event: Event) -> int:
    """Thoughts come before words, words before calls; the rest stands as it is."""
    kind = type(event)
    if kind is Thinking:
        return 0
    return 1 if kind is Message else 2


def _unit(value: dict[str, Any], event: Event, told: Told) -> Unit | None:
    if isinstance(event, ToolCall):
        arguments = _arguments(event.arguments)
        return Unit("call", event.name, arguments, event.id, event.pointer)
    if isinstance(event, ToolResult):
        words = flat(event.content, told)
        return Unit("result", "", words, event.id, event.pointer, event.error)
    if isinstance(event, Thinking):
        words = _thought(value_at(value, event.pointer), told)
        return Unit("thinking", "", words, pointer=event.pointer)
    if isinstance(event, StateChange) and event.name == "rollback":
        return Unit("rollback", "", str(event.value), pointer=event.pointer)
    if isinstance(event, Unknown):
        return Unit("unknown", event.name, value_at(value, event.pointer), pointer=event.pointer)
    return None


def _summary(held: Any, told: Told) -> str:
    """What a compaction puts in place of what was said: the whole of it, "" at a mere boundary."""
    if type(held) is not dict:
        return flat(held, told)
    said = held.get("summary") or held.get("message")
    if type(said) is dict:
        return flat(said.get("content"), told)
    items = held.get("replacement_history")
    if said or type(items) is not list:
        return flat(said, told)
    return "\n".join(flat(mapping(item).get("content", item), told) for item in items)


def _said(event: Message, own: set[str], told: Told) -> Unit | None:
    """The words of a message, without blocks that are units of their own; none where hidden."""
    content = event.content
    if own and type(content) is list:
        content = [b for n, b in enumerate(content) if f"{event.pointer}/{n}" not in own]
    words = "" if event.hidden else flat(content, told)
    return Unit("message", event.role, words, "", event.pointer) if words else None


def flat(content: Any, told: Told = json_of) -> str:
    """What a content says: its text, and for a block that has none what is `told` of it."""
    if type(content) is str:
        return content
    if content is None:
        return ""
    if type(content) is not list:
        words = mapping(content).get("content")
        return words if type(words) is str else told(content)
    said = []
    for block in content:
        words = block if type(block) is str else mapping(block).get("text")
        said.append(words if type(words) is str else told(block))
    return "\n".join(said)


_THOUGHT = ("thinking", "think", "description", "text")


def _thought(block: Any, told: Told) -> str:
    """What a thinking block says; of a sealed one its seal, or what is `told` of it."""
    if type(block) is str:
        return block
    held = mapping(block)
    said = next((words for name in _THOUGHT if (words := text(held.get(name)))), "")
    said = said or flat(held.get("summary") or held.get("content"), told)
    if said or told is not json_of:
        return said or told(block)
    sealed = held.get("data") or held.get("encrypted_content") or held.get("signature")
    return text(sealed)


def signature(value: dict[str, Any], unit: Unit) -> str:
    """What a record has beside the words of a unit, to prove who said them; "" for nothing."""
    held = value_at(value, unit.pointer)
    blocks = held if type(held) is list and unit.kind == "message" else [held]
    return " ".join(
        text(seal)
        for block in map(mapping, blocks)
        if len(blocks) == 1 or text(block.get("type")).endswith("text")
        for name, seal in block.items()
        if name.lower().endswith("signature") or name == "encrypted_content"
    )


def _arguments(arguments: Any) -> Any:
    """What a call was given, as a value where it is kept as JSON text."""
    if type(arguments) is not str:
        return arguments
    try:
        value = loads(arguments) if rounded(encoded(arguments)) else decode(arguments)
    except ValueError:
        return arguments
    return value if type(value) in (dict, list) else arguments


def canonical(value: Any) -> bytes:
    """A value as JSON, the same for the same value."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half a character, an integer of many digits, or nested deeply
        return "".join(_written(value)).encode()


def _written(value: Any) -> Iterator[str]:
    """The parts of a value's JSON, however deep it is nested."""
    todo = [value]  # and, as tuples, the text between values, the last one first
    while todo:
        value = todo.pop()
        if type(value) is tuple:
            yield value[0]
        elif type(value) is dict:
            todo.append(("}",))
            for n, key in reversed(list(enumerate(sorted(value)))):
                todo += [value[key], (f"{',' * (n > 0)}{json.dumps(key)}:",)]
            todo.append(("{",))
        elif type(value) is list:
            todo.append(("]",))
            for n, item in reversed(list(enumerate(value))):
                todo += [item, ("," * (n > 0),)]
            todo.append(("[",))
        else:
            yield json.dumps(value)
