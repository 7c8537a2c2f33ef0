"""Put files in the place of others under other names, a group at once: encrypt and decrypt.

All new files are whole and on disk before the first old one goes. What is under way stands in a
journal in the state folder, by which the next run takes back what a crash broke off before that
point, and ends what it broke off behind it. The journal holds names and hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from sesstool.audit import log
from sesstool.errors import InputError, StalePlanError, WriteError
from sesstool.records import undo
from sesstool.records.draft import Draft
from sesstool.records.guard import WriterCheck, allow_open, locked, refuse_live, uninterrupted
from sesstool.records.hashing import Hasher
from sesstool.records.settle import recover
from sesstool.records.source import (
    SEALED,
    FileSource,
    Fingerprint,
    fingerprint,
    fingerprint_of,
    unreadable,
)
from sesstool.records.undo import open_raw
from sesstool.records.write import (
    cannot_write,
    leftovers,
    make_folder,
    place_of,
    real_path,
    remove,
    sweep,
    sync_folder,
    unchanged,
)

_FOLDER = "conversions"

Make = Callable[[FileSource, Draft], None]
"""Writes what comes of an open file into a draft, and verifies it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One file of a group. `before` is what it was; `sha256` that of what came of it."""

    source: Path
    target: Path
    before: Fingerprint
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """A group whose conversion was broken off. `done` says that it was brought to its end."""

    command: str
    items: tuple[Item, ...]
    done: bool


def convert(
    pairs: Sequence[tuple[Path, Path]],
    make: Make,
    *,
    state: Path,
    command: str,
    keep: bool,
    force: bool,
    ignore_live: bool,
    recent: Callable[[Path], float | None],
    writer: WriterCheck,
) -> list[Item]:
    """Make of each first path the second one; the first ones then go, unless `keep`.

    The new files have the time of the old ones, and their mode less what others may do. With the
    old files go their undo entries. `force` replaces a second path that exists. A signal to stop
    waits until the group is through, once its first new file has its name. Raises InputError,
    LiveSessionError, StalePlanError and WriteError; the old files are then as before.
    """
    named = [(real_path(source), place_of(target)) for source, target in pairs]
    # Of each pair two locks and what is made are open until the end.
    allow_open(3 * len(named))
    with ExitStack() as stack:
        for path in sorted({path for pair in named for path in pair}):
            stack.enter_context(locked(state, path))
        for source, target in named:
            journal_of = _found(state, source)
            if keep and journal_of is not None and journal_of.made:
                raise WriteError(
                    f"{journal_of.command} of {source} was broken off, and nothing may go now",
                    hint=f"sesstool {journal_of.command} --write brings it to its end",
                )
            _settle(state, source)
            sweep(target)
            if not ignore_live and not keep:
                refuse_live(source, recent(source), writer)
            recover(state, source)
            if os.path.lexists(target) and not force:
                raise _exists(target)
        if not keep:
            for source, _ in pairs:
                _refuse_names(source)  # behind the sweep: a leftover may be a second name
        log.ready(state)
        drafts = [stack.enter_context(Draft(target)) for _, target in named]
        begun = (Item(*pair, fingerprint_of(pair[0].stat(), "")) for pair in named)
        journal = _Journal(state, command, tuple(begun))
        try:
            if any(draft.has_name for draft in drafts):
                journal.save()  # so that the next run finds them, whichever file it is told
            sources = (source for source, _ in named)
            journal = replace(journal, items=tuple(map(_made, sources, drafts, repeat(make))))
            stack.enter_context(uninterrupted())
            journal.save()
            old = [_hash_of(target) for _, target in named] if keep else []
            _publish(drafts, journal.items, force=force)
            if keep:
                log.append(state, *map(_kept, repeat(command), journal.items, old))
            else:
                replace(journal, made=True).save()
        except BaseException:
            with suppress(InputError, WriteError):  # the next run does what this one cannot
                journal.take_back()
            raise
        if keep:
            journal.drop()
        else:
            replace(journal, made=True).finish()
    return list(journal.items)


def broken_off(state: Path, path: Path) -> str:
    """The command whose conversion of a file was broken off, or is at work; "" where none is."""
    journal = _found(state, real_path(path))
    return journal.command if journal else ""


def settle(state: Path, path: Path) -> Settled | None:
    """Bring to an end, or take back, a conversion of a file that was broken off.

    Nothing is done where none was, or where a run is at work on it. Raises WriteError.
    """
    path = real_path(path)
    journal = _found(state, path)
    paths = journal.paths() if journal else [path] if leftovers(path) else []
    if not paths:
        return None
    with ExitStack() as stack:
        for each in paths:
            stack.enter_context(locked(state, each))
        sweep(path)
        return _settle(state, path)


def _settle(state: Path, path: Path) -> Settled | None:
    """See `settle`; the caller holds the locks of the group."""
    journal = _found(state, path)
    if journal is None:
        return None
    for each in journal.paths():
        sweep(each)
    if journal.made:
        journal.finish(again=True)
    else:
        journal.take_back()
    return Settled(journal.command, journal.items, done=journal.made)


def _hash_of(path: Path) -> str:
    return fingerprint(path).sha256 if path.exists() else ""


def _kept(command: str, item: Item, before: str) -> log.Change:
    """The making of a file whose source stays."""
    return log.Change(command, str(item.target), before, item.sha256, of=str(item.source))


def _publish(drafts: Iterable[Draft], items: Iterable[Item], *, force: bool) -> None:
    for draft, item in zip(drafts, items, strict=True):
        draft.publish(mode=item.before.mode & 0o600, mtime=item.before.mtime, force=force)


def _made(source: Path, draft: Draft, make: Make) -> Item:
    with open_raw(source) as opened, Hasher() as hasher:
        make(_Hashed(opened, hasher), draft)
        if hasher.size != opened.size:
            raise StalePlanError(f"{source} changes while it is read", hint="run it again")
        before = fingerprint_of(opened.opened, hasher.sha256())
    unchanged(source, before)()
    return Item(source, draft.target, before, draft.sha256)


class _Hashed(FileSource):
    """A source whose chunks are hashed when they are read."""

    def __init__(self, source: FileSource, hasher: Hasher) -> None:
        super().__init__(source.name, source.path, source.handle, "", source.opened)
        self._hasher = hasher

    def chunks(self) -> Iterator[bytes]:
        """See `Source.chunks`."""
        return self._hasher.through(super().chunks())


@dataclass(frozen=True, slots=True)
class _Journal:
    """What is under way. `made` says that all new files are on disk, and the old ones may go."""

    state: Path
    command: str
    items: tuple[Item, ...]
    made: bool = False

    @property
    def path(self) -> Path:
        key = hashlib.sha256(os.fsencode(self.items[0].source)).hexdigest()[:32]
        return self.state / _FOLDER / f"{key}.json"

    def paths(self) -> list[Path]:
        """All names that the group has, in the order in which they are locked."""
        return sorted({path for item in self.items for path in (item.source, item.target)})

    def save(self) -> None:
        """Have it on disk. Raises WriteError."""
        rows = [
            {**asdict(item), "source": str(item.source), "target": str(item.target)}
            for item in self.items
        ]
        value = {"command": self.command, "made": self.made, "items": rows}
        try:
            make_folder(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        with Draft(self.path) as draft:
            draft.write([json.dumps(value).encode()], reread=False)
            draft.publish(mode=0o600, mtime=time.time_ns(), force=True)

    def take_back(self) -> None:
        """Remove the new files, where the old ones are there, and the journal.

        No old file was taken away yet. Raises InputError and WriteError.
        """
        for item in self.items:
            if item.source.exists():
                _take_back(item)
        self.drop()

    def finish(self, *, again: bool = False) -> None:
        """Take the old files away, with what undo keeps of them, and log it; drop the journal.

        `again` says that a part of it may be done already. Raises StalePlanError where a file was
        changed or opened meanwhile: it stays, and what came of it goes, unless the old one may have
        been taken away by then, and another file have come to its place.
        """
        stale = [item for item in self.items if not self._finished(item, again=again)]
        self.drop()
        if both := [item for item in stale if item.target.exists()]:
            raise StalePlanError(
                f"{both[0].source} is not what was {self.command}ed into {both[0].target}: "
                f"both are there, and so it is of {len(both)} of {len(self.items)} files",
                hint="see what each of them holds, move one away, and run it again",
            )
        if stale:
            raise StalePlanError(
                f"{stale[0].source} was opened by somebody else a moment ago: "
                f"{len(stale)} of {len(self.items)} files are as before",
                hint="close what writes to it, and run it again",
            )

    def _finished(self, item: Item, *, again: bool) -> bool:
        if not _holds(item.target, item.sha256):
            return False
        if item.source.exists() and not _removed(item):
            # Whether an earlier run took it away, and this is another file, nobody knows.
            if not again or _holds(item.source, item.before.sha256):
                _take_back(item)
            return False
        if item.target.suffix == SEALED:
            undo.forget(self.state, item.source, item.before.sha256)
        change = log.Change(self.command, str(item.source), item.before.sha256, item.sha256)
        if not again or not any(_is(line, change) for line in log.read(self.state)):
            log.append(self.state, change)
        return True

    def drop(self) -> None:
        """Forget it. Raises WriteError."""
        try:
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error


def _removed(item: Item) -> bool:
    """Take an old file away, unless it was changed, or is opened right now."""
    now = fingerprint(item.source)
    if now.sha256 != item.before.sha256:
        return False
    try:
        remove(item.source, unchanged(item.source, now))
    except StalePlanError:
        return False
    return True


def _take_back(item: Item) -> None:
    """Remove what came of a file, unless it is something else by now. Raises WriteError."""
    if item.sha256 and _holds(item.target, item.sha256):
        try:
            item.target.unlink()
            sync_folder(item.target.parent)
        except OSError as error:
            raise cannot_write(item.target, error) from error


def _holds(path: Path, sha256: str) -> bool:
    return path.exists() and fingerprint(path).sha256 == sha256


def _is(line: dict[str, Any], change: log.Change) -> bool:
    told = (line.get("action"), line.get("path"), line.get("before"), line.get("after"))
    return told == (change.action, change.path, change.before, change.after)


def _found(state: Path, path: Path) -> _Journal | None:
    """The journal in which a file stands, by either of its names; one that is damaged is none."""
    for file in (state / _FOLDER).glob("*.json"):
        try:
            value = json.loads(file.read_bytes())
            items = tuple(
                Item(
                    Path(row["source"]),
                    Path(row["target"]),
                    Fingerprint(**row["before"]),
                    row["sha256"],
                )
                for row in value["items"]
            )
            journal = _Journal(state, value["command"], items, bool(value["made"]))
        except (OSError, ValueError, TypeError, LookupError):
            continue
        if journal.made and not all(map(_are_twins, items)):
            continue  # none of ours: no file goes by it
        if any(path in (item.source, item.target) for item in items):
            return journal
    return None


def _are_twins(item: Item) -> bool:
    """Whether the two names are those of one file, plain and encrypted."""
    names = (item.source.name, item.target.name)
    return item.source.parent == item.target.parent and (
        names[0] + SEALED == names[1] or names[1] + SEALED == names[0]
    )


def _refuse_names(source: Path) -> None:
    """Refuse to take away a file that would still be there, or be missed, under another name."""
    if source.is_symlink():
        raise WriteError(
            f"{source} is a symbolic link, and would lead nowhere",
            hint="name the file itself, or keep it: --keep",
        )
    try:
        names = source.stat().st_nlink
    except OSError as error:
        raise unreadable("open", source, error) from error
    if names > 1:
        raise WriteError(
            f"{source} has {names} names (hard links), and only one would go",
            hint="remove the other names, or keep them all: --keep",
        )


def _exists(target: Path) -> WriteError:
    return WriteError(
        f"cannot write {target}: it exists already",
        hint="see what it holds, and move it away; --force replaces it, and it is gone",
    )
