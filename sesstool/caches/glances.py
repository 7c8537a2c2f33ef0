"""What was seen of sessions at a glance, kept so that the next list need not open them again.

A glance has the title of a session, which is a piece of what was said: the file is this user's
alone, and `forget` takes a session out of it without leaving a byte behind.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

from sesstool.caches.folder import glances_path, is_own

_PATIENCE = 10.0
_TABLE = """
CREATE TABLE IF NOT EXISTS glances(
  path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, facts BLOB) WITHOUT ROWID
"""


class Kept(NamedTuple):
    """What is kept of a file: `size` in bytes and `mtime` in nanoseconds tell of which bytes."""

    size: int
    mtime: int
    facts: bytes


class GlanceCache:
    """The database, open. Raises ValueError where it is of no use: then all is seen anew.

    `version` tells what facts are written by; others are not read.
    """

    def __init__(self, version: int | None = None, *, make: bool = False) -> None:
        """Open it; with `make`, make one where there is none. No version takes any, to forget."""
        path = glances_path()
        with _useless():
            if make:
                _prepare(path)
            if not is_own(path):
                raise sqlite3.Error("there is none of this user")
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                for pragma in ("secure_delete=ON", "journal_mode=DELETE", "synchronous=OFF"):
                    self._db.execute(f"PRAGMA {pragma}")
                if version is not None:
                    self._begin(version)
            except BaseException:
                self._db.close()
                raise

    def _begin(self, version: int) -> None:
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found != version:
            self._db.execute("DROP TABLE IF EXISTS glances")
            self._db.execute(f"PRAGMA user_version={version:d}")
        self._db.execute(_TABLE)

    def __enter__(self) -> Self:
        """Close it on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._db.close()

    def all(self) -> dict[bytes, Kept]:
        """What is kept, by the paths of the files."""
        with _useless():
            rows = self._db.execute("SELECT path, size, mtime, facts FROM glances").fetchall()
        return {row[0]: Kept(*row[1:]) for row in rows}

    def put(self, seen: Iterable[tuple[bytes, Kept]], gone: Iterable[bytes] = ()) -> None:
        """Keep what was seen of files by their paths, and forget some paths, in one change."""
        with _useless():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany(
                    "INSERT OR REPLACE INTO glances VALUES(?, ?, ?, ?)",
                    ((path, *kept) for path, kept in seen),
                )
                self._db.executemany("DELETE FROM glances WHERE path=?", ((p,) for p in gone))
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise


def _prepare(path: Path) -> None:
    """Make an empty file for this user alone in the place of what is none of theirs."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.lexists(path) and not is_own(path):
            path.unlink()  # a link would lead the write elsewhere
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise sqlite3.Error("it cannot be made") from error


@contextmanager
def _useless() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise ValueError("the cache is of no use") from error
