"""Calls and results: a call arms its id, a result consumes it, by the rules of each format."""

from __future__ import annotations

import pytest

from tests.conftest import (
    answer,
    asks,
    jsonl,
    meta,
    output,
    prompt,
    read,
    result,
    runs,
    said,
    says,
    tells,
    use,
)


def paired(*records):
    """What pairing says, by line: calls, unanswered, orphans, duplicates, displaced, twins."""
    pairing = read(jsonl(*records)).pairing
    return {
        "calls": pairing.calls,
        "unanswered": [c.place.line for c in pairing.unanswered],
        "orphans": [r.place.line for r in pairing.orphans],
        "duplicates": [(r.place.line, first.line) for r, first in pairing.duplicates],
        "displaced": [(r.place.line, c.place.line) for r, c in pairing.displaced],
        "twins": [(c.place.line, first.place.line) for c, first in pairing.twins],
        "nameless": [(r.place.line, c.place.line) for r, c in pairing.nameless],
        "undecided": [one.place.line for one in pairing.undecided],
    }


def expect(calls, **more):
    names = ("unanswered", "orphans", "duplicates", "displaced", "twins", "nameless", "undecided")
    return {"calls": calls} | {name: [] for name in names} | more


CC = [
    pytest.param([answer(2, 1, use("a")), result(3, 2, "a")], expect(1), id="answered"),
    pytest.param([answer(2, 1, use("a"))], expect(1, unanswered=[2]), id="unanswered"),
    pytest.param(
        [answer(2, 1, use("a")), prompt(3, 2), answer(4, 3)],
        expect(1, unanswered=[2]),
        id="unanswered-in-the-middle",
    ),
    pytest.param([result(2, 1, "a")], expect(0, orphans=[2]), id="orphan"),
    pytest.param(
        [answer(2, 1, use("a")), result(3, 2, "a"), answer(4, 3, use("a")), result(5, 4, "a")],
        expect(2),
        id="id-used-again",
    ),
    pytest.param(
        [answer(2, 1, use("a")), answer(4, 2, use("a")), result(5, 4, "a")],
        expect(2, unanswered=[2]),
        id="id-used-again-unanswered",
    ),
    pytest.param(
        [
            answer(2, 1, use("a"), turn="m"),
            answer(3, 2, use("b"), turn="m"),
            result(4, 3, "b"),
            result(5, 2, "a"),
        ],
        expect(2),
        id="parallel-in-any-order",
    ),
    pytest.param(
        [answer(2, 1, use("a"), use("b")), result(3, 2, "a")],
        expect(2, unanswered=[2]),
        id="one-of-two",
    ),
    pytest.param(
        [answer(2, 1, use("a"), turn="m"), answer(3, 2, use("a"), turn="m"), result(4, 3, "a")],
        expect(2, twins=[(3, 2)]),
        id="twins-of-one-turn",
    ),
    pytest.param(
        [answer(2, 1, use("a")), result(3, 2, "a"), result(4, 3, "a")],
        expect(1, duplicates=[(4, 3)]),
        id="duplicate",
    ),
    pytest.param(
        [answer(2, 1, use("a")), prompt(3, 2), result(4, 3, "a")],
        expect(1, displaced=[(4, 2)]),
        id="displaced",
    ),
    pytest.param(
        [result(3, 2, "a"), answer(2, 1, use("a"))],
        expect(1, displaced=[(2, 3)]),
        id="written-first",
    ),
    pytest.param(
        [answer(2, 1, use("a")), result(3, 2, "")],
        expect(1, nameless=[(3, 2)]),
        id="nameless",
    ),
    pytest.param(
        [answer(2, 1, use("a"), use("b")), result(3, 2, "")],
        expect(2, undecided=[2, 2, 3]),
        id="nameless-of-two",
    ),
    pytest.param(
        [
            answer(2, 1, use("a")),
            answer(3, 2, use("a"), isSidechain=True, agentId="k"),
            result(4, 3, "a", isSidechain=True, agentId="k"),
            result(5, 2, "a"),
        ],
        expect(2),
        id="a-subagent-has-ids-of-its-own",
    ),
]


