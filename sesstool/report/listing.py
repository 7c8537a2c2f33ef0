"""Lists of sessions: as a table for people, one line each, or as JSON."""

from __future__ import annotations

import calendar
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress, count, pairwise, repeat
from operator import ne
from typing import Any

from sesstool.library.arrange import (
    Row,
    Twig,
    agent_of,
    id_of,
    owner_of,
    project_of,
    state_of,
)
from sesstool.report.amounts import size
from sesstool.text import elide, from_here, safe, width

FORMATS = ("text", "concise", "json", "jsonl")
# A beginning of an id is at least so long, and no id shorter than the other is cut.
_SHORT, _WHOLE = 8, 13
# The widest project, and that on a terminal of fewer columns, which shows no sizes either: the
# title is what a person looks for.
_PROJECT, _NARROW, _WIDE = 28, 12, 100
# Forks of forks are set in no further than this.
_DEEPEST = 20
_MONTHS = tuple(calendar.month_abbr)
# Numbers of two digits: to format each takes the most of a row.
_TWO = tuple(f"{number:02}" for number in range(60))


def table(twigs: Sequence[Twig], columns: int = 0, others: Iterable[str] = ()) -> Iterator[str]:
    """A row for each session, at most `columns` wide; what hangs from another is set in.

    Ids are told apart from those of `others` that are not shown.
    """
    narrow = 0 < columns < _WIDE
    rows = [twig.row for twig in twigs]
    ids, places = [id_of(row) for row in rows], [where(row) for row in rows]
    names, projects = short_ids([*ids, *others]), _projects(places, _NARROW if narrow else _PROJECT)
    now = datetime.now()  # noqa: DTZ005 - local time is meant
    cells = [
        ["STATE", *(state_of(row) or "–" for row in rows)],
        ["LAST WRITE", *(day(_local(row[0].mtime), now) for row in rows)],
        ["SIZE", *(size(row[0].size) for row in rows)],
        ["AGENT", *(agent_of(row) or "–" for row in rows)],
        ["ID", *(names[name] for name in ids)],
        ["PROJECT", *(projects[place] for place in places)],
        ["TITLE", *(_title(twig, names) for twig in twigs)],
    ]
    if narrow:
        del cells[2]
    return aligned(cells, columns, right=() if narrow else (2,))


def concise(rows: Iterable[Row]) -> Iterator[str]:
    """One line each: `path: agent: state: title`."""
    for row in rows:
        title = row[1].title if row[1] else ""
        yield f"{safe(str(row[0].path))}: {agent_of(row)}: {state_of(row)}: {title}\n"


def value(row: Row) -> dict[str, Any]:
    """A session as JSON has it; see schemas/output/list.schema.json."""
    item, glance = row
    return {
        "path": str(item.path),
        "id": id_of(row),
        "agent": agent_of(row) or None,
        "project": where(row) or None,
        "state": state_of(row),
        "why": (glance.why if glance else item.trouble) or None,
        "title": (glance.title if glance else "") or None,
        "started": _iso(glance.started if glance else None),
        "last": _iso(glance.last if glance else None),
        "written": _iso(written(row)),
        "size": item.size,
        "stored": item.packed or None,
        "model": (glance.model if glance else "") or None,
        "part_of": owner_of(row) or None,
        "fork_of": glance.origin.session if glance and glance.origin else None,
    }


def to_json(rows: Iterable[Row]) -> Iterator[str]:
    """All of them as one document, piece by piece."""
    yield '{\n  "schema_version": 1,\n  "sessions": '
    yield from array(map(value, rows))
    yield "\n}\n"


def array(values: Iterable[Any]) -> Iterator[str]:
    """A member of a document that is an array, indented; no more than one element is held."""
    before, end = "[\n    ", "[]"
    for one in values:
        yield before + json.dumps(one, indent=2).replace("\n", "\n    ")
        before, end = ",\n    ", "\n  ]"
    yield end


def to_jsonl(rows: Iterable[Row]) -> Iterator[str]:
    """One document a line."""
    for row in rows:
        yield json.dumps(value(row)) + "\n"


