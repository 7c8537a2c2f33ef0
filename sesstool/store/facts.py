"""What a session keeps, one record each, in one vocabulary for all formats that it is kept in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sesstool.store.reads import Read

Message = Mapping[str, Any]
"""A message as the provider of the format takes it: OpenAI's chat messages, or Anthropic's."""

PhaseName = Literal["requested", "started", "completed", "failed"]


class Said(NamedTuple):
    """A message of the history; `recovered` where a resume made it up for a lost result.

    `older` says that its call is told in a way of older versions, whose agent answers none such.
    """

    message: Message
    recovered: bool = False
    older: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """The agent's loop went from one state to another, None for none before, and why."""

    to: str
    reason: str
    before: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Phase(NamedTuple):
    """A step in the life of a tool call.

    `value` is what it was given (requested, started), its result (completed) or what went wrong
    (failed). `read` are the files that it read, as they were.
    """

    call_id: str
    tool: str
    name: PhaseName
    value: Any = None
    read: Sequence[Read] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A compaction: `summary` is sent in place of the messages before the number `keep_from`.

    Messages count from 0, from the beginning of the session; `count` is how many there were.
    `read` are the files that were read, as they were.
    """

    summary: str
    keep_from: int
    count: int = 0
    id: str = ""
    read: Sequence[Read] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """A run ended, and why."""

    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


Fact = Said | Transition | Phase | Checkpoint | End
