"""What people name when they speak of sessions: files that are there, and what is in the trash."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from sesstool import api
from sesstool.audit import log
from sesstool.errors import InputError
from sesstool.formats.registry import FORMATS
from sesstool.records.opening import refuse_rows
from sesstool.records.source import SEALED, bare_path
from sesstool.records.write import place_of
from sesstool.retention.accounts import PURGED
from sesstool.retention.entries import Entry


def named(name: str, away: Sequence[Entry]) -> tuple[list[Path], list[Entry]]:
    """The files of the sessions that a name means, and those entries of the trash, `away`.

    It is a path, or an id or the unique beginning of one, of a session here or in the trash, or
    the id of an entry. Raises InputError where there is nothing of the name, or several sessions
    have an id that begins so, and UsageError for what is never written to.
    """
    gone = _gone(name, away)
    is_id = not (os.path.lexists(name) or os.sep in name or name.endswith(api.SUFFIXES))
    # Several that begin so are told by `find`, and not taken for none.
    only_gone = bool(gone) and not (next(_at_home(name), None) if is_id else _is_there(name))
    found = [] if only_gone else [Path(path) for path in api.find([name])]
    for path in found:
        refuse_rows(path)
        if not os.path.lexists(path):
            raise InputError(f"there is no file {path}", hint="check the path")
    ids = {one.session for one in gone}
    if is_id and all(name not in (one.id, one.session) for one in gone):
        here = set().union(*map(session_ids, found))
        if len(ids) > 1 or (ids and here and ids.isdisjoint(here)):
            raise InputError(
                f"several sessions, here or in the trash, have an id that begins with {name}",
                hint="give more of the id, or a path",
            )
    return found, gone


def all_named(
    names: Iterable[str], away: Sequence[Entry], *, erase: bool
) -> tuple[list[Path], list[Entry]]:
    """The same of several names. What is to be erased must be here. Raises InputError."""
    paths: list[Path] = []
    gone: list[Entry] = []
    for name in names:
        if erase and _is_purged(name):
            continue  # by an earlier run of the same command, which was stopped
        found, mine = named(name, away)
        if erase and not found:
            raise InputError(
                f"{name} is in the trash, and has no file to be erased",
                hint=f"sesstool trash empty {mine[0].id}",
            )
        paths += map(place_of, found)
        gone += mine
    return paths, gone


def _is_purged(name: str) -> bool:
    """Whether a path is gone, and the log tells that it was deleted for good."""
    if os.path.lexists(name) or os.sep not in name:
        return False
    real = os.path.realpath(name)
    lines = log.read(api.state_folder())
    return any(line.get("action") == PURGED and line.get("path") == real for line in lines)


def session_ids(path: Path) -> set[str]:
    """The ids that a file may be known by, as its name tells."""
    return {form.session_id(bare_path(path)) for form in FORMATS} - {""}


def _gone(name: str, away: Iterable[Entry]) -> list[Entry]:
    """The entries that a name means: of one name exactly, else of those that begin so."""
    real = os.path.realpath(name)
    below = os.path.join(real, "")  # noqa: PTH118 - no file is meant
    if os.path.isdir(name):  # noqa: PTH112 - Path.is_dir may raise
        return [one for one in away if one.path.startswith(below)]
    tests: tuple[Callable[[Entry], bool], ...] = (
        lambda one: bare_path(Path(one.path)) == bare_path(Path(real)),
        lambda one: name in (one.id, one.session),
        lambda one: bool(name) and one.session.startswith(name),
    )
    return next((found for test in tests if (found := list(filter(test, away)))), [])


def _at_home(name: str) -> Iterator[Path]:
    return (path for form in FORMATS for end in ("", SEALED) for path in form.find(name, end))


def _is_there(name: str) -> bool:
    """Whether a path is there; a folder is so where it has a session."""
    try:
        return any(os.path.lexists(path) for path in api.find([name]))
    except InputError:
        return False
