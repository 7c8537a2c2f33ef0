"""All the sessions of this computer at one look: what each is, kept so that the next is quick.

A cache has what was seen of each, with the size and the time of the file then; the next look opens
only what has changed since. Nothing that needs a key is kept.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from sesstool.caches.forget import forget_glances
from sesstool.caches.glances import GlanceCache, Kept
from sesstool.errors import WriteError
from sesstool.formats.registry import FORMATS
from sesstool.formats.terms import Origin
from sesstool.library.arrange import Row
from sesstool.library.discover import Item
from sesstool.library.glance import Glance, look
from sesstool.library.kinship import in_projects, with_owners
from sesstool.version import __version__

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_FIELDS = Glance._fields
_TIMES = [_FIELDS.index(name) for name in ("started", "last", "good")]
_ORIGIN, _OPEN = _FIELDS.index("origin"), _FIELDS.index("open")
# What is not worth to be kept: it may be otherwise at the next look, though the file is the same.
_PASSING = ("unreadable", "encrypted")
# A database holds no larger number; as nanoseconds that is the year 2262.
_LATEST = 1 << 63


def survey(
    items: Iterable[Item],
    keys: Keys | None = None,
    *,
    kept: bool = True,
) -> list[Row]:
    """The sessions with what both their ends tell, briefly; see `glance.look`. Never raises.

    `kept` says that the cache is used.
    """
    known = _read() if kept else {}
    real = _RealFolders()
    rows: list[Row] = []
    names: set[bytes] = set()
    fresh: dict[int, bytes] = {}
    for item in items:
        name = real.name(item)
        names.add(name)
        held = known.get(name)
        glance = None
        if held is not None and (held.size, held.mtime) == (item.size, item.mtime):
            glance = _decoded(held.facts)
        if glance is None:
            glance = look(item, keys, brief=True)
            fresh[len(rows)] = name
        rows.append((item, glance))
    if fresh:
        rows = with_owners(rows)
    if kept:
        _write(
            {name: rows[at] for at, name in fresh.items() if _is_kept(rows[at])},
            known.keys() - names,
        )
    return in_projects(rows)


class _RealFolders:
    """What files are called in the cache: by their real folders, each asked for once."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def name(self, item: Item) -> bytes:
        folder = self._real.get(item.folder)
        if folder is None:
            folder = self._real[item.folder] = os.path.realpath(item.folder)
        return os.fsencode(f"{folder}{os.sep}{item.name}")


def _is_kept(row: Row) -> bool:
    item, glance = row
    passing = glance is None or glance.state in _PASSING
    passing = passing or abs(item.mtime) >= _LATEST
    return not passing and not item.trouble and item.packed != "age"


def _version() -> int:
    """Tells apart what glances are made by: the fields, the formats, and the version of all."""
    makers = (_FIELDS, [(form.name, form.release) for form in FORMATS], __version__)
    return zlib.crc32(repr(makers).encode()) >> 1


def _read() -> dict[bytes, Kept]:
    try:
        with GlanceCache(_version()) as cache:
            return cache.all()
    except ValueError:
        return {}


def _write(fresh: dict[bytes, Row], others: Iterable[bytes]) -> None:
    """Keep what is new, and forget others that are gone. To have no cache is no fault."""
    gone = [name for name in others if not os.path.lexists(name)]
    if not fresh and not gone:
        return
    try:
        _put(fresh, gone)
    except ValueError:  # it is damaged, or in use for too long
        with suppress(ValueError, WriteError):
            forget_glances()
            _put(fresh, gone)


def _put(fresh: dict[bytes, Row], gone: list[bytes]) -> None:
    seen = (
        (name, Kept(row[0].size, row[0].mtime, _encoded(row[1]))) for name, row in fresh.items()
    )
    with GlanceCache(_version(), make=True) as cache:
        cache.put(seen, gone)


def _encoded(glance: Glance | None) -> bytes:
    try:
        return orjson.dumps(list(glance) if glance else None)
    except (TypeError, ValueError):  # a lone surrogate: it is looked at again
        return b""


def _decoded(facts: bytes) -> Glance | None:
    """The glance that was kept, None where it is of no use."""
    try:
        values: list[Any] = orjson.loads(facts)
        for at in _TIMES:
            if values[at] is not None:
                values[at] = datetime.fromisoformat(values[at])
        if values[_ORIGIN] is not None:
            values[_ORIGIN] = Origin(*values[_ORIGIN])
        values[_OPEN] = tuple(values[_OPEN])
        return Glance._make(values)
    except (ValueError, TypeError, IndexError):
        return None
