"""Where the caches are, and what is theirs: files of this user, which nobody else can read."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """The folder of all the caches; it need not be there."""
    return user_cache_path("sesstool", appauthor=False)


def memory_path(path: Path) -> Path:
    """Where the state of the memory of a session is kept."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
    return cache_folder() / "memory" / f"{name}.json"


def words_path() -> Path:
    """Where the index of words is kept."""
    return cache_folder() / "search.db"


def glances_path() -> Path:
    """Where is kept what lists show of sessions."""
    return cache_folder() / "glances.db"


def is_own(path: Path) -> bool:
    """Whether a file is there which this user made, and no link to one."""
    with suppress(OSError):  # a folder above it may be none, or closed
        now = path.lstat()
        return stat.S_ISREG(now.st_mode) and (os.name == "nt" or now.st_uid == os.geteuid())
    return False
