"""`status`: how the sessions of this computer stand, and how to go on with each."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sesstool.cli.main import run
from sesstool.formats.schemas import schema_text
from sesstool.library.discover import Item
from sesstool.library.glance import Glance
from sesstool.library.living import Alive
from sesstool.library.standing import standing
from tests.conftest import ROLLOUT, SESSION, THREAD, answer, jsonl, meta, prompt, says, use

OTHER = "5e551000-0000-4000-8000-000000000002"
THIRD = "5e551000-0000-4000-8000-000000000003"
NOW = datetime(2026, 3, 2, tzinfo=UTC)
DONE = datetime(2026, 3, 1, 6, tzinfo=UTC)


def put(path: Path, data: bytes, at: float | None = None) -> Path:
    """A file, last written an hour ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    at = time.time() - 3600 if at is None else at
    os.utime(path, (at, at))
    return path


@pytest.fixture
def projects(home):
    return home / ".claude" / "projects" / "-srv-beacon"


@pytest.fixture
def agents(home, projects):
    """One that is clean, one that was interrupted, and one that is torn."""
    clean = jsonl(prompt(1, None, "trim the wick"), answer(2, 1))
    calls = answer(4, 3, use("c1", "Bash"), use("c2", "Read"))
    put(projects / f"{SESSION}.jsonl", clean)
    put(projects / f"{OTHER}.jsonl", clean + jsonl(prompt(3, 2, "now oil it"), calls))
    rollout = home / ".codex" / "sessions" / "2026" / "03" / "01" / ROLLOUT
    put(rollout, jsonl(meta(), says("user", "light it"), says("assistant", "lit")) + b'{"cut')
    return home


