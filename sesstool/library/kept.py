"""What was seen of the sessions in each folder, kept from one look at all of them to the next.

Nothing that needs a key is kept.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Self

import orjson

from sesstool.caches.forget import forget_glances
from sesstool.caches.glances import GlanceCache
from sesstool.errors import WriteError
from sesstool.formats.registry import FORMATS
from sesstool.formats.terms import Origin
from sesstool.library.arrange import Row
from sesstool.library.discover import Item
from sesstool.library.glance import Glance
from sesstool.version import __version__

# Raise it with each change of what is written for a glance.
_LAYOUT = 3
# What is not worth to be kept: it may be otherwise at the next look, though the file is the same.
_PASSING = ("unreadable", "encrypted")
# Of these all but what is wrong with them is told by the place.
_UNTOLD = ("empty", "unknown")
# orjson writes no larger number; as nanoseconds that is the year 2262.
_LATEST = 1 << 63
_when = datetime.fromisoformat


class KeptFolder:
    """What is kept of the sessions in a folder, each to be taken once.

    Of each there are the size and the times of its file with what was seen then. `words` are what
    they have in common. `changed` says that some that were asked for are so no more.
    """

    def __init__(self, folder: bytes, facts: bytes | None = None) -> None:
        """Read what is kept; what cannot be read is nothing."""
        self.folder = folder
        self.changed = False
        self._words: list[str] = []
        self._sessions: dict[str, Any] = {}
        with suppress(ValueError, TypeError):
            words, sessions = orjson.loads(facts or b"[[], {}]")
            self._words, self._sessions = list(words), dict(sessions)

    def take(self, item: Item) -> Glance | None:
        """What was seen of a session, None where it has changed since or was not seen."""
        facts = self._sessions.pop(item.name, None)
        if facts is None:
            return None
        stamp, seen = _decoded(facts, self._words)
        if seen is None or stamp != (item.size, item.mtime, item.ctime) or item.trouble:
            self.changed = True
            return None
        return seen._replace(format=item.format, id=item.id) if seen.state in _UNTOLD else seen

    def left(self) -> tuple[list[Row], bool]:
        """Those that nobody took and whose files are still there; and whether any is gone.

        Of a database it is not known which are.
        """
        folder = os.fsdecode(self.folder)
        there = set(self._sessions)
        try:
            there &= set(os.listdir(folder))  # noqa: PTH208 - names are wanted
        except (OSError, ValueError):  # the latter where this cache was altered
            there.clear()
        rows: list[Row] = []
        for name in there:
            (size, mtime, ctime), glance = _decoded(self._sessions[name], self._words)
            if glance is not None:
                rows.append((Item(folder, name, size=size, mtime=mtime, ctime=ctime), glance))
        return rows, len(rows) < len(self._sessions)


class Kept:
    """The cache for one look at sessions; where it is of no use or not `wanted`, there is none.

    Nothing here raises: to have no cache is no fault.
    """

    def __init__(self, *, wanted: bool) -> None:
        """Open it."""
        self._cache = _opened() if wanted else None
        self._asked: dict[str, KeptFolder] = {}

    def __enter__(self) -> Self:
        """Close it on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        if self._cache is not None:
            self._cache.__exit__()

    def of(self, folder: str) -> KeptFolder:
        """What is kept of a folder, by its real path."""
        if folder not in self._asked:
            real = os.fsencode(os.path.realpath(folder))
            self._asked[folder] = KeptFolder(real, self._facts(real))
        return self._asked[folder]

    def keep(self, rows: Sequence[Row], fresh: Iterable[Row]) -> None:
        """Keep the rows of the folders where some are fresh, and forget what is gone elsewhere."""
        if self._cache is None:
            return
        asked = {one.folder: one for one in self._asked.values()}
        try:
            others = {one: self._facts(one) for one in self._cache.folders() if one not in asked}
        except ValueError:
            return
        left = {one.folder: one.left() for one in asked.values()}
        left |= {one: KeptFolder(one, facts).left() for one, facts in others.items()}
        changed = {self._asked[row[0].folder].folder for row in fresh if _is_kept(row)}
        changed |= {one.folder for one in asked.values() if one.changed}
        changed |= {folder for folder, (_, gone) in left.items() if gone}
        if not changed:
            return
        now = {folder: left[folder][0] for folder in changed}
        for row in rows:
            folder = self._asked[row[0].folder].folder
            if folder in now and _is_kept(row):
                now[folder].append(row)
        with suppress(ValueError):
            self._cache.put(
                {folder: _encoded(mine) for folder, mine in now.items() if mine},
                [folder for folder, mine in now.items() if not mine],
            )

    def _facts(self, real: bytes) -> bytes | None:
        if self._cache is None:
            return None
        try:
            return self._cache.of(real)
        except ValueError:
            return None


def _opened() -> GlanceCache | None:
    version = _version()
    for _ in range(2):
        try:
            return GlanceCache(version)
        except ValueError:  # it is damaged, or in use for too long
            with suppress(WriteError):
                forget_glances()
    return None


def _version() -> int:
    """Tells apart what glances are made by: their fields, the formats, and the version of all."""
    formats = [(form.name, form.release) for form in FORMATS]
    return zlib.crc32(repr((_LAYOUT, Glance._fields, formats, __version__)).encode()) >> 1


def _is_kept(row: Row) -> bool:
    """Whether a row may be kept.

    That of a link may not: what its file says is to be forgotten where that lies. Nor that of a
    document, for which more files tell than this one.
    """
    item, glance = row
    if glance is None or glance.sealed or glance.state in _PASSING or item.trouble:
        return False
    if item.packed == "age" or item.name.endswith(".json") or abs(item.mtime) >= _LATEST:
        return False
    return not os.path.islink(f"{item.folder}{os.sep}{item.name}")  # noqa: PTH114 - a path takes longer


def _encoded(rows: Iterable[Row]) -> bytes:
    """The facts of a folder: a table of words, and for each name what `_decoded` takes."""
    words: dict[str, int] = {}
    sessions: dict[str, list[Any]] = {}
    for item, seen in rows:
        if seen is None:
            continue
        shared = (seen.state, seen.why, seen.format, seen.model, seen.cwd, seen.owner, seen.ends)
        origin = list(seen.origin) if seen.origin else None
        own = (
            *(seen.id, seen.title, seen.started, seen.last, origin),
            *(seen.torn, seen.open, seen.good, seen.good_end),
        )
        try:
            orjson.dumps((item.name, shared, own))
        except TypeError:  # a lone surrogate: it is looked at again
            continue
        places = [words.setdefault(word, len(words)) for word in shared]
        sessions[item.name] = [item.size, item.mtime, item.ctime, *places, *own]
    return orjson.dumps((list(words), sessions))


def _decoded(facts: Any, words: list[str]) -> tuple[tuple[int, int, int], Glance | None]:
    """Size, mtime and ctime of a file, and what was seen then; None where that is of no use."""
    try:
        size, mtime, ctime, state, why, form, model, cwd, owner, ends, *own = facts
        name, title, started, last, origin, torn, tools, good, good_end = own
        values = (
            words[state],
            words[why],
            words[form],
            0,
            "",
            name,
            title,
            started and _when(started),
            last and _when(last),
            words[model],
            words[cwd],
            origin and Origin(*origin),
            words[owner],
            words[ends],
            torn,
            -1,
            False,
            tuple(tools),
            good and _when(good),
            good_end,
            False,
        )
    except (ValueError, TypeError, IndexError):
        return (0, 0, 0), None
    return (size, mtime, ctime), Glance._make(values)
