"""Bring a change or an undo to an end that a crash or a kill broke off."""

from __future__ import annotations

from pathlib import Path

from sesstool.audit import log
from sesstool.records import undo as journal
from sesstool.records.source import Fingerprint, fingerprint
from sesstool.records.undo import Entry, State, digest, entries, open_raw, read_range
from sesstool.records.write import edit_in_place, leftovers, sweep, temporaries, unchanged

# Longer appends are not made in place, for a torn one is judged in memory.
APPEND_LIMIT = 1 << 20


def broken_off(state: Path, path: Path) -> bool:
    """Whether a run that was killed left something to settle, or a run is at work right now."""
    left = journal.unborn(state, path).exists() or leftovers(path)
    return bool(left) or any(
        entry.unfinished or temporaries(entry.folder) for entry in entries(state, path)
    )


def recover(state: Path, path: Path) -> list[Entry]:
    """Settle every change of a real path that was broken off, and clear away what is left.

    Returns the entries that were unfinished, as they are now. The file is then the old one or
    the new one, unless somebody else changed it: in that case it is left alone, and so is the
    entry. The caller holds the path's lock. Raises InputError and WriteError.
    """
    sweep(path)
    journal.forget_unborn(state, path)
    mine = entries(state, path)
    for left in [left for entry in mine for left in temporaries(entry.folder)]:
        left.unlink()
    return [_settled(entry) for entry in mine if entry.unfinished]


def _settled(entry: Entry) -> Entry:
    """Find out how far a change or an undo got that was broken off, and bring it to an end."""
    path = entry.path
    if not path.exists():
        return entry
    now = fingerprint(path)
    mtime = entry.before.mtime
    if now.sha256 not in (entry.before.sha256, entry.sha256):
        at = _torn_at(entry, now)
        if at is None:
            return entry
        check = unchanged(path, now)
        edit_in_place(path, at=at, data=b"", mode=now.mode, mtime=mtime, expect=check)
        now = fingerprint(path)
    done = now.sha256 == entry.sha256
    if done and now.sha256 == entry.before.sha256:
        done = entry.state is State.BEGUN  # only the mode changes, which is easily done again
    mode = entry.mode if done else entry.before.mode
    check = unchanged(path, now)
    edit_in_place(path, at=now.size, data=b"", mode=mode, mtime=mtime, expect=check)
    if not done and entry.state is State.BEGUN:
        return journal.drop(entry)
    if done == (entry.state is State.BEGUN):
        note(entry, again=True)
    return journal.finish(entry, State.DONE if done else State.UNDONE)


def note(entry: Entry, *, again: bool = False) -> None:
    """Add a change or its undo to the audit log; with `again`, unless it is there already.

    Raises WriteError.
    """
    state = entry.folder.parent.parent
    action, before, after = entry.command, entry.before.sha256, entry.sha256
    if entry.state is not State.BEGUN:
        action, before, after = "undo", after, before
    if again and any(
        (line.get("undo"), line.get("action")) == (entry.id, action) for line in log.read(state)
    ):
        return
    log.append(state, log.Change(action, str(entry.path), before, after, entry.findings, entry.id))


def purge(state: Path, name: str | None = None) -> list[str]:
    """Forget changes as `undo.purge` does, and have the audit log tell which. Raises WriteError."""
    known = dict.fromkeys(journal.damaged(state), "")
    known |= {entry.id: str(entry.path) for entry in entries(state)}
    if known:
        log.ready(state)
    try:
        return journal.purge(state, name)
    finally:
        folders = {state / "undo" / one: path for one, path in known.items()}
        gone = [(at, path or str(at)) for at, path in folders.items() if not at.exists()]
        log.append(state, *[log.Change("purge", p, "", "", undo=at.name) for at, p in gone])


def _torn_at(entry: Entry, now: Fingerprint) -> int | None:
    """Where an append begins that a crash tore; None where there is no such thing."""
    if entry.state is State.BEGUN:
        size, sha256 = entry.before.size, entry.before.sha256
    else:
        size, sha256 = entry.size, entry.sha256
    if not size < now.size <= size + APPEND_LIMIT:
        return None
    with open_raw(entry.path) as source:
        rest = source.read(size, now.size)
        old = digest(read_range(source, 0, size))
    added = entry.appended()
    # A power cut may leave NULs in the place of any of the appended bytes.
    torn = len(rest) <= len(added) and all(a in (0, b) for a, b in zip(rest, added, strict=False))
    return size if old == (size, sha256) and torn else None
