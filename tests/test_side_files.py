"""Files beside a session: what a repair means for them, and which of them are missing."""

from __future__ import annotations

import os

import pytest

from sesstool import api
from sesstool.formats.claude_code import ClaudeCode
from sesstool.formats.codex import Codex
from sesstool.records import folder
from sesstool.records.folder import beginning
from tests.conftest import (
    CALL,
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    jsonl,
    meta,
    prompt,
    result,
    talk,
    use,
)

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


NAMED = [
    f"debug/{SESSION}.txt",
    f"file-history/{SESSION}/abc@v1",
    f"image-cache/{SESSION}/1.png",
    f"session-env/{SESSION}/hook-0.sh",
    f"tasks/{SESSION}/1.json",
    f"todos/{SESSION}-agent-{SESSION}.json",
    f"uploads/{SESSION}/a/b.txt",
    f"usage-data/facets/{SESSION}.json",
    f"usage-data/session-meta/{SESSION}.json",
]


def test_what_bears_the_name_of_a_claude_code_session_belongs_to_it(home):
    """And what bears another name, however alike, does not."""
    session = place(home, f".claude/projects/-srv-beacon/{SESSION}.jsonl", jsonl(*talk(2)))
    mine = {place(home, f".claude/{name}", b"x") for name in NAMED}
    for name in NAMED:
        place(home, f".claude/{name.replace(SESSION, SESSION[:-1] + '2')}", b"x")
    place(home, ".claude/debug/latest", b"x")
    place(home, f".claude/todos/x{SESSION}.json", b"x")
    assert set(ClaudeCode().parts(session)) == mine


def test_the_shell_snapshots_of_a_thread_belong_to_it(home):
    """Codex names them by the thread, with a time behind it or without."""
    session = place(home, f".codex/sessions/2026/03/01/{ROLLOUT}", jsonl(meta()))
    mine = [place(home, f".codex/shell_snapshots/{THREAD}{end}.sh", b"x") for end in (".17", "")]
    place(home, ".codex/shell_snapshots/other.sh", b"x")
    assert sorted(Codex().parts(session)) == sorted(mine)


@pytest.fixture
def settled(monkeypatch):
    """Folders count as if they had been as they are for long."""
    monkeypatch.setattr(folder, "_SETTLED", -1)


def test_names_are_listed_again_where_the_folder_changed(tmp_path):
    """A folder that changed a moment ago is listed each time, for its time may stay the same."""
    for name in ("b", "ab", "aa", "a"):
        place(tmp_path, name, b"")
    for _ in range(3):
        assert [p.name for p in beginning(tmp_path, "a")] == ["a", "aa", "ab"]
        assert beginning(tmp_path, "c") == []
    (tmp_path / "ab").unlink()
    assert [p.name for p in beginning(tmp_path, "a")] == ["a", "aa"]
    place(tmp_path, "ac", b"")
    assert [p.name for p in beginning(tmp_path, "a")] == ["a", "aa", "ac"]
    assert beginning(tmp_path / "none", "a") == []


@pytest.mark.usefixtures("settled")
def test_a_folder_that_stays_is_listed_once(tmp_path, monkeypatch):
    """So that ten thousand sessions of a home do not each list ten thousand names."""
    place(tmp_path, "a", b"")
    calls = []
    monkeypatch.setattr(folder.os, "listdir", lambda path: calls.append(path) or ["a"])
    for _ in range(9):
        assert beginning(tmp_path, "a") == [tmp_path / "a"]
    assert calls == [tmp_path]


@pytest.mark.usefixtures("settled")
def test_forks_are_known_as_they_come_and_go(home):
    """Those of a folder that stays are read once, and one that is made later is seen."""
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 1, "end_byte_offset": 9}
    parent = place(home, f".codex/sessions/2026/03/01/{ROLLOUT}", jsonl(meta()))
    names = [ROLLOUT.replace("0123", n) for n in ("1111", "2222")]
    day = home / ".codex/sessions/2026/03/02"
    first = place(day, names[0], jsonl(meta(history_base=base)))
    os.utime(day, (1, 1))  # clocks of file systems are coarse: each state has a time of its own
    for _ in range(2):
        assert [child.path for child in Codex().dependents(parent)] == [first]
    second = place(day, names[1], jsonl(meta(history_base=base | {"end_byte_offset": 4})))
    os.utime(day, (2, 2))
    assert [(c.path, c.offset) for c in Codex().dependents(parent)] == [(first, 9), (second, 4)]
    assert len(list(Codex().dependents(parent))) == 2
    first.unlink()
    os.utime(day, (3, 3))
    assert [child.path for child in Codex().dependents(parent)] == [second]
