"""The places of an entry's files: what is there now, and putting them back."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from sesstool.errors import InputError
from sesstool.records.guard import locked
from sesstool.records.source import Fingerprint, fingerprint, prefixes
from sesstool.records.write import cannot_write, make_folder, real_path, sweep, sync_folder
from sesstool.retention import packing, shared
from sesstool.retention.entries import Entry, Item
from sesstool.retention.groups import Group
from sesstool.retention.shared import Cut


def holds(path: Path, before: Fingerprint) -> bool:
    """Whether a file holds what another did."""
    try:
        return path.stat().st_size == before.size and fingerprint(path).sha256 == before.sha256
    except (OSError, InputError):
        return False


def is_back(item: Item, here: Path) -> bool:
    """Whether a file is in its place again, whatever was appended to it since, and is no link.

    `here` is what the trash has of it: where that is the same file, all of it is there.
    """
    try:
        now = item.path.lstat()
        if not stat.S_ISREG(now.st_mode):
            return False
        if here.exists() and here.samefile(item.path):
            return True
        if now.st_size > item.before.size:
            return prefixes(item.path, [item.before.size])[1] == {
                item.before.size: item.before.sha256
            }
    except (OSError, InputError):
        return False
    mode, mtime = stat.S_IMODE(now.st_mode), now.st_mtime_ns
    return (mode, mtime) == (item.before.mode, item.before.mtime) and holds(item.path, item.before)


def is_same(path: Path, before: Fingerprint) -> bool:
    """Whether a path is still the file that it was, as far as stat can tell."""
    try:
        return before.same_file(path.lstat())
    except OSError:
        return False


def is_same_file(path: Path, before: Fingerprint) -> bool:
    """Whether a path is the file that it was, with whatever in it."""
    try:
        now = path.lstat()
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (before.device, before.inode)


def folders_of(group: Group) -> Iterator[tuple[Path, int]]:
    """The folders of a session alone, those above before those below, with their modes."""
    above = {folder for piece in group.pieces for folder in piece.path.parents}
    for root in sorted(folder for folder in above if folder.name == group.session != ""):
        for folder, _, _ in os.walk(root):
            yield Path(folder), stat.S_IMODE(os.lstat(folder).st_mode)


def clear_folders(entry: Entry) -> None:
    """Remove the folders of the session alone that are empty now."""
    for folder, _ in reversed(entry.folders):
        with suppress(OSError):  # it is not empty, or gone
            folder.rmdir()
            sync_folder(folder.parent)


def back(entry: Entry, item: Item, unpack: packing.Unpack) -> None:
    """Put one file back in its place, as it was. Raises InputError and WriteError."""
    here, before = entry.where(item), item.before
    try:
        make_folder(item.path.parent)
        if entry.packed:
            packing.write(item.path, unpack(here), before, item.owner)
        else:
            packing.second(here, item.path, before, item.owner)
        sync_folder(item.path.parent)
    except OSError as error:
        raise cannot_write(item.path, error) from error
    if fingerprint(item.path).sha256 != before.sha256:
        item.path.unlink()
        raise InputError(
            f"{here} is not what was put there: {item.path} is not restored",
            hint="take it from a backup; the entry stays as it is",
        )


def edit_indexes(entry: Entry, cuts: Iterable[Cut], edit: Callable[[Cut, Path], None]) -> None:
    """Do something to each index that lists the session. Raises InputError and WriteError.

    What was taken out is put in again in the reverse order of `Entry.cuts`.
    """
    for cut in cuts:
        with locked(entry.state, real_path(cut.path)):
            sweep(cut.path)
            edit(cut, entry.files / cut.name)


def back_in(entry: Entry) -> Callable[[Cut, Path], None]:
    """What puts the session into an index again."""
    return partial(shared.put_in, agent=entry.agent, session=Path(entry.path))
