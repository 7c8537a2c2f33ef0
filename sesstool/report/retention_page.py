"""The page of a retention run, or of its preview, to print and to keep: no session text, no title.

`page` needs nothing else, and is the same for the same run and time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.api.retaining import Done, Plan
from sesstool.audit import log, tombstones
from sesstool.audit.chain import Head, origin
from sesstool.records.source import plain_path
from sesstool.report.amounts import counted, size
from sesstool.report.page import render
from sesstool.report.retention import document, entry_value, summary, why
from sesstool.retention.cleanup import places
from sesstool.retention.policy import ACTIONS, Hold
from sesstool.retention.trash import Entry


class Heads(NamedTuple):
    """The newest lines of the audit log and of the tombstones."""

    audit: Head
    tombstones: Head

    @classmethod
    def of(cls, state: Path) -> Heads:
        """Those of a state folder. Raises InputError."""
        return cls(log.CHAIN.head(state), tombstones.CHAIN.head(state))


def page(
    plan: Plan,
    done: Sequence[Done] | None,
    *,
    holds: Iterable[Hold],
    trash: Iterable[Entry],
    heads: tuple[Heads, Heads],
    when: datetime | None = None,
) -> str:
    """The page. `holds` were made by command, `trash` is what is there now.

    `done` is what came of the plan, None for a preview. `heads` are those before and after.
    """
    value = document(plan, done, every=True)
    ends = {one["path"]: one for one in value["done"] or ()}
    rows = [
        {**session, "why": why(row), "end": ends.get(session["path"])}
        for session, row in zip(value["sessions"], plan.rows, strict=True)
    ]
    rows.sort(key=_rank)
    changed = [row for row in rows if row["action"] in ACTIONS]
    skipped = sum(one["skipped"] is not None for one in ends.values())
    return render(
        "retention.html.j2",
        run=value | origin(),
        time=(when or datetime.now(UTC)).isoformat(timespec="seconds"),
        title="Preview" if done is None else "Run",
        verdict=_verdict(plan, done),
        tone="bad" if plan.limit else "care" if skipped or (done is None and plan) else "good",
        skipped=skipped,
        changed=changed,
        kept=[row for row in rows if row["action"] == "keep"],
        untouched=[row for row in rows if row["action"] == "skip"],
        purged=[entry | {"end": ends.get(entry["path"])} for entry in value["trash"]],
        size=size,
        bytes=sum(row["bytes"] for row in changed),
        holds=[
            *((hold, plan.policy.name) for hold in plan.policy.holds),
            *((h, "") for h in holds),
        ],
        trash=[entry_value(entry) for entry in trash],
        logs=[_log(*pair) for pair in zip(("Audit log", "Tombstones"), *heads, strict=True)],
        beyond=_beyond(plan, ends),
    )


def _rank(row: dict[str, Any]) -> tuple[int, int, str]:
    """What is removed for good comes first, and of that the oldest."""
    order = ACTIONS.index(row["action"]) if row["action"] in ACTIONS else -1
    return -order, -(row["age_seconds"] or 0), row["path"]


def _verdict(plan: Plan, done: Sequence[Done] | None) -> str:
    told = summary(plan, done)
    return told if done is not None else f"Nothing is changed yet: {told}"


def _log(name: str, before: Head, after: Head) -> dict[str, Any]:
    """A log before and after the run, as it is kept elsewhere to compare with."""
    added = after.seq - before.seq
    return {
        "name": name,
        "before": str(before) if before.seq else "",
        "after": str(after) if after.seq else "",
        "lines": counted(added, "line") if added else "none",
        "fault": after.fault if after.seq else "",
    }


def _beyond(plan: Plan, ends: dict[str, Any]) -> list[str]:
    """Where texts may be all the same; each file of an agent that repeats them is told once."""
    told: dict[str, str] = {}
    forms = {}
    for row in plan.changes:
        form, path = row.group.form, plain_path(row.group.file)
        if form is None:
            continue
        forms[form.name] = form
        if row.group.path in ends and ends[row.group.path]["cleaned"]:
            continue
        # The index beside a session loses its entry with it.
        drawn = (side for side in form.drawn(path) if side.path.parent != path.parent)
        for side in (*drawn, *form.others(path)):
            told.setdefault(str(side.path), side.erase or "it may repeat what a session held")
    named = [f"{path}: {what}" for path, what in sorted(told.items())]
    named += [f"{c}: a copy that sesstool made" for made in plan.copies.values() for c in made]
    return named + list(dict.fromkeys(p for _, form in sorted(forms.items()) for p in places(form)))
