"""Which sessions their own agents delete at the next start, by the agents' settings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from sesstool.formats.expiry import expiries
from sesstool.library.arrange import Row, agent_of
from sesstool.library.discover import Item
from sesstool.records.write import real_path


def overdue(rows: Iterable[Row], now: datetime, here: Path) -> dict[Item, str]:
    """The sessions that are older than their agent lets them grow, with a word for each.

    `here` is the folder whose settings count too. An agent whose settings cannot be read deletes
    nothing as far as is known.
    """
    limits: dict[str, tuple[Path, float, str]] = {
        one.agent: (
            real_path(one.home),
            (now.timestamp() - one.after.total_seconds()) * 1e9,
            f"{one.title} deletes it, {one.when}",
        )
        for one in expiries(here)
        if one.after is not None and not one.problem
    }
    found = {}
    inside: dict[str, bool] = {}
    for row in rows:
        item = row[0]
        limit = limits.get(agent_of(row))
        if limit is None or item.trouble:
            continue
        home, oldest, why = limit
        if item.folder not in inside:
            inside[item.folder] = real_path(Path(item.folder)).is_relative_to(home)
        if inside[item.folder] and item.mtime < oldest:
            found[item] = why
    return found
