"""The beginning and the end of a session file: their records, and how far it is between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool.records.opening import is_sealed, open_source
from sesstool.records.packed import beginning, codec_of
from sesstool.records.recover import Record, records
from sesstool.records.source import FileSource, Source, open_file, pread, unreadable

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

MOST = 1 << 20
"""So much of an end is read at the most, in bytes."""
_MAGIC = 1 << 12
# Lines are counted in so many parts of a file, each of so many bytes.
_SAMPLES, _PART = 64, 1 << 14


class Reach(NamedTuple):
    """How much is read of the beginning and of the end, in bytes; more where no line ends there.

    `counted` says that the lines between the two are estimated, for which parts of it are read.
    """

    head: int
    tail: int
    counted: bool = True


class Ends(NamedTuple):
    """The whole lines at the beginning, and the rest or the lines at the end.

    `size` counts the bytes of all, `between` about how many lines stand between the two, each -1
    where that is not known or was not asked for. `whole` says that the head is all there is, `cut`
    that no newline ends the last line here, `torn` that a last record which is too long to be
    looked into is cut off.
    """

    head: bytes
    tail: bytes
    size: int
    between: int = 0
    whole: bool = False
    cut: bool = False
    torn: bool = False

    def records(self, path: Path) -> tuple[list[Record], list[Record]]:
        """The records and fragments of the head and of the tail, with their bytes in the file.

        Lines of the tail are not counted from the beginning of the file.
        """
        first, last = (list(records(_Part(path, data))) for data in (self.head, self.tail))
        behind = self.size - len(self.tail)
        for record in last:
            record.start += behind
            record.end += behind
        return first, last


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


def read_ends(path: Path, keys: Keys | None, reach: Reach) -> Ends:
    """Read both ends of a file. Raises AuthError and InputError.

    What is both encrypted and compressed is read whole; of a compressed one the end is not read.
    """
    try:
        handle = open_file(path)
        with handle:
            magic = pread(handle.fileno(), 0, _MAGIC)
            codec = codec_of(magic)
            if not is_sealed(magic, path) and not codec:
                return _both(FileSource(str(path), path, handle, ""), reach)
            if not is_sealed(magic, path):
                data, whole = beginning(handle, codec, str(path), reach.head)
                return _all_of(data) if whole else Ends(_lines_of(data), b"", -1, -1)
    except OSError as error:
        raise unreadable("open", path, error) from error
    with open_source(path, keys) as source:
        return _both(source, reach)


def _both(source: Source, reach: Reach) -> Ends:
    """The ends of a source."""
    size, end = source.size, reach.tail
    if size <= reach.head + end:
        return _all_of(source.read(0, size))
    head, most = b"", reach.head
    while not head and most <= max(MOST, reach.head):
        head = _lines_of(source.read(0, most))
        most *= 2
    data = tail = b""
    while not tail and end <= MOST:
        start = max(size - end, len(head))
        data = source.read(start, size)
        tail = data if start == len(head) else data.partition(b"\n")[2]
        end *= 2
    cut = not data.endswith(b"\n")
    # A last record so long is not looked into; a whole one ends with a brace.
    torn = cut and not tail and not data.rstrip().endswith(b"}")
    between = _between(source, len(head), size - len(tail)) if reach.counted else -1
    return Ends(head, tail, size, between, cut=cut and bool(tail), torn=torn)


def _all_of(data: bytes) -> Ends:
    return Ends(data, b"", len(data), whole=True, cut=not data.endswith(b"\n"))


def _between(source: Source, start: int, end: int) -> int:
    """About how many lines end in a range of bytes: they are counted in parts of it."""
    step = max((end - start) // _SAMPLES, _PART)
    parts = (source.read(at, min(at + _PART, end)) for at in range(start, end, step))
    read = lines = 0
    for part in parts:
        read += len(part)
        lines += part.count(b"\n")
    return round(lines * (end - start) / read) if read else 0


def _lines_of(data: bytes) -> bytes:
    """The whole lines at the beginning of some bytes."""
    return data[: data.rfind(b"\n") + 1]
