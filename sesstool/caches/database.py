"""What the databases of the caches have in common."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sesstool.caches.folder import is_own


def prepare(path: Path) -> None:
    """Make an empty file for this user alone in the place of what is none of theirs.

    Raises OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.path.lexists(path) and not is_own(path):
        path.unlink()  # a link would lead the write elsewhere
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


@contextmanager
def useless() -> Iterator[None]:
    """Make every error of SQLite a ValueError: the cache is then of no use."""
    try:
        yield
    except sqlite3.Error as error:
        raise ValueError("the cache is of no use") from error


@contextmanager
def change(database: sqlite3.Connection) -> Iterator[None]:
    """One change, whole or not at all; others wait for its end. Raises ValueError."""
    with useless():
        database.execute("BEGIN IMMEDIATE")
        try:
            yield
            database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise
