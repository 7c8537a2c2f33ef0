"""Bytes that can be read by range: those of a file, and those of a text with edits.

`opening.open_source` makes one of a path.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, Self, runtime_checkable

from sesstool.errors import InputError
from sesstool.records.edits import EditSet, Kept

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Seal

CHUNK = 1 << 18
SEALED = ".age"
"""How the names of encrypted files end."""
_PLAIN = (".jsonl", ".jsonl.gz", ".jsonl.zst")
SUFFIXES = (*_PLAIN, *(ending + SEALED for ending in _PLAIN))
"""How the names of session files end."""
ROWS = "rows"
"""The codec of what was put together from rows of a database: nobody writes it back there."""
SNAPSHOT = ".world.json"
"""What the snapshot of the world beside a session is called behind the session's name."""
STANDARD_INPUT = "standard input"
"""The name of the source that "-" opens."""
ROOMIER = "set TMPDIR to a folder on a disk with more room"
"""The hint where temporary files do not fit."""
_ELSEWHERE = "copy the file to another disk, or take it from a backup, and give the copy"
_PATH = "check the path; a folder stands for all sessions below it"
_OWNER = "run as the user whose session it is, or ask that user for a copy"
_HINTS = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG), _PATH),
    **dict.fromkeys((errno.EACCES, errno.EPERM), _OWNER),
    errno.ENOSPC: ROOMIER,
    errno.ESPIPE: "pipe its bytes in and give -",
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a file was when it was opened; `sha256` is that of its bytes on disk.

    `mtime` counts nanoseconds, `mode` holds the permission bits.
    """

    device: int
    inode: int
    size: int
    mtime: int
    mode: int
    sha256: str

    def same_file(self, now: os.stat_result) -> bool:
        """Whether a stat result still shows this file, unchanged as far as stat can tell."""
        return (self.device, self.inode, self.size, self.mtime) == (
            now.st_dev,
            now.st_ino,
            now.st_size,
            now.st_mtime_ns,
        )


@runtime_checkable
class Source(Protocol):
    """Bytes that can be read by range.

    `name` is for messages, `codec` is "", "gz", "zst" or ROWS.
    """

    name: str
    path: Path | None
    codec: str
    size: int

    def read(self, start: int, end: int) -> bytes:
        """The bytes [start, end), fewer at the end of the source."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """All the bytes, about 1 MiB at a time."""
        ...


class FileSource:
    """A source on top of an open seekable file. Use `opening.open_source` to get one.

    `opened` is what the file at `path` was when it was opened, `seal` how it is encrypted there,
    None where it is not.
    """

    def __init__(
        self,
        name: str,
        path: Path | None,
        handle: IO[bytes],
        codec: str,
        opened: os.stat_result | None = None,
    ) -> None:
        """Take over an open file; it is closed with the source."""
        self.name = name
        self.path = path
        self.codec = codec
        self.seal: Seal | None = None
        self.handle = handle
        held = os.fstat(handle.fileno())
        self.opened = opened or held
        self.size = held.st_size

    @property
    def stored(self) -> str:
        """How the bytes are packed on disk: "age" where they are encrypted, else the codec."""
        return "age" if self.seal else self.codec

    def read(self, start: int, end: int) -> bytes:
        """See `Source.read`."""
        try:
            return pread(self.handle.fileno(), start, min(end, self.size))
        except OSError as error:
            raise unreadable("read", self.name, error) from error

    def chunks(self) -> Iterator[bytes]:
        """See `Source.chunks`."""
        for start in range(0, self.size, CHUNK):
            yield self.read(start, start + CHUNK)

    def close(self) -> None:
        """Close the file."""
        self.handle.close()

    def __enter__(self) -> Self:
        """Close on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


class EditedSource:
    """A source as it would read after edits; nothing is written."""

    def __init__(self, base: Source, edits: EditSet) -> None:
        """Lay `edits` over `base`."""
        self.name = base.name
        self.path = base.path
        self.codec = base.codec
        self.base = base
        self.edits = edits
        self._pieces = list(edits.pieces(base.size))
        self._starts = []
        self.size = 0
        for piece in self._pieces:
            self._starts.append(self.size)
            self.size += piece.end - piece.start if isinstance(piece, Kept) else len(piece)

    def read(self, start: int, end: int) -> bytes:
        """See `Source.read`."""
        out = []
        at = max(bisect_right(self._starts, start) - 1, 0)
        while start < end and at < len(self._pieces):
            piece, offset = self._pieces[at], self._starts[at]
            if isinstance(piece, Kept):
                first = piece.start + start - offset
                part = self.base.read(first, min(piece.end, piece.start + end - offset))
            else:
                part = piece[start - offset : end - offset]
            out.append(part)
            start += len(part)
            at += 1
        return b"".join(out)

    def chunks(self) -> Iterator[bytes]:
        """See `Source.chunks`."""
        for piece in self._pieces:
            if isinstance(piece, Kept):
                for start in range(piece.start, piece.end, CHUNK):
                    yield self.base.read(start, min(start + CHUNK, piece.end))
            else:
                yield piece


