"""Holds: what a person names is made a match that holds it wherever it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Any

from sesstool.api import state_folder
from sesstool.api.naming import named, session_ids
from sesstool.errors import UsageError
from sesstool.records.source import bare_path
from sesstool.retention.entries import entries
from sesstool.retention.globs import CHECKS, sound
from sesstool.retention.policy import Hold, Match
from sesstool.retention.units import end


def holds(
    name: str,
    sessions: Sequence[str],
    *,
    reason: str,
    by: str = "",
    until: str | None = None,
    agent: Sequence[str] = (),
    tags: Sequence[str] = (),
    project: Sequence[str] = (),
) -> list[Hold]:
    """The holds of a name that hold sessions, as far as they are also of an agent, tag, project.

    A folder stands for all that is below it, now and later. A file or id stands for its session,
    which is held by its id and by its path: one of both is enough. `until` is a date, over with
    the day. Raises InputError and UsageError.
    """
    for what, text in (("name", name), ("reason", reason)):
        if not text.strip() or not text.isprintable():
            raise UsageError(
                f"the {what} is empty or holds a control character", "write some words"
            )
    common: dict[str, Any] = {
        "agent": _checked("--agent", agent, CHECKS["agent"]),
        "tags": _checked("--tag", tags),
        "project": _checked("--project", project),
    }
    if not sessions and not any(common.values()):
        raise UsageError("it would hold nothing", "give a PATH, --agent, --tag or --project")
    ids, paths = _places(sessions)
    matches = [Match(session=ids, **common)] if ids else []
    if paths or not ids:
        matches.append(Match(path=paths, **common))
    return [Hold(name, match, reason, by, until=_end(until)) for match in matches]


def _checked(
    option: str, globs: Sequence[str], check: Callable[[str], str] = sound
) -> tuple[str, ...]:
    """The globs of an option. Raises UsageError where one can match nothing."""
    for text in globs:
        try:
            check(sound(text))
        except UsageError as error:
            raise UsageError(f"{option}: {text} {error.message}", error.hint) from error
    return tuple(globs)


def _end(until: str | None) -> datetime | None:
    if until is None:
        return None
    try:
        time = end(until)
    except UsageError as error:
        raise UsageError(f"--until: {until} {error.message}", error.hint) from error
    if time <= datetime.now(UTC):
        raise UsageError(f"--until: {until} is over", "give a later date, or none")
    return time


def _places(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids and paths of sessions, as globs."""
    paths: list[str] = []
    ids: list[str] = []
    for name in names:
        if os.path.isdir(name):  # noqa: PTH112 - Path.is_dir may raise
            paths.append(escape(os.path.realpath(name)).rstrip("/") + "/*")
            continue
        for path in _located(name):
            plain = bare_path(Path(os.path.realpath(path)))
            # Its compressed or encrypted twin is held, too.
            paths += [escape(str(plain)), f"{escape(str(plain))}.*"]
            ids += sorted(map(escape, session_ids(plain)))
    return tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(paths))


def _located(name: str) -> list[Path]:
    """Where the sessions that a name means are, or were before they came into the trash."""
    if name == "-":
        raise UsageError("standard input cannot be held", hint="name the file")
    found, gone = named(name, entries(state_folder()))
    return [*found, *(Path(entry.path) for entry in gone)]
