"""What a retention run would do, or did: as text and as JSON, without any session text."""

from __future__ import annotations

import json
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sesstool.api.retaining import Done, Plan, Row
from sesstool.records.source import plain_path
from sesstool.report.amounts import count, size
from sesstool.retention.decide import days
from sesstool.retention.policy import ACTIONS
from sesstool.retention.trash import PURGED, Entry
from sesstool.text import safe, width

_HEAD = ("ACTION", "SESSION", "AGE", "SIZE", "FILES", "WHY")
# So that 80 columns are enough, the number of files stands only before.
_DONE = ("ACTION", "SESSION", "AGE", "SIZE", "ENTRY", "WHY")
_RIGHT = ("AGE", "SIZE", "FILES")
_ID = 13  # of which 12 digits tell the time in the ids of Codex
_MOST = 64  # an id may be anything
# A shorter column is no help.
_LEAST = 24
_PAST = {
    "redact-payload": "redacted",
    "archive": "archived",
    "trash": "in the trash",
    "delete": "deleted",
    PURGED: "purged",
}


def to_text(
    plan: Plan, done: Sequence[Done] | None, *, every: bool, columns: int | None = None
) -> str:
    """The sessions that something is done with, by project, and why the others stay.

    `done` is what came of it, None for a preview; `every` tells of each that stays, too. Reasons
    are wrapped to so many `columns`, None for not at all.
    """
    ends = None if done is None else {one.path: one for one in done}
    places = defaultdict[str, list[Row]](list)
    shown = sorted(plan.rows if every else plan.changes, key=rank)
    ids = [*(row.group.session for row in shown), *(entry.session for entry in plan.ended)]
    names = short_names(ids)
    for row in shown:
        places[_place(row)].append(row)
    going = {row.group.path for row in plan.rows if row.decision.removes}
    going -= {path for path, one in (ends or {}).items() if one.skipped is not None}
    sections = [
        (
            name,
            [(_cells(row, ends, names), list(what_stays(row, plan, ends, going))) for row in rows],
        )
        for name, rows in sorted(places.items())
    ]
    if plan.ended:
        purged = [
            (_purged(e, ends, names), list(copies_of(e.path, plan.copies))) for e in plan.ended
        ]
        sections.append(("the trash, where the grace is over", purged))
    table = [cells for _, rows in sections for cells, _ in rows]
    head = _HEAD if done is None else _DONE
    widths = [max(map(width, column)) for column in zip(head, *table, strict=True)]
    out = [_line(head, head, widths, None)] if table else []
    for name, rows in sections:
        out.append(name)
        for cells, stays in rows:
            out.append(_line(head, cells, widths, columns))
            out += [f"    {line}" for line in stays]
    if not every:
        out += _kept(plan.rows, columns, space=bool(table))
    return "".join(f"{line}\n" for line in out)


def to_json(plan: Plan, done: Sequence[Done] | None, *, every: bool) -> str:
    """The same as one document; see schemas/output/prune.schema.json."""
    return json.dumps(document(plan, done, every=every), indent=2) + "\n"


def document(plan: Plan, done: Sequence[Done] | None, *, every: bool) -> dict[str, Any]:
    """What the JSON has."""
    return {
        "schema_version": 1,
        "as_of": plan.now.isoformat(),
        "policy": {"file": plan.policy.name, "sha256": plan.policy.sha256},
        "looked_at": plan.looked_at,
        "limit": plan.limit,
        "sessions": [_session(row, plan) for row in plan.rows if every or row.changes],
        "trash": [entry_value(entry) for entry in plan.ended],
        "copies": [{"path": c, "of": of} for of, made in plan.copies.items() for c in made],
        "done": None if done is None else [_done(one) for one in done],
    }


def summary(plan: Plan, done: Sequence[Done] | None) -> str:
    """What happens to how many sessions, or did, in one line."""
    if done is not None:
        acted = Counter(_PAST.get(one.action, one.action) for one in done if one.skipped is None)
        skipped = sum(one.skipped is not None for one in done)
        told = _listed(acted) or "nothing was done"
        return told + (f"; {skipped:,} skipped" if skipped else "")
    acts = Counter(row.decision.action for row in plan.changes)
    acts[PURGED] += len(plan.ended)
    size_ = sum(row.group.size for row in plan.changes)
    told = f"{_listed(acts)} ({size(size_)})" if plan.changes else _listed(acts)
    stays = f"{len(plan.rows) - len(plan.changes):,} of {len(plan.rows):,} sessions stay"
    return f"{told or 'nothing to do'}; {stays}"


