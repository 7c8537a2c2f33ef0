"""Codex forks by reference: a child holds no copy, but a byte offset of its parent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from sesstool.formats.base import mapping
from sesstool.records.edits import Edit, EditSet
from sesstool.records.jsonspan import locate

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
    for path in sorted(home.glob("*sessions/**/rollout-*.jsonl")):
        try:
            with path.open("rb") as handle:
                head = handle.readline()
            value = mapping(orjson.loads(head))
        except (OSError, ValueError):
            continue
        base = mapping(mapping(value.get("payload")).get("history_base"))
        member = locate(head, _POINTER)
        if base.get("thread_id") == thread and member and type(base["end_byte_offset"]) is int:
            yield Child(path, base["end_byte_offset"], member.start, member.end)
