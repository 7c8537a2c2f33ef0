"""The undo journal: what each change took away, kept so that it can be put back.

An entry is a folder `<state>/undo/<id>/` with `entry.json`, with `cut.bin` (the bytes that the
edits removed, one after the other: the lost+found), and of a compressed file with the whole of
it as `original.bin`. All of it is on disk before the file is touched, so that a change which a
crash broke off is recognised, and taken back where it is torn.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_state_path

from sesstool.errors import UndoError, WriteError
from sesstool.records.source import (
    CHUNK,
    FileSource,
    Fingerprint,
    Source,
    open_file,
    unreadable,
)
from sesstool.records.write import create, make_folder, private_folder, real_path, sync_folder

_NAME = "entry.json"
_CUT = "cut.bin"
_ADDED = "added.bin"
_ORIGINAL = "original.bin"
_LIST = "sesstool undo --list shows what can be undone"


class State(StrEnum):
    """How far a change got. A void one never took place, and is not kept."""

    BEGUN = "begun"
    DONE = "done"
    UNDOING = "undoing"
    UNDONE = "undone"
    VOID = "void"


class Span(NamedTuple):
    """The bytes [start, end) gave way to `length` others."""

    start: int
    end: int
    length: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one file, kept in `folder`.

    `before` is the file as it was; `size` (bytes), `sha256` and `mode` (permission bits) are
    those of the changed file on disk, whose mtime is the old one. `spans` count decompressed
    bytes of the original; `codec` is "", "gz" or "zst".
    """

    folder: Path
    state: State
    made: str
    command: str
    path: Path
    before: Fingerprint
    size: int
    sha256: str
    mode: int
    codec: str
    spans: tuple[Span, ...]
    findings: tuple[str, ...]

    @property
    def id(self) -> str:
        """8 hexadecimal digits that name the entry."""
        return self.folder.name

    @property
    def unfinished(self) -> bool:
        """Whether the change or its undo was broken off, or is under way."""
        return self.state in (State.BEGUN, State.UNDOING)

    @property
    def closed(self) -> bool:
        """Whether there is nothing to undo any more."""
        return self.state in (State.UNDONE, State.VOID)

    def inverse(self) -> list[Span]:
        """The spans that lead back, in offsets of the changed file."""
        spans = []
        moved = 0
        for start, end, length in self.spans:
            spans.append(Span(start + moved, start + moved + length, end - start))
            moved += length - (end - start)
        return spans

    def appended(self) -> bytes:
        """What the change, or its undo, appends where it is made in place. Raises InputError."""
        with open_raw(self.folder / (_ADDED if self.state is State.BEGUN else _CUT)) as source:
            return source.read(0, source.size)


def state_folder() -> Path:
    """Where undo, locks and the audit log are kept for this user."""
    return user_state_path("sesstool", appauthor=False)


def begin(
    state: Path,
    *,
    command: str,
    path: Path,
    before: Fingerprint,
    size: int,
    sha256: str,
    mode: int,
    source: FileSource,
    spans: Iterable[Span],
    added: bytes = b"",
    findings: tuple[str, ...] = (),
) -> Entry:
    """Keep what is needed to undo a change that is about to be made.

    See `Entry` for the meaning. `path` has no symbolic link in it, `source` holds its
    decompressed bytes, and `added` is what is going to be appended in place. Of an encrypted file
    only the whole ciphertext is kept. Raises
    WriteError, and then nothing is kept.
    """
    folder = unborn(state, path)
    made = datetime.now(UTC).isoformat()
    entry = Entry(
        folder,
        State.BEGUN,
        made,
        command,
        path,
        before,
        size,
        sha256,
        mode,
        source.stored,
        tuple(spans),
        findings,
    )
    try:
        make_folder(state / "undo")
        forget_unborn(state, path)
        private_folder(folder)
        plain = () if source.seal else entry.spans
        cut = (chunk for s in plain for chunk in read_range(source, s.start, s.end))
        create(folder / _CUT, cut)
        if entry.codec:
            with open_raw(path) as whole:
                create(folder / _ORIGINAL, whole.chunks())
        create(folder / _ADDED, [added])
        _save(entry)
        entry = replace(entry, folder=folder.rename(_new_name(state, path)))
        # The name of the folder must be on disk before the file is touched, too.
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(entry.folder, ignore_errors=True)
        if isinstance(error, OSError | WriteError):
            raise _cannot_keep(state, path) from error
        raise
    return entry


