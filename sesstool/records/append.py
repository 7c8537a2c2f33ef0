"""Append to a file of one's own so that a record is there whole, or not at all.

A record is one `write`; what is cut short is completed, or taken back. Whoever calls this holds
the file's `WriterLock`.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from sesstool.errors import DurabilityError, StalePlanError, WriteError
from sesstool.records.source import pread
from sesstool.records.write import cannot_write, failed, make_folder, real_path, sync_folder

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# What a file that is not there yet is found as: device, inode, size.
ABSENT = (0, 0, 0)
_OPEN = "open the session again: it is read back, and a torn tail is cut"

if sys.platform == "darwin":
    import fcntl

    def _flush(descriptor: int) -> None:
        # There fsync only hands the bytes to the drive.
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENOTTY, errno.EINVAL):
                raise
            os.fsync(descriptor)  # a disk that knows nothing better

elif hasattr(os, "fdatasync"):

    def _flush(descriptor: int) -> None:
        os.fdatasync(descriptor)

else:

    def _flush(descriptor: int) -> None:
        os.fsync(descriptor)


class Appender:
    """A file that this process alone adds to; it is made where it is missing, with mode 0600.

    `end` is its size in bytes, `synced` how many of them are surely on disk. `failure` is what
    left open what the file holds: from then on every call raises it again. Not to be called from
    two threads at once.
    """

    _descriptor = -1

    def __init__(self, path: Path, found: tuple[int, int, int] | None = None) -> None:
        """Open it; `found` is its device, inode and size when it was read, `ABSENT` for none.

        Raises WriteError, and StalePlanError where it is not as it was found.
        """
        self.path = real_path(path)
        how = {None: os.O_CREAT, ABSENT: os.O_CREAT | os.O_EXCL}.get(found, 0)
        try:
            make_folder(self.path.parent)
            self._descriptor = os.open(self.path, _FLAGS | how, 0o600)
            now = os.fstat(self._descriptor)
        except (FileExistsError, FileNotFoundError) as error:
            raise changed_by_others(self.path) from error
        except OSError as error:
            raise cannot_write(path, error) from error
        *self._inode, self.end = found or ABSENT
        if found in (None, ABSENT):
            *self._inode, self.end = now.st_dev, now.st_ino, now.st_size
        self.synced = 0
        self._named = False
        self.failure: WriteError | None = None

    def add(self, data: bytes) -> None:
        """Append the bytes of some records.

        Raises WriteError, with the file as before where the message says so; and StalePlanError
        where somebody else changed the file, which is then left alone.
        """
        self.check()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except BaseException as error:
            self._take_back(data, error)
            if isinstance(error, OSError):
                raise failed(self.path, error) from error
            raise
        self.end += len(data)

    def sync(self) -> None:
        """Have all that was appended on disk. Raises DurabilityError where that is in doubt."""
        if self.failure is not None:
            raise self.failure
        end = self.end
        if end == self.synced and self._named:
            return
        try:
            _flush(self._descriptor)
            if not self._named:
                # The file is on disk only when its name is: whoever made it may have been killed
                # before that.
                sync_folder(self.path.parent)
        except OSError as error:
            # A second attempt may succeed without the bytes: only reading them from the disk tells.
            _forget_cached(self._descriptor)
            raise self._in_doubt(error) from error
        self._named, self.synced = True, end

    def close(self) -> None:
        """Close it as it is. Raises DurabilityError, as some network file systems tell it here."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                os.close(descriptor)
            except OSError as error:
                raise self._in_doubt(error) from error

    def _in_doubt(self, error: OSError) -> WriteError:
        reason = (error.strerror or type(error).__name__).lower()
        self.failure = DurabilityError(
            f"{self.path}: what was appended behind byte {self.synced} may not be on disk: "
            f"{reason}",
            hint=_OPEN,
            synced=self.synced,
        )
        return self.failure

    def __del__(self) -> None:
        """Close it where nobody did."""
        with suppress(WriteError):
            self.close()

    def check(self) -> None:
        """Raise where the file is not the one that was opened, or has another size."""
        if self.failure is not None:
            raise self.failure
        try:
            now = self.path.stat()
        except OSError as error:
            raise cannot_write(self.path, error) from error
        if (now.st_dev, now.st_ino, now.st_size) != (*self._inode, self.end):
            self.failure = changed_by_others(self.path)
            raise self.failure

    def _take_back(self, data: bytes, error: BaseException) -> None:
        """Leave nothing of a record that was cut short, unless others wrote behind it.

        How much of it is there only the file tells: an interrupt may hide what a write returned.
        """
        try:
            size = os.fstat(self._descriptor).st_size
            ours = self.end <= size <= self.end + len(data)
            if ours and data.startswith(pread(self._descriptor, self.end, size)):
                os.ftruncate(self._descriptor, self.end)
                return
        except OSError:
            pass
        self.failure = WriteError(
            f"a part of a record is in {self.path}, and could not be taken back", hint=_OPEN
        )
        if isinstance(error, OSError):
            raise self.failure from error


def changed_by_others(path: Path) -> StalePlanError:
    """The error for a file that is not as this process knows it."""
    return StalePlanError(
        f"{path} was changed by somebody else while this process wrote to it",
        hint="see who writes to it, then open the session again: it is read back",
    )


def _forget_cached(descriptor: int) -> None:
    """Have the next reader ask the disk, and not what the system remembers."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