def afterwards(done: Sequence[Done]) -> str:
    """How what went can come back, and until when; "" where nothing can."""
    entries = [one.entry for one in done if one.entry and one.action == "trash"]
    ends = [_date(entry.until) for entry in entries if entry.until]
    if ends:
        return f"next: sesstool trash restore ID, until {min(ends)} (trash list shows all)"
    if any(one.entry and one.action == "archive" for one in done):
        return "next: sesstool trash restore ID (trash list shows all)"
    return ""


def entries_to_text(entries: Iterable[Entry], held: Mapping[str, str] | None = None) -> str:
    """The entries of the trash, one a line; `held` names the hold that one is under, by its id."""
    held = held or {}
    entries = list(entries)
    names = short_names(entry.session for entry in entries)
    lines = [("ID", "SESSION", "TAKEN", "SIZE", "UNTIL", "BY")]
    lines += [
        (
            entry.id,
            names[entry.session],
            _date(entry.made),
            size(entry.size),
            _date(entry.until) if entry.until else "for ever",
            f"{entry.action} ({_by(entry.rule)})"
            + (f", stays: hold {safe(held[entry.id])}" if entry.id in held else ""),
        )
        for entry in entries
    ]
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    return (
        "".join(f"{_line(lines[0], line, widths, None)}\n" for line in lines)
        if len(lines) > 1
        else ""
    )


def entries_to_json(entries: Iterable[Entry]) -> str:
    """The same as one document."""
    return (
        json.dumps({"schema_version": 1, "entries": [entry_value(e) for e in entries]}, indent=2)
        + "\n"
    )


def why(row: Row) -> str:
    """The reason, and the rule that gives it."""
    decision = row.decision
    if decision.rule and not decision.reason.startswith("hold "):
        return f"{decision.reason} ({_by(decision.rule)})"
    return decision.reason


def _by(rule: str) -> str:
    return f"rule {safe(rule)}" if rule else "by request"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number:,} {action}" for action, number in sorted(counts.items()) if number)


def rank(row: Row) -> tuple[int, timedelta, str]:
    """What is removed for good comes first, and of that the oldest."""
    action = row.decision.action
    order = len(ACTIONS) - ACTIONS.index(action) if action in ACTIONS else len(ACTIONS) + 1
    return order, -(row.decision.age or timedelta(0)), row.group.path


def _place(row: Row) -> str:
    """Where a session belongs: its agent, and the folder that this worked in."""
    group = row.group
    folder = safe(group.cwd or str(group.file.parent))
    return f"{group.agent} in {folder}" if group.agent else folder


def _line(
    head: Sequence[str], cells: Sequence[str], widths: Sequence[int], columns: int | None
) -> str:
    """A row of a table; the last cell is wrapped below itself."""
    *first, last = cells
    padded = [
        " " * (cells_ - width(text)) + text
        if name in _RIGHT
        else text + " " * (cells_ - width(text))
        for name, text, cells_ in zip(head, first, widths, strict=False)
    ]
    start = "  ".join([*padded, ""])
    room = len(last) if columns is None else max(columns - width(start) - 1, _LEAST)
    return start + f"\n{' ' * width(start)}".join(_wrapped(last, room))


def _wrapped(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, max(room, 1), break_long_words=False, break_on_hyphens=False) or [""]


def _cells(row: Row, ends: dict[str, Done] | None, names: Mapping[str, str]) -> tuple[str, ...]:
    group, decision, _ = row
    return (
        decision.action,
        names[group.session],
        "-" if decision.age is None else days(decision.age),
        size(group.size),
        *_end(ends, group.path, len(group.pieces), safe(why(row))),
    )


def _purged(
    entry: Entry, ends: dict[str, Done] | None, names: Mapping[str, str]
) -> tuple[str, ...]:
    return (
        PURGED,
        names[entry.session],
        "-",
        size(entry.size),
        *_end(ends, entry.path, len(entry.items), safe(gone_by(entry))),
    )


def gone_by(entry: Entry) -> str:
    """Why an entry of the trash goes for good."""
    if entry.until is None:
        return f"archived on {_date(entry.made)}, and a later rule is due"
    return f"taken away on {_date(entry.made)}, and its grace is over"


