"""Records that hold a whole conversation are judged, and never changed."""

import pytest

from tests.conftest import asks, codes, jsonl, look, mend, said, tells


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([said("user"), asks("c1"), tells("c1"), said("assistant")], [], id="sound"),
        pytest.param([said("user"), asks("c1")], [], id="ends with a call"),
        pytest.param([said("user"), asks("c1"), said("user")], ["T401"], id="unanswered"),
        pytest.param([said("user"), tells("c9")], ["T402"], id="orphan"),
        pytest.param([asks("c1"), tells("c1"), tells("c1"), said("user")], ["T403"], id="twice"),
    ],
)
def test_a_conversation_in_one_record(messages, expected):
    """Each record is paired by itself; a call that ends one is what the model shall learn."""
    data = jsonl({"messages": [said("user")]}, {"messages": messages})
    assert codes(look(data)) == expected
    assert mend(data) == data


def test_calls_do_not_pair_across_records():
    """A result in the next conversation does not answer a call in this one."""
    data = jsonl(
        {"messages": [asks("c1"), said("user")]}, {"messages": [said("user"), tells("c1")]}
    )
    assert codes(look(data)) == ["T401", "T402"]
