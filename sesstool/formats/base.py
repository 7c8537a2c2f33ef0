"""The `Format` that every agent's module fills in; `terms.py` has the types that it speaks in."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sesstool.formats.events import Meaning, Message
from sesstool.formats.forking import Forker
from sesstool.formats.payloads import Payload, of_results
from sesstool.formats.terms import (
    Dependent,
    Field,
    Origin,
    Question,
    Running,
    Score,
    SideFile,
    Trace,
    Tracker,
)
from sesstool.formats.turns import Scribe
from sesstool.records.heal import Kind
from sesstool.records.source import SEALED, is_transcript, snapshot_of
from sesstool.text import quoted


class Format(ABC):
    """All that is known of one agent's session files.

    `pairing` tells where results must stand: "direct" right behind the message with the calls,
    "next" in the user message behind it (neighbours of one role count as one message, and its
    results stand together, first), "turn" in the next user turn, "order" behind their call and
    before the next prompt; "none" that nothing tells which result answers which call. `waits` are
    the tools that wait for a person; `harmless` those that change nothing. `programs` are the names
    of the agent's processes, where some do not tell which session they have. `belated` says that
    a call is recorded no sooner than its result, so that none is seen open. `schema` names the
    record schema, `told` members whose absence a rule tells better than it. `verbatim` says that
    the provider gets what the file holds, since no agent stands between them that would mend it;
    `once` that it takes a call id on one call only, in all of the session. `call_key` and
    `result_key` are the members of a call and of a result that hold the call's id. Where `linked`,
    records form a tree: `id_key` and `parent_key` are the members that link them.
    `strict_path` says that a resume sends the way from the last record to the root, with nothing
    that hangs beside it, and stops where a parent is missing; results then hang from each other,
    not each from its own call. `keep_key` is the member in which a compaction names the first
    record that it keeps, `time_key` that which tells when a record was written.
    `upserts` says that a message takes the place of an earlier one of its id, and that records may
    restate all messages or take some back; a result may then stand twice, with its call and in a
    message of its own.
    `fields` tells what is not plain text, by the keys on the way to it with dots between them
    (indexes of lists left out); `.**` at the end stands for all below. `beyond` are places known to
    hold texts of sessions where `parts` and `traces` do not reach. Files whose names begin with
    `parts_begin` are parts of a session, of which only their records tell. `forker` writes forks,
    `scribe` sessions that were of another format, None where nothing does.
    `known` says that more than its name is. `resumes` is the agent's own command that resumes the
    session whose id stands behind it, `variables` are those of the environment that move the
    agent's folders. `release` is the package and the version of the plug-in that a format comes
    from, "" for those of sesstool.
    """

    name = ""
    title = ""
    schema = ""
    provider: Literal["", "anthropic", "openai-chat", "openai-responses"] = ""
    verbatim = False
    once = False
    told: tuple[str, ...] = ()
    parts_begin = ""
    call_key = "id"
    result_key = "tool_use_id"
    linked = False
    id_key = ""
    parent_key = ""
    strict_path = False
    upserts = False
    keep_key = ""
    time_key = ""
    fields: Mapping[str, Field] = {}
    beyond: tuple[str, ...] = ()
    pairing: Literal["direct", "next", "turn", "order", "none"] = "order"
    repairable = True
    known = True
    waits: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()
    programs: tuple[str, ...] = ()
    belated: bool = False
    forker: type[Forker] = Forker
    scribe: type[Scribe] | None = None
    resumes = ""
    variables: tuple[str, ...] = ()
    release = ""

    @abstractmethod
    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """How likely these records, taken from all over a file, are of this format."""

    @abstractmethod
    def meaning(self, value: dict[str, Any]) -> Meaning:
        """What a decoded record means. Takes any object, however wrong its fields."""

    def own_schema(self) -> str:
        """The JSON Schema of a record as text, in formats of which sesstool ships none, else ""."""
        return ""

    def fitting(self, values: Sequence[dict[str, Any]]) -> Format:
        """The format for a file of these first records; another where its version is older."""
        return self

    def tracker(self, path: Path | None) -> Tracker:
        """A fresh follower for one file."""
        return Tracker()

    def answer(self, question: Question) -> bytes:
        """The record, without line end, that answers a call; only repairable formats have one.

        Where `pairing` is "next" it is the block alone, for `message`.
        """
        raise NotImplementedError(f"{self.name} is not repairable")

    def message(self, block: bytes) -> bytes:
        """The record, without line end, around a result's block, where `pairing` is "next"."""
        raise NotImplementedError(f"results of {self.name} are records")

    def prompt(
        self, beside: dict[str, Any], record_id: str, words: str, parent: str | None = None
    ) -> bytes:
        """A record, without line end, that says `words` in a person's place: a root, or a child.

        `beside` is a record of the same session to take the envelope from. Only linked formats
        have one: in a list of messages no lost record leaves a name behind.
        """
        raise NotImplementedError(f"{self.name} is not linked")

    def inside(self, pointer: str) -> str:
        """The pointer of the message, in a record that holds many, that a pointer leads into.

        "" where a record is no more than one.
        """
        return ""

    def replacement(self, value: dict[str, Any]) -> Sequence[Meaning]:
        """The messages that a compaction record puts in the place of those before it.

        None where its summary is a text. Pointers count from the record.
        """
        return ()

    def system(self, value: dict[str, Any]) -> Any:
        """The content of the system prompt that is a member of a record, None for none."""
        return None

    def said(self, value: dict[str, Any], message: Message) -> Any:
        """The content of a message as the model gets it, where that is more than is recorded."""
        return message.content

    def kept(self, value: dict[str, Any]) -> Iterable[str]:
        """The ids of the records that a compaction record keeps beside its summary."""
        return ()

    def ordinal(self, value: dict[str, Any]) -> int:
        """The number of a record in formats that number them, -1 where there is none."""
        return -1

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """What a record tells of the session that this one goes on from."""
        return None

    def owner(self, values: Sequence[dict[str, Any]], path: Path) -> str:
        """The id of the session that a file with these records is a piece of, or "".

        A piece that names no session is told by the id of a record in it.
        """
        return ""

    def is_piece(
        self, records: Iterable[dict[str, Any]], path: Path, others: Container[str]
    ) -> bool:
        """Whether a file with an `owner` is a piece of it, by all its records.

        `others` are the ids of other sessions that have records of their own.
        """
        return True

    def may_own(self, path: Path, piece: Path) -> bool:
        """Whether a piece can be one of a session, by where both lie."""
        return True

    def tag(self, value: dict[str, Any]) -> str | None:
        """The label that a record gives the session in the place of an earlier one, "" for none."""
        return None

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """The title that a record gives the session, "" for none, and its rank.

        The last one of the highest rank counts; one of rank 0 is worth less than a prompt.
        """
        return 0, ""

    def continues(self, value: dict[str, Any]) -> str:
        """The id of the record that a root without parent follows nevertheless, or ""."""
        return ""

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """Where the output of tools stands in a record, with all that repeats it."""
        return of_results(self.meaning(value))

    def is_output(self, part: Path) -> bool:
        """Whether one of the `parts` is nothing but the output of a tool."""
        return False

    def home(self, path: Path) -> Path | None:
        """The agent's home folder that a path lies in, if it does."""
        return None

    def writer(self, path: Path) -> str | None:
        """Who has the session open, by the agent's own locks or registry, in a few words."""
        return None

    def running(self, home: Path) -> Iterable[Running] | None:
        """Who has sessions of a home open, at one look; None: `writer` must be asked of each."""
        return None

    def session_id(self, path: Path) -> str:
        """The session id that the file's name tells, or ""."""
        return ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """The session files in the agent's home whose id begins so.

        `ending` is what follows their usual names, as those of encrypted files have it.
        """
        return ()

    def folders(self) -> Iterable[Path]:
        """Where the agent keeps the sessions of this user, each with all below it."""
        return ()

    def databases(self) -> Iterable[Path]:
        """The databases in which the agent keeps sessions of this user; see `records.databases`."""
        return ()

    def is_session(self, path: Path) -> bool:
        """Whether a file in one of these folders is a session or a part of one, by its name."""
        return is_transcript(path)

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """What a folder tells of the session files in it: their project, and whose they are.

        That is the path or the folder's name of the project, and the id of the session that
        others belong to, each "" where it is not told. `inside` are the names from the home on.
        """
        return "", ""

    def dependents(self, path: Path) -> Iterable[Dependent]:
        """Files that refer to byte offsets of this one."""
        return ()

    def drawn(self, path: Path) -> Iterable[SideFile]:
        """The indexes and caches that the agent has drawn from this file."""
        return ()

    def indexed(self, path: Path) -> Iterable[tuple[Path, str, int]]:
        """The JSON files that list this session among others, and where in them.

        That is the JSON pointer of the list, and the index of the session's item in it. Raises
        InputError where one cannot be read.
        """
        return ()

    def others(self, path: Path) -> Iterable[SideFile]:
        """The agent's text files that repeat what this and other sessions hold, or folders of such.

        A history of prompts is one.
        """
        return ()

    def traces(self, path: Path) -> Iterable[Trace]:
        """The agent's shared files that may hold some of this session beside its own files."""
        return ()

    def own_places(self, path: Path) -> Iterable[Path]:
        """Those of the `places` that the agent made. Raises InputError."""
        return ()

    def places(self, path: Path) -> Iterable[Path]:
        """The `parts` of a session, and the `links` among them. Raises InputError."""
        yield from self.own_places(path)
        snapshot = snapshot_of(path)
        for name in (snapshot, snapshot.with_name(snapshot.name + SEALED)):
            if os.path.lexists(name):
                yield name

    def parts(self, path: Path) -> Iterable[Path]:
        """The other files of this session alone: subagents, outputs, metadata. Raises likewise."""
        return (part for part in self.places(path) if is_plain_file(part))

    def links(self, path: Path) -> Iterable[Path]:
        """Those of them that stay: links, which lead to what may be another's; pipes and the like.

        Raises likewise.
        """
        return (part for part in self.places(path) if not is_plain_file(part))

    def resume_command(self, session_id: str) -> str:
        """The agent's own command that resumes a session, or "".

        An id comes from a file, and a person pastes the command: it is one word of a shell, and
        never an option.
        """
        known = self.resumes and session_id and not session_id.startswith("-")
        return f"{self.resumes} {quoted(session_id)}" if known else ""

    def bad_line(self, kind: Kind) -> str:
        """What the agent does at a line with such a defect, "" where it just passes over it."""
        return ""

    def leaves_out(self, words: str) -> bool:
        """Whether the agent itself sends no text block that says just these blank words."""
        return False

    def empty_is_sound(self, path: Path) -> bool:
        """Whether the agent itself leaves files of this name empty."""
        return False


def is_plain_file(path: Path) -> bool:
    """Whether a path is a regular file, and no link to one; False where it cannot be looked at."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
