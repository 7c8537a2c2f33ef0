"""The action redact-payload: the output of tools goes, and the sessions stay.

A note in the state folder tells of the file that is under way, so that a run that was killed is
brought to its end: what undo kept goes, the log has its line, and forks find what they read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool import api
from sesstool.audit import log
from sesstool.errors import InputError, StalePlanError, UsageError
from sesstool.records import transact
from sesstool.records import undo as journal
from sesstool.records.edits import EditSet
from sesstool.records.guard import locked, refuse_live
from sesstool.records.opening import open_source, packed
from sesstool.records.plan import FilePlan, Plan
from sesstool.records.source import EditedSource, FileSource, Fingerprint, fingerprint, plain_path
from sesstool.records.write import create, make_folder, real_path
from sesstool.retention import stubs
from sesstool.retention.stubs import Stubs
from sesstool.version import __version__

if TYPE_CHECKING:
    from sesstool.retention.groups import Group

__all__ = ["Outputs", "dependents", "empty", "look", "settle"]

ACTION = "prune"
_NOTE = "emptying.json"
_FOLLOW = "emptying.plan"


class Outputs(NamedTuple):
    """What is to go of a session: results of tools, files with nothing but output, bytes in all."""

    results: int
    files: int
    bytes: int


class _File(NamedTuple):
    path: Path
    before: Fingerprint
    stubs: Stubs


def look(group: Group, rule: str) -> Outputs:
    """What there is to be taken out of a session.

    Raises InputError, AuthError and UsageError where it cannot be done.
    """
    results = files = size = 0
    for path, _, found in _looked(group, rule):
        results += found.results
        files += bool(found.edits) and _is_output(group, path)
        size += found.size
    return Outputs(results, files, size)


def dependents(group: Group) -> list[Path]:
    """The sessions that refer to bytes of this one, which are changed with it."""
    assert group.form is not None
    return [one.path for one in group.form.dependents(plain_path(group.file))]


def empty(group: Group, rule: str, state: Path, *, ignore_live: bool) -> None:
    """Take the output of tools out of all files of a session, and out of what undo keeps of them.

    All are looked at before the first is changed; a run that is broken off is gone on with by the
    next. Raises InputError, AuthError, UsageError, StalePlanError, LiveSessionError, WriteError.
    """
    settle(state)
    found = []
    for path, source, gone in _looked(group, rule):
        before = fingerprint(path)
        if not before.same_file(source.opened):
            raise StalePlanError(f"{path} changes while it is read", hint="run it again")
        found.append(_File(path, before, gone))
    if not ignore_live:
        for path in [*(file.path for file in found if file.stubs.edits), *dependents(group)]:
            refuse_live(path, None, api.writer)
    for file in found:
        if file.stubs.edits:
            _rewrite(group, file, rule, state, ignore_live=ignore_live)
        else:
            _forget(state, real_path(file.path))


def settle(state: Path) -> Path | None:
    """Bring to its end what was broken off behind the write of a file, and tell of which.

    The caller sees to it that this is the only run. Raises InputError and WriteError.
    """
    note, follow = state / _NOTE, state / _FOLLOW
    done = None
    if note.exists():
        try:
            value = json.loads(note.read_bytes())
            change = log.Change(**value | {"findings": ()})
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"cannot read {note}, which tells what a run that was broken off did",
                hint="run prune again without it, and look at `sesstool undo --list`",
            ) from error
        path = Path(change.path)
        if path.exists() and fingerprint(path).sha256 == change.after:
            done = path
            told = (change.path, change.before, change.after)
            lines = (
                (one.get("path"), one.get("before"), one.get("after")) for one in log.read(state)
            )
            if told in lines:
                _forget(state, path)
            else:
                transact.rewritten(state, path, change)
            if follow.exists():
                _follow(Plan.load(follow), state, ignore_live=True)
    follow.unlink(missing_ok=True)
    note.unlink(missing_ok=True)
    return done


def _looked(group: Group, rule: str) -> Iterator[tuple[Path, FileSource, Stubs]]:
    """The files of a session that may hold output of tools, and what takes it out of each."""
    if group.form is None or not group.form.repairable:
        raise UsageError(f"it is not known where {group.agent} keeps the output of tools")
    for piece in group.pieces:
        path = piece.path
        output = _is_output(group, path)
        if not output and not path.name.endswith(api.SUFFIXES):
            continue
        with open_source(path, group.keys) as source:
            find = stubs.whole(source, rule) if output else stubs.edits(source, group.form, rule)
            if find.edits and piece.names > 1:
                raise UsageError(f"{path} has {piece.names} names (hard links), which would part")
            if find.edits and source.seal:
                source.seal.writer  # noqa: B018 - raises where its recipients are not known
            yield path, source, find


def _forget(state: Path, path: Path) -> None:
    with locked(state, path):
        journal.forget(state, path)


def _is_output(group: Group, path: Path) -> bool:
    return group.form is not None and group.form.is_output(plain_path(path))


def _rewrite(group: Group, file: _File, rule: str, state: Path, *, ignore_live: bool) -> None:
    path = real_path(file.path)
    follow = _followers(group, file)
    change = log.Change(ACTION, str(path), file.before.sha256, "", reason=rule)

    def noted(_: Path, sha256: str) -> None:
        make_folder(state)
        (state / _FOLLOW).unlink(missing_ok=True)
        if follow.files:
            follow.save(state / _FOLLOW)
        value = json.dumps(asdict(replace(change, after=sha256)))
        create(state / _NOTE, [value.encode()], force=True)

    with open_source(file.path, group.keys) as source:
        # Others cannot be kept from opening a file that this process has open.
        edited = chain(
            packed(EditedSource(source, file.stubs.edits).chunks(), source), _closed(source)
        )
        transact.rewrite_file(
            file.path,
            file.before,
            edited,
            state=state,
            command=ACTION,
            findings=(),
            ignore_live=ignore_live,
            recent_seconds=None,
            writer=api.writer,
            reason=rule,
            verify=noted,
        )
    _follow(follow, state, ignore_live=ignore_live)
    (state / _FOLLOW).unlink(missing_ok=True)
    (state / _NOTE).unlink(missing_ok=True)


def _closed(source: FileSource) -> Iterator[bytes]:
    source.close()
    yield b""


def _followers(group: Group, file: _File) -> Plan:
    """What keeps true what other files tell of the bytes of this one."""
    files: Iterable[FilePlan] = ()
    if file.path == group.file and group.form is not None:
        title = f"refer to the bytes of {file.path.name} where they are after {ACTION}"
        files = (
            FilePlan(one.path, fingerprint(one.path), "", EditSet(edits), titles=(title,))
            for one in group.form.dependents(plain_path(file.path))
            if (edits := list(one.edits(file.stubs.edits)))
        )
    return Plan(tuple(files), datetime.now(UTC).isoformat(timespec="seconds"), __version__)


def _follow(plan: Plan, state: Path, *, ignore_live: bool) -> None:
    left = [f for f in plan.files if fingerprint(f.path).sha256 == f.before.sha256]
    api.apply(
        replace(plan, files=tuple(left)),
        command=ACTION,
        ignore_live=ignore_live,
        keep_undo=False,
        state=state,
    )
