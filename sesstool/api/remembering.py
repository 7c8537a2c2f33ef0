"""The memory of a session: what it was about and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesstool.model.session import Session, open_session
from sesstool.records.opening import open_source
from sesstool.store.memory import SessionMemory

if TYPE_CHECKING:
    from pathlib import Path

    from sesstool.checks.engine import Progress
    from sesstool.encryption.keyring import Keys


def memory(
    path: Path | str,
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> SessionMemory:
    """The memory of a session. Raises InputError, NotASessionError and AuthError."""
    with open_source(path, keys) as source:
        return _read(open_session(source, format_name), progress)


def _read(session: Session, progress: Progress | None) -> SessionMemory:
    found = SessionMemory(session.format)
    for record, meaning in session.again():
        if meaning is not None and record.value is not None:
            found.see(record.value, meaning, record.start, record.end, record.line)
        if progress is not None:
            progress(record.end)
    return found
