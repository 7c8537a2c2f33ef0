"""Where Gemini CLI keeps sessions: `tmp/<project>/chats/` in its home folder.

A session is `session-<time>-<first 8 characters of its id>.jsonl` there; its subagents are files in
a folder of its whole id. What tools put out is in `tmp/<project>/tool-outputs/session-<id>/`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from sesstool.formats.side_files import below, home_of
from sesstool.records.source import bare_path, open_file, read_file

CHATS = "chats"
BEGINS = "session-"
ROOT = ".project_root"
BEYOND = (
    "history in its home folder: snapshots of a project's files, as commits",
    "checkpoints in the project's folder of tmp, which /chat save and file edits leave",
    "logs.json and shell_history there: prompts and commands of all sessions of the project",
    "GEMINI.md files, where the agent may have noted what it was told",
)
_ID = re.compile(rb'"sessionId" ?: ?"([\w-]{8,64})"')
_SHORT = re.compile(r"session-.*-([0-9A-Za-z_]{8})\.jsonl?")
_WHOLE = re.compile(r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.jsonl")
_HEAD = 1 << 12


def configured() -> Path:
    """The home of this user; the variable names what would be the user's own home."""
    return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"


def gemini_home(path: Path) -> Path | None:
    """The home of Gemini CLI that a path lies in, if it does."""
    return home_of(path, ".gemini", configured, ("tmp",))


def short_id(path: Path) -> str:
    """The beginning of the session's id that the file's name tells, or ""."""
    found = _SHORT.fullmatch(bare_path(path).name)
    return found.group(1) if found else ""


def whole_id(path: Path) -> str:
    """The id that the name of a subagent's file tells, or ""."""
    found = _WHOLE.fullmatch(bare_path(path).name)
    return found.group(1) if found else ""


def told_id(path: Path) -> str:
    """The whole id that a session's header tells, where it begins as the file's name says."""
    try:
        with open_file(path) as handle:
            found = _ID.search(handle.read(_HEAD))
    except OSError:
        return ""
    name, short = found.group(1).decode() if found else "", short_id(path)
    return name if short and name.startswith(short) else ""


def project(folder: Path) -> str:
    """The path of the project that a folder in tmp is for, or ""."""
    try:
        return read_file(folder / ROOT).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def session_files(folder: Path, name: str) -> Iterator[Path]:
    """The files in a project's folder that belong to one session alone."""
    yield from below(folder, CHATS, name)
    yield from below(folder, "tool-outputs", f"{BEGINS}{name}")
    yield from below(folder, "logs", f"{BEGINS}{name}.jsonl")
    yield from below(folder, name)
