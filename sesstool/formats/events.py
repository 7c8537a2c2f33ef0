"""What a record means, in one vocabulary for all agents.

An event names the JSON pointer of the value that it stands for. A record's events come
together as its `Meaning`, with the facts of its envelope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Message:
    """Words of a role: "system", "user", "assistant" or "tool".

    `content` is what the record holds: a string, a list of blocks or None. `hidden` says that
    it is the agent's own and never sent to the model; `prompt` that a person (or a program in
    a person's place) opened a turn with it.
    """

    pointer: str
    role: str
    content: Any
    hidden: bool = False
    prompt: bool = False


@dataclass(slots=True)
class ToolCall:
    """The model asks for a tool. `arguments` are as recorded, `server` that the provider runs it.

    `fault` says in a few words why the arguments cannot be sent again; "" where they can. They
    are then mended at `inside`, a pointer from the call on: with an object, or with the JSON text
    of one where `as_text`.
    """

    pointer: str
    id: str
    name: str
    arguments: Any
    server: bool = False
    fault: str = ""
    inside: str = field(default="/arguments", compare=False)
    as_text: bool = field(default=False, compare=False)


@dataclass(slots=True)
class ToolResult:
    """What a tool answered. `placeholder` says that an agent made it up for a lost result."""

    pointer: str
    id: str
    content: Any
    error: bool = False
    server: bool = False
    placeholder: bool = False


@dataclass(slots=True)
class Thinking:
    """A thinking block; `fault` says why the provider would refuse it, "" if it would not.

    `guess` says that the fault is likely and not certain.
    """

    pointer: str
    fault: str = ""
    guess: bool = False


@dataclass(slots=True)
class Checkpoint:
    """A compaction: what stands before it is no longer sent.

    `summary` says that this record has the summary, `hollow` that there is nothing in it.
    `keeps` is the id of the record from which on all is sent nevertheless, "" where there is none.
    `kept_from` is the index, among the messages of the file, of the first that is sent beside
    the summary, in formats without ids; -1 where none before it is.
    """

    pointer: str
    summary: bool = False
    hollow: bool = False
    keeps: str = ""
    kept_from: int = -1


@dataclass(slots=True)
class StateChange:
    """Something that steers the session: a rewind, a leaf, a mode."""

    pointer: str
    name: str
    value: Any = None


@dataclass(slots=True)
class Meta:
    """A record about the session that is no part of the talk."""

    pointer: str
    name: str


@dataclass(slots=True)
class Unknown:
    """A record or block of a type that this version does not know; it is kept as it is."""

    pointer: str
    name: str


Event = Message | ToolCall | ToolResult | Thinking | Checkpoint | StateChange | Meta | Unknown


@dataclass(slots=True)
class Meaning:
    """What one record means.

    `id` and `parent` link records to a tree, where `linked` says that the format has one;
    `turn` names the model answer that several records share; `joins` says that the agent puts
    records of one id and one parent together to one; `scope` is the subagent that a record
    belongs to, "" for the session itself; `run` the part of the session in which call
    ids are unique, "" where that is all of it. `session`, `time` (RFC 3339), `version`,
    `cwd` and `model` are as recorded, "" where absent. `nested` are the messages of a record
    that is a whole conversation of its own. `messages` tells, in formats with `upserts`, which
    messages the last events are of: the id of each and how many events it has, in their order.
    """

    events: list[Event] = field(default_factory=list)
    linked: bool = False
    id: str = ""
    parent: str | None = None
    turn: str = ""
    joins: bool = False
    scope: str = ""
    run: str = ""
    session: str = ""
    time: str = ""
    version: str = ""
    cwd: str = ""
    model: str = ""
    messages: Sequence[tuple[str, int]] = ()
    nested: Sequence[Meaning] = ()

    def spans(self) -> Iterator[list[Event]]:
        """The events of no message, then those of each of the `messages`."""
        begin = len(self.events) - sum(count for _, count in self.messages)
        yield self.events[:begin]
        for _, count in self.messages:
            yield self.events[begin : begin + count]
            begin += count
