"""The table of rules and the page of each."""

from __future__ import annotations

import pytest

from sesstool.checks import engine, rule
from sesstool.errors import UsageError
from sesstool.findings import Severity

assert engine  # it fills the table


@pytest.mark.parametrize("known", rule.RULES.values(), ids=lambda r: r.code)
def test_every_page_is_whole(known):
    """A page has all its sections, each with something in it, and is found by both names."""
    assert list(known.sections) == list(rule.SECTIONS)
    assert all(known.sections.values())
    assert known.summary.endswith(".")
    assert known.page.startswith(f"# {known.code} {known.name}\n")
    assert all(f"## {title}\n" in known.page for title in rule.SECTIONS.values())
    assert rule.find(known.code.lower()) is known
    assert rule.find(f" {known.name.upper()} ") is known


def test_the_table_refuses_what_is_not_whole():
    """A rule without a section, or under a code or name that is taken, is an error."""

    def page():
        """Says little.

        Finds: Something.
        """

    with pytest.raises(ValueError, match="lacks"):
        rule.rule("B999", "brand-new", Severity.ERROR)(page)
    page.__doc__ = "Says all.\n\n" + "\n".join(f"{name}: x" for name in rule.SECTIONS)
    for code, name in (("B101", "brand-new"), ("B999", "bom")):
        with pytest.raises(ValueError, match="already"):
            rule.rule(code, name, Severity.ERROR)(page)
    assert "B999" not in rule.RULES


def test_an_unknown_rule():
    """A code or name that no rule has is an error with a hint."""
    with pytest.raises(UsageError, match="no rule B000") as caught:
        rule.find("B000")
    assert caught.value.hint
