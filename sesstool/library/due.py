"""Which sessions their own agents delete at the next start, by the agents' settings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
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
    limits: dict[str, tuple[Path, timedelta, str]] = {
        one.agent: (real_path(one.home), one.after, f"{one.title} deletes it, {one.when}")
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
        home, after, why = limit
        if item.folder not in inside:
            inside[item.folder] = real_path(Path(item.folder)).is_relative_to(home)
        age = now - datetime.fromtimestamp(item.mtime / 1e9, UTC)
        if inside[item.folder] and age > after:
            found[item] = why
    return found
