"""How the facts of a session become records of a format, and what records say of them."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.errors import UsageError
from sesstool.formats.base import Format
from sesstool.formats.terms import Evidence
from sesstool.formats.wording import is_placeholder
from sesstool.store.facts import Fact, Message, Said

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


class Call(NamedTuple):
    """A tool call in a message. `arguments` are as recorded."""

    id: str
    tool: str
    arguments: Any


class Codec(ABC):
    """One session in one format, record by record in their order.

    It is asked for every record that is read or written, and remembers what the next one needs.
    `holds_facts` says that the format has more than messages; what it has no record for is left
    out. `run` names the part of the session in which call ids are unique, `project` is the folder
    from which paths in it count, "" where that is not known.
    """

    format: Format
    holds_facts = False
    run = ""

    def __init__(self, session_id: str, project: str = "") -> None:
        """Begin a session of this id."""
        self.session_id = session_id
        self.project = project

    @classmethod
    @abstractmethod
    def path(cls, folder: Path, session_id: str) -> Path:
        """Where a session is kept."""

    @classmethod
    def sessions(cls, folder: Path) -> Iterable[tuple[str, Path]]:
        """The ids and files of the sessions in a folder."""
        for path in sorted(folder.glob("*.jsonl")):
            session_id = cls.format.session_id(path) or path.name.removesuffix(".jsonl")
            if cls.path(folder, session_id) == path and not path.name.startswith("."):
                yield session_id, path

    @abstractmethod
    def encode(self, fact: Fact) -> dict[str, Any] | None:
        """The record for a fact, None where the format has none. Raises UsageError."""

    @abstractmethod
    def decode(self, value: dict[str, Any]) -> Fact | None:
        """What a record says, None where that is nothing of the history."""

    def said(self, value: dict[str, Any]) -> Message | None:
        """The message that a record is, None where it is none; nothing is remembered."""
        fact = self.decode(value)
        return fact.message if isinstance(fact, Said) else None

    def replaced(self, _record: dict[str, Any], message: Message) -> dict[str, Any]:
        """A record of a message, with another one in its place."""
        return dict(message)

    def line(self, record: dict[str, Any]) -> bytes:
        """A record as the format's own writer writes it, with its line end. Raises UsageError."""
        return compact(record)

    @abstractmethod
    def calls(self, message: Message) -> list[Call]:
        """The tool calls in a message."""

    @abstractmethod
    def results(self, message: Message) -> list[tuple[str, str]]:
        """The call ids that a message has results for, and the results as text."""

    @abstractmethod
    def answers(self, found: list[tuple[Call, Evidence]]) -> list[Message]:
        """The messages that answer calls by what is known of them."""

    @abstractmethod
    def without(self, message: Message, call_ids: set[str]) -> Message | None:
        """A message without these calls or their results, None where nothing is left of it."""

    def only_results(self, _message: Message) -> bool:
        """Whether a message with results holds nothing else, so that more may follow it."""
        return True

    def together(self, messages: list[Message]) -> list[Message]:
        """The messages with the results of one message with calls, as the provider takes them."""
        return messages

    def made_up(self, words: str) -> bool:
        """Whether a result only stands in for a lost one."""
        return is_placeholder(words)

    def ends_turn(self, message: Message) -> bool:
        """Whether something may happen outside once this message is kept."""
        return not self.results(message)

    def begin(self, path: Path) -> None:  # noqa: B027 - most formats keep nothing beside it
        """Have what the format keeps beside a session there, before its first record."""

    def finish(self, path: Path) -> None:  # noqa: B027 - the same
        """Tell there that the session was written to; it is closed."""


def given(message: object) -> Message:
    """A message that a caller gave. Raises UsageError for what is no dict."""
    if isinstance(message, Mapping):
        return message
    raise UsageError(
        f"a message is a {type(message).__name__}, and must be a dict",
        hint="of an object of a client library give model_dump(exclude_none=True)",
    )


def compact(record: Any, **separators: Any) -> bytes:
    """A record as JSON with its line end, half characters escaped. Raises UsageError."""
    separators = separators or {"separators": (",", ":")}
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, **separators)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a message cannot be kept as JSON: {type(error).__name__}",
            hint="give strings, finite numbers, booleans, None, lists, and dicts with string keys",
        ) from error
    return _HALVES.sub(_whole, text).encode() + b"\n"


def _whole(halves: re.Match[str]) -> str:
    """The character that two halves are; one alone has no bytes of its own, and is escaped."""
    found = halves[0]
    if len(found) == 1:
        return f"\\u{ord(found):04x}"
    return found.encode("utf-16", "surrogatepass").decode("utf-16")
