"""How a fork of a session is written: as a copy, where an agent has no way of its own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from sesstool.records.recover import Record

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Parent:
    """The session that is forked.

    `id` is what its file is called where no record tells it. `path` is its file, as it is called
    when it is neither encrypted nor compressed, None where there is none. `title` is what it is
    called, by a record or by its first prompt. A fork by reference needs the last three: `plain`
    says that the file can be read in its place as it is, `end` is the byte offset behind the last
    shared line, and `ordinals` the number that the next record has, each -1 where no record may
    refer to it.
    """

    id: str
    path: Path | None
    cwd: str = ""
    title: str = ""
    plain: bool = False
    end: int = -1
    ordinals: int = -1


class Forker:
    """Writes one fork, record by record: a mere copy, which takes its id from its name.

    A format whose agent has its own way of forking has a class of its own.
    """

    by_name = True
    """Whether nothing but the name of its file tells the id of a session."""

    def __init__(self, parent: Parent, new_id: str, now: datetime) -> None:
        """Begin the fork of a session. `now` is in UTC."""
        self.parent = parent
        self.id = new_id
        self.now = now

    @classmethod
    def fresh(cls, parent: Parent, now: datetime, beside: Path | None) -> str:  # noqa: ARG003 - for those that have times in ids
        """An id for a new session; `beside` is the folder that it is made in, None if not known."""
        name, nth = f"{parent.id or 'session'}-fork", 1
        while beside and os.path.lexists(beside / f"{name}.jsonl"):
            nth += 1
            name = f"{parent.id or 'session'}-fork-{nth}"
        return name

    @classmethod
    def refusal(cls, new_id: str) -> str:
        """Why a session cannot have this id, "" where it can."""
        if len(new_id.encode("utf-8", "replace")) > _LONGEST:
            return "it is too long for the name of a file"
        plain = new_id.isprintable() and not set(new_id) & set('/\\:*?"<>|')
        plain = plain and new_id == new_id.strip() and new_id[:1] not in ("", ".", "-")
        return "" if plain else "it is no name of a file"

    @classmethod
    def names(cls, value: dict[str, Any]) -> Iterable[str]:
        """The ids by which a person can mean a record."""
        name = value.get("id")
        return (name,) if type(name) is str else ()

    def name(self) -> str:
        """The name of the new file, as the agent looks for it."""
        return f"{self.id}.jsonl"

    def folder(self, beside: Path) -> Path:
        """Where the agent looks for it; `beside` is the folder of the session's own file."""
        return beside

    def reference(self, target: Path, first: Record) -> bytes:
        """The whole fork, where it reads what both share from the session's own file, else b"".

        `first` is the first record of the session.
        """
        return b""

    def drops(self, value: dict[str, Any]) -> bool:
        """Whether a record is no part of a fork; what hangs from it hangs from what it hangs from.

        The file has it before `record` is asked for any.
        """
        return False

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """The lines, without their ends, that a record becomes.

        In linked formats `parent` is the id of the record that it hangs from, as it is in the
        session; `last` says that the fork ends with it.
        """
        yield record.raw

    def tail(self) -> Iterable[bytes]:
        """The lines that stand behind the last record."""
        return ()

    def side(self) -> Path | None:
        """The side file of the session that one of the fork is made of, if there is such a thing.

        It may be encrypted, under its name with the ending of such files.
        """
        return None

    def side_file(self, target: Path, there: bytes) -> tuple[Path, bytes] | None:
        """The side file that the fork needs, and what is in it; `there` is in the other, or b""."""
        return None


class UuidForker(Forker):
    """A fork whose id is a UUID."""

    by_name = False

    @classmethod
    def fresh(cls, parent: Parent, now: datetime, beside: Path | None) -> str:  # noqa: ARG003 - as above
        """See `Forker.fresh`: a UUID whose order is that of time (version 7)."""
        bits = int(now.timestamp() * 1000) << 80 | secrets.randbits(80)
        bits = bits & ~(0xF << 76) & ~(3 << 62) | 7 << 76 | 2 << 62
        return str(UUID(int=bits))

    @classmethod
    def refusal(cls, new_id: str) -> str:
        """See `Forker.refusal`."""
        try:
            return "" if str(UUID(new_id)) == new_id else "write it as 8-4-4-4-12 small hex digits"
        except ValueError:
            return "it is no UUID"


class FolderForker(UuidForker):
    """A fork in a folder of its own beside the session's, which is called by its id.

    `file` is the name that the file has in each.
    """

    by_name = True
    file = ""

    def name(self) -> str:
        """See `Forker.name`."""
        return self.file

    def folder(self, beside: Path) -> Path:
        """See `Forker.folder`."""
        return beside.parent / self.id


def written(now: datetime, spec: str = "milliseconds") -> str:
    """A time as agents write it: RFC 3339, in UTC, with a Z."""
    return now.astimezone(UTC).isoformat(timespec=spec).replace("+00:00", "Z")
