"""Where bytes come from: a file, standard input, .gz or .zst, or a text with edits.

Checks read a source front to back once, and go back only to single records. Compressed input
and pipes are therefore spooled to an unlinked temporary file.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Protocol, Self, cast, runtime_checkable

from sesstool.errors import InputError
from sesstool.records.edits import EditSet, Kept

CHUNK = 1 << 18
STANDARD_INPUT = "standard input"
"""The name of the source that "-" opens."""
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# What decompresses to more bytes than this, and to more than so many times its own, is refused:
# sessions shrink to a fifth or a fiftieth, and a few bytes that fill a disk are a trap.
_LARGE = 1 << 30
_RATIO = 200
_ROOMIER = "set TMPDIR to a folder on a disk with more room"
_ELSEWHERE = "copy the file to another disk, or take it from a backup, and give the copy"
_PATH = "check the path; a folder stands for all sessions below it"
_OWNER = "run as the user whose session it is, or ask that user for a copy"
_HINTS = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG), _PATH),
    **dict.fromkeys((errno.EACCES, errno.EPERM), _OWNER),
    errno.ENOSPC: _ROOMIER,
}
# A spool leaves so much of its disk free, and no more than this part.
_ROOM = 256 << 20
_ROOM_PART = 20
# How many bytes are written between two looks at the disk.
_LOOK = 16 << 20
# Four bytes of zstd can stand for 128 KiB, and a piece is decompressed at once.
_ZSTD_PIECE = 1 << 9


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
    """Bytes that can be read by range. `name` is for messages, `codec` is "", "gz" or "zst"."""

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
    """A source on top of an open seekable file. Use `open_source` to get one.

    `opened` is what the file at `path` was when it was opened.
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
        self._handle = handle
        held = os.fstat(handle.fileno())
        self.opened = opened or held
        self.size = held.st_size

    def read(self, start: int, end: int) -> bytes:
        """See `Source.read`."""
        try:
            return _pread(self._handle.fileno(), start, min(end, self.size))
        except OSError as error:
            raise _failed("read", self.name, error) from error

    def chunks(self) -> Iterator[bytes]:
        """See `Source.chunks`."""
        for start in range(0, self.size, CHUNK):
            yield self.read(start, start + CHUNK)

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

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

    def __init__(self, base: Source, at: int, rest: FileSource) -> None:
        """Take over `rest`, which is closed with the source; `base` is not."""
        self.name = base.name
        self.path = base.path
        self.codec = base.codec
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


def open_source(path: Path | str) -> FileSource:
    """Open a path, or "-" for standard input; .gz and .zst are known by their first bytes.

    Raises InputError where it cannot be read.
    """
    if str(path) == "-":
        return _spooled(STANDARD_INPUT, None, cast("BufferedReader", sys.stdin.buffer))
    path = Path(path)
    try:
        # O_NONBLOCK: a named pipe must be refused, not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        handle = os.fdopen(descriptor, "rb")
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode):
            handle.close()
            raise InputError(
                f"cannot read {path}: it is no regular file", hint="pipe its bytes in and give -"
            )
        magic = os.pread(descriptor, 4, 0)
    except OSError as error:
        raise _failed("open", path, error) from error
    if magic.startswith(_GZIP_MAGIC) or magic == _ZSTD_MAGIC:
        return _spooled(str(path), path, handle, opened)
    return FileSource(str(path), path, handle, "", opened)


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
        with path.open("rb") as handle:
            for chunk in iter(lambda: handle.read(CHUNK), b""):
                seen.update(chunk)
            now = os.fstat(handle.fileno())
    except OSError as error:
        raise _failed("read", path, error) from error
    whole = Fingerprint(
        now.st_dev,
        now.st_ino,
        now.st_size,
        now.st_mtime_ns,
        stat.S_IMODE(now.st_mode),
        seen.sha256,
    )
    return whole, seen.found


