"""Where Claude Code keeps what belongs to a session, in its home folder, beside the transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from sesstool.formats.side_files import below, starting
from sesstool.formats.terms import Running, Trace
from sesstool.formats.values import mapping, text
from sesstool.records.processes import still_there
from sesstool.records.source import read_file

# Named by the session's id: folders, and files with their ending.
_FOLDERS = ("file-history", "image-cache", "session-env", "tasks", "uploads")
_FILES = (("debug", ".txt"), ("usage-data/facets", ".json"), ("usage-data/session-meta", ".json"))
_WAITS = ("idle", "waiting")
BEYOND = (
    "paste-cache in its home folder: what was pasted into prompts, by its hash",
    "plans and shell-snapshots in its home folder, which bear no session's name",
    "sessions and stats-cache.json in its home folder, which have ids of sessions and no texts",
    "memory and CLAUDE.md files, where the agent may have noted what it was told",
    ".claude.json, where versions before 2.0 kept prompts of each project, and its backups",
    "logs that --debug-file wrote elsewhere",
    "what Claude Code for the desktop, the web or an editor keeps of the same session",
)


def configured() -> Path:
    """The home of this user."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def like_home(path: Path) -> Path | None:
    """A copy of the agent's home folder, by what lies in it, that a path lies in."""
    folders = (f.parent for f in path.absolute().parents if f.name == "projects")
    return next((f for f in folders if (f / "history.jsonl").is_file()), None)


def registered(home: Path) -> Iterator[Running]:
    """The processes of the agent that have registered, with their sessions and what they do.

    Versions before 2.1 do not.
    """
    for entry in home.glob("sessions/*.json"):
        try:
            row = mapping(json.loads(read_file(entry)))
        except (OSError, ValueError, RecursionError):
            continue
        pid, started = row.get("pid"), row.get("procStart")
        if type(pid) is not int:
            continue
        if still_there(pid, entry, started if isinstance(started, str) else None):
            doing = text(row.get("status"))
            waits = bool(row.get("waitingFor")) or doing in _WAITS if doing else None
            yield Running(f"process {pid}", text(row.get("sessionId")), waits, pid)


def session_files(home: Path, name: str) -> Iterator[Path]:
    """The files in the agent's home that belong to one session alone, and links among them."""
    for folder in _FOLDERS:
        yield from below(home, folder, name)
    for folder, ending in _FILES:
        yield from below(home, *folder.split("/"), name + ending)
    for path in starting(home, "todos", name):
        if ".json" in path.name or path.name == "todos":
            yield path


def session_traces(home: Path, name: str) -> Iterator[Trace]:
    """What the agent's shared files may hold of a session."""
    prompts = "prompts that were typed"
    yield Trace(home / "history.jsonl", "lines", (name,), prompts, ("sessionId",))
