"""Databases as OpenCode, Goose and the OpenAI Agents SDK keep them, with invented sessions."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

OPENCODE = """
    CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,
        title text, version text, summary_additions integer, revert text, tokens_cache_read integer,
        time_created integer, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
        time_updated integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text,
        time_created integer, time_updated integer, data text);
    CREATE TABLE account (id text PRIMARY KEY, access_token text);
"""
GOOSE = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT,
        created_at TIMESTAMP, updated_at TIMESTAMP, extension_data TEXT, recipe_json TEXT,
        model_config_json TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
        role TEXT, content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP,
        tokens INTEGER, metadata_json TEXT);
"""
AGENTS = """
    CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP,
        updated_at TIMESTAMP);
    CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT,
        message_data TEXT, created_at TIMESTAMP);
"""
NOON = 1_780_000_000_000


def connected(path: Path, schema: str, *, wal: bool = False) -> sqlite3.Connection:
    """A new database, open to be written to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, isolation_level=None)
    if wal:
        database.execute("PRAGMA journal_mode = wal")
        database.execute("PRAGMA wal_autocheckpoint = 0")
    database.execute("PRAGMA synchronous = off")
    database.executescript(schema)
    return database


def add_session(database, session_id, parent=None, folder="/srv/kiln", **more):
    """A session of OpenCode without messages."""
    row = {
        "id": session_id,
        "project_id": "global",
        "parent_id": parent,
        "directory": folder,
        "title": "kilns",
        "version": "1.18.33",
        "time_created": NOON,
        "time_updated": NOON,
        **more,
    }
    insert(database, "session", row)


def add_message(database, session_id, number, role, *parts, **info):
    """A message of OpenCode, whose ids and times grow with its number, and its parts."""
    at = NOON + 1000 * number
    data = {"role": role, "time": {"created": at}, **info}
    name = f"msg_{number:04}"
    times = {"time_created": at, "time_updated": at}
    row = {"id": name, "session_id": session_id, "data": json.dumps(data), **times}
    insert(database, "message", row)
    for n, part in enumerate(parts):
        data = part if isinstance(part, (str, bytes)) else json.dumps(part)
        row = {"id": f"prt_{number:04}_{n:02}", "message_id": name, "session_id": session_id}
        insert(database, "part", {**row, "data": data, **times})


def insert(database, table, row):
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))  # noqa: S608 - the tests' own


def words(text, **more):
    return {"type": "text", "text": text, **more}


def tool(call_id, status="completed", **state):
    told = {"output": "hot"} if status == "completed" else {}
    state = {"status": status, "input": {"at": "kiln"}, **told, **state}
    return {"type": "tool", "callID": call_id, "tool": "look", "state": state}


def opencode(path: Path, *, wal: bool = False) -> sqlite3.Connection:
    """A session with two messages and a call, one of a subagent, still open to be written to."""
    database = connected(path, OPENCODE, wal=wal)
    add_session(database, "ses_kiln")
    add_session(database, "ses_scout", "ses_kiln", time_updated=NOON - 1)
    add_message(database, "ses_kiln", 2, "assistant", words("I look."), tool("call_1"))
    add_message(database, "ses_kiln", 1, "user", words("Which kiln is hot?"))
    add_message(database, "ses_scout", 3, "user", words("Look at the third."))
    insert(database, "account", {"id": "a", "access_token": "not to be read"})
    return database


def goose(path: Path) -> sqlite3.Connection:
    """A session of three messages: a prompt, a call, its result."""
    database = connected(path, GOOSE)
    times = {"created_at": "2026-05-28 20:00:00", "updated_at": "2026-05-28 20:00:02"}
    row = {"id": "20260528_1", "name": "kilns", "working_dir": "/srv/kiln", **times}
    insert(database, "sessions", {**row, "model_config_json": '{"model_name": "clay-1"}'})
    call = {"name": "look", "arguments": {"at": "kiln"}}
    said = [{"type": "text", "text": "hot"}]
    talk = [
        ("user", [words("Which kiln is hot?")]),
        ("assistant", [{"type": "toolRequest", "id": "call_1", "toolCall": succeeded(call)}]),
        ("user", [{"type": "toolResponse", "id": "call_1", "toolResult": succeeded(said)}]),
    ]
    for n, (role, content) in enumerate(talk):
        row = {"session_id": "20260528_1", "role": role, "content_json": json.dumps(content)}
        times = {"created_timestamp": NOON // 1000 + n, "timestamp": f"2026-05-28 20:00:0{n}"}
        insert(database, "messages", {**row, **times, "message_id": f"msg_{n}"})
    return database


def succeeded(value):
    return {"status": "success", "value": value}


def agents(path: Path, name: str = "kiln-1") -> sqlite3.Connection:
    """A session with a prompt without a type, a call and its output, and words."""
    database = connected(path, AGENTS)
    time = "2026-05-28 20:00:00"
    insert(database, "agent_sessions", {"session_id": name, "created_at": time, "updated_at": time})
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    for item in (
        {"role": "user", "content": "Which kiln is hot?"},
        call,
        {"type": "function_call_output", "call_id": "call_1", "output": "the third"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3"}]},
    ):
        row = {"session_id": name, "message_data": json.dumps(item), "created_at": time}
        insert(database, "agent_messages", row)
    return database


def as_files(top: Path, lines: list[dict]) -> Path:
    """A session as older versions of OpenCode kept it, in files below `top`; returns its own."""
    name = lines[0]["info"]["id"]
    path = top / "session" / "global" / f"{name}.json"
    files = {path: lines[0]["info"]}
    for line in lines[1:]:
        files[top / "message" / name / f"{line['info']['id']}.json"] = line["info"]
        for part in line["parts"]:
            files[top / "part" / line["info"]["id"] / f"{part['id']}.json"] = part
    for file, value in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value, indent=2))
    return path
