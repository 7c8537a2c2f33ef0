"""Which sessions are at work now, at one look at processes, locks and what agents register.

To ask of each session by itself would take minutes where there are thousands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import InputError
from sesstool.formats.registry import Homes, by_name
from sesstool.formats.terms import Running
from sesstool.library.arrange import Row, project_of
from sesstool.library.discover import Item
from sesstool.records.live import all_writers, one_look
from sesstool.records.lock import holder
from sesstool.records.source import SUFFIXES


class Alive(NamedTuple):
    """Who is at work on a session, in a few words.

    `waits` says that it waits for a person, None where nobody tells.
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
    return [
        (item, replace(glance, state="in use", why=found[item].who))
        if glance is not None and item in found
        else (item, glance)
        for item, glance in rows
    ]


class _Looked:
    def __init__(self, rows: list[Row]) -> None:
        self.found: dict[Item, Alive] = {}
        self._homes = Homes()
        self._known: dict[str, tuple[str, Path | None]] = {}
        self._opened = all_writers(SUFFIXES[0])
        groups: dict[tuple[str, Path | None], list[Row]] = defaultdict(list)
        for row in rows:
            if not row[0].trouble:
                groups[self._home(row[0])].append(row)
        for (name, home), members in groups.items():
            if home is None:
                self._alone(members)
            else:
                self._in(name, home, members)
        self._descriptors(rows)

    def _home(self, item: Item) -> tuple[str, Path | None]:
        """The name of the format and the agent's home, "" and None outside of one."""
        if item.folder not in self._known:
            found = self._homes.of(item.path)
            self._known[item.folder] = (found[0].name, found[1]) if found else ("", None)
        return self._known[item.folder]

    def _in(self, name: str, home: Path, rows: list[Row]) -> None:
        """Ask the agent's registry and locks of one home."""
        form = by_name(name)
        told = form.running(home)
        if told is None:
            for item, _ in rows:
                if who := form.writer(item.path):
                    self.found[item] = Alive(who)
            return
        title, running = f"{form.title} runs it", list(told)
        by_id = {one.session: one for one in running if one.session}
        for item, glance in rows if by_id else ():
            one = by_id.get((glance.id if glance else "") or item.id)
            if one is not None:
                self.found[item] = Alive(f"{title} ({one.who})", one.waits)
        for one in running:
            if one.folder and (newest := _newest(rows, one)):
                self.found.setdefault(newest, Alive(f"{title} ({one.who})", one.waits))

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
        for item, _ in rows if self._opened else ():
            if item in self.found:
                continue
            try:
                now = item.path.stat()
            except OSError:
                continue
            if who := self._opened.get((now.st_dev, now.st_ino)):
                self.found[item] = Alive(who)


def _newest(rows: Iterable[Row], one: Running) -> Item | None:
    """The session that was written last, of those of the folder that a process runs in."""
    mine = [row[0] for row in rows if one.folder in (project_of(row), row[1] and row[1].cwd)]
    return max(mine, key=lambda item: item.mtime, default=None)
