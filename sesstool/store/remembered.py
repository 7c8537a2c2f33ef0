"""The memory of a session in a file that may grow: what is new is read, and no more."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool.formats.base import Format
from sesstool.formats.events import Meaning
from sesstool.formats.registry import SAMPLE
from sesstool.formats.terms import Tracker
from sesstool.model.session import Session, open_known
from sesstool.records.heal import MILD, Kind
from sesstool.records.jsonspan import Scanner, Status
from sesstool.records.opening import look_at, open_source
from sesstool.records.recover import HEAD_LINES, Record, records
from sesstool.records.source import FileSource, Source
from sesstool.store import keeping
from sesstool.store.keeping import Reached
from sesstool.store.memory import SessionMemory

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_AHEAD = 1 << 20
"""So far behind a torn record it is looked whether it goes on,"""
_DOUBTS = 200
"""behind so many in a file; what stands behind more is read again each time."""
_Seen = tuple[dict[str, Any] | None, Meaning | None, int, int, int]


class Remembered:
    """The memory of a session that may grow.

    `memory` is what is known after the last `update`. The line of the last record is taken in for
    that only: it may still grow, and is read again.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        format_name: str = "",
        keys: Keys | None = None,
        cache: bool = True,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take a session, which is not read yet; see `sesstool.api.remembering`."""
        self.memory: SessionMemory
        self._path = path
        self._format_name = format_name
        self._keys = keys
        self._cache = cache
        self._note = note
        self._settled: SessionMemory | None = None
        self._reached = Reached(0, 1, "")
        self._opened: os.stat_result | None = None

    def changed(self) -> bool:
        """Whether the file is no longer as it was at the last `update`.

        Raises OSError where it is gone.
        """
        if self._opened is None:
            return True
        was, now = self._opened, look_at(Path(self._path))
        return _state(was) != _state(now)

    def update(self, progress: Callable[[int], None] | None = None) -> bool:
        """Read what is new; False where the file was rewritten, and is read from its beginning.

        Raises InputError, NotASessionError and AuthError.
        """
        with open_source(self._path, self._keys) as source:
            session = open_known(source, self._format_name)
            kept = self._cache and source.path is not None and not source.stored
            known = self._settled is not None
            goes_on = known and self._goes_on(source, session.format)
            if not goes_on:
                self._settled, self._reached = SessionMemory(session.format), Reached(0, 1, "")
                if kept:
                    self._load(source, session.format)
            before = self._reached
            self._read(source, session, progress)
            if kept and self._reached != before:
                self._save(source)
            self._opened = source.opened
        return goes_on or not known

    def _goes_on(self, source: FileSource, form: Format) -> bool:
        """Whether a source begins with what was read before."""
        was, now, at = self._opened, source.opened, self._reached.at
        assert self._settled is not None
        assert was is not None
        return form is self._settled.format and (
            _state(was) == _state(now)
            or (
                _state(was)[:2] == _state(now)[:2]
                and now.st_size > was.st_size
                and not source.stored
                and keeping.digest(source, at) == self._reached.digest
            )
        )

    def _load(self, source: FileSource, form: Format) -> None:
        try:
            found = keeping.load(source, form)
        except ValueError as error:
            self._note(f"the memory is drawn anew, what was kept of it is of no use: {error}")
            return
        if found is not None:
            self._settled, self._reached = found

    def _save(self, source: FileSource) -> None:
        assert self._settled is not None
        try:
            keeping.save(source, self._settled, self._reached)
        except keeping.UNSAVED as error:
            self._note(f"the state of the memory is not kept: {error}")

    def _read(
        self, source: FileSource, session: Session, progress: Callable[[int], None] | None
    ) -> None:
        """Read from what was reached on; all but the line of the last record is settled."""
        settled, tracker = self._settled, session.tracker
        assert settled is not None
        self._settled = None  # until all is read: an error would leave it half way
        at, line, _ = self._reached
        if at:
            _primed(tracker, session.format, source)
        waiting: list[_Seen] = []
        doubts = 0
        found = None  # instead of `settled`, behind what may still become part of a record
        for record in records(source, at, line):
            if progress is not None:
                progress(record.end)
            if found is None and any(defect.kind not in MILD for defect in record.defects):
                doubts += 1
                if doubts > _DOUBTS or _is_open(record, source):
                    found = settled.copy()
            meaning = session.format.meaning(record.value) if record.value is not None else None
            if meaning is None:
                tracker.fragment(record)
            else:
                tracker.see(record, meaning)
            if waiting and record.line > waiting[0][4]:
                _take(found or settled, waiting)
                waiting = []
            if not waiting and found is None:
                at, line = record.start, record.line
            blank = any(defect.kind is Kind.BLANK for defect in record.defects)
            if not blank and (meaning is None or tracker.reads(meaning)):
                waiting.append((record.value, meaning, record.start, record.end, record.line))
        self.memory = found or settled.copy()
        _take(self.memory, waiting)
        if doubts and self.memory.line <= HEAD_LINES:
            # More lines may tell otherwise what records look like, and so what is damage.
            settled, at, line = SessionMemory(session.format), 0, 1
        self._reached = keeping.reached(source, at, line)
        self._settled = settled


def _primed(tracker: Tracker, form: Format, source: Source) -> None:
    """Show a tracker the first record, which tells what the agent takes for a part of the session.

    It is looked for where the format was detected.
    """
    for record in islice(records(source), SAMPLE):
        if record.value is not None:
            tracker.see(record, form.meaning(record.value))
            return


def _is_open(record: Record, source: Source) -> bool:
    """Whether lines that are written later may change what a damaged line is taken for.

    A list of records is one value, and a torn record may go on in the lines behind it, unless
    they show that it does not.
    """
    kinds = {defect.kind for defect in record.defects}
    if kinds & {Kind.TORN, Kind.TORN_TAIL}:
        return Scanner().run(source.read(record.start, record.start + _AHEAD)) is not Status.FAILED
    return Kind.ARRAY in kinds


def _take(found: SessionMemory, seen: list[_Seen]) -> None:
    for value, meaning, start, end, line in seen:
        if value is None or meaning is None:
            found.unread += 1
        else:
            found.see(value, meaning, start, end, line)


def _state(file: os.stat_result) -> tuple[int, int, int, int]:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns
