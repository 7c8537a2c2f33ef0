"""Every pair of forks beside its expectation: a new pair needs no code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api import diffing
from sesstool.cli import main
from sesstool.findings import Severity
from tests.conftest import same_as_snapshot

FORKS = Path(__file__).parents[1] / "samples" / "forks"
PAIRS = sorted(path.parent.name for path in FORKS.glob("*/expect.json"))
OTHER = {"left": "right", "right": "left"}
every_pair = pytest.mark.parametrize("pair", PAIRS, indirect=True)
VIEWS = {
    "unified": (80, "--unified"),
    "side-by-side": (120, "--side-by-side"),
    "stat": (80, "--stat"),
    "effects": (80, "--stat", "--effects"),
}


@pytest.fixture
def pair(request, monkeypatch):
    """What is expected of a pair, from inside its folder."""
    monkeypatch.chdir(FORKS / request.param)
    return json.loads(Path("expect.json").read_text())


def mirrored(words):
    """Words with the sides exchanged."""
    return " ".join(OTHER.get(word, word) for word in words.split(" "))


def swapped(names):
    """Something by side, with the sides exchanged."""
    return {OTHER.get(name, name): value for name, value in names.items()}


def found(left, right):
    """What a comparison says, in the words of an expectation."""
    with diffing.diff(diffing.name_of(left), diffing.name_of(right)) as done:
        one, other = done.fork
        world = diffing.world(done)
        return {
            "arguments": [left, right],
            "lineage": done.lineage,
            "fork": [done.left.line(one), done.right.line(other)],
            "counts": done.counts,
            "effects": {
                "left": targets(world.left),
                "right": targets(world.right),
                "both": list(world.both),
                "inherited": sorted(targets(world.inherited)),
            },
            "exit": int(done.differs),
        }


def targets(calls):
    return [effect.target for done in calls for effect in done.effects]


def test_pairs_are_there():
    """At least eight, and each folder has its expectation."""
    assert len(PAIRS) >= 8
    assert sorted(path.name for path in FORKS.iterdir()) == PAIRS


@pytest.mark.parametrize("path", sorted(FORKS.rglob("*.jsonl")), ids=lambda p: p.stem)
def test_sound(path):
    """No session of a pair is damaged, and each is as small as a sample should be."""
    report = api.validate(path)
    assert {f.severity for f in report.findings} <= {Severity.INFORMATION}
    assert 5 <= len(path.read_bytes().splitlines()) <= 20


@every_pair
def test_expected(pair):
    """Lineage, fork point, counts and effects are what the pair was made for."""
    expect = {name: value for name, value in pair.items() if name != "branches"}
    assert found(*pair["arguments"]) == expect


@every_pair
def test_mirrored(pair):
    """With the sides exchanged the answer is the same with its sides exchanged."""
    there = found(*pair["arguments"])
    back = found(*reversed(pair["arguments"]))
    assert back == {
        "arguments": there["arguments"][::-1],
        "lineage": mirrored(there["lineage"]),
        "fork": there["fork"][::-1],
        "counts": swapped(there["counts"]),
        "effects": swapped(there["effects"]),
        "exit": there["exit"],
    }


@every_pair
def test_branches(pair, capsys):
    """Where a pair is two branches, --branches lists their leaves and compares them."""
    path = diffing.name_of(pair["arguments"][0]).path
    if "branches" not in pair:
        assert len({diffing.name_of(side).path for side in pair["arguments"]}) == 2
        return
    assert [leaf.line for leaf in diffing.branches(path)] == pair["branches"]
    assert main.run(["diff", str(path), "--branches"]) == 1
    head = capsys.readouterr().out.splitlines()[:2]
    live, other = pair["branches"]
    assert [line.split()[1] for line in head] == [f"{path}@{live}", f"{path}@{other}"]


@pytest.mark.parametrize("view", VIEWS)
def test_views(view, capsys, monkeypatch):
    """Every output of every pair, as it was last looked at."""
    columns, *flags = VIEWS[view]
    monkeypatch.setenv("COLUMNS", str(columns))
    runs = []
    for name in PAIRS:
        monkeypatch.chdir(FORKS / name)
        expect = json.loads(Path("expect.json").read_text())
        arguments = ["diff", *expect["arguments"], *flags]
        code = main.run(arguments)
        assert code == expect["exit"]
        out, err = capsys.readouterr()
        runs.append(f"$ sesstool {' '.join(arguments)}\n{out}--- stderr\n{err}--- exit {code}\n")
    same_as_snapshot(f"diff-{view}.txt", "\n".join(runs))


@every_pair
def test_no_line_is_too_long(pair, capsys, monkeypatch):
    """What a view shows below its head fits the terminal."""
    for columns, *flags in VIEWS.values():
        monkeypatch.setenv("COLUMNS", str(columns))
        main.run(["diff", *pair["arguments"], *flags])
        body = capsys.readouterr().out.splitlines()[3:]
        assert max(map(len, body)) <= columns
