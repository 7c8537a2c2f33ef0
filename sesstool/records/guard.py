"""What stands around every write: a lock, no writer, and no signal in the middle of it.

The locks lie in the state folder, so nothing is left beside a session.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sesstool.errors import LiveSessionError, WriteError
from sesstool.records.live import find_writer
from sesstool.records.lock import holder
from sesstool.records.write import make_folder

WriterCheck = Callable[[Path], str | None]
"""An agent's own way to know who writes a session: a description, or None."""

_WAIT = 5.0


@contextmanager
def locked(state: Path, path: Path) -> Iterator[None]:
    """Keep other runs of sesstool from changing the file. Raises WriteError."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - 5 MB, and reading needs no lock

    key = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    try:
        make_folder(state / "locks")
        lock = FileLock(state / "locks" / key, timeout=_WAIT, mode=0o600)
        lock.acquire()
    except Timeout as error:
        raise WriteError(
            f"another sesstool is changing {path}", hint="wait for it to end, and run it again"
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise WriteError(
            f"cannot lock {path} in the state folder {state}: {reason}",
            hint="set XDG_STATE_HOME to a folder that can be written",
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a signal to stop wait until the bytes, the journal and the log say the same."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread only
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda n, _: came.append(n))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for late in came:
            signal.raise_signal(late)


def refuse_live(path: Path, recent_seconds: float | None, writer: WriterCheck | None) -> None:
    """Raise LiveSessionError where somebody writes to a file, or did so very lately."""
    found = find_writer(path, recent_seconds=recent_seconds)
    description = found.description if found else holder(path) or (writer and writer(path))
    if description:
        raise LiveSessionError(
            f"{path} is in use: {description}",
            hint="close the agent first; with --ignore-live the file is written all the same, "
            "and what the agent writes in the meantime may be lost",
        )


def allow_open(files: int) -> None:
    """Let this process have so many files more open, as far as the system lets it."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
