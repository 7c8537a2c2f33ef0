"""The hash-chained log of every write: appended to, read, and verified.

Each line is one JSON object that holds the SHA-256 of the line before it. A line that is
changed, removed or put in between breaks the chain. Lines removed at the end do not: only a
copy of the newest line, kept elsewhere, can prove that none is missing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sesstool import __version__
from sesstool.errors import InputError, WriteError

Shown = Callable[[str], str]
NAME = "audit.jsonl"
_WAIT = 5.0
# More than two of the longest lines: a path and a set of rule codes bound a line.
_TAIL = 1 << 17


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one file.

    `action` is the command. `before` and `after` are the SHA-256 of the bytes on disk, "" for
    a file that is not there. `undo` is the id of the undo entry, or "". `of` is the file that a new
    one holds a copy of, or "".
    """

    action: str
    path: str
    before: str
    after: str
    findings: tuple[str, ...] = ()
    undo: str = ""
    of: str = ""


def ready(state: Path) -> None:
    """Raise WriteError where no line could be added: a change must not come before its line."""
    with _held(state) as path:
        os.close(_opened(path))


def append(state: Path, change: Change, shown: Shown | None = None) -> None:
    """Add one line for a change, and return when it is on disk.

    `shown` takes out of a path or a name what the log must not hold; then the account is told by
    its number alone. Raises WriteError, which leaves the log as it was.
    """
    with _held(state) as path:
        _append(path, change, shown)


def note_copy(state: Path, copy: Path, of: Path, shown: Shown | None = None) -> None:
    """Add that a file holds in the clear what another one does, for who takes that away.

    Where there can be no line, there is none: the copy was made all the same.
    """
    names = (os.path.realpath(copy), os.path.realpath(of))
    with suppress(WriteError):
        append(state, Change("copy", names[0], "", "", of=names[1]), shown)


def copies(state: Path, of: Path) -> list[Path]:
    """The files that `note_copy` told of as copies of a file, as far as they are still there.

    Raises InputError.
    """
    name = os.path.realpath(of)
    told = (str(line.get("path")) for line in read(state) if line.get("of") == name)
    return [Path(path) for path in dict.fromkeys(told) if os.path.isfile(path)]  # noqa: PTH113 - Path may raise


@contextmanager
def _held(state: Path) -> Iterator[Path]:
    """The log's path, while no other process adds to it."""
    from filelock import FileLock  # noqa: PLC0415 - 5 MB, and reading needs no lock

    path = state / NAME
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(state / "audit.lock", timeout=_WAIT, mode=0o600):
            yield path
    except OSError as error:
        raise WriteError(
            f"cannot add to the audit log {path}: {_reason(error)}",
            hint="make the log writable and see that the disk has space",
        ) from error


def read(state: Path) -> Iterator[dict[str, Any]]:
    """The lines that can be read, oldest first; `verify` tells of the others.

    Raises InputError.
    """
    for _, line in _lines(state):
        value = _decoded(line)
        if value is not None:
            yield value


def verify(state: Path) -> list[str]:
    """What is wrong with the log, one sentence a problem; empty where it is whole.

    Raises InputError.
    """
    problems = []
    previous, expected = "", 1
    for number, line in _lines(state):
        value = _decoded(line)
        if value is None:
            what = "is damaged" if line.endswith(b"\n") else "is cut off"
            problems.append(f"line {number} {what}")
        else:
            if value.get("prev") != previous:
                problems.append(f"line {number} does not continue the line before it")
            if value.get("seq") != expected:
                problems.append(f"line {number} has number {value.get('seq')}, not {expected}")
            expected = value["seq"] + 1
        previous = _digest(line)
    return problems


def _append(path: Path, change: Change, shown: Shown | None) -> None:
    """Write the line that continues the chain. The caller holds the lock."""
    descriptor = _opened(path)
    try:
        size = os.fstat(descriptor).st_size
        start = max(size - _TAIL, 0)
        tail = os.pread(descriptor, size - start, start).splitlines(keepends=True)
        while tail and (not tail[-1].endswith(b"\n") or b"\0" in tail[-1]):
            # A power cut tore this line before anybody was told of it, so it counts for nothing.
            size -= len(tail.pop())
            os.ftruncate(descriptor, size)
        line = _line(change, tail, shown)
        try:
            _write(descriptor, line)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
    if not size and os.name != "nt":
        # The name of a new file is on disk only when its folder is.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _opened(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    if not stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o200:
        os.fchmod(descriptor, 0o600)  # a umask may have taken from the owner
    return descriptor


def _write(descriptor: int, line: bytes) -> None:
    if os.write(descriptor, line) < len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    # The caller tells of the change as recorded once this returns.
    os.fsync(descriptor)


def _line(change: Change, tail: list[bytes], shown: Shown | None) -> bytes:
    actor, host, path = _actor(), platform.node(), change.path
    if shown is not None:
        actor, host, path = actor | {"login": ""}, shown(host), shown(path)
    whole = [value for line in tail if (value := _decoded(line)) is not None]
    value = {
        "seq": whole[-1]["seq"] + 1 if whole else 1,
        "time": datetime.now(UTC).isoformat(),
        "actor": actor,
        "host": host,
        "version": __version__,
        "action": change.action,
        "path": path,
        "before": change.before,
        "after": change.after,
        "findings": sorted(set(change.findings)),
        "undo": change.undo,
        **({"of": shown(change.of) if shown else change.of} if change.of else {}),
        "prev": _digest(tail[-1]) if tail else "",
    }
    return json.dumps(value).encode() + b"\n"


def _actor() -> dict[str, Any]:
    """Who runs this process, by the system's account and not by the environment."""
    try:
        import pwd  # noqa: PLC0415 - not on Windows
    except ImportError:
        return {"uid": None, "login": ""}
    uid = os.getuid()
    try:
        return {"uid": uid, "login": pwd.getpwuid(uid).pw_name}
    except KeyError:
        return {"uid": uid, "login": ""}


def _lines(state: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers from 1; none where no log is."""
    path = state / NAME
    try:
        with path.open("rb") as handle:
            yield from enumerate(handle, start=1)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot read the audit log {path}: {_reason(error)}") from error


def _decoded(line: bytes) -> dict[str, Any] | None:
    """The object on a whole line, or None where the line is none of ours."""
    if not line.endswith(b"\n"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or type(value.get("seq")) is not int:
        return None
    return value


def _digest(line: bytes) -> str:
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "another process holds its lock"
    return (error.strerror or type(error).__name__).lower()
