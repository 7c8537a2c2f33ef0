"""What a resume sends: messages, calls by state, what is refused and what is lost."""

from __future__ import annotations

import pytest

from sesstool.errors import NotASessionError
from sesstool.repair.resume import resume
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    Memory,
    answer,
    asks,
    boundary,
    event,
    jsonl,
    meta,
    output,
    prompt,
    result,
    runs,
    said,
    says,
    talk,
    tells,
    use,
)


def report(*records, name="session.jsonl"):
    data = b"".join(r if type(r) is bytes else jsonl(r) for r in records)
    return resume(Memory(data, name))


def test_a_sound_session():
    """All messages are sent, and the agent's own command resumes it."""
    found = report(*talk(4))
    assert (found.sent, found.present, found.branches) == (4, 4, 0)
    assert (found.calls, found.completed, found.open_calls) == (0, 0, ())
    assert (found.refusals, found.losses, found.acceptable) == ((), (), True)
    assert (found.session_id, found.cwd, found.model) == (SESSION, "/srv/beacon", "claude-test")
    assert found.command == f"claude --resume {SESSION}"
    assert found.last_time == "2026-03-01T06:00:04.000Z"


def test_a_branch_is_not_sent():
    """What hangs beside the way to the leaf is there, and not sent."""
    found = report(*talk(4), prompt(5, 2))
    assert (found.sent, found.present, found.branches) == (3, 5, 1)


def test_an_open_call_is_refused_and_may_have_run():
    """A call without a result is refused by a provider; its effect is unknown."""
    found = report(prompt(1, None), answer(2, 1, use("a"), use("b", "Read")), prompt(3, 2))
    assert (found.calls, found.completed, found.acceptable) == (2, 0, False)
    bash, read = found.open_calls
    assert (bash.id, bash.tool, bash.line, bash.state) == ("a", "Bash", 2, "uncertain")
    assert "may have changed" in bash.effect
    assert read.effect == "changes nothing"
    assert {f.code for f in found.refusals} == {"T401"}


def test_a_call_that_waits_is_no_refusal():
    """A question to a person is open, and no fault."""
    found = report(prompt(1, None), answer(2, 1, use("q", "AskUserQuestion")))
    assert [(c.state, c.effect) for c in found.open_calls] == [("pending", "waits for a person")]
    assert found.acceptable


def test_a_recorded_outcome_is_told():
    """Where an event holds the output, the state says that the call was completed."""
    done = event("exec_command_end", call_id="a", stdout="out")
    (call,) = report(meta(), runs("a"), done, name=ROLLOUT).open_calls
    assert call.state == "completed"
    assert "recorded elsewhere" in call.effect


@pytest.mark.parametrize(
    ("records", "codes"),
    [
        ([*talk(2), b'{"cut'], ["B104"]),
        ([*talk(2), b"WARN\n", prompt(3, 2)], ["B112"]),
        ([*talk(2), prompt(4, 3)], ["G501"]),
        ([*talk(2), boundary(3), prompt(4, 3)], ["G507"]),
        ([prompt(2, 1), answer(3, 2)], []),
        ([*talk(2), prompt(3, 2), b"\n"], []),
    ],
)
def test_losses(records, codes):
    """What is missing from what the model will see is named, other faults are not."""
    assert [f.code for f in report(*records).losses] == codes


def test_size_and_tokens():
    """The size is that of what is sent: dead branches and what was compacted do not count."""
    small, big = report(*talk(2)), report(*talk(2), prompt(3, 2, "x" * 4000))
    assert 4000 <= big.size - small.size <= 4010
    assert big.tokens == big.size // 4
    dead = report(*talk(2), prompt(3, 2, "x" * 4000), prompt(4, 2, ""))
    assert dead.size == small.size
    called = report(prompt(1, None), answer(2, 1, use("a")), result(3, 2, "a", "y" * 500))
    assert 500 < called.size < 800
    chat = report(said("user", "x" * 10), asks("a") | {"content": ""}, tells("a", "é"))
    assert chat.size == 10 + 2 + 2


def test_a_compaction_of_codex_begins_anew():
    """Behind a replacement history only what follows is counted and sized."""
    compacted = {"timestamp": "t", "type": "compacted", "payload": {"replacement_history": [{}]}}
    found = report(meta(), says("user", "x" * 900), compacted, says("user", "y"), name=ROLLOUT)
    assert (found.sent, found.session_id, found.command) == (1, THREAD, f"codex resume {THREAD}")
    assert found.size < 100


def test_a_subagent_has_no_command_of_its_own():
    """A subagent's transcript is resumed through its parent session."""
    found = report(*(r | {"isSidechain": True, "agentId": "k"} for r in talk(2)))
    assert (found.command, found.sent) == ("", 2)


def test_calls_of_codex():
    """Calls that were answered are completed."""
    found = report(meta(), says("user", "x"), runs("a"), output("a"), name=ROLLOUT)
    assert (found.calls, found.completed, found.version) == (1, 1, "0.171.0")


def test_an_empty_file_cannot_be_resumed():
    """Of an empty file there is nothing to tell."""
    with pytest.raises(NotASessionError, match="empty") as caught:
        resume(Memory(b""))
    assert caught.value.hint


def test_a_session_that_no_agent_can_read_is_lost():
    """In UTF-16 nothing of it reaches the model."""
    data = jsonl(*talk(2)).decode().encode("utf-16")
    assert [finding.code for finding in report(data).losses] == ["B102"]
