"""TOML: the line that a wrong value is told with."""

import pytest

from sesstool import toml
from sesstool.errors import ConfigError

DOCUMENT = '''\
# what comes first counts
plain = 1
text = """
[not.a.table]
plain = 2
"""
literal = \'\'\'
x = [ \'\'\'

list = [
  "one",  # a ] that closes nothing
  [ "two" ],
]
table = { inner = { deep = 1 }, other = 2 }
dotted.key.one = 1
dotted."a b".two = 2

[head.er]

last = true
[[rule]]
name = "a"
[[rule]]
  # between
  name = "b"
  [rule.match]
  agent = ["x",
    "y"]
[[rule.part]]
size = 1
[[rule.part]]

size = 2
'''
LINES = {
    ("plain",): 2,
    ("text",): 3,
    ("literal",): 7,
    ("list",): 10,
    ("list", 1): 10,
    ("list", 1, 0): 10,
    ("table",): 14,
    ("table", "inner", "deep"): 14,
    ("dotted",): 15,
    ("dotted", "key", "one"): 15,
    ("dotted", "a b", "two"): 16,
    ("head",): 18,
    ("head", "er"): 18,
    ("head", "er", "last"): 20,
    ("rule",): 21,
    ("rule", 0): 21,
    ("rule", 0, "name"): 22,
    ("rule", 1): 23,
    ("rule", 1, "name"): 25,
    ("rule", 1, "match"): 26,
    ("rule", 1, "match", "agent", 1): 27,
    ("rule", 1, "part", 0, "size"): 30,
    ("rule", 1, "part", 1): 31,
    ("rule", 1, "part", 1, "size"): 33,
    # What is not there has the line of what lacks it.
    (): 1,
    ("none",): 1,
    ("rule", 1, "none"): 23,
    ("rule", 5): 21,
    ("plain", "none", 3): 2,
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("keys", LINES, ids=toml.dotted)
def test_a_statement_has_its_first_line(keys, end):
    """Whatever a statement is written as, with either line end."""
    assert toml.line_of(DOCUMENT.replace("\n", end).encode(), keys) == LINES[keys]


def test_the_last_line_needs_no_end():
    """A document may end within its last line."""
    assert toml.line_of(b"a = 1\nb = 2", ("b",)) == 2


def test_characters_that_only_python_takes_for_line_ends():
    """A form feed or U+2028 in a text begins no line."""
    data = 'a = "\u2028\u0085"\nb = 1\n'.encode()
    assert toml.line_of(data, ("b",)) == 2


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((), ""),
        (("rule", 2, "match", "agent"), "rule[2].match.agent"),
        (("archive", "recipients", 0), "archive.recipients[0]"),
        (("a b", 'c"d', ""), '"a b"."c\\"d".""'),
    ],
)
def test_keys_are_written_as_in_toml(keys, text):
    """What is no bare key stands in quotes."""
    assert toml.dotted(keys) == text


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\n\na = \n", "line 3"),
        (b"a = 1\na = 2\n", "line 2"),
        (b"a = \xff", "utf-8"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = " + b"9" * 5000, "digits"),
        (b"a = 2026-02-30", "date"),
        (b"\x00", "line 1"),
    ],
)
def test_what_is_no_toml_is_refused(data, what):
    """Any bytes: the error names the file and, where there is one, the line."""
    with pytest.raises(ConfigError) as caught:
        toml.parse(data, "f.toml")
    assert caught.value.message.startswith("f.toml is no TOML: ")
    assert what in caught.value.message.lower()
    assert "config validate" in caught.value.hint


def test_a_document_is_given_back():
    """As tomllib reads it."""
    assert toml.parse(b"a.b = [1, 'x']\r\n", "f") == {"a": {"b": [1, "x"]}}
