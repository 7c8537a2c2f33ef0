"""`sesstool diff`: what it takes, tells and refuses; pairs with expectations are in samples."""

import base64
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sesstool.api import diffing
from sesstool.cli.main import run
from tests.conftest import (
    THREAD,
    answer,
    boundary,
    envelope,
    jsonl,
    linked,
    meta,
    prompt,
    result,
    said,
    says,
    talk,
    uid,
    use,
    words,
)


@pytest.fixture
def write(tmp_path):
    """Write a session; returns its path as text."""

    def write(name, *records):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(jsonl(*records))
        return str(path)

    return write


def compared(left, right, base=None, **more):
    """The changes as kinds with their sizes, and the fork lines."""
    names = [diffing.name_of(name) for name in (left, right)]
    with diffing.diff(*names, base and diffing.name_of(base), **more) as found:
        fork = tuple(
            side.line(n) if n >= 0 else 0
            for side, n in zip((found.left, found.right), found.fork, strict=True)
        )
        kinds = [(c.kind, c.left_end - c.left, c.right_end - c.right) for c in found.changes]
        return kinds, fork


def test_a_session_is_equal_to_itself(write, capsys):
    path = write("a", *talk(4))
    assert run(["diff", path, path]) == 0
    out, err = capsys.readouterr()
    assert "no difference" in out
    assert err == "no difference: 4 units on both sides\n"


def test_envelopes_are_no_difference_unless_asked_for(write):
    """A copy has new ids and times; with `told` each fact counts alone."""
    left = write("a", *talk(2))
    copied = [r | {"timestamp": "2026-05-05T05:05:05.000Z"} for r in talk(12, first=11)]
    right = write("b", *copied)
    assert compared(left, right) == ([("equal", 2, 2)], (2, 2))
    assert compared(left, right, told=frozenset({"cwd", "version"}))[0] == [("equal", 2, 2)]
    for fact in ("times", "ids"):
        assert compared(left, right, told=frozenset({fact}))[0] == [("changed", 1, 1)] * 2


def test_no_ignore_shows_the_facts(write, capsys):
    left, right = write("a", prompt(1, None)), write("b", prompt(1, None, cwd="/srv/pier"))
    assert run(["diff", left, right]) == 0
    capsys.readouterr()
    assert run(["diff", "--no-ignore", "--unified", left, right]) == 1
    out = capsys.readouterr().out
    assert "-     cwd: /srv/[beacon]\n" in out
    assert "+     cwd: /srv/{pier}\n" in out
    assert run(["diff", "--ignore", "cwd", left, right]) == 0
    assert run(["diff", "--ignore", "times", left, right]) == 1


def test_what_changed_is_paired_by_id(write):
    """Of records that kept their ids one that says something else has changed."""
    left = write("a", *talk(2), prompt(3, 2, "north"), answer(4, 3))
    right = write("b", *talk(2), prompt(3, 2, "quite another thing"), answer(4, 3))
    kinds, fork = compared(left, right)
    assert kinds == [("equal", 2, 2), ("changed", 1, 1), ("equal", 1, 1)]
    assert fork == (2, 2)


def test_what_changed_is_paired_by_likeness(write):
    left = write("a", prompt(1, None, "go to the north gate"), answer(2, 1))
    right = write("b", prompt(11, None, "go to the south gate"), answer(12, 11, words("no")))
    assert compared(left, right)[0] == [("changed", 1, 1), ("left", 1, 0), ("right", 0, 1)]


def test_a_block_that_moved_is_told_on_both_sides(write):
    said_ = [f"step {n} of the way" for n in range(12)]
    moved = [*said_[:2], *said_[6:10], *said_[2:6], *said_[10:]]
    left = write("a", *(prompt(n, n - 1 or None, w) for n, w in enumerate(said_, 1)))
    right = write("b", *(prompt(n, n - 1 or None, w) for n, w in enumerate(moved, 1)))
    kinds, _ = compared(left, right)
    assert sorted(kind for kind in kinds if kind[0] == "moved") == [
        ("moved", 0, 4),
        ("moved", 4, 0),
    ]
    assert sum(left for kind, left, _ in kinds if kind == "equal") == 8


