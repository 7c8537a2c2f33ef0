"""What the audit log and the tombstones are told of an entry of the trash."""

from __future__ import annotations

from typing import Any

from sesstool.audit import log, tombstones
from sesstool.audit.tombstones import Tombstone
from sesstool.retention.entries import Entry

PURGED = "purge"
"""What the log calls it that an entry is gone for good."""


def tell(entry: Entry, action: str) -> None:
    """Add a line for each file. Raises WriteError."""
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
    log.append(entry.state, *lines)


def told(entry: Entry) -> set[Any]:
    """The actions that the log tells of an entry. Raises InputError."""
    return {line.get("action") for line in log.entries_of(entry.state, entry.id)}


def bury(entry: Entry, *, again: bool) -> None:
    """Tell that an entry goes for good; what an earlier try has told is not told `again`.

    Raises InputError and WriteError.
    """
    if entry.tombstone and not (again and _is_buried(entry)):
        tombstones.append(entry.state, _tombstone(entry))
    if not (again and PURGED in told(entry)):
        tell(entry, PURGED)


def _is_buried(entry: Entry) -> bool:
    return any(line.get("entry") == entry.id for line in tombstones.read(entry.state))


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
