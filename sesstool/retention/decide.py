"""What a policy says about sessions at a moment. Nothing here looks at a disk or a clock.

The order: a hold, then what is protected, live or damaged, then the longest retention, then the
earliest expiry with the strongest action of those that are due, then the caps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol

from sesstool.errors import WriteError
from sesstool.retention.matching import Also, match
from sesstool.retention.matching import Facts as Matched
from sesstool.retention.policy import ACTIONS, FOREVER, Cap, Hold, Match, Policy, Rule

REDACT = "redact-payload"
SHRED = "shred-key"
# The newest file on a computer that is used is not older.
_CLOCK_AHEAD = timedelta(days=30)
_ERASE = "it is erased by request"
_OLDEST = datetime.min.replace(tzinfo=UTC)


class Holdable(Matched, Protocol):
    """What must be known to tell whether a session is held."""

    @property
    def also(self) -> Also:
        """What keeps it as well."""


class Facts(Holdable, Protocol):
    """What is known of a session and all that belongs to it; times are in UTC."""

    @property
    def untouched(self) -> str:
        """Why nothing is ever done to it, "" where its format is known."""

    @property
    def blind(self) -> str:
        """Why no record tells a time."""

    @property
    def created(self) -> datetime | None:
        """The time of its first record, None where none tells one."""

    @property
    def recorded(self) -> datetime | None:
        """The time of its newest record."""

    @property
    def modified(self) -> datetime:
        """The newest time of its files."""

    @property
    def family(self) -> str:
        """What all its copies have in common, "" where it has none."""

    @property
    def base(self) -> str:
        """The id of the session whose file it reads its beginning from, or ""."""

    def trouble(self) -> tuple[str, str]:
        """Why it must stay as it is: "live", "damaged", "unreadable" or "", and in words.

        This reads its files, so it is asked only of those that are due. More of the rest may be
        known afterwards, and its time be later, or none.
        """
        ...


class Decision(NamedTuple):
    """What is to be done with a session, and why.

    `action` is "keep", "skip" (its format is not known), or one of a policy's. `rule` names the
    hold, rule or cap that decides, or is "". `age` is None where it is not known.
    """

    action: str
    reason: str
    rule: str = ""
    age: timedelta | None = None

    @property
    def acts(self) -> bool:
        """Whether something is done with the session."""
        return self.action not in ("keep", "skip")

    @property
    def removes(self) -> bool:
        """Whether the session leaves its place."""
        return self.acts and self.action != REDACT

    def kept(self, reason: str, rule: str = "") -> Decision:
        """Keep it after all."""
        return self._replace(action="keep", reason=reason, rule=rule)


@dataclass(frozen=True, slots=True)
class _Case:
    """A session under judgement: its age, or why that is not known."""

    facts: Facts
    age: timedelta | None
    unknown: str

    def keep(self, reason: str, rule: str = "") -> Decision:
        return Decision("keep", reason, rule, self.age)


def decide(
    sessions: Sequence[Facts],
    policy: Policy,
    now: datetime,
    *,
    holds: Iterable[Hold] = (),
    erase: frozenset[str] = frozenset(),
) -> list[Decision]:
    """One decision a session, in their order.

    `holds` count beside those of the policy. The sessions whose paths are in `erase` are deleted
    whatever their age, unless a hold, a retention or a writer forbids it.
    """
    holds = (*policy.holds, *holds)
    while True:
        times = [facts.recorded for facts in sessions]
        cases = _cases(sessions, policy, now)
        newest = _newest(cases, policy)
        decisions = [
            _erased(case, policy, holds, now)
            if case.facts.path in erase
            else _decided(case, policy, holds, now, newest)
            for case in cases
        ]
        for cap in policy.caps:
            _cap(cap, cases, decisions, policy, holds, now, newest)
        keep_bases(sessions, decisions)
        # What was read may be younger than it looked, and all of its family with it.
        if times == [facts.recorded for facts in sessions]:
            return decisions


def keep_bases(sessions: Sequence[Facts], decisions: list[Decision]) -> None:
    """Keep what a session that stays, or may come back, reads its beginning from.

    `decisions` are changed in their place.
    """
    places = defaultdict[str, list[int]](list)
    for at, facts in enumerate(sessions):
        places[facts.session].append(at)
    # A base that is kept may have a base in turn.
    left = [at for at, facts in enumerate(sessions) if facts.base]
    while left:
        child = left.pop()
        after = decisions[child]
        for at in places.get(sessions[child].base, ()):
            before = decisions[at]
            if _strength(before) > _strength(after):
                reason = f"the fork {sessions[child].session} reads its beginning from it"
                decisions[at] = before.kept(reason)
                if sessions[at].base:
                    left.append(at)


def check_clock(now: datetime, last_run: datetime | None, newest: datetime | None) -> None:
    """Raise WriteError where the clock cannot be right: what is old depends on it."""
    hint = "set the clock; with --trust-clock its time is taken as it is"
    if last_run is not None and now < last_run:
        raise WriteError(
            f"the clock says {now:%Y-%m-%d %H:%M} UTC, and the last run was later than that", hint
        )
    if newest is not None and now - newest > _CLOCK_AHEAD:
        raise WriteError(
            f"the clock is {(now - newest).days} days ahead of the newest file of all sessions",
            hint,
        )


def check_limit(decisions: Sequence[Decision], policy: Policy, most: int | None = None) -> str:
    """Why a run may not remove so many sessions, "" where it may; `most` counts before the policy.

    What is looked at, and of a known format, is the whole that a fraction is of.
    """
    removed = sum(decision.removes for decision in decisions)
    if most is not None:
        return f"{removed} sessions would go, and --max-delete is {most}" if removed > most else ""
    whole = sum(decision.action != "skip" for decision in decisions)
    # Divided, for 0.29 * 100 is less than 29.
    if not removed or removed / whole <= policy.defaults.max_delete_fraction:
        return ""
    return (
        f"{removed} of {whole} sessions would go, and one run may remove no more than "
        f"{policy.defaults.max_delete_fraction:.0%} of them (max_delete_fraction)"
    )


def held(facts: Holdable, holds: Iterable[Hold], now: datetime) -> Hold | None:
    """The hold that a session is under, if it is."""
    also = facts.also
    for hold in holds:
        began = hold.since is None or hold.since <= now
        if began and (hold.until is None or now < hold.until) and _keeps(hold.match, facts, also):
            return hold
    return None


def _keeps(wanted: Match, facts: Holdable, also: Also) -> bool:
    """Whether what keeps is for a session: in doubt it is, and one of its files is enough."""
    return match(wanted, facts, doubt=True, also=also)


def days(span: timedelta) -> str:
    """A time span as a policy writes it, in whole days where there is one."""
    if span == FOREVER:
        return "forever"
    hours = int(span / timedelta(hours=1))
    return f"{hours // 24}d" if hours >= 24 else f"{hours}h"


def _cases(sessions: Sequence[Facts], policy: Policy, now: datetime) -> list[_Case]:
    active = [_active(facts, policy, now) for facts in sessions]
    youngest: dict[str, datetime] = {}
    unknown: dict[str, str] = {}
    if policy.defaults.fork == "family":
        for facts, (time, why) in zip(sessions, active, strict=True):
            if facts.family and time is not None:
                youngest[facts.family] = max(time, youngest.get(facts.family, time))
            elif facts.family:
                unknown[facts.family] = f"of its fork {facts.session}: {why}"
    cases = []
    for facts, (own, why) in zip(sessions, active, strict=True):
        if own is not None and facts.family in unknown:  # the youngest may be that one
            cases.append(_Case(facts, None, unknown[facts.family]))
        else:
            time = own if own is None else youngest.get(facts.family, own)
            age = None if time is None else max(now - time, timedelta(0))
            cases.append(_Case(facts, age, why))
    return cases


def _active(facts: Facts, policy: Policy, now: datetime) -> tuple[datetime | None, str]:
    """When a session's age begins; else None, and why that is not known."""
    if facts.recorded is None:
        return None, facts.blind
    if facts.modified == _OLDEST:
        return None, "its file has a time that cannot be"
    latest = max(facts.recorded, facts.modified)
    if latest - now > policy.defaults.clock_tolerance:
        return None, f"its time is yet to come ({latest:%Y-%m-%d})"
    if policy.defaults.age_from == "created":
        return (facts.created, "") if facts.created else (None, "no record tells its beginning")
    return latest, ""


