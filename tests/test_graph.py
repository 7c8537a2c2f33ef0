"""The tree of a session: its leaf, what a resume reaches, gaps, circles and branches."""

from __future__ import annotations

import pytest

from sesstool.model.graph import LOST, ROOT
from tests.conftest import answer, boundary, jsonl, prompt, read, result, talk, uid, use

SUMMARY = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
ASIDE = {"isSidechain": True, "agentId": "k"}
PARALLEL = [
    prompt(1, None),
    answer(2, 1, use("a"), turn="m"),
    answer(3, 2, use("b"), turn="m"),
    result(4, 2, "a"),
    result(5, 3, "b"),
    answer(6, 5),
]


def rewound(leaf, **more):
    return {"type": "last-prompt", "leafUuid": uid(leaf), "explicit": True} | more


def tree(*records):
    return read(jsonl(*records)).graph


def live(graph):
    """The rows, from 1, that a resume reaches."""
    return [row + 1 for row in range(len(graph)) if graph.live[row]]


def test_a_straight_talk():
    """All of it is reached; the last message is the leaf."""
    graph = tree(*talk(4))
    assert list(graph.up) == [ROOT, 0, 1, 2]
    assert (live(graph), graph.leaf, graph.messages()) == ([1, 2, 3, 4], 3, (4, 4))
    assert (graph.breaks, graph.cycles, graph.twins, graph.branches()) == ([], [], [], [])


def test_the_leaf_is_the_last_message():
    """A record behind it that says nothing, or a subagent's, is not the leaf."""
    note = prompt(4, 3) | {"type": "attachment"}
    assert tree(*talk(3), note, prompt(5, 2, **ASIDE)).leaf == 2


@pytest.mark.parametrize(
    ("records", "reached"),
    [
        pytest.param([*talk(5), rewound(2)], [1, 2], id="rewound"),
        pytest.param([*talk(5), rewound(None)], [], id="rewound-to-nothing"),
        pytest.param([*talk(5), rewound(2), prompt(6, 5)], [1, 2, 3, 4, 5, 6], id="went-on"),
        pytest.param([*talk(3), rewound(1, explicit=False)], [1, 2, 3], id="not-explicit"),
        pytest.param([*talk(3), rewound(1), {"type": "mode"}], [1], id="no-record-behind"),
        pytest.param([*talk(3), rewound(77)], [1, 2, 3], id="unknown-leaf"),
    ],
)
def test_a_rewind_names_the_leaf(records, reached):
    """A rewound leaf counts as long as no record follows it."""
    assert live(tree(*records)) == reached


def test_a_lost_parent_is_bridged():
    """The way goes on at the record before, and the break is known."""
    graph = tree(*talk(2), prompt(4, 3), answer(5, 4))
    assert graph.lost == {2: uid(3)}
    assert graph.up[2] == LOST
    assert (live(graph), graph.breaks) == ([1, 2, 3, 4], [(2, 1)])


def test_a_gap_beside_the_way_is_no_break():
    """A lost parent on a dead branch is lost, and not bridged."""
    graph = tree(*talk(2), prompt(4, 9), prompt(5, 2))
    assert (live(graph), graph.breaks, list(graph.lost)) == ([1, 2, 4], [], [2])


@pytest.mark.parametrize(
    ("records", "cycles", "reached"),
    [
        pytest.param([*talk(2), prompt(3, 3)], [2], [1, 2, 3], id="own-parent"),
        pytest.param([prompt(1, None), prompt(2, 3), answer(3, 2)], [1], [1, 2, 3], id="two"),
        pytest.param(
            [prompt(1, None), prompt(2, 4), answer(3, 2), prompt(4, 3), answer(5, 4)],
            [1],
            [1, 2, 3, 4, 5],
            id="three",
        ),
        pytest.param([prompt(1, 2), answer(2, 1)], [0], [1, 2], id="at-the-root"),
    ],
)
def test_a_circle_is_opened(records, cycles, reached):
    """The record that closes a circle is named, and the way goes on before it."""
    graph = tree(*records)
    assert (graph.cycles, live(graph)) == (cycles, reached)


