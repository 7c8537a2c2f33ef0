"""The shipped detection rules on their own examples."""

import pytest

from sesstool.privacy import ruleset
from sesstool.privacy.scan import Scanner

RULES = ruleset.shipped()


@pytest.fixture(scope="module")
def scanner():
    return Scanner(RULES)


def _marked(rule, example):
    """An example as bytes, and the spans that it marks."""
    text, marked = ruleset.expand(example, rule.id)
    offset = [len(text[:n].encode()) for n in range(len(text) + 1)]
    return text.encode(), [(offset[a], offset[b]) for a, b in marked]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_what_its_examples_mark(rule):
    assert rule.examples
    for number, example in enumerate(rule.examples):
        text, marked = _marked(rule, example)
        assert marked, number
        assert {(h.start, h.end) for h in Scanner([rule]).scan(text)} == set(marked), number


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_among_all_rules_nothing_of_a_value_stays(scanner, rule):
    """Another rule may win, but it covers the value as well."""
    for number, example in enumerate(rule.examples):
        text, marked = _marked(rule, example)
        hits = scanner.scan(text)
        for start, end in marked:
            assert any(h.start <= start and end <= h.end for h in hits), number


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_leaves_its_counter_examples_alone(rule):
    assert rule.counter_examples
    for number, example in enumerate(rule.counter_examples):
        text, _ = ruleset.expand(example, rule.id)
        assert not Scanner([rule]).scan(text.encode()), number


@pytest.mark.parametrize("around", ["-{}", "a\n-{}\n", "_{}_", "**_{}_**", "({})"])
def test_marks_of_text_beside_a_token_do_not_hide_it(scanner, around):
    for rule in RULES:
        if rule.boundary != "token" or rule.group != "secret" or rule.value_groups != (0,):
            continue
        text, [(start, end), *_] = ruleset.expand(rule.examples[0], rule.id)
        token = text[start:end]
        text = around.format(token).encode()
        start = text.index(token.encode())
        end = start + len(token)
        assert any(h.start <= start and end <= h.end for h in scanner.scan(text)), rule.id


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
