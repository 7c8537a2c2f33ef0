"""What agents delete by themselves, and where that conflicts: as text and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from sesstool.report.amounts import count
from sesstool.retention.decide import days
from sesstool.retention.doctor import Diagnosis
from sesstool.retention.policy import FOREVER, Policy
from sesstool.text import safe

_WIDTH = 80
_LABEL = 11


def to_text(diagnoses: Iterable[Diagnosis]) -> str:
    """One agent after the other, with a word at the beginning of each line."""
    return "\n".join("".join(_agent(one)) for one in diagnoses)


def to_json(diagnoses: Iterable[Diagnosis], policy: Policy | None) -> str:
    """The same as one document; see schemas/output/doctor.schema.json."""
    value = {
        "schema_version": 1,
        "policy": {"file": policy.name, "sha256": policy.sha256} if policy else None,
        "agents": [_value(one) for one in diagnoses],
    }
    return json.dumps(value, indent=2) + "\n"


def summary(diagnoses: Iterable[Diagnosis], policy: Policy | None) -> str:
    """How many agents there are, and how many conflicts, in one line."""
    diagnoses = list(diagnoses)
    conflicts = count(sum(len(one.conflicts) for one in diagnoses), "conflict")
    against = f"with {policy.name}" if policy else "with holds: no retention policy is given"
    return f"{count(len(diagnoses), 'agent')}, {conflicts} {against}"


def _agent(one: Diagnosis) -> Iterator[str]:
    expiry = one.expiry
    yield f"{safe(expiry.title)} ({expiry.agent}) in {safe(str(expiry.home))}\n"
    yield from _told("deletes", _deletes(one))
    if expiry.setting and not expiry.problem:
        by = f"{expiry.origin} sets it" if expiry.origin else "the agent's default"
        yield from _told("setting", f"{expiry.setting}: {by}")
    if expiry.after is not None:
        yield from _told("takes", ", ".join(expiry.sweeps))
    if one.sessions is not None and (expiry.after is not None or expiry.problem):
        yield from _told("sessions", _sessions(one))
    for note in expiry.notes:
        yield from _told("note", note)
    for conflict in one.conflicts:
        yield from _told("conflict", conflict.what)
    for step in one.steps:
        yield from _told("next", step)


def _deletes(one: Diagnosis) -> str:
    expiry = one.expiry
    if expiry.problem:
        return f"not known: {expiry.problem}"
    if expiry.after is None:
        return "no session by itself"
    return f"sessions after {days(expiry.after)}, {expiry.when}"


def _sessions(one: Diagnosis) -> str:
    told = f"{one.sessions or 0:,} here"
    if one.expiry.after is None:
        return told
    told += f"; {one.overdue:,} can go at its next start"
    return told + (f", the next on {one.next_at:%Y-%m-%d}" if one.next_at else "")


def _told(label: str, text: str) -> Iterator[str]:
    """A line with its label, wrapped between words."""
    lines = textwrap.wrap(
        safe(text), _WIDTH - _LABEL - 2, break_long_words=False, break_on_hyphens=False
    )
    for at, line in enumerate(lines):
        yield f"  {'' if at else label:<{_LABEL}}{line}\n"


def _value(one: Diagnosis) -> dict[str, Any]:
    expiry = one.expiry
    return {
        "agent": expiry.agent,
        "title": expiry.title,
        "home": str(expiry.home),
        "after_seconds": None if expiry.after is None else int(expiry.after.total_seconds()),
        "when": expiry.when,
        "setting": expiry.setting,
        "set_in": expiry.origin or None,
        "file": str(expiry.file) if expiry.file else None,
        "sweeps": list(expiry.sweeps),
        "notes": list(expiry.notes),
        "problem": expiry.problem,
        "sessions": one.sessions,
        "overdue": one.overdue,
        "next": one.next_at.isoformat() if one.next_at else None,
        "conflicts": [
            {
                "kind": conflict.kind,
                "name": conflict.name,
                "what": conflict.what,
                "needs_seconds": None
                if conflict.needs in (None, FOREVER)
                else int(conflict.needs.total_seconds()),
            }
            for conflict in one.conflicts
        ],
        "next_steps": list(one.steps),
    }
