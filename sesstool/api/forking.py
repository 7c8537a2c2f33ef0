"""A new session that starts as a copy of another one, in its agent's own way of forking."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool import api
from sesstool.api.inheriting import Cut, Inherited, Progress, Shared, done_before
from sesstool.errors import InputError, LiveSessionError, UsageError, WriteError
from sesstool.formats.base import Format
from sesstool.formats.forking import Forker
from sesstool.formats.side_files import beside
from sesstool.model.session import open_known, path_of
from sesstool.records.opening import open_source, refuse_rows
from sesstool.records.recover import utf16
from sesstool.records.source import FileSource, bare_path
from sesstool.records.write import create
from sesstool.repair.resume import OpenCall
from sesstool.text import elide, quoted

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_SIDE_LIMIT = 1 << 24
_WIDE = 60  # characters of an id in a message


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork that was made.

    It ends with the record at line `at` of its `parent`, of which it has `records`; the file at
    `path` holds them unless it is `by_reference`. `left_out` counts pieces that are no record, or
    none of this session. `missing` says what nobody knows of what is inherited, "" for nothing.
    `open_calls` stand unanswered at its end, and `unfinished` says what else does. `command` is the
    agent's own that resumes it, "" where there is none. `in_use` says who writes to the parent, ""
    for nobody.
    """

    path: Path
    session_id: str
    format: str
    parent: str
    parent_id: str
    at: int
    records: int
    left_out: int
    by_reference: bool
    inherited: tuple[Inherited, ...]
    missing: str
    open_calls: tuple[OpenCall, ...]
    unfinished: str
    command: str
    in_use: str


def fork(
    path: Path | str,
    *,
    at: str = "",
    new_id: str = "",
    target: Path | None = None,
    force: bool = False,
    format_name: str = "",
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> Fork:
    """Make a new session of a beginning of another one, which is only read.

    It ends with the record `at`, a line or an id, or with the last one that a resume would send;
    of a session with branches it is the way that leads there. The new file is where the agent
    looks for it, or at `target`, plain and for this user alone, whole or not at all; the log is
    told of it. Raises InputError, NotASessionError, AuthError; UsageError where `at` or `new_id`
    is none; LiveSessionError where somebody writes to what `force` would replace; and WriteError,
    also where a file exists and `force` is not given.
    """
    refuse_rows(path)
    with open_source(path, keys) as source:
        writer = api.in_use(source.path) if source.path is not None else ""
        if utf16(source.read(0, 256)):
            raise InputError(
                f"{source.name} is in UTF-16, which no agent forks",
                hint=f"sesstool repair --unsafe --write {quoted(source.name)} makes it UTF-8 first",
            )
        session = open_known(source, format_name)
        cut = Cut(source, session, at, progress)
        kind, now = session.format.forker, datetime.now(UTC)
        name = _named(session.format, new_id, target)
        folder = _folder(source, target)
        forker = kind(cut.parent, name or kind.fresh(cut.parent, now, folder), now)
        target = _target(forker, session.format, source, target, force=force)
        shared = Shared(source, session, cut, forker)
        side = _side(forker, target, keys)
        if side is not None:
            _refuse_taken(side[0], force=force)
        before, missing = done_before(session, cut, keys)
        whole = forker.reference(target, cut.first)
        if whole:
            for _ in shared.lines():
                pass
        create(target, [whole] if whole else shared.lines(), force=force)
        if side is not None:
            _beside(target, *side, force=force)
        if source.path is not None:
            for one in (target, *(side or ())[:1]):
                api.note_copy(one, source.path)
        near = source.path is None or target.parent.absolute() == source.path.parent.absolute()
        known = near or session.format.home(target)
        return Fork(
            target,
            forker.id,
            session.format.name,
            path_of(source),
            cut.parent.id,
            cut.place.line,
            shared.count,
            shared.left_out,
            bool(whole),
            (*before, *shared.inherited),
            missing,
            tuple(shared.open_calls()),
            shared.unfinished(),
            session.format.resume_command(forker.id) if known else "",
            writer,
        )


def _named(form: Format, new_id: str, target: Path | None) -> str:
    """The id that is asked for, by itself or by the name of the file; "" for none."""
    told = ""
    if target is not None and not target.is_dir():
        told = form.session_id(target)
        if form.forker.by_name and not told:
            told = target.name.removesuffix(".jsonl")
    if new_id and (why := form.forker.refusal(new_id)):
        raise UsageError(
            f"{elide(new_id, _WIDE)} is no id for a session of {form.title}: {why}",
            hint="leave it out, and a new one is drawn",
        )
    if new_id and told and told != new_id:
        raise UsageError(
            f"{target} is the name of another session than {new_id}",
            hint="give the id, or the name of the file, and leave the other out",
        )
    return new_id or told


def _folder(source: FileSource, target: Path | None) -> Path | None:
    """The folder that a fork is made in, unless its agent chooses another; None for none."""
    if target is not None:
        return target if target.is_dir() else None
    return source.path.parent if source.path is not None else None


def _target(
    forker: Forker, form: Format, source: FileSource, target: Path | None, *, force: bool
) -> Path:
    """Where the new file is to be. Raises UsageError and WriteError."""
    if target is None:
        if source.path is None:
            raise UsageError(
                "what is piped in has no place for a fork", hint="name a new file with -o"
            )
        folder = forker.folder(source.path.parent)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(
                f"cannot make {folder}: {(error.strerror or '').lower()}",
                hint="name a new file with -o",
            ) from error
        target = folder / forker.name()
    elif target.is_dir():
        target = target / forker.name()
    if source.path is not None:
        own = (source.path, *form.parts(bare_path(source.path)))
        if any(os.path.exists(target) and target.samefile(path) for path in own):  # noqa: PTH110 - Path.exists may raise
            raise UsageError(
                f"{target} is the session itself, or a part of it",
                hint="choose another id, or name a new file with -o",
            )
    _refuse_taken(target, force=force)
    if os.path.isfile(target) and (writer := api.in_use(target)):  # noqa: PTH113 - Path.is_file may raise
        raise LiveSessionError(
            f"{target} is in use: {writer}", hint="close the agent first, or choose another id"
        )
    return target


def _refuse_taken(path: Path, *, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise WriteError(
            f"cannot write {path}: it exists already", hint="choose another name, or add --force"
        )


def _side(forker: Forker, target: Path, keys: Keys | None) -> tuple[Path, bytes] | None:
    """The side file of a fork, and what is to be in it; None where it needs none."""
    own = forker.side()
    there = beside(own) if own is not None else None
    if there is None:
        return forker.side_file(target, b"")
    with open_source(there, keys) as source:
        return forker.side_file(target, source.read(0, _SIDE_LIMIT))


def _beside(target: Path, side: Path, data: bytes, *, force: bool) -> None:
    """Write the side file; without it there is no fork either."""
    try:
        create(side, [data], force=force)
    except WriteError:
        if not force:
            target.unlink(missing_ok=True)
        raise
