"""Forgetting: what the caches hold of a session goes when its bytes are changed or taken away.

`audit.log.append` calls it, through which every write goes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from sesstool.caches.folder import glances_path, memory_path, words_path
from sesstool.errors import WriteError


def forget(paths: Collection[Path | str]) -> None:
    """Leave nothing in any cache that was drawn from these files; others may lose what they have.

    It costs next to nothing where there is no cache. Raises WriteError, which names the file to
    delete.
    """
    for path in paths:
        _delete(memory_path(Path(path)))
    if paths and _is_there(index := words_path()):
        from sesstool.caches.words import Words  # noqa: PLC0415 - few have an index

        try:
            with Words(index) as words:
                words.forget(os.fsencode(os.path.realpath(path)) for path in paths)
        except ValueError:
            forget_words()
    if paths and _is_there(glances_path()):
        from sesstool.caches.glances import GlanceCache  # noqa: PLC0415 - not all have one

        try:
            with GlanceCache() as glances:
                glances.forget({folder for path in paths for folder in _folders(path)})
        except ValueError:
            forget_glances()


def forget_words() -> None:
    """Delete the index of words, which is of no use. Raises WriteError."""
    _delete_database(words_path())


def forget_glances() -> None:
    """Delete what lists show of sessions, which is of no use. Raises WriteError."""
    _delete_database(glances_path())


def _folders(path: Path | str) -> Iterator[bytes]:
    """The real folders in which a list may find a file: that of its name, and behind a link."""
    yield os.fsencode(os.path.realpath(os.path.dirname(path)))  # noqa: PTH120 - plain text
    yield os.fsencode(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120 - the same


def _files(path: Path) -> tuple[Path, ...]:
    """Of a database: what a change that was killed had begun may be left alone."""
    return path, path.with_name(f"{path.name}-journal")


def _is_there(path: Path) -> bool:
    return any(map(os.path.lexists, _files(path)))


def _delete_database(path: Path) -> None:
    """One that is damaged, or in use for too long: whoever has it open, has it to the end."""
    for file in _files(path):
        _delete(file)


def _delete(path: Path) -> None:
    if not os.path.lexists(path):  # nor where this user may not look: such a cache is not theirs
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise WriteError(
            f"what was drawn from sessions before is still in {path}: {reason}",
            hint="delete it: it is a cache, and is made anew",
        ) from error
