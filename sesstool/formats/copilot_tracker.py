"""What only a whole session of Copilot CLI shows: its header, and records that its reader refuses.

It loads all of a session or nothing. Versions before 1.0.80 or so stop at a line that they cannot
parse as well; newer ones cut such a line out of the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.copilot_records import data_refusal, envelope_refusal, is_id, is_time
from sesstool.formats.events import Meaning, ToolResult
from sesstool.formats.terms import Evidence, Fault, Place, Tracker
from sesstool.formats.values import mapping, text
from sesstool.records.edits import Edit
from sesstool.records.heal import Kind, decode_any
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.linewise import put_before, take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

_NO_LOAD = "Copilot CLI does not load the session"
# Its reader wants a time where no record tells one.
_NO_TIME = "1970-01-01T00:00:00.000Z"
# Around a record that is strict JSON itself.
_AROUND = frozenset({Kind.BOM, Kind.CRLF, Kind.NO_NEWLINE, Kind.GLUED})


class CopilotTracker(Tracker):
    """Follows one session; `file_id` is the id that the file's place tells, or ""."""

    def __init__(self, file_id: str) -> None:
        """Start before the first record."""
        self._file_id = file_id
        self._first: Record | None = None
        self._header: Record | None = None
        self._torn: Record | None = None
        self._foreign: Place | None = None
        self._refused: list[tuple[Place, str, str]] = []
        self._copies: list[Place] = []
        self._dangling: list[Place] = []
        self._lines: set[int] = set()
        self._ids: set[int] = set()
        self._started: set[int] = set()
        self._version = self._cwd = self._time = self._id = ""
        self._whole = True

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        value, place = record.value or {}, Place(record.line, record.start, record.end)
        self._first = self._first or record
        if value.get("type") == "session.start":
            self._header = self._header or record
            begun = mapping(mapping(self._header.value).get("data")).get("sessionId")
            if begun != meaning.session and self._foreign is None:
                self._foreign = place
        elif value.get("type") == "tool.execution_start":
            self._started.add(hash(text(mapping(value.get("data")).get("toolCallId"))))
        for event in meaning.events:
            if type(event) is ToolResult:  # of an answered call nothing more is asked
                self._started.discard(hash(event.id))
        self._version = self._version or meaning.version
        self._cwd = self._cwd or meaning.cwd
        self._link(value, hash(record.raw), place)
        wrong = envelope_refusal(value) or data_refusal(value)
        if wrong and all(defect.kind in _AROUND for defect in record.defects):
            self._refused.append((place, self._id, self._time))
        self._id = value["id"] if is_id(value.get("id")) else self._id
        self._time = meaning.time if is_time(meaning.time) else self._time

    def _link(self, value: dict[str, Any], key: int, place: Place) -> None:
        """Note whether a record was there before, and whether the one that it follows is."""
        name, parent = text(value.get("id")), text(value.get("parentId"))
        if name and key in self._lines:
            self._copies.append(place)
        elif parent and hash(parent) not in self._ids:
            self._whole = False
            if self._ids:
                self._dangling.append(place)
        self._lines.add(key)
        self._ids.add(hash(name))

    def fragment(self, record: Record) -> None:
        """See `Tracker.fragment`."""
        self._whole = False
        if self._first is None:
            self._torn = self._torn or record

    def evidence(self, call_id: str, source: Source, scope: str = "") -> Evidence:
        """See `Tracker.evidence`: that a call starts is written before it runs."""
        unknown = hash(call_id) in self._started or not self._whole
        return Evidence("uncertain" if unknown else "never started")

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        if self._first is None:
            return
        if self._header is None:
            yield self._rebuilt(source, self._first)
        elif self._header is not self._first:
            yield self._misplaced(source, self._header, self._first)
        if self._foreign is not None:
            message = "a header of another session: Copilot CLI takes what follows for this one's"
            title = "move it and what follows into a session of its own"
            yield Fault("wrong-session", self._foreign, message, title)
        for place, parent, time in self._refused:
            yield _refused(source, place, parent, time)
        for place in self._copies:
            edits = (take_out(source, place.start, place.end),)
            message, title = "exact copy of a record above", "take the copy out"
            yield Fault("copied-record", place, message, title, edits, safe=True)
        for place in self._dangling:
            message = "what it follows is not in the file; Copilot CLI reads on all the same"
            yield Fault("dangling-parent", place, message, severity="information")

    def _rebuilt(self, source: Source, first: Record) -> Fault:
        """A header made of what the file's place and its records tell."""
        seed, parent = first.raw.hex(), (first.value or {}).get("parentId")
        began = text((first.value or {}).get("timestamp"))
        data: dict[str, Any] = {
            "sessionId": self._file_id or str(uuid5(NAMESPACE_OID, seed)),
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": self._version or "0.0.0",
            "startTime": began if is_time(began) else self._time or _NO_TIME,
        }
        if self._cwd:
            data["context"] = {"cwd": self._cwd}
        header = {
            "type": "session.start",
            "data": data,
            "id": parent if is_id(parent) else str(uuid5(NAMESPACE_OID, f"{seed}/start")),
            "timestamp": data["startTime"],
            "parentId": None,
            "recovered": True,
        }
        at = self._torn or first
        edits = (put_before(source, first.start, dumps(header)),)
        message = f"the header is {'torn' if self._torn else 'missing'}: {_NO_LOAD}"
        title = "write a new header from the file's place and the first record"
        place = Place(at.line, at.start, at.end)
        return Fault("bad-header", place, message, title, edits, safe=False)

    def _misplaced(self, source: Source, header: Record, first: Record) -> Fault:
        edits = (
            put_before(source, first.start, source.read(header.start, header.end)),
            take_out(source, header.start, header.end),
        )
        message = f"the header stands on line {header.line}, not first: {_NO_LOAD}"
        place = Place(header.line, header.start, header.end)
        return Fault("misplaced-header", place, message, "move it to the front", edits, safe=True)


