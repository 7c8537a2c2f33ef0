"""Thoughts that hold a value, in the shape of each format: they go, and stop no redaction."""

from __future__ import annotations

import json

import pytest

from sesstool import api
from sesstool.cli import main
from tests.conftest import jsonl, loads
from tests.seeds import SEEDS

COPILOT = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6b.jsonl"
GEMINI = "session-2026-03-01T10-00-5d0c7f6a.jsonl"
QWEN = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b60.jsonl"
VALUE = "ada.lovelace77" + "@" + "beacon-keep.org"
SAID = f"the mill of {VALUE}"
SEAL = "bWFkZSB1cA" * 4
WHEN = "2026-03-01T10:02:00.000Z"
SCREEN = {"subject": "mill", "description": SAID, "timestamp": WHEN}
THOUGHT = {"text": SAID, "thought": True, "thoughtSignature": SEAL}


def restated(n):
    """A message of a checkpoint, whose thought stands alone or before words."""
    said = [THOUGHT, {"text": "It is."}] if n % 2 else [THOUGHT]
    return {"id": f"x{n}", "timestamp": WHEN, "type": "gemini", "content": said}


CASES = {
    "copilot, first": (COPILOT, -1, {"data": {"reasoningText": SAID, "content": "a"}}),
    "copilot, sealed": (
        COPILOT,
        -1,
        {"data": {"content": "a", "reasoningText": SAID, "reasoningOpaque": SAID}},
    ),
    "gemini, for the screen": (GEMINI, -1, {"thoughts": [SCREEN, SCREEN | {"description": "a"}]}),
    "gemini, a part": (GEMINI, -1, {"content": [THOUGHT]}),
    "gemini, restated": (GEMINI, -8, {"$set": {"messages": [restated(n) for n in range(8)]}}),
    "qwen": (QWEN, 1, {"message": {"role": "model", "parts": [THOUGHT]}}),
    "kimi": ("context.jsonl", -1, {"content": [{"type": "think", "think": SAID}]}),
    "grok": (
        "chat_history.jsonl",
        3,
        {
            "summary": [{"type": "summary_text", "text": SAID}],
            "content": [{"type": "reasoning_text", "text": SAID}],
        },
    ),
    "droid": (
        "droid.jsonl",
        -2,
        {
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": SAID, "signature": SEAL},
                    {"type": "text", "text": "a"},
                ],
            }
        },
    ),
}


@pytest.mark.parametrize(("name", "at", "members"), CASES.values(), ids=CASES)
def test_a_value_in_a_thought_goes_with_what_seals_it(tmp_path, name, at, members):
    """The session is redacted, each record keeps its members, and it is as sound as before."""
    rows = loads(SEEDS[name])
    rows[at] |= members
    path = tmp_path / name
    path.write_bytes(jsonl(*rows))
    before = [finding.code for finding in api.validate(path).findings]
    assert main.run(["redact", "--write", "--in-place", "--yes", "--ignore-live", str(path)]) == 0
    assert VALUE not in path.read_text()
    after = loads(path.read_bytes())
    changed = [n for n, row in enumerate(after) if row != rows[n]]
    assert changed == [at % len(rows)]
    assert after[at].keys() == rows[at].keys()
    assert SEAL not in json.dumps(after[at])
    assert after[at].get("data", {}).keys() == rows[at].get("data", {}).keys()
    assert [finding.code for finding in api.validate(path).findings] == before


def test_a_thought_that_nothing_seals_keeps_its_other_words(tmp_path):
    """What Gemini CLI notes of a thought for the screen is a text like any other."""
    rows = loads(SEEDS[GEMINI])
    rows[-1]["thoughts"] = [SCREEN]
    path = tmp_path / GEMINI
    path.write_bytes(jsonl(*rows))
    main.run(["redact", "--write", "--in-place", "--yes", "--ignore-live", str(path)])
    (thought,) = loads(path.read_bytes())[-1]["thoughts"]
    assert thought["description"].startswith("the mill of ⟦EMAIL:")
    assert thought["timestamp"] == WHEN
