"""Forgetting: what the caches hold of a session goes when its bytes are changed or taken away.

`audit.log.append` calls it, through which every write goes.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from sesstool.caches.folder import memory_path, words_path
from sesstool.errors import WriteError


def forget(paths: Collection[Path | str]) -> None:
    """Leave nothing in any cache that was drawn from these files; others may lose what they have.

    It costs next to nothing where there is no cache. Raises WriteError, which names the file to
    delete.
    """
    for path in paths:
        _delete(memory_path(Path(path)))
    index = words_path()
    if not paths or not os.path.lexists(index):
        return
    from sesstool.caches.words import Words  # noqa: PLC0415 - few have an index

    try:
        with Words(index) as words:
            words.forget(os.fsencode(os.path.realpath(path)) for path in paths)
    except ValueError:  # damaged, or in use for too long: whoever has it open, has it to the end
        for ending in ("", "-journal"):
            _delete(index.with_name(index.name + ending))


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except NotADirectoryError:
        return
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise WriteError(
            f"what was drawn from sessions before is still in {path}: {reason}",
            hint="delete it: it is a cache, and is made anew",
        ) from error
