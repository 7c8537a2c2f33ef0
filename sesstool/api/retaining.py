"""Retention: what a policy says of the sessions here, and doing just that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool import api
from sesstool.api import emptying, erasing, naming, redaction
from sesstool.api.emptying import Outputs
from sesstool.api.previews import Saved
from sesstool.audit import log
from sesstool.encryption.keys import parse_recipient
from sesstool.errors import (
    ConfigError,
    LiveSessionError,
    SesstoolError,
    UnfinishedError,
    WriteError,
)
from sesstool.formats.registry import FORMATS, Homes
from sesstool.records.folder import each_below
from sesstool.records.guard import uninterrupted
from sesstool.records.opening import holder_of
from sesstool.records.processes import one_look
from sesstool.records.source import SEALED, plain_path
from sesstool.records.write import place_of
from sesstool.retention import decide, holds, trash
from sesstool.retention.cleanup import Residue
from sesstool.retention.copies import copies
from sesstool.retention.decide import Decision
from sesstool.retention.groups import Group
from sesstool.retention.policy import Hold, Policy, in_use, load, parse
from sesstool.retention.survey import survey
from sesstool.retention.trash import Entry, Order
from sesstool.text import quoted

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

__all__ = ["Done", "Plan", "Row", "apply", "check_clock", "homes", "plan", "refusals"]


class Row(NamedTuple):
    """A session, and what is to be done with it.

    `residues` are what its agent has of it in files that it shares, where that was looked for.
    """

    group: Group
    decision: Decision
    residues: tuple[Residue, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether something is to be done with it."""
        return self.decision.acts


