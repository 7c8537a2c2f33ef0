"""Search: what was said and done in the sessions of this computer, session by session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from sesstool.api.listing import sessions
from sesstool.caches.folder import words_path
from sesstool.caches.forget import forget_words
from sesstool.caches.words import Words, is_possible
from sesstool.errors import (
    AuthError,
    InputError,
    NotASessionError,
    SesstoolError,
    UsageError,
    WriteError,
)
from sesstool.library.arrange import Row, owner_of, projects_of, resume_command
from sesstool.library.discover import Item
from sesstool.library.glance import Glance, look
from sesstool.search.indexing import Index, Progress, match_of
from sesstool.search.scan import LONGEST, Hit, Scan, may_hold, opened
from sesstool.search.wanted import Wanted

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

__all__ = ["Found", "Hit", "Part", "Rest", "Tally", "Wanted", "search"]

# A clock may be wrong by so much: what was written last before is not looked at for later records.
_SLACK = timedelta(days=1)


class Found(NamedTuple):
    """A session with hits, which follow. `glance` is None where nobody asked for more than it."""

    item: Item
    glance: Glance | None
    format: str

    @property
    def row(self) -> Row:
        """As lists have it."""
        return self.item, self.glance

    @property
    def id(self) -> str:
        """The id of the session, or of that which it is a part of; "" where it is not known."""
        return owner_of(self.row) or (self.glance.id if self.glance else "") or self.item.id

    @property
    def resume(self) -> str:
        """The command that resumes it in its agent, in the folder where it was; or ""."""
        return resume_command(self.row)


class Rest(NamedTuple):
    """What is not shown of the session before: so many lines more may match, by their bytes."""

    more: int


Part = Found | Hit | Rest
"""What a search gives, one after the other."""


@dataclass(slots=True)
class Tally:
    """What a search came to; it grows while it goes on.

    `locked` counts the sessions that are encrypted and that no key opened, `unread` the others
    that could not be searched, `records` the damaged records and lines too long that may match.
    """

    sessions: int = 0
    found: int = 0
    hits: int = 0
    locked: int = 0
    unread: int = 0
    records: int = 0


def search(
    wanted: Wanted,
    names: Iterable[str] = (),
    *,
    keys: Keys | None = None,
    agents: frozenset[str] = frozenset(),
    projects: frozenset[str] = frozenset(),
    limit: int = 5,
    context: int = 60,
    bare: bool = False,
    index: bool = False,
    progress: Progress = lambda *_: None,
    tally: Tally | None = None,
    tell: Callable[[SesstoolError], None] = lambda _: None,
) -> Iterator[Part]:
    """Look through sessions, the newest first; by default those of all agents on this computer.

    A session with hits comes first, then its hits, at most `limit` where that is not 0, each with
    `context` characters around it; `bare` asks for nothing but the sessions. A project is a path
    or the last name in one. `tell` is told what cannot be searched, and the rest goes on.

    With `index`, words and their beginnings are looked for in an index in the cache folder, which
    is first made to hold what the sessions say now; `progress` is told how far that is. Sessions
    that are encrypted or damaged are never in it, and are read as without it.

    Raises InputError where a name means nothing, UsageError where no index can tell, WriteError
    where none can be made.
    """
    tally = tally or Tally()
    items = sorted(sessions(names), key=lambda item: -item.mtime)
    rows = _indexed(items, wanted, progress) if index else {}
    for item in items:
        if _is_meant(item, wanted, agents):
            one = _One(item, wanted, keys, agents, projects, tally, tell, rows.get(_path(item)))
            yield from one.search(limit, context, bare=bare)


def _indexed(items: Iterable[Item], wanted: Wanted, progress: Progress) -> dict[str, Sequence[int]]:
    """The offsets in those sessions that the index covers. It is made anew where it is of no use.

    Raises UsageError and WriteError.
    """
    if not is_possible():
        raise UsageError(
            "the SQLite of this Python has no full-text tables", hint="search without --index"
        )
    match_of(wanted)
    plain = {_path(one): one.format for one in items if not one.trouble and one.packed != "age"}
    try:
        return _asked(plain, wanted, progress)
    except ValueError:
        forget_words()
    try:
        return _asked(plain, wanted, progress)
    except ValueError as error:
        raise _no_index() from error


def _asked(plain: dict[str, str], wanted: Wanted, progress: Progress) -> dict[str, Sequence[int]]:
    try:
        with Words(words_path(), make=True) as words:
            index = Index(words)
            index.update(plain, progress)
            return index.find(wanted)
    except OSError as error:
        raise _no_index() from error


def _no_index() -> WriteError:
    return WriteError(f"no index can be kept in {words_path()}", hint="search without --index")


def _path(item: Item) -> str:
    """Its path, for which a `Path` would take longer."""
    return f"{item.folder}{os.sep}{item.name}"


def _is_meant(item: Item, wanted: Wanted, agents: frozenset[str]) -> bool:
    """Whether a session may be meant, as far as its place and its time tell."""
    if agents and item.format and item.format not in agents:
        return False
    return wanted.since is None or item.mtime / 1e9 >= (wanted.since - _SLACK).timestamp()


@dataclass(slots=True)
class _One:
    """The search of one session."""

    item: Item
    wanted: Wanted
    keys: Keys | None
    agents: frozenset[str]
    projects: frozenset[str]
    tally: Tally
    tell: Callable[[SesstoolError], None]
    rows: Sequence[int] | None

    def search(self, limit: int, context: int, *, bare: bool) -> Iterator[Part]:
        tally = self.tally
        tally.sessions += 1
        if self._is_without() if self.rows is None else not self.rows:
            return
        path = self.item.path
        if self.item.trouble:
            tally.unread += 1
            self.tell(InputError(f"cannot search {path}: {self.item.trouble}"))
            return
        try:
            with opened(path, self.keys, home=self.item.format) as scan:
                yield from self._through(scan, limit, context, bare=bare)
                self._account(scan)
        except NotASessionError as error:
            tally.unread += 1
            self.tell(error)
        except (AuthError, UsageError) as error:  # the latter is about the keys
            tally.locked += 1
            self.tell(error)
        except InputError as error:
            tally.unread += 1
            self.tell(error)

    def _is_without(self) -> bool:
        """Whether a plain file can be left alone by what its bytes are."""
        item = self.item
        if item.trouble or item.packed:
            return False
        try:
            return not may_hold(_path(item), self.wanted)
        except OSError:
            return False  # it is told when it is opened

    def _through(self, scan: Scan, limit: int, context: int, *, bare: bool) -> Iterator[Part]:
        limit = 1 if bare else limit
        if self.rows is None:
            hits = scan.hits(self.wanted, limit, context)
        else:
            hits = scan.hits_at(self.wanted, self.rows, limit, context)
        for hit in hits:
            if scan.searched.hits == 1:
                found = self._found(scan, bare=bare)
                if found is None:
                    return
                self.tally.found += 1
                yield found
                if bare:
                    return
            self.tally.hits += 1
            yield hit
        if scan.searched.more:
            yield Rest(scan.searched.more)

    def _found(self, scan: Scan, *, bare: bool) -> Found | None:
        """The session, None where it is not one of those that are meant."""
        form = scan.format.name
        if self.agents and form not in self.agents:
            return None
        glance = None if bare and not self.projects else look(self.item, self.keys, brief=True)
        if self.projects and self.projects.isdisjoint(projects_of((self.item, glance))):
            return None
        return Found(self.item, glance, form)

    def _account(self, scan: Scan) -> None:
        searched = scan.searched
        self.tally.records += searched.unread + searched.long
        told = []
        if searched.unread:
            ending = "" if searched.unread == 1 else "s"
            told.append(f"{searched.unread:,} damaged record{ending} that may say it")
        if searched.long:
            ending = "" if searched.long == 1 else "s"
            told.append(f"{searched.long:,} line{ending} of more than {LONGEST >> 20} MiB")
        if told:
            self.tell(
                InputError(
                    f"not searched in {self.item.path}: {' and '.join(told)}",
                    hint="sesstool validate tells what is wrong with it",
                )
            )
