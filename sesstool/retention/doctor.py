"""Where what an agent deletes by itself conflicts with what a policy and the holds say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple

from sesstool.formats.expiry import Expiry
from sesstool.formats.registry import FORMATS
from sesstool.records.source import SEALED
from sesstool.retention.decide import days
from sesstool.retention.policy import FOREVER, Hold, Match, Policy

# Long enough that a run comes before the agent, and a hundred years where there is no end.
_ROOM = timedelta(days=30)
_ALWAYS = timedelta(days=36500)
_DELETES = "the agent deletes them after"


class Conflict(NamedTuple):
    """What cannot be kept. `kind` is "retain", "expire", "hold" or "unknown".

    `name` is that of the rule or hold, "" for an unknown period. `needs` is how long the agent
    must let a session live, None where that would not help.
    """

    kind: str
    name: str
    what: str
    needs: timedelta | None


class Diagnosis(NamedTuple):
    """An agent, and how it stands with the policy.

    `sessions` counts its session files, None where sesstool does not know them; `overdue` those
    that go when the agent starts the next time, and `next_at` is when the next one can go.
    """

    expiry: Expiry
    sessions: int | None
    overdue: int
    next_at: datetime | None
    conflicts: tuple[Conflict, ...]
    steps: tuple[str, ...]


def diagnose(
    expiry: Expiry, policy: Policy | None, holds: Iterable[Hold], now: datetime
) -> Diagnosis:
    """What one agent deletes, and what that conflicts with. Reads the times of its files."""
    holds = (*(policy.holds if policy else ()), *holds)
    conflicts = tuple(_conflicts(expiry, policy, holds, now))
    times = _times(expiry)
    gone = [] if expiry.after is None else list(_ends(times or (), expiry.after))
    return Diagnosis(
        expiry,
        None if times is None else len(times),
        sum(end <= now for end in gone),
        min((end for end in gone if end > now), default=None),
        conflicts,
        tuple(_steps(expiry, conflicts)),
    )


def _conflicts(
    expiry: Expiry, policy: Policy | None, holds: Iterable[Hold], now: datetime
) -> Iterator[Conflict]:
    rules = [rule for rule in policy.rules if _concerns(rule.match, expiry)] if policy else []
    # A hold that begins later is one.
    held = [
        hold
        for hold in holds
        if (hold.until is None or now < hold.until) and _concerns(hold.match, expiry)
    ]
    kept = [rule for rule in rules if rule.retain_for is not None]
    # What sesstool cannot open no rule takes away.
    acting = [
        rule
        for rule in rules
        if rule.action in ("archive", "trash")
        and rule.expire_after not in (None, FOREVER)
        and _known(expiry.agent)
    ]
    if expiry.problem:
        if kept or acting or held:
            yield Conflict("unknown", "", "what it deletes by itself is not known", None)
        return
    if expiry.after is None:
        return
    end = days(expiry.after)
    for rule in kept:
        needs = rule.retain_for or FOREVER
        if expiry.after < needs:
            what = f"rule {rule.name} keeps sessions for {days(needs)}: {_DELETES} {end}"
            yield Conflict("retain", rule.name, what, needs)
    for rule in acting:
        due = rule.expire_after or FOREVER
        if expiry.after <= due:
            verb = "archives" if rule.action == "archive" else "moves to the trash"
            what = f"rule {rule.name} {verb} after {days(due)}: {_DELETES} {end}, for good"
            yield Conflict("expire", rule.name, what, min(due, FOREVER - _ROOM) + _ROOM)
    for name in dict.fromkeys(hold.name for hold in held):
        yield Conflict("hold", name, f"hold {name} keeps sessions: {_DELETES} {end}", FOREVER)


def _steps(expiry: Expiry, conflicts: tuple[Conflict, ...]) -> Iterator[str]:
    """What ends the conflicts."""
    if not conflicts:
        return
    if expiry.problem:
        yield "see what it is set to, and mend the file where it cannot be read"
        return
    longest = max(one.needs for one in conflicts if one.needs is not None)
    needed = -(-min(longest, _ALWAYS) // timedelta(days=1))
    yield f"write {expiry.edit % needed} in {expiry.file}"
    if expiry.after and all(one.kind == "expire" for one in conflicts):
        names = " and ".join(one.name for one in conflicts)
        yield f"or have {names} expire well before {days(expiry.after)}, and prune every day"


def _concerns(match: Match, expiry: Expiry) -> bool:
    """Whether sessions of an agent may match: one that is not there yet may as well."""
    agents, home = match.agent, os.path.realpath(expiry.home)
    if agents and not any(fnmatchcase(expiry.agent, glob) for glob in agents):
        return False
    return not match.path or any(_overlap(glob, home) for glob in match.path)


def _overlap(glob: str, folder: str) -> bool:
    """Whether a path below a folder may match, by what comes before the first wildcard."""
    start = re.split(r"[*?\[]", glob, maxsplit=1)[0]
    return start.startswith(folder) or folder.startswith(start)


def _known(agent: str) -> bool:
    return any(form.name == agent and form.repairable for form in FORMATS)


def _times(expiry: Expiry) -> list[datetime] | None:
    """When the session files of an agent were changed; None where sesstool knows no such files."""
    if not _known(expiry.agent):
        return None
    form = next(form for form in FORMATS if form.name == expiry.agent)
    times = []
    for path in {path for end in ("", SEALED) for path in form.find("", end)}:
        if path.is_relative_to(expiry.home):
            try:
                times.append(datetime.fromtimestamp(path.lstat().st_mtime, UTC))
            except (OSError, ValueError, OverflowError):
                continue  # it is gone, or its time is beyond all calendars
    return times


def _ends(times: Iterable[datetime], after: timedelta) -> Iterator[datetime]:
    """When sessions go that were changed at some times, as far as a calendar goes."""
    last = datetime.max.replace(tzinfo=UTC)
    return (time + after for time in times if after < last - time)
