"""A new file without a name until it is whole: a run that is killed leaves nothing of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sesstool.errors import WriteError
from sesstool.records.hashing import Hasher
from sesstool.records.write import (
    cannot_write,
    claim,
    draft_of,
    place_of,
    sync_folder,
    temporary,
)

# Bytes that are hashed and written in one go.
_AT_ONCE = 1 << 20


class Draft:
    """The file in the making; it is gone with the block unless it was published.

    Where a system knows no files without a name, it has a private one that the next write of the
    same path removes. `sha256` and `size` are those of what was written.
    """

    def __init__(self, target: Path) -> None:
        """Begin a private file beside `target`. Raises WriteError.

        A link in the place of `target` is not followed: it counts as the file.
        """
        self.target = place_of(target)
        self.sha256, self.size = "", 0
        self._name: Path | None = None
        try:
            self._descriptor = self._opened()
        except OSError as error:
            raise cannot_write(self.target, error) from error

    def _opened(self) -> int:
        if hasattr(os, "O_TMPFILE"):
            with suppress(OSError):  # not every file system has them
                return os.open(self.target.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._name = draft_of(self.target)
        self._name.unlink(missing_ok=True)  # left by a run that was killed
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_BINARY", 0)
        return os.open(self._name, flags, 0o600)

    def __enter__(self) -> Self:
        """Close it on leaving the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it, and remove the name that it has, if any."""
        os.close(self._descriptor)
        if self._name is not None:
            self._name.unlink(missing_ok=True)

    @property
    def has_name(self) -> bool:
        """Whether a run that is killed leaves it behind."""
        return self._name is not None

    def write(self, chunks: Iterable[bytes], *, reread: bool) -> None:
        """Write all the bytes. Raises WriteError, and what the chunks raise.

        With `reread` each is read back and compared; without, the caller verifies what is there.
        """
        with Hasher() as hasher:
            for chunk in hasher.through(_larger(chunks)):
                rest = memoryview(chunk)
                try:
                    while rest:
                        rest = rest[os.write(self._descriptor, rest) :]
                except OSError as error:
                    raise cannot_write(self.target, error) from error
                if reread and self.read(hasher.size - len(chunk), hasher.size) != chunk:
                    raise WriteError(
                        f"what was written for {self.target} does not read back the same",
                        hint="see whether the disk is sound; what it was made of is as before",
                    )
            self.size, self.sha256 = hasher.size, hasher.sha256()

    def read(self, start: int, end: int) -> bytes:
        """The bytes [start, end) as they are on the file system, fewer at the end."""
        parts = []
        while start < end and (part := os.pread(self._descriptor, end - start, start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def publish(self, *, mode: int, mtime: int, force: bool) -> None:
        """Give the file its name, with these permission bits and this time in nanoseconds.

        Its bytes are on disk before the name is, and both when this returns. A file that exists is
        replaced with `force`, and else WriteError is raised.
        """
        try:
            os.fchmod(self._descriptor, mode)
            os.utime(self._descriptor, ns=(mtime, mtime))
            os.fsync(self._descriptor)
            if force and os.path.lexists(self.target):
                temporary(self.target).unlink(missing_ok=True)  # left by a run that was killed
                self._linked(temporary(self.target)).replace(self.target)
            else:
                self._linked(self.target)
            self._name = None
            sync_folder(self.target.parent)
        except FileExistsError as error:
            raise WriteError(
                f"cannot write {self.target}: it exists already",
                hint="see what it holds, and move it away; --force replaces it, and it is gone",
            ) from error
        except OSError as error:
            raise cannot_write(self.target, error) from error

    def _linked(self, name: Path) -> Path:
        """Give the file this name, which must be free. Raises OSError."""
        if self._name is not None:
            claim(self._name, name)
            self._name.unlink(missing_ok=True)
            return name
        folder = os.open(name.parent, os.O_RDONLY)
        try:
            # Python follows the link of /proc to the file only where it is told a folder.
            link = f"/proc/self/fd/{self._descriptor}"
            os.link(link, name.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)
        return name


def _larger(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes in larger chunks: each costs a system call, and a turn of another thread."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _AT_ONCE:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
