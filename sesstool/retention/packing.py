"""How files come into the trash and out of it: linked, copied, compressed, encrypted."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sesstool.encryption.age import Sealer, decrypt
from sesstool.encryption.header import Recipient
from sesstool.errors import AuthError, InputError, WriteError
from sesstool.records.draft import Draft
from sesstool.records.packed import compress
from sesstool.records.source import Fingerprint, fingerprint
from sesstool.records.undo import open_raw
from sesstool.records.write import create

Unpack = Callable[[Path], Iterator[bytes]]
"""Gives the bytes that a file was packed of. Raises InputError and AuthError."""


def pack(path: Path, target: Path, before: Fingerprint, recipients: Sequence[Recipient]) -> None:
    """Write a file, packed, to a new one, and read it back. Raises InputError and WriteError."""
    sealer = Sealer(recipients) if recipients else None
    with open_raw(path) as source:
        small = compress(source.chunks(), "gz")
        create(target, sealer.seal(small) if sealer else small)
    sha256 = hashlib.sha256()
    try:
        with open_raw(target) as made:
            whole = decrypt(made.chunks(), [sealer.identity]) if sealer else made.chunks()
            for chunk in _larger(whole, target):
                sha256.update(chunk)
    except (AuthError, InputError):
        sha256 = hashlib.sha256()
    if sha256.hexdigest() != before.sha256:
        raise WriteError(
            f"what was archived of {path} does not read back the same; it is as before",
            hint="see whether the memory and the disk are sound",
        )


def unzip(path: Path) -> Iterator[bytes]:
    """The bytes of a file that was only compressed. Raises InputError."""
    with open_raw(path) as source:
        yield from _larger(source.chunks(), path)


def _larger(chunks: Iterable[bytes], path: Path) -> Iterator[bytes]:
    inflate = zlib.decompressobj(wbits=31)
    try:
        for chunk in chunks:
            yield inflate.decompress(chunk)
    except zlib.error as error:
        raise InputError(
            f"{path} is damaged: it cannot be decompressed", hint="take it from a backup"
        ) from error
    if not inflate.eof:
        raise InputError(f"{path} is cut off", hint="take it from a backup")


def opened(unseal: Callable[[Path], Iterator[bytes]]) -> Unpack:
    """What unpacks encrypted files, of what decrypts them."""
    return lambda path: _larger(unseal(path), path)


def second(path: Path, target: Path, before: Fingerprint, owner: tuple[int, int]) -> None:
    """Give a file a second name, or where that cannot be make a copy with mode, time and owner.

    Raises InputError and WriteError.
    """
    linked = False
    with suppress(OSError):
        # What is written under a third name must not reach what is kept here.
        if path.lstat().st_nlink == 1:
            os.link(path, target, follow_symlinks=False)
            linked = True
    if not linked:
        with open_raw(path) as source:
            write(target, source.chunks(), before, owner)
        if fingerprint(target).sha256 != before.sha256:
            target.unlink()
            raise WriteError(
                f"the copy of {path} is not what it was", hint="see whether the disk is sound"
            ) from None


def write(path: Path, chunks: Iterable[bytes], before: Fingerprint, owner: tuple[int, int]) -> None:
    """Make a file with the mode, time and owner of another; one that is killed leaves nothing."""
    with Draft(path) as draft:
        draft.write(chunks, reread=False)
        draft.publish(mode=before.mode, mtime=before.mtime, force=False)
    now = path.lstat()
    if (now.st_uid, now.st_gid) != owner and hasattr(os, "chown"):
        try:
            os.chown(path, *owner, follow_symlinks=False)
        except OSError as error:
            path.unlink()
            raise WriteError(
                f"cannot write {path}: this user cannot keep its owner and group",
                hint="run it as the owner of the file",
            ) from error


def whole(path: Path) -> Iterator[bytes]:
    """The bytes of a file as it is. Raises InputError."""
    with open_raw(path) as source:
        yield from source.chunks()
