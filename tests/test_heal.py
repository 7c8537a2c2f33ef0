"""Faults inside one record, each with the edits that mend it and nothing else."""

from __future__ import annotations

import json

import pytest

from sesstool.records.edits import EditSet
from sesstool.records.heal import Kind, decode, heal

START = 1000
FAULTS = [
    pytest.param(rb'{"a":1,"b":"x"}', {}, {"a": 1, "b": "x"}, id="sound"),
    pytest.param(b'{"a"\0\0:"x\0y"\0}', {Kind.NUL: 3}, {"a": "xy"}, id="nul"),
    pytest.param(b'{"a":"x\ny\n"}', {Kind.BROKEN: 2}, {"a": "x\ny\n"}, id="raw-newline"),
    pytest.param(b'{\n "a":1,\r\n "b":"x" }', {Kind.PRETTY: 2}, {"a": 1, "b": "x"}, id="pretty"),
    pytest.param(b'{"a":"\x01\t\x1b"}', {Kind.CONTROL: 3}, {"a": "\x01\t\x1b"}, id="control"),
    pytest.param(b'{"a":"\xff\xfe-\xe2\x82"}', {Kind.INVALID_UTF8: 2}, None, id="utf-8"),
    pytest.param(rb'{"a":"\ud83c"}', {Kind.SURROGATE: 1}, {"a": "\ufffd"}, id="high-alone"),
    pytest.param(rb'{"a":"\udf00x"}', {Kind.SURROGATE: 1}, {"a": "\ufffdx"}, id="low-alone"),
    pytest.param(
        rb'{"a":"\ud83c-\udf00"}', {Kind.SURROGATE: 2}, {"a": "\ufffd-\ufffd"}, id="parted"
    ),
    pytest.param(rb'{"a":"\ud83c\udf00"}', {}, {"a": "\U0001f300"}, id="whole-pair"),
    pytest.param(rb'{"a":"\\ud83c"}', {}, {"a": "\\ud83c"}, id="escaped-backslash"),
    pytest.param(rb'{"a":"\ud83c\ud83c\udf00"}', {Kind.SURROGATE: 1}, None, id="high-before-pair"),
    pytest.param(b'{"a":[NaN,-Infinity]}', {Kind.NONSTRICT: 2}, {"a": [None, None]}, id="nan"),
    pytest.param(b'{"a":"NaN,]"}', {}, {"a": "NaN,]"}, id="nan-in-string"),
    pytest.param(b'{"a":[1,2, ],}', {Kind.NONSTRICT: 2}, {"a": [1, 2]}, id="trailing-comma"),
    pytest.param(rb'{"a":"\q \\q"}', {Kind.NONSTRICT: 1}, {"a": "\\q \\q"}, id="bad-escape"),
    pytest.param(
        b'{"a":"x\ny\0","b":NaN}',
        {Kind.NUL: 1, Kind.BROKEN: 1, Kind.NONSTRICT: 1},
        {"a": "x\ny", "b": None},
        id="several",
    ),
]


@pytest.mark.parametrize(("raw", "kinds", "value"), FAULTS)
def test_heal(raw, kinds, value):
    """Each fault is named and counted; the edits make strict JSON with the same meaning."""
    found, defects = heal(raw, START)
    assert {d.kind: d.count for d in defects} == kinds
    edits = EditSet(e.shifted(-START) for d in defects for e in d.edits)
    assert json.loads(edits.apply(raw)) == found
    if value is not None:
        assert found == value


def test_places_count_from_the_source():
    """A defect and its edits stand where the fault stands in the source."""
    (defect,) = heal(b'{"a":"x\0\0y"}', START)[1]
    assert (defect.start, defect.end) == (START + 7, START + 9)
    assert [(e.start, e.end, e.text) for e in defect.edits] == [(START + 7, START + 9, b"")]


def test_invalid_bytes_become_one_character_a_run():
    """Invalid bytes that touch are one run, and the text around them stays."""
    value, _ = heal(b'{"a":"x\xff\xfe\xfdy\xc3"}', 0)
    assert value == {"a": "x\ufffdy\ufffd"}


@pytest.mark.parametrize("raw", [b"{", b'{"a":}', b"hello", b""])
def test_what_is_no_json_is_an_error(raw):
    """Bytes that no edit of this module mends are no record."""
    with pytest.raises(json.JSONDecodeError):
        heal(raw, 0)


def test_deep_nesting_is_a_defect():
    """A record nested deeper than decoders go is named, and no error."""
    raw = b'{"a":' * 3000 + b"1" + b"}" * 3000
    _, (defect,) = heal(raw, 5)
    assert (defect.kind, defect.start, defect.end) == (Kind.TOO_DEEP, 5, 5 + len(raw))
    assert defect.edits == ()


def test_decode_is_strict():
    """What lenient readers take, decode refuses."""
    for raw in (b"NaN", b"[1,]", b'"\x01"', b'"\xff"', rb'"\ud83c"'):
        with pytest.raises(json.JSONDecodeError):
            decode(raw)


def test_an_integer_of_any_length_is_sound():
    """Python reads no more than 4,300 digits at once; JSON has no such limit."""
    _, defects = heal(b'{"a":7,"n":' + b"7" * 5000 + b"}", 0)
    assert defects == []
