"""What holds of every decision, whatever the policy and the sessions are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.retention.decide import check_limit, decide
from sesstool.retention.policy import (
    FOREVER,
    Archive,
    Cap,
    Defaults,
    Hold,
    Match,
    Policy,
    Protect,
    Rule,
)
from tests.retention_table import NOW, Known, Told, facts, identity

NAMES = "abcdef"
SPANS = st.sampled_from([timedelta(days=n) for n in (1, 10, 50, 100)] + [FOREVER])
MATCHES = st.builds(
    Match,
    session=st.just(()) | st.tuples(st.sampled_from(NAMES).map(identity)),
    project=st.sampled_from([(), ("harbour",), ("beacon",)]),
    model=st.sampled_from([(), ("lamp-1",)]),
    tags=st.sampled_from([(), ("acme",)]),
)
ACTIONS = st.sampled_from(["archive", "trash", "delete", "shred-key"])
REDACTIONS = st.builds(
    Rule,
    name=st.just("part"),
    match=st.just(Match(part=("tool-results",))),
    retain_for=st.none(),
    expire_after=SPANS,
    action=st.just("redact-payload"),
)
RULES = st.builds(
    Rule,
    name=st.just("rule"),
    match=MATCHES,
    retain_for=st.none() | SPANS,
    expire_after=st.none() | SPANS,
    action=ACTIONS,
)
HOLDS = st.builds(Hold, name=st.just("hold"), match=MATCHES, reason=st.just("a letter"))
CAPS = st.builds(
    Cap,
    name=st.just("cap"),
    match=MATCHES,
    max_bytes=st.integers(1, 6000),
    order=st.sampled_from(["largest", "oldest-activity"]),
    action=ACTIONS,
)
POLICIES = st.builds(
    Policy,
    name=st.just("retention.toml"),
    sha256=st.just(""),
    defaults=st.builds(
        Defaults,
        fork=st.sampled_from(["family", "independent"]),
        age_from=st.sampled_from(["created", "last-activity"]),
    ),
    protect=st.builds(
        Protect,
        min_keep_per_project=st.integers(0, 2),
        never=st.sampled_from([(), ("pinned", "live", "damaged", "unreadable")]),
    ),
    archive=st.just(Archive()),
    holds=st.lists(HOLDS, max_size=2).map(tuple),
    rules=st.lists(RULES | REDACTIONS, max_size=4).map(tuple),
    caps=st.lists(CAPS, max_size=2).map(tuple),
)
AGES = st.sampled_from(["-3d", "0d", "1d", "9d", "49d", "50d", "51d", "100d", "500d"])


@st.composite
def sessions(draw):
    """Up to six, some of which are copies of others, or read from them."""
    names = NAMES[: draw(st.integers(1, 6))]
    nobody = st.just("")
    told = [
        Told(
            name,
            NOW,
            age=draw(AGES),
            touched=draw(AGES),
            begun=draw(st.sampled_from(["", "500d"])),
            cwd=draw(st.sampled_from(["/srv/harbour", "/srv/beacon"])),
            tags=draw(st.sampled_from([[], ["acme"], ["pinned"]])),
            model=draw(st.sampled_from(["lamp-1", "horn-1", ""])),
            size=draw(st.sampled_from([1000, 2000, 3000])),
            state=draw(st.sampled_from(["", "", "", "live", "damaged", "unreadable"])),
            untimed=draw(st.sampled_from([False, False, False, True])),
            unknown=draw(st.sampled_from([False] * 5 + [True])),
            copy_of=draw(nobody | st.sampled_from(NAMES[:number] or [""])),
            reads=draw(nobody | st.sampled_from(NAMES)),
        )
        for number, name in enumerate(names)
    ]
    return facts(told)


def removed(found: list[Known], policy: Policy, **more) -> set[str]:
    """The sessions that a policy removes."""
    decisions = decide(found, policy, NOW, **more)
    return {one.path for one, said in zip(found, decisions, strict=True) if said.removes}


@given(sessions(), POLICIES, HOLDS, st.booleans())
def test_a_hold_never_adds_a_removal_without_caps(found, policy, hold, beside):
    """Nor does it take one away of what it neither holds nor keeps for it."""
    policy = replace(policy, caps=())
    if beside:
        after = removed(found, policy, holds=[hold])
    else:
        after = removed(found, replace(policy, holds=(*policy.holds, hold)))
    assert after <= removed(found, policy)


@given(sessions(), POLICIES, st.integers(0, 3), SPANS)
def test_a_longer_retention_never_adds_a_removal(found, policy, which, span):
    policy = replace(policy, caps=())
    rules = list(policy.rules)
    if which < len(rules):
        longer = max(span, rules[which].retain_for or span)
        rules[which] = replace(rules[which], retain_for=longer)
    assert removed(found, replace(policy, rules=tuple(rules))) <= removed(found, policy)


@given(sessions(), POLICIES, st.lists(HOLDS, max_size=2))
def test_what_is_held_never_goes(found, policy, holds):
    """With caps, too, and when it is to be erased; nor does what it reads from."""
    erase = frozenset(one.path for one in found[::2])
    gone = removed(found, policy, holds=holds, erase=erase)
    matches = [hold.match for hold in (*policy.holds, *holds)]
    for one in found:
        mine = [
            m
            for m in matches
            if (not m.session or one.session in m.session)
            and (not m.project or one.project in m.project)
            and (not m.model or not one.models or one.models & set(m.model))
            and (not m.tags or one.tags & set(m.tags))
        ]
        if mine and not one.untouched:
            assert one.path not in gone
            assert not {other.path for other in found if other.session == one.base} & gone


@settings(max_examples=200)
@given(sessions(), POLICIES, st.randoms(use_true_random=False))
def test_the_order_of_sessions_does_not_matter(found, policy, random):
    """Nor what was found of them before."""
    before = dict(zip(found, decide(found, policy, NOW), strict=True))
    mixed = list(found)
    random.shuffle(mixed)
    for one, said in zip(mixed, decide(mixed, policy, NOW), strict=True):
        assert said[:1] + said[2:] == before[one][:1] + before[one][2:]


@given(sessions())
def test_an_empty_policy_keeps_all(found):
    policy = Policy("retention.toml", "", Defaults(), Protect(), Archive(), (), (), ())
    for one, said in zip(found, decide(found, policy, NOW), strict=True):
        assert said.action == ("skip" if one.untouched else "keep")
    assert check_limit(decide(found, policy, NOW), policy, 0) == ""


@given(sessions(), POLICIES)
def test_what_is_live_is_never_touched(found, policy):
    """Not even its parts, nor by erasure."""
    for erase in (frozenset(), frozenset(one.path for one in found)):
        for one, said in zip(found, decide(found, policy, NOW, erase=erase), strict=True):
            if one.told.state == "live":
                assert said.action in ("keep", "skip")


@given(sessions(), POLICIES)
def test_what_stays_has_its_beginning(found, policy):
    """And what may come back has one that may come back as well."""
    strength = ["keep", "skip", "redact-payload", "archive", "trash", "delete"]
    places = {
        one.session: said for one, said in zip(found, decide(found, policy, NOW), strict=True)
    }
    for one in found:
        base = places.get(one.base)
        if base is not None and base.removes:
            mine = places[one.session]
            assert strength.index(mine.action) >= strength.index(base.action)


@given(sessions(), POLICIES)
def test_a_cap_takes_no_more_than_it_must(found, policy):
    """Without what it took last, more would be there than may be."""
    for cap in policy.caps:
        only = replace(policy, caps=(cap,), rules=(), holds=())
        decisions = decide(found, only, NOW)
        taken = [
            one.size
            for one, d in zip(found, decisions, strict=True)
            if d.rule == "cap" and d.removes
        ]
        mine = replace(only, caps=(replace(cap, max_bytes=1),))
        assert len(taken) <= len(removed(found, mine))
        if taken:
            matched = [
                one
                for one in found
                if not one.untouched
                and (not cap.match.session or one.session in cap.match.session)
                and (not cap.match.project or one.project in cap.match.project)
                and (not cap.match.model or one.models & set(cap.match.model))
                and (not cap.match.tags or one.tags & set(cap.match.tags))
            ]
            left = sum(one.size for one in matched) - sum(taken)
            assert left + max(taken) > cap.max_bytes
