"""What changed inside a structured value."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sesstool.diff.fields import MISSING, FieldChange, changed_fields
from sesstool.records.jsonspan import parts


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, ' { "a": 1.0 }'),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ([math.nan], [math.nan]),
        ("torn {", "torn {"),
        ("{torn", "{torn"),
        ([[]], [[]]),
        (None, None),
    ],
)
def test_what_means_the_same_has_no_change(left, right):
    assert changed_fields(left, right) == []


@pytest.mark.parametrize(
    ("left", "right", "changes"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("/b", 2, 3)]),
        ({"a": 1}, {"b": 1}, [("/a", 1, MISSING), ("/b", MISSING, 1)]),
        ({"a": None}, {}, [("/a", None, MISSING)]),
        ({"a": {"b/~": [1, {"c": 2}]}}, {"a": {"b/~": [1, {"c": 3}]}}, [("/a/b~1~0/1/c", 2, 3)]),
        ([1, 2, 3], [1, 3], [("/1", 2, MISSING)]),
        ([1, 3], [1, 2, 3], [("/1", MISSING, 2)]),
        ([1, 2, 3], [2, 3, 4], [("/0", 1, MISSING), ("/2", MISSING, 4)]),
        ([9, {"a": 1, "b": 2.0}], [{"b": 2, "a": 1}], [("/0", 9, MISSING)]),
        ([{"a": 1}], [{"b": 1}], [("/0/a", 1, MISSING), ("/0/b", MISSING, 1)]),
        ([[2, [1]]], [[[2, 1]]], [("/0/0", 2, [2, 1]), ("/0/1", [1], MISSING)]),
        ([1, 2, 3], [1, 9, 8, 3], [("/1", 2, 9), ("/2", MISSING, 8)]),
        ([{"k": 1, "v": 1}, 5], [5, {"k": 1, "v": 1}, 5], None),
        (True, 1, [("", True, 1)]),
        ([False], [0], [("/0", False, 0)]),
        ([math.nan], ["NaN"], None),
        (1, "1", [("", 1, "1")]),
        ({"a": 1}, [1], [("", {"a": 1}, [1])]),
        ([], {}, [("", [], {})]),
        ({"a": []}, {"a": ["a"]}, [("/a/0", MISSING, "a")]),
        ('{"a": 1}', '{"a": 2}', [("/a", 1, 2)]),
        ('{"a": 1}', '{"a": 1', [("", {"a": 1}, '{"a": 1')]),
        ({"a": '{"b": 1}'}, {"a": '{"b":1}'}, [("/a", '{"b": 1}', '{"b":1}')]),
        (2**53 + 1, float(2**53), [("", 2**53 + 1, float(2**53))]),
    ],
)
def test_the_smallest_parts_that_differ_are_told(left, right, changes):
    found = changed_fields(left, right)
    if changes is None:
        assert len(found) == 1
    else:
        assert found == [FieldChange(*change) for change in changes]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "~/"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def _at(value, pointer):
    for part in parts(pointer):
        value = value[int(part) if type(value) is list else part]
    return value


def _canonical(value):
    return json.dumps(value, sort_keys=True)


@given(VALUES, VALUES)
def test_changes_hold_the_values_at_their_pointers(left, right):
    changes = changed_fields(left, right)
    assert bool(changes) == (_canonical(left) != _canonical(right))
    for pointer, old, new in changes:
        assert _canonical(old) != _canonical(new) if MISSING not in (old, new) else old != new
        if old is not MISSING:
            assert _canonical(_at(left, pointer)) == _canonical(old)


@given(VALUES, VALUES)
@example(["a", "b"], ["b", "a"])
def test_the_changes_of_the_other_direction_are_the_same(left, right):
    there = [(old, new) for _, old, new in changed_fields(left, right)]
    back = [(new, old) for _, old, new in changed_fields(right, left)]
    assert list(map(str, there)) == list(map(str, back))


@given(VALUES, VALUES)
def test_a_text_is_compared_as_the_value_that_it_holds(left, right):
    if type(left) in (dict, list):
        assert changed_fields(json.dumps(left), right) == changed_fields(left, right)


def _nested(depth, inside):
    for _ in range(depth):
        inside = {"a": [inside]}
    return inside


def test_values_of_any_depth_are_compared():
    assert changed_fields(_nested(5_000, 1), _nested(5_000, 1)) == []
    (change,) = changed_fields(_nested(5_000, 1), _nested(5_000, 2))
    assert change.pointer == "/a/0" * 16
    (change,) = changed_fields(_nested(12, 1), _nested(12, 2))
    assert change == ("/a/0" * 12, 1, 2)
    lists, others = 1, 2
    for _ in range(5_000):
        lists, others = [lists], [others]
    assert [change.pointer for change in changed_fields(lists, others)] == ["/0" * 32]
    deep = "[" * 100_000
    assert changed_fields(deep, deep) == []
    assert changed_fields(deep, [1]) == [("", deep, [1])]
