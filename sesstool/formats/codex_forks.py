"""Forks of Codex's rollouts: copies, and references, which hold a byte offset of their parent.

Since 0.150 a thread has its records numbered, and a fork goes on from those of its parent. Before,
a fork was a copy with a header of its own before that of its parent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from sesstool.formats.forking import Parent, UuidForker, written
from sesstool.formats.side_files import home_of
from sesstool.formats.values import mapping, text
from sesstool.records.edits import Edit, EditSet
from sesstool.records.folder import while_unchanged
from sesstool.records.jsonspan import dumps, locate, with_members
from sesstool.records.recover import Record
from sesstool.records.source import open_file

FOLDERS = ("sessions", "archived_sessions")
LOCKS = "thread-writer-locks"
"""The folder of the locks that a running Codex holds, named by their threads."""
_POINTER = "/payload/history_base/end_byte_offset"
# What the header of a subagent tells of it; a fork is a thread of its own.
_ASIDE = ("parent_thread_id", "agent_nickname", "agent_role", "agent_path")

# Without them Codex reads no header.
_NEEDED = {"originator": "sesstool", "cli_version": "0.0.0"}


def configured() -> Path:
    """The home of this user."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def codex_home(path: Path) -> Path | None:
    """The home of Codex that a path lies in, if it does."""
    return home_of(path, ".codex", configured, FOLDERS)


@dataclass(frozen=True, slots=True)
class Child:
    """A fork whose header names `offset`, which stands at bytes [start, end) of `path`."""

    path: Path
    offset: int
    start: int
    end: int

    def edits(self, moved: EditSet) -> list[Edit]:
        """The offset where the parent's bytes lie after the edits."""
        now = moved.moved(self.offset)
        return [] if now == self.offset else [Edit(self.start, self.end, b"%d" % now)]


def children(home: Path, thread: str) -> Iterator[Child]:
    """The forks of a thread in a Codex home that refer to its bytes."""
    folders = list(home.glob("*sessions"))
    found: list[Child] = []
    for folder in folders:
        below, forks = _forks(folder)
        folders += below
        found += forks.get(thread, ())
    yield from sorted(found, key=lambda child: child.path)


@while_unchanged
def _forks(folder: Path) -> tuple[list[Path], dict[str, list[Child]]]:
    """The folders in a folder, and its forks by the thread that each refers to.

    Codex never changes a header, and a change by sesstool gives the file a new name for a moment.
    """
    below: list[Path] = []
    forks: dict[str, list[Child]] = {}
    try:
        entries = list(os.scandir(folder))
    except OSError:
        entries = []
    for entry in entries:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            below.append(path)
        elif entry.name.startswith("rollout-") and entry.name.endswith(".jsonl"):
            thread, child = _fork(path)
            if child:
                forks.setdefault(thread, []).append(child)
    return below, forks


def _fork(path: Path) -> tuple[str, Child | None]:
    """The thread that a rollout refers to, and where; "" and None where it does not."""
    try:
        with open_file(path) as handle:
            head = handle.readline()
        value = mapping(orjson.loads(head))
    except (OSError, ValueError):
        return "", None
    base = mapping(mapping(value.get("payload")).get("history_base"))
    thread, member = base.get("thread_id"), locate(head, _POINTER)
    if type(thread) is not str or not member or type(base["end_byte_offset"]) is not int:
        return "", None
    return thread, Child(path, base["end_byte_offset"], member.start, member.end)


class CodexForker(UuidForker):
    """See the module."""

    def __init__(self, parent: Parent, new_id: str, now: datetime) -> None:
        """See `Forker`."""
        super().__init__(parent, new_id, now)
        self._begun = False

    @classmethod
    def names(cls, value: dict[str, Any]) -> Iterable[str]:
        """See `Forker.names`: items have ids, and calls and results one that both have."""
        payload = mapping(value.get("payload", value))
        return text(payload.get("id")), text(payload.get("call_id"))

    def name(self) -> str:
        """See `Forker.name`: with the local time."""
        return f"rollout-{self.now.astimezone():%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"

    def folder(self, beside: Path) -> Path:
        """See `Forker.folder`: one for each day."""
        home = codex_home(beside / self.name())
        return beside if home is None else home / f"sessions/{self.now.astimezone():%Y/%m/%d}"

    def reference(self, target: Path, first: Record) -> bytes:
        """See `Forker.reference`: a header, where Codex finds both files in one home."""
        parent, payload = self.parent, mapping(mapping(first.value).get("payload"))
        home = codex_home(parent.path) if parent.path is not None else None
        if not (
            payload.get("history_mode") == "paginated"
            and home is not None
            and home == codex_home(target)
            and parent.plain
            and min(parent.end, parent.ordinals) >= 0
        ):
            return b""
        base = {
            "thread_id": parent.id,
            "end_ordinal_exclusive": parent.ordinals,
            "end_byte_offset": parent.end,
        }
        told: dict[str, bytes | None] = {
            "forked_from_ordinal_exclusive": dumps(parent.ordinals),
            "history_base": dumps(base),
        }
        return self._header(first, told, ordinal=dumps(parent.ordinals)) + b"\n"

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`. Where records are numbered, there is one header only."""
        begins, self._begun = not self._begun, True
        value = record.value or {}
        if begins and value.get("type") == "session_meta":
            yield self._header(record, {})
            if mapping(value.get("payload")).get("history_mode") == "paginated":
                return
        elif begins and "payload" in value:
            yield self._header(None, {})
        elif begins and "instructions" in value:  # as the header of 0.20 has them
            yield with_members(record.raw, self._own())
            return
        yield record.raw

    def _own(self) -> dict[str, bytes | None]:
        return {"id": dumps(self.id), "timestamp": dumps(written(self.now))}

    def _header(
        self, record: Record | None, told: dict[str, bytes | None], **around: bytes
    ) -> bytes:
        """The header of the fork, made of the parent's where it has one, with these members."""
        raw = b"{}"
        if record is not None:
            raw = dumps(record.value) if record.healed else record.raw
        payload = mapping(record.value).get("payload") if record is not None else None
        place = locate(raw, "/payload") if type(payload) is dict else None
        head = raw[place.start : place.end] if place is not None else b"{}"
        told = self._own() | {"forked_from_id": dumps(self.parent.id)} | told
        if "session_id" in mapping(payload):
            told["session_id"] = told["id"]
        if "subagent" in mapping(mapping(payload).get("source")):
            told |= {"source": dumps("cli"), "thread_source": dumps("user")}
        if record is None:
            around = {"type": dumps("session_meta")}
        for key, value in {"cwd": self.parent.cwd, **_NEEDED}.items():
            if type(mapping(payload).get(key)) is not str:
                told[key] = dumps(value)
        head = with_members(head, told | dict.fromkeys(_ASIDE))
        return with_members(raw, {"timestamp": told["timestamp"], **around, "payload": head})
