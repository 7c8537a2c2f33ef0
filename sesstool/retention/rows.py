"""Rows of a SQLite database that are of one session: counted without a trace, and taken out.

No schema is assumed. A row is the session's own where its primary key, or a column that is named
as the key of a session, is one of the session's names. A row that only refers to it by another
column, as that of a fork to its parent, is another session's. The database's triggers are put aside
meanwhile: they could take rows of others along. That none went is proven of what was made.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import InputError, LiveSessionError, WriteError
from sesstool.records.source import open_file, read_file, unreadable

_OWN = frozenset({"thread_id", "session_id", "conversation_id", "rollout_path"})
_ANOTHER = re.compile("parent|fork", re.IGNORECASE)
# A database with a write-ahead log is read in memory. Of a larger one only the file is.
_MEMORY = 48 << 20
# How the tables are called in which full-text and spatial indexes keep what is in them.
_SHADOWS = (
    *("data", "idx", "content", "docsize", "config"),  # FTS5
    *("segments", "segdir", "stat"),  # FTS3 and FTS4
    *("node", "rowid", "parent"),  # R-tree
)
_BROKEN = (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError, ValueError)
_CLOSE = "close the agent, and run it again"
_BY_AGENT = "delete the session with the agent itself, and run it again"


class Rows(NamedTuple):
    """How many rows are a session's `own`, and how many others `name` it.

    `note` says what was not looked at, "" where all was.
    """

    own: int
    name: int
    note: str = ""


def count(path: Path, names: Sequence[str]) -> Rows:
    """The rows of a session, of which a column holds one of the names.

    Nothing on disk changes by it, not even a time, and nothing is made beside the database. Raises
    InputError.
    """
    try:
        _regular(path)
        with closing(sqlite3.connect(":memory:")) as memory:
            opened, note = _opened(path.resolve(), memory)  # the log lies beside the file itself
            with closing(opened):
                own, name = _counted(opened, names)
    except OSError as error:
        raise unreadable("read", path, error) from error
    except _BROKEN as error:
        raise _damaged(path, error) from error
    return Rows(own, name, note)


def taken_out(path: Path, names: Sequence[str], made: Path) -> int:
    """Write to `made` what the database is without the rows of a session; returns their number.

    The new database is compact: nothing that was ever deleted is in it. `path` holds what its
    write-ahead log held when this returns, and the same rows as before; nobody else may use it.
    Drafts are made beside `made`, in a private folder. Raises InputError where the
    database is damaged, LiveSessionError where it is locked, and WriteError.
    """
    draft = made.with_name("draft")
    try:
        with closing(_for_writing(draft, "rwc")) as work:
            with closing(_for_writing(path)) as original:
                mode = original.execute("PRAGMA journal_mode").fetchone()[0]
                original.backup(work)
            others = _others(work, names)
            gone = _delete(work, names, path)
            work.execute("VACUUM INTO ?", (str(made),))
        draft.unlink()
        with closing(_for_writing(made)) as new:
            _check(new, path)
            if _others(new, names) != others:
                raise _refused(path, "rows of others would change")
            if mode == "wal":
                new.execute("PRAGMA journal_mode = WAL")
    except (OSError, *_BROKEN) as error:
        raise _failed(path, error) from error
    return gone


def settle(path: Path) -> None:
    """Bring into the database what waits in its write-ahead log, which is empty then.

    A damaged one is not touched. Raises InputError, LiveSessionError and WriteError.
    """
    try:
        _regular(path)
        with closing(sqlite3.connect(":memory:")) as memory:
            opened, _ = _opened(path, memory)
            with closing(opened):
                _check(opened, path)
        with closing(_for_writing(path)) as original:
            if original.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise LiveSessionError(f"{path} is in use: its log is locked", hint=_CLOSE)
    except (OSError, *_BROKEN) as error:
        raise _failed(path, error) from error


def _regular(path: Path) -> None:
    """Raise OSError where SQLite would wait for a pipe."""
    for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        if one == path or one.exists():
            open_file(one).close()


def _opened(path: Path, memory: sqlite3.Connection) -> tuple[sqlite3.Connection, str]:
    """The database for reading without a trace, and what is left out of it.

    SQLite itself would make files beside one with a write-ahead log, or change them.
    """
    log = path.with_name(path.name + "-wal")
    waits = log.stat().st_size if log.exists() else 0
    small = path.stat().st_size + waits <= _MEMORY
    if waits and small and hasattr(memory, "deserialize"):
        memory.deserialize(_merged(bytearray(read_file(path)), read_file(log)))
        return memory, ""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    note = f"not counted is what waits in {log.name}" if waits else ""
    return sqlite3.connect(uri, uri=True), note


def _merged(data: bytearray, log: bytes) -> bytearray:
    """The database, changed to hold the committed pages of its write-ahead log.

    Checksums are not compared: a page torn by a crash may spoil a count, and nothing else.
    """
    page, salts = int.from_bytes(log[8:12]), log[16:24]
    pages: dict[int, int] = {}
    committed: dict[int, int] = {}
    size = 0
    if page in (1 << n for n in range(9, 17)):
        for at in range(32, len(log) - page - 23, page + 24):
            if log[at + 8 : at + 16] != salts:
                break  # left of an earlier round
            pages[int.from_bytes(log[at : at + 4])] = at + 24
            if after := int.from_bytes(log[at + 4 : at + 8]):
                committed |= pages
                size = after * page
    if 0 < size <= len(data) + len(log):
        del data[size:]
        data.extend(bytes(size - len(data)))
        for number, at in committed.items():
            if 0 < number * page <= size:
                data[(number - 1) * page : number * page] = log[at : at + page]
    data[18:20] = b"\1\1"  # no log from here on
    return data


def _for_writing(path: Path, mode: str = "rw") -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)


def _check(database: sqlite3.Connection, path: Path) -> None:
    """Raise InputError where the database is not whole."""
    if database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise _damaged(path, None)


def _counted(database: sqlite3.Connection, names: Sequence[str]) -> tuple[int, int]:
    """The numbers of rows that are the session's own, and of others that name it."""
    own = name = 0
    for table, mine, named in _tables(database, names):
        sql = f"SELECT count(*), ifnull(sum({mine}), 0) FROM {table} WHERE {named}"  # noqa: S608 - quoted
        every, its = database.execute(sql, names).fetchone()
        own += its
        name += every - its
    return own, name


