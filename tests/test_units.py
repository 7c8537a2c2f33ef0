"""What a record says as units."""

from __future__ import annotations

import pytest

from sesstool.diff.likeness import alike_in_order
from sesstool.formats.registry import by_name
from sesstool.model.units import Unit, units
from tests.conftest import boundary, compaction, envelope, prompt


def said(format_name, record):
    """The kinds of the units of a record, with their words."""
    return [(u.kind, u.words) for u in units(record, by_name(format_name).meaning(record))]


def checkpoint(summary):
    return {"session_id": "s", "event_type": "checkpoint", "payload": {"summary": summary}}


def items(*texts):
    return [{"type": "message", "content": [{"type": "input_text", "text": t}]} for t in texts]


SUMMARY = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
SEALED = {"type": "compaction", "encrypted_content": "c2VhbGVk"}


@pytest.mark.parametrize(
    ("format_name", "record", "words"),
    [
        ("claude-code", boundary(2, 1), ""),
        ("claude-code", prompt(3, 2, "the lamp burns", **SUMMARY), "the lamp burns"),
        ("codex", envelope("compacted", {"message": "the lamp burns"}), "the lamp burns"),
        (
            "codex",
            envelope("compacted", {"message": "", "replacement_history": items("lamp", "burns")}),
            "lamp\nburns",
        ),
        (
            "codex",
            envelope("compacted", {"replacement_history": [SEALED]}),
            '{"encrypted_content":"c2VhbGVk","type":"compaction"}',
        ),
        ("codex", envelope("compacted", {}), ""),
        ("pi", compaction(3, 2, 1, "the lamp burns"), "the lamp burns"),
        ("mycodeagent", checkpoint("the lamp burns"), "the lamp burns"),
    ],
)
def test_a_compaction_is_one_unit_with_its_summary(format_name, record, words):
    """Else sessions whose summaries tell the model different things would be called equal."""
    assert said(format_name, record) == [("compaction", words)]


@pytest.mark.parametrize(
    ("left", "right", "alike"),
    [
        ("The halyard is stuck.", "The signal flies.", False),
        ("The halyard is stuck.", "The halyard is free.", True),
        ("灯台の灯が消えた", "灯台の灯が点いた", True),
        ("灯台の灯が消えた", "船は朝に着く", False),
    ],
)
def test_texts_are_alike_by_their_words(left, right, alike):
    """Marks such as the full stop make no two texts alike."""
    one, other = Unit("message", "user", left), Unit("message", "user", right)
    assert alike_in_order([one], [other]) == [(0, 0)] * alike
