"""The two sequences that change a session file: apply a plan, and undo a change.

Each runs under a lock that lies in the state folder, so nothing is left beside a session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.audit import log
from sesstool.errors import StalePlanError, UndoError, WriteError
from sesstool.records import undo as journal
from sesstool.records.edits import EditSet
from sesstool.records.guard import WriterCheck, locked, refuse_live, uninterrupted
from sesstool.records.opening import open_source, packed
from sesstool.records.plan import FilePlan
from sesstool.records.settle import APPEND_LIMIT, broken_off, note, recover
from sesstool.records.source import (
    EditedSource,
    FileSource,
    Fingerprint,
    Source,
    fingerprint,
)
from sesstool.records.undo import Entry, Span, State, digest, open_raw, read_range
from sesstool.records.write import edit_in_place, real_path, replace, unchanged

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys


@dataclass(frozen=True, slots=True)
class Applied:
    """What a change did. Sizes are those on disk; `cut_bytes` counts decompressed bytes.

    `undo_id` is "" where nothing was kept, `in_place` says that the file has its old inode.
    `sha256` is that of what `rewrite_file` wrote.
    """

    path: Path
    undo_id: str
    bytes_before: int
    bytes_after: int
    cut_bytes: int
    in_place: bool
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class _Result:
    """The file on disk as it shall be. `at` is where an edit in place begins, else None."""

    size: int
    sha256: str
    mode: int
    mtime: int
    at: int | None
    data: bytes


def apply_file(
    plan: FilePlan,
    *,
    state: Path,
    command: str,
    ignore_live: bool,
    recent_seconds: float | None,
    keep_undo: bool = True,
    writer: WriterCheck | None = None,
    shown: log.Shown | None = None,
    keys: Keys | None = None,
) -> Applied:
    """Do to one file what its plan says, and keep what undo needs unless told otherwise.

    `state` is the folder of the undo journal and the audit log, `recent_seconds` how recent
    a write makes the session live, and `writer` a further check for that. `shown` is as in
    `log.append`, for a change of which no undo is kept. `keys` open an encrypted file, of which
    nothing plain is kept. A plan that has nothing to do does
    nothing. A signal to stop waits for the end of a write. Raises StalePlanError,
    LiveSessionError, InputError and WriteError; the file is then as before, or the message says
    that it is not.
    """
    path = real_path(plan.path)
    if not plan:
        return Applied(path, "", plan.before.size, plan.before.size, 0, in_place=False)
    with locked(state, path):
        if not ignore_live:
            refuse_live(path, recent_seconds, writer)
        recover(state, path)
        now = fingerprint(path)
        if now.sha256 != plan.before.sha256:
            raise StalePlanError(
                f"{path} has changed since the plan was made", hint="make the plan again"
            )
        log.ready(state)
        with open_source(path, keys) as source, uninterrupted():
            spans = _spans(plan, source)
            result = _planned(plan, source, now, spans, keep_undo=keep_undo)
            entry = None
            if keep_undo:
                entry = journal.begin(
                    state,
                    command=command,
                    path=path,
                    before=now,
                    size=result.size,
                    sha256=result.sha256,
                    mode=result.mode,
                    source=source,
                    spans=spans,
                    added=result.data,
                    findings=plan.findings,
                )
            with _forgotten(entry, now):
                _put(path, now, result, source, _edited(source, plan.edits))
            with _told(path):
                if entry:
                    note(entry)
                    journal.finish(entry)
                else:
                    what = (command, str(path), now.sha256, result.sha256, plan.findings)
                    log.append(state, log.Change(*what), shown=shown)
    cut = sum(span.end - span.start for span in spans)
    undo_id = entry.id if entry else ""
    return Applied(path, undo_id, now.size, result.size, cut, result.at is not None)


def rewrite_file(
    path: Path,
    before: Fingerprint,
    chunks: Iterable[bytes],
    *,
    state: Path,
    command: str,
    findings: tuple[str, ...],
    ignore_live: bool,
    recent_seconds: float | None,
    writer: WriterCheck | None = None,
    mode: int | None = None,
    mtime: int | None = None,
    forget: bool = True,
    reason: str = "",
    shown: log.Shown | None = None,
    verify: Callable[[Path, str], None] | None = None,
) -> Applied:
    """Put these bytes, as they are to be on disk, in the place of a file, and keep nothing.

    Mode and mtime stay where none are given. With `forget` the undo entries of the file go with
    what it held, since they hold it too. `reason` is as in `log.Change`. `verify` looks at the new
    file, whose SHA-256 it is told, before it takes the place, and raises to stop it. See
    `apply_file`.
    """
    path = real_path(path)
    with locked(state, path):
        if not ignore_live:
            refuse_live(path, recent_seconds, writer)
        recover(state, path)
        if fingerprint(path).sha256 != before.sha256:
            raise StalePlanError(f"{path} has changed since it was read", hint="run it again")
        log.ready(state)
        with uninterrupted():
            size, sha256 = 0, hashlib.sha256()

            def counted() -> Iterator[bytes]:
                nonlocal size
                for chunk in chunks:
                    size += len(chunk)
                    sha256.update(chunk)
                    yield chunk

            check = unchanged(path, before)
            replace(
                path,
                counted(),
                mode=before.mode if mode is None else mode,
                mtime=before.mtime if mtime is None else mtime,
                expect=check,
                verify=verify and (lambda made: verify(made, sha256.hexdigest())),
            )
            with _told(path):
                if forget:
                    journal.forget(state, path)
                what = (command, str(path), before.sha256, sha256.hexdigest(), findings)
                log.append(state, log.Change(*what, reason=reason), shown=shown)
    return Applied(path, "", before.size, size, 0, in_place=False, sha256=sha256.hexdigest())


def rewritten(state: Path, path: Path, change: log.Change) -> None:
    """Do what a `rewrite_file` that was killed behind its write has left undone. Raises WriteError.

    The caller knows that the log does not tell of it yet.
    """
    with locked(state, path), uninterrupted():
        recover(state, path)
        journal.forget(state, path)
        log.append(state, change)


def is_applied(plan: FilePlan, state: Path) -> bool:
    """Whether the newest change of the file did what the plan says, and it is so still."""
    path = real_path(plan.path)
    made = [entry for entry in journal.entries(state, path) if not entry.closed]
    spans = tuple(Span(edit.start, edit.end, len(edit.text)) for edit in plan.edits)
    return bool(
        made
        and made[-1].state is State.DONE
        and (made[-1].before.sha256, made[-1].spans) == (plan.before.sha256, spans)
        and fingerprint(path).sha256 == made[-1].sha256
    )


def settled(
    state: Path,
    path: Path,
    *,
    ignore_live: bool,
    recent_seconds: float | None,
    writer: WriterCheck | None = None,
) -> list[Entry]:
    """Bring to an end what was broken off of the changes of a file; returns their entries.

    Nothing is touched where nothing was broken off. See `apply_file` for the rest.
    """
    path = real_path(path)
    if not broken_off(state, path):
        return []
    with locked(state, path):
        if not ignore_live:
            refuse_live(path, recent_seconds, writer)
        with uninterrupted():
            return recover(state, path)


def undo(
    state: Path,
    target: str,
    *,
    ignore_live: bool = False,
    recent_seconds: float | None = None,
    writer: WriterCheck | None = None,
) -> Entry:
    """Put back the bytes, mode and mtime that a file had before a change.

    See `undo.find` for the target, and `apply_file` for the rest. A change that was broken off
    before it reached the file is forgotten, and void. Raises UndoError where there is nothing
    to undo or the file has changed since.
    """
    entry = journal.find(state, target)
    path = entry.path
    with locked(state, path):
        if not ignore_live:
            refuse_live(path, recent_seconds, writer)
        ended = {one.id: one for one in recover(state, path)}
        entry = ended.get(entry.id) or journal.find(state, entry.id)
        if entry.closed:
            return entry  # the bytes are back already, or were never gone
        now = fingerprint(path)
        if now.sha256 != entry.sha256:
            raise UndoError(
                f"{path} has changed since: its sha256 is {now.sha256}, and the change "
                f"{entry.id} left {entry.sha256}",
                hint=f"sesstool undo --show-cut {entry.id} shows what the change took out",
            )
        log.ready(state)
        # An encrypted file is put back whole, which needs no key.
        opened = open_raw(path) if entry.codec else open_source(path)
        with opened as source, uninterrupted():
            result = _put_back(entry, source, now)
            entry = journal.finish(entry, State.UNDOING)
            with _forgotten(entry, now):
                _put(path, now, result, source, journal.restored(entry, source))
            with _told(path):
                note(entry)
                entry = journal.finish(entry, State.UNDONE)
    return entry


@contextmanager
def _forgotten(entry: Entry | None, now: Fingerprint) -> Iterator[None]:
    """Where a write fails and the file is as before, leave no trace of it in the journal."""
    try:
        yield
    except BaseException:
        # Where this fails as well, the next run finds the entry and settles it.
        with suppress(OSError, WriteError):
            if entry and now.same_file(entry.path.stat()):
                if entry.state is State.BEGUN:
                    journal.drop(entry)
                else:
                    journal.finish(entry, State.DONE)
        raise


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say of an error behind the write that the file is changed."""
    try:
        yield
    except WriteError as error:
        raise WriteError(f"{path} was changed, but {error.message}", hint=error.hint) from error


