"""Sessions of real agents: equal to themselves, and forks as the agents recorded them."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest

from sesstool.api import diffing
from sesstool.errors import NotASessionError

TALK = ("user", "assistant")
CODEX = ["real-clients/codex/*/fork", "codex/_generated__codex-cli/*fork"]


def records(path):
    """The records of a sound file by their lines."""
    return dict(enumerate(map(json.loads, path.read_bytes().splitlines()), 1))


def compared(left, right):
    """The fork point by lines, the counts, and the lineage."""
    with diffing.diff(diffing.Name(left), diffing.Name(right)) as found:
        one, other = found.fork
        fork = found.left.line(one), found.right.line(other)
        return fork, found.counts, found.lineage


def test_every_session_is_equal_to_itself(shared):
    """By its envelopes too, and no side did anything to the world."""
    wrong, refused, seen = [], 0, 0
    start = time.process_time()
    for path in sorted((shared / "corpus").rglob("*.jsonl")):
        name = diffing.Name(path)
        try:
            with diffing.diff(name, name, told=frozenset(diffing.FACTS)) as found:
                world = diffing.world(found)
                equal = found.counts["equal"] == len(found.left) == len(found.right)
                if found.differs or not equal or world.left or world.right or world.both:
                    wrong.append(path)
            seen += 1
        except NotASessionError:
            refused += 1
    assert wrong == []
    assert seen > 600
    assert refused < 50
    assert time.process_time() - start < 60  # it takes 5 seconds


def rollouts(folder):
    """The rollouts of a folder by the ids of their threads."""
    found = {}
    for path in folder.rglob("rollout-*.jsonl"):
        found[records(path)[1]["payload"]["id"]] = path
    return found


def test_forks_of_codex(shared):
    """By reference up to the ordinal, or as a copy of all lines, that the header tells."""
    seen = set()
    for folder in sorted(f for pattern in CODEX for f in (shared / "corpus").glob(pattern)):
        threads = rollouts(folder)
        for path in threads.values():
            own = records(path)
            header = own[1]["payload"]
            if "forked_from_id" not in header:
                continue
            parent = threads[header["forked_from_id"]]
            theirs = records(parent)
            end = header.get("forked_from_ordinal_exclusive")
            items = [n for n, r in theirs.items() if r["type"] == "response_item"]
            new = [n for n, r in own.items() if r["type"] == "response_item"]
            if end is None:
                # The copy has a header of its own before the lines of its parent.
                past, way = items, "a fork of"
                there = items[-1] + 1
                new = [n for n in new if n > there]
                kinds = [r["type"] for r in theirs.values()]
                assert [r["type"] for r in own.values()][1 : 1 + len(kinds)] == kinds
            else:
                past = [n for n in items if theirs[n]["ordinal"] < end]
                way, there = "a fork, by reference, of", past[-1]
            fork, counts, lineage = compared(parent, path)
            assert fork == (past[-1], there)
            assert lineage == f"the right one is {way} the other"
            both = counts["equal"] + counts["changed"] + counts["moved"]
            assert counts["equal"] >= len(past)
            assert both + counts["left"] == len(items)
            assert both + counts["right"] == len(past) + len(new)
            seen.add(way)
    assert seen == {"a fork of", "a fork, by reference, of"}


def test_a_fork_of_claude_code(shared):
    """It keeps the ids of what it copies: the last that both have is the fork point."""
    folder = shared / "corpus/real-clients/claude-code/2.1.332/fork/home"
    parent, fork = sorted(folder.rglob("*.jsonl"), key=lambda p: -p.stat().st_size)
    sides = [
        {r["uuid"]: n for n, r in records(path).items() if r["type"] in TALK}
        for path in (parent, fork)
    ]
    both = [name for name in sides[0] if name in sides[1]]
    found, counts, lineage = compared(parent, fork)
    assert found == (sides[0][both[-1]], sides[1][both[-1]])
    assert lineage == "copies that kept the ids of their records"
    assert counts["equal"] == len(both)
    assert counts["left"] + counts["changed"] == len(sides[0]) - len(both)
    assert counts["right"] + counts["changed"] == len(sides[1]) - len(both)
    assert counts["moved"] == 0


def test_a_rewind_of_claude_code(shared):
    """The branches part at the record under which two prompts hang."""
    (path,) = (shared / "corpus/real-clients/claude-code/2.1.332/rewind/home").rglob("*.jsonl")
    prompts = {
        n: r["parentUuid"]
        for n, r in records(path).items()
        if r["type"] == "user" and type(r["message"]["content"]) is str
    }
    (at,) = {p for p in prompts.values() if list(prompts.values()).count(p) > 1}
    (line,) = [n for n, r in records(path).items() if r.get("uuid") == at]
    live, other = (leaf.line for leaf in diffing.branches(path))
    with diffing.diff(diffing.Name(path, str(other)), diffing.Name(path, str(live))) as found:
        one, two = found.fork
        assert (found.left.line(one), found.right.line(two)) == (line, line)
        behind = found.left.line(one + 1), found.right.line(two + 1)
    assert behind == tuple(n for n, parent in prompts.items() if parent == at)


@pytest.mark.parametrize("client", ["codex/*/rewind", "pi/*/*", "claude-code/*/two-writers"])
def test_sessions_of_one_client_mirror_each_other(shared, client):
    """Neighbours that have nothing to do with each other, compared both ways."""
    paths = sorted((shared / "corpus/real-clients").glob(f"{client}/home/**/*.jsonl"))
    paths = [path for path in paths if path.stat().st_size < 1 << 20]
    assert len(paths) > 1
    for left, right in pairwise(paths):
        fork, counts, lineage = compared(left, right)
        back = compared(right, left)
        assert back[0] == fork[::-1]
        swapped = {"left": "right", "right": "left"}
        assert back[1] == {swapped.get(kind, kind): n for kind, n in counts.items()}
        assert back[2].split() == [swapped.get(word, word) for word in lineage.split()]
