"""What the retention preview says of a plan, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from sesstool.api.retaining import Plan, Row
from sesstool.report import retention as report
from sesstool.report.amounts import count, size
from sesstool.retention.decide import days
from sesstool.retention.entries import Entry
from sesstool.retention.policy import Hold, Match, Rule
from sesstool.retention.trash import PURGED
from sesstool.text import from_here, safe
from sesstool.tui.lines import Line, Span

_FILES = 8
BEYOND = (
    "Deleting unlinks files: backups, snapshots, copies elsewhere and what agents keep in the "
    "cloud are not reached."
)
_COMES = {
    "trash": "sesstool trash restore gives it back {until}",
    "archive": "sesstool trash restore gives it back",
    "delete": "a tombstone is kept: id, dates, rule, counts; no content",
    "redact-payload": "the session stays, without the output of its tools; no plain copy is kept",
    PURGED: "it is in the trash, and goes for good",
}


def every(plan: Plan) -> list[Row | Entry]:
    """All that it tells of."""
    return [*plan.rows, *plan.ended]


def action_of(row: Row | Entry) -> str:
    """What is done with a session, or an entry of the trash."""
    return row.decision.action if isinstance(row, Row) else PURGED


def session_of(row: Row | Entry) -> str:
    """The id of its session."""
    return row.group.session if isinstance(row, Row) else row.session


def path_of(row: Row | Entry) -> str:
    """Its file."""
    return row.group.path if isinstance(row, Row) else row.path


def size_of(row: Row | Entry) -> int:
    """Its bytes."""
    return row.group.size if isinstance(row, Row) else row.size


def _meant(match: Match) -> str:
    """Which sessions are meant, in words."""
    told = []
    for one in fields(match):
        value = getattr(match, one.name)
        if value not in ((), None):
            words = " or ".join(value) if isinstance(value, tuple) else str(value).lower()
            told.append(f"{one.name.replace('_', '-')} {words}")
    return ", ".join(told) or "all sessions"


def _spans(rule: Rule) -> str:
    """For how long a rule keeps sessions, and after what time they go."""
    spans = (("kept for", rule.retain_for), ("gone after", rule.expire_after))
    return ", ".join(f"{what} {days(span)}" for what, span in spans if span is not None)


def comes(action: str, plan: Plan) -> str:
    """What is left of a session behind an action, and how it comes back; "" where it stays."""
    try:
        until = f"until {plan.now + plan.policy.defaults.grace:%Y-%m-%d}"
    except OverflowError:
        until = "until it is emptied by hand"
    return _COMES.get(action, "").format(until=until)


def about(plan: Plan, row: Row | Entry) -> Iterator[Span | Line | str]:
    """What is done with a session, why, with which files, and what is not reached."""
    yield Span(from_here(path_of(row)), "strong")
    action = action_of(row)
    if isinstance(row, Entry):
        yield f"{report.gone_by(row)}: {row.id}"
        files: Sequence[Path] = [Path(item.path) for item in row.items]
    else:
        verb = "would " if row.changes else ""
        yield f"{verb}{action}: {report.why(row)}"
        files = [piece.path for piece in row.group.pieces]
    if words := comes(action, plan):
        yield words
    yield ""
    yield f"{count(len(files), 'file')}, {size(size_of(row))}"
    yield from ((Span(f"  {safe(path.name)}", "dim"),) for path in files[:_FILES])
    if len(files) > _FILES:
        yield Span(f"  and {len(files) - _FILES:,} more", "dim")
    if isinstance(row, Row):
        rows = plan.rows if row.group.common else ()
        going = {one.group.path for one in rows if one.decision.removes}
        yield from report.what_stays(row, plan, None, going)
    if action in ("delete", PURGED):
        yield BEYOND


def rules(plan: Plan, holds: Sequence[Hold]) -> Iterator[Span | Line | str]:
    """What the policy says, and the holds."""
    policy = plan.policy
    for rule in policy.rules:
        yield Span(f"{rule.name}: {_meant(rule.match)}")
        yield Span(f"  {_spans(rule)}, {rule.action}", "dim")
    for cap in policy.caps:
        yield f"{cap.name}: {_meant(cap.match)}"
        yield Span(f"  at most {size(cap.max_bytes)}, {cap.order} first, {cap.action}", "dim")
    if not policy.rules and not policy.caps:
        yield "the policy has no rule: it keeps all"
    for hold in holds:
        yield Span(f"hold {hold.name}: {hold.reason}", "good")
    if policy.protect.min_keep_per_project:
        yield f"the newest {policy.protect.min_keep_per_project} of each project stay"
    yield Span(f"{plan.looked_at:,} sessions were looked at", "dim")
    if plan.limit:
        yield Span(f"{plan.limit}: only --max-delete of the command allows it", "bad")
