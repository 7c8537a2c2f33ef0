"""`show`: a session in words, for a terminal, a pipe or a screen reader."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sesstool.cli import main
from sesstool.cli import show as show_module
from tests.conftest import (
    answer,
    asks,
    boundary,
    envelope,
    event,
    jsonl,
    linked,
    meta,
    output,
    prompt,
    result,
    runs,
    said,
    says,
    tells,
    use,
)
from tests.test_mycodeagent import told

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture
def show(tmp_path, capsysbinary):
    """Shows some bytes; gives what is printed."""

    def shown(data, *options, code=0):
        path = tmp_path / "session.jsonl"
        path.write_bytes(data)
        assert main.run(["show", *options, str(path)]) == code
        return capsysbinary.readouterr().out.decode()

    return shown


def heads(text):
    """The first line of each record that is printed."""
    return [line for line in text.splitlines() if line.startswith("[")]


def test_who_speaks_and_what_is_called_is_said_in_words(show):
    """Roles, tools, arguments as they are written, and a result with the tool of its call."""
    data = jsonl(
        prompt(1, None, "light\nthe lamp"),
        answer(2, 1, use("a", "Write", path="log", text="lit\nat six")),
        result(3, 2, "a", "do\twell"),
        answer(4, 3),
    )
    assert show(data) == (
        "[1] 2026-03-01T06:00:01.000Z\nUser: light\nthe lamp\n\n"
        "[2] 2026-03-01T06:00:02.000Z\nTool call Write:\npath: log\ntext:\n  lit\n  at six\n\n"
        "[3] 2026-03-01T06:00:03.000Z\nTool result Write: do  well\n\n"
        "[4] 2026-03-01T06:00:04.000Z\nAssistant: it burns\n\n"
    )


def test_the_state_of_a_call_stands_with_it(show):
    """A call that failed, one without a result, and a result that names no call."""
    failed = result(3, 2, "a")
    failed["message"]["content"][0]["is_error"] = True
    data = jsonl(
        prompt(1, None),
        answer(2, 1, use("a")),
        failed,
        answer(4, 3, use("b")),
        prompt(5, 4, "stop"),
        result(6, 5, "z", "seen"),
    )
    assert [line for line in show(data).splitlines() if line.startswith("Tool")] == [
        "Tool call Bash (failed)",
        "Tool result Bash (failed): done",
        "Tool call Bash (no result; uncertain)",
        "Tool result (answers no call): seen",
    ]


def test_a_call_that_waits_for_a_person_is_pending(show):
    """What the format's own evidence says of a call without a result is told."""
    data = jsonl(
        meta(),
        says("user", "light the lamp"),
        runs("c", name="request_user_input", arguments="{}"),
        event("request_user_input", call_id="c", turn_id="t", questions=[]),
    )
    assert "Tool call request_user_input (no result; pending)\n" in show(data)


def test_branches_are_marked_where_they_part_and_where_they_begin(show):
    """Each record of one says that it is not resumed, and --branch leaves it out or alone."""
    data = jsonl(prompt(1, None), answer(2, 1), prompt(3, 2, "no"), prompt(4, 2, "yes"))
    text = show(data)
    assert "Fork: another branch begins at line 3\n\n" in text
    assert "Branch that is not resumed: from line 2, 1 message\n\n[3] " in text
    assert [line.endswith(", not resumed") for line in heads(text)] == [False, False, True, False]
    assert [line[:3] for line in heads(show(data, "--branch", "live"))] == ["[1]", "[2]", "[4]"]
    assert [line[:3] for line in heads(show(data, "--branch", "3"))] == ["[1]", "[2]", "[3]"]


def test_a_branch_that_there_is_not_is_refused(show):
    """A line without a record, and any branch of a session without a tree."""
    assert show(jsonl(prompt(1, None)), "--branch", "9", code=2) == ""
    assert show(jsonl(said("user")), "--branch", "1", code=2) == ""