def where(row: Row) -> str:
    """The real path of a project, or else the name that stands for it."""
    return (row[1].cwd if row[1] else "") or project_of(row)


def written(row: Row) -> datetime | None:
    """When the file was last written, in UTC."""
    return datetime.fromtimestamp(row[0].mtime / 1e9, UTC) if row[0].mtime > 0 else None


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The shortest beginnings of ids, of eight characters or more, that mean one of these alone.

    They are safe to show.
    """
    known = sorted(set(ids))
    shared = [_alike(*pair) for pair in pairwise(known)]
    most = map(max, [0, *shared], [*shared, 0])
    return {
        name: safe(name if len(name) <= _WHOLE else name[: max(_SHORT, alike + 1)])
        for name, alike in zip(known, most, strict=False)
    }


def _alike(one: str, other: str) -> int:
    """How many characters both begin with, 0 where that is few."""
    if one[:_SHORT] != other[:_SHORT]:
        return 0
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))


def aligned(
    cells: Sequence[list[str]], columns: int = 0, right: tuple[int, ...] = ()
) -> Iterator[str]:
    """Columns of cells as lines; the last cell is cut where `columns` are given and too few."""
    padded = [_padded(column, right=at in right) for at, column in enumerate(cells[:-1])]
    for line in zip(*padded, cells[-1], strict=True):
        text = "  ".join(line).rstrip()
        yield (elide(text, columns) if columns else text) + "\n"


def _padded(cells: Sequence[str], *, right: bool) -> Iterator[str]:
    """The cells of a column, all as wide as the widest."""
    if "".join(cells).isascii():  # nearly always, and much quicker
        most = max(map(len, cells))
        return map(str.rjust if right else str.ljust, cells, repeat(most))
    widths = [width(cell) for cell in cells]
    most = max(widths)
    pads = (" " * (most - wide) for wide in widths)
    return (p + cell if right else cell + p for cell, p in zip(cells, pads, strict=True))


def day(when: datetime | None, now: datetime) -> str:
    """A local time as people say it: `today 14:02`, `Nov 20 13:47`, `2025-11-20`; "–" for none."""
    if when is None:
        return "–"
    if when.year != now.year:
        return when.date().isoformat()
    clock = f"{_TWO[when.hour]}:{_TWO[when.minute]}"
    if when.date() == now.date():
        return f"today {clock}"
    return f"{_MONTHS[when.month]} {_TWO[when.day]} {clock}"


def _local(mtime: int) -> datetime | None:
    return datetime.fromtimestamp(mtime / 1e9) if mtime > 0 else None  # noqa: DTZ006 - local time is meant


def home_relative(path: str) -> str:
    """A path with ~ for the home folder, safe to show."""
    home = os.path.expanduser("~")  # noqa: PTH111 - a path takes longer
    short = "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path
    return safe(short)


def _projects(paths: Iterable[str], most: int) -> dict[str, str]:
    """The ends of the projects' paths, in so many cells at most."""
    return {path: _project(path, most) for path in set(paths)}


def _project(path: str, most: int) -> str:
    shown = home_relative(path)
    if width(shown) <= most:
        return shown
    while width(shown) >= most:
        shown = shown[1:]
    return f"…{shown}"


def _title(twig: Twig, names: Mapping[str, str]) -> str:
    """The title of a session, set in as deep as it hangs; or the next best that names it."""
    item, glance = twig.row
    title = (glance.title if glance else "") or safe(item.trouble) or from_here(item.path)
    if twig.depth:
        return f"{'  ' * min(twig.depth - 1, _DEEPEST)}↳ {title}"
    return _fork(twig.row, names) + title


def _fork(row: Row, names: Mapping[str, str]) -> str:
    """Which session a row goes on from, in words."""
    origin = row[1].origin if row[1] else None
    if origin is None or owner_of(row):
        return ""
    return f"fork of {names.get(origin.session) or safe(origin.session[:_SHORT])}: "


def _iso(when: datetime | None) -> str | None:
    return when.isoformat() if when else None