def _delete(database: sqlite3.Connection, names: Sequence[str], path: Path) -> int:
    """Delete the session's own rows; returns how many there were."""
    database.execute("PRAGMA journal_mode = DELETE")
    database.execute("PRAGMA secure_delete = ON")
    # A reference that cascades could take along what is another session's: that is refused below.
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute("BEGIN")
    gone, _ = _counted(database, names)
    dangling = _dangling(database)
    triggers = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
    ).fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {_quoted(name)}")
    for table, mine, _ in list(_tables(database, names)):
        database.execute(f"DELETE FROM {table} WHERE {mine}", names)  # noqa: S608 - quoted
    if _dangling(database) > dangling:
        raise sqlite3.IntegrityError("rows that would stay depend on rows of the session")
    for table in map(_quoted, _virtual(database, "fts%")):
        # The words of a deleted row stay in a full-text index until it is made anew.
        sql = f"INSERT INTO {table}({table}) VALUES (?)"  # noqa: S608 - quoted
        try:
            database.execute(sql, ("rebuild",))
        except sqlite3.OperationalError as error:  # an index that keeps no text
            if gone:
                raise _refused(path, "nobody can tell which words of an index are its") from error
            database.execute(sql, ("optimize",))
    for _, sql in triggers:
        database.execute(sql)
    database.execute("COMMIT")
    return gone


def _others(database: sqlite3.Connection, names: Sequence[str]) -> dict[str, str]:
    """A SHA-256 of the schema, and by table one of all rows in it that are not the session's."""
    every = dict(
        database.execute(
            "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
        )
    )
    indexes = {
        _quoted(name)
        for name in _virtual(database, "fts%")
        if f"table {name}_content" not in every  # it is made anew from what stands elsewhere
    }
    found = {"": hashlib.sha256(repr(sorted(every.items())).encode(errors="replace")).hexdigest()}
    tables = [one for one in _tables(database, names) if one[0] not in indexes]
    database.text_factory = bytes  # also where it is no UTF-8
    for table, mine, _ in tables:
        rows = hashlib.sha256()
        sql = f"SELECT * FROM {table} NOT INDEXED WHERE NOT ({mine})"  # noqa: S608 - quoted
        for row in database.execute(sql, names):
            rows.update(repr(row).encode())
        found[table] = rows.hexdigest()
    database.text_factory = str
    return found


def _dangling(database: sqlite3.Connection) -> int:
    """The number of rows that refer to a row that is not there, by a declared foreign key."""
    return sum(1 for _ in database.execute("PRAGMA foreign_key_check"))


def _virtual(database: sqlite3.Connection, module: str = "%") -> list[str]:
    """The virtual tables whose module has a name like this one."""
    like = f"CREATE VIRTUAL TABLE % USING {module}"
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE ?"
    return [name for (name,) in database.execute(sql, (like,))]


def _tables(database: sqlite3.Connection, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The tables that can name a session: quoted name, what finds its own rows, and all of them."""
    inside = {f"{name}_{end}" for name in _virtual(database) for end in _SHADOWS}
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    marks = ", ".join(f"?{n}" for n in range(1, len(names) + 1))
    for (table,) in found:
        if table.startswith("sqlite_") or table in inside:
            continue  # SQLite's own, or what a full-text index keeps its words in
        mine, named = [], []
        for _, column, _, _, _, key, hidden in database.execute(
            f"PRAGMA table_xinfo({_quoted(table)})"
        ):
            if hidden == 1:
                continue
            test = f"ifnull({_quoted(column)} IN ({marks}), 0)"
            named.append(test)
            if column.lower() in _OWN or (key and not _ANOTHER.search(column)):
                mine.append(test)
        if named:
            yield _quoted(table), " OR ".join(mine or [f"0 AND ?{len(names)}"]), " OR ".join(named)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _damaged(path: Path, error: Exception | None) -> InputError:
    # What SQLite says may quote the schema, but no row.
    why = f": {error}" if isinstance(error, sqlite3.Error) else ""
    return InputError(
        f"cannot read {path}: the database is damaged or of a kind unknown here{why}",
        hint="start the agent, which may mend it, close it, and run it again",
    )


def _refused(path: Path, why: str) -> WriteError:
    return WriteError(
        f"cannot take rows out of {path}: {why}; its rows are as before", hint=_BY_AGENT
    )


def _failed(path: Path, error: Exception) -> InputError | LiveSessionError | WriteError:
    """The error for a database out of which nothing could be taken."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LiveSessionError(f"{path} is in use: another process has locked it", hint=_CLOSE)
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    ):
        return _damaged(path, error)
    why = error.strerror if isinstance(error, OSError) else str(error)
    return WriteError(
        f"cannot take rows out of {path}: {(why or type(error).__name__).lower()}; "
        "its rows are as before",
        hint="see that its folder can be written to and the disks have room, and run it again",
    )
