"""The beginning and the end of a session file: their records, of which more can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.records import databases
from sesstool.records.documents import is_document
from sesstool.records.heal import decode
from sesstool.records.opening import holder_of, is_sealed, open_source
from sesstool.records.packed import beginning, codec_of
from sesstool.records.recover import Record, records
from sesstool.records.source import FileSource, Source, open_file, pread, unreadable

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

MOST = 1 << 20
"""So much of an end is read at the most, in bytes, or one record."""
# So much of each end is read at once, and more of it where it is asked for: to ask takes longer
# than to read.
_AT_ONCE = 1 << 14
# Lines are counted in so many parts of a file, each of so many bytes.
_SAMPLES, _PART = 64, 1 << 14


class _Part:
    """Some bytes of a file as a source of their own."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.name, self.codec = path.name, ""
        self.path: Path | None = path
        self.size = len(data)
        self._data = data

    def read(self, start: int, end: int) -> bytes:
        return self._data[start:end]

    def chunks(self) -> Iterator[bytes]:
        if self._data:
            yield self._data


class Ends:
    """Both ends of a source, at least so many bytes of each: `first` and `last` are their records.

    `size` counts the bytes of all, -1 where that is not known. `whole` says that nothing is between
    the two, `cut` that no newline ends the last line, `torn` that a last record which is too long
    to be looked into is cut off; `sealed` that a key opened it. Lines are not numbered.
    """

    sealed = False

    def __init__(self, source: Source, path: Path, span: int, head: bytes = b"") -> None:
        """Read `span` bytes of each end; `head` are bytes of the beginning that are known."""
        self._source = _Ahead(source, head)
        self._path = path
        self.size = source.size
        self._span = span
        self._head, self._tail = 0, self.size
        self.first: list[Record] = []
        self.last: list[Record] = []
        self.cut = self.torn = False
        if self.size <= 2 * span:
            self._take_all(source.read(0, self.size))
            return
        self.further()
        if self._head == self.size:
            self.cut = source.read(self.size - 1, self.size) != b"\n"
        else:
            self._end(span)

    @property
    def whole(self) -> bool:
        """Whether the two ends meet."""
        return self._head >= self._tail

    @property
    def records(self) -> list[Record]:
        """The records and fragments of both ends."""
        return [*self.first, *self.last]

    def further(self, most: int = MOST) -> list[Record]:
        """Read on from the beginning; gives the records that came.

        There are none where `most` bytes behind the first record were read.
        """
        span, start = max(self._span, self._head), self._head
        data = b""
        if self.first and start - self.first[0].end >= most:
            return []
        while not data and start < self._tail and span <= MOST:
            end = min(start + span, self._tail)
            data = self._source.read(start, end)
            if end < self._tail:
                data = _lines_of(data)
            span *= 2
        self._head = start + len(data)
        found = self._records(data, start)
        self.first += found
        return found

    def back(self, most: int = MOST) -> list[Record]:
        """Read on from the end backwards; the same."""
        span, end = max(self._span, self.size - self._tail), self._tail
        data = b""
        while not data and self._head < end and self.size - end < most and span <= MOST:
            start = max(end - span, self._head)
            data = self._source.read(start, end)
            if start > self._head:
                data = data.partition(b"\n")[2]
            span *= 2
        self._tail = end - len(data)
        found = self._records(data, self._tail)
        self.last[:0] = found
        return found

    def between(self) -> int:
        """About how many lines end between the two: they are counted in parts of it."""
        start, end = self._head, self._tail
        step = max((end - start) // _SAMPLES, _PART)
        parts = (self._source.read(at, min(at + _PART, end)) for at in range(start, end, step))
        read = lines = 0
        for part in parts:
            read += len(part)
            lines += part.count(b"\n")
        return round(lines * (end - start) / read) if read else 0

    def _end(self, span: int) -> None:
        """Read the last lines."""
        data = tail = b""
        while not tail and span <= MOST:
            start = max(self.size - span, self._head)
            data = self._source.read(start, self.size)
            tail = data if start == self._head else data.partition(b"\n")[2]
            span *= 2
        self._tail = self.size - len(tail)
        self.last = self._records(tail, self._tail)
        ended = data.endswith(b"\n")
        self.cut = bool(tail) and not ended
        # A last record so long is not looked into; a whole one ends with a brace.
        self.torn = not tail and not ended and not data.rstrip().endswith(b"}")

    def _take_all(self, data: bytes) -> None:
        self.first = self._records(data, 0)
        self._head = self.size
        self.cut = not data.endswith(b"\n")

    def _records(self, data: bytes, start: int) -> list[Record]:
        found = _sound(data) or list(records(_Part(self._path, data))) if data else []
        for record in found:
            record.start += start
            record.end += start
        return found


class _Ahead:
    """A source of which the ends are read once, in one piece each."""

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self.size = source.size
        self._head = head
        self._tail, self._tail_at = b"", self.size

    def read(self, start: int, end: int) -> bytes:
        if end <= len(self._head):
            return self._head[start:end]
        if start < self._tail_at and self.size - start <= _AT_ONCE:
            self._tail_at = max(self.size - _AT_ONCE, 0)
            self._tail = self._source.read(self._tail_at, self.size)
        if start >= self._tail_at:
            return self._tail[start - self._tail_at : end - self._tail_at]
        return self._source.read(start, end)


class _Given(Ends):
    """Ends of which no more can be had; about `between` lines are between them, -1 if not known."""

    def __init__(self, path: Path, head: bytes, tail: bytes = b"", *, between: int = 0) -> None:
        super().__init__(_Part(path, head + tail), path, len(head) + len(tail))
        self._lines = between
        if between < 0:
            self.size = -1

    @property
    def whole(self) -> bool:
        return self._lines == 0

    def between(self) -> int:
        return self._lines


@contextmanager
def open_ends(path: Path, keys: Keys | None, span: int) -> Iterator[Ends]:
    """Open a session and read `span` bytes of both ends. Raises AuthError and InputError.

    What is both encrypted and compressed is read whole; of a compressed one the end is not read.
    """
    if is_document(path):
        with open_source(path) as source:
            yield Ends(source, path, span)
        return
    try:
        handle = open_file(path)
        magic = pread(handle.fileno(), 0, _AT_ONCE)
    except NotADirectoryError as error:
        if not (holder := holder_of(path)):
            raise unreadable("open", path, error) from error
        yield _of_rows(path, holder, span)
        return
    except OSError as error:
        raise unreadable("open", path, error) from error
    with handle:
        codec = codec_of(magic)
        if is_sealed(magic, path):
            with open_source(path, keys) as source:
                ends = Ends(source, path, span)
                ends.sealed = True
                yield ends
        elif codec:
            data, whole = beginning(handle, codec, str(path), MOST)
            yield _Given(path, data) if whole else _Given(path, _lines_of(data), between=-1)
        else:
            yield Ends(FileSource(str(path), path, handle, ""), path, span, magic)


def _of_rows(path: Path, database: Path, span: int) -> Ends:
    """The ends of a session in a database, whose size is not known before all of it is read."""
    found = databases.ends(database, databases.id_in(path), span, span)
    return _Given(path, b"".join(found.head), b"".join(found.tail), between=found.between)


def _sound(data: bytes) -> list[Record]:
    """The records of lines of which each is sound, as nearly all are; none where one is not."""
    lines = data.split(b"\n")
    if lines.pop():
        return []
    found, start = [], 0
    for text in lines:
        try:
            value = decode(text)
        except ValueError:
            return []
        if type(value) is not dict or not value or text.endswith(b"\r"):
            return []
        found.append(Record(1, start, start + len(text), text, value))
        start += len(text) + 1
    return found


def _lines_of(data: bytes) -> bytes:
    """The whole lines at the beginning of some bytes."""
    return data[: data.rfind(b"\n") + 1]
