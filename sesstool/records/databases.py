"""Sessions that are rows of a database: which there are, and each as lines of JSON.

A layout says how one agent keeps them, and is known by its tables, not by a file's name. A session
is told by a path: that of the database, and its id behind it.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import orjson

from sesstool.errors import InputError
from sesstool.records.heal import decode_any
from sesstool.records.jsonspan import dumps
from sesstool.records.traceless import reading

Reader = Callable[[bytes], Any]
# What an id must not hold to be the last part of a path as it is: "%" tells that one is quoted.
_ODD = re.compile(r"[/%\0]|^\.|^$|\.(age|gz|zst)$")
# The length of a text in bytes; newer versions of SQLite need not read it for that.
_BYTES = "octet_length" if sqlite3.sqlite_version_info >= (3, 43) else "length"


class Contained(NamedTuple):
    """A session among others: its id, that of the one it is a part of, and its project's path.

    `size` counts the bytes of its records, `mtime` nanoseconds since 1970; 0 where it is not told.
    """

    id: str
    parent: str
    project: str
    size: int
    mtime: int


class Rows(NamedTuple):
    """Rows that become JSON objects.

    `query` selects them by one value, `order` are the columns of the agent's own order. A column
    is called by its own name, but for those in `names`: dots lead into objects, and "" leaves one
    out. `parsed` are the columns that hold JSON; the members of the object in the column `spread`
    stand beside the others. What is NULL is left out.
    """

    query: str
    order: tuple[str, ...] = ()
    names: Mapping[str, str] = {}
    parsed: frozenset[str] = frozenset()
    spread: str = ""


class Layout(NamedTuple):
    """How an agent keeps sessions in the `tables`, of which each has at least these columns.

    `format` is the name of the format of the lines, `title` what the agent is called. `listed`
    selects what a `Contained` has. Where `info` is given, a row is the member of that name in its
    record, and `parts` are the rows, by the id of a message, that stand beside it.
    """

    format: str
    title: str
    tables: Mapping[str, frozenset[str]]
    listed: str
    session: Rows
    messages: Rows
    info: str = ""
    parts: Rows | None = None


def _size(*columns: str) -> str:
    of = "CAST({} AS BLOB)" if _BYTES == "length" else "{}"
    return " + ".join(f"ifnull({_BYTES}({of.format(column)}), 0)" for column in columns)


_OPENCODE = Layout(
    "opencode",
    "OpenCode",
    {
        "session": frozenset({"id", "parent_id", "directory", "time_updated"}),
        "message": frozenset({"id", "session_id", "time_created", "data"}),
        "part": frozenset({"id", "message_id", "session_id", "data"}),
    },
    f"""
    SELECT id, parent_id, directory, ifnull(message_size, 0) + ifnull(part_size, 0),
           time_updated * 1000000
    FROM session
    LEFT JOIN (SELECT session_id, sum({_size("data")}) AS message_size FROM message GROUP BY 1) m
           ON m.session_id = session.id
    LEFT JOIN (SELECT session_id, sum({_size("data")}) AS part_size FROM part GROUP BY 1) p
           ON p.session_id = session.id
    ORDER BY time_updated, id
    """,  # noqa: S608 - of constants
    Rows(
        "SELECT * FROM session WHERE id = ?",
        (),
        {
            "project_id": "projectID",
            "workspace_id": "workspaceID",
            "parent_id": "parentID",
            "share_url": "share.url",
            "summary_additions": "summary.additions",
            "summary_deletions": "summary.deletions",
            "summary_files": "summary.files",
            "summary_diffs": "summary.diffs",
            "tokens_input": "tokens.input",
            "tokens_output": "tokens.output",
            "tokens_reasoning": "tokens.reasoning",
            "tokens_cache_read": "tokens.cache.read",
            "tokens_cache_write": "tokens.cache.write",
            "time_created": "time.created",
            "time_updated": "time.updated",
            "time_compacting": "time.compacting",
            "time_archived": "time.archived",
        },
        frozenset({"summary_diffs", "metadata", "revert", "permission", "model"}),
    ),
    Rows(
        "SELECT id, session_id, data FROM message WHERE session_id = ?",
        ("time_created", "id"),
        {"session_id": "sessionID"},
        spread="data",
    ),
    "info",
    Rows(
        "SELECT id, session_id, message_id, data FROM part WHERE message_id = ?",
        ("id",),
        {"session_id": "sessionID", "message_id": "messageID"},
        spread="data",
    ),
)
_GOOSE = Layout(
    "goose",
    "Goose",
    {
        "sessions": frozenset({"id", "working_dir", "updated_at"}),
        "messages": frozenset({"id", "session_id", "role", "content_json", "created_timestamp"}),
    },
    f"""
    SELECT sessions.id, '', working_dir, ifnull(size, 0),
           CAST(strftime('%s', updated_at) AS INTEGER) * 1000000000
    FROM sessions
    LEFT JOIN (SELECT session_id, sum({_size("content_json")}) AS size FROM messages GROUP BY 1) m
           ON m.session_id = sessions.id
    ORDER BY updated_at, sessions.id
    """,  # noqa: S608 - of constants
    Rows(
        "SELECT * FROM sessions WHERE id = ?",
        (),
        {
            "recipe_json": "recipe",
            "user_recipe_values_json": "user_recipe_values",
            "model_config_json": "model_config",
        },
        frozenset(
            {"extension_data", "recipe_json", "user_recipe_values_json", "model_config_json"}
        ),
    ),
    Rows(
        "SELECT * FROM messages WHERE session_id = ?",
        ("timestamp", "id"),
        {
            "id": "row",
            "message_id": "id",
            "content_json": "content",
            "created_timestamp": "created",
            "metadata_json": "metadata",
        },
        frozenset({"content_json", "metadata_json"}),
    ),
)
_OPENAI_AGENTS = Layout(
    "openai-agents",
    "the OpenAI Agents SDK",
    {
        "agent_sessions": frozenset({"session_id", "updated_at"}),
        "agent_messages": frozenset({"id", "session_id", "message_data"}),
    },
    f"""
    SELECT agent_sessions.session_id, '', '', ifnull(size, 0),
           CAST(strftime('%s', updated_at) AS INTEGER) * 1000000000
    FROM agent_sessions
    LEFT JOIN (
        SELECT session_id AS owner, sum({_size("message_data")}) AS size
        FROM agent_messages GROUP BY 1
    ) ON owner = agent_sessions.session_id
    ORDER BY updated_at, agent_sessions.session_id
    """,  # noqa: S608 - of constants
    Rows("SELECT * FROM agent_sessions WHERE session_id = ?"),
    Rows(
        "SELECT * FROM agent_messages WHERE session_id = ?",
        ("id",),
        parsed=frozenset({"message_data"}),
    ),
)
LAYOUTS = (_OPENCODE, _GOOSE, _OPENAI_AGENTS)


def inside(database: Path, session_id: str) -> Path:
    """The path of a session in a database."""
    odd = _ODD.search(session_id)
    return database / (_quoted(session_id) if odd else session_id)


def id_in(path: Path) -> str:
    """The id of the session that a path in a database tells."""
    return "" if path.name == "%" else unquote(path.name)


def _quoted(session_id: str) -> str:
    return quote(session_id, safe=" ").replace(".", "%2E") or "%"


def sessions(path: Path) -> tuple[Layout, list[Contained]]:
    """The sessions in a database, the last one used at the end. Raises InputError."""
    with reading(path) as database:
        layout = _layout(database, path)
        found = [_contained(row) for row in database.execute(layout.listed)]
    return layout, found


def lines(path: Path, session_id: str) -> Iterator[bytes]:
    """The records of a session in a database as lines: first what is said of it, then messages.

    Raises InputError, also where it is not there.
    """
    with reading(path) as database:
        yield from _lines(database, _layout(database, path), path, session_id)


class Ends(NamedTuple):
    """The first and the last lines of a session, and how many stand between them.

    `tail` is empty where the head is all of it.
    """

    head: list[bytes]
    tail: list[bytes]
    between: int


def ends(path: Path, session_id: str, head: int, tail: int) -> Ends:
    """The lines at both ends of a session, of each about so many bytes. Raises as `lines`."""
    with reading(path) as database:
        layout = _layout(database, path)
        every = _lines(database, layout, path, session_id)
        first = list(_until(every, head + tail))
        if next(every, None) is None:
            return Ends(first, [], 0)
        count = f"SELECT count(*) FROM ({layout.messages.query})"  # noqa: S608 - of constants
        left = database.execute(count, (session_id,)).fetchone()[0] + 1 - len(first)
        backwards = islice(_messages(database, layout, session_id, " DESC"), left)
        last = list(_until(backwards, tail))[::-1]
    return Ends(first, last, left - len(last))


def _until(found: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Lines until they are so many bytes, or more with the last of them."""
    for line in found:
        yield line
        size -= len(line)
        if size <= 0:
            return


