"""Extents of JSON values: in cut and glued texts, and by pointer."""

from __future__ import annotations

import json

import pytest

from sesstool.records.jsonspan import (
    Scanner,
    Status,
    deeper,
    dumps,
    join,
    locate,
    members,
    parts,
    skip,
    value_at,
    without,
)
from tests.conftest import dump

# Braces, quotes, commas and escapes where they mean nothing.
TRICKY = (
    b' { "a" : [ 1 , {"b}":"x,]}\\"" } , "]" ] , "c" :{} , "d\\u00e9/~":-1.5e3, '
    b'"a\\/b":null ,"c":[ [ ] ,true]} '
)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", TRICKY.strip()),
        ("/a", b'[ 1 , {"b}":"x,]}\\"" } , "]" ]'),
        ("/a/0", b"1"),
        ("/a/1", b'{"b}":"x,]}\\"" }'),
        ("/a/1/b}", b'"x,]}\\""'),
        ("/a/2", b'"]"'),
        ("/d\u00e9~1~0", b"-1.5e3"),
        ("/a~1b", b"null"),
        ("/c", b"[ [ ] ,true]"),
        ("/c/1", b"true"),
    ],
)
def test_locate(pointer, value):
    """A pointer finds exactly its value; a key that stands twice means the last."""
    member = locate(TRICKY, pointer)
    assert TRICKY[member.start : member.end] == value


@pytest.mark.parametrize("pointer", ["/x", "/a/3", "/a/0/x", "/a/-1", "/c/b", "/a/2/0"])
def test_locate_finds_nothing(pointer):
    """A pointer to nothing is None, also below a scalar or a string."""
    assert locate(TRICKY, pointer) is None


def test_locate_agrees_with_a_decoder():
    """What stands at the span of any value is that value."""
    value = {"k": [{"x": {"y": [1, "},{", None]}}, [], {}, ""], "": {"": 0}, "~1": "/"}
    raw = json.dumps(value, indent=3).encode()

    def walk(inner, pointer):
        member = locate(raw, pointer)
        assert json.loads(raw[member.start : member.end]) == inner
        pairs = {dict: dict.items, list: enumerate}.get(type(inner), lambda _: ())
        for name, below in pairs(inner):
            walk(below, pointer + join(name))

    walk(value, "")


def test_pointers():
    """Keys with slashes and tildes go into a pointer and come out again."""
    assert join("a/b", 0, "~1", "") == "/a~1b/0/~01/"
    assert parts("/a~1b/0/~01/") == ["a/b", "0", "~1", ""]
    assert parts("") == []


@pytest.mark.parametrize(
    ("raw", "pointer", "left"),
    [
        ('{"a":1,"b":2,"c":3}', "/a", '{"b":2,"c":3}'),
        ('{"a":1,"b":2,"c":3}', "/b", '{"a":1,"c":3}'),
        ('{"a":1,"b":2,"c":3}', "/c", '{"a":1,"b":2}'),
        ('{ "a" : 1 , "b" : 2 }', "/a", '{ "b" : 2 }'),
        ('{ "a" : 1 , "b" : 2 }', "/b", '{ "a" : 1  }'),
        ('{"a":1}', "/a", "{}"),
        ("[1]", "/0", "[]"),
        ('[{"x":","},[2]]', "/0", "[[2]]"),
        ('[{"x":","},[2]]', "/1", '[{"x":","}]'),
        ('{"k":[[1],[2],[3]]}', "/k/1", '{"k":[[1],[3]]}'),
    ],
)
def test_without(raw, pointer, left):
    """A member goes with its key and one comma; what is left is JSON."""
    data = raw.encode()
    start, end = without(data, locate(data, pointer))
    assert (data[:start] + data[end:]).decode() == left
    json.loads(left)