def test_sessions_of_two_agents(write):
    """The same talk means the same, however it is kept."""
    left = write("claude", prompt(1, None, "light it"), answer(2, 1, words("done")))
    right = write("openai", said("user", "light it"), said("assistant", "done"))
    assert compared(left, right) == ([("equal", 2, 2)], (2, 2))


def test_calls_are_compared_as_values(write):
    """The order of keys, and JSON text or not, is no difference."""
    left = write("a", answer(1, None, use("c1", "Write", path="x", text="y")))
    call = {"id": "c9", "type": "function"}
    call["function"] = {"name": "Write", "arguments": '{"text": "y", "path": "x"}'}
    right = write("b", {"role": "assistant", "content": None, "tool_calls": [call]})
    assert compared(left, right)[0] == [("equal", 1, 1)]


def test_branches_of_one_file(write, capsys):
    path = write("a", *talk(4), prompt(5, 2, "another way"), answer(6, 5, words("yes")))
    assert run(["diff", path, "--branches", "--stat"]) == 1
    out, err = capsys.readouterr()
    assert f"leaf at line 6  {uid(6)}  4 messages of its own  live\n" in err
    assert f"leaf at line 4  {uid(4)}  2 messages of its own\n" in err
    assert "branches of one file; fork at line 2 | line 2" in out
    assert compared(f"{path}@6", f"{path}@{uid(4)}")[1] == (2, 2)


def test_one_branch_alone(write, capsys):
    path = write("a", *talk(2))
    assert run(["diff", path, "--branches"]) == 0
    assert "has no other branch" in capsys.readouterr().err


def test_above_a_compaction(write):
    """A side goes on above a compaction, although a resume does not."""
    left = write("a", *talk(4))
    summary = prompt(6, 5, "what was said", isCompactSummary=True)
    right = write("b", *talk(4), boundary(5, 4), summary, answer(7, 6))
    kinds, fork = compared(left, right)
    assert kinds == [("equal", 4, 4), ("right", 0, 3)]
    assert fork == (4, 4)


def test_three_ways(write, capsys):
    """With the common ancestor it is told who took out and who put in."""
    base = write("base", *talk(3))
    left = write("a", *talk(3), answer(4, 3, words("left")))
    right = write("b", *talk(2))
    assert run(["diff", left, right, "--base", base, "--unified"]) == 1
    out = capsys.readouterr().out
    assert "- 3 USER  (the right side took it out)" in out
    assert "- 4 ASSISTANT  (new here)" in out


def test_the_ancestor_is_found(write, capsys):
    """Where both sides say the same of it and its file is beside them."""
    parent = uid(900)
    forked = {"forkedFrom": {"sessionId": parent, "messageUuid": uid(2)}}
    write(parent, *[r | {"sessionId": parent} for r in talk(2)])
    left = write("a", *(r | forked for r in talk(12, first=11)), prompt(13, 12, "left"))
    right = write("b", *(r | forked | {"sessionId": uid(7)} for r in talk(22, first=21)))
    assert run(["diff", left, right, "--unified"]) == 1
    out = capsys.readouterr().out
    assert "two forks of one session; fork at line 2 | line 2" in out
    assert "- 3 USER  (new here)" in out


