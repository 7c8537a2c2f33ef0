"""Small private files that are on disk once they are said to be."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def make(path: Path, data: bytes) -> None:
    """Make a small private file, which is there at once whole, and on disk. Raises OSError."""
    made = path.with_name(f"{path.name}.new")
    descriptor = private(made, os.O_WRONLY | os.O_TRUNC)
    try:
        write(descriptor, data)
    finally:
        os.close(descriptor)
    made.replace(path)
    sync_folder(path)


def private(path: Path, flags: int) -> int:
    """Open a file for its owner alone; made where it is not there. Raises OSError."""
    descriptor = os.open(path, flags | os.O_CREAT, 0o600)
    if not stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o200:
        os.fchmod(descriptor, 0o600)  # a umask may have taken from the owner
    return descriptor


def write(descriptor: int, data: bytes) -> None:
    """Write all of it, and have it on disk. Raises OSError."""
    if os.write(descriptor, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    # The caller tells of the change as recorded once this returns.
    os.fsync(descriptor)


def make_folder(folder: Path) -> None:
    """Make a private folder, and those above it, whatever the umask, and have it on disk."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    sync_folder(folder)


def sync_folder(path: Path) -> None:
    """Have the name of a file on disk."""
    if os.name == "nt":
        return  # there a folder cannot be opened
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def reason(error: OSError) -> str:
    """Why the system refused, in a few words."""
    if isinstance(error, TimeoutError):
        return "another process holds its lock"
    return (error.strerror or type(error).__name__).lower()
