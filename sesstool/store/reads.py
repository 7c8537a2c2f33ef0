"""Whether files are still what they were when they were read: by time and size, else by content.

Their paths come from sessions, so anything may stand in them: only regular files are opened, and
none of those that the system makes up.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sesstool.formats.values import mapping, text
from sesstool.model.paths import located
from sesstool.records.source import CHUNK, open_file

HASHED = 16 << 20
"""Larger files, in bytes, are not hashed: their time and size must do."""
# What is read there may block, or do something.
_MADE_UP = ("/dev", "/proc", "/sys")
_MS = 1_000_000

State = Literal["same", "changed", "missing", "unreadable"]
Absent = Literal["missing", "unreadable"]


class Read(NamedTuple):
    """A file as it was: its time in nanoseconds, its size in bytes, the SHA-256 of its bytes.

    The latter is "" where it was not hashed. A time in whole milliseconds is known no better.
    """

    path: str
    mtime: int
    size: int
    sha256: str = ""

    def is_untouched(self, mtime: int, size: int) -> bool:
        """Whether a file of this time and size is taken for the same without a look into it."""
        coarse = self.mtime % _MS == 0 and self.mtime // _MS == mtime // _MS
        return size == self.size and (mtime == self.mtime or coarse)

    def holds(self, now: Read) -> bool:
        """Whether the file, as it is now, holds what it held."""
        if self.is_untouched(now.mtime, now.size):
            return True
        return now.size == self.size and now.sha256 == self.sha256 != ""


def look(path: str, longest: int = HASHED) -> Read | Absent:
    """The file as it is now, hashed where it has at most so many bytes.

    "unreadable" is also what is no regular file. Links are followed.
    """
    return _look(path, lambda _, size: size <= longest)


def look_again(then: Read) -> Read | Absent:
    """The same of a file that was read; hashed only where nothing else tells that it is the same.

    Where nothing changed it is as it was then.
    """

    def asked(mtime: int, size: int) -> bool:
        untouched = then.is_untouched(mtime, size)
        return then.sha256 != "" and not untouched and size == then.size

    now = _look(then.path, asked)
    if isinstance(now, Read) and then.is_untouched(now.mtime, now.size):
        return then
    return now


def noted(path: str) -> Read | None:
    """The file as it is now, to be kept by who read it; None where there is none to be read."""
    now = look(path)
    return now if isinstance(now, Read) else None


def check(reads: Iterable[Read]) -> Iterator[tuple[Read, State]]:
    """What has become of files since they were read."""
    for then in reads:
        now = look_again(then)
        if not isinstance(now, Read):
            yield then, now
        else:
            yield then, "same" if then.holds(now) else "changed"


def as_cache(reads: Iterable[Read], captured_at: float) -> dict[str, dict[str, Any]]:
    """Reads as MyCodeAgent keeps them in `runtime_state.read_cache`, and their SHA-256.

    `captured_at` counts seconds. Times lose what is less than a millisecond.
    """
    return {
        read.path: {
            "path_resolved": read.path,
            "file_mtime_ms": read.mtime // _MS,
            "file_size_bytes": read.size,
            "captured_at": captured_at,
            "sha256": read.sha256,
        }
        for read in reads
    }


def of_cache(value: Any, folder: str) -> list[Read]:
    """The reads in such a cache; those that tell no path, time or size are none.

    Paths count from `folder`, that of the project.
    """
    found = []
    for name, kept in mapping(value).items():
        held = mapping(kept)
        mtime, size = held.get("file_mtime_ms"), held.get("file_size_bytes")
        if type(mtime) is int and type(size) is int:
            path = located(text(held.get("path_resolved")) or name, folder)
            found.append(Read(path, mtime * _MS, size, text(held.get("sha256"))))
    return found


def real(path: str) -> str:
    """Where a path leads from the root on, by all links.

    Raises OSError or ValueError where that is nowhere, or where the system makes files up.
    """
    if not Path(path).is_absolute():  # from another system, or of a folder that nobody knows
        raise FileNotFoundError
    target = os.path.realpath(path, strict=True)
    for name in (os.path.normpath(path), target):
        if any(name == top or name.startswith(top + "/") for top in _MADE_UP):
            raise PermissionError
    return target


def _look(path: str, hashed: Callable[[int, int], bool]) -> Read | Absent:
    """The file as it is now; `hashed` tells by its time and size whether its bytes are read."""
    try:
        target = real(path)
        # Before it is opened: with a device or a pipe that may do something, or wait.
        now = os.lstat(target)
        if not stat.S_ISREG(now.st_mode):
            return "unreadable"
        mtime, size = now.st_mtime_ns, now.st_size
        return Read(path, mtime, size, _sha256(target, size) if hashed(mtime, size) else "")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no system has such a name
        return "missing"
    except OSError:
        return "unreadable"


def _sha256(path: str, size: int) -> str:
    """The SHA-256 of the first bytes of a file, which may grow meanwhile."""
    digest = hashlib.sha256()
    with open_file(Path(path)) as handle:
        while chunk := handle.read(min(size, CHUNK)):
            digest.update(chunk)
            size -= len(chunk)
    return digest.hexdigest()
