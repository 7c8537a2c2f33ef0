"""Which sessions are at work now, at one look at processes, locks and what agents register.

To ask of each session by itself would take minutes where there are thousands.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import InputError
from sesstool.formats.registry import Homes, by_name
from sesstool.library.arrange import Row, owner_of, project_of
from sesstool.library.discover import Item
from sesstool.model.effects import kind_of
from sesstool.records.live import all_writers
from sesstool.records.lock import holder
from sesstool.records.processes import (
    Process,
    all_processes,
    one_look,
    processes,
    started_by,
)
from sesstool.records.source import SUFFIXES

# Tools that run programs, or write files at once.
_STARTING = ("command", "file", "patch")
# A session is written so many seconds around what its agent does; and times are so exact.
_SLACK, _TICK = 2.0, 0.05


class Alive(NamedTuple):
    """Who is at work on a session, in a few words.

    `waits` says that it waits for a person, None where nobody tells: its last words do then.
    """

    who: str
    waits: bool | None = None


def alive(rows: Iterable[Row]) -> dict[Item, Alive]:
    """The sessions of some that are at work now."""
    rows = list(rows)
    with one_look():
        return _Looked(rows).found


def marked(rows: Iterable[Row]) -> list[Row]:
    """The rows, with those that are at work now in the state "in use"."""
    rows = list(rows)
    found = alive(rows)
    if not found:
        return rows
    return [
        (item, glance._replace(state="in use", why=found[item].who))
        if glance is not None and item in found
        else (item, glance)
        for item, glance in rows
    ]


class _Looked:
    def __init__(self, rows: list[Row]) -> None:
        self.found: dict[Item, Alive] = {}
        self._homes = Homes()
        self._opened = all_writers(SUFFIXES[0])
        folders: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if not row[0].trouble:
                folders[row[0].folder].append(row)
        groups: dict[tuple[str, Path | None], list[Row]] = defaultdict(list)
        for members in folders.values():
            groups[self._home(members[0][0])] += members
        for (name, home), members in groups.items():
            if home is None:
                self._alone(members)
            else:
                self._in(name, home, members)
        self._descriptors(rows)
        self._parts(rows)

    def _home(self, item: Item) -> tuple[str, Path | None]:
        """The name of the format and the agent's home, "" and None outside of one."""
        found = self._homes.of(item.path)
        return (found[0].name, found[1]) if found else ("", None)

    def _in(self, name: str, home: Path, rows: list[Row]) -> None:
        """Ask the agent's registry and locks of one home, then its processes."""
        form = by_name(name)
        told = form.running(home)
        if told is None:
            for item, _ in rows:
                if who := form.writer(item.path):
                    self.found[item] = Alive(who)
        title, running = f"{form.title} runs it", list(told or ())
        by_id = {one.session: one for one in running if one.session}
        for row in rows if by_id else ():
            one = by_id.get(_id(row))
            if one is not None:
                waits = _waits(row, one.pid) if one.waits is None else one.waits
                self.found[row[0]] = Alive(f"{title} ({one.who})", waits)
        for process in processes(*form.programs, but=[one.pid for one in running]):
            mine = _of(rows, process)
            if mine is not None:
                who = f"{form.title} runs in its folder (process {process.pid})"
                self.found.setdefault(mine[0], Alive(who, _waits(mine, process.pid)))

    def _alone(self, rows: list[Row]) -> None:
        """Ask the lock of a store of sessions."""
        for item, _ in rows:
            try:
                who = holder(item.path)
            except (InputError, OSError):
                continue
            if who:
                self.found[item] = Alive(who)

    def _descriptors(self, rows: Iterable[Row]) -> None:
        """Look which of them are open for writing."""
        inodes = {inode for _, inode in self._opened}
        for item, _ in rows if inodes else ():
            if item.inode not in inodes or item in self.found:
                continue
            try:
                now = item.path.stat()
            except OSError:
                continue
            if who := self._opened.get((now.st_dev, now.st_ino)):
                self.found[item] = Alive(who)

    def _parts(self, rows: Iterable[Row]) -> None:
        """What is a part of a session is at work as long as that one is."""
        if not self.found:
            return
        ids = {
            (row[0].format, _id(row)): self.found[row[0]] for row in rows if row[0] in self.found
        }
        for row in rows:
            busy = ids.get((row[0].format, owner_of(row)))
            if busy is not None:
                self.found.setdefault(row[0], Alive(busy.who))


def _id(row: Row) -> str:
    return (row[1].id if row[1] else "") or row[0].id


def _of(rows: Iterable[Row], process: Process) -> Row | None:
    """The session that a process has, which does not tell: one that its command line names.

    Else that of the folder which was written last, since the process began.
    """
    mine = [row for row in rows if process.folder in (project_of(row), row[1] and row[1].cwd)]
    own = [row for row in mine if not owner_of(row)]
    named = [row for row in own if _id(row) and _id(row) in process.words]
    since = (process.began - _SLACK) * 1e9
    return max(named or [row for row in own if row[0].mtime >= since], key=_time, default=None)


def _time(row: Row) -> int:
    return row[0].mtime


def _waits(row: Row, pid: int) -> bool | None:
    """Whether the process that has a session waits for a person, None where its words tell.

    A program that it started since the session was written is a tool at work. Where a tool that
    would have started one was called some time ago, and none is there, a person is asked first.
    """
    glance = row[1]
    if pid not in all_processes() or glance is None or not glance.ends:
        return None
    called, since = glance.ends == "call", row[0].mtime / 1e9
    if any(one.began >= since - (_SLACK if called else _TICK) for one in started_by(pid)):
        return False
    asked = called and all(kind_of(name) in _STARTING for name in glance.open)
    return True if asked and time.time() - since > _SLACK else None