def _spans(plan: FilePlan, source: FileSource) -> list[Span]:
    """The edits without their bytes. Raises StalePlanError where they are not for this file."""
    spans = [Span(edit.start, edit.end, len(edit.text)) for edit in plan.edits]
    if source.stored != plan.codec or (spans and spans[-1].end > source.size):
        raise StalePlanError(f"the plan does not fit {plan.path}", hint="make the plan again")
    return spans


def _planned(
    plan: FilePlan, source: FileSource, now: Fingerprint, spans: Sequence[Span], *, keep_undo: bool
) -> _Result:
    size, sha256 = now.size, now.sha256
    if spans:
        size, sha256 = digest(_edited(source, plan.edits))
    at = _tail(spans, source.stored, now.size)
    if at == now.size and spans and not keep_undo:
        at = None  # a torn append could not be taken back
    data = b"" if at is None else b"".join(edit.text for edit in plan.edits)
    mode = now.mode if plan.mode is None else plan.mode
    return _Result(size, sha256, mode, now.mtime, at, data)


def _put_back(entry: Entry, source: Source, now: Fingerprint) -> _Result:
    """What undo makes of the file; UndoError where it would not be the original."""
    before = entry.before
    if digest(journal.restored(entry, source)) != (before.size, before.sha256):
        raise UndoError(
            f"the undo entry {entry.id} is damaged, and would not bring back {entry.path}",
            hint=f"sesstool undo --show-cut {entry.id} shows what is left of it",
        )
    at = _tail(entry.inverse(), entry.codec, now.size)
    data = b"" if at is None else entry.appended()
    return _Result(before.size, before.sha256, before.mode, before.mtime, at, data)


