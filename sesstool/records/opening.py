"""Open a session: a file, standard input, .gz or .zst, encrypted or not, or rows of a database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from sesstool.errors import AuthError, InputError, UsageError
from sesstool.records import databases, documents
from sesstool.records.packed import codec_of, compress, pour, scratch, unpack
from sesstool.records.source import (
    ROWS,
    SEALED,
    STANDARD_INPUT,
    Continued,
    FileSource,
    open_file,
    pread,
    unreadable,
)
from sesstool.records.traceless import MAGIC, last_written
from sesstool.text import quoted

if TYPE_CHECKING:
    from sesstool.encryption.age import Opened
    from sesstool.encryption.keyring import Keys, Seal

_HEAD = 1 << 12
_AGE = (b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----")


class SealedSource(FileSource):
    """The plain text of an age file, decrypted in memory where it is read.

    `seal` tells how it was encrypted, for what is to take its place.
    """

    def __init__(
        self,
        name: str,
        path: Path | None,
        handle: IO[bytes],
        text: Opened,
        seal: Seal,
        opened: os.stat_result | None = None,
    ) -> None:
        """Take over an open age file."""
        super().__init__(name, path, handle, "", opened)
        self._text = text
        self.seal = seal
        self.size = text.size

    def read(self, start: int, end: int) -> bytes:
        """See `Source.read`. Raises AuthError where the file was changed."""
        with named(self.name):
            return self._text.read(start, min(end, self.size))


def open_source(path: Path | str, keys: Keys | None = None) -> FileSource:
    """Open a path, or "-" for standard input.

    Compressed and encrypted files are known by their first bytes; `keys` open the latter. A path
    into a database is the database's, and the id of a session behind it. Raises InputError where
    it cannot be read, and AuthError where no key opens it.
    """
    if str(path) == "-":
        return _piped(keys)
    path = Path(path)
    if holder := holder_of(path):
        return _drawn(path, holder)
    try:
        handle = open_file(path)
        opened = os.fstat(handle.fileno())
        head = os.pread(handle.fileno(), _HEAD, 0)
    except OSError as error:
        raise unreadable("open", path, error) from error
    if is_sealed(head, path):
        return _unlocked(str(path), path, handle, keys, opened)
    if codec := codec_of(head):
        with handle:
            return _spooled(str(path), path, handle, codec, opened)
    if head.startswith(MAGIC):
        handle.close()
        raise InputError(
            f"{path} is a database, and no session of its own",
            hint=f"name one of its sessions: sesstool list {path}",
        )
    return FileSource(str(path), path, handle, "", opened)


def holder_of(path: Path) -> Path | None:
    """The file that a session is read out of which is no JSON lines itself; None for most.

    That is the database that holds it, or the document that it is told by.
    """
    if documents.is_document(path):
        return path
    above = path.parent
    return above if os.path.isfile(above) else None  # noqa: PTH113 - Path.is_file may raise


def look_at(path: Path) -> os.stat_result:
    """The stat result of a session's file, or of what holds it. Raises OSError."""
    try:
        return path.stat()
    except NotADirectoryError:
        holder = holder_of(path)
        if holder is None:
            raise
        return last_written(holder)


def refuse_rows(path: Path | str) -> None:
    """Refuse a session that is none of its own file, for whoever would write. Raises UsageError."""
    holder = holder_of(Path(path)) if str(path) != "-" else None
    if holder is not None:
        where = "many files" if holder == Path(path) else "a database"
        raise UsageError(
            f"{path} is kept by its agent in {where}, which sesstool reads and never writes to",
            hint=f"make a file of it: sesstool redact {quoted(path)} -o FILE.jsonl, "
            "or sesstool export",
        )


def _drawn(path: Path, holder: Path) -> FileSource:
    """The lines of a session in a database, or in many documents, in a scratch file."""
    spool = scratch()
    try:
        try:
            opened = last_written(holder)
        except OSError as error:
            raise unreadable("open", path, error) from error
        if holder == path:
            pour(documents.lines(path), spool, str(path))
        else:
            pour(databases.lines(holder, databases.id_in(path)), spool, str(path))
        spool.flush()
    except BaseException:
        spool.close()
        raise
    return FileSource(str(path), path, spool, ROWS, opened)


def is_sealed(head: bytes, path: Path | None = None) -> bool:
    """Whether a file that begins so is an age file, of whatever version.

    One that is called so is one, though damaged: nobody must take its bytes for plain text.
    """
    return head.lstrip().startswith(_AGE) or (path is not None and path.suffix == SEALED)


def packed(chunks: Iterator[bytes], like: FileSource | Continued) -> Iterator[bytes]:
    """Decompressed plain text as it is to be on disk in the place of the source `like`.

    What is encrypted is so again, for the same recipients, and the same text gives the same bytes
    each time. Raises UsageError where the recipients are not known.
    """
    chunks = compress(chunks, like.codec)
    return like.seal.writer.seal(chunks) if like.seal else chunks


def _piped(keys: Keys | None) -> FileSource:
    raw = cast("BufferedReader", sys.stdin.buffer)
    head = raw.peek(_HEAD)
    source = _spooled(STANDARD_INPUT, None, raw, codec_of(head))
    if not is_sealed(head):
        return source
    return _unlocked(STANDARD_INPUT, None, source.handle, keys, None)


def _unlocked(
    name: str,
    path: Path | None,
    handle: IO[bytes],
    keys: Keys | None,
    opened: os.stat_result | None,
) -> FileSource:
    """The plain text of an age file, decompressed. Closes the file where that fails."""
    from sesstool.encryption.keyring import NO_KEYS  # noqa: PLC0415 - few sessions are

    descriptor = handle.fileno()
    try:
        with named(name):
            size = os.fstat(descriptor).st_size
            text, seal = (keys or NO_KEYS).open(partial(pread, descriptor), size, name)
            source = SealedSource(name, path, handle, text, seal, opened)
            if codec := codec_of(source.read(0, 4)):
                with source:
                    raw = cast("IO[bytes]", _Reader(source))
                    return _spooled(name, path, raw, codec, source.opened, seal)
            return source
    except BaseException:
        handle.close()
        raise


@contextmanager
def named(name: str) -> Iterator[None]:
    """Have what the encryption says of a file name that file."""
    try:
        yield
    except AuthError as error:
        error.message = f"cannot open {name}: {error.message}"
        error.args = (error.message,)
        raise


def _spooled(
    name: str,
    path: Path | None,
    raw: IO[bytes],
    codec: str,
    opened: os.stat_result | None = None,
    seal: Seal | None = None,
) -> FileSource:
    """A source that holds the decompressed bytes of `raw` in a scratch file."""
    spool = scratch(secret=seal is not None)
    try:
        unpack(raw, codec, name, spool)
    except BaseException:
        spool.close()
        raise
    source = FileSource(name, path, spool, codec, opened)
    source.seal = seal
    return source


class _Reader:
    """The bytes of a source, read like those of a file."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        end = self._at + size if size >= 0 else self._source.size
        data = self._source.read(self._at, end)
        self._at += len(data)
        return data
