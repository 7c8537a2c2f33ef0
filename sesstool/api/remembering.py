"""The memory of a session: what it was about and how it stands, and how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.store.memory import SessionMemory
from sesstool.store.remembered import Remembered

if TYPE_CHECKING:
    from sesstool.checks.engine import Progress
    from sesstool.encryption.keyring import Keys

__all__ = ["Remembered", "SessionMemory", "memory"]


def memory(
    path: Path | str,
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
    cache: bool = True,
    note: Callable[[str], None] = lambda _: None,
) -> SessionMemory:
    """The memory of a session. Raises InputError, NotASessionError and AuthError.

    The state of it is kept in the user's cache folder, without any text of the session, and taken
    up where the file goes on from what was read; `note` is told where it cannot be. Nothing is kept
    of what is compressed or encrypted, or came through a pipe.
    """
    found = Remembered(path, format_name=format_name, keys=keys, cache=cache, note=note)
    found.update(progress)
    return found.memory
