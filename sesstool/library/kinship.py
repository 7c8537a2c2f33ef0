"""What only the sessions beside one tell: the path of its project, and whose piece it is."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sesstool.library.arrange import Row, id_of
from sesstool.records.source import CHUNK, open_file

_UUID = re.compile(rb'"uuid": ?"([^"\\]{1,100})"')
_LONGEST = 128


def in_projects(rows: Sequence[Row]) -> list[Row]:
    """The rows that do not tell the path of their project with what others of the same one tell.

    An agent's folder has a name that may stand for several paths: the one counts that most tell.
    """
    told = Counter(
        (item.format, item.project, glance.cwd)
        for item, glance in rows
        if glance is not None and glance.cwd and item.format and item.project
    )
    paths: dict[tuple[str, str], str] = {}
    for (form, project, path), _ in told.most_common():
        paths.setdefault((form, project), path)
    return [
        (item._replace(project=real), glance)
        if (glance is None or not glance.cwd)
        and item.project
        and (real := paths.get((item.format, item.project)))
        else (item, glance)
        for item, glance in rows
    ]


def with_owners(rows: Sequence[Row]) -> list[Row]:
    """The rows of pieces that name but a record of their session, with that session's id instead.

    Claude Code before 2.0 wrote such files, of a title alone. The sessions in their folders are
    read through for these records.
    """
    names = {id_of(row) for row in rows}
    wanted: dict[str, set[str]] = defaultdict(set)
    for item, glance in rows:
        if glance is not None and glance.owner and not item.owner and glance.owner not in names:
            wanted[item.folder].add(glance.owner)
    if not wanted:
        return list(rows)
    owners: dict[str, str] = {}
    for row in rows:
        item, glance = row
        if item.folder in wanted and (glance is None or not glance.owner):
            here = wanted[item.folder]
            owners |= dict.fromkeys(here.intersection(_records(item.path)), id_of(row))
    return [
        (item, glance._replace(owner=owners[glance.owner]))
        if glance is not None and glance.owner in owners
        else (item, glance)
        for item, glance in rows
    ]


def _records(path: Path) -> Iterator[str]:
    """The ids of the records of a plain file, as far as it can be read."""
    with suppress(OSError), open_file(path) as handle:
        rest = b""
        while data := handle.read(CHUNK):
            data = rest + data
            yield from (found.decode("utf-8", "replace") for found in _UUID.findall(data))
            rest = data[-_LONGEST:]