def _lines(
    database: sqlite3.Connection, layout: Layout, path: Path, session_id: str
) -> Iterator[bytes]:
    found = database.execute(layout.session.query, (session_id,)).fetchone()
    if found is None:
        raise InputError(
            f"there is no session of this id in {path}", hint="give the database to have them all"
        )
    yield _line(layout, layout.session, found, None)
    yield from _messages(database, layout, session_id)


def _messages(
    database: sqlite3.Connection, layout: Layout, session_id: str, way: str = ""
) -> Iterator[bytes]:
    for row in _rows(database, layout.messages, session_id, way):
        parts = list(_rows(database, layout.parts, row["id"])) if layout.parts else None
        yield _line(layout, layout.messages, row, parts)


def _rows(database: sqlite3.Connection, rows: Rows, key: Any, way: str = "") -> sqlite3.Cursor:
    """The rows in their order, or the other way round."""
    order = ", ".join(f"{column}{way}" for column in rows.order)
    return database.execute(f"{rows.query} ORDER BY {order}", (key,))


def _layout(database: sqlite3.Connection, path: Path) -> Layout:
    """The layout of a database. Raises InputError."""
    master = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    tables = {name for (name,) in database.execute(master)}
    for layout in LAYOUTS:
        if layout.tables.keys() <= tables and all(
            columns <= {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}
            for table, columns in layout.tables.items()
        ):
            return layout
    agents = ", ".join(layout.title for layout in LAYOUTS)
    raise InputError(
        f"{path} is a database, and its tables hold no sessions that sesstool knows",
        hint=f"those of these agents can be read: {agents}",
    )


