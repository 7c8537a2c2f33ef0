"""`prune` and `trash` as people use them: what they refuse, skip, name and ask for."""

from __future__ import annotations

import json
import os

import pytest

from sesstool.api import retaining
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.formats.claude_code import ClaudeCode
from sesstool.retention import policy, trash
from tests.conftest import prompt
from tests.retained import MTIME, OLD, Home

CLAUDE, CODEX = OLD.format(0), OLD.format(1)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    return Home(tmp_path / "root")


def prune(world, *more, action="trash", write=True):
    """The exit code of prune with the policy for an action."""
    how = ("--write", "--yes") if write else ()
    rules = ("--policy", str(world.root / f"{action}.toml"), "--trust-clock")
    return run(["prune", *rules, *how, *map(str, more), str(world.home)])


def there(world, session):
    """Whether a session is in its place."""
    return any(world.home.rglob(f"*{session}.jsonl"))


def test_a_preview_changes_nothing_and_exits_1(world, capsys):
    assert prune(world, write=False) == 1
    said = capsys.readouterr()
    assert said.out.count("trash ") == 2
    assert "next: sesstool prune --write " in said.err
    assert there(world, CLAUDE)
    assert not (world.state / "trash").exists()
    assert prune(world, "--exit-zero", write=False) == 0


def test_a_saved_preview_bounds_a_run(world, tmp_path, capsys):
    """What came to it or changed since stays; the rest goes."""
    saved = tmp_path / "plan.json"
    assert prune(world, "-f", "json", "-o", saved, write=False) == 1
    world.home.joinpath(next(n for n in world.old if CODEX in n)).touch()
    os.utime(world.home / next(n for n in world.old if CODEX in n), ns=(MTIME + 1, MTIME + 1))
    capsys.readouterr()
    assert prune(world, "--plan", saved, "--all") == 0
    assert not there(world, CLAUDE)
    assert there(world, CODEX)
    assert "it has changed since the plan was made" in capsys.readouterr().out
    value = json.loads(saved.read_bytes())
    value["sessions"] = []
    saved.write_text(json.dumps(value))
    assert prune(world, "--plan", saved, "--all") == 0
    assert there(world, CODEX)
    assert "it was not planned" in capsys.readouterr().out


@pytest.mark.parametrize("data", [b"", b"[]", b'{"sessions":[{}],"trash":[]}', b"\xff" * 9])
def test_what_is_no_plan_is_refused(world, tmp_path, capsys, data):
    (tmp_path / "plan.json").write_bytes(data)
    assert prune(world, "--plan", tmp_path / "plan.json") == 2
    assert "is no plan of prune" in capsys.readouterr().err
    assert there(world, CLAUDE)


@pytest.mark.parametrize("why", ["held", "live", "changed", "more"])
def test_each_session_is_looked_at_again_at_the_moment(world, monkeypatch, why, capsys):
    """Between the plan and its turn somebody holds it, opens it, writes to it or adds to it."""
    path = world.home / next(iter(world.old))
    real = retaining._check

    def late(group, *arguments, **options):
        if group.session == CLAUDE and why == "held":
            run(["hold", "add", "late", str(path), "--reason", "a letter"])
        elif group.session == CLAUDE and why == "live":
            monkeypatch.setattr(ClaudeCode, "writer", lambda *_: "it runs")
        elif group.session == CLAUDE and why == "changed":
            os.utime(path)
        elif group.session == CLAUDE:
            (path.with_suffix("") / "subagents" / "agent-2.jsonl").write_bytes(b"{}\n")
        real(group, *arguments, **options)

    monkeypatch.setattr(retaining, "_check", late)
    assert prune(world) == (4 if why == "live" else 6)
    assert there(world, CLAUDE)
    assert not there(world, CODEX)
    assert "1 in the trash; 1 skipped" in capsys.readouterr().err


def test_what_was_said_to_stay_stays_in_the_trash_too(world, capsys):
    """A hold keeps an entry from being emptied, and from ending with its grace."""
    assert prune(world) == 0
    path = world.home / next(iter(world.old))
    assert run(["hold", "add", "late", str(path), "--reason", "a letter"]) == 0
    assert run(["trash", "empty", "--all", "--write", "--yes"]) == 6
    assert [entry.session for entry in trash.entries(world.state)] == [CLAUDE]
    assert "is under the hold late" in capsys.readouterr().err


