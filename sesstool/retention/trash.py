"""Taking groups away, giving them back, and deleting them for good.

All files of a group are in its entry before the first one leaves its place, and lines in the audit
log decide: an entry that has none was never made, and `settle` puts its files back; one that has
them is brought to its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.audit import log, tombstones
from sesstool.audit.tombstones import Tombstone
from sesstool.encryption.header import Recipient
from sesstool.errors import InputError, StalePlanError, WriteError
from sesstool.formats.registry import by_name
from sesstool.records import undo
from sesstool.records.guard import locked, uninterrupted
from sesstool.records.source import Fingerprint, fingerprint
from sesstool.records.write import (
    cannot_write,
    make_folder,
    real_path,
    remove,
    sweep,
    sync_folder,
    unchanged,
)
from sesstool.retention import packing, shared
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
from sesstool.retention.shared import Cut

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

PURGED = "purge"
"""What the log calls it that an entry is gone for good."""


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
    """An entry that was broken off, and how it ended: "put back", "taken away", "deleted"."""

    entry: Entry
    end: str


@contextmanager
def one_run(state: Path) -> Iterator[None]:
    """Keep other runs from the entries. Raises WriteError."""
    with locked(state, state / "trash"):
        yield


def take(state: Path, group: Group, order: Order, now: datetime) -> Entry:
    """Take a group away, whole or not at all. The caller has `one_run`.

    Raises LiveSessionError, StalePlanError, InputError and WriteError; then all files are where
    they were. A signal to stop waits until the group is through.
    """
    with ExitStack() as stack:
        stack.enter_context(locked(state, real_path(group.file)))
        items = [Item(piece.path, str(at), _still(piece)) for at, piece in enumerate(group.pieces)]
        log.ready(state)
        entry = _begun(state, group, order, items, now)
        stack.enter_context(uninterrupted())
        try:
            _gather(entry, order)
            _edit_indexes(entry, shared.take_out)
            _take_away(entry, entry.items)
        except BaseException:
            with suppress(InputError, WriteError):  # the next run does what this one cannot
                _put_back(entry)
            raise
        entry = _held(entry)
    return purge(state, entry) if order.action == "delete" else entry


def restore(state: Path, entry: Entry, identities: packing.Unpack = packing.unzip) -> None:
    """Put all files of an entry back where they were. The caller has `one_run`.

    Raises InputError and WriteError, also where something else has come to the place of one; then
    the entry is as before.
    """
    for item in entry.items:
        if os.path.lexists(item.path) and not _is(item.path, item.before):
            raise WriteError(
                f"cannot restore {item.path}: another file is there",
                hint="see what it holds, and move it away",
            )
    log.ready(state)
    with uninterrupted():
        _restored(staged(entry, Stage.RESTORING), identities)


def purge(state: Path, entry: Entry) -> Entry:
    """Delete an entry for good, with what undo keeps of its files. The caller has `one_run`.

    Raises WriteError; `settle` then goes on with it.
    """
    again = entry.stage is Stage.PURGING
    entry = staged(entry, Stage.PURGING)
    # Told first: nothing may go that no account tells of.
    if entry.tombstone and not (again and _is_buried(state, entry)):
        tombstones.append(state, _tombstone(entry))
    if not (again and PURGED in _told(state, entry)):
        _log(entry, PURGED)
    _forget(entry)
    for item in entry.items:
        _unlink(entry.where(item))
    drop(entry)
    return entry


def settle(state: Path) -> list[Settled]:
    """Bring to an end what was broken off, or put it back. The caller has `one_run`.

    Raises InputError and WriteError.
    """
    done = []
    sweep_unborn(state)
    for entry in entries(state):
        done += [Settled(entry, end) for end in _settled(state, entry)]
    return done


def _settled(state: Path, entry: Entry) -> Iterator[str]:
    if entry.stage is Stage.HELD and entry.action != "delete":
        return
    told = _told(state, entry)
    if entry.stage is Stage.MOVING:
        if entry.action not in told and not _needs_key(entry):
            yield _put_back(entry)
            return
        if entry.action not in told:
            _go_on(entry)
        entry = _held(entry)
        if entry.action != "delete":
            yield "taken away"
    elif entry.stage is Stage.RESTORING:
        if "restore" in told:
            drop(entry)
        elif entry.packed.endswith(".age"):
            staged(entry, Stage.HELD)  # its key is needed again; what was put back stays
            return
        else:
            _restored(entry, packing.unzip)
        yield "put back"
        return
    if entry.stage is Stage.PURGING or entry.action == "delete":
        purge(state, entry)
        yield "deleted"


def _needs_key(entry: Entry) -> bool:
    """Whether a file went that could not be put back without a key; then all are here."""
    gone = any(not os.path.lexists(item.path) for item in entry.items)
    return entry.packed.endswith(".age") and gone


def _go_on(entry: Entry) -> None:
    """Do the rest of a `take`; what was changed meanwhile stays, as it is here too."""
    for path in (*(item.path for item in entry.items), *(cut.path for cut in entry.cuts)):
        sweep(path)
    left = [item for item in entry.items if _is(item.path, item.before)]
    # Others may have changed an index since; where it has the session no more, it was taken out.
    form = by_name(entry.agent) if entry.agent else None
    if form is not None and (listed := tuple(shared.cuts(form, Path(entry.path)))):
        entry = replace(entry, cuts=listed)
        save(entry)
        _edit_indexes(entry, shared.take_out)
    _take_away(entry, left)


def _still(piece: Piece) -> Fingerprint:
    """What a file is, if it is what it was when the run was planned. Raises StalePlanError."""
    now = fingerprint(piece.path)
    if (now.device, now.inode, now.size, now.mtime) != piece[1:5]:
        raise StalePlanError(
            f"{piece.path} has changed since it was looked at", hint="run it again"
        )
    return now


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
        group.tags,
        group.models,
        packed,
        files,
        tuple(items),
        tuple(shared.cuts(group.form, group.plain)) if group.form else (),
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
            packing.second(item.path, target, item.before)
    try:
        sync_folder(entry.files)
    except OSError as error:
        raise cannot_write(entry.files, error) from error


def _take_away(entry: Entry, items: Iterable[Item]) -> None:
    """Have files gone from their places; the log tells it. Raises StalePlanError, WriteError."""
    for item in items:
        sweep(item.path)
        remove(item.path, unchanged(item.path, item.before))
    _log(entry, entry.action)


def _edit_indexes(entry: Entry, edit: Callable[[Cut, Path], None]) -> None:
    for cut in entry.cuts:
        with locked(entry.folder.parent.parent, real_path(cut.path)):
            sweep(cut.path)
            edit(cut, entry.files / cut.name)


def _back_in(entry: Entry) -> Callable[[Cut, Path], None]:
    return partial(shared.put_in, agent=entry.agent, session=Path(entry.path))


def _held(entry: Entry) -> Entry:
    """What is left to do once the log tells of a `take`. Raises WriteError."""
    _clear_folders(entry)
    if entry.packed.endswith(".age"):
        _forget(entry)  # undo holds plain text
    return staged(entry, Stage.HELD)


def _put_back(entry: Entry) -> str:
    """Undo what was done of a `take`. Where something else came, the entry stays, and is logged."""
    stays = False
    for item in entry.items:
        here = entry.where(item)
        sweep(item.path)
        if not os.path.lexists(item.path):
            _back(entry, item, packing.unzip)
        elif not _is(item.path, item.before) and here.exists():
            stays = True
    _edit_indexes(entry, _back_in(entry))
    if stays:
        _log(entry, entry.action)
        staged(entry, Stage.HELD)
        return "kept in the trash: another file has come to its place"
    drop(entry)
    return "put back"


def _restored(entry: Entry, unpack: packing.Unpack) -> None:
    for item in entry.items:
        if not os.path.lexists(item.path):
            _back(entry, item, unpack)
    _edit_indexes(entry, _back_in(entry))
    _log(entry, "restore")
    drop(entry)


def _back(entry: Entry, item: Item, unpack: packing.Unpack) -> None:
    """Put one file back in its place, as it was. Raises InputError and WriteError."""
    here, before = entry.where(item), item.before
    try:
        make_folder(item.path.parent)
        if entry.packed:
            packing.write(item.path, unpack(here), before)
        else:
            packing.second(here, item.path, before)
        sync_folder(item.path.parent)
    except OSError as error:
        raise cannot_write(item.path, error) from error
    if fingerprint(item.path).sha256 != before.sha256:
        item.path.unlink()
        raise InputError(
            f"{here} is not what was put there: {item.path} is not restored",
            hint="take it from a backup; the entry stays as it is",
        )


def _is(path: Path, before: Fingerprint) -> bool:
    """Whether a file holds what another did."""
    try:
        return path.stat().st_size == before.size and fingerprint(path).sha256 == before.sha256
    except (OSError, InputError):
        return False


def _clear_folders(entry: Entry) -> None:
    """Remove the folders of the session alone that are empty now."""
    if not entry.session:
        return
    for item in entry.items:
        for folder in item.path.parents:
            if not any(entry.session in part for part in folder.parts):
                break
            with suppress(OSError):  # it is not empty
                folder.rmdir()
                sync_folder(folder.parent)


def _forget(entry: Entry) -> None:
    for item in entry.items:
        undo.forget(entry.folder.parent.parent, real_path(item.path), item.before.sha256)


def _log(entry: Entry, action: str) -> None:
    """Add a line for each file. Raises WriteError."""
    state = entry.folder.parent.parent
    back = action == "restore"
    lines = [
        log.Change(
            action,
            str(item.path),
            "" if back else item.before.sha256,
            item.before.sha256 if back else "",
            entry=entry.id,
            reason=entry.rule,
        )
        for item in entry.items
    ]
    log.append(state, *lines)


def _told(state: Path, entry: Entry) -> set[Any]:
    """The actions that the log tells of an entry."""
    return {line.get("action") for line in log.entries_of(state, entry.id)}


def _is_buried(state: Path, entry: Entry) -> bool:
    return any(line.get("entry") == entry.id for line in tombstones.read(state))


def _tombstone(entry: Entry) -> Tombstone:
    return Tombstone(
        session=entry.session,
        agent=entry.agent,
        rule=entry.rule,
        action=entry.action,
        entry=entry.id,
        created=entry.created.isoformat() if entry.created else "",
        last_activity=entry.recorded.isoformat() if entry.recorded else "",
        bytes=entry.size,
        records=entry.records,
        hashes=tuple(item.before.sha256 for item in entry.items),
    )


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
