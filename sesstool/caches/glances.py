"""What was seen of sessions at a glance, kept so that the next list need not open them again.

A glance has the title of a session, which is a piece of what was said: the file is this user's
alone, and `forget` takes a session out of it without leaving a byte behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Self

from sesstool.caches.database import change, prepare, useless
from sesstool.caches.folder import glances_path, is_own

_PATIENCE = 10.0
_TABLES = (
    "DROP TABLE IF EXISTS glances",  # what it was called at first
    "DROP TABLE IF EXISTS folders",
    "DROP TABLE IF EXISTS forgotten",
    "CREATE TABLE folders(folder BLOB PRIMARY KEY, facts BLOB)",
    "CREATE TABLE forgotten(times INTEGER)",
    "INSERT INTO forgotten VALUES(0)",
)


class GlanceCache:
    """The database, open: the facts of each folder. Raises ValueError where it is of no use.

    Then all is seen anew. `version` tells what facts are written by; others are not read.
    """

    def __init__(self, version: int | None = None) -> None:
        """Open it, and make one where there is none; no version takes one that is there."""
        path = glances_path()
        try:
            if version is not None:
                prepare(path)
        except OSError as error:
            raise ValueError("there can be no cache") from error
        with useless():
            if not is_own(path):
                raise sqlite3.Error("there is none of this user")
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                for pragma in ("secure_delete=ON", "journal_mode=DELETE", "synchronous=OFF"):
                    self._db.execute(f"PRAGMA {pragma}")
                if version is not None:
                    self._begin(version)
                self._forgotten = self._one("SELECT times FROM forgotten")
            except BaseException:
                self._db.close()
                raise

    def _begin(self, version: int) -> None:
        if self._one("PRAGMA user_version") == version:
            return
        with change(self._db):
            if self._one("PRAGMA user_version") != version:
                for statement in (*_TABLES, f"PRAGMA user_version={version:d}"):
                    self._db.execute(statement)

    def __enter__(self) -> Self:
        """Close it on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._db.close()

    def folders(self) -> list[bytes]:
        """The folders of which there are facts, by their paths."""
        with useless():
            rows = self._db.execute("SELECT folder FROM folders").fetchall()
        return [row[0] for row in rows if type(row[0]) is bytes]

    def of(self, folder: bytes) -> bytes | None:
        """The facts of a folder."""
        with useless():
            found = self._db.execute("SELECT facts FROM folders WHERE folder=?", (folder,))
            row = found.fetchone()
        return row[0] if row else None

    def put(self, facts: Mapping[bytes, bytes], gone: Iterable[bytes] = ()) -> None:
        """Keep the facts of folders in the place of what they had, and forget those that are gone.

        Nothing is kept where something was forgotten since the cache was opened: it might be here.
        """
        with change(self._db):
            if self._one("SELECT times FROM forgotten") == self._forgotten:
                self._db.executemany("REPLACE INTO folders VALUES(?, ?)", facts.items())
                self._db.executemany("DELETE FROM folders WHERE folder=?", ((f,) for f in gone))

    def forget(self, folders: Iterable[bytes]) -> None:
        """Forget all that is kept of these folders."""
        with change(self._db):
            self._db.execute("UPDATE forgotten SET times = times + 1")
            self._db.executemany("DELETE FROM folders WHERE folder=?", ((f,) for f in folders))

    def _one(self, query: str) -> int:
        row: tuple[int] | None = self._db.execute(query).fetchone()
        if row is None:
            raise sqlite3.Error("a row is missing")
        return row[0]