def test_the_grace_ends(world):
    """A later run deletes what was in the trash long enough, and says why before."""
    rules = world.root / "trash.toml"
    rules.write_text(rules.read_text().replace("[defaults]", '[defaults]\ngrace = "1h"'))
    assert prune(world) == 0
    plan = retaining.plan([str(world.home)], policy.load(rules), trust_clock=True)
    assert plan.ended == ()
    later = max(entry.until for entry in trash.entries(world.state))
    plan = retaining.plan([str(world.home)], policy.load(rules), later, trust_clock=True)
    assert {entry.session for entry in plan.ended} == {CLAUDE, CODEX}
    assert all(one.skipped is None for one in retaining.apply(plan))
    assert trash.entries(world.state) == []


def test_a_later_rule_ends_an_archive(world):
    """First archived, then deleted by a rule with a longer time."""
    assert prune(world, action="archive") == 0
    rules = world.root / "archive.toml"
    assert prune(world, action="archive") == 0
    assert len(trash.entries(world.state)) == 2
    more = '[[rule]]\nname = "end"\nexpire_after = "60d"\naction = "delete"\n'
    rules.write_text(rules.read_text() + more)
    assert prune(world, action="archive") == 0
    assert trash.entries(world.state) == []


def test_a_run_does_not_remove_more_than_it_may(world, capsys):
    rules = world.root / "trash.toml"
    rules.write_text(rules.read_text().replace("= 1.0", "= 0.5"))
    assert prune(world) == 6
    assert "2 of 3 sessions would go" in capsys.readouterr().err
    assert there(world, CLAUDE)
    assert prune(world, "--max-delete", "1") == 6
    assert prune(world, "--max-delete", "2") == 0
    assert not there(world, CLAUDE)


def test_one_session_is_erased_whatever_its_age(world, capsys):
    """No policy is needed; what belongs to it goes, and nothing of others."""
    young = next(path for path in world.home.rglob("0b*.jsonl"))
    os.utime(young)
    assert run(["prune", "--erase", str(young), "--write", "--yes"]) == 0
    assert not young.exists()
    assert there(world, CLAUDE)
    assert world.problem() == f"{young.relative_to(world.home)} is not as it was"
    assert "not reached: " in capsys.readouterr().err
    assert [line["action"] for line in log.read(world.state)] == ["delete", "purge"]


def test_erasing_tells_which_files_still_hold_its_words(world, capsys):
    """A copy that the agent knows nothing of is found by what was asked."""
    words = "where is the lamp of the northern canary kept at night"
    path = world.home / next(iter(world.old))
    path.write_bytes(json.dumps(prompt(1, None, words, sessionId=CLAUDE)).encode() + b"\n")
    note = world.home / ".claude" / "note.txt"
    note.write_text(f"he asked: {words}\n")
    (world.home / ".claude" / "history.jsonl").write_text(
        json.dumps({"display": words, "sessionId": CLAUDE}) + "\n"
    )
    assert run(["prune", "--erase", str(path), "--write", "--yes", "--clean-up"]) == 0
    said = capsys.readouterr()
    assert f"{note} holds words that were asked in it" in said.err
    assert "history.jsonl holds words" not in said.err
    assert words not in said.out + said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prune", "--write", "--dry-run"], "contradict"),
        (["prune", "--write", "--as-of", "2027-01-01"], "--as-of"),
        (["prune", "--erase"], "PATH"),
        (["prune", "-"], "standard input"),
        (["prune", "--as-of", "tomorrow"], "it is no date"),
        (["prune"], "there is no retention policy"),
        (["trash", "restore"], "--all"),
        (["trash", "restore", "beef"], "nothing in the trash"),
        (["trash", "empty", "--all", "beef"], "contradict"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_next_step(capsys, arguments, said):
    assert run(arguments) == 2
    assert said in capsys.readouterr().err


def test_nobody_to_ask_is_a_refusal(world, capsys):
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    assert run(["prune", *rules, "--write", str(world.home)]) == 6
    assert "add --yes" in capsys.readouterr().err
    assert there(world, CLAUDE)


def test_a_restore_does_not_overwrite(world, capsys):
    """What came to the place of a session stays, and the session stays in the trash."""
    assert prune(world) == 0
    path = world.home / next(iter(world.old))
    path.write_bytes(b"new\n")
    assert run(["trash", "restore", CLAUDE]) == 6
    assert "another file has come to its place" in capsys.readouterr().err
    assert path.read_bytes() == b"new\n"
    path.unlink()
    assert run(["trash", "restore", CLAUDE]) == 0
    assert world.problem() is None
