"""Snapshots of the world beside a session, and what has changed since."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool import api
from sesstool.audit import log
from sesstool.checks.engine import Progress
from sesstool.errors import InputError, UsageError, WriteError
from sesstool.formats.side_files import beside
from sesstool.model.session import Session, open_known
from sesstool.records.opening import open_source, refuse_rows
from sesstool.records.source import (
    SEALED,
    STANDARD_INPUT,
    FileSource,
    bare_path,
    is_transcript,
    plain_path,
    snapshot_of,
)
from sesstool.records.write import create, real_path
from sesstool.store import world
from sesstool.store.touched import Touched
from sesstool.store.world import KINDS, Change, Todos, World

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

__all__ = ["KINDS", "Change", "Since", "World", "compared", "snapshot", "take"]

_LARGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Since:
    """What has changed since a snapshot, which was taken at `then.taken`.

    `now` has the id of the session that is compared, which may be another one.
    """

    path: Path
    then: World
    now: World
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        """The document of a comparison."""
        return {
            "schema_version": world.VERSION,
            "snapshot": str(self.path),
            "taken": self.then.taken,
            "compared": self.now.taken,
            "of": self.then.session_id,
            "session_id": self.now.session_id,
            "changes": [change._asdict() for change in self.changes],
        }


def take(
    path: Path | str,
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> World:
    """The world beside a session as it is now. Raises InputError, NotASessionError, AuthError."""
    with open_source(path, keys) as source:
        return _taken(source, format_name, progress, keys)


def snapshot(
    path: Path | str,
    target: Path | None = None,
    *,
    force: bool = False,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> tuple[World, Path]:
    """Record the world beside a session in a new private file, by default beside it.

    That of an encrypted session is encrypted for the same recipients. Raises WriteError as well,
    also where the file exists and `force` is not given.
    """
    if target is None:
        refuse_rows(path)
    with open_source(path, keys) as source:
        place = target or _place(source)
        _refuse_taken(place, force=force, named=target is not None)
        taken = _taken(source, format_name, progress, keys)
        text = (json.dumps(taken.as_json(), indent=2) + "\n").encode()
        chunks = iter([text])
        data = source.seal.writer.seal(chunks) if source.seal else chunks
        # Beside the session with its time: else to retention the session would be young again.
        mtime = source.opened.st_mtime_ns if target is None else None
        create(place, data, mtime=mtime, force=force)
        if target is None:  # a part of the session, which goes with it
            with suppress(WriteError):  # as of copies: it was made all the same
                change = log.Change("snapshot", os.path.realpath(place), "", "")
                log.append(api.state_folder(), change)
        elif source.path is not None:
            log.note_copy(api.state_folder(), place, source.path, sealed=source.seal is not None)
    return taken, place


def compared(
    path: Path | str,
    file: Path | None = None,
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> Since | None:
    """What has changed since the snapshot in a file, by default that beside the session.

    None where there is none beside it. Raises InputError, NotASessionError and AuthError.
    """
    with open_source(path, keys) as source:
        found = file or (beside(snapshot_of(Path(path))) if str(path) != "-" else None)
        if found is None:
            return None
        then = _read(found, keys)
        session = open_known(source, format_name)
        touched, unread = _touched(session, then.cwd, progress, keys)
        now = replace(
            then,
            taken=_now(),
            session_id=session.id,
            git=world.git_of(then.cwd, _apart(source)),
            files=world.again(then.files),
            variables=tuple(sorted(os.environ)),
            todos=Todos(touched.todos, touched.line),
            unread=unread,
        )
    return Since(found, then, now, world.compare(then, now))


def _taken(
    source: FileSource, format_name: str, progress: Progress | None, keys: Keys | None
) -> World:
    session = open_known(source, format_name)
    folder = _folder(session)
    touched, unread = _touched(session, folder, progress, keys)
    cwd = touched.cwd or folder
    return World(
        _now(),
        source.path.name if source.path is not None else STANDARD_INPUT,
        session.format.name,
        session.id,
        cwd,
        bool(touched.cwd),
        world.git_of(cwd, _apart(source)),
        world.hashed(touched.files),
        touched.more,
        tuple(sorted(os.environ)),
        Todos(touched.todos, touched.line),
        unread,
    )


def _touched(
    session: Session, folder: str, progress: Progress | None, keys: Keys | None
) -> tuple[Touched, int]:
    """What the records of a session, and of its subagents, tell; how many pieces are no record."""
    touched, unread = Touched(session.format, folder), 0
    for record, meaning in session.again():
        if progress is not None:
            progress(record.end)
        if meaning is None:
            unread += 1
            continue
        session.id = session.id or meaning.session
        touched.see(meaning, record.line)
    path = session.source.path
    parts = session.format.parts(bare_path(path)) if path is not None else ()
    for part in filter(is_transcript, parts):
        with open_source(part, keys) as source:
            aside = Session(source, session.format, session.reason)
            for _, meaning in aside.again():
                if meaning is None:
                    unread += 1
                else:
                    touched.see(meaning, 0)
    return touched, unread


def _folder(session: Session) -> str:
    """Where a session runs that does not tell it: in its project, else where this does."""
    path = session.source.path
    home = session.format.home(plain_path(path)) if path is not None else None
    project = session.format.where(home, ())[0] if home is not None else ""
    return project if Path(project).is_absolute() else str(Path.cwd())


def _place(source: FileSource) -> Path:
    if source.path is None:
        raise UsageError("standard input has no place", hint="name a new file with -o")
    place = snapshot_of(source.path)
    return place.with_name(place.name + SEALED) if source.seal else place


def _refuse_taken(place: Path, *, force: bool, named: bool) -> None:
    """Refuse, before the work, a file that could not be made, or would hide another one."""
    twin = plain_path(place) if place.suffix == SEALED else place.with_name(place.name + SEALED)
    if not named and os.path.lexists(twin):
        raise WriteError(
            f"there is a snapshot beside it already: {twin}", hint="remove it, and run it again"
        )
    if not named and place.is_symlink():
        raise WriteError(
            f"cannot write {place}: it is a link", hint="remove it, or choose a name with -o"
        )
    if os.path.lexists(place) and not force:
        raise WriteError(
            f"cannot write {place}: it exists already",
            hint="--force replaces it, and --compare tells what has changed since",
        )


def _apart(source: FileSource) -> Iterable[str]:
    """The session's file and its snapshot: that they come is no change of the world."""
    if source.path is not None:
        real = real_path(source.path)
        plain = snapshot_of(real)
        yield from map(str, (real, plain, plain.with_name(plain.name + SEALED)))


def _read(path: Path, keys: Keys | None) -> World:
    with open_source(path, keys) as source:
        if source.size > _LARGEST:
            raise InputError(f"{path} is too large for a snapshot", hint="name another file")
        try:
            value = json.loads(source.read(0, source.size))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is no snapshot", hint="name another file") from error
    return world.of_json(value, str(path))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