def _newest(cases: Iterable[_Case], policy: Policy) -> frozenset[str]:
    """The paths of the newest sessions of each project, as many as the policy protects."""
    projects = defaultdict[tuple[str, ...], list[_Case]](list)
    for case in cases:
        facts = case.facts
        # Agents share a folder, but what they call a project without one is each their own.
        name = (facts.cwd,) if facts.cwd else (facts.agent, facts.project)
        projects[name].append(case)
    found: list[str] = []
    for some in projects.values():
        # By the time of each, for a family would have the same.
        some.sort(key=lambda one: (one.facts.recorded or _OLDEST, one.facts.path), reverse=True)
        found += [case.facts.path for case in some[: policy.protect.min_keep_per_project]]
    return frozenset(found)


def _decided(
    case: _Case, policy: Policy, holds: tuple[Hold, ...], now: datetime, newest: frozenset[str]
) -> Decision:
    facts = case.facts
    if facts.untouched:
        return Decision("skip", facts.untouched)
    if kept := _held(case, holds, now):
        return kept
    if case.age is None:
        return case.keep(case.unknown)
    rules = [rule for rule in policy.rules if match(rule.match, facts)]
    due = [r for r in rules if r.expire_after not in (None, FOREVER) and case.age >= _end(r)]
    if not due:
        return _young(case, policy, rules)
    if kept := _bound(case, policy, holds, now):
        return kept
    whole = [rule for rule in due if rule.action != REDACT]
    if whole and facts.path not in newest:
        return _expired(case, whole)
    parts = [rule for rule in due if rule.action == REDACT]
    if parts:
        rule = min(parts, key=_end)
        reason = f"{'|'.join(rule.match.part)} older than {days(_end(rule))}"
        return Decision(REDACT, reason, rule.name, case.age)
    return case.keep(f"one of the {policy.protect.min_keep_per_project} newest of its project")


