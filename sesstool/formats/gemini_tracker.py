"""What only a whole session of Gemini CLI shows: who it is, and whether it was wiped.

Gemini CLI passes over lines that it cannot read. It needs the session's id and the hash of its
project, which any record may tell, and else begins anew. A resume writes a checkpoint that holds
nothing but a greeting, and then one with all messages: where it was killed in between, or the
second one is damaged, the session is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.events import Meaning, Message, StateChange, ToolCall
from sesstool.formats.gemini_home import project, short_id, whole_id
from sesstool.formats.terms import Fault, Place, Tracker
from sesstool.formats.values import mapping, text
from sesstool.records.jsonspan import dumps
from sesstool.records.linewise import put_before, take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

_HASH = re.compile(r"[0-9a-f]{64}")


class GeminiTracker(Tracker):
    """Follows one session, which lies at `path`, None where nobody knows."""

    def __init__(self, path: Path | None) -> None:
        """Start before the first record."""
        self._path = path
        self._first: Record | None = None
        self._torn: Record | None = None
        self._session = self._project = self._time = ""
        self._foreign: Place | None = None
        self._aside: Place | None = None
        self._held = False
        self._wiped: list[Place] = []

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        value, place = record.value or {}, Place(record.line, record.start, record.end)
        self._first = self._first or record
        self._time = self._time or meaning.time
        self._project = self._project or text(value.get("projectHash"))
        if meaning.session:
            self._session = self._session or meaning.session
            if meaning.session != self._session and self._foreign is None:
                self._foreign = place
        if value.get("kind") == "subagent" and self._aside is None:
            self._aside = place
        says = any(
            type(e) is ToolCall or (type(e) is Message and not e.hidden) for e in meaning.events
        )
        if any(type(e) is StateChange and e.name == "restated" for e in meaning.events):
            if says:
                self._wiped = []
            elif self._held:
                self._wiped.append(place)
        self._held = self._held or says

    def fragment(self, record: Record) -> None:
        """See `Tracker.fragment`."""
        if self._first is None:
            self._torn = self._torn or record

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        if self._first is None:
            return
        if not self._session or not self._project:
            yield self._rebuilt(source, self._torn or self._first)
        if self._aside is not None:
            yield Fault("subagent", self._aside, "this is the transcript of a subagent")
        if self._foreign is not None:
            message = "a header of another session: Gemini CLI takes the last one for the session's"
            title = "move it and what follows into a session of its own"
            yield Fault("wrong-session", self._foreign, message, title)
        for place in self._wiped:
            message = "a checkpoint without any message: a resume shows nothing of what was before"
            edits = (take_out(source, place.start, place.end),)
            title = "take it out (it is kept in lost+found)"
            yield Fault("hollow-compaction", place, message, title, edits, safe=True)

    def _rebuilt(self, source: Source, at: Record) -> Fault:
        """A header made of what the file's place and its records tell."""
        header: dict[str, Any] = {
            "sessionId": self._session or self._name(at),
            "projectHash": self._project or self._hash(),
            "startTime": self._time,
            "lastUpdated": self._time,
            "kind": "subagent" if self._path and whole_id(self._path) else "main",
            "recovered": True,
        }
        edits = (put_before(source, at.start, dumps(header)),)
        message = f"the header is {'torn' if self._torn else 'missing'}: Gemini CLI begins anew"
        title = "write a new header from the file's name and the first record"
        place = Place(at.line, at.start, at.end)
        return Fault("bad-header", place, message, title, edits, safe=False)

    def _name(self, at: Record) -> str:
        """An id for a session whose own is lost: it begins as the file's name says."""
        if self._path and (whole := whole_id(self._path)):
            return whole
        made = str(uuid5(NAMESPACE_OID, at.raw.hex()))
        return (short_id(self._path) if self._path else "") + made[8:] if self._path else made

    def _hash(self) -> str:
        """The hash of the project's path, by which older versions named its folder."""
        folder = self._path.parent.parent if self._path else Path()
        root = project(folder)
        known = not root and _HASH.fullmatch(folder.name)
        return folder.name if known else sha256(root.encode()).hexdigest()


def is_header(value: dict[str, Any]) -> bool:
    """Whether a record tells of the session as a whole."""
    return type(value.get("sessionId")) is str and type(value.get("projectHash")) is str


def update(value: dict[str, Any]) -> dict[str, Any]:
    """What a record changes of what is told of the session, {} for nothing."""
    return mapping(value.get("$set"))