def short_names(sessions: Iterable[str]) -> dict[str, str]:
    """The beginning of each id, so long that no other looks the same."""
    ids = sorted(set(sessions))
    same = [0, *(_alike(*pair) for pair in pairwise(ids)), 0]
    longest = zip(ids, map(max, pairwise(same)), strict=False)  # where there is none, one more
    return {id_: safe(id_[: min(max(_ID, length + 1), _MOST)]) for id_, length in longest}


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _date(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _end(ends: dict[str, Done] | None, path: str, files: int, reason: str) -> tuple[str, str]:
    """How many files there are, or what came of them, and why."""
    if ends is None:
        return f"{files:,}", reason
    done = ends.get(path)
    if done is None:
        return "-", reason
    if done.skipped is not None:
        return "skipped", safe(done.skipped.message)
    return done.entry.id if done.entry else "done", reason


def what_stays(
    row: Row, plan: Plan, ends: dict[str, Done] | None, going: set[str]
) -> Iterator[str]:
    """What of a session stays although it goes, goes although it stays, or went elsewhere."""
    if (gone := plan.outputs.get(row.group.path)) and row.group.form:
        files = f" and {count(gone.files, 'file')} of output" if gone.files else ""
        yield f"redact {count(gone.results, 'tool result')}{files}, {size(gone.bytes)}"
        for side in row.group.form.drawn(plain_path(row.group.file)):
            if side.erase:
                yield safe(f"stays: {side.path} may hold some of it; {side.erase}")
    if row.decision.removes:
        if others := sum(piece.names > 1 for piece in row.group.pieces):
            yield f"stays: other names (hard links) of {count(others, 'file')}"
        yield from copies_of(row.group.path, plan.copies)
        for piece, owners in row.group.common:
            left = [one.path for one in owners if one is not row.group and one.path not in going]
            if left:
                yield safe(f"stays: {piece.path}: also of {left[0]}")
        for link in row.group.links:
            what = "a link, and may be somebody else's" if link.is_symlink() else "no regular file"
            yield f"stays: {safe(str(link))}: {what}"
    done = ends.get(row.group.path) if ends else None
    if done is not None and done.cleaned:
        yield f"taken out of shared files: {done.cleaned:,} lines and rows"
    for one in row.residues if done is None or not done.cleaned else ():
        if not (one.count or one.unclear or one.note or one.fault):
            continue
        yield f"elsewhere: {safe(one.words)}"
        if one.otherwise:
            yield f"    or {safe(one.otherwise)}"


def copies_of(path: str, copies: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The copies of a session that is deleted, which stay."""
    return (f"stays: {safe(copy)}: a copy that sesstool made" for copy in copies.get(path, ()))


def _kept(rows: Iterable[Row], columns: int | None, *, space: bool) -> Iterator[str]:
    """How many sessions stay for which reason; what a reason says of one session is left out."""
    stay = (row for row in rows if row.decision.action in ("keep", "skip"))
    reasons = Counter(safe(why(row).partition(": ")[0]) for row in stay)
    if reasons and space:
        yield ""
    if reasons:
        yield "What stays, and why (--all tells each):"
    numbers = [f"{number:,}" for number in reasons.values()]
    for reason, number in reasons.most_common():
        start = f"  {number:>{max(map(len, numbers)) if numbers else 0},}  "
        room = len(reason) if columns is None else columns - len(start) - 1
        yield start + f"\n{' ' * len(start)}".join(_wrapped(reason, room))


def _session(row: Row, plan: Plan) -> dict[str, Any]:
    group, decision, _ = row
    outputs = plan.outputs.get(group.path)
    return {
        "path": group.path,
        "session": group.session,
        "agent": group.agent,
        "action": decision.action,
        "rule": decision.rule,
        "reason": decision.reason,
        "created": group.created.isoformat() if group.created else None,
        "last_activity": group.recorded.isoformat() if group.recorded else None,
        "age_seconds": None if decision.age is None else int(decision.age.total_seconds()),
        "bytes": group.size,
        "files": [str(piece.path) for piece in group.pieces],
        "state": group.state,
        "outputs": outputs and outputs._asdict(),
    }


def entry_value(entry: Entry) -> dict[str, Any]:
    """An entry of the trash in JSON."""
    return {
        "id": entry.id,
        "session": entry.session,
        "agent": entry.agent,
        "path": entry.path,
        "action": entry.action,
        "rule": entry.rule,
        "taken": entry.made.isoformat(),
        "until": entry.until.isoformat() if entry.until else None,
        "bytes": entry.size,
        "files": [str(item.path) for item in entry.items],
    }


def _done(one: Done) -> dict[str, Any]:
    return {
        "path": one.path,
        "action": one.action,
        "entry": one.entry.id if one.entry else None,
        "skipped": one.skipped.message if one.skipped else None,
        "unfinished": one.unfinished.message if one.unfinished else None,
        "cleaned": one.cleaned,
        "left": list(one.left),
    }
