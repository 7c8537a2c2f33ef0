"""What an agent keeps of a session in files that it shares among sessions, and taking it out.

A file is never changed where it stands: a new one without the lines or rows is made, checked, and
takes its place, so that a full disk or a crash leaves the old one or the new one. A database
changed in place would, where a crash comes between the deletion and the clean-up of its free
pages and its log, look clean and still hold the text.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sesstool.audit import log
from sesstool.errors import InputError, LiveSessionError, WriteError
from sesstool.formats.base import Format
from sesstool.formats.terms import Trace
from sesstool.formats.values import mapping, text
from sesstool.records.guard import locked, uninterrupted
from sesstool.records.heal import decode_any
from sesstool.records.lines import each_line
from sesstool.records.live import find_user
from sesstool.records.processes import processes
from sesstool.records.source import fingerprint
from sesstool.records.transact import rewrite_file
from sesstool.records.undo import open_raw
from sesstool.records.write import (
    cannot_write,
    make_folder,
    private_folder,
    real_path,
    remove,
    sweep,
    unchanged,
)
from sesstool.records.write import (
    leftovers as left_behind,
)
from sesstool.retention import rows

_BESIDE = ("-wal", "-shm")
_CLOSE = "close the agent, and run it again"
_KILLED = "beside it lies a copy that a run which was killed has left"
_BEYOND = (
    "backups, and copies in a cloud or on other machines",
    "snapshots of the disk, and blocks that it has freed and not yet written over",
    "swap, and dumps of memory",
    "what the provider of the model was sent, which keeps it as its terms say",
    "what people copied out: exports, pastes, commits, files that the agent itself wrote",
)


@dataclass(frozen=True, slots=True)
class Residue:
    """What is in one shared file of a session. It holds no text of it.

    `count` are lines or rows that go with `clean`. `unclear` are lines of which nobody can
    tell whose they are, or rows of other sessions that refer to this one: they stay. `note` says
    what was not looked at, `fault` why the file could not be read, each "" elsewhere.
    """

    trace: Trace
    count: int = 0
    unclear: int = 0
    note: str = ""
    fault: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return self.trace.path

    @property
    def words(self) -> str:
        """What is there, as a sentence without its end."""
        if self.fault:
            return self.fault
        one = self.trace.kind if self.count != 1 else _ONE[self.trace.kind]
        said = [f"{self.path} holds {self.count} {one} of the session ({self.trace.what})"]
        if self.unclear:
            said.append(f"{self.unclear} {_STAY[self.trace.kind]}")
        return "; ".join(said + [self.note] * bool(self.note))

    @property
    def otherwise(self) -> str:
        """The other way to be rid of it that is known to be safe, and what is lost by it, or ""."""
        if not self.trace.lost:
            return ""
        name = self.path.name
        files = ", ".join(str(self.path.with_name(name + end)) for end in ("", *_BESIDE))
        how = f"with {self.trace.program} closed, delete {files}: it makes them anew"
        return f"{how}; lost for good would be: {self.trace.lost}"


_ONE = {"lines": "line", "rows": "row"}
_STAY = {
    "lines": "that cannot be read stay, and may be of the session",
    "rows": "rows of others refer to it by its id, and stay",
}


def found(form: Format, path: Path, *, every: bool = False) -> list[Residue]:
    """What the agent's shared files hold of a session now, of those that hold some or are in doubt.

    `every` names the others that are there as well: a database of which the agent itself deleted
    the rows may hold their text still, and `clean` makes it compact. Nothing on disk changes by it.
    `path` is the plain name of the session, which may be gone.
    """
    told = [_look(trace) for trace in form.traces(path) if trace.path.exists()]
    told = [replace(one, note=_KILLED) if left_behind(real_path(one.path)) else one for one in told]
    return [one for one in told if every or one.count or one.unclear or one.note or one.fault]


def together(residues: Iterable[Residue]) -> list[Residue]:
    """One residue a file of those of several sessions, so that `clean` writes each file once."""
    by_path: dict[Path, Residue] = {}
    for one in residues:
        if (first := by_path.get(one.path)) is None:
            by_path[one.path] = one
            continue
        trace = first.trace._replace(names=first.trace.names + one.trace.names)
        by_path[one.path] = replace(
            one,
            trace=trace,
            count=first.count + one.count,
            # Of rows of one session that refer to another nobody knows here whether they stay.
            unclear=max(first.unclear, one.unclear),
        )
    return list(by_path.values())


def clean(
    residue: Residue,
    state: Path,
    *,
    command: str = "prune",
    ignore_live: bool = False,
    recent_seconds: float | None = None,
    whole: bool = False,
) -> int:
    """Take out of a shared file what is in it of a session; returns how many pieces went.

    All else stays byte by byte, or row by row. `whole` deletes a database that the agent makes
    anew. `state` is the folder of locks, drafts and the audit log, `command` what that shall call
    it. `ignore_live` allows for a running agent, but never for one that has the file open.
    Raises LiveSessionError, InputError and WriteError; the file then holds what it held.
    """
    trace, path = residue.trace, real_path(residue.path)
    if residue.trace.program and not ignore_live:
        for process in processes(trace.program):
            raise LiveSessionError(
                f"{path} is in use: {trace.program} runs (process {process.pid})",
                hint=_CLOSE,
            )
    if whole:
        return _delete(residue, path, state, command)
    if trace.kind == "rows":
        return _clean_database(trace, path, state, command)
    before = fingerprint(path)
    if not _look(trace).count:
        with locked(state, path):
            sweep(path)  # a run that was killed may have left the old file under another name
        return 0
    gone: list[int] = []
    rewrite_file(
        path,
        before,
        _lines_left(trace, path, gone),
        state=state,
        command=command,
        findings=(),
        ignore_live=ignore_live,
        recent_seconds=recent_seconds,
    )
    return sum(gone)


def places(form: Format) -> list[str]:
    """Where texts of a session may be that neither its files nor `clean` reach, one a line."""
    return [*(f"{form.title}: {place}" for place in form.beyond), *_BEYOND]


def _look(trace: Trace) -> Residue:
    """What a file holds now."""
    try:
        if trace.kind == "rows":
            return Residue(trace, *rows.count(trace.path, trace.names))
        with open_raw(trace.path) as source:
            names = frozenset(trace.names)
            told = Counter(_is_of(trace.keys, names, line.text) for line in each_line(source))
        return Residue(trace, told[True], told[None])
    except (OSError, InputError) as error:
        why = error.message if isinstance(error, InputError) else f"cannot read {trace.path}"
        return Residue(trace, fault=why)


def _is_of(keys: tuple[str, ...], names: frozenset[str], raw: bytes) -> bool | None:
    """Whether a line is of the session; None where it cannot be read."""
    if not raw.strip():
        return False
    try:
        value = decode_any(raw)
    except ValueError:
        return None
    return any(text(mapping(value).get(key)) in names for key in keys)


def _lines_left(trace: Trace, path: Path, gone: list[int]) -> Iterator[bytes]:
    """The lines of others, byte by byte. The file is closed behind the last one."""
    names = frozenset(trace.names)
    with open_raw(path) as source:
        for line in each_line(source):
            if _is_of(trace.keys, names, line.text):
                gone.append(1)
            else:
                yield line.text + b"\n" * line.ended


def _clean_database(trace: Trace, path: Path, state: Path, command: str) -> int:
    """Put a new database without the session's rows in the place of the old one."""
    with _drafts(state, path) as folder:
        _refuse_used(path)
        rows.settle(path)
        before = fingerprint(path)
        made = folder / "made"
        gone = rows.taken_out(path, trace.names, made)
        if any(end.stat().st_size for end in _beside(path) if end.name.endswith("-wal")):
            raise LiveSessionError(f"{path} is in use: its log is written to", hint=_CLOSE)
        with open_raw(made) as source:
            rewrite_file(
                path,
                before,
                source.chunks(),
                state=state,
                command=command,
                findings=(),
                ignore_live=False,
                recent_seconds=None,
                writer=_user,
                verify=lambda *_: _refuse_used(path),
            )
    return gone


