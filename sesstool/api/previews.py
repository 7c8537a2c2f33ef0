"""A preview that was saved: what a later plan may do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sesstool.errors import UsageError
from sesstool.retention.decide import Decision
from sesstool.retention.entries import Entry
from sesstool.retention.groups import Group

_AGAIN = "make it with sesstool prune -f json -o FILE"


class Saved:
    """The JSON of a preview. Nothing is done that it does not have."""

    def __init__(self, path: Path) -> None:
        """Read a file. Raises UsageError."""
        try:
            value = json.loads(path.read_bytes())
            self._sessions = {
                str(one["path"]): (str(one["action"]), str(one["state"]))
                for one in value["sessions"]
            }
            self._entries = {str(one["id"]) for one in value["trash"]}
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"cannot read the plan {path}: {reason}", hint=_AGAIN) from error
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise UsageError(f"{path} is no plan of prune", hint=_AGAIN) from error

    def bound(self, group: Group, decision: Decision) -> Decision:
        """The decision where it was planned for the session as it is, else that it stays."""
        if not decision.acts:
            return decision
        action, state = self._sessions.get(group.path, ("", ""))
        if action != decision.action:
            return decision.kept("it was not planned")
        if state != group.state:
            return decision.kept("it has changed since the plan was made")
        return decision

    def has(self, entry: Entry) -> bool:
        """Whether it was planned that an entry of the trash goes for good."""
        return entry.id in self._entries


class Without(Saved):
    """All that a plan would do, but for some sessions, by path, and entries of the trash, by id."""

    def __init__(self, left_out: Iterable[str]) -> None:
        """Leave these out."""
        self._left_out = frozenset(left_out)

    def bound(self, group: Group, decision: Decision) -> Decision:
        """The decision, or that it stays this time."""
        out = decision.acts and group.path in self._left_out
        return decision.kept("left out this time") if out else decision

    def has(self, entry: Entry) -> bool:
        """Whether an entry is not left out."""
        return entry.id not in self._left_out
