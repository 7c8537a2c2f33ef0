"""Compressed bytes: taken apart into a scratch file, and put together again.

Checks read a source front to back once, and go back only to single records; so what comes
compressed, or through a pipe, is spooled. A scratch file has no name, and ends with its process.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from sesstool.errors import InputError
from sesstool.records.source import CHUNK, ROOMIER, ROWS, unreadable

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# What decompresses to more bytes than this, and to more than so many times its own, is refused:
# sessions shrink to a fifth or a fiftieth, and a few bytes that fill a disk are a trap.
_LARGE = 1 << 30
_RATIO = 200
# A spool leaves so much of its disk free, and no more than this part.
_ROOM = 256 << 20
_ROOM_PART = 20
# How many bytes are written between two looks at the disk.
_LOOK = 16 << 20
# Four bytes of zstd can stand for 128 KiB, and a piece is decompressed at once.
_ZSTD_PIECE = 1 << 9


def codec_of(head: bytes) -> str:
    """The codec that bytes begin like: "", "gz" or "zst"."""
    if head.startswith(_GZIP_MAGIC):
        return "gz"
    return "zst" if head.startswith(_ZSTD_MAGIC) else ""


def scratch(*, secret: bool = False) -> IO[bytes]:
    """A new file for reading and writing that has no name.

    What is `secret` stays in memory where the system can do that (Linux).
    """
    if secret and hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("sesstool", os.MFD_CLOEXEC), "w+b")
    return tempfile.TemporaryFile()


def unpack(raw: IO[bytes], codec: str, name: str, spool: IO[bytes]) -> None:
    """Write the decompressed bytes of `raw` to a spool. `name` is for messages.

    Raises InputError where they are damaged, would not end, or do not fit.
    """
    packed = _Counted(raw)
    with _readable(name):
        pour(_unpacked(packed, codec), spool, name, packed)
        spool.flush()


def beginning(raw: IO[bytes], codec: str, name: str, size: int) -> tuple[bytes, bool]:
    """The first bytes of `raw` decompressed, at most `size`, and whether they are all.

    Raises InputError where they are damaged.
    """
    data = bytearray()
    with _readable(name):
        for chunk in _unpacked(_Counted(raw), codec):
            data += chunk
            if len(data) > size:
                return bytes(data[:size]), False
    return bytes(data), True


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn what decompressors raise into an InputError."""
    try:
        yield
    except OSError as error:
        raise unreadable("read", name, error) from error
    except (EOFError, zlib.error, ValueError, RuntimeError) as error:
        raise _damaged(name) from error
    except Exception as error:
        # zstandard's own error, which is no ValueError and is not imported by most runs.
        if type(error).__name__ != "ZstdError":
            raise
        raise _damaged(name) from error


def _unpacked(packed: _Counted, codec: str) -> Iterator[bytes]:
    """What a stream holds, decompressed, chunk by chunk."""
    if codec == "gz":
        with gzip.GzipFile(fileobj=cast("IO[bytes]", packed)) as reader:
            yield from iter(lambda: reader.read(CHUNK), b"")
    elif codec == "zst":
        yield from _unpacked_zst(packed)
    else:
        yield from iter(lambda: packed.read(CHUNK), b"")


def compress(chunks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """The chunks in the given codec: "" changes nothing, and what came of rows is plain anew."""
    if codec in ("", ROWS):
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


class _Counted:
    """A stream that counts the bytes that were read from it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.count += len(data)
        return data


def pour(
    chunks: Iterator[bytes], spool: IO[bytes], name: str, packed: _Counted | None = None
) -> None:
    """Write the chunks to a spool. Raises InputError where they would not end or fill its disk.

    `packed` counts the bytes that they are made of, where a few of those can be many.
    """
    size = looked = 0
    for chunk in chunks:
        size += len(chunk)
        if packed and size > _LARGE and size > _RATIO * packed.count:
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
                    hint=ROOMIER,
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
