"""What tells that a rule can match tells so wherever it does."""

from collections import Counter
from pathlib import Path

import pytest

from sesstool.privacy.gates import Gates, loosened
from sesstool.privacy.ruleset import compiled, expand, shipped

RULES = shipped()
TEXTS = [
    expand(example, f"{rule.id} {number}")[0].encode()
    for rule in RULES
    for number, example in enumerate((*rule.examples, *rule.counter_examples))
]
# As long as what is tried as a whole, and longer.
TOGETHER = [b"\n".join(TEXTS[at::40]) for at in range(40)] + [b"\n".join(TEXTS)]
SAMPLES = sorted(Path(__file__, "../../samples").resolve().rglob("*.jsonl"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_loosened(rule):
    """Looser than the rule: it matches in all that the rule matches in."""
    loose = compiled(loosened(rule.regex), rule.id)
    for text in TEXTS:
        assert rule.compiled.search(text) is None or loose.search(text) is not None


@pytest.mark.parametrize(
    ("regex", "loose"),
    [
        ("a{3}", "a{3}"),
        ("a{20}", "a{8,}"),
        ("a{2,8}", "a{2,8}"),
        ("a{2,9}", "a{2,}"),
        ("a{0,40}", "a{0,}"),
        ("(?P<value>a)", "(?:a)"),
        ("(?m:^)a[^^]\\^", "(?m:)a[^^]\\^"),
        (r"[\]{9}]\{9}", r"[\]{9}]\{9}"),
    ],
)
def test_loosened_parts(regex, loose):
    assert loosened(regex) == loose


def test_no_match_is_missed():
    """Of rules that are not rare, by the gates, and of rare ones no anchor."""
    gates = Gates(RULES)
    others = [n for n, rule in enumerate(RULES) if (rule.often or not rule.anchors)]
    others = [n for n in others if RULES[n].anchors or not RULES[n].label_pattern]
    rare = {anchor for n in gates.rare for anchor in RULES[n].anchors_bytes}
    for text in [*TEXTS, *TOGETHER]:
        told = set(gates.others(text))
        assert told >= {n for n in others if RULES[n].compiled.search(text)}
        lower = text.lower()
        assert gates.is_rare_in(lower) == any(anchor in lower for anchor in rare)


def test_rules_that_are_often_met():
    """What stands in many texts is declared, or it would be looked for in each of them."""
    gates = Gates(RULES)
    lines = [line for path in SAMPLES for line in path.read_bytes().splitlines()]
    met = Counter(
        anchor
        for line in lines
        for anchor in {a for n in gates.rare for a in RULES[n].anchors_bytes}
        if anchor in line.lower()
    )
    assert {a: n for a, n in met.items() if n * 20 > len(lines)} == {}
