"""One writer a file: a lock in a file beside it, and who holds it.

The system's lock decides, and ends with the process however that ends. What stands in the lock
file only tells who holds it. The file is there while somebody does.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.errors import LiveSessionError, WriteError
from sesstool.records.live import lock_is_held
from sesstool.records.processes import process_alive, start_time
from sesstool.records.source import open_file
from sesstool.records.write import cannot_write

_NEXT = "let it end, or work on a fork: it leaves this session alone"
_NOBODY = "another process writes to it"
# How often, and how many seconds apart, one looks who has just taken a lock.
_LOOKS, _PAUSE = 20, 0.01
_NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EMLINK)
_SIZE, _LONGEST, _MOST = 4096, 100, 1 << 31

if sys.platform == "win32":
    import msvcrt

    # Behind what is written, for others cannot read a locked byte there.
    _BYTE = 1 << 30

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """The right to write to a file, from making it until `release` or the end of the process.

    Raises LiveSessionError where another one has it, in this process or elsewhere, and tells
    who; and WriteError where the folder does not allow a lock.
    """

    _descriptor = -1

    def __init__(self, path: Path) -> None:
        """Take the lock of `path`, a real path; the file itself need not be there."""
        self.path = path
        self.place = lock_path(path)
        self._pid = os.getpid()
        try:
            self._descriptor = self._taken()
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise cannot_write(self.place, error) from error
            raise WriteError(
                f"{self.place} is where a lock must be, and is a link or no file",
                hint="see what it is, and move it away",
            ) from error
        with suppress(OSError):  # a full disk: nobody will be told who, and that is all
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(_me()).encode(), 0)

    def _taken(self) -> int:
        while True:
            descriptor = os.open(self.place, _FLAGS, 0o600)
            try:
                _lock(descriptor)
                # Whoever had it before may have taken the file away since it was opened.
                with suppress(FileNotFoundError):
                    now = os.fstat(descriptor)
                    if os.path.samestat(now, self.place.stat()):
                        if now.st_nlink == 1:
                            return descriptor
                        self.place.unlink()  # what it is elsewhere must not be emptied
            except (BlockingIOError, PermissionError) as error:
                os.close(descriptor)
                raise LiveSessionError(f"{self.path} is in use: {_who(self.place)}", _NEXT) from (
                    error
                )
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    @property
    def mine(self) -> bool:
        """Whether this process took it, and is no child of the one that did."""
        return os.getpid() == self._pid

    @property
    def released(self) -> bool:
        """Whether it was given back."""
        return self._descriptor < 0

    def release(self) -> None:
        """Give it back; a second time does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        if self.mine:
            # Before the lock is open again: behind it the file may be the next one's.
            with suppress(OSError):
                # Where somebody took it away, the one that is there is another's.
                if os.path.samestat(os.fstat(descriptor), self.place.lstat()):
                    self.place.unlink()
        os.close(descriptor)

    def __del__(self) -> None:
        """Give it back where nobody did."""
        self.release()


def lock_path(path: Path) -> Path:
    """Where the lock of a file lies."""
    return path.with_name(f".{path.name}.lock")


def holder(path: Path) -> str:
    """Which other process has the lock of a file, in a few words, "" for none.

    It is never taken to find out.
    """
    place = lock_path(path)
    if not lock_is_held(place):
        return ""
    told = _held(place)
    return "" if told is not None and told.pid == os.getpid() else _who(place)


# A link would lead to another file, which is emptied.
_FLAGS = os.O_RDWR | os.O_CREAT
for _name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def _me() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "started": start_time(os.getpid()),
        "host": platform.node(),
        "program": Path([*getattr(sys, "argv", ()), ""][0]).name,
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _who(place: Path) -> str:
    """Who holds a lock, in a few words: its text may be a moment behind."""
    for _ in range(_LOOKS):
        if (held := _held(place)) and held.runs:
            return str(held)
        time.sleep(_PAUSE)
    return _NOBODY


class _Holder(NamedTuple):
    """What a lock's text tells; `started` is "" where nothing told."""

    pid: int
    started: str
    host: str
    program: str
    since: str

    @property
    def runs(self) -> bool:
        """Whether that process is there; elsewhere nobody can tell."""
        return self.host != platform.node() or process_alive(self.pid, self.started or None)

    def __str__(self) -> str:
        program = f" ({self.program})" if self.program else ""
        host = "" if self.host == platform.node() else f" on {self.host}"
        since = f" since {self.since}" if self.since else ""
        return f"process {self.pid}{program}{host} writes to it{since}"


def _held(place: Path) -> _Holder | None:
    """What stands in a lock file, whoever wrote it; None where that is nothing of ours."""
    try:
        with open_file(place) as file:
            value = json.loads(file.read(_SIZE))
    except (OSError, ValueError, RecursionError):
        return None
    pid = value.get("pid") if type(value) is dict else None
    if type(pid) is not int or not 0 < pid < _MOST or type(value.get("host")) is not str:
        return None
    texts = (str(value.get(name) or "")[:_LONGEST] for name in _Holder._fields[1:])
    return _Holder(pid, *("".join(c for c in text if c.isprintable()) for text in texts))
