"""Files beside a session: what a repair means for them, and which of them are missing."""

from __future__ import annotations

import pytest

from sesstool import api
from tests.conftest import CALL, ROLLOUT, SESSION, answer, jsonl, meta, prompt, result, talk, use

KEPT = "<persisted-output>\nAll of it saved to: /srv/{}/tool-results/out1.txt\n\nlight the lamp"


def place(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def told(path, code):
    return [f.message for f in api.validate(path).findings if f.code == code]


@pytest.mark.parametrize("side", [f"{SESSION}/resume-head.jsonl", "sessions-index.json"])
def test_what_claude_code_draws_is_named_where_a_repair_changes_it(home, side):
    """M711: an index is named beside a session that needs a repair, and never else."""
    folder = home / ".claude/projects/-srv-beacon"
    place(folder, side, b"{}")
    (message,) = told(place(folder, f"{SESSION}.jsonl", jsonl(*CALL)), "M711")
    assert message.startswith(f"{side.split('/')[-1]} was drawn from the session")
    assert told(place(folder, f"{SESSION}.jsonl", jsonl(*talk(2))), "M711") == []


def test_what_codex_draws_is_named(home):
    """M711: the databases in the home are told of; a resume does not need them."""
    place(home, ".codex/state_5.sqlite", b"")
    (message,) = told(
        place(home, f".codex/sessions/2026/03/01/{ROLLOUT}", jsonl(meta())[:-1]), "M711"
    )
    assert message.startswith("state_5.sqlite was drawn")


def test_a_kept_output_that_is_missing(tmp_path):
    """M712: a long result whose file is gone is named by that file, without what it says."""
    records = [*CALL, result(3, 2, "a", KEPT.format(SESSION)), answer(4, 3)]
    path = place(tmp_path, f"{SESSION}.jsonl", jsonl(*records))
    assert told(path, "M712") == [
        "the whole output, tool-results/out1.txt, is not beside the session"
    ]
    place(tmp_path, f"{SESSION}/tool-results/out1.txt", b"1\n")
    assert told(path, "M712") == []


def test_a_subagent_without_its_description(tmp_path):
    """M712: the kind of a subagent stands beside its transcript; without it nobody resumes it."""
    aside = {"isSidechain": True, "agentId": "x1"}
    records = [prompt(1, None, **aside), answer(2, 1, use("a"), **aside)]
    path = place(tmp_path, f"{SESSION}/subagents/agent-x1.jsonl", jsonl(*records))
    assert [m.split(",")[0] for m in told(path, "M712")] == ["agent-x1.meta.json"]
    place(tmp_path, f"{SESSION}/subagents/agent-x1.meta.json", b"{}")
    assert told(path, "M712") == []
