"""What a retention run would do, or did: as text and as JSON, without any session text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sesstool.api.retaining import Done, Plan, Row
from sesstool.report.base import count
from sesstool.retention.decide import days
from sesstool.retention.trash import PURGED, Entry
from sesstool.text import safe

_HEAD = ("ACTION", "SESSION", "LAST ACTIVE", "AGE", "SIZE", "REASON")
_UNITS = ("B", "kB", "MB", "GB", "TB")


def to_text(plan: Plan, done: Sequence[Done] | None, *, every: bool) -> str:
    """A table of the sessions, with the files of those that something is done with.

    `done` is what came of it, None for a preview; `every` tells of those that are kept, too.
    """
    rows = [row for row in plan.rows if every or row.changes]
    table = [_HEAD, *(_cells(row) for row in rows), *(_ended(entry) for entry in plan.ended)]
    widths = [max(len(line[at]) for line in table) for at in range(len(_HEAD) - 1)]
    lines = [_line(line, widths) for line in table]
    out = [lines[0]] if len(table) > 1 else []
    for row, line in zip(rows, lines[1:], strict=False):
        out.append(line)
        if row.changes:
            out += [f"    {safe(text)}" for text in _details(row)]
    out += lines[1 + len(rows) :]
    ends = {one.path: one for one in done or ()}
    out += [
        f"{one.action}: {safe(one.path)}: "
        + (f"done, entry {one.entry.id}" if one.entry else "done" if not one.skipped else "skipped")
        for one in ends.values()
    ]
    return "".join(f"{line}\n" for line in out)


def to_json(plan: Plan, done: Sequence[Done] | None, *, every: bool) -> str:
    """The same as one document; see schemas/output/retention.schema.json."""
    value = {
        "schema_version": 1,
        "as_of": plan.now.isoformat(),
        "policy": {"file": plan.policy.name, "sha256": plan.policy.sha256},
        "looked_at": plan.looked_at,
        "limit": plan.limit,
        "sessions": [_session(row) for row in plan.rows if every or row.changes],
        "trash": [_entry(entry) for entry in plan.ended],
        "done": None if done is None else [_done(one) for one in done],
    }
    return json.dumps(value, indent=2) + "\n"


def summary(plan: Plan, done: Sequence[Done] | None) -> str:
    """How many sessions there are for each action, in one line."""
    if done is not None:
        acted = Counter(one.action for one in done if one.skipped is None)
        skipped = sum(one.skipped is not None for one in done)
        return _listed(acted) + (f"; {skipped} skipped" if skipped else "")
    counts = Counter(row.decision.action for row in plan.rows)
    counts[PURGED] += len(plan.ended)
    return f"{_listed(counts)} of {count(plan.looked_at, 'session')}"


def entries_to_text(entries: Iterable[Entry]) -> str:
    """The entries of the trash, one a line."""
    lines = [("ID", "SESSION", "TAKEN", "BY", "SIZE", "UNTIL")]
    lines += [
        (
            entry.id,
            safe(entry.session)[:13],
            _date(entry.made),
            f"{entry.action} ({safe(entry.rule) or 'request'})",
            size(entry.size),
            _date(entry.until) if entry.until else "for ever",
        )
        for entry in entries
    ]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]) - 1)]
    return "".join(f"{_line(line, widths)}\n" for line in lines) if len(lines) > 1 else ""


def entries_to_json(entries: Iterable[Entry]) -> str:
    """The same as one document."""
    return (
        json.dumps({"schema_version": 1, "entries": [_entry(e) for e in entries]}, indent=2) + "\n"
    )


def size(number: int) -> str:
    """A number of bytes with three digits at most before its unit."""
    amount, unit = float(number), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return (
        f"{amount:.0f} {_UNITS[unit]}"
        if unit == 0 or amount >= 100
        else f"{amount:.1f} {_UNITS[unit]}"
    )


def _listed(counts: Counter[str]) -> str:
    some = [f"{number} {action}" for action, number in sorted(counts.items()) if number]
    return ", ".join(some) or "nothing to do"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    *columns, last = cells
    return "  ".join([*(c.ljust(w) for c, w in zip(columns, widths, strict=True)), last])


def _cells(row: Row) -> tuple[str, ...]:
    group, decision = row
    reason = decision.reason
    if decision.rule and not reason.startswith("hold "):
        reason += f" (rule {decision.rule})"
    return (
        decision.action,
        safe(group.session)[:13],
        _date(group.recorded),
        "-" if decision.age is None else days(decision.age),
        size(group.size),
        safe(reason),
    )


def _ended(entry: Entry) -> tuple[str, ...]:
    return (
        PURGED,
        safe(entry.session)[:13],
        _date(entry.recorded),
        "-",
        size(entry.size),
        _why(entry),
    )


def _why(entry: Entry) -> str:
    if entry.until is None:
        return f"archived on {_date(entry.made)}, and a later rule is due"
    return f"taken away on {_date(entry.made)}, and its grace is over"


def _details(row: Row) -> Iterator[str]:
    group = row.group
    side = len(group.pieces) - 1
    yield f"{group.path}" + (f" and {count(side, 'file')} more" if side else "")
    if others := sum(piece.names > 1 for piece in group.pieces):
        yield f"stays: other names (hard links) of {count(others, 'file')}"
    for link in group.links:
        yield f"stays: {link}: a link, and may be somebody else's"


def _date(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d}" if time else "-"


def _session(row: Row) -> dict[str, Any]:
    group, decision = row
    return {
        "path": group.path,
        "session": group.session,
        "agent": group.agent,
        "action": decision.action,
        "rule": decision.rule,
        "reason": decision.reason,
        "last_activity": group.recorded.isoformat() if group.recorded else None,
        "age_seconds": None if decision.age is None else int(decision.age.total_seconds()),
        "bytes": group.size,
        "files": [str(piece.path) for piece in group.pieces],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "session": entry.session,
        "agent": entry.agent,
        "path": entry.path,
        "action": entry.action,
        "rule": entry.rule,
        "taken": entry.made.isoformat(),
        "until": entry.until.isoformat() if entry.until else None,
        "bytes": entry.size,
        "files": [str(item.path) for item in entry.items],
    }


def _done(one: Done) -> dict[str, Any]:
    return {
        "path": one.path,
        "action": one.action,
        "entry": one.entry.id if one.entry else None,
        "skipped": one.skipped.message if one.skipped else None,
    }
