"""The log of every write: what was done to which file, by whom and when. See `chain`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesstool.audit.chain import Chain, origin
from sesstool.caches.forget import forget
from sesstool.errors import WriteError

Shown = Callable[[str], str]
CHAIN = Chain("audit", "audit log")
NAME = CHAIN.file
_COPY = "copy"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one file.

    `action` is the command. `before` and `after` are the SHA-256 of the bytes on disk, "" for
    a file that is not there or was not looked at. `undo` is the id of the undo entry, or "". `of`
    is the file that a new one was made of, or "". `entry` is the id of a trash entry, or "", and
    `reason` the name of the rule or hold behind the change, or "".
    """

    action: str
    path: str
    before: str
    after: str
    findings: tuple[str, ...] = ()
    undo: str = ""
    of: str = ""
    entry: str = ""
    reason: str = ""


def ready(state: Path) -> None:
    """Raise WriteError where no line could be added: a change must not come before its line."""
    CHAIN.ready(state)


def append(state: Path, *changes: Change, shown: Shown | None = None) -> None:
    """Add a line for each change, all or none, and return when they are on disk.

    `shown` takes out of a path or a name what the log must not hold; then the account is told by
    its number alone. What the caches hold of these files goes first. Raises WriteError, which
    leaves the log as it was, or tells that a cache could not be cleared.
    """
    try:
        forget([change.path for change in changes])
    finally:
        CHAIN.append(state, [_row(change, shown) for change in changes])


def note_copy(
    state: Path, copy: Path, of: Path, shown: Shown | None = None, *, sealed: bool = False
) -> None:
    """Add that a file holds what another one does, for who takes that away.

    `sealed` says that it does not in the clear. Where there can be no line, there is none: the
    copy was made all the same.
    """
    names = (os.path.realpath(copy), os.path.realpath(of))
    action = "encrypted copy" if sealed else _COPY
    with suppress(WriteError):
        append(state, Change(action, names[0], "", "", of=names[1]), shown=shown)


def copies(state: Path, of: Path) -> list[Path]:
    """The copies in the clear that `note_copy` told of, as far as they are still there.

    Those of copies too. Raises InputError.
    """
    name = os.path.realpath(of)
    names, told = {name}, []
    for line in read(state):
        if line.get("of") in names:
            path = str(line.get("path"))
            names.add(path)
            told += [path] * (line.get("action") == _COPY and path != name)
    return [Path(path) for path in dict.fromkeys(told) if os.path.isfile(path)]  # noqa: PTH113 - Path may raise


def made(state: Path) -> dict[str, list[str]]:
    """The paths of all that sesstool ever made of each file, encrypted or not.

    Raises InputError.
    """
    found: dict[str, list[str]] = {}
    for line in read(state):
        if "of" in line:
            found.setdefault(str(line["of"]), []).append(str(line.get("path")))
    return found


def descent(made: Mapping[str, list[str]], names: Iterable[str]) -> list[str]:
    """What was made of files, and of what was made of them, by what `made` found."""
    more = list(names)
    found, before = dict.fromkeys(more), len(more)
    while more:
        more = [copy for name in more for copy in made.get(name, ()) if copy not in found]
        found |= dict.fromkeys(more)
    return list(found)[before:]


def read(state: Path) -> Iterator[dict[str, Any]]:
    """The lines that can be read, oldest first; `verify` tells of the others. Raises InputError."""
    return CHAIN.read(state)


def entries_of(state: Path, entry: str) -> list[dict[str, Any]]:
    """The lines that tell of one trash entry, oldest first. Raises InputError."""
    return [line for line in read(state) if line.get("entry") == entry]


def verify(state: Path) -> list[str]:
    """What is wrong with the log, one sentence a problem; empty where it is whole.

    Raises InputError.
    """
    return CHAIN.verify(state)


def _row(change: Change, shown: Shown | None) -> dict[str, Any]:
    who, path, of = origin(), change.path, change.of
    if shown is not None:
        who |= {"actor": who["actor"] | {"login": ""}, "host": shown(who["host"])}
        path, of = shown(path), of and shown(of)
    told = {"of": of, "entry": change.entry, "reason": change.reason}
    return {
        **who,
        "action": change.action,
        "path": path,
        "before": change.before,
        "after": change.after,
        "findings": sorted(set(change.findings)),
        "undo": change.undo,
        **{name: value for name, value in told.items() if value},
    }
