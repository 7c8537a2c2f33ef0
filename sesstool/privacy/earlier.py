"""What earlier redactions came to, so that a session that only grew is redacted from there on.

Kept is no value: of each file a keyed hash of its path, its device, inode, size and SHA-256 as
the redaction left it, what it was redacted with (rules, profile, style, key by its fingerprint),
and keyed hashes of the values that it was searched for. It is a help and no more: where it cannot
be read or written, the whole session is redacted.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sesstool.privacy.values import Value
from sesstool.records.write import make_folder, real_path

_NAME = "redacted.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS values_known (id INTEGER PRIMARY KEY, names BLOB);
CREATE TABLE IF NOT EXISTS sessions (
    path TEXT PRIMARY KEY, device INTEGER, inode INTEGER, size INTEGER, sha256 TEXT,
    start INTEGER, line INTEGER, made_with TEXT, known INTEGER, older BLOB
);
"""
_SIZE = 8
# More are forgotten, which costs a search when one of them comes up again.
_OLDER = 1024
_PAIR = struct.Struct(f">{_SIZE}sQ")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Left:
    """A file as a redaction left it.

    `start` is the offset of its last line where that has no end, else `size`; `line` is the number
    of the line there. `known` are the keyed hashes of the values that it was searched for, and
    `older` of those that only its beginning was searched for, with the offset where that ends.
    """

    device: int
    inode: int
    size: int
    sha256: str
    start: int
    line: int
    known: frozenset[bytes] = frozenset()
    older: Mapping[bytes, int] = field(default_factory=dict)

    def unsearched(self, name: bytes) -> int:
        """From where on the file was not searched for the value of this keyed hash."""
        return self.start if name in self.known else self.older.get(name, 0)

    def outlived(self) -> dict[bytes, int]:
        """What it was searched for, as `older` of the file when it has grown."""
        return {**self.older, **dict.fromkeys(self.known, self.start)}


class Earlier:
    """What is known of earlier redactions that were made with the same things."""

    def __init__(self, state: Path, key: bytes, *made_with: str) -> None:
        """Take the state folder, the key of the stand-ins, and what else decides on the result."""
        self._path = state / _NAME
        self._key = key
        self._made_with = self._name("\0".join(made_with).encode()).hex()

    def of(self, path: Path) -> Left | None:
        """How a file was left, None where that is not known."""

        def look(database: sqlite3.Connection) -> Left | None:
            row = database.execute(
                "SELECT device, inode, size, sha256, start, line, names, older "
                "FROM sessions JOIN values_known ON known = id WHERE path = ? AND made_with = ?",
                (self._place(path), self._made_with),
            ).fetchone()
            if row is None:
                return None
            device, inode, size, sha256, start, line, names, older = row
            known = frozenset(names[at : at + _SIZE] for at in range(0, len(names), _SIZE))
            pairs = dict(_PAIR.iter_unpack(older))
            return Left(device, inode, size, sha256, start, line, known, pairs)

        return self._do(look) if self._path.exists() else None

    def keep(self, files: Iterable[tuple[Path, Left]], values: Iterable[Value]) -> None:
        """Keep how files were left, all of which were searched for these values."""
        names = {self.name(value) for value in values}
        files = list(files)

        def write(database: sqlite3.Connection) -> None:
            number = database.execute(
                "INSERT INTO values_known (names) VALUES (?)", (b"".join(sorted(names)),)
            ).lastrowid
            for path, left in files:
                older = sorted((at, name) for name, at in left.older.items() if name not in names)
                packed = b"".join(_PAIR.pack(name, at) for at, name in older[-_OLDER:])
                file = (left.device, left.inode, left.size, left.sha256, left.start, left.line)
                row = (self._place(path), *file, self._made_with, number, packed)
                database.execute("REPLACE INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?)", row)
            database.execute(
                "DELETE FROM values_known WHERE id NOT IN (SELECT known FROM sessions)"
            )

        if files:
            self._do(write)

    def name(self, value: Value) -> bytes:
        """The keyed hash of a value, in the one spelling that was learnt."""
        return self._name(value.kind.encode() + b"\0" + value.text)[:_SIZE]

    def _place(self, path: Path) -> str:
        """What stands for a path, which can hold a value."""
        return self._name(b"path\0" + os.fsencode(real_path(path))).hex()

    def _name(self, data: bytes) -> bytes:
        return hmac.new(self._key, b"sesstool redacted\0" + data, hashlib.sha256).digest()

    def _do(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something in a transaction. No error comes out: then None was done."""
        try:
            make_folder(self._path.parent)
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self._path, timeout=2)) as database, database:
                database.executescript(_TABLES)
                return action(database)
        except sqlite3.OperationalError:
            return None  # no room, no access, or another run has it
        except (sqlite3.DatabaseError, OverflowError, TypeError, struct.error):
            with suppress(OSError):
                self._path.unlink()  # it is damaged
        except OSError:
            pass
        return None
