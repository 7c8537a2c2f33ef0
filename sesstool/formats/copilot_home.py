"""Where Copilot CLI keeps sessions: `session-state/<session id>/` in its home folder.

The session is `events.jsonl` there, and all else in that folder belongs to it. Before 1.0.11 it was
`session-state/<session id>.jsonl`, with nothing beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from sesstool.formats.side_files import home_of
from sesstool.records.live import lock_is_held
from sesstool.records.processes import still_there
from sesstool.records.source import bare_path, read_file

EVENTS = "events.jsonl"
FOLDER = "session-state"
BEYOND = (
    "logs in its home folder, where the agent notes its own work",
    "command-history-state.json in its home folder: the last prompts of all sessions",
    "what GitHub keeps of a session that was shared or handed to the cloud",
)
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_LOCK = re.compile(r"inuse\.([0-9]{1,10})\.lock")
_CWD = re.compile(r"^cwd: *(.+?) *$", re.MULTILINE)


def configured() -> Path:
    """The home of this user."""
    return Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")


def copilot_home(path: Path) -> Path | None:
    """The home of Copilot CLI that a path lies in, if it does."""
    return home_of(path, ".copilot", configured, (FOLDER,))


def session_folder(path: Path) -> Path | None:
    """The folder that holds a session alone; None for one of the flat layout, or outside."""
    own = bare_path(path).name == EVENTS and _ID.fullmatch(path.parent.name)
    return path.parent if own else None


def named(path: Path) -> str:
    """The session id that a path tells, or ""."""
    bare = bare_path(path)
    name = bare.parent.name if bare.name == EVENTS else bare.name.removesuffix(".jsonl")
    return name if _ID.fullmatch(name) else ""


def project(folder: Path) -> str:
    """The project's path that a session's folder tells, or ""."""
    try:
        found = _CWD.search(read_file(folder / "workspace.yaml").decode("utf-8", "replace"))
    except OSError:
        return ""
    said = found.group(1) if found else ""
    if said[:1] == said[-1:] == "'":
        return said[1:-1].replace("''", "'")
    try:
        return str(json.loads(said)) if said[:1] == '"' else said
    except ValueError:
        return ""


def running(folder: Path) -> Iterator[int]:
    """The processes that have said, by a file in a session's folder, that they run it.

    Newer versions have a lock on a second file as long as they do.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is asked for
    except OSError:
        return
    for name in names:
        found = _LOCK.fullmatch(name)
        if not found:
            continue
        pid, held = int(found.group(1)), folder / f"inuse.{found.group(1)}.hold"
        if lock_is_held(held) or (held.name not in names and still_there(pid, folder / name)):
            yield pid
