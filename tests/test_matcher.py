"""Rules on one text: what is found does not depend on how the text is gone through."""

from sesstool.privacy import ruleset
from sesstool.privacy.matcher import Matcher

RULES = ruleset.shipped()


def test_a_tiny_window_finds_the_same():
    texts = [ruleset.expand(e, rule.id)[0] for rule in RULES for e in rule.examples]
    text = "\n\n".join(texts).encode()
    assert Matcher(RULES, window=64).find(text) == Matcher(RULES).find(text)


def test_what_a_rule_finds_in_a_text_it_finds_wherever_that_stands():
    """The parts that are tried reach as far as a match does."""
    for rule in RULES:
        matcher = Matcher([rule])
        for example in rule.examples:
            text = ruleset.expand(example, rule.id)[0].encode()
            alone = {(m.start, m.end) for m in matcher.find(text)}
            before, behind = b"word \n\n" * 3000, b"\n\n; ;" * 3000
            among = matcher.find(before + text + behind)
            moved = {(m.start - len(before), m.end - len(before)) for m in among}
            assert alone <= moved, rule.id
