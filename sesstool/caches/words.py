"""An index of words: in which files, and at which byte offsets, a word stands.

It is one SQLite database, which knows of files and words, and nothing of sessions. The words of
some files lie together in a *shard*, a full-text table that is never changed but by adding to it.
SQLite 3.40 cannot take the words of one row out of such a table without being told them again, and
leaves them in the file even then. So what is to be forgotten goes with its whole shard, whose pages
are overwritten with zeros; what is left of the other files in it is added anew later on.

A row id is the number of the file and the offset in it, so that there is no table of rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import NamedTuple, Self

from sesstool.caches.database import change, prepare, useless
from sesstool.caches.folder import is_own

_VERSION = 1
# So many bytes of sessions share a shard: forgetting one file costs at most to read these again.
SHARD = 64 << 20
_OFFSET_BITS = 40
_LARGEST = (1 << _OFFSET_BITS) - 1
_PATIENCE = 60.0
_OLDEST = (3, 35)
_TABLES = f"""
CREATE TABLE files(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, inode INTEGER, size INTEGER,
  mtime INTEGER, tail BLOB, reached INTEGER, whole INTEGER);
CREATE TABLE shards(id INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER NOT NULL);
CREATE TABLE parts(
  file INTEGER, shard INTEGER, start INTEGER NOT NULL, PRIMARY KEY(file, shard)) WITHOUT ROWID;
CREATE INDEX parts_of_shard ON parts(shard);
PRAGMA user_version={_VERSION};
"""


class Stamp(NamedTuple):
    """What shows that a file is the one that was read, or that one with more behind it.

    `mtime` counts nanoseconds, `tail` is a hash of the last bytes before `size`.
    """

    inode: int
    size: int
    mtime: int
    tail: bytes = b""


class Known(NamedTuple):
    """A file in the index: up to which offset it was read, and whether all of that is there.

    One of which nothing is there, since not all of it can be, has reached -1.
    """

    id: int
    stamp: Stamp
    reached: int
    whole: bool


class Words:
    """The database, open. Every error of SQLite is a ValueError: the index is then of no use."""

    def __init__(self, path: Path, *, make: bool = False) -> None:
        """Open it; with `make`, make one where there is none, or none of use.

        Raises ValueError, and OSError where none can be made.
        """
        if make:
            prepare(path)
        with useless():
            if not is_own(path):
                raise sqlite3.Error("it is not the file of this user")
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                self._open(make=make)
            except BaseException:
                self._db.close()
                raise

    def _open(self, *, make: bool) -> None:
        for pragma in ("secure_delete=ON", "journal_mode=DELETE", "synchronous=NORMAL"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("PRAGMA temp_store=MEMORY")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if not version and make:
            with self.changing():
                (version,) = self._db.execute("PRAGMA user_version").fetchone()
                for statement in _TABLES.split(";") if not version else ():
                    self._db.execute(statement)
            version = _VERSION
        if version != _VERSION:
            raise sqlite3.Error("it is of another version")

    def __enter__(self) -> Self:
        """Close it on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._db.close()

    def changing(self) -> AbstractContextManager[None]:
        """One change, whole or not at all; others wait for its end. Raises ValueError."""
        return change(self._db)

    def known(self, path: bytes | None = None) -> dict[bytes, Known]:
        """All the files by their paths, or the one at a path."""
        with useless():
            rows = self._db.execute(
                "SELECT path, id, inode, size, mtime, tail, reached, whole FROM files"
                " WHERE ?1 IS NULL OR path=?1",
                (path,),
            )
            return {
                path: Known(file, Stamp(*stamp), reached, bool(whole))
                for path, file, *stamp, reached, whole in rows
            }

    def add(self, path: bytes, start: int) -> Adder:
        """Take what a file says from an offset on into the newest shard, within a change."""
        (file,) = self._row(
            "INSERT INTO files(path) VALUES(?) ON CONFLICT DO UPDATE SET path=path RETURNING id",
            path,
        )
        return Adder(self._db, file, start)

    def reached(self, file: int, stamp: Stamp, reached: int) -> None:
        """Note that a file is in the index up to an offset, within a change."""
        self._db.execute(
            "UPDATE files SET inode=?, size=?, mtime=?, tail=?, reached=?, whole=1 WHERE id=?",
            (*stamp, reached, file),
        )

    def _row(self, statement: str, *values: object) -> tuple[int, ...]:
        row: tuple[int, ...] = self._db.execute(statement, values).fetchone()
        return row

    def find(self, match: str) -> Iterator[tuple[int, int]]:
        """The file and the offset of each row that fits an FTS5 query, the newest shard first."""
        with useless():
            shards = self._db.execute("SELECT id FROM shards ORDER BY id DESC").fetchall()
            for (shard,) in shards:
                rows = self._db.execute(
                    f"SELECT rowid FROM words_{shard} WHERE words_{shard} MATCH ?",  # noqa: S608 - a number
                    (match,),
                )
                for (row,) in rows:
                    yield row >> _OFFSET_BITS, row & _LARGEST

    def forget(self, paths: Iterable[bytes]) -> None:
        """Take all that was read of some files out, so that none of it is left on disk."""
        with self.changing():  # first of all: another process may be adding one of them
            found = (
                self._db.execute("SELECT id FROM files WHERE path=?", (path,)).fetchone()
                for path in paths
            )
            self.drop([row[0] for row in found if row])

    def drop(self, files: Iterable[int]) -> None:
        """The same of files by their numbers, within a change."""
        for file in files:
            shards = self._db.execute("SELECT shard FROM parts WHERE file=?", (file,)).fetchall()
            for (shard,) in shards:
                self._db.execute(
                    "UPDATE files SET whole=0, reached=min(reached, start) FROM parts"
                    " WHERE shard=? AND file=files.id AND reached >= 0",
                    (shard,),
                )
                self._db.execute(f"DROP TABLE words_{shard}")
                self._db.execute("DELETE FROM parts WHERE shard=?", (shard,))
                self._db.execute("DELETE FROM shards WHERE id=?", (shard,))
            self._db.execute("DELETE FROM files WHERE id=?", (file,))


