"""Answers to calls that have none: where they go, what hangs from them, what they say."""

from __future__ import annotations

import json

import pytest

from tests.conftest import (
    CALL,
    TURN,
    answer,
    asks,
    blocks,
    codes,
    event,
    jsonl,
    loads,
    look,
    mend,
    meta,
    prompt,
    rest,
    result,
    runs,
    said,
    says,
    tells,
    uid,
    use,
)

ROLL = [meta(0), says("user", "tide?", 1), runs("a", 2)]


def test_a_lost_result_comes_back_under_its_own_id():
    """The record that came next still names the lost one: nothing but one line is added."""
    before = jsonl(*CALL, prompt(4, 3))
    made = mend(before)
    lines = made.splitlines(keepends=True)
    assert lines[:2] + lines[3:] == before.splitlines(keepends=True)
    answered = json.loads(lines[2])
    assert (answered["uuid"], answered["parentUuid"]) == (uid(3), uid(2))
    assert blocks(answered)[0]["tool_use_id"] == "a"
    assert answered["madeBy"] == "sesstool"


def test_an_answer_between_call_and_prompt_takes_the_prompt_along():
    """A prompt that hangs from the call hangs from the new answer, which has a new id."""
    first, second, answered, after = loads(mend(jsonl(*CALL, prompt(3, 2))))
    assert [first, second] == CALL
    assert answered["uuid"] not in (uid(1), uid(2), uid(3))
    assert answered["parentUuid"] == uid(2)
    assert after == prompt(3, 2) | {"parentUuid": answered["uuid"]}


def test_an_answer_at_the_end_is_appended():
    """At the end of a file an answer is one line more, and the same every time."""
    before = jsonl(*CALL, {"type": "mode", "mode": "x"})
    made = mend(before)
    assert made.startswith(before)
    assert blocks(loads(made)[3])[0]["is_error"] is True
    assert mend(before) == made


def test_parallel_results_hang_from_their_own_calls():
    """Each answer hangs from its call; those that are there stay as they are."""
    real = result(4, 2, "a")
    before = [*TURN, real, prompt(6, 4)]
    one = loads(mend(jsonl(*before)))
    new = one[4]
    assert rest(one, 4) == before
    assert (new["parentUuid"], blocks(new)[0]["tool_use_id"]) == (uid(3), "b")
    both = loads(mend(jsonl(*TURN, prompt(6, 3))))
    assert [r["parentUuid"] for r in both[3:5]] == [uid(2), uid(3)]
    assert both[5]["parentUuid"] == both[4]["uuid"]
    assert len({r["uuid"] for r in both}) == 6


def test_one_record_with_two_calls_gets_two_answers():
    """A record with several calls gets one result for each."""
    made = loads(mend(jsonl(prompt(1, None), answer(2, 1, use("a"), use("b")), prompt(3, 2))))
    assert [blocks(r)[0]["tool_use_id"] for r in made[2:4]] == ["a", "b"]
    assert codes(look(jsonl(*made))) == []


def test_a_chat_is_answered_behind_its_siblings():
    """In a plain list the answer stands behind the results that are there."""
    before = [asks("a", "b", "c"), tells("b"), said("user", "next")]
    made = loads(mend(jsonl(*before)))
    assert [r.get("tool_call_id") for r in made] == [None, "b", "a", "c", None]
    assert rest(made, 2, 3) == before


def test_ordinals_go_on_from_the_highest():
    """Codex numbers its records: new ones follow the highest, no other is changed."""
    before = [meta(0), runs("a", 9), runs("b", 4), says("user", "next", 5)]
    made = loads(mend(jsonl(*before)))
    new = [r for r in made if r not in before]
    assert [r["ordinal"] for r in new] == [10, 11]
    assert [r["payload"]["call_id"] for r in new] == ["a", "b"]
    assert [r for r in made if r in before] == before
    assert "ordinal" not in loads(mend(jsonl(meta(), runs("a"))))[-1]


def evidence(**fields):
    return event("exec_command_end", 3, call_id="a", **fields)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (evidence(aggregated_output="high water"), "high water"),
        (evidence(stdout="", exit_code=0), "(no output; exit code 0)"),
        (
            event(
                "item_completed",
                3,
                item={"type": "CommandExecution", "id": "a", "aggregatedOutput": "out"},
            ),
            "out",
        ),
        (evidence(stdout="", stderr="no oil", exit_code=1), "no oil"),
        (
            event("patch_apply_end", 3, call_id="a", success=False, stdout="", stderr="no such"),
            "no such",
        ),
        (
            event(
                "mcp_tool_call_end",
                3,
                call_id="a",
                result={"Ok": {"content": [{"type": "text", "text": "flood"}]}},
            ),
            "flood",
        ),
        (event("mcp_tool_call_end", 3, call_id="a", result={"Err": "timed out"}), "timed out"),
        (
            event(
                "item_completed",
                3,
                item={
                    "type": "McpToolCall",
                    "id": "a",
                    "result": {"content": [{"type": "text", "text": "ebb"}]},
                },
            ),
            "ebb",
        ),
    ],
)
def test_a_recorded_output_is_the_answer(told, expected):
    """Where an event holds the output, the answer is that output and no error."""
    made = loads(mend(jsonl(*ROLL, told)))
    new = next(r for r in made if r["payload"].get("type") == "function_call_output")
    assert new["payload"]["output"] == expected


def test_a_failure_that_printed_nothing():
    """What is known to have failed is told as failed, in Codex's own word."""
    told = event("patch_apply_end", 3, call_id="a", success=False, stdout="", stderr="")
    new = next(
        r
        for r in loads(mend(jsonl(*ROLL, told)))
        if r["payload"].get("type") == "function_call_output"
    )
    assert new["payload"]["output"].startswith("aborted [sesstool] this shell call failed")


def test_without_evidence_the_outcome_is_unknown():
    """An event of another call proves nothing."""
    made = loads(mend(jsonl(*ROLL, event("exec_command_end", 3, call_id="x", stdout="out"))))
    new = next(r for r in made if r["payload"].get("type") == "function_call_output")
    assert new["payload"]["output"].startswith("aborted [sesstool]")
