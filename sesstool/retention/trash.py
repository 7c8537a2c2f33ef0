"""Taking groups away, giving them back, and deleting them for good.

All files of a group are in its entry before the first one leaves its place, and each keeps a hidden
second name there until the lines in the audit log are on disk, which decide: an entry that has none
was never made, and `settle` puts its files back; one that has them is brought to its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from sesstool.audit import log
from sesstool.encryption.header import Recipient
from sesstool.errors import InputError, SesstoolError, StalePlanError, UnfinishedError, WriteError
from sesstool.records import undo
from sesstool.records.guard import locked, refuse_live, uninterrupted
from sesstool.records.source import fingerprint
from sesstool.records.write import (
    cannot_write,
    hide,
    make_folder,
    real_path,
    retired,
    sweep,
    sync_folder,
    unchanged,
)
from sesstool.retention import packing, places, shared
from sesstool.retention.accounts import PURGED, bury, tell, told
from sesstool.retention.entries import (
    Entry,
    Item,
    Stage,
    begin,
    damaged,
    drop,
    entries,
    find,
    new_folder,
    save,
    staged,
    sweep_unborn,
)
from sesstool.retention.groups import Group, Piece

__all__ = [
    "PURGED",
    "Entry",
    "Item",
    "Order",
    "Settled",
    "Stage",
    "damaged",
    "entries",
    "find",
    "one_run",
    "purge",
    "restore",
    "settle",
    "take",
]

_OCCUPIED = "another file has come to its place"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done with a group, and by which rule.

    `action` is "archive", "trash" or "delete"; `until` the time from which on the entry may be
    deleted for good, None for never. `folder` is where an archive's files go, None for beside the
    manifest; `recipients` whom they are encrypted for, nobody where they are only compressed.
    """

    action: str
    rule: str
    reason: str
    until: datetime | None = None
    folder: Path | None = None
    recipients: tuple[Recipient, ...] = ()
    tombstone: bool = True


class Settled(NamedTuple):
    """An entry that was broken off, and how it stands now, in a few words.

    `error` is why it could not be brought to its end, None where it was.
    """

    entry: Entry
    end: str
    error: SesstoolError | None = None


Held = Callable[[Entry], object]
"""What keeps an entry, or nothing."""


@contextmanager
def one_run(state: Path) -> Iterator[None]:
    """Keep other runs from the entries. Raises WriteError."""
    with locked(state, state / "trash"):
        yield


def take(state: Path, group: Group, order: Order, now: datetime) -> Entry:
    """Take a group away, whole or not at all. The caller has `one_run`.

    Raises LiveSessionError, StalePlanError, InputError and WriteError; then all files are where
    they were, but where it is UnfinishedError. A signal to stop waits until the group is through.
    """
    with ExitStack() as stack:
        stack.enter_context(locked(state, real_path(group.file)))
        items = [_item(piece, str(at)) for at, piece in enumerate(group.pieces)]
        log.ready(state)
        entry = _begun(state, group, order, items, now)
        stack.enter_context(uninterrupted())
        try:
            _gather(entry, order)
            places.edit_indexes(entry, entry.cuts, shared.take_out)
            _take_away(entry)
        except BaseException:
            with suppress(InputError, WriteError):  # the next run does what this one cannot
                _put_back(entry)
            raise
        try:
            entry = _held(entry)
            return purge(entry) if order.action == "delete" else entry
        except (InputError, WriteError) as error:
            done = "deleted" if order.action == "delete" else "taken away"
            raise UnfinishedError(
                f"{group.path} was {done}, and what is behind it is left to the next run: "
                f"{error.message}",
                hint=error.hint,
            ) from error


def restore(entry: Entry, unpack: packing.Unpack = packing.unzip) -> None:
    """Put all files of an entry back where they were. The caller has `one_run`.

    Raises InputError and WriteError, also where something else has come to the place of one; then
    the entry is as before.
    """
    _check(entry, unpack)
    log.ready(entry.state)
    with uninterrupted():
        try:
            _restored(staged(entry, Stage.RESTORING), unpack)
        except SesstoolError:
            if "restore" not in told(entry):
                staged(entry, Stage.HELD)  # what is back may stay: it is what was taken away
            raise