class Adder:
    """Takes the words of one file in; a new shard is begun where the newest one is full."""

    def __init__(self, db: sqlite3.Connection, file: int, start: int) -> None:
        """Use `Words.add`."""
        self._db, self.file = db, file
        self._shard, self._room = -1, 0
        self._taken = start

    def put(self, offset: int, words: str) -> None:
        """Say which words, with blanks between, stand at an offset; it grows from call to call."""
        if offset - self._taken >= self._room:
            self._turn(offset)
        self._db.execute(
            f"INSERT INTO words_{self._shard}(rowid, words) VALUES(?, ?)",
            (self.file << _OFFSET_BITS | offset, words),
        )

    def close(self, end: int) -> None:
        """End at an offset."""
        if self._shard >= 0:
            self._db.execute(
                "UPDATE shards SET size=size+? WHERE id=?", (end - self._taken, self._shard)
            )
        self._shard = -1

    def _turn(self, offset: int) -> None:
        """Go on in the newest shard, or in a new one where that is full."""
        self.close(offset)
        newest = self._db.execute("SELECT id, size FROM shards ORDER BY id DESC LIMIT 1").fetchone()
        if newest is None or newest[1] >= SHARD:
            row = self._db.execute("INSERT INTO shards(size) VALUES(0) RETURNING id").fetchone()
            newest = (row[0], 0)
            make_shard(self._db, f"words_{newest[0]}")
        self._shard, size = newest
        self._taken, self._room = offset, SHARD - size
        self._db.execute(
            "INSERT INTO parts VALUES(?, ?, ?) ON CONFLICT DO UPDATE"
            " SET start=min(start, excluded.start)",
            (self.file, self._shard, offset),
        )


_SPLIT = "tokenize='unicode61 remove_diacritics 0'"


def make_shard(db: sqlite3.Connection, name: str) -> None:
    """Make a full-text table that keeps no text, and no places of words in it."""
    db.execute(
        f"CREATE VIRTUAL TABLE {name}"
        f" USING fts5(words, content='', detail=none, columnsize=0, {_SPLIT})"
    )


def split(text: str) -> list[str]:
    """The words of a text, as a shard has them."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE said USING fts5(words, {_SPLIT})")
        db.execute("CREATE VIRTUAL TABLE split USING fts5vocab(said, instance)")
        db.execute("INSERT INTO said VALUES(?)", (text,))
        return [row[0] for row in db.execute("SELECT term FROM split ORDER BY offset")]


def is_possible() -> bool:
    """Whether the SQLite of this Python has full-text tables, and knows what is said here."""
    if sqlite3.sqlite_version_info < _OLDEST:
        return False
    with sqlite3.connect(":memory:") as db:
        try:
            make_shard(db, "words_0")
        except sqlite3.OperationalError:
            return False
    return True