def test_what_each_side_did_to_the_world(write, capsys):
    """Shared calls were done once; the same call made apart was done twice."""
    shared = [
        prompt(1, None),
        answer(2, 1, use("c1", "Write", file_path="/srv/map.txt", content="x")),
        result(3, 2, "c1"),
    ]
    ours = [
        *shared,
        answer(4, 3, use("c2", "Edit", file_path="/srv/a.txt", old_string="a", new_string="b")),
        result(5, 4, "c2"),
    ]
    theirs = [
        *shared,
        answer(14, 3, use("c3", command="make it")),
        result(15, 14, "c3"),
        answer(16, 15, use("c4", "Edit", file_path="/srv/a.txt", old_string="a", new_string="c")),
        result(17, 16, "c4"),
    ]
    left, right = write("a", *ours), write("b", *theirs)
    assert run(["diff", left, right, "--stat", "--effects"]) == 1
    told = capsys.readouterr().out.split("what may have changed in the world\n")[1]
    assert told == (
        "  left side, behind the fork: 1 call\n"
        "         4  file     Edit: /srv/a.txt\n"
        "  right side, behind the fork: 2 calls\n"
        "         4  command  Bash: make it\n"
        "         6  file     Edit: /srv/a.txt\n"
        "  both sides touched: 1 file\n"
        "    /srv/a.txt\n"
        "  inherited by both, done once: 1 call\n"
        "         2  file     Write: /srv/map.txt\n"
    )


def test_subagents_in_one_file_belong_to_every_branch(write):
    aside = linked(8, None, "user", isSidechain=True, agentId="a1")
    aside["message"] = {"role": "user", "content": "look"}
    path = write("a", *talk(4), aside, prompt(5, 2, "another way"))
    kinds, _ = compared(f"{path}@4", f"{path}@6")
    assert ("equal", 1, 1) in kinds


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["a"], 2, "a second session is missing"),
        (["a", "b", "--branches"], 2, "--branches takes one session"),
        (["a@77", "b"], 2, "has no record 77"),
        ([f"a@{'9' * 5000}", "b"], 2, "has no record 999"),
        (["a@0000", "b"], 2, "3 records of a.jsonl have an id that begins with 0000"),
        (["a@1", "--branches"], 2, "is no leaf"),
        (["a", "b", "--html", "-"], 2, "--html takes a file of its own"),
        (["a", "b", "--html", "b.jsonl"], 6, "b.jsonl exists already"),
        (["a", "wide"], 3, "is in UTF-16"),
        (["plain@2", "b"], 2, "has no branches"),
        (["a", "b", "--ignore", "tides"], 2, "--ignore does not know tides"),
        (["-", "-"], 2, "standard input can be one side only"),
        (["a", "nowhere.jsonl"], 3, "cannot open"),
        (["a", "none"], 3, "holds no record that can be read"),
    ],
)
def test_refusals(write, tmp_path, monkeypatch, capsys, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    write("b", *talk(2))
    write("a", *talk(2), prompt(3, 1))
    (tmp_path / "wide.jsonl").write_bytes(jsonl(*talk(2)).decode().encode("utf-16"))
    write("plain", {"role": "user", "content": "light it"})
    (tmp_path / "none.jsonl").write_bytes(b"tide tables\n")
    files = re.compile(r"(a|b|none|plain|wide)(@.*)?")
    assert (
        run(
            [
                "diff",
                *(
                    files.sub(r"\1.jsonl\2", word, 1) if files.fullmatch(word) else word
                    for word in arguments
                ),
            ]
        )
        == code
    )
    err = capsys.readouterr().err
    assert said in err
    assert "hint" in err


def test_a_path_with_an_at(write):
    path = write("me@home", *talk(2))
    assert compared(path, path)[0] == [("equal", 2, 2)]


def test_a_fork_by_reference_without_its_parent(write, capsys):
    """What it goes on from is said to be missing, and not passed over."""
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 3, "end_byte_offset": 900}
    path = write("rollout", meta(id=uid(5), history_base=base), says("user", "go on"))
    assert run(["diff", path, path]) == 0
    told = f"session {THREAD}, which it goes on from, is not found: what stands there is not"
    assert told in capsys.readouterr().out


def test_hostile_text_is_made_visible(write, capsys):
    left = write("a", prompt(1, None, "safe"))
    right = write("b", prompt(1, None, "\x1b[31mred\u202eder \x07"))
    assert run(["diff", left, right]) == 1
    out = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x07"}.intersection(out)
    assert "␛[31mred<U+202E>der" in out.replace("{", "").replace("}", "")


