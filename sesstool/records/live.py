"""Who is writing this file: leases, open descriptors and locks.

Nothing here waits, takes a lock, or keeps a file open. Where the system cannot tell, as on
macOS and Windows, only locks and the time of the last write are left to judge by.
"""

from __future__ import annotations

import errno
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sesstool.errors import InputError
from sesstool.records.source import open_file

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment] # Windows has none

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Writer:
    """Somebody who writes to a file. `description` completes "the session is in use: …"."""

    description: str


def find_writer(path: Path, *, recent_seconds: float | None) -> Writer | None:
    """Who has the file open for writing, or wrote it within `recent_seconds`; else None.

    This process does not count, nor does one that only reads. In doubt there is a writer.
    Raises InputError where the path cannot be looked at.
    """
    try:
        now = path.stat()
        free = _free_of_writers(path)
        holders = [] if free else _writers(now)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot open {path}: {reason}") from error
    others = [pid for pid in holders if pid != os.getpid()]
    if others:
        return Writer(f"process {others[0]}{_name(others[0])} has it open for writing")
    if free is False and not holders:
        return Writer("a process that cannot be seen from here has it open for writing")
    if not _PROC.exists() and lock_is_held(path):
        return Writer("another process holds a lock on it")
    age = time.time() - now.st_mtime
    if recent_seconds is not None and age < recent_seconds:
        when = f"{age:.0f} seconds ago" if age >= 0 else "at a time that is yet to come"
        return Writer(f"it was last written {when}")
    return None


def all_writers(ending: str) -> dict[tuple[int, int], str]:
    """Who has which files open for writing, of those whose names hold `ending`, at one look.

    The keys are device and inode; the values complete "the session is in use: …". Empty where the
    system does not tell. This process does not count.
    """
    found = {}
    for process in _PROC.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        with suppress(OSError):  # it ended, or belongs to another user
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):  # closed in the meantime
                    if ending not in str(descriptor.readlink()):
                        continue
                    file = descriptor.stat()
                    if _writes(descriptor, file):
                        pid = int(process.name)
                        who = f"process {pid}{_name(pid)} has it open for writing"
                        found[file.st_dev, file.st_ino] = who
    return found


def find_user(path: Path) -> str | None:
    """Which other process has the file open, if only to read it, in a few words; else None.

    As of a database, of which a reader holds more in mind than its bytes. In doubt one has.
    Raises InputError where the path cannot be looked at.
    """
    try:
        now = path.stat()
        free = _free_of_writers(path, "F_WRLCK")
        holders = [] if free else _holders(now, _has_open)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot open {path}: {reason}") from error
    others = [pid for pid in holders if pid != os.getpid()]
    if others:
        return f"process {others[0]}{_name(others[0])} has it open"
    if free is False and not holders:
        return "a process that cannot be seen from here has it open"
    if not _PROC.exists() and lock_is_held(path):
        return "another process holds a lock on it"
    return None


def lock_is_held(path: Path) -> bool:
    """Whether a process holds a lock on the file; it is never taken to find out.

    False where the file is missing or the system cannot tell.
    """
    found = _lockers(path)
    return _darwin_lock_is_held(path) if found is None else bool(found)


def locker(path: Path) -> int:
    """The number of the process that holds a lock on the file, 0 where that is not told."""
    return next((pid for pid in _lockers(path) or () if pid > 0), 0)


def _lockers(path: Path) -> list[int] | None:
    """Whose locks on a file the system's table has; None where there is no file or no table."""
    try:
        inode = path.stat().st_ino
        table = (_PROC / "locks").read_text()
    except OSError:
        return None
    # The device is left out: on btrfs and overlay the table names another one than stat does.
    return [
        int(fields[4])
        for fields in map(str.split, table.splitlines())
        if len(fields) >= 6
        and fields[1] in ("POSIX", "FLOCK", "OFDLCK")
        and fields[5].endswith(f":{inode}")
    ]


@contextmanager
def openers_held_off(descriptor: int) -> Iterator[Callable[[], bool]]:
    """Make every other process that opens the file wait, where the system can do that.

    Linux does, unless somebody has it open already. The wait ends with the block or after 45
    seconds. Inside the block this process must not open the file a second time. Yields what
    tells whether somebody waits; it says no where nobody is made to.
    """
    try:
        _lease(descriptor, "F_WRLCK")
    except OSError:
        yield lambda: False
        return
    try:
        # While an opener waits, the system shows what the lease shall become.
        yield lambda: fcntl.fcntl(descriptor, fcntl.F_GETLEASE) != fcntl.F_WRLCK
    finally:
        with suppress(OSError):  # the system took it back after 45 seconds
            _lease(descriptor, "F_UNLCK")


def _free_of_writers(path: Path, kind: str = "F_RDLCK") -> bool | None:
    """Whether nobody at all has the file open for writing; None where it cannot be known.

    Linux grants a read lease exactly then, and so sees through containers and users. It grants
    one to write where nobody has it open even to read.
    """
    with open_file(path) as handle:  # closing it gives the lease back
        try:
            _lease(handle.fileno(), kind)
        except OSError as error:
            return False if error.errno == errno.EAGAIN else None
    return True


def _lease(descriptor: int, kind: str) -> None:
    """Take or give back a lease. Raises OSError, also where there are none."""
    if not hasattr(fcntl, "F_SETLEASE"):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    # An opener is announced by SIGIO, which would end the process; SIGURG is ignored.
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, getattr(fcntl, kind))


def _writers(file: os.stat_result) -> list[int]:
    """The processes that have the file open for writing, as far as /proc shows them."""
    return _holders(file, _writes)


def _holders(file: os.stat_result, holds: Callable[[Path, os.stat_result], bool]) -> list[int]:
    """The processes of which a descriptor `holds` the file, as far as /proc shows them."""
    found = []
    for process in _PROC.glob("[0-9]*"):
        try:
            descriptors = list((process / "fd").iterdir())
        except OSError:
            continue  # it ended, or belongs to another user
        if any(holds(descriptor, file) for descriptor in descriptors):
            found.append(int(process.name))
    return found


def _has_open(descriptor: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), file)
    except OSError:
        return False  # closed in the meantime


def _writes(descriptor: Path, file: os.stat_result) -> bool:
    if not _has_open(descriptor, file):
        return False
    try:
        info = (descriptor.parent.parent / "fdinfo" / descriptor.name).read_text()
    except OSError:
        return False  # closed in the meantime
    flags = next(line.split()[1] for line in info.splitlines() if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _name(pid: int) -> str:
    """The name of a process in parentheses, or "" where it has ended."""
    try:
        name = (_PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""
    return f" ({''.join(c for c in name if c.isprintable())})"


def _darwin_lock_is_held(path: Path) -> bool:
    """Ask the file itself, on the one system that tells of flock in this way too."""
    if sys.platform != "darwin":
        return False
    wanted = struct.pack("qqihh", 0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
    try:
        with open_file(path) as handle:
            found = fcntl.fcntl(handle, fcntl.F_GETLK, wanted)
    except OSError:
        return False
    return bool(struct.unpack("qqihh", found)[3] != fcntl.F_UNLCK)
