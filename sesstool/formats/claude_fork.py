"""Forks of Claude Code's transcripts: a new file with one way through the tree.

So its SDK forks: all ids are new, each record tells which one it was, what is no part of the talk
stays behind, and a title is the last record. A new id comes of the old one and of the session's
new id, so that what a record says of others stays true without a table of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

from sesstool.formats.forking import Parent, UuidForker, written
from sesstool.formats.values import mapping, text
from sesstool.records.jsonspan import dumps, locate, with_members
from sesstool.records.recover import Record

_CHAIN = frozenset({"user", "assistant", "system", "attachment"})
# Beside the talk this alone changes what the model is sent.
_REPLACEMENT = "content-replacement"
# A team and a plan are not the fork's, and the writer of a result needs none.
_LEFT = ("teamName", "agentName", "slug", "sourceToolAssistantUUID")
_NAMING = ("logicalParentUuid", "interruptedMessageId", "supersedesUuids", "retractedMessageUuids")
_PRESERVED = ("preservedSegment", "preservedMessages")
_PLACEHOLDER = re.compile(r"<[A-Z_]+>")


class ClaudeForker(UuidForker):
    """See the module."""

    def __init__(self, parent: Parent, new_id: str, now: datetime) -> None:
        """See `Forker`."""
        super().__init__(parent, new_id, now)
        self._space = UUID(new_id)

    @classmethod
    def fresh(cls, parent: Parent, now: datetime, beside: Path | None) -> str:  # noqa: ARG003 - see `Forker.fresh`
        """See `Forker.fresh`."""
        return str(uuid4())

    @classmethod
    def names(cls, value: dict[str, Any]) -> Iterable[str]:
        """See `Forker.names`: one answer is several records."""
        return text(value.get("uuid")), text(mapping(value.get("message")).get("id"))

    def drops(self, value: dict[str, Any]) -> bool:
        """See `Forker.drops`."""
        kind = text(value.get("type"))
        linked = kind in _CHAIN or ("uuid" in value and "parentUuid" in value)
        return value.get("isSidechain") is True or (
            kind != _REPLACEMENT and (kind == "progress" or not linked)
        )

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`. Old versions take the newest record for the leaf."""
        value = record.value or {}
        changes: dict[str, bytes | None] = {"sessionId": dumps(self.id)}
        if "session_id" in value:
            changes["session_id"] = dumps(self.id)
        if value.get("type") != _REPLACEMENT:
            name = value.get("uuid")
            changes |= dict.fromkeys(_LEFT)
            changes |= {k: dumps(self._new(value[k])) for k in ("uuid", *_NAMING) if k in value}
            if "parentUuid" in value:
                changes["parentUuid"] = dumps(self._new(parent))
            changes |= self._kept(record.raw, mapping(value.get("compactMetadata")))
            if type(name) is str:
                came = {"sessionId": self.parent.id, "messageUuid": name}
                changes["forkedFrom"] = dumps(came)
            if last:
                changes["timestamp"] = dumps(written(self.now))
        yield with_members(record.raw, changes)

    def tail(self) -> Iterable[bytes]:
        """See `Forker.tail`."""
        if self.parent.title:
            title = f"{self.parent.title} (fork)"
            yield dumps({"type": "custom-title", "customTitle": title, "sessionId": self.id})

    def _new(self, name: Any) -> Any:
        """The fork's id for a record, or for each of a list of them."""
        if type(name) is list:
            return [self._new(one) for one in name]
        if type(name) is not str or not name or _PLACEHOLDER.fullmatch(name):
            return name
        return str(uuid5(self._space, name.encode("utf-8", "replace").decode()))

    def _kept(self, raw: bytes, meta: dict[str, Any]) -> dict[str, bytes | None]:
        """What a compaction tells of the records that it keeps, by their new ids."""
        told: dict[str, bytes | None] = {
            key: dumps({k: self._new(v) for k, v in meta[key].items()})
            for key in _PRESERVED
            if mapping(meta.get(key))
        }
        place = locate(raw, "/compactMetadata") if told else None
        if place is None:
            return {}
        return {"compactMetadata": with_members(raw[place.start : place.end], told)}