def unborn(state: Path, path: Path) -> Path:
    """Where an entry of a path is made: one fixed name, so that a leftover is found."""
    return state / "undo" / f".{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}"


def forget_unborn(state: Path, path: Path) -> None:
    """Remove what a crash left of an entry in the making. The caller holds the path's lock."""
    folder = unborn(state, path)
    if folder.exists():
        shutil.rmtree(folder)


def drop(entry: Entry) -> Entry:
    """Forget a change, such as one that never took place. Raises WriteError."""
    state = entry.folder.parent.parent
    try:
        forget_unborn(state, entry.path)
        # At once out of the list, however far the removal gets: a part would not be known again.
        entry.folder.rename(unborn(state, entry.path))
        sync_folder(state / "undo")
        forget_unborn(state, entry.path)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise WriteError(f"cannot remove {entry.folder}: {reason}") from error
    return replace(entry, state=State.VOID)


def forget(state: Path, path: Path, sha256: str = "", until: datetime | None = None) -> None:
    """Forget all changes of a real path, and what a crash left of one. Raises WriteError.

    With them go those whose result, wherever it was then, has this hash: that file was moved. What
    was made after `until` is of another file of that name, and stays. The caller holds the path's
    lock.
    """
    for entry in entries(state) if sha256 else entries(state, path):
        mine = entry.path == path and (until is None or entry.made <= until.isoformat())
        if mine or (sha256 and sha256 in (entry.sha256, entry.before.sha256)):
            drop(entry)
    try:
        forget_unborn(state, path)
        if (state / "undo").exists():
            # What is forgotten for good must not come back with a power cut.
            sync_folder(state / "undo")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise WriteError(f"cannot forget the changes of {path}: {reason}") from error


def finish(entry: Entry, state: State = State.DONE) -> Entry:
    """The entry in a new state, on disk. Raises WriteError."""
    entry = replace(entry, state=state)
    _save(entry)
    return entry


def entries(state: Path, path: Path | None = None) -> list[Entry]:
    """The entries of all files or of one real path, oldest first; `damaged` tells of others."""
    found = [_load(folder) for folder in _folders(state, path)]
    mine = [entry for entry in found if entry and path in (None, entry.path)]
    return sorted(mine, key=lambda entry: (entry.made, entry.id))


def damaged(state: Path) -> list[str]:
    """The ids of the entries that cannot be read. `purge` forgets one."""
    return sorted(folder.name for folder in _folders(state) if _load(folder) is None)


def find(state: Path, target: str) -> Entry:
    """The change that `undo` would take back.

    `target` is a path, an id or a unique beginning of one, or "" for the newest change of all;
    of a path it is the newest that is not undone. Raises UndoError where there is none.
    """
    found = entries(state, real_path(Path(target)) if target else None)
    if not found:
        found = [entry for entry in entries(state) if entry.id.startswith(target)]
        if len(found) > 1:
            raise UndoError(f"{target} names more than one change", hint=_LIST)
    still = [entry for entry in found if not entry.closed]
    if not still:
        what = "all is undone already" if found else "no change is known"
        if broken := damaged(state):
            what += f"; {', '.join(broken)} cannot be read"
        raise UndoError(f"nothing to undo{f' for {target}' if target else ''}: {what}", hint=_LIST)
    return still[-1]


