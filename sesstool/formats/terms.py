"""The small types that a `Format` speaks in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from sesstool.formats.events import Meaning
from sesstool.records.edits import Edit, EditSet
from sesstool.records.recover import Record
from sesstool.records.source import Source


class Place(NamedTuple):
    """Where something stands: line from 1, byte span of the record, JSON pointer inside it."""

    line: int
    start: int
    end: int
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the file proves about a call that has no result.

    `state` is "completed", "failed", "never started", "uncertain" or, where the call waits for a
    person's approval, "pending"; `output` is the recorded result where the state is completed
    or failed. `code` is the agent's own name for the state, where it has one.
    """

    state: Literal["completed", "failed", "never started", "uncertain", "pending"]
    output: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A call that a repair answers: what a format needs to write the answer down.

    `record` is the decoded record that holds the call, `id` the new record's own id (in linked
    formats), `ordinal` the highest number of a record and one in formats that number them, -1
    elsewhere. `parent` is the id of the record that it hangs from where that is not the call's
    own, else "".
    """

    call_id: str
    name: str
    record: dict[str, Any]
    call: Any
    evidence: Evidence
    id: str = ""
    ordinal: int = -1
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that only the format itself can see. `rule` names the rule that reports it.

    `title` and `edits` say how it would be mended; `safe` None means that nobody can tell.
    `severity` replaces the rule's own where it is given.
    """

    rule: str
    place: Place
    message: str
    title: str = ""
    edits: tuple[Edit, ...] = ()
    safe: bool | None = None
    severity: str = ""
    labels: dict[str, str] = field(default_factory=dict)


class Tracker:
    """Follows the records of one file for what only its format knows.

    The base class sees nothing; a format that has more to say returns its own. `based` says
    that the file goes on from the bytes of another, which may hold calls that it answers.
    """

    based = False

    def see(self, record: Record, meaning: Meaning) -> None:
        """Take note of one readable record, in file order."""

    def reads(self, meaning: Meaning) -> bool:
        """Whether the agent takes the record that was seen last for a part of the session."""
        return True

    def fragment(self, record: Record) -> None:
        """Take note of bytes that are no record, in file order."""

    def faults(self, source: Source) -> Iterable[Fault]:
        """What is wrong, after the last record; `source` re-reads single records."""
        return ()

    def follow(self, before: Tracker, step: EditSet, source: Source) -> Sequence[Edit]:
        """What keeps true, after `step`, what the file tells of its records by their number.

        `before` followed the text that `step` was made for, this one its result, `source`.
        """
        return ()

    def evidence(self, call_id: str, source: Source, scope: str = "") -> Evidence:
        """What the file proves about a call without a result; `scope` is as in `Call`."""
        return Evidence("uncertain")

    def next_ordinal(self) -> int:
        """The number of the next record, -1 where the format does not number records."""
        return -1


class Field(Enum):
    """What a redaction may do with a field.

    FROZEN fields link records, or tell programs what stands there: they stay as they are, and a
    value in one is reported. OPAQUE ones hold what cannot be looked into: ciphertext, signatures,
    pictures. All others are TEXT.
    """

    TEXT = "text"
    FROZEN = "frozen"
    OPAQUE = "opaque"


class SideFile(NamedTuple):
    """A file that an agent draws from a session; `fate` is what a change of the session means.

    `erase` is what a person does to be rid of what it holds, "" where it is plain text.
    """

    path: Path
    fate: str
    erase: str = ""


class Trace(NamedTuple):
    """A file that an agent shares among sessions, and how it tells what in it is of one session.

    `kind` "lines" are lines of a JSONL file of which one of the members `keys` is one of the
    session's `names`; "rows" are rows of a SQLite database of which a column is. `what` says what
    they are. `lost` is what would go with the whole file for good, "" where the agent would not
    make it anew. `program` is the agent's process, which must not run meanwhile, "" where it may.
    """

    path: Path
    kind: Literal["lines", "rows"]
    names: tuple[str, ...]
    what: str
    keys: tuple[str, ...] = ()
    lost: str = ""
    program: str = ""


class Running(NamedTuple):
    """A process of an agent that has a session open, as its own registry or locks tell.

    `who` is that in a few words. `session` is the id. `waits` says that it waits for a person, None
    where that is not told. `pid` is the number of the process, 0 where that is not told.
    """

    who: str
    session: str
    waits: bool | None = None
    pid: int = 0


class Origin(NamedTuple):
    """The session that another one goes on from.

    `mode` is "copy" where its records were copied, "reference" where they are read from its file
    up to the byte offset `end`, before the record that is numbered `ordinals`, each -1 where that
    is not told; "subagent" where it only started this one. `at` is the id of the last record that
    both have, "" where that is not told.
    """

    session: str
    mode: Literal["copy", "reference", "subagent"]
    at: str = ""
    end: int = -1
    ordinals: int = -1


class Score(NamedTuple):
    """How sure detection is, from 0 to 100, and why."""

    value: int
    reason: str


class Dependent(Protocol):
    """A file that refers to byte offsets of another."""

    @property
    def path(self) -> Path:
        """The file that refers."""
        ...

    def edits(self, moved: EditSet) -> Iterable[Edit]:
        """What keeps it true after these edits to the other file."""
        ...


# Names that several agents give to a tool which asks the person before the screen.
ASKING = frozenset(
    {
        "AskUserQuestion",
        "ask_followup_question",
        "ask_human",
        "ask_user",
        "request_approval",
        "request_user_input",
    }
)