def test_half_a_character_in_json(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(prompt(1, None, "x")).replace(b'"x"', b'"\\ud83d"'))
    other = tmp_path / "b.jsonl"
    other.write_bytes(jsonl(prompt(1, None, "y")))
    for form in ("json", "text"):
        assert run(["diff", "-f", form, str(path), str(other)]) == 1
        capsys.readouterr()


def test_the_output_file(write, tmp_path, capsys):
    """-o takes the result, whole or not at all, and no file is overwritten."""
    left, right, out = write("a", *talk(2)), write("b", *talk(4)), tmp_path / "diff.json"
    assert run(["diff", left, right, "-f", "json", "-o", str(out)]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_bytes())["counts"]["right"] == 2
    assert run(["diff", left, right, "-f", "json", "-o", str(out)]) == 6


@pytest.mark.parametrize("view", ["--side-by-side", "--unified"])
@pytest.mark.parametrize("columns", ["1", "2", "7", "21"])
def test_a_narrow_terminal(write, monkeypatch, view, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["diff", view, write("a", *talk(2)), write("b", *talk(4))]) == 1


@pytest.mark.parametrize(("call", "apart"), [("call_2", 1), ("toolu_01AbCdEf23456789", 0)])
def test_counted_ids_are_no_proof(write, capsys, call, apart):
    """Behind the fork both sides paid: an id that an agent counts up to tells nothing."""

    def paid(words):
        asked = {"id": call, "type": "function"}
        asked["function"] = {"name": "shell", "arguments": '{"command": "./pay 100"}'}
        return [
            said("user", "begin"),
            said("assistant", words),
            {"role": "assistant", "content": None, "tool_calls": [asked]},
        ]

    left, right = write("a", *paid("left")), write("b", *paid("right"))
    assert run(["diff", left, right, "--effects", "-f", "json"]) == 1
    effects = json.loads(capsys.readouterr().out)["effects"]
    counts = [len(effects[name]) for name in ("left", "right", "inherited")]
    assert counts == [apart, apart, 1 - apart]


def test_a_parent_under_another_name(write):
    """The session that a fork goes on from is known by what it holds."""
    parent = jsonl(meta(id=THREAD), says("user", "light it"), says("assistant", "it burns"))
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 3, "end_byte_offset": len(parent)}
    left = write("parent", meta(id=THREAD), says("user", "light it"), says("assistant", "it burns"))
    right = write("child", meta(id=uid(5), history_base=base), says("user", "go on"))
    assert compared(left, right) == ([("equal", 2, 2), ("right", 0, 1)], (3, 3))


@pytest.mark.parametrize("change", [-1, 1])
def test_a_parent_that_was_changed(write, capsys, change):
    """A cut that falls into a record is told, and the record is not taken."""
    records = [meta(id=THREAD), says("user", "light it"), says("assistant", "it burns")]
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 2}
    base["end_byte_offset"] = len(jsonl(*records[:2])) - 40 * (change > 0) + 40 * (change < 0)
    left = write("parent", *records)
    right = write("child", meta(id=uid(5), history_base=base), says("user", "go on"))
    assert run(["diff", left, right]) == 1
    assert "parent.jsonl was changed after it was forked" in capsys.readouterr().out


def test_damage_is_told(tmp_path, write, capsys):
    path = tmp_path / "torn.jsonl"
    path.write_bytes(jsonl(*talk(4))[:-30])
    assert run(["diff", write("a", *talk(3)), str(path)]) == 0
    assert "1 piece that cannot be read as a record: not compared" in capsys.readouterr().out


def test_many_blocks_in_one_record(write):
    """More than sixteen bits count."""

    def results(changed):
        blocks = [
            {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"r{n}"}
            for n in range(66_000)
        ]
        blocks[changed]["content"] = "other"
        return prompt(1, None, blocks)

    left, right = write("a", results(65_900)), write("b", results(65_800))
    with diffing.diff(diffing.name_of(left), diffing.name_of(right)) as found:
        assert [found.left.unit(n).words for n in (65_535, 65_900)] == ["r65535", "other"]
        assert found.right.unit(65_999).words == "r65999"