@pytest.mark.parametrize(("records", "expected"), CC)
def test_turn(records, expected):
    """Claude Code: results stand in the next user turn, ids may be used again."""
    assert paired(prompt(1, None), *records) == expected


CHAT = [
    pytest.param([asks("a", "b"), tells("b"), tells("a")], expect(2), id="parallel"),
    pytest.param([asks("a", "b"), tells("b")], expect(2, unanswered=[2]), id="partial"),
    pytest.param([asks("a"), tells("a"), asks("a"), tells("a")], expect(2), id="id-used-again"),
    pytest.param(
        [asks("a"), said("user"), tells("a")], expect(1, displaced=[(4, 2)]), id="displaced"
    ),
    pytest.param(
        [asks("a"), said("user"), asks("a"), tells("a")],
        expect(2, unanswered=[2]),
        id="unanswered-and-used-again",
    ),
    pytest.param([tells("a"), asks("a")], expect(1, displaced=[(2, 3)]), id="too-early"),
    pytest.param([asks("a", "a"), tells("a")], expect(2, twins=[(2, 2)]), id="twins"),
    pytest.param(
        [asks("a"), tells("a"), tells("a")], expect(1, duplicates=[(4, 3)]), id="duplicate"
    ),
    pytest.param([asks("a"), tells("x")], expect(1, unanswered=[2], orphans=[3]), id="other-id"),
]


@pytest.mark.parametrize(("records", "expected"), CHAT)
def test_direct(records, expected):
    """OpenAI chat: results stand right behind the message that called."""
    assert paired(said("user"), *records) == expected


CODEX = [
    pytest.param([runs("a"), says("assistant", "x"), output("a")], expect(1), id="behind"),
    pytest.param(
        [runs("a"), says("user", "x"), output("a")],
        expect(1, displaced=[(5, 3)]),
        id="behind the next prompt",
    ),
    pytest.param(
        [runs("a"), says("user", "x"), runs("a"), output("a")],
        expect(2, twins=[(3, 5)]),
        id="id-again-unanswered",
    ),
    pytest.param([output("a"), runs("a")], expect(1, displaced=[(3, 4)]), id="before"),
    pytest.param([runs("a"), runs("b"), output("b"), output("a")], expect(2), id="parallel"),
    pytest.param([runs("a"), runs("a"), output("a")], expect(2, twins=[(4, 3)]), id="twins"),
    pytest.param([runs("a"), output("a"), runs("a"), output("a")], expect(2), id="id-again"),
    pytest.param([output("a")], expect(0, orphans=[3]), id="orphan"),
    pytest.param([runs("a")], expect(1, unanswered=[3]), id="unanswered"),
]


@pytest.mark.parametrize(("records", "expected"), CODEX)
def test_order(records, expected):
    """Codex: a result stands anywhere behind its call, and before the next prompt."""
    assert paired(meta(), says("user", "x"), *records) == expected


def test_a_dataset_line_is_no_call():
    """Calls inside a line that is a whole conversation do not pair with other lines."""
    line = {"messages": [said("user"), asks("a"), tells("a"), said("assistant")]}
    assert paired(line, line) == expect(0)


def test_what_is_known_of_a_call():
    """A call knows its name, its place and its block, where siblings' results end."""
    data = jsonl(prompt(1, None), answer(2, 1, use("a"), use("b", "Read")), result(3, 2, "a"))
    pairing = read(data).pairing
    (call,) = pairing.unanswered
    assert (call.id, call.name, call.place.pointer) == ("b", "Read", "/message/content/1")
    assert (call.row, call.turn, call.server) == (1, "msg_2", False)
    assert call.block.end == len(data) - 1
    assert call.block.answered


@pytest.mark.parametrize(
    ("extra", "alone"), [([], True), ([{"type": "text", "text": "and more"}], False)]
)
def test_a_result_beside_words_is_not_alone(extra, alone):
    """A record with words beside its result must not be moved or cut as a whole."""
    block = {"type": "tool_result", "tool_use_id": "x", "content": "late"}
    (orphan,) = read(jsonl(prompt(1, None), prompt(2, 1, [block, *extra]))).pairing.orphans
    assert orphan.alone is alone
