"""How all the sessions of this computer stand now: what each is, who is at work, what is due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sesstool.library.arrange import Row, ordered
from sesstool.library.discover import Item
from sesstool.library.due import overdue
from sesstool.library.glance import look
from sesstool.library.living import Alive, alive
from sesstool.library.overview import survey
from sesstool.library.standing import Standing, standing
from sesstool.records.processes import machine_started

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys


class Told(NamedTuple):
    """A session, how it stands, and who is at work on it."""

    row: Row
    standing: Standing
    alive: Alive | None = None


class Situation(NamedTuple):
    """All sessions at one moment, the newest first.

    `started` is when this computer last did, None if unknown.
    """

    now: datetime
    started: datetime | None
    told: list[Told]


def situation(
    items: Iterable[Item],
    keys: Keys | None = None,
    *,
    kept: bool = True,
    here: Path,
    due: Mapping[Path, str] = MappingProxyType({}),
) -> Situation:
    """How the sessions stand. `kept` is as in `survey`, `here` as in `overdue`.

    `due` are those that a policy would take away, with a word for each.
    """
    now = datetime.now(UTC)
    booted = machine_started()
    started = datetime.fromtimestamp(booted, UTC) if booted else None
    rows = ordered(survey(items, keys, kept=kept))
    at_work = alive(rows)
    late = overdue(rows, now, here)
    for row in rows if due else ():
        if word := due.get(row[0].path):
            late[row[0]] = word
    told = []
    for row in rows:
        busy = at_work.get(row[0])
        told.append(Told(row, standing(row, busy, started, late.get(row[0], "")), busy))
    return Situation(now, started, told)


def closer(one: Told, started: datetime | None, keys: Keys | None = None) -> Told:
    """The same with more of both ends read, for the last good state."""
    row = (one.row[0], look(one.row[0], keys))
    return Told(row, standing(row, one.alive, started, one.standing.overdue), one.alive)