def parallel(ids, answered, words=("it burns", "it is dark")):
    """A turn of two calls, their results in order, and which call each one says it answers."""
    calls = [answer(n + 2, n + 1, use(c, path=f"lamp {n}"), turn="m") for n, c in enumerate(ids)]
    results = [
        result(n + 4, n + 3, c, w) for n, (c, w) in enumerate(zip(answered, words, strict=True))
    ]
    return [prompt(1, None), *calls, *results, answer(6, 5)]


def test_results_of_parallel_calls_that_are_swapped(write, capsys):
    """Each text answers the other call: a copy may have new ids, so places tell which."""
    left = write("a", *parallel(["c1", "c2"], ["c1", "c2"]))
    right = write("b", *parallel(["x8", "x9"], ["x9", "x8"]))
    copy = write("c", *parallel(["x8", "x9"], ["x8", "x9"]))
    assert compared(left, copy)[0] == [("equal", 6, 6)]
    kinds, _ = compared(left, right)
    assert kinds == [("equal", 3, 3), *[("changed", 1, 1)] * 2, ("equal", 1, 1)]
    assert run(["diff", "--unified", left, right]) == 1
    out = capsys.readouterr().out
    assert "-     answers: call [1] of its turn, Bash\n" in out
    assert "+     answers: call {2} of its turn, Bash\n" in out
    assert "-     it burns\n" in out


def test_results_keep_their_calls_where_another_is_taken_out(write):
    """The place of a call changes, and its result is the same one all the same."""
    calls = [use(f"c{n}", path=f"lamp {n}") for n in range(3)]
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": f"r{n}"} for n in (1, 2)]
    left = write("a", prompt(1, None), answer(2, 1, *calls), prompt(3, 2, results))
    right = write("b", prompt(1, None), answer(2, 1, *calls[1:]), prompt(3, 2, results))
    kinds, _ = compared(left, right)
    assert kinds == [("equal", 1, 1), ("left", 1, 0), ("equal", 4, 4)]


def failed(n, parent, words, error):
    block = {"type": "tool_result", "tool_use_id": "c1", "content": words, "is_error": error}
    return prompt(n, parent, [block])


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        (
            prompt(1, None, "yes"),
            answer(1, None, words("yes")),
            ["role: [user]", "role: {assistant}", "-     yes"],
        ),
        (failed(1, None, "x", error=False), failed(1, None, "x", error=True), ["failed: [no]"]),
        (
            answer(1, None, use("c1", count=1)),
            answer(1, None, use("c1", count=1.0)),
            ['as written: {"count":1}', 'as written: {"count":1{.0}}'],
        ),
        (
            answer(1, None, use("c1", "Read", path="x")),
            answer(1, None, use("c1", "Write", path="x")),
            ["tool: [Read]", "tool: {Write}"],
        ),
    ],
)
def test_no_change_is_told_without_what_changed(write, capsys, ours, theirs, told):
    """Also where the words are the same."""
    assert run(["diff", "--unified", write("a", ours), write("b", theirs)]) == 1
    out = capsys.readouterr().out
    assert [line for line in told if line not in out] == []


def thinks(n, parent, signature):
    return answer(
        n, parent, {"type": "thinking", "thinking": "so it is", "signature": signature}, words("ok")
    )


def test_the_fork_point_is_found_whatever_facts_are_asked_for(write, capsys):
    """New ids and times in all that is shared do not move it, nor make shared calls two."""
    shared = use("c1", "Write", file_path="/srv/map.txt", content="x")
    left = write("a", prompt(1, None), answer(2, 1, shared), result(3, 2, "c1"), prompt(4, 3, "on"))
    again = [prompt(11, None), answer(12, 11, shared), result(13, 12, "c1"), prompt(14, 13, "back")]
    right = write("b", *(r | {"timestamp": "2026-05-05T05:05:05.000Z"} for r in again))
    told = frozenset(diffing.FACTS)
    kinds, fork = compared(left, right, told=told)
    assert fork == compared(left, right)[1] == (3, 3)
    assert kinds == [*[("changed", 1, 1)] * 3, ("left", 1, 0), ("right", 0, 1)]
    assert run(["diff", "--no-ignore", "--effects", "--unified", left, right]) == 1
    out = capsys.readouterr().out
    assert "fork at line 3 | line 3" in out
    assert out.index("~ 3|3 TOOL RESULT") < out.index("↳ fork point") < out.index("- 4 USER")
    assert "inherited by both, done once: 1 call\n" in out