def _check(entry: Entry, unpack: packing.Unpack) -> None:
    """Raise unless all files are here as they were, and can go where they were."""
    known = {
        (line.get("path"), line.get("before")) for line in log.entries_of(entry.state, entry.id)
    }
    for item in entry.items:
        if (str(item.path), item.before.sha256) not in known:
            raise InputError(
                f"the audit log does not tell that {item.path} was taken away",
                hint=f"see what is in {entry.files}, and move it where it belongs by hand",
            )
        if os.path.lexists(item.path) and not places.is_back(item, entry.where(item)):
            raise _occupied(item)
        if real_path(item.path.parent) != item.path.parent:
            raise WriteError(
                f"cannot restore {item.path}: a folder above it has become a link",
                hint="put a folder in its place",
            )
    for item in entry.items:
        here = entry.where(item)
        chunks = unpack(here) if entry.packed else packing.whole(here)
        if undo.digest(chunks)[1] != item.before.sha256:
            raise InputError(
                f"{here} is not what was put there: nothing was restored",
                hint="take that file from a backup; the entry stays as it is",
            )


def _occupied(item: Item) -> WriteError:
    return WriteError(
        f"cannot restore {item.path}: {_OCCUPIED}", hint="see what it holds, and move it away"
    )


def purge(entry: Entry) -> Entry:
    """Delete an entry for good, with what undo keeps of its files. The caller has `one_run`.

    Raises WriteError; `settle` then goes on with it.
    """
    again = entry.stage is Stage.PURGING
    for item in entry.items:
        if not (again or os.path.lexists(entry.where(item))):
            raise InputError(
                f"{entry.where(item)} is missing, so nobody knows whether it is gone",
                hint="mount its disk, or put it back; else move the entry away by hand: "
                f"{entry.folder}",
            )
    entry = staged(entry, Stage.PURGING)
    # Told first: nothing may go that no account tells of.
    bury(entry, again=again)
    _forget(entry)
    for item in entry.items:
        _unlink(entry.where(item))
    drop(entry)
    return entry


def settle(state: Path, held: Held, *, delete: bool = True) -> list[Settled]:
    """Bring to an end what was broken off, or put it back. The caller has `one_run`.

    What was to be deleted for good is, unless it is `held`, or `delete` is False. Raises WriteError
    where nothing can go on; what keeps one entry from its end keeps no other.
    """
    done = []
    sweep_unborn(state)
    for entry in entries(state):
        try:
            done += [Settled(entry, end) for end in _settled(entry, held, delete=delete)]
        except SesstoolError as error:
            done.append(Settled(entry, f"it is not at its end: {error.message}", error))
    return done


def _settled(entry: Entry, held: Held, *, delete: bool) -> Iterator[str]:
    if entry.stage is Stage.HELD and entry.action != "delete":
        return
    if entry.stage is Stage.MOVING:
        if entry.action not in told(entry):
            yield _put_back(entry)
            return
        entry = _held(entry)
        if entry.action != "delete":
            yield "taken away"
    elif entry.stage is Stage.RESTORING:
        yield _go_on_restoring(entry)
        return
    if not delete or (entry.stage is Stage.HELD and entry.action != "delete"):
        return
    if held(entry):
        yield "it is under a hold by now, and in the trash"
    else:
        purge(entry)
        yield "deleted"


def _go_on_restoring(entry: Entry) -> str:
    """What was put back stays, whatever comes of the rest."""
    if "restore" in told(entry):
        drop(entry)
        return "put back"
    taken = [
        item
        for item in entry.items
        if os.path.lexists(item.path) and not places.is_back(item, entry.where(item))
    ]
    if taken or entry.packed.endswith(".age"):
        staged(entry, Stage.HELD)
        return f"in the trash: {_OCCUPIED if taken else 'its key is needed'}"
    _restored(entry, packing.unzip)
    return "put back"


def _item(piece: Piece, name: str) -> Item:
    """A file, if it is what it was when the run was planned. Raises StalePlanError."""
    before = fingerprint(piece.path)
    now = piece.path.lstat()
    if (before.device, before.inode, before.size, before.mtime) != piece[1:5]:
        raise StalePlanError(
            f"{piece.path} has changed since it was looked at", hint="run it again"
        )
    return Item(piece.path, name, before, (now.st_uid, now.st_gid))


