"""A SQLite database of a living agent, opened so that reading it changes nothing on disk.

SQLite by itself makes files beside a database with a write-ahead log, or writes to them. With the
log and its index in place, it can read both as they are. Where there is no log, the file alone
holds all, and it is looked whether somebody wrote meanwhile. A log without an index, as in a
backup, is read in a private copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from sesstool.errors import InputError
from sesstool.records.source import ROOMIER, open_file, unreadable

MAGIC = b"SQLite format 3\0"
"""How a database begins."""
LOG = "-wal"
"""How the name of a write-ahead log ends, behind that of its database."""
_INDEX = "-shm"
# Where the header tells how the database is written, and what stands there for a log.
_MODE, _LOGGED = 18, b"\2"
_HEADER = 100
# So many seconds a read waits for a writer that has locked the database.
_PATIENCE = 2.0
_BROKEN = (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError, ValueError)
_AGAIN = "run it again; if it happens each time, close the agent first"
_MEND = (
    "start the agent, which may mend it, and close it; "
    "or save what can be read: sqlite3 FILE .recover | sqlite3 NEW"
)


def is_database(path: Path) -> bool:
    """Whether a path is a regular file that begins like a database; False where nobody can tell."""
    try:
        with open_file(path) as handle:
            return handle.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def last_written(path: Path) -> os.stat_result:
    """The stat result of a database, or of its log where that is the newer; or of another file.

    Raises OSError.
    """
    now = path.stat()
    try:
        log = path.with_name(path.name + LOG).stat()
    except OSError:
        return now
    return log if log.st_size and log.st_mtime_ns >= now.st_mtime_ns else now


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction in which a database is read. Raises InputError, also for what SQLite says.

    Texts come as they are read, with U+FFFD for what is no UTF-8.
    """
    try:
        # The log lies beside the file itself. `Path.resolve` fails at links in a circle.
        path = Path(os.path.realpath(path))
        with ExitStack() as stack:
            uri, alone = _way(path, stack)
            before = _stamp(path)
            database = stack.enter_context(
                closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None))
            )
            database.text_factory = _text
            database.row_factory = sqlite3.Row
            # Of what the file itself says should be done, nothing is.
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            database.execute("BEGIN")
            yield database
            if alone and _stamp(path) != before:
                raise InputError(
                    f"cannot read {path}: it was written to in the meantime", hint=_AGAIN
                )
    except OSError as error:
        raise unreadable("read", path, error) from error
    except _BROKEN as error:
        raise _refused(path, error) from error


def _way(path: Path, stack: ExitStack) -> tuple[str, bool]:
    """How SQLite is to open a database, and whether it reads the file without any lock."""
    with open_file(path) as handle:
        header = handle.read(_HEADER)
    if not header.startswith(MAGIC):
        raise InputError(
            f"{path} is no folder, and no database that can be read: it is damaged, encrypted, or "
            "something else",
            hint="check the path; of an encrypted one, only the program that made it has the key",
        )
    log, index = (path.with_name(path.name + end) for end in (LOG, _INDEX))
    for beside in (log, index):
        if beside.exists():
            open_file(beside).close()  # SQLite would wait for a pipe
    if header[_MODE : _MODE + 1] != _LOGGED:
        return f"{path.as_uri()}?mode=ro", False
    if log.exists() and index.exists():
        return f"{path.as_uri()}?mode=ro&readonly_shm=1", False
    if log.exists() and log.stat().st_size:
        return f"{_copied(path, log, stack).as_uri()}?mode=rw", False
    return f"{path.as_uri()}?mode=ro&immutable=1", True


def _copied(path: Path, log: Path, stack: ExitStack) -> Path:
    """A private copy of a database with its log, which goes with the stack. Raises InputError."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sesstool-")))
    size = path.stat().st_size + log.stat().st_size
    if shutil.disk_usage(folder).free < 2 * size:
        raise InputError(f"cannot read {path}: no room for a copy of its {size} bytes", ROOMIER)
    for one in (path, log):
        with open_file(one) as source, (folder / one.name).open("xb") as target:
            shutil.copyfileobj(source, target)
    return folder / path.name


def _stamp(path: Path) -> tuple[object, ...]:
    """What changes when somebody writes to a database that has no log, or begins one."""
    now = path.stat()
    log = path.with_name(path.name + LOG)
    return now.st_ino, now.st_size, now.st_mtime_ns, log.exists() and log.stat().st_size


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _refused(path: Path, error: Exception) -> InputError:
    """The error for what SQLite says: its own words may quote what the file holds."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return InputError(f"cannot read {path}: another process has locked it", hint=_AGAIN)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return InputError(
            f"cannot read {path}: a change of it was broken off, and is to be rolled back first",
            hint="start the agent, which does that, and close it",
        )
    if code == sqlite3.SQLITE_FULL:
        return InputError(f"cannot read {path}: the disk for temporary files is full", ROOMIER)
    return InputError(f"cannot read {path}: the database is damaged", hint=_MEND)