def test_where_only_envelopes_differ_there_is_no_fork(write, capsys):
    left, right = write("a", prompt(1, None)), write("b", prompt(1, None, cwd="/srv/pier"))
    assert run(["diff", "--no-ignore", left, right]) == 1
    out = capsys.readouterr().out
    assert "the same was said, in other envelopes" in out
    assert "fork point" not in out


def test_signatures_are_a_fact(write, capsys):
    left, right = (write(s, prompt(1, None), thinks(2, 1, s)) for s in ("QUJD", "REVG"))
    assert run(["diff", left, right]) == 0
    assert run(["diff", "--ignore", "times,ids,cwd,version,model", "--unified", left, right]) == 1
    out = capsys.readouterr().out
    assert "~ 2|2 THINKING" in out
    assert "-     signature: [QUJD]\n" in out
    assert "~ 2|2 ASSISTANT" not in out


def test_the_model_is_a_fact_of_what_it_said(write, capsys):
    """What a person said is no other for it."""
    left, right = ([prompt(1, None), answer(2, 1), prompt(3, 2)] for _ in range(2))
    right[1]["message"]["model"] = "claude-other"
    sides = write("a", *left), write("b", *right)
    assert compared(*sides)[0] == [("equal", 3, 3)]
    kinds, _ = compared(*sides, told=frozenset({"model"}))
    assert kinds == [("equal", 1, 1), ("changed", 1, 1), ("equal", 1, 1)]
    run(["diff", "--no-ignore", "--unified", *sides])
    assert "-     model: claude-[test]\n" in capsys.readouterr().out


def test_facts_that_a_record_before_tells(write):
    """Codex tells the folder and the model once for all that comes behind."""

    def session(name, cwd, model):
        turn = envelope("turn_context", {"cwd": cwd, "model": model})
        return write(name, meta(), turn, says("user", "go"), says("assistant", "gone"))

    left = session("a", "/srv/beacon", "one")
    kinds = [("equal", 1, 1), ("changed", 1, 1)]
    two = session("b", "/srv/beacon", "two")
    assert compared(left, two, told=frozenset(diffing.FACTS))[0] == kinds
    pier = session("c", "/srv/pier", "one")
    assert compared(left, pier, told=frozenset(diffing.FACTS))[0] == [("changed", 1, 1)] * 2


SHORT = f"session {THREAD}, which it goes on from, was shortened"


@pytest.mark.parametrize(
    ("change", "end", "gap"),
    [
        ({}, 0, ""),
        ({1: "light it at once, whatever the harbour says"}, 0, ""),
        ({1: "light"}, 0, ""),
        ({}, None, ""),
        ({}, 400, ""),
        ({2: None}, 0, SHORT),
        ({2: None, 3: None}, 0, SHORT),
        ({1: None}, 0, ""),
    ],
)
def test_the_numbers_of_records_tell_what_a_fork_goes_on_from(write, change, end, gap):
    """Whatever became of the bytes before them; they do not change when those are mended."""
    texts = {1: "light it", 2: "it burns", 3: "thanks"}
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 3}
    whole = [meta(0, id=THREAD), *(says("user", words, n) for n, words in texts.items())]
    if end is not None:
        base["end_byte_offset"] = len(jsonl(*whole[:3])) + end
    left = {n: words for n, words in (texts | change).items() if words}
    write("parent", meta(0, id=THREAD), *(says("user", words, n) for n, words in left.items()))
    child = write("child", meta(3, id=uid(5), history_base=base), says("user", "go on", 4))
    parent = child.replace("child", "parent")
    with diffing.diff(diffing.name_of(parent), diffing.name_of(child)) as found:
        side = found.right
        said_ = [side.unit(n).words for n in range(len(side))]
    assert said_ == [*(words for n, words in left.items() if n < 3), "go on"]
    assert side.missing == gap