def _begun(state: Path, group: Group, order: Order, items: Sequence[Item], now: datetime) -> Entry:
    """The entry, on disk, and still without a file. Raises WriteError."""
    folder = new_folder(state)
    files = (order.folder / folder.name) if order.folder else folder / "files"
    packed = "" if order.action != "archive" else "gz.age" if order.recipients else "gz"
    entry = Entry(
        folder,
        Stage.MOVING,
        order.action,
        now,
        order.until,
        order.rule,
        order.reason,
        order.tombstone,
        group.agent,
        group.session,
        group.base,
        group.cwd,
        group.project,
        group.created,
        group.recorded,
        group.records,
        group.tags | group.also.tags,
        group.models | group.also.models,
        packed,
        files,
        tuple(items),
        tuple(shared.cuts(group.form, group.plain)) if group.form else (),
        tuple(places.folders_of(group)),
        group.also,
    )
    begin(entry)
    return entry


def _gather(entry: Entry, order: Order) -> None:
    """Have all files of a group here as well, and on disk. Raises WriteError and InputError."""
    for item in entry.items:
        target = entry.where(item)
        if entry.packed:
            packing.pack(item.path, target, item.before, order.recipients)
        else:
            packing.second(item.path, target, item.before, item.owner)
    try:
        sync_folder(entry.files)
    except OSError as error:
        raise cannot_write(entry.files, error) from error


def _take_away(entry: Entry) -> None:
    """Have files gone from their places; the log tells it.

    Raises LiveSessionError, StalePlanError, WriteError; a part of them may be hidden then.
    """
    for item in entry.items:
        sweep(item.path)
        hide(item.path, unchanged(item.path, item.before))
    _sync(entry)
    for item in entry.items:
        # Somebody may have opened it before it was hidden, and write to it now.
        refuse_live(retired(item.path), None, None)
        unchanged(retired(item.path), item.before)()
    tell(entry, entry.action)


def _sync(entry: Entry) -> None:
    for folder in {item.path.parent for item in entry.items}:
        try:
            sync_folder(folder)
        except FileNotFoundError:
            continue  # removed when it had become empty
        except OSError as error:
            raise cannot_write(folder, error) from error


def _held(entry: Entry) -> Entry:
    """What is left to do once the log tells of a `take`. Raises WriteError."""
    for item in entry.items:
        hidden = retired(item.path)
        if places.is_same(hidden, item.before) or places.holds(hidden, item.before):
            _unlink(hidden)
        # A run of another command may have given it its name back.
        if places.is_same(item.path, item.before):
            _unlink(item.path)
    _sync(entry)
    places.clear_folders(entry)
    if entry.packed.endswith(".age"):
        _forget(entry)  # undo holds plain text
    return staged(entry, Stage.HELD)


def _put_back(entry: Entry) -> str:
    """Undo what was done of a `take`. A file whose place is taken stays here, and is logged."""
    stays = []
    for item in entry.items:
        path, before = item.path, item.before
        sweep(path)  # has its name back, where that is free
        if not os.path.lexists(path) and not entry.packed.endswith(".age"):
            places.back(entry, item, packing.unzip)
        # One that was written to meanwhile is the same file still.
        elif not (places.is_same_file(path, before) or places.holds(path, before)):
            stays.append(item)
    places.edit_indexes(entry, reversed(entry.cuts), places.back_in(entry))
    if not stays:
        drop(entry)
        return "put back"
    kept = replace(entry, action="trash", until=None, reason=_OCCUPIED, items=tuple(stays), cuts=())
    save(kept)
    tell(kept, "trash")
    staged(kept, Stage.HELD)
    return f"put back, but {len(stays)} of {len(entry.items)} files are in the trash: {_OCCUPIED}"


def _restored(entry: Entry, unpack: packing.Unpack) -> None:
    for path, mode in entry.folders:
        try:
            make_folder(path)
            path.chmod(mode)
        except OSError as error:
            raise cannot_write(path, error) from error
    for item in entry.items:
        if not os.path.lexists(item.path):
            places.back(entry, item, unpack)
        elif not places.is_back(item, entry.where(item)):
            raise _occupied(item)
    places.edit_indexes(entry, reversed(entry.cuts), places.back_in(entry))
    tell(entry, "restore")
    drop(entry)


def _forget(entry: Entry) -> None:
    for item in entry.items:
        undo.forget(entry.state, real_path(item.path), item.before.sha256, entry.made)


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