def test_members():
    """The members of an object have keys, the items of an array have none."""
    found = members(b'{"a":1, "b":[2]}', 0)
    assert [(name, m.start, m.end, m.key) for name, m in found] == [
        ("a", 5, 6, 1),
        ("b", 12, 15, 8),
    ]
    found = members(b"[ 7,[8] ]", 0)
    assert [(name, m.start, m.end, m.key) for name, m in found] == [
        ("0", 2, 3, -1),
        ("1", 4, 7, -1),
    ]


@pytest.mark.parametrize("value", ['"a\\"}"', "-1.5", "null", "[[],{}]", '{"a":"]"}'])
def test_skip(value):
    """The end of a value does not depend on what follows."""
    data = f'x{value},{{"b":1}}'.encode()
    assert skip(data, 1) == 1 + len(value)


@pytest.mark.parametrize(
    ("text", "status", "at"),
    [
        (b'{"a":[1,{"b":"}"}]}{"c":1}', Status.DONE, 19),
        (b' {"a":1} x', Status.DONE, 8),
        (b'{"a":1,}', Status.DONE, 8),
        (b'{"a":\0\0NaN}', Status.DONE, 11),
        (b'{"a":"line\nbreak\x01"}', Status.DONE, 19),
        (b"[]", Status.DONE, 2),
        (b"12", Status.DONE, 2),
        (b'{"a":"cut in a str', Status.MORE, 5),
        (b'{"a"', Status.MORE, 4),
        (b'{"a":tr', Status.MORE, 5),
        (b'{"a":-', Status.MORE, 5),
        (b'{"a":12', Status.MORE, 5),
        (b"", Status.MORE, 0),
        (b'{"a":x}', Status.FAILED, 5),
        (b'{"a" 1}', Status.FAILED, 5),
        (b'{"a":1]', Status.FAILED, 6),
        (b"{a:1}", Status.FAILED, 1),
        (b'{"a":1 "b":2}', Status.FAILED, 7),
        (b"]", Status.FAILED, 0),
    ],
)
def test_scanner(text, status, at):
    """A scan tells where a value ends, where it is cut, or where it stops being JSON."""
    scanner = Scanner()
    assert (scanner.run(text), scanner.at) == (status, at)


@pytest.mark.parametrize(
    ("text", "levels", "expected"),
    [
        (b'[{"a":[1]}]', 3, False),
        (b'[{"a":[1]}]', 2, True),
        (b'["[[[[{{{{"]', 1, False),
        (b"[[],[],[],{}]", 2, False),
        (b"7", 0, False),
    ],
)
def test_deeper(text, levels, expected):
    """Depth counts brackets that are open at once, and none in a string."""
    assert deeper(text, levels) is expected


def test_scanner_goes_on():
    """A scan of a text that grows gives the same as one scan of the whole."""
    text = dump({"a": [1, 22, {"b": 'x"}\\'}], "c": [None, True, -1.5e3]})
    for cut in range(1, len(text)):
        scanner = Scanner()
        assert scanner.run(text[:cut]) is Status.MORE
        assert scanner.run(text) is Status.DONE
        assert scanner.at == len(text)


def test_scanner_knows_the_last_closed_object():
    """Where a torn record swallowed a whole one, the whole one's span is known."""
    scanner = Scanner()
    text = b'{"a":{"b":1},"c":{"d":{"e":2}}'
    assert scanner.run(text) is Status.MORE
    assert text[slice(*scanner.closed)] == b'{"d":{"e":2}}'


def test_dumps():
    """JSON is written compactly and in UTF-8, as agents write it."""
    assert dumps({"a": [1, "ü\n"]}) == '{"a":[1,"ü\\n"]}'.encode()


@pytest.mark.parametrize("pointer", ["/b", "/a/2", "/a/b", "/a/-1", "/a/0/x", "/c/d", "/a/0/0/0"])
def test_where_nothing_stands(pointer):
    """A pointer that leads to nothing in a value gives None, whatever stands on its way."""
    assert value_at({"a": [["x"], 1], "c": None}, pointer) is None
    assert value_at({"a": [["x"], 1], "c/d": 2}, "/a/0/0") == "x"
    assert value_at({"c/d": 2}, "/c~1d") == 2
