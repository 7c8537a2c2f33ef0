"""Codex forks by reference: a child holds no copy, but a byte offset of its parent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from sesstool.formats.base import mapping
from sesstool.records.edits import Edit, EditSet
from sesstool.records.folder import while_unchanged
from sesstool.records.jsonspan import locate
from sesstool.records.source import open_file

_POINTER = "/payload/history_base/end_byte_offset"


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
