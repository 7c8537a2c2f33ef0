"""Values that a line break cut are found; what merely stands on two lines is not joined."""

import pytest

from sesstool.privacy import ruleset
from sesstool.privacy.scan import Scanner

# Made of parts: nothing in this file looks like a credential.
TOKEN = "gh" + "p_" + "aB3dE5gH7jK9" * 3


@pytest.fixture(scope="module")
def scanner():
    return Scanner(ruleset.shipped())


def found(scanner, text):
    return [
        (h.value.decode(), text.encode()[h.start : h.end].decode())
        for h in scanner.scan(text.encode())
    ]


@pytest.mark.parametrize("between", ["\n", "\r\n", "\n    ", "\\\n", "\n> ", "\n  | "])
def test_a_value_over_the_end_of_a_full_line(scanner, between):
    head = "remote: the answer of the server was, in the end: "
    text = f"{head}{TOKEN[:14]}{between}{TOKEN[14:]} and no more"
    assert found(scanner, text) == [(TOKEN, f"{TOKEN[:14]}{between}{TOKEN[14:]}")]


def test_a_value_over_three_lines(scanner):
    head = "x" * 60 + " "
    wide = "ab12CD34" * 8
    text = f"{head}gh" + f"p_{wide[:17]}\n{wide[17:30]}"
    assert found(scanner, text) == []  # the second line is not full
    text = f"{head}{TOKEN[:10]}\n{TOKEN[10:]}\nnext line"
    assert [value for value, _ in found(scanner, text)] == [TOKEN]


def test_what_stands_on_two_short_lines_is_not_joined(scanner):
    assert found(scanner, f"{TOKEN[:14]}\n{TOKEN[14:]}") == []


def test_a_value_that_ends_with_its_line_ends_there(scanner):
    text = f"{'word ' * 10}{TOKEN}\nnext"
    assert found(scanner, text) == [(TOKEN, TOKEN)]