def test_a_record_without_a_number_stands_with_the_one_before_it(write):
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 3, "end_byte_offset": 10}
    shared = [meta(0, id=THREAD), says("user", "a", 1), says("user", "b"), says("user", "c", 2)]
    parent = write("parent", *shared, says("user", "d", 3), says("user", "e"))
    child = write("child", meta(3, id=uid(5), history_base=base), says("user", "f", 4))
    assert compared(parent, child)[0] == [("equal", 3, 3), ("left", 2, 0), ("right", 0, 1)]


def test_a_branch_of_standard_input(write):
    """It looks like an option and is none, also where letters of it are options."""
    path = write("a", *talk(4), prompt(5, 2, "another way"), answer(6, 5, words("yes")))

    def diff(*given):
        command = [sys.executable, "-m", "sesstool", "diff", "--stat", *given]
        with Path(path).open("rb") as data:
            done = subprocess.run(command, stdin=data, capture_output=True, check=False)
        return done.returncode, done.stdout + done.stderr

    for given in (["-@4", path], [path, "-@4"]):
        code, out = diff(*given)
        assert code == 1
        assert b" -@4  Claude Code session" in out
    code, out = diff("-@foqv", path)
    assert code == 2
    assert b"has no record foqv" in out


@pytest.mark.parametrize(
    ("ours", "theirs", "note"),
    [
        ("light the lamp", "light the fire", "the right side changed it"),
        ("light the fire", "light the lamp", "the left side changed it"),
        ("light the fire", "light the wick", "new, or changed by both sides"),
    ],
)
def test_the_ancestor_tells_who_changed_a_unit(write, capsys, ours, theirs, note):
    base = write("base", prompt(1, None))
    left, right = write("a", prompt(1, None, ours)), write("b", prompt(1, None, theirs))
    for view in ("--unified", "--side-by-side"):
        assert run(["diff", left, right, "--base", base, view]) == 1
        assert note[:20] in capsys.readouterr().out
    assert run(["diff", left, right, "--unified"]) == 1
    assert "USER\n" in capsys.readouterr().out


@pytest.mark.parametrize(("most", "told"), [(1_199, 1), (1_200, 0)])
def test_a_text_of_too_many_lines_is_told(write, monkeypatch, capsys, most, told):
    monkeypatch.setattr("sesstool.diff.words._MOST_LINES", most)
    lines = "light the lamp\n" * 300
    first = write("a", *talk(2), prompt(3, 2, f"{lines}one\n{lines[:-15]}"))
    second = write("b", *talk(2), prompt(3, 2, f"{lines}two\n{lines[:-15]}"))
    assert run(["diff", first, second]) == 1
    assert capsys.readouterr().out.count("USER  (too long to compare by lines)") == told


def test_a_picture_is_told_by_its_size_and_hash(write, tmp_path, capsys):
    """Nobody reads base64; what tells two pictures from each other is enough."""

    def picture(seed):
        data = base64.b64encode(random.Random(seed).randbytes(3000)).decode()
        return {"type": "image", "source": {"type": "base64", "data": data}}

    left = write("a", prompt(1, None, [words("look"), picture(1)]))
    right = write("b", prompt(1, None, [words("look"), picture(2)]))
    page = tmp_path / "page.html"
    assert run(["diff", "--unified", "--whole", "--html", str(page), left, right]) == 1
    out = capsys.readouterr().out
    told = re.findall(r"of base64, sha256[-+\s]+([0-9a-f]{8})\)", out)
    assert len(set(told)) == 2
    for text in (out, page.read_text()):
        assert picture(1)["source"]["data"][100:140] not in text
        assert told[0] in text
