"""A preview that was saved, and what a later plan has in common with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from sesstool.api.retaining import Plan, Row
from sesstool.errors import UsageError
from sesstool.retention.accounts import PURGED


def only(wanted: Plan, saved: Path) -> Plan:
    """What a plan has in common with an earlier one, of which the JSON was saved.

    Sessions that changed since stay, and so do those that nothing, or something else, was planned
    for. Raises UsageError.
    """
    known = _saved(saved)

    def judged(row: Row) -> Row:
        group, decision, _ = row
        if not row.changes or known.get(group.path) == (decision.action, group.state):
            return row
        planned = known.get(group.path, ("",))[0]
        why = "it has changed since the plan was made" if planned == decision.action else ""
        return row._replace(decision=decision.kept(why or "it was not planned"), residues=())

    ended = tuple(entry for entry in wanted.ended if known.get(entry.id) == (PURGED, ""))
    return replace(wanted, rows=tuple(map(judged, wanted.rows)), ended=ended)


def _saved(path: Path) -> dict[str, tuple[str, str]]:
    """The action and the state of each session of a saved plan, and the entries of the trash."""
    again = "make it with sesstool prune -f json -o FILE"
    try:
        value = json.loads(path.read_bytes())
        sessions = {str(s["path"]): (str(s["action"]), str(s["state"])) for s in value["sessions"]}
        return sessions | {str(entry["id"]): (PURGED, "") for entry in value["trash"]}
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot read the plan {path}: {reason}", hint=again) from error
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UsageError(f"{path} is no plan of prune", hint=again) from error
