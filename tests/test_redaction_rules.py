"""The shipped detection rules on their own examples."""

import pytest

from sesstool.privacy import ruleset
from sesstool.privacy.scan import Scanner

RULES = ruleset.shipped()


@pytest.fixture(scope="module")
def scanner():
    return Scanner(RULES)


def _spans(scanner, rule, example):
    """The spans in bytes that the example marks, and the hits in it."""
    text, marked = ruleset.expand(example, rule.id)
    offset = [len(text[:n].encode()) for n in range(len(text) + 1)]
    return [(offset[a], offset[b]) for a, b in marked], scanner.scan(text.encode())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_what_its_examples_mark(scanner, rule):
    assert rule.examples
    for number, example in enumerate(rule.examples):
        marked, hits = _spans(scanner, rule, example)
        assert marked, number
        assert {(h.start, h.end) for h in hits if h.rule is rule} == set(marked), number


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_leaves_its_counter_examples_alone(scanner, rule):
    assert rule.counter_examples
    for number, example in enumerate(rule.counter_examples):
        _, hits = _spans(scanner, rule, example)
        assert not [h for h in hits if h.rule is rule], number


def test_rules_have_names_of_their_own():
    names = [rule.id for rule in RULES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_match_holds_an_anchor(rule):
    """A text without any of a rule's anchors is never given to it."""
    for example in rule.examples:
        text, _ = ruleset.expand(example, rule.id)
        assert not rule.anchors or any(a in text.lower() for a in rule.anchors)
    assert all(a == a.lower() and a.isascii() for a in rule.anchors)