def test_a_parent_may_come_later():
    """A parent that stands below its child is its parent, and no circle."""
    graph = tree(prompt(1, None), answer(3, 2), prompt(2, 1), answer(4, 3))
    assert (list(graph.up), graph.cycles, graph.lost) == ([ROOT, 2, 0, 1], [], {})
    assert live(graph) == [1, 2, 3, 4]


def test_parallel_calls_are_all_reached():
    """Each result hangs from its own call: a healthy file has arms, and they are sent."""
    graph = tree(*PARALLEL)
    assert live(graph) == [1, 2, 3, 4, 5, 6]
    assert graph.branches() == []
    assert graph.messages() == (6, 6)


def test_a_result_of_a_dead_call_is_not_reached():
    """An arm is joined only to a turn that the way goes through."""
    graph = tree(*talk(2), answer(3, 1, use("a")), result(4, 3, "a"), prompt(5, 2))
    assert live(graph) == [1, 2, 5]


def test_a_rewind_is_a_branch():
    """What was written before the other branch began did not grow at the same time."""
    (branch,) = tree(*talk(4), prompt(5, 2), answer(6, 5)).branches()
    assert (branch.root, branch.tip, branch.fork, branch.messages) == (2, 3, 1, 2)
    assert (branch.switches, branch.live_after) == (0, 2)


def test_two_writers_grew_in_turns():
    """Live records between those of a branch show that both were written at once."""
    both = [prompt(3, 2), prompt(4, 2), answer(5, 3), answer(6, 4), prompt(7, 6)]
    (branch,) = tree(*talk(2), *both).branches()
    assert (branch.root, branch.tip, branch.messages) == (2, 4, 2)
    assert branch.switches == 1


def test_a_compaction_begins_anew():
    """What stands before a boundary is not reached, is no branch and is not missing."""
    graph = tree(*talk(4), boundary(5, 4), prompt(6, 5, **SUMMARY), prompt(7, 6), answer(8, 7))
    assert live(graph) == [5, 6, 7, 8]
    assert graph.messages() == (2, 2)
    assert graph.branches() == []


def test_branches_behind_a_compaction_count():
    """A rewind behind the boundary is still told."""
    new = [boundary(3), prompt(4, 3, **SUMMARY), prompt(5, 4), prompt(6, 4)]
    graph = tree(*talk(2), *new)
    assert [(b.root, b.messages) for b in graph.branches()] == [(4, 1)]
    assert graph.messages() == (1, 2)


def test_a_subagents_own_file():
    """Where all records are a subagent's, its chain is the main one."""
    graph = tree(*(r | ASIDE for r in talk(3)))
    assert (live(graph), graph.messages()) == ([1, 2, 3], (3, 3))


def test_twins_and_nameless():
    """An id that stands twice and a record without one are noted; the last of an id counts."""
    nameless = {k: v for k, v in prompt(9, 2).items() if k != "uuid"}
    graph = tree(*talk(2), answer(2, 1), nameless)
    assert (graph.twins, graph.nameless) == ([(2, 1)], [3])
    assert (graph.row_of(uid(2)), graph.row_of(uid(50))) == (2, None)


def test_rows_places_and_children():
    """A row knows its line and bytes, is found by its offset, and knows its children."""
    data = jsonl(*PARALLEL)
    graph = read(data).graph
    place = graph.place(3)
    assert data[place.start : place.end] == jsonl(PARALLEL[3]).strip()
    assert (place.line, graph.row_at(place.start)) == (4, 3)
    assert list(graph.children(1)) == [2, 3]
    assert list(graph.children(1, after=2)) == [3]
    assert graph.same_turn(1, 2)
    assert not graph.same_turn(3, 4)