def test_what_a_compaction_replaced_says_so(show):
    """In a tree and in a list; the live branch begins behind it."""
    tree = jsonl(
        prompt(1, None, "old"),
        boundary(2, 1),
        prompt(3, 2, "so far", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        answer(4, 3),
    )
    text = show(tree)
    assert heads(text)[0] == "[1] 2026-03-01T06:00:01.000Z, before the compaction"
    assert "Compaction: what stands above is no longer sent to the model\n" in text
    assert "Compaction: so far\n" in text
    assert text.count("so far") == 1
    assert "old" not in show(tree, "--branch", "live")
    listed = jsonl(
        meta(),
        says("user", "old"),
        envelope("compacted", {"message": "so far", "replacement_history": []}),
        says("user", "new"),
    )
    assert [line.rpartition("Z")[2] for line in heads(show(listed))] == [
        ", before the compaction",
        "",
        "",
    ]
    assert [line[:3] for line in heads(show(listed, "--branch", "live"))] == ["[3]", "[4]"]


def test_turns_that_were_rolled_back_say_so(show):
    """And the live branch leaves them out."""
    data = jsonl(
        meta(),
        says("user", "one"),
        says("assistant", "two"),
        says("user", "three"),
        event("thread_rolled_back", num_turns=1),
        says("user", "four"),
    )
    text = show(data)
    assert [", rolled back" in line for line in heads(text)] == [False, False, True, False, False]
    assert "three" not in show(data, "--branch", "live")
    again = jsonl(event("thread_rolled_back", num_turns=2), says("user", "five"))
    assert heads(show(data + again, "--branch", "live"))[-1].startswith("[8]")
    states = [", rolled back" in line for line in heads(show(data + again))]
    assert states == [True] * 5 + [False] * 2
    assert "Rolled back: 1\n" in text


def test_a_turn_is_rolled_back_behind_others_that_were(show):
    """The turn that goes last began before those."""
    back = event("thread_rolled_back", num_turns=1)
    talk = [says("user", "one"), says("user", "two"), back, says("user", "three"), back, back]
    text = show(jsonl(meta(), *talk, says("user", "four")))
    assert [", rolled back" in line for line in heads(text)] == [True] * 5 + [False] * 2


def test_what_a_checkpoint_keeps_by_its_index_is_resumed(show):
    """Records before the message of that index are not, those behind it are."""
    said_ = [told("message", role="user", content=f"m{n}") for n in range(3)]
    for kept, asides in ((1, [True, False, False, False]), (3, [True, True, True, False])):
        mark = told("checkpoint", checkpoint_id="c", summary="so far", retain_start_idx=kept)
        text = show(jsonl(*said_, mark), "--format", "mycodeagent")
        assert [", before the compaction" in line for line in heads(text)] == asides


def test_a_subagent_is_named(show):
    """What it said in the session's own file is its own."""
    aside = prompt(3, None, "look", isSidechain=True, agentId="explore")
    text = show(jsonl(prompt(1, None), answer(2, 1), aside))
    (head,) = [line for line in heads(text) if "subagent" in line]
    assert head.startswith("[3] 2026-03-01T06:00:03.000Z, subagent ")
    assert "not resumed" not in text


def test_bytes_that_are_no_record_are_counted_and_not_shown(show):
    """A torn record and a glued one keep their line."""
    data = jsonl(said("user", "one")) + b'{"role":"user","content":"secr'
    assert show(data) == "[1]\nUser: one\n\n[2] 30 bytes that are no record\n\n"


def test_thinking_and_notes_are_shown_when_asked_for(show):
    """Else neither is there."""
    thought = {"type": "thinking", "thinking": "oil first", "signature": "c2ln"}
    data = jsonl({"type": "mode", "mode": "x"}, prompt(1, None), answer(2, 1, thought))
    assert "oil" not in show(data)
    assert "Note" not in show(data)
    assert "Thinking: oil first\n" in show(data, "--thinking")
    assert "[1]\nNote mode\n" in show(data, "--notes")


def test_raw_prints_each_record_of_the_range(show):
    """Also records that say nothing, byte for byte."""
    data = jsonl({"type": "mode", "mode": "x"}, prompt(1, None), answer(2, 1))
    assert show(data, "--raw") == data.decode()
    assert show(data, "--raw", "--records", "2") == data.decode().splitlines(keepends=True)[1]


def test_raw_records_do_not_act_on_a_terminal(show, monkeypatch):
    """What could is made visible there, bytes that are no text too; -o - gives the bytes."""
    whole = jsonl(*(said("user", n) for n in "abc"))
    bad = b'{"role":"user","content":"a\x1b[2J\xe2\x80\xaeb\xff"}\n{"torn\x9b\n'
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert show(whole + bad, "--raw", "--records", "4:").splitlines() == [
        '{"role":"user","content":"a␛[2J<U+202E>b<U+DCFF>"}',
        '{"torn<U+DC9B>',
    ]
    text = whole + b'{"role":"user","content":"\xe2\x80\xaeb"}\n'
    assert show(text, "--raw", "-o", "-").encode() == text


def test_a_file_that_could_not_be_written_is_refused_before_the_work(show, tmp_path, monkeypatch):
    """Where it is there already, or its folder is not."""
    monkeypatch.setattr(show_module, "single", lambda _: pytest.fail("it was looked for"))
    (tmp_path / "there").touch()
    for target in ("there", "nowhere/x"):
        assert show(b"", "-o", str(tmp_path / target), code=6) == ""


def test_plain_is_what_it_is_anyway(show):
    """The flag is taken, and changes nothing."""
    data = jsonl(*(said("user", n) for n in "abc"))
    assert show(data, "--plain") == show(data)


def test_a_range_keeps_what_the_whole_session_tells(show):
    """A result knows its tool though the call is not shown, and a call that its result failed."""
    data = jsonl(said("user"), asks("c"), tells("c", "salt"), said("assistant", "it is"))
    assert show(data, "--records", "3") == "[3]\nTool result look: salt\n\n"


def test_what_acts_on_a_terminal_is_made_visible(show):
    """In texts, names, ids and times."""
    data = jsonl(
        linked(
            1,
            None,
            "assistant",
            timestamp="\x1b[2J",
            message={"role": "assistant", "content": [use("\x9b1", "B\x1b]0;x\x07", a="\u202eb")]},
        )
    )
    text = show(data)
    assert text == "[1] ␛[2J\nTool call B␛]0;x␇ (no result; uncertain): <U+202E>b\n\n"


def test_the_file_of_o_is_written_part_by_part(show, tmp_path):
    """It holds what stdout would, for its owner alone, and is not replaced."""
    data = jsonl(said("user", "one"))
    printed = show(data)
    target = tmp_path / "out.txt"
    assert show(data, "-o", str(target)) == ""
    assert target.read_text() == printed
    assert target.stat().st_mode & 0o777 == 0o600
    assert show(data, "-o", str(target), code=6) == ""


def test_items_of_codex_are_told_like_the_others(show):
    """A shell call's arguments, and its output."""
    data = jsonl(meta(), says("user", "go"), runs("c"), output("c", "ok"))
    assert "Tool call shell: ls\n" in show(data)
    assert "Tool result shell: ok\n" in show(data)