class Done(NamedTuple):
    """What came of a row, or of an entry of the trash: the entry, or why it was skipped.

    `cleaned` counts the lines and rows that went from shared files, and `left` tells
    of files of the agent's home that hold words of a session that was erased, or may. `unfinished`
    says what the next run has to do behind it.
    """

    path: str
    action: str
    entry: Entry | None = None
    skipped: SesstoolError | None = None
    cleaned: int = 0
    left: tuple[str, ...] = ()
    unfinished: UnfinishedError | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run would do. `now` is the moment that it was made for.

    `rows` tell of the sessions that were asked for, `looked_at` counts all that were looked at.
    `ended` are entries of the trash whose grace is over, and archives that a later rule deletes.
    `copies` tells by its path what sesstool made of a session that is deleted. `limit` says why
    the run removes too much, "" where it does not. `outputs` tells by the path of a
    session what is to go of it, where it stays without the output of its tools. `erase` says that
    it was asked for by name, so that what is left must be looked for.
    """

    policy: Policy
    now: datetime
    rows: tuple[Row, ...]
    looked_at: int
    ended: tuple[Entry, ...] = ()
    limit: str = ""
    outputs: Mapping[str, Outputs] = field(default_factory=dict)
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    erase: bool = False

    @property
    def changes(self) -> list[Row]:
        """The rows that something is to be done with."""
        return [row for row in self.rows if row.changes]

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.changes or self.ended)


def homes() -> list[Path]:
    """The session files in the homes of all agents, as the environment tells where they are.

    Folders of them that cannot be listed are among them.
    """
    found = {path for form in FORMATS for end in ("", SEALED) for path in form.find("", end)}
    found = {path for path in found if holder_of(path) is None}  # to those nothing is ever done
    found.update(
        path for form in FORMATS for folder in form.folders() for path in each_below(folder, ())
    )
    return sorted(set(map(place_of, found)))


def plan(
    names: Sequence[str],
    policy: Policy,
    now: datetime | None = None,
    *,
    erase: bool = False,
    clean_up: bool = False,
    most: int | None = None,
    saved: Saved | None = None,
    trust_clock: bool = False,
    keys: Keys | None = None,
    state: Path | None = None,
) -> Plan:
    """What the policy says of the named sessions, of those of all agents where none is named.

    What else lies in the homes of the named ones is looked at, too, for it may need them. `erase`
    asks to delete the named ones whatever their age. With it, and with `clean_up`, what the agents
    have of deleted sessions in shared files is looked for. `most` is how many sessions may go, in
    the place of what the policy says, and nothing is done that `saved` does not have. Nothing is
    written. Raises InputError, UsageError and
    WriteError.
    """
    state = state or api.state_folder()
    when = now or datetime.now(UTC)
    away = [entry for entry in trash.entries(state) if entry.stage is trash.Stage.HELD]
    asked, mine = naming.all_named(names, away, erase=erase) if names else (homes(), away)
    every = {*asked, *_neighbours(asked)}
    codes = partial(_codes, keys=keys)
    groups = survey(every, asked=asked if names else None, keys=keys, codes=codes)
    held = [*policy.holds, *holds.read(state)]
    # What is erased by request is so whatever its age.
    if not (trust_clock or erase) and now is None:
        decide.check_clock(when, _last_run(state), max((g.modified for g in groups), default=None))
    chosen = frozenset(group.path for group in groups if erase and group.asked)
    with one_look():
        decisions = decide.decide(groups, policy, when, holds=held, erase=chosen)
    made = [
        decision if group.asked else decision.kept("not asked for")
        for group, decision in zip(groups, decisions, strict=True)
    ]
    if saved is not None:
        made = list(map(saved.bound, groups, made))
    made += [Decision(entry.action, "") for entry in away]
    # What was taken away may come back, and then reads from its base again.
    decide.keep_bases([*groups, *away], made)
    made = made[: len(groups)]
    ended = [] if erase else [one for one in _ended(away, policy, when, held) if one in mine]
    ended = [one for one in ended if saved is None or saved.has(one)]
    # The part that the policy names is one of the sessions here; the number is of all that goes.
    gone = [Decision("delete", "")] * len(ended) if most is not None else []
    limit = "" if erase and most is None else decide.check_limit([*made, *gone], policy, most)
    outputs = _outputs(groups, made, held, when)
    going = (g.paths for g, one in zip(groups, made, strict=True) if one.action == "delete")
    living = erasing.Living(path for paths in going for path in paths)
    looked = erase or clean_up
    told = tuple(
        Row(group, decision, _residues(group, decision, living, erase=erase) if looked else ())
        for group, decision in zip(groups, made, strict=True)
        if group.asked
    )
    deleted = [row.group for row in told if row.decision.action == "delete"]
    made_of = copies([*deleted, *ended], state)
    return Plan(policy, when, told, len(groups), tuple(ended), limit, outputs, made_of, erase)


def policy_in_use(named: Path | str | None) -> Policy:
    """The policy that is named, else the user's own, else one that says nothing.

    Raises ConfigError.
    """
    found = in_use(str(named) if named else "")
    return load(found) if found else parse(b"version = 1\n", "no policy")


def to_trash(wanted: Plan) -> Plan:
    """A plan that erases, with the trash in the place of deletion."""
    rows = tuple(
        row._replace(decision=row.decision._replace(action="trash")) if row.changes else row
        for row in wanted.rows
    )
    return replace(wanted, rows=rows, erase=False)


def check_clock(state: Path) -> None:
    """Raise WriteError where the clock cannot be right, by the log and the files of the homes."""
    now = datetime.now(UTC)
    times = []
    for path in homes():
        with suppress(OSError):  # gone a moment ago
            times.append(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    decide.check_clock(now, _last_run(state), max(times, default=None))


def refusals(wanted: Plan) -> Iterator[SesstoolError]:
    """Why sessions stay that were to be erased, each with the next step."""
    for group, decision, _ in (row for row in wanted.rows if not row.changes):
        why = f"{group.path} is not erased: {decision.reason}"
        if decision.action == "keep" and group.trouble() == ("live", decision.reason):
            yield LiveSessionError(why, hint="close the agent, and run it again")
        elif decision.action == "skip":
            yield WriteError(why, hint="see what it is, and remove it by hand")
        elif decision.reason.startswith("hold "):
            yield WriteError(why, hint=_held_by(wanted))
        elif decision.rule:
            yield WriteError(why, hint=f"change the rule {decision.rule} in {wanted.policy.name}")
        else:
            yield WriteError(why, hint="name that one as well, or first")


def apply(
    wanted: Plan,
    *,
    clean_up: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
) -> Iterator[Done]:
    """Do what a plan says, and tell of each session as it is done.

    `clean_up` takes what was found of deleted sessions out of shared files too, before they go.

    What changed since, is held or in use by now, or is needed by something that was skipped, is
    skipped. Raises InputError and WriteError where nothing can go on, and ConfigError where the
    policy file can no longer be read.
    """
    state = state or api.state_folder()
    with trash.one_run(state):
        watch = holds.Watch(state, wanted.policy)
        trash.settle(state, partial(decide.held, holds=watch.now(), now=_now(wanted)))
        emptying.settle(state)
        needed: set[str] = set()
        # What others read from goes after them.
        for row in _forks_first(wanted.changes):
            group, decision, _ = row
            cleaned = 0
            # A signal to stop waits until what was done is told, too.
            with uninterrupted():
                try:
                    if group.session in needed:
                        raise WriteError(
                            f"{group.path}: a fork that was skipped needs it",
                            hint="see to the fork first, and run it again",
                        )
                    _check(group, wanted, watch, ignore_live=ignore_live)
                    texts = erasing.prompts(group) if wanted.erase or row.residues else []
                    found = row.residues if clean_up else ()
                    # First: where it fails, or is killed, the session is still there to be erased.
                    for count in erasing.clean(found, state, ignore_live=ignore_live):
                        cleaned += count
                    entry = _do(group, decision, wanted, state, ignore_live=ignore_live)
                    left = erasing.left(group, texts)
                    yield Done(group.path, decision.action, entry, None, cleaned, left)
                except ConfigError:
                    raise  # nobody knows any more what the policy holds
                except UnfinishedError as error:
                    yield Done(group.path, decision.action, cleaned=cleaned, unfinished=error)
                except SesstoolError as error:
                    needed |= {group.base} - {""}
                    yield Done(group.path, decision.action, skipped=error, cleaned=cleaned)
        there = {entry.id for entry in trash.entries(state)}
        living = erasing.Living()
        for entry in wanted.ended:
            with uninterrupted():
                try:
                    if held := decide.held(entry, watch.now(), _now(wanted)):
                        raise WriteError(
                            f"{entry.id} is under the hold {held.name}", hint=_held_by(wanted)
                        )
                    if entry.id not in there:
                        raise WriteError(
                            f"{entry.id} is no longer in the trash", hint="sesstool trash list"
                        )
                    shared = erasing.residues(entry, living=living) if clean_up else []
                    cleaned = sum(erasing.clean(shared, state, ignore_live=ignore_live))
                    gone, left = trash.purge(entry), erasing.staying(shared)
                    yield Done(entry.path, trash.PURGED, gone, None, cleaned, left)
                except ConfigError:
                    raise
                except SesstoolError as error:
                    yield Done(entry.path, trash.PURGED, skipped=error)


def _residues(
    group: Group, decision: Decision, living: erasing.Living, *, erase: bool
) -> tuple[Residue, ...]:
    if decision.action != "delete":
        return ()
    return tuple(erasing.residues(group, every=erase, living=living))


def _codes(path: Path, keys: Keys | None) -> frozenset[str] | None:
    """The codes of what a redaction would find in a session, and the ids of its rules.

    None where it cannot be read to its end.
    """
    found: set[str] = set()
    try:
        with redaction.redact(
            [path], told=lambda _, f: found.update((f.code, f.labels.get("rule", ""))), keys=keys
        ):
            return frozenset(found - {""})
    except SesstoolError:
        return None


def _now(wanted: Plan) -> datetime:
    return max(wanted.now, datetime.now(UTC))


def _neighbours(paths: Iterable[Path]) -> Iterator[Path]:
    """The sessions of the homes that some paths lie in."""
    homes = Homes()
    for home in {found[1] for path in paths if (found := homes.of(plain_path(path)))}:
        for near in each_below(home, api.SUFFIXES):
            found = homes.of(plain_path(near))
            if found is not None and found[1] == home:
                yield near


def _last_run(state: Path) -> datetime | None:
    """When something was written the last time, as the log tells."""
    newest = None
    for line in log.read(state):
        newest = line.get("time")
    with suppress(TypeError, ValueError):
        return datetime.fromisoformat(newest or "")
    return None


def _ended(
    entries: Iterable[Entry], policy: Policy, now: datetime, held: Sequence[Hold]
) -> Iterator[Entry]:
    """What the trash keeps no longer: its grace is over, or a later rule is for an archive."""
    found = list(entries)
    alone = replace(policy, caps=(), protect=replace(policy.protect, min_keep_per_project=0))
    decisions = decide.decide(found, alone, now, holds=held)
    for entry, decision in zip(found, decisions, strict=True):
        later = entry.action == "archive" and decision.action in ("trash", "delete")
        if later or (entry.due(now) and decide.held(entry, held, now) is None):
            yield entry


def _forks_first(rows: Sequence[Row]) -> list[Row]:
    """The rows, each before the one whose file it reads its beginning from."""
    above = {row.group.session: row.group.base for row in rows}

    def depth(row: Row) -> int:
        name, seen = row.group.base, set[str]()
        while name in above and name not in seen:
            seen.add(name)
            name = above[name]
        return len(seen)

    return sorted(rows, key=depth, reverse=True)


def _held_by(wanted: Plan) -> str:
    """The next step where a hold keeps something."""
    where = f" --policy {quoted(wanted.policy.file)}" if wanted.policy.file else ""
    return f"sesstool hold list{where} shows who wants it kept, and why"


def _check(group: Group, wanted: Plan, watch: holds.Watch, *, ignore_live: bool) -> None:
    """Raise unless a group is as it was when the plan was made, and nobody wants it to stay."""
    if held := decide.held(group, watch.now(), _now(wanted)):
        raise WriteError(
            f"{group.path} is under the hold {held.name} by now", hint=_held_by(wanted)
        )
    group.inherit()
    if not all(piece.unchanged() for piece in group.pieces) or group.has_more():
        raise WriteError(f"{group.path} has changed since it was looked at", hint="run it again")
    if not ignore_live and (found := group.writer()):
        raise LiveSessionError(f"{group.path} is {found[1]}", hint="close the agent first")


def _outputs(
    groups: Sequence[Group], decisions: list[Decision], held: Sequence[Hold], now: datetime
) -> dict[str, Outputs]:
    """What is to go of the sessions that stay without the output of their tools.

    One of which nothing would go, or cannot, is kept after all: `decisions` are changed in their
    place.
    """
    found = {}
    files = {piece.path: group for group in groups for piece in group.pieces}
    for at, (group, decision) in enumerate(zip(groups, decisions, strict=True)):
        if decision.action != decide.REDACT:
            continue
        _, words = group.trouble()
        forks = (files[path] for path in emptying.dependents(group) if path in files)
        fork = next((one for one in forks if decide.held(one, held, now)), None)
        try:
            outputs = emptying.look(group, decision.rule)
        except SesstoolError as error:
            words, outputs = words or error.message, Outputs(0, 0, 0)
        if fork is not None:
            words = f"the fork {fork.session}, which is held, reads its beginning from it"
        if not words and not outputs.bytes:
            words = "no output of tools is left in it"
        if words:
            decisions[at] = decision.kept(words, decision.rule)
        else:
            found[group.path] = outputs
    return found


def _end_of_grace(wanted: Plan) -> datetime | None:
    try:
        return _now(wanted) + wanted.policy.defaults.grace
    except OverflowError:
        return None  # it has none


def _do(
    group: Group, decision: Decision, wanted: Plan, state: Path, *, ignore_live: bool
) -> Entry | None:
    policy, action = wanted.policy, decision.action
    if action == decide.REDACT:
        emptying.empty(group, decision.rule, state, ignore_live=ignore_live)
        return None
    until = _end_of_grace(wanted) if action == "trash" else None
    order = Order(
        action,
        decision.rule,
        decision.reason,
        until,
        policy.archive.to if action == "archive" else None,
        tuple(map(parse_recipient, policy.archive.recipients)) if action == "archive" else (),
        policy.defaults.tombstone,
    )
    return trash.take(state, group, order, datetime.now(UTC))