def _refused(source: Source, place: Place, parent: str, time: str) -> Fault:
    """A record that its reader stops at: what it says is kept where it can be.

    `parent` and `time` are of the record before it.
    """
    raw = source.read(place.start, place.end)
    value = mapping(decode_any(raw))
    data = value.get("data")
    message = f"{_NO_LOAD}: {envelope_refusal(value) or data_refusal(value)}"
    told: dict[str, bytes] = {}
    if not is_id(value.get("id")):
        told["/id"] = dumps(str(uuid5(NAMESPACE_OID, raw.hex())))
    if value.get("parentId", "") is not None and not is_id(value.get("parentId")):
        told["/parentId"] = dumps(parent or None)
    if not is_time(value.get("timestamp")):
        told["/timestamp"] = dumps(time)
    if value.get("type") == "tool.execution_complete" and "success" not in mapping(data):
        data = mapping(data) | {"success": "error" not in mapping(data)}
        told["/data/success"] = dumps(data["success"])
    edits = _written(raw, place.start, told)
    if not edits or data_refusal(value | {"data": data}) or (told.get("/timestamp") == b'""'):
        edits = (take_out(source, place.start, place.end),)
        return Fault("refused-record", place, message, "take it out", edits, safe=False)
    title = f"write its {' and '.join(name.rpartition('/')[2] for name in told)} anew"
    return Fault("refused-record", place, message, title, edits, safe=True)


def _written(raw: bytes, start: int, values: dict[str, bytes]) -> tuple[Edit, ...]:
    """Edits that give a record at an offset these members, by their pointers."""
    edits = []
    for pointer, text_of in values.items():
        found = locate(raw, pointer)
        holder, _, key = pointer.rpartition("/")
        into = locate(raw, holder)
        if found is not None:
            edits.append(Edit(start + found.start, start + found.end, text_of))
        elif into is not None:
            at = start + into.start + 1
            comma = b"" if raw[into.start + 1 : into.end].lstrip()[:1] == b"}" else b","
            edits.append(Edit(at, at, dumps(key) + b":" + text_of + comma))
    return tuple(edits)