def _expired(case: _Case, due: Sequence[Rule]) -> Decision:
    """One rule that is due is enough, and the strongest action of all that are is done.

    Of two rules with that action the one that was due earlier is named.
    """
    rule = max(due, key=lambda rule: (ACTIONS.index(rule.action), -_end(rule)))
    return _done(case, rule.action, f"older than {days(_end(rule))}", rule.name)


def _done(case: _Case, action: str, reason: str, rule: str) -> Decision:
    """The decision that removes a session, if it can be done."""
    if action == SHRED:
        reason += ', and its key is not its own, so none can be shredded: use action = "delete"'
        return case.keep(reason, rule)
    return Decision(action, reason, rule, case.age)


def _erased(case: _Case, policy: Policy, holds: tuple[Hold, ...], now: datetime) -> Decision:
    if case.facts.untouched:
        return Decision("skip", case.facts.untouched)
    kind, words = case.facts.trouble()
    if kept := _held(case, holds, now):
        return kept
    if kind == "live":
        return case.keep(words)
    return _retained(case, policy) or Decision("delete", _ERASE, "", case.age)


def _bound(case: _Case, policy: Policy, holds: tuple[Hold, ...], now: datetime) -> Decision | None:
    """Why a session stays that would go, by all that its file tells once it is read."""
    case.facts.trouble()
    return _held(case, holds, now) or _protected(case, policy) or _retained(case, policy)


def _held(case: _Case, holds: tuple[Hold, ...], now: datetime) -> Decision | None:
    hold = held(case.facts, holds, now)
    if hold is None:
        return None
    until = f"until {hold.until:%Y-%m-%d %H:%M} UTC" if hold.until else "until released"
    return case.keep(f"hold {hold.name} {until}", hold.name)


