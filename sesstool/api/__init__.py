"""The library: one function a verb. What is not here may move.

Reading functions never write. `apply` and `undo` are the only doors to the disk for changes, and
`write_copy` the one for new files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.audit import log
from sesstool.checks.context import Options
from sesstool.checks.engine import Progress, examine
from sesstool.errors import InputError, LiveSessionError, StalePlanError, UsageError
from sesstool.findings import FileReport
from sesstool.formats.base import Format
from sesstool.formats.registry import FORMATS, by_name
from sesstool.formats.schemas import RecordValidator
from sesstool.records import databases, transact
from sesstool.records import undo as journal
from sesstool.records.edits import EditSet
from sesstool.records.folder import each_below
from sesstool.records.live import find_writer
from sesstool.records.lock import holder
from sesstool.records.opening import holder_of, is_sealed, open_source, packed, refuse_rows
from sesstool.records.plan import FilePlan, Plan
from sesstool.records.source import (
    SEALED,
    SUFFIXES,
    EditedSource,
    FileSource,
    fingerprint,
    plain_path,
)
from sesstool.records.traceless import is_database
from sesstool.records.transact import Applied
from sesstool.records.undo import Entry
from sesstool.records.write import create
from sesstool.repair import planner
from sesstool.repair import resume as resuming
from sesstool.repair.planner import Choice, Outcome
from sesstool.repair.resume import ResumeReport
from sesstool.version import __version__

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

__all__ = [
    "SUFFIXES",
    "Applied",
    "Choice",
    "Entry",
    "FileReport",
    "Options",
    "Plan",
    "Repair",
    "ResumeReport",
    "apply",
    "find",
    "in_use",
    "is_encrypted",
    "plan_of",
    "reopened",
    "repair",
    "repaired",
    "resume",
    "save_plan",
    "settle",
    "state_folder",
    "undo",
    "validate",
    "write_copy",
]

_HEAD = 1 << 12
_NO_FILES = "sessions end in .jsonl; a database that holds some is named itself"
_SHOWN = 10
# Inside an agent's home a file that was written this lately may be written again, in seconds.
_RECENT = 60.0

state_folder = journal.state_folder


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair that was planned: what it would do, and the files that it would change.

    `files` holds the session's own plan first, then those of files that refer to its bytes. It
    is empty where there is nothing to do, or where the input is no file. `piped` keeps what
    came from standard input, which cannot be read again.
    """

    path: str
    outcome: Outcome
    files: tuple[FilePlan, ...]
    piped: FileSource | None = None

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return _changes(self.outcome)


def find(names: Iterable[str], endings: tuple[str, ...] = SUFFIXES) -> Iterator[Path | str]:
    """The sessions that the user means: files, folders, session ids, or "-".

    A folder stands for every session below it, or every file with one of the `endings`, and each
    folder there that cannot be listed; a database for every session in it, told by its path with
    the id behind it; an id or a unique beginning of one for the session in an agent's home. Raises
    InputError where there is none.
    """
    for name in names:
        path = Path(name)
        # Not what Path has for this: of a folder that cannot be searched it raises OSError.
        if not name:
            # An unset variable of a script: it must not mean this folder.
            raise UsageError("a path is empty", hint="give a path; . is this folder")
        if name == "-":
            yield name
        elif os.path.isdir(name):  # noqa: PTH112 - Path.is_dir may raise
            inside = sorted(each_below(path, endings))
            if not inside:
                raise InputError(f"{name} holds no session file", hint=_NO_FILES)
            yield from inside
        elif is_database(path):
            yield from _in_database(path)
        elif os.path.lexists(name) or os.sep in name or name.endswith(SUFFIXES):
            yield path
        else:
            yield _by_id(name)


def _in_database(path: Path) -> Iterator[Path]:
    _, found = databases.sessions(path)
    if not found:
        raise InputError(f"{path} holds no session", hint="its agent has not begun any there yet")
    yield from (databases.inside(path, one.id) for one in found)


def is_encrypted(path: Path) -> bool:
    """Whether a file is encrypted, as its name or its first bytes tell. Raises InputError."""
    if holder_of(path):
        return False
    with journal.open_raw(path) as source:
        return is_sealed(source.read(0, _HEAD), path)


def _by_id(name: str) -> Path:
    endings = ("", SEALED)
    found = sorted({path for f in FORMATS for end in endings for path in f.find(name, end)})
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{len(found)} sessions have an id that begins with {name}",
            hint=f"give more of the id, or one of the paths: {_listed(found)}",
        )
    raise InputError(
        f"there is no file {name}, and no session of that id in an agent's home",
        hint="give a path, a folder, or the beginning of a session id",
    )


