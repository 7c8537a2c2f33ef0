"""The entries of the trash on disk: what each holds, and how far it got.

An entry is a folder `<state>/trash/<id>/` with `manifest.json`, which is its journal too, and the
files as `files/<number>`, or in another folder that the manifest names.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, NamedTuple

from sesstool.errors import UsageError
from sesstool.records.source import Fingerprint
from sesstool.records.write import cannot_write, create, make_folder, sync_folder
from sesstool.retention.manifest import decoded, encoded
from sesstool.retention.matching import NOTHING, Also
from sesstool.retention.shared import Cut

_MANIFEST = "manifest.json"
_LIST = "sesstool trash list shows what is there"


class Stage(StrEnum):
    """How far an entry got."""

    MOVING = "moving"
    HELD = "held"
    RESTORING = "restoring"
    PURGING = "purging"


class Item(NamedTuple):
    """One file: where it was, what it is called here, what it was, and whose: user and group."""

    path: Path
    name: str
    before: Fingerprint
    owner: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A group that was taken away. It has the facts that a policy judges by; see `decide.Facts`.

    `folders` are those of the session alone, each with its mode; `also` is what its other files
    tell.
    `packed` is "", "gz" or "gz.age"; `files` the folder with the files. `records` is -1 where they
    were not counted; `until` None says that it never ends.
    """

    folder: Path
    stage: Stage
    action: str
    made: datetime
    until: datetime | None
    rule: str
    reason: str
    tombstone: bool
    agent: str
    session: str
    base: str
    cwd: str
    project: str
    created: datetime | None
    recorded: datetime | None
    records: int
    tags: frozenset[str]
    models: frozenset[str]
    packed: str
    files: Path
    items: tuple[Item, ...]
    cuts: tuple[Cut, ...] = ()
    folders: tuple[tuple[Path, int], ...] = ()
    also: Also = NOTHING

    untouched: ClassVar[str] = ""
    blind: ClassVar[str] = "no record tells a time"
    family: ClassVar[str] = ""

    @property
    def id(self) -> str:
        """8 hexadecimal digits that name the entry."""
        return self.folder.name

    @property
    def state(self) -> Path:
        """The state folder that it lies in."""
        return self.folder.parent.parent

    @property
    def path(self) -> str:
        """Where the session was."""
        return str(self.items[0].path)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where its files were."""
        return tuple(str(item.path) for item in self.items)

    @property
    def size(self) -> int:
        """How many bytes the files had."""
        return sum(item.before.size for item in self.items)

    @property
    def encrypted(self) -> bool:
        """Whether the session was encrypted where it was."""
        return self.path.endswith(".age")

    @property
    def modified(self) -> datetime:
        """The newest time of its files."""
        try:
            return datetime.fromtimestamp(max(i.before.mtime for i in self.items) / 1e9, UTC)
        except (ValueError, OverflowError, OSError):
            return datetime.max.replace(tzinfo=UTC)

    def trouble(self) -> tuple[str, str]:
        """See `decide.Facts`: what was taken away is whole, and nobody writes to it."""
        return "", ""

    def contains(self, code: str) -> None:
        """See `matching.Facts`; nothing is looked for in what was taken away."""

    def due(self, now: datetime) -> bool:
        """Whether its grace is over."""
        return self.until is not None and self.until <= now

    def where(self, item: Item) -> Path:
        """The file here."""
        return self.files / item.name


def entries(state: Path) -> list[Entry]:
    """All entries, oldest first; `damaged` tells of others."""
    found = [entry for folder in _folders(state) if (entry := _load(folder))]
    return sorted(found, key=lambda entry: (entry.made, entry.id))


def damaged(state: Path) -> list[Path]:
    """The folders whose manifest cannot be read. Nothing touches them."""
    return [folder for folder in _folders(state) if _load(folder) is None]


def find(state: Path, name: str) -> Entry:
    """The entry with this id, or session id, or a unique beginning. Raises UsageError."""
    found = [e for e in entries(state) if e.id.startswith(name) or e.session.startswith(name)]
    if not name or not found:
        raise UsageError(f"nothing in the trash is called {name or 'so'}", hint=_LIST)
    if len(found) > 1:
        raise UsageError(f"{name} names {len(found)} entries of the trash", hint=_LIST)
    return found[0]


def begin(entry: Entry) -> None:
    """Have an entry on disk, at once or not at all, still without a file. Raises WriteError."""
    unborn = _unborn(entry)
    try:
        make_folder(unborn)
        save(replace(entry, folder=unborn))
        unborn.rename(entry.folder)
        sync_folder(entry.folder.parent)
        make_folder(entry.files)
    except OSError as error:
        raise cannot_write(entry.folder, error) from error


def drop(entry: Entry) -> None:
    """Remove an entry: at once out of the list, however far the removal gets. Raises WriteError."""
    unborn = _unborn(entry)
    try:
        if entry.files.parent != entry.folder and entry.files.exists():
            for name in (*(item.name for item in entry.items), *(cut.name for cut in entry.cuts)):
                (entry.files / name).unlink(missing_ok=True)
            with suppress(OSError):  # somebody put something there
                entry.files.rmdir()
            sync_folder(entry.files.parent)
        entry.folder.rename(unborn)
        sync_folder(unborn.parent)
        shutil.rmtree(unborn)
        # What is gone for good must not come back with a power cut.
        sync_folder(unborn.parent)
    except OSError as error:
        raise cannot_write(entry.folder, error) from error


def sweep_unborn(state: Path) -> None:
    """Clear away entries that were never made, or are gone. Raises WriteError."""
    folders = list((state / "trash").glob(".*"))
    try:
        for folder in folders:
            shutil.rmtree(folder)
        if folders:
            sync_folder(state / "trash")
    except OSError as error:
        raise cannot_write(state / "trash", error) from error


def staged(entry: Entry, stage: Stage) -> Entry:
    """The entry at another stage, on disk. Raises WriteError."""
    entry = replace(entry, stage=stage)
    save(entry)
    return entry


def save(entry: Entry) -> None:
    """Have the manifest on disk. Raises WriteError."""
    fields = {name: getattr(entry, name) for name in entry.__slots__ if name != "folder"}
    create(entry.folder / _MANIFEST, [json.dumps(encoded(fields)).encode()], force=True)


def _load(folder: Path) -> Entry | None:
    """The entry in a folder; None where it cannot be read."""
    try:
        fields = decoded(json.loads((folder / _MANIFEST).read_bytes()), folder)
        items = tuple(Item(*item) for item in fields["items"])
        return Entry(**fields | {"stage": Stage(fields["stage"]), "items": items})
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def _folders(state: Path) -> Iterable[Path]:
    return [f for f in (state / "trash").glob("*") if not f.name.startswith(".")]


def _unborn(entry: Entry) -> Path:
    return entry.folder.with_name(f".{entry.id}")


def new_folder(state: Path) -> Path:
    """A folder for an entry that there is not yet."""
    while (folder := state / "trash" / secrets.token_hex(4)).exists():
        pass
    return folder