def _delete(residue: Residue, path: Path, state: Path, command: str) -> int:
    """Delete a database, then what lies beside it: alone, a log would be taken for a newer one's.

    A log whose database is gone is emptied by SQLite where the agent makes a new one.
    """
    if not residue.trace.lost:
        raise WriteError(
            f"cannot delete {path}: the agent would not make it anew",
            hint="take only the session's rows out of it",
        )
    with locked(state, path), uninterrupted():
        _refuse_used(path)
        log.ready(state)
        for one in (path, *_beside(path)):
            before = fingerprint(one)
            remove(one, unchanged(one, before))
            log.append(state, log.Change(command, str(one), before.sha256, ""))
    return residue.count


def _beside(path: Path) -> list[Path]:
    """The files that SQLite keeps beside a database, as far as they are there."""
    return [one for end in _BESIDE if (one := path.with_name(path.name + end)).exists()]


def _user(path: Path) -> str | None:
    """Who has a database or a file beside it open."""
    return next((user for one in (path, *_beside(path)) if (user := find_user(one))), None)


def _refuse_used(path: Path) -> None:
    if user := _user(path):
        raise LiveSessionError(f"{path} is in use: {user}", hint=_CLOSE)


@contextmanager
def _drafts(state: Path, path: Path) -> Iterator[Path]:
    """A private folder for drafts of a file: one fixed name, so that a killed run's are found."""
    folder = state / "drafts" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    with locked(state, folder):
        try:
            if folder.exists():
                shutil.rmtree(folder)
            make_folder(folder.parent)
            private_folder(folder)
        except OSError as error:
            raise cannot_write(folder, error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
