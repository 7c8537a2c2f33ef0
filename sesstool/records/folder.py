"""What is read of a folder, kept for as long as the folder stays as it is."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
# A folder that changed so lately, in nanoseconds, may change again and show the same time.
_SETTLED = 2_000_000_000


def while_unchanged(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """Make `read` look at a folder again only where its time tells that a name came or went.

    What it tells must not depend on anything else than the names and what bears them for good.
    """
    known: dict[Path, tuple[tuple[int, int], T]] = {}

    def told(folder: Path) -> T:
        try:
            now = folder.stat()
        except OSError:
            return read(folder)
        changed = (now.st_mtime_ns, now.st_ctime_ns)  # the latter cannot be set back
        if folder in known and known[folder][0] == changed:
            return known[folder][1]
        value = read(folder)
        if time.time_ns() - max(changed) > _SETTLED:
            known[folder] = (changed, value)
        return value

    return told


@while_unchanged
def names(folder: Path) -> list[str]:
    """The names in a folder in their order, none where it cannot be listed. Not to be changed."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - 10,000 paths take ten times as long
    except OSError:
        return []


def each_below(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """What has a name with one of the endings below a folder, and the folders that hide it.

    Those are the ones that cannot be listed. Links are not followed.
    """
    failed: list[OSError] = []
    for above, folders, files in os.walk(folder, onerror=failed.append):
        for name in (*folders, *files):
            if name.endswith(endings):
                yield Path(above, name)
    for error in failed:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            yield Path(error.filename)


def beginning(folder: Path, prefix: str) -> list[Path]:
    """What lies in a folder under names that begin so, in their order."""
    every = names(folder)
    found = []
    for at in range(bisect_left(every, prefix), len(every)):
        if not every[at].startswith(prefix):
            break
        found.append(folder / every[at])
    return found