def _tail(spans: Sequence[Span], codec: str, size: int) -> int | None:
    """Where a change begins that only cuts the end off, or only appends; else None.

    A change of nothing but the mode begins at the end, too.
    """
    if not spans:
        return size
    at = start = spans[0].start
    for span in spans:
        if span.start != at:
            return None
        at = span.end
    added = sum(span.length for span in spans)
    if codec or at != size or added > (APPEND_LIMIT if start == size else 0):
        return None
    return start


def _edited(source: FileSource, edits: EditSet) -> Iterator[bytes]:
    """The bytes on disk after the edits."""
    return packed(EditedSource(source, edits).chunks(), source)


def _put(
    path: Path, now: Fingerprint, result: _Result, source: FileSource, chunks: Iterable[bytes]
) -> None:
    """Write the result, and read it back."""
    check = unchanged(path, now)
    mode, mtime = result.mode, result.mtime
    # Others cannot be kept from opening a file that this process has open.
    if result.at is None:
        chunks = _and_close(chunks, source)
        replace(path, chunks, mode=mode, mtime=mtime, expect=check)
    else:
        source.close()
        edit_in_place(path, at=result.at, data=result.data, mode=mode, mtime=mtime, expect=check)
    with open_raw(path) as written:
        # Not further: what an agent appended since comes after it.
        if digest(read_range(written, 0, result.size)) != (result.size, result.sha256):
            raise WriteError(
                f"{path} does not hold what was written to it",
                hint="see what else writes to it, and whether the disk is sound",
            )


def _and_close(chunks: Iterable[bytes], source: FileSource) -> Iterator[bytes]:
    """The chunks; behind the last one the source that they come from is closed."""
    yield from chunks
    source.close()