def restored(entry: Entry, now: Source) -> Iterator[bytes]:
    """The bytes on disk before the change, made from what the file holds now."""
    if entry.codec:
        with open_raw(entry.folder / _ORIGINAL) as original:
            yield from original.chunks()
        return
    at = taken = 0
    with open_raw(entry.folder / _CUT) as cut:
        for start, end, length in entry.inverse():
            yield from read_range(now, at, start)
            yield from read_range(cut, taken, taken + length)
            taken += length
            at = end
    yield from read_range(now, at, now.size)


def cut_ranges(entry: Entry) -> Iterator[tuple[int, bytes]]:
    """The offset and the bytes of each range that the change took out of the original.

    Offsets count decompressed bytes. The bytes are session text. Raises InputError.
    """
    taken = 0
    with open_raw(entry.folder / _CUT) as cut:
        for start, end, _ in entry.spans:
            if end > start:
                yield start, cut.read(taken, taken + end - start)
            taken += end - start


def purge(state: Path, name: str | None = None) -> list[str]:
    """Forget the change with this id, or all that were brought to an end; return their ids.

    With all goes what a crash left of an entry. None of it can be undone any more. Raises
    UndoError, also where no change has the id.
    """
    folders = list((state / "undo").glob("*"))
    if name is None:
        unfinished = {entry.folder for entry in entries(state) if entry.unfinished}
        folders = [folder for folder in folders if folder not in unfinished]
    else:
        # By its name, for a damaged entry must go, too.
        folders = [folder for folder in folders if folder.name == name]
        if not folders:
            raise UndoError(f"no change has the id {name}", hint=_LIST)
    for folder in folders:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UndoError(f"cannot remove {folder}: {reason}") from error
    return [folder.name for folder in folders if not folder.name.startswith(".")]


def open_raw(path: Path) -> FileSource:
    """The bytes of a file as they are on disk, compressed or not. Raises InputError."""
    try:
        return FileSource(str(path), path, open_file(path), "")
    except OSError as error:
        raise unreadable("open", path, error) from error


def read_range(source: Source, start: int, end: int) -> Iterator[bytes]:
    """The bytes [start, end), a chunk at a time."""
    for at in range(start, end, CHUNK):
        yield source.read(at, min(at + CHUNK, end))


def digest(chunks: Iterable[bytes]) -> tuple[int, str]:
    """The size and the SHA-256 of bytes."""
    sha256 = hashlib.sha256()
    size = 0
    for chunk in chunks:
        size += len(chunk)
        sha256.update(chunk)
    return size, sha256.hexdigest()


def _key(path: Path) -> str:
    """How the ids of a path begin, so that its entries are found without reading the others."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:4]


def _folders(state: Path, path: Path | None = None) -> list[Path]:
    """The folders of entries, of all files or of those whose ids may be a path's."""
    pattern = f"{_key(path)}*" if path else "*"
    return [f for f in (state / "undo").glob(pattern) if not f.name.startswith(".")]


def _new_name(state: Path, path: Path) -> Path:
    while (folder := state / "undo" / (_key(path) + secrets.token_hex(2))).exists():
        pass
    return folder


def _cannot_keep(state: Path, path: Path) -> WriteError:
    return WriteError(
        f"cannot keep in {state} what undo needs; {path} is as before",
        hint="free some space and allow writing there, or do without undo with --no-undo",
    )


def _save(entry: Entry) -> None:
    value = {name: value for name, value in asdict(entry).items() if name != "folder"}
    value["path"] = str(entry.path)
    create(entry.folder / _NAME, [json.dumps(value).encode()], force=True)


def _load(folder: Path) -> Entry | None:
    """The entry in a folder; None where it cannot be read."""
    try:
        value = json.loads((folder / _NAME).read_bytes())
        return Entry(
            **value
            | {
                "folder": folder,
                "state": State(value["state"]),
                "path": Path(value["path"]),
                "before": Fingerprint(**value["before"]),
                "spans": tuple(Span(*span) for span in value["spans"]),
                "findings": tuple(value["findings"]),
            }
        )
    except (OSError, ValueError, TypeError, LookupError):
        return None