def told(capsys, *words: str) -> dict[str, dict[str, object]]:
    """What JSON says of each session by its id, after the schema has judged it."""
    capsys.readouterr()
    assert run(["status", *words, "-f", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads(schema_text("status"))).validate(document)
    return {row["id"]: row for row in document["sessions"]}


# How one stands.


def glance(ends: str, state: str = "ok", **more: object) -> Glance:
    return Glance(state, format="claude-code", last=DONE, good=DONE, good_end=9, ends=ends, **more)


@pytest.mark.parametrize(
    ("ends", "alive", "word"),
    [
        ("answer", None, "clean"),
        ("stopped", None, "clean"),
        ("compaction", None, "clean"),
        ("", None, "clean"),
        ("prompt", None, "interrupted"),
        ("call", None, "interrupted"),
        ("result", None, "interrupted"),
        ("question", None, "interrupted"),
        ("answer", Alive("it"), "waiting"),
        ("question", Alive("it"), "waiting"),
        ("call", Alive("it"), "running"),
        ("prompt", Alive("it"), "running"),
        ("answer", Alive("it", waits=False), "running"),
        ("call", Alive("it", waits=True), "waiting"),
    ],
)
def test_a_standing_is_told_by_the_end_and_by_who_is_alive(ends, alive, word):
    """What an agent tells of itself counts before its last words."""
    assert standing((Item("/s", "a.jsonl"), glance(ends)), alive).word == word


@pytest.mark.parametrize("state", ["damaged", "unreadable", "encrypted", "unknown", "empty"])
def test_what_cannot_be_judged_keeps_its_state(state):
    """Unless somebody is at work on it."""
    row = (Item("/s", "a.jsonl"), glance("answer", state))
    assert standing(row, None).word == state
    assert standing(row, Alive("it")).word == "waiting"


def test_an_interrupted_session_names_what_is_uncertain():
    """Tools that change nothing are none of it; the last good state is told."""
    row = (Item("/s", "a.jsonl"), glance("call", open=("Bash", "Read")))
    found = standing(row, None, started=NOW)
    assert (found.doing, found.uncertain) == (("Bash", "Read"), ("Bash",))
    assert (found.good, found.good_end, found.since) == (DONE, 9, DONE)
    assert found.lost
    assert not standing(row, None, started=datetime(2026, 2, 1, tzinfo=UTC)).lost
    assert not standing(row, None).lost


def test_only_what_is_clean_is_past_retention():
    """An interrupted session stays so, and says it beside."""
    clean = standing((Item("/s", "a.jsonl"), glance("answer")), None, overdue="it goes")
    assert (clean.word, clean.why) == ("past retention", "it goes")
    cut = standing((Item("/s", "a.jsonl"), glance("prompt")), None, overdue="it goes")
    assert (cut.word, cut.overdue) == ("interrupted", "it goes")


# The command.


@pytest.mark.usefixtures("agents")
def test_how_the_sessions_stand(capsys):
    """Each with the command that resumes it in its folder."""
    rows = told(capsys)
    assert {name: row["state"] for name, row in rows.items()} == {
        SESSION: "clean",
        OTHER: "interrupted",
        THREAD: "damaged",
    }
    cut = rows[OTHER]
    assert (cut["doing"], cut["uncertain"]) == (["Bash", "Read"], ["Bash"])
    assert cut["resume"] == f"cd /srv/beacon && claude --resume {OTHER}"
    whole = jsonl(prompt(1, None, "trim the wick"), answer(2, 1))
    assert cut["last_good_end"] == len(whole) - 1
    assert rows[THREAD]["resume"] == f"cd /srv/beacon && codex resume {THREAD}"
    assert list(told(capsys, "--state", "clean")) == [SESSION]
    assert list(told(capsys, "--agent", "codex")) == [THREAD]


@pytest.mark.usefixtures("agents")
def test_people_are_shown_what_needs_them(capsys):
    """Without --all what is clean is only counted."""
    assert run(["status", "--isolated"]) == 0
    shown = capsys.readouterr()
    assert "1 interrupted, 1 damaged, 1 clean" in shown.err
    paragraph = shown.out[: shown.out.index("damaged  ")]
    assert paragraph.startswith("interrupted")
    assert "it ran Bash (it may have changed something), Read\n" in paragraph
    assert "last good state: 2026-03-01 " in paragraph
    assert f"next: cd /srv/beacon && claude --resume {OTHER}" in paragraph
    assert "next: sesstool validate " in shown.out
    assert SESSION not in shown.out
    assert "trim the wick" not in shown.out.partition("damaged")[2]
    assert run(["status", "--isolated", "--all", "--limit", "1"]) == 0
    assert "… and 2 more: --limit 0 shows all" in capsys.readouterr().out


@pytest.mark.usefixtures("agents")
def test_what_is_on_disk_is_added_up(capsys, projects):
    """By agent and project, parts included."""
    part = projects / SESSION / "subagents" / "agent-a1.jsonl"
    put(part, jsonl(prompt(5, None, isSidechain=True, agentId="a1")))
    assert run(["status", "-f", "json"]) == 0
    (claude, codex) = json.loads(capsys.readouterr().out)["disk"]
    sizes = [file.stat().st_size for file in projects.rglob("*.jsonl")]
    assert claude == {
        "agent": "claude-code",
        "project": "/srv/beacon",
        "files": 3,
        "bytes": sum(sizes),
    }
    assert (codex["agent"], codex["files"]) == ("codex", 1)


def test_what_the_agent_will_delete_is_past_retention(capsys, projects, home):
    """Claude Code takes sessions of 30 days by default, or as its settings say."""
    old = time.time() - 40 * 86_400
    put(projects / f"{SESSION}.jsonl", jsonl(prompt(1, None), answer(2, 1)), old)
    put(projects / f"{OTHER}.jsonl", jsonl(prompt(1, None), answer(2, 1)))
    rows = told(capsys)
    assert (rows[SESSION]["state"], rows[OTHER]["state"]) == ("past retention", "clean")
    assert "Claude Code deletes it" in rows[SESSION]["past_retention"]
    put(home / ".claude" / "settings.json", b'{"cleanupPeriodDays": 90}')
    assert told(capsys)[SESSION]["state"] == "clean"


def test_what_a_policy_takes_away_is_past_retention(capsys, projects, tmp_path):
    """With the reason of the rule; nothing is changed."""
    talk = jsonl(prompt(1, None), answer(2, 1))
    path = put(projects / f"{SESSION}.jsonl", talk, time.time() - 5 * 86_400)
    # Other records: copies would age as one.
    put(projects / f"{THIRD}.jsonl", jsonl(prompt(11, None), answer(12, 11)))
    policy = put(tmp_path / "p.toml", b'version = 1\n[[rule]]\nname = "old"\nexpire_after = "2d"\n')
    before = path.read_bytes()
    row = told(capsys, "--policy", str(policy))[SESSION]
    assert row["state"] == "past retention"
    assert "p.toml takes it away: " in row["past_retention"]
    assert told(capsys, "--policy", str(policy))[THIRD]["past_retention"] is None
    assert path.read_bytes() == before


def test_nothing_found_names_the_next_step(capsys):
    """An empty computer is no error."""
    assert run(["status"]) == 0
    assert "config homes" in capsys.readouterr().err
