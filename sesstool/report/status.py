"""How the sessions of this computer stand: for people, or as JSON."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sesstool.library.arrange import Row, agent_of, id_of, resume_command
from sesstool.library.situation import Told
from sesstool.library.standing import STANDINGS, Standing
from sesstool.report.amounts import size
from sesstool.report.listing import aligned, array, home_relative, short_ids, value, where
from sesstool.text import elide, lasting, quoted, safe

FORMATS = ("text", "json", "jsonl")
_INDENT = "  "
_PROJECTS = 10


class Use(NamedTuple):
    """What the sessions of a project of an agent take on disk, with their parts, in bytes."""

    agent: str
    project: str
    sessions: int
    size: int


def uses(rows: Iterable[Row]) -> list[Use]:
    """What is on disk, by agent and project, the largest first; `rows` are with all parts."""
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    numbers: Counter[tuple[str, str]] = Counter()
    for row in rows:
        key = (agent_of(row), where(row))
        sizes[key] += row[0].size
        numbers[key] += 1
    found = (Use(*key, numbers[key], total) for key, total in sizes.items())
    return sorted(found, key=lambda use: (-use.size, use.agent, use.project))


def text(told: Sequence[Told], now: datetime, columns: int = 0) -> str:
    """A paragraph for each session: how it stands, what it did, and how to go on with it."""
    names = short_ids(id_of(one.row) for one in told)
    return "".join(line for one in told for line in _paragraph(one, names, now, columns))


def line(one: Told, now: datetime) -> str:
    """A session in one line, for a log of changes."""
    row = one.row
    title = (row[1].title if row[1] else "") or safe(row[0].name)
    when = f"{now.astimezone():%H:%M:%S}"
    return f"{when}  {one.standing.word:<15}{agent_of(row):<12}{safe(id_of(row))}  {title}\n"


def disk(found: Sequence[Use]) -> str:
    """What is on disk: a line for each agent, and for the projects that take the most."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for use in found:
        totals[use.agent][0] += use.sessions
        totals[use.agent][1] += use.size
    lines = [("ON DISK", "FILES", "SIZE")]
    for agent, (sessions, total) in sorted(totals.items(), key=lambda pair: -pair[1][1]):
        lines.append((agent or "other places", f"{sessions:,}", size(total)))
        mine = [use for use in found if use.agent == agent]
        lines += [
            (_INDENT + (home_relative(u.project) or "–"), f"{u.sessions:,}", size(u.size))
            for u in mine[:_PROJECTS]
        ]
        if len(mine) > _PROJECTS:
            rest = mine[_PROJECTS:]
            more = f"{_INDENT}{len(rest):,} more"
            lines.append(
                (more, f"{sum(u.sessions for u in rest):,}", size(sum(u.size for u in rest)))
            )
    return "".join(aligned([*map(list, zip(*lines, strict=True))], right=(1,)))


def summary(words: Iterable[str]) -> str:
    """How many stand how: `3 running, 1 interrupted, 40 clean`."""
    found = Counter(words)
    return ", ".join(f"{found[word]:,} {word}" for word in STANDINGS if found[word]) or "no session"


def to_json(told: Iterable[Told], found: Iterable[Use], started: datetime | None) -> Iterator[str]:
    """All of it as one document, piece by piece; see schemas/output/status.schema.json."""
    since = json.dumps(started.isoformat() if started else None)
    yield f'{{\n  "schema_version": 1,\n  "machine_started": {since},\n  "sessions": '
    yield from array(map(status_value, told))
    yield ',\n  "disk": '
    yield from array(map(_use_value, found))
    yield "\n}\n"


def _use_value(use: Use) -> dict[str, Any]:
    return {
        "agent": use.agent or None,
        "project": use.project or None,
        "files": use.sessions,
        "bytes": use.size,
    }


def status_value(one: Told) -> dict[str, Any]:
    """A session and how it stands, as JSON has it."""
    row, stands, _ = one
    told = value(row)
    return told | {
        "state": stands.word,
        "why": stands.why or None,
        "since": stands.since.isoformat() if stands.since else None,
        "doing": list(stands.doing),
        "uncertain": list(stands.uncertain),
        "last_good": stands.good.isoformat() if stands.good else None,
        "last_good_end": stands.good_end if stands.good_end >= 0 else None,
        "before_start": stands.lost,
        "past_retention": stands.overdue or None,
        "resume": resume_command(row) or None,
    }


def _paragraph(one: Told, names: Mapping[str, str], now: datetime, columns: int) -> Iterator[str]:
    row, stands, _ = one
    title = (row[1].title if row[1] else "") or safe(row[0].name)
    ago = lasting(max((now - stands.since).total_seconds(), 0)) + " ago" if stands.since else "–"
    head = f"{stands.word:<15}{ago:<16}{agent_of(row):<12}{names[id_of(row)]}  {title}"
    yield (elide(head, columns) if columns else head).rstrip() + "\n"
    yield from (f"{_INDENT}{line}\n" for line in _lines(row, stands))


def _lines(row: Row, stands: Standing) -> Iterator[str]:
    place = where(row)
    if place:
        gone = os.path.isabs(place) and not os.path.isdir(place)  # noqa: PTH112, PTH117 - plain text
        yield f"in {home_relative(place)}{', a folder that is gone' * gone}"
    if stands.why:
        yield safe(stands.why) + (": before this computer started" if stands.lost else "")
    if stands.doing:
        verb = "runs" if stands.word in ("running", "waiting") else "ran"
        yield f"it {verb} {', '.join(_tools(stands))}"
    if stands.word in ("interrupted", "damaged") and stands.good:
        end = f", at byte {stands.good_end:,}" if stands.good_end >= 0 else ""
        yield f"last good state: {stands.good.astimezone():%Y-%m-%d %H:%M:%S}{end}"
    if stands.overdue and stands.why != stands.overdue:
        yield safe(stands.overdue)
    if step := _next(row, stands):
        yield f"next: {step}"


def _tools(stands: Standing) -> Iterator[str]:
    unsure = () if stands.word in ("running", "waiting") else stands.uncertain
    for name in stands.doing:
        yield safe(name) + (" (it may have changed something)" if name in unsure else "")


def _next(row: Row, stands: Standing) -> str:
    if stands.word in ("damaged", "unreadable", "unknown"):
        return f"sesstool validate {quoted(row[0].path)}"
    if stands.word in ("running", "waiting"):
        return ""
    return safe(resume_command(row))
