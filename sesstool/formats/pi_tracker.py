"""What only a whole session of pi shows: whether pi can read its header.

pi looks at the first line that it can parse. Where that is no header it takes the file for a new
session and writes it over: everything that it holds is gone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.events import Meaning
from sesstool.formats.terms import Fault, Place, Tracker
from sesstool.formats.values import mapping, text
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.linewise import put_before, take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

_OVERWRITES = "pi would overwrite this file with an empty session if it opened it"
_MEMBER = re.compile(rb'"(id|timestamp|cwd)":("(?:[^"\\]|\\.)*+")')
# What may share a header's line is told apart within so many bytes.
_NEAR = 1 << 12


class PiTracker(Tracker):
    """Follows one session; `file_id` is the id that the file's name tells, or "".

    `linked` says that records have ids, which is version 2 and newer.
    """

    def __init__(self, file_id: str, *, linked: bool) -> None:
        """Start before the first record."""
        self._file_id = file_id
        self._linked = linked
        self._first: Record | None = None
        self._header: Record | None = None
        self._torn_head: Record | None = None
        self._taken: Place | None = None
        self._time = ""
        self._version = 3

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        if self._first is None:
            self._first = record
        if (record.value or {}).get("type") == "session" and self._header is None:
            self._header = record
        self._time = self._time or meaning.time
        if mapping((record.value or {}).get("message")).get("role") == "hookMessage":
            self._version = 2  # pi gives that role its new name when it opens the file

    def fragment(self, record: Record) -> None:
        """See `Tracker.fragment`."""
        if self._first is None:
            self._torn_head = self._torn_head or record
            if self._taken is None and _parses(record.raw):
                self._taken = _place(record)

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        if self._first is None:
            return
        if self._header is None:
            yield self._rebuilt(source, self._first)
        elif self._header is not self._first:
            yield self._misplaced(source, self._header, self._first)
        else:
            yield from self._judged(source, self._header)

    def _judged(self, source: Source, header: Record) -> Iterator[Fault]:
        """What is wrong with a header that stands first."""
        value, place = header.value or {}, _place(header)
        if type(value.get("id")) is not str:
            edits = _written(header, "id", dumps(self._name(header)))
            message = f"the header names no session: {_OVERWRITES}"
            title = "write the id of the file's name into it"
            yield Fault("bad-header", place, message, title, edits, safe=False)
        elif self._linked and is_old(value):
            edits = _written(header, "version", dumps(self._version))
            message = "the header tells no version with ids: pi would give all records new ones"
            title = "write the version of the records into it"
            yield Fault("bad-header", place, message, title, edits, safe=True)
        elif self._taken is not None or not _stands_alone(source, header):
            message = f"pi cannot read the header as it stands: {_OVERWRITES}"
            title = "mend the bytes at the head of the file before pi opens it"
            yield Fault("bad-header", self._taken or place, message, title)
        if text(value.get("parentSession")):
            yield Fault("fork", place, "this is a fork of another session")

    def _misplaced(self, source: Source, header: Record, first: Record) -> Fault:
        edits = (
            put_before(source, first.start, source.read(header.start, header.end)),
            take_out(source, header.start, header.end),
        )
        message = f"the header stands on line {header.line}, not first: {_OVERWRITES}"
        title = "move it to the front"
        return Fault("misplaced-header", _place(header), message, title, edits, safe=True)

    def _rebuilt(self, source: Source, first: Record) -> Fault:
        torn = self._torn_head
        header: dict[str, Any] = {"type": "session"}
        if self._linked:
            header["version"] = self._version
        told = _members(torn.raw) if torn is not None else {}
        header["id"] = self._file_id or told.get("id") or self._name(first)
        header["timestamp"] = told.get("timestamp") or self._time
        if "cwd" in told:
            header["cwd"] = told["cwd"]
        edits = (put_before(source, first.start, dumps(header | {"recovered": True})),)
        message = f"the header is {'torn' if torn else 'missing'}: {_OVERWRITES}"
        title = "write a new header from the file name and the first record"
        return Fault("bad-header", _place(torn or first), message, title, edits, safe=False)

    def _name(self, record: Record) -> str:
        """The session's id; where nothing tells it, the same one for the same file."""
        return self._file_id or str(uuid5(NAMESPACE_OID, record.raw.hex()))


def is_old(header: dict[str, Any]) -> bool:
    """Whether pi takes the records behind this header for those of version 1."""
    version = header.get("version")
    return version is None or (type(version) in (int, float) and version < 2)


def _written(header: Record, key: str, value: bytes) -> tuple[Edit, ...]:
    """Edits that give a header a member; its bytes are mended first where they are wrong."""
    if header.defects:
        return ()
    found = locate(header.raw, f"/{key}")
    if found is not None:
        return (Edit(header.start + found.start, header.start + found.end, value),)
    at = header.start + header.raw.index(b"{") + 1
    comma = b"," if header.value else b""
    return (Edit(at, at, dumps(key) + b":" + value + comma),)


def _members(torn: bytes) -> dict[str, str]:
    """The members of a torn header that are whole; none where it is a piece of something else."""
    if not torn.startswith(b'{"type":"session"'):
        return {}
    found = {}
    for key, value in _MEMBER.findall(torn):
        try:
            found[key.decode()] = json.loads(value)
        except ValueError:
            continue
    return found


def _stands_alone(source: Source, header: Record) -> bool:
    """Whether a reader of lines, as pi is one, finds the header on a line of its own."""
    before = source.read(max(header.start - _NEAR, 0), header.start)
    behind = source.read(header.end, header.end + _NEAR)
    around = before[before.rfind(b"\n") + 1 :] + behind.partition(b"\n")[0]
    return not around.strip(b" \t\r\xef\xbb\xbf") and _parses(header.raw)


def _parses(raw: bytes) -> bool:
    """Whether bytes are one line of JSON to a reader that forgives bad UTF-8, as pi's does."""
    line = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return "\n" not in line


def _refuse(_: str) -> None:
    raise ValueError


def _place(record: Record) -> Place:
    return Place(record.line, record.start, record.end)
