"""Bring a change or an undo to an end that a crash or a kill broke off."""

from __future__ import annotations

from pathlib import Path

from sesstool.records.source import Fingerprint, fingerprint
from sesstool.records.undo import Entry, State, digest, entries, finish, open_raw, read_range
from sesstool.records.write import edit_in_place, sweep, unchanged

# Longer appends are not made in place, for a torn one is judged in memory.
APPEND_LIMIT = 1 << 20


def recover(state: Path, path: Path) -> None:
    """Settle every change of a real path that was broken off. The caller holds its lock."""
    for entry in entries(state, path):
        settle(entry)


def settle(entry: Entry) -> Entry:
    """Find out how far a change or an undo got that was broken off, and bring it to an end.

    The file is then the old one or the new one, unless somebody else changed it: in that case
    it is left alone, and so is the entry. The caller holds the lock of the path. Raises
    InputError and WriteError.
    """
    path = entry.path
    if not entry.unfinished or not path.exists():
        return entry
    sweep(path)
    now = fingerprint(path)
    mtime = entry.before.mtime
    if now.sha256 not in (entry.before.sha256, entry.sha256):
        at = _torn_at(entry, now)
        if at is None:
            return entry
        check = unchanged(path, now)
        edit_in_place(path, at=at, data=b"", mode=now.mode, mtime=mtime, expect=check)
        now = fingerprint(path)
    if now.sha256 == entry.sha256:
        mode, reached = entry.mode, State.DONE
    else:
        mode = entry.before.mode
        reached = State.VOID if entry.state is State.BEGUN else State.UNDONE
    check = unchanged(path, now)
    edit_in_place(path, at=now.size, data=b"", mode=mode, mtime=mtime, expect=check)
    return finish(entry, reached)


def _torn_at(entry: Entry, now: Fingerprint) -> int | None:
    """Where an append begins that a crash tore; None where there is no such thing."""
    if entry.state is State.BEGUN:
        size, sha256 = entry.before.size, entry.before.sha256
    else:
        size, sha256 = entry.size, entry.sha256
    if not size < now.size <= size + APPEND_LIMIT:
        return None
    with open_raw(entry.path) as source:
        # A power cut may leave NULs in the place of appended bytes.
        rest = source.read(size, now.size).rstrip(b"\0")
        old = digest(read_range(source, 0, size))
    return size if old == (size, sha256) and entry.appended().startswith(rest) else None
