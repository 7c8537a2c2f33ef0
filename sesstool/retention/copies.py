"""The copies that sesstool itself made of sessions, which stay where a session goes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sesstool.audit import log
from sesstool.records.source import bare_path


class Gone(Protocol):
    """A session that is deleted, with all its files, or an entry of the trash."""

    @property
    def path(self) -> str:
        """Where the session is, or was."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Where its files are, or were."""


def copies(gone: Sequence[Gone], state: Path) -> dict[str, tuple[str, ...]]:
    """The copies that are still there, and their copies, by the path of the session.

    The log is read once for all. Raises InputError.
    """
    made = log.made(state) if gone else {}
    found = {}
    for one in gone:
        names = {name for path in one.paths for name in (path, str(bare_path(Path(path))))}
        each = log.descent(made, sorted(names))
        if there := tuple(copy for copy in each if os.path.lexists(copy)):
            found[one.path] = there
    return found