def _contained(row: sqlite3.Row) -> Contained:
    name, parent, project, size, mtime = row
    return Contained(_word(name), _word(parent), _word(project), _whole(size), _whole(mtime))


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int:
    return max(int(value), 0) if isinstance(value, int | float) and math.isfinite(value) else 0


def _line(layout: Layout, table: Rows, row: sqlite3.Row, parts: list[sqlite3.Row] | None) -> bytes:
    """A row as a line, with the rows that stand in it."""

    def record(read: Reader) -> dict[str, Any]:
        made = _members(table, row, read)
        if layout.info:
            made = {layout.info: made}
        if parts is not None and layout.parts is not None:
            made["parts"] = [_members(layout.parts, part, read) for part in parts]
        return made

    return line(record)


def _members(table: Rows, row: sqlite3.Row, read: Reader) -> dict[str, Any]:
    """The object that a row stands for."""
    record: dict[str, Any] = {}
    for column, value in zip(row.keys(), row, strict=True):
        name = table.names.get(column, column)
        if value is None or not name:
            continue
        told = _plain(value)
        if isinstance(told, str) and (column in table.parsed or column == table.spread):
            told = read(told.encode())
        if column == table.spread and isinstance(told, dict):
            record = told | record
        elif column in table.names:
            _put(record, name.split("."), told)
        else:
            record[name] = told
    return record


def _put(record: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        below = record.setdefault(key, {})
        if not isinstance(below, dict):
            return
        record = below
    record[keys[-1]] = value


def _plain(value: Any) -> Any:
    """What a column holds as JSON can have it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def line(record: Callable[[Reader], object]) -> bytes:
    """The line of a record, which is made with what reads the JSON texts in it.

    Where they are nested too deep to be written again, they stay texts.
    """
    try:
        return _dumped(record(_value)) + b"\n"
    except RecursionError:
        return _dumped(record(_text)) + b"\n"


def _value(raw: bytes) -> Any:
    """The value of a JSON text, else the text itself."""
    try:
        return decode_any(raw)
    except ValueError:
        return _text(raw)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _dumped(record: object) -> bytes:
    try:
        return orjson.dumps(record)
    except TypeError:  # half a character, an integer of many digits, or nested deeply
        return dumps(record)