class Continued:
    """A source that reads like `base` up to the offset `at`, and from there on like `rest`."""

    def __init__(self, base: FileSource | Continued, at: int, rest: FileSource) -> None:
        """Take over `rest`, which is closed with the source; `base` is not."""
        self.name: str = base.name
        self.path: Path | None = base.path
        self.codec: str = base.codec
        self.seal: Seal | None = base.seal
        self.size = at + rest.size
        self.at = at
        self.base = base
        self.rest = rest

    def read(self, start: int, end: int) -> bytes:
        """See `Source.read`."""
        first = self.base.read(start, min(end, self.at)) if start < self.at else b""
        if end <= self.at:
            return first
        return first + self.rest.read(max(start - self.at, 0), end - self.at)

    @property
    def stored(self) -> str:
        """See `FileSource.stored`."""
        return self.base.stored

    def chunks(self) -> Iterator[bytes]:
        """See `Source.chunks`."""
        for start in range(0, self.size, CHUNK):
            yield self.read(start, min(start + CHUNK, self.size))

    def close(self) -> None:
        """Close what it took over."""
        self.rest.close()

    def __enter__(self) -> Self:
        """Close on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what it took over."""
        self.close()


def plain_path(path: Path) -> Path:
    """The name that a file has, or had, when it is not encrypted."""
    return path.with_suffix("") if path.suffix == SEALED else path


def bare_path(path: Path) -> Path:
    """The name that a file has, or had, when it is neither encrypted nor compressed."""
    path = plain_path(path)
    return path.with_suffix("") if path.suffix in (".gz", ".zst") else path


def is_transcript(path: Path) -> bool:
    """Whether a file is called like a session, packed or not."""
    return bare_path(path).suffix == _PLAIN[0]


def snapshot_of(path: Path) -> Path:
    """Where the snapshot of the world beside a session is, as long as it is not encrypted."""
    bare = bare_path(path)
    return bare.with_name(bare.name + SNAPSHOT)


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file to read it. Raises OSError, also for what would be waited for: a pipe."""
    handle = open(path, "rb", opener=_at_once)  # noqa: SIM115 - the caller's
    if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        handle.close()
        raise OSError(errno.ESPIPE, "it is no regular file")
    return handle


def read_file(path: Path) -> bytes:
    """What a regular file holds. Raises OSError."""
    with open_file(path) as handle:
        return handle.read()


def _at_once(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_NONBLOCK)
    except BlockingIOError:
        # Somebody looks whether the file is in use: that takes a moment.
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - an opener is given text
            raise
        return os.open(path, flags)


def fingerprint(path: Path) -> Fingerprint:
    """The fingerprint of the file at `path`, read whole. Raises InputError."""
    return prefixes(path, ())[0]


class Prefixes:
    """Hashes bytes as they come, and what they were after so many of them."""

    def __init__(self, sizes: Iterable[int]) -> None:
        """Take the sizes of the beginnings that are asked for."""
        self._sizes = sorted(set(sizes), reverse=True)
        self._hash = hashlib.sha256()
        self.size = 0
        self.found: dict[int, str] = {}
        self.update(b"")

    def update(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        rest = memoryview(chunk)
        while self._sizes and self._sizes[-1] <= self.size + len(rest):
            size = self._sizes.pop()
            rest = self._take(rest, size - self.size)
            self.found[size] = self.sha256
        self._take(rest, len(rest))

    def _take(self, rest: memoryview, size: int) -> memoryview:
        self._hash.update(rest[:size])
        self.size += size
        return rest[size:]

    @property
    def sha256(self) -> str:
        """The SHA-256 of all that came."""
        return self._hash.hexdigest()


def prefixes(path: Path, sizes: Iterable[int]) -> tuple[Fingerprint, dict[int, str]]:
    """The fingerprint of a file, and the SHA-256 of its first so many bytes by their number.

    All come of one reading. Sizes beyond the end are left out. Raises InputError.
    """
    seen = Prefixes(sizes)
    try:
        with open_file(path) as handle:
            for chunk in iter(lambda: handle.read(CHUNK), b""):
                seen.update(chunk)
            now = os.fstat(handle.fileno())
    except OSError as error:
        raise unreadable("read", path, error) from error
    return fingerprint_of(now, seen.sha256), seen.found


def fingerprint_of(now: os.stat_result, sha256: str) -> Fingerprint:
    """The fingerprint of a file by a stat result and the SHA-256 of its bytes."""
    mode = stat.S_IMODE(now.st_mode)
    return Fingerprint(now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, mode, sha256)


def pread(descriptor: int, start: int, end: int) -> bytes:
    """The bytes [start, end); pread may give fewer than asked for."""
    data = os.pread(descriptor, max(end - start, 0), start)
    while start + len(data) < end:
        more = os.pread(descriptor, end - start - len(data), start + len(data))
        if not more:
            break
        data += more
    return data


def unreadable(verb: str, name: Path | str, error: OSError) -> InputError:
    """The error that stands for one of the system's, whose words become a lower-case clause."""
    reason = (error.strerror or type(error).__name__).lower()
    return InputError(f"cannot {verb} {name}: {reason}", _HINTS.get(error.errno or 0, _ELSEWHERE))