def _protected(case: _Case, policy: Policy) -> Decision | None:
    """Why a session may not be touched now, by `protect`; a live one never may."""
    if "pinned" in policy.protect.never and "pinned" in case.facts.tags | case.facts.also.tags:
        return case.keep("pinned")
    kind, words = case.facts.trouble()
    return case.keep(words) if kind == "live" or kind in policy.protect.never else None


def _retained(case: _Case, policy: Policy) -> Decision | None:
    """The longest retention that has not passed; one of unknown age is kept by any."""
    also = case.facts.also
    periods = [
        (rule.retain_for, rule.name)
        for rule in policy.rules
        if rule.retain_for is not None and _keeps(rule.match, case.facts, also)
    ]
    longest, name = max(periods, default=(timedelta(0), ""))
    if name and (case.age is None or case.age < longest):
        return case.keep(f"retained for {days(longest)}", name)
    return None


def _young(case: _Case, policy: Policy, rules: Iterable[Rule]) -> Decision:
    """Nothing is due: which rule will be next, or that there is none."""
    if kept := _retained(case, policy):
        return kept
    coming = [rule for rule in rules if rule.expire_after not in (None, FOREVER)]
    if not coming:
        return case.keep("no rule is for it")
    rule = min(coming, key=_end)
    return case.keep(f"newer than {days(_end(rule))}", rule.name)


def _end(rule: Rule) -> timedelta:
    return rule.expire_after or FOREVER


def _cap(
    cap: Cap,
    cases: Sequence[_Case],
    decisions: list[Decision],
    policy: Policy,
    holds: tuple[Hold, ...],
    now: datetime,
    newest: frozenset[str],
) -> None:
    """Remove sessions, oldest or largest first, until what matches a cap fits below it.

    What a session reads its beginning from waits until that one goes.
    """
    sessions = [case.facts for case in cases]
    keep_bases(sessions, left := list(decisions))
    children = defaultdict[str, list[int]](list)
    for at, facts in enumerate(sessions):
        children[facts.base].append(at)
    found = [
        at
        for at, case in enumerate(cases)
        if not case.facts.untouched and not left[at].removes and match(cap.match, case.facts)
    ]
    excess = sum(sessions[at].size for at in found) - cap.max_bytes
    # One of unknown age is kept.
    queue = [(*_turn(cap, cases[at]), at) for at in found if cases[at].age is not None]
    heapify(queue)
    waiting = defaultdict[str, list[tuple[int, timedelta, datetime, str, int]]](list)
    while queue and excess > 0:
        turn = heappop(queue)
        at = turn[-1]
        case, wanted = cases[at], decisions[at]
        if not wanted.removes:
            wanted = _capped(cap, case, policy, holds, now, newest) or wanted
        if not wanted.removes:
            decisions[at] = wanted
            continue
        if any(
            _strength(left[child]) < _strength(wanted) for child in children[case.facts.session]
        ):
            waiting[case.facts.session].append(turn)
            continue
        decisions[at] = left[at] = wanted
        excess -= case.facts.size
        for turn in waiting.pop(case.facts.base, ()):
            heappush(queue, turn)


def _turn(cap: Cap, case: _Case) -> tuple[int, timedelta, datetime, str]:
    """What comes first in order is the first to go; nothing else but these counts."""
    facts = case.facts
    size = -facts.size if cap.order == "largest" else 0
    # A family has one age, of which the oldest copy goes first.
    return size, -(case.age or timedelta(0)), facts.recorded or _OLDEST, facts.path


def _capped(
    cap: Cap,
    case: _Case,
    policy: Policy,
    holds: tuple[Hold, ...],
    now: datetime,
    newest: frozenset[str],
) -> Decision | None:
    """What a cap does with a session, None for nothing."""
    if _held(case, holds, now) or case.facts.path in newest or _retained(case, policy):
        return None
    reason = f"more than {cap.max_bytes:,} bytes in all"
    return _bound(case, policy, holds, now) or _done(case, cap.action, reason, cap.name)


def _strength(decision: Decision) -> int:
    return ACTIONS.index(decision.action) if decision.removes else -1