def _listed(paths: Sequence[Path]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(map(str, paths[:_SHOWN])) + (f", and {more} more" if more > 0 else "")


def validate(
    path: Path | str,
    options: Options = Options(),
    *,
    format_name: str = "",
    schema: RecordValidator | None = None,
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> FileReport:
    """What the rules say about a session. Raises InputError, NotASessionError and AuthError.

    Here as elsewhere `keys` open encrypted sessions.
    """
    with open_source(path, keys) as source:
        status = _status(source)
        _, report = examine(
            source,
            options,
            format_name=format_name,
            schema=schema,
            status=status,
            progress=progress,
        )
        return report


def repair(
    path: Path | str,
    options: Options = Options(),
    choice: Choice = Choice(),
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> Repair:
    """Plan the repair of a session; nothing is written. Raises InputError, NotASessionError.

    The plan is for the bytes that were read: `apply` refuses any others. Raises StalePlanError
    where the file changed while it was read, and UsageError where it could never be written.
    """
    refuse_rows(path)
    source = open_source(path, keys)
    try:
        outcome = planner.plan(
            source,
            options,
            choice,
            format_name=format_name,
            status=_status(source),
            progress=progress,
        )
        if source.path is None:
            return Repair(source.name, outcome, (), source)
        files = tuple(_file_plans(source, outcome)) if _changes(outcome) else ()
        return Repair(source.name, outcome, files)
    finally:
        if source.path is not None:
            source.close()


def _changes(outcome: Outcome) -> bool:
    return bool(outcome.edits) or outcome.mode is not None


def _status(source: FileSource) -> os.stat_result | None:
    return source.opened if source.path is not None else None


def _file_plans(source: FileSource, outcome: Outcome) -> Iterator[FilePlan]:
    path = source.path
    assert path is not None
    codes = tuple(dict.fromkeys(f.code for f in outcome.mended))
    titles = tuple(dict.fromkeys(f.fix.title for f in outcome.mended if f.fix))
    before = fingerprint(path)
    if not before.same_file(source.opened):
        raise _stale(path)
    yield FilePlan(path, before, source.stored, outcome.edits, outcome.mode, codes, titles)
    form = by_name(outcome.after.format)
    for dependent in form.dependents(plain_path(path)):
        print_ = fingerprint(dependent.path)
        edits = EditSet(dependent.edits(outcome.edits))
        if edits:
            title = f"refer to the repaired bytes of {path.name}"
            yield FilePlan(dependent.path, print_, "", edits, None, codes, (title,))


def _stale(path: Path) -> StalePlanError:
    return StalePlanError(f"{path} has changed since it was read", hint="run the command again")


def plan_of(repairs: Iterable[Repair]) -> Plan:
    """One plan of several repairs, to be saved or applied."""
    files = tuple(file for repair_ in repairs for file in repair_.files)
    return Plan(files, datetime.now(UTC).isoformat(timespec="seconds"), __version__)


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan to a new private file. Raises as `Plan.save`."""
    plan.save(path)
    for file in plan.files:
        log.note_copy(state_folder(), path, file.path)


def apply(
    plan: Plan,
    *,
    command: str = "apply",
    ignore_live: bool = False,
    keep_undo: bool = True,
    state: Path | None = None,
    shown: Callable[[str], str] | None = None,
    keys: Keys | None = None,
) -> list[Applied]:
    """Do what a plan says, file by file. Raises StalePlanError, LiveSessionError, WriteError.

    Files that are in use, or are not those that the plan was made for, are looked for before
    the first is changed. A plan that was broken off between two files is done to the others.
    `shown` says what the audit log is told of a path, where no undo is kept.
    """
    folder = state or state_folder()
    files = [file for file in plan.files if not transact.is_applied(file, folder)] or plan.files
    if len(plan.files) > 1:
        for file in files:
            if fingerprint(file.path).sha256 != file.before.sha256:
                message = f"{file.path} has changed since the plan was made"
                raise StalePlanError(message, hint="nothing was changed: make the plan again")
    if not ignore_live:
        for file in files:
            _refuse_live(file.path)
    return [
        transact.apply_file(
            file,
            state=folder,
            command=command,
            ignore_live=ignore_live,
            recent_seconds=recent(file.path),
            keep_undo=keep_undo,
            writer=writer,
            shown=shown,
            keys=keys,
        )
        for file in files
    ]


def note_copy(target: Path, *sources: Path | str) -> None:
    """Have the log tell of a new file that holds the text of sessions: encrypt names it."""
    for source in sources:
        if str(source) != "-":
            log.note_copy(state_folder(), target, Path(source))


def settle(
    path: Path | str, *, ignore_live: bool = False, state: Path | None = None
) -> list[Entry]:
    """Bring to an end the changes of a file that were broken off, and tell which they were.

    The file is then as before such a change, or is its result; the state of the entry says
    which. `apply` and `undo` do it by themselves. Raises LiveSessionError and WriteError.
    """
    path = Path(path)
    return transact.settled(
        state or state_folder(),
        path,
        ignore_live=ignore_live,
        recent_seconds=recent(path),
        writer=writer,
    )


def undo(target: str, *, ignore_live: bool = False, state: Path | None = None) -> Entry:
    """Put back what the last write to a path, or the write of an id, replaced.

    An entry in the state void tells that this write was broken off and never took place.
    Raises UndoError where there is nothing to undo or the file has changed since.
    """
    folder = state or state_folder()
    return transact.undo(
        folder, target, ignore_live=ignore_live, recent_seconds=None, writer=writer
    )


def resume(
    path: Path | str,
    *,
    format_name: str = "",
    progress: Progress | None = None,
    keys: Keys | None = None,
) -> ResumeReport:
    """What reaches the model when a session is resumed. Raises InputError, NotASessionError."""
    with open_source(path, keys) as source:
        return resuming.resume(source, format_name=format_name, progress=progress)


def write_copy(
    repair_: Repair, target: Path | str, *, force: bool = False, keys: Keys | None = None
) -> None:
    """Write the repaired session to a new file, private, whole or not at all.

    A compressed session stays compressed, and an encrypted one encrypted. Raises WriteError, also
    where the target exists and `force` is not given, and StalePlanError where the session changed
    since it was read.
    """
    target = Path(target)
    with reopened(repair_, keys) as source:
        if source.path is not None and target.exists() and source.path.samefile(target):
            raise UsageError(
                f"{target} is the session itself", hint="use --write to repair it in place"
            )
        chunks = EditedSource(source, repair_.outcome.edits).chunks()
        create(target, packed(chunks, source), force=force)
        if source.path is not None:
            sealed = source.seal is not None
            log.note_copy(state_folder(), target, source.path, sealed=sealed)


def repaired(repair_: Repair, keys: Keys | None = None) -> Iterator[bytes]:
    """The bytes of the repaired session, decompressed, chunk by chunk.

    Raises StalePlanError where the session changed since it was read.
    """
    with reopened(repair_, keys) as source:
        yield from EditedSource(source, repair_.outcome.edits).chunks()


@contextmanager
def reopened(repair_: Repair, keys: Keys | None = None) -> Iterator[FileSource]:
    """The bytes that a repair was planned for. Raises StalePlanError where they changed."""
    if repair_.piped:
        yield repair_.piped
        return
    with open_source(repair_.path, keys) as source:
        if repair_.files and not repair_.files[0].before.same_file(source.opened):
            raise _stale(repair_.files[0].path)
        yield source


def _home_format(path: Path) -> Format | None:
    return next((form for form in FORMATS if form.home(plain_path(path))), None)


def recent(path: Path) -> float | None:
    """How recent a write makes a session live, in seconds; None outside an agent's home."""
    return _RECENT if _home_format(path) else None


def writer(path: Path) -> str | None:
    """Who has a session open, by its agent's own ways to tell."""
    form = _home_format(path)
    return form.writer(plain_path(path)) if form else None


def in_use(path: Path) -> str:
    """Who is writing to a session, in a few words, "" for nobody. Raises InputError.

    Of one in a database it is who has the database open, while it was written to lately.
    """
    database = holder_of(path)
    if database is not None and database != path:
        return _in_use_of(path, database)
    found = find_writer(path, recent_seconds=recent(path))
    return found.description if found else holder(path) or writer(path) or ""


def _in_use_of(path: Path, database: Path) -> str:
    found = find_writer(database, recent_seconds=None)
    if found is None:
        return ""
    _, every = databases.sessions(database)
    own = databases.id_in(path)
    last = max((one.mtime for one in every if one.id == own), default=0)
    return found.description if time.time() - last / 1e9 < _RECENT else ""


def _refuse_live(path: Path) -> None:
    if description := in_use(path):
        raise LiveSessionError(
            f"{path} is in use: {description}",
            hint="close the agent first; --ignore-live writes all the same, and what the agent "
            "writes in the meantime may be lost",
        )
