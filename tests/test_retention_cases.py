"""What a policy means, as a table: `tests/retention/` has the cases, `retention_table.py` tells."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sesstool import api
from sesstool.api import retaining
from sesstool.encryption.keyring import Keys
from sesstool.errors import ConfigError, WriteError
from sesstool.retention import holds
from sesstool.retention.decide import Decision, check_clock, check_limit, decide
from sesstool.retention.policy import parse
from tests.retention_table import KEY, cases, facts, moment, policy_of, told, write

CASES = cases()
DECIDED = [case for case in CASES if "sessions" in case]
AS_FILES = [case for case in DECIDED if "data_only" not in case]
REFUSED = [case for case in CASES if "error" in case]
CLOCKS = [case for case in CASES if "clock" in case]


def named(some):
    return pytest.mark.parametrize("case", some, ids=[case["name"] for case in some])


def extra(case):
    """The holds that stand beside the policy."""
    return parse(policy_of({"policy": case.get("holds", "")}), "holds").holds


def agree(wanted, decisions, limit, case):
    """Compare with what a case says; decisions are by the id of the session."""
    for one in wanted:
        found = decisions[str(one.path)]
        assert (found.action, found.rule) == (one.expect, one.rule), (one.name, found.reason)
        assert one.why in found.reason, one.name
        assert found.age is None or found.age >= timedelta(0)
    if "limit" in case:
        assert case["limit"] in limit
        assert bool(case["limit"]) is bool(limit)


def test_the_table_is_one():
    """Each case has a name of its own and is of one kind, and at least sixty are decided."""
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    assert len(DECIDED) + len(REFUSED) + len(CLOCKS) == len(CASES)
    assert len(AS_FILES) >= 60


@named(DECIDED)
def test_a_policy_says_of_facts(case):
    sessions = told(case)
    policy = parse(policy_of(case), "retention.toml")
    erase = frozenset(str(one.path) for one in sessions if one.name in case.get("erase", ()))
    found = decide(facts(sessions), policy, moment(case), holds=extra(case), erase=erase)
    decisions = {str(one.path): decision for one, decision in zip(sessions, found, strict=True)}
    agree(sessions, decisions, check_limit(found, policy, case.get("most")), case)


@named(AS_FILES)
def test_a_policy_says_the_same_of_files(case):
    sessions = told(case)
    write(sessions)
    state = api.state_folder()
    if "holds" in case:
        holds.add(state, *extra(case))
    erase = [str(one.path) for one in sessions if one.name in case.get("erase", ())]
    policy = parse(policy_of(case), "retention.toml")
    keys = Keys(given=[KEY]) if any(one.encrypted for one in sessions) else None
    plan = retaining.plan(
        erase, policy, moment(case), erase=bool(erase), most=case.get("most"), keys=keys
    )
    decisions = {row.group.path: row.decision for row in plan.rows}
    wanted = [one for one in sessions if not erase or str(one.path) in erase]
    assert decisions.keys() == {str(one.path) for one in wanted}
    agree(wanted, decisions, plan.limit, case)


@named(REFUSED)
def test_a_policy_is_refused_with_line_and_key(case):
    with pytest.raises(ConfigError) as error:
        parse(policy_of(case), "retention.toml")
    assert f"retention.toml:{case['error']}" in error.value.message


@named(CLOCKS)
def test_a_clock_that_cannot_be_right_stops_the_run(case):
    times = case["clock"]
    if case.get("stops"):
        with pytest.raises(WriteError, match=case["stops"]) as error:
            check_clock(moment(case), times.get("last_run"), times.get("newest"))
        assert "--trust-clock" in (error.value.hint or "")
    else:
        check_clock(moment(case), times.get("last_run"), times.get("newest"))


def test_a_part_of_a_hundred_is_as_many():
    """However the part is rounded: as many may go, and one more may not."""
    for most in range(1, 100):
        text = f"version = 1\n[defaults]\nmax_delete_fraction = 0.{most:02d}\n"
        policy = parse(text.encode(), "retention.toml")
        told = [Decision("trash", "") if n < most else Decision("keep", "") for n in range(100)]
        assert check_limit(told, policy) == ""
        assert check_limit([*told[:most], Decision("trash", ""), *told[most + 1 :]], policy)


def test_files_are_read_only_of_what_is_due():
    """Whether a session is live or damaged is asked of those that may go."""
    for name, expected in (
        ("order: what is due goes, the rest stays", [True, False]),
        ("order: a hold is before a cap", [False, True]),
        ("order: retention is before a cap", [False, True]),
    ):
        case = next(one for one in DECIDED if one["name"] == name)
        known = facts(told(case))
        decide(known, parse(policy_of(case), "retention.toml"), moment(case))
        assert [one.asked > 0 for one in known] == expected, name