def compress(chunks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """The chunks in the given codec ("" changes nothing)."""
    if codec == "":
        yield from chunks
    elif codec == "gz":
        deflate = zlib.compressobj(wbits=31)
        for chunk in chunks:
            yield deflate.compress(chunk)
        yield deflate.flush()
    else:
        import zstandard  # noqa: PLC0415 - only .zst sessions pay for it

        writer = zstandard.ZstdCompressor().compressobj()
        for chunk in chunks:
            yield writer.compress(chunk)
        yield writer.flush()


def _spooled(
    name: str, path: Path | None, raw: BufferedReader, opened: os.stat_result | None = None
) -> FileSource:
    """A source that holds the decompressed bytes of `raw` in an unlinked temporary file."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
    head = raw.peek(4)
    codec = ""
    packed = _Counted(raw)
    try:
        if head.startswith(_GZIP_MAGIC):
            codec = "gz"
            with gzip.GzipFile(fileobj=cast("IO[bytes]", packed)) as reader:
                _pour(iter(lambda: reader.read(CHUNK), b""), spool, name, packed)
        elif head.startswith(_ZSTD_MAGIC):
            codec = "zst"
            _pour(_unpacked_zst(packed), spool, name, packed)
        else:
            _pour(iter(lambda: packed.read(CHUNK), b""), spool, name, packed)
    except InputError:
        spool.close()
        raise
    except OSError as error:
        spool.close()
        raise _failed("read", name, error) from error
    except (EOFError, zlib.error, ValueError, RuntimeError) as error:
        spool.close()
        raise _damaged(name) from error
    except Exception as error:
        spool.close()
        # zstandard's own error, which is no ValueError and is not imported by most runs.
        if type(error).__name__ != "ZstdError":
            raise
        raise _damaged(name) from error
    finally:
        if path is not None:
            raw.close()
    spool.flush()
    return FileSource(name, path, spool, codec, opened)


class _Counted:
    """A stream that counts the bytes that were read from it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.count += len(data)
        return data


def _pour(chunks: Iterator[bytes], spool: IO[bytes], name: str, packed: _Counted) -> None:
    """Write the chunks to a spool. Raises InputError where they would not end or fill its disk."""
    size = looked = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _LARGE and size > _RATIO * packed.count:
            raise InputError(
                f"cannot read {name}: {packed.count} compressed bytes hold more than {size}",
                hint="if you trust it, decompress it with its own tool, and give the result",
            )
        if size > looked:
            looked = size + _LOOK
            folder = tempfile.gettempdir()
            total, _, free = shutil.disk_usage(folder)
            if free - _LOOK < min(_ROOM, total // _ROOM_PART):
                raise InputError(
                    f"cannot read {name}: its bytes do not fit into {folder}",
                    hint=_ROOMIER,
                )
        spool.write(chunk)


def _unpacked_zst(raw: _Counted) -> Iterator[bytes]:
    """Decompress all frames. Raises EOFError where the last one is cut.

    A streaming reader would take a cut frame for the end.
    """
    import zstandard  # noqa: PLC0415 - only .zst sessions pay for it

    frame = None
    for chunk in iter(lambda: raw.read(_ZSTD_PIECE), b""):
        rest = chunk
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError


def _damaged(name: str) -> InputError:
    return InputError(
        f"cannot read {name}: the compressed data is damaged or cut",
        hint="decompress it with its own tool, which may save a part, and repair that",
    )


def _pread(descriptor: int, start: int, end: int) -> bytes:
    """The bytes [start, end); pread may give fewer than asked for."""
    data = os.pread(descriptor, max(end - start, 0), start)
    while start + len(data) < end:
        more = os.pread(descriptor, end - start - len(data), start + len(data))
        if not more:
            break
        data += more
    return data


def _failed(verb: str, name: Path | str, error: OSError) -> InputError:
    """The error that stands for one of the system's, whose words become a lower-case clause."""
    reason = (error.strerror or type(error).__name__).lower()
    return InputError(f"cannot {verb} {name}: {reason}", _HINTS.get(error.errno or 0, _ELSEWHERE))
