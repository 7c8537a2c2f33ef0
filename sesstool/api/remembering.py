"""The memory of a session: what it was about and how it stands, and how it goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool.formats.base import Format
from sesstool.formats.events import Meaning
from sesstool.model.session import Session, open_session
from sesstool.records.opening import open_source
from sesstool.records.recover import Record, records
from sesstool.records.source import CHUNK, FileSource, Source
from sesstool.store import keeping
from sesstool.store.keeping import Reached
from sesstool.store.memory import SessionMemory

if TYPE_CHECKING:
    from sesstool.checks.engine import Progress
    from sesstool.encryption.keyring import Keys

_Seen = tuple[dict[str, Any], Meaning, int, int, int]


def memory(
    path: Path | str,
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
    cache: bool = True,
    note: Callable[[str], None] = lambda _: None,
) -> SessionMemory:
    """The memory of a session. Raises InputError, NotASessionError and AuthError.

    The state of it is kept in the user's cache folder, without any text of the session, and taken
    up where the file goes on from what was read; `note` is told where it cannot be. Nothing is kept
    of what is compressed or encrypted, or came through a pipe.
    """
    found = Remembered(path, format_name=format_name, keys=keys, cache=cache, note=note)
    found.update(progress)
    return found.memory


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
        """Take a session, which is not read yet; see `memory`."""
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
        was, now = self._opened, Path(self._path).stat()
        return _state(was) != _state(now)

    def update(self, progress: Progress | None = None) -> bool:
        """Read what is new; False where the file was rewritten, and is read from its beginning.

        Raises InputError, NotASessionError and AuthError.
        """
        with open_source(self._path, self._keys) as source:
            session = open_session(source, self._format_name)
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
        return (
            _state(was)[:2] == _state(now)[:2]
            and not source.stored
            and form is self._settled.format
            and source.size >= max(at, was.st_size)
            and keeping.digest(source, at) == self._reached.digest
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

    def _read(self, source: FileSource, session: Session, progress: Progress | None) -> None:
        """Read from what was reached on; all but the line of the last record is settled."""
        settled, tracker = self._settled, session.tracker
        assert settled is not None
        at, line, _ = self._reached
        if at:  # the head tells what the agent takes for a part of the session
            for record in islice(records(source), 1):
                if record.value is not None:
                    tracker.see(record, session.format.meaning(record.value))
        waiting: list[_Seen] = []
        for record in _from(source, at, line):
            if progress is not None:
                progress(record.end)
            if record.value is None:
                tracker.fragment(record)
                continue
            meaning = session.format.meaning(record.value)
            tracker.see(record, meaning)
            if waiting and record.line > waiting[0][4]:
                _take(settled, waiting)
                waiting = []
            if not waiting:
                at, line = record.start, record.line
            if tracker.reads(meaning):
                waiting.append((record.value, meaning, record.start, record.end, record.line))
        self._reached = keeping.reached(source, at, line)
        self.memory = settled.copy()
        _take(self.memory, waiting)


def _take(found: SessionMemory, seen: list[_Seen]) -> None:
    for one in seen:
        found.see(*one)


def _state(file: os.stat_result) -> tuple[int, int, int, int]:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns


def _from(source: Source, at: int, line: int) -> Iterator[Record]:
    """The records of a source from an offset on, where one begins on this line."""
    if not at:
        yield from records(source)
        return
    for record in records(_Rest(source, at)):
        record.start += at
        record.end += at
        record.line += line - 1
        yield record


class _Rest:
    """A source from an offset on."""

    def __init__(self, base: Source, at: int) -> None:
        self.name, self.path, self.codec = base.name, base.path, base.codec
        self.size = base.size - at
        self._base, self._at = base, at

    def read(self, start: int, end: int) -> bytes:
        return self._base.read(start + self._at, end + self._at)

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, self.size, CHUNK):
            yield self.read(start, min(start + CHUNK, self.size))
