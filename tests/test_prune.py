"""`prune` and `trash` as people use them: what they refuse, skip, name and ask for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from sesstool.api import retaining
from sesstool.audit import log
from sesstool.cli import main
from sesstool.cli.main import run
from sesstool.formats.claude_code import ClaudeCode
from sesstool.retention import entries as trash_entries
from sesstool.retention import policy, trash
from sesstool.retention.policy import default_path
from tests.conftest import jsonl, meta, prompt, says
from tests.retained import MTIME, OLD, Home
from tests.test_output_schemas import judge

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


@pytest.mark.parametrize("ends", ["held", "broken", "gone"])
def test_the_policy_file_is_looked_at_again_at_the_moment(world, monkeypatch, ends, capsys):
    """A hold that is written into it while a run waits or goes on counts; without it none goes."""
    rules = world.root / "trash.toml"
    real = retaining._check

    def late(group, *arguments, **options):
        if group.session == CODEX and ends == "held":
            rules.write_text(rules.read_text() + '[[hold]]\nname = "late"\nreason = "a letter"\n')
        elif group.session == CODEX and ends == "broken":
            rules.write_text("[[rule")
        elif group.session == CODEX:
            rules.unlink()
        real(group, *arguments, **options)

    monkeypatch.setattr(retaining, "_check", late)
    assert prune(world) == (6 if ends == "held" else 2)
    assert (there(world, CLAUDE), there(world, CODEX)) == (False, True)
    said = {"held": "is under the hold late", "broken": "is no TOML", "gone": "cannot read"}
    assert said[ends] in capsys.readouterr().err


def test_emptying_the_trash_looks_at_the_policy_file_again(world, monkeypatch, capsys):
    rules = default_path()
    rules.parent.mkdir(parents=True)
    rules.write_text("version = 1\n")
    assert prune(world) == 0
    real = trash.purge

    def late(entry):
        rules.write_text('version = 1\n[[hold]]\nname = "late"\nreason = "a letter"\n')
        return real(entry)

    monkeypatch.setattr(trash, "purge", late)
    assert run(["trash", "empty", "--all", "--write", "--yes"]) == 6
    assert len(trash.entries(world.state)) == 1
    assert "is under the hold late" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["entry", "id", "beginning", "path"])
def test_what_is_in_the_trash_is_held_by_any_name(world, name, capsys):
    """The id of its entry, its id or the unique beginning of that, or where it was."""
    assert prune(world) == 0
    kept, other = trash.entries(world.state)
    given = {"entry": kept.id, "id": kept.session, "beginning": OLD[:9], "path": kept.path}[name]
    if name == "beginning":
        assert run(["hold", "add", "early", given, "--reason", "a letter"]) == 3
        assert "several sessions, here or in the trash" in capsys.readouterr().err
        assert run(["trash", "restore", other.id]) == 0
    assert run(["hold", "add", "late", given, "--reason", "a letter"]) == 0
    assert run(["trash", "empty", "--all", "--write", "--yes"]) == 6
    assert [entry.id for entry in trash.entries(world.state)] == [kept.id]


def test_copies_that_sesstool_made_of_what_is_deleted_are_named(world, tmp_path, capsys):
    """In the preview, the run, the JSON and the page; one that is gone is not."""
    path = world.home / next(iter(world.old))
    copy, gone = tmp_path / "copy.jsonl", tmp_path / "gone.jsonl"
    for made in (copy, gone):
        made.write_bytes(path.read_bytes())
        log.note_copy(world.state, made, path)
    gone.unlink()
    said = f"    stays: {copy}: a copy that sesstool made\n"
    report = tmp_path / "r.html"
    assert prune(world, action="delete", write=False) == 1
    assert capsys.readouterr().out.count(said) == 1
    assert prune(world, "-f", "json", "--exit-zero", action="delete", write=False) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["copies"] == [{"path": str(copy), "of": str(path)}]
    judge("prune").validate(value)
    assert prune(world, "--report", report, action="delete") == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert str(gone) not in shown
    assert f"{copy}: a copy that sesstool made" in report.read_text()


def test_copies_of_copies_are_named_as_well(world, tmp_path, capsys):
    """A fork of a fork holds what was said first, also where the one between them is gone."""
    path = world.home / next(iter(world.old))
    between, last = tmp_path / "between.jsonl", tmp_path / "last.jsonl"
    last.write_bytes(path.read_bytes())
    log.note_copy(world.state, between, path)
    log.note_copy(world.state, last, between)
    log.note_copy(world.state, between, last)  # a circle ends
    assert log.copies(world.state, path) == [last]
    assert prune(world, action="delete", write=False) == 1
    told = capsys.readouterr().out
    assert f"    stays: {last}: a copy that sesstool made\n" in told
    assert str(between) not in told


def test_copies_of_what_is_deleted_from_the_trash_are_named(ended, tmp_path, capsys):
    entry = trash.entries(ended.state)[0]
    (tmp_path / "copy.jsonl").write_bytes(b"x")
    log.note_copy(ended.state, tmp_path / "copy.jsonl", entry.path)
    said = f"  stays: {tmp_path / 'copy.jsonl'}: a copy that sesstool made\n"
    assert prune(ended, write=False) == 1
    assert said in capsys.readouterr().out
    assert run(["trash", "empty", "--all", "--write", "--yes"]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("name", ["prune", "restore", "empty"])
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_stopped_tells_what_it_did(world, monkeypatch, capsys, name, kind):
    """The session at work is brought to its end and told; the next ones stay as they were."""
    module, step = {
        "prune": (trash, "take"),
        "restore": (trash, "restore"),
        "empty": (trash, "purge"),
    }[name]
    if name != "prune":
        assert prune(world) == 0
        capsys.readouterr()
    real = getattr(module, step)

    def stopped(*arguments):
        signal.raise_signal(getattr(signal, kind))
        return real(*arguments)

    monkeypatch.setattr(module, step, stopped)
    handler = signal.signal(signal.SIGTERM, main._terminated)
    try:
        if name == "prune":
            code = prune(world)
        else:
            how = ["--write", "--yes"] if name == "empty" else []
            code = run(["trash", name, "--all", *how])
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert code == 130
    shown = capsys.readouterr()
    left = trash.entries(world.state)
    assert len(left) == 1
    said = {"prune": "1 in the trash", "restore": "1 session done", "empty": "1 session done"}
    assert f"interrupted; {said[name]}; the rest is as it was" in shown.err
    row = {"prune": f"  {left[0].id}  older than", "restore": ": restored", "empty": ": deleted"}
    assert shown.out.count(row[name]) == 1
    if name == "prune":
        assert there(world, CLAUDE) + there(world, CODEX) == 1
        assert "next: sesstool trash restore ID" in shown.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("name", ["prune", "restore", "empty"])
def test_an_output_that_fails_takes_nothing_back_and_says_so(world, name):
    """The summary is told all the same, and that only the output failed."""
    if name != "prune":
        assert prune(world) == 0
    arguments = {
        "prune": ["--write", "--yes", "--trust-clock", "--policy", world.root / "trash.toml"],
        "restore": ["--all"],
        "empty": ["--all", "--write", "--yes"],
    }[name]
    command = ["prune", *arguments, world.home] if name == "prune" else ["trash", name, *arguments]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "sesstool", *map(str, command)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": ""},  # what is kept back fails at the end
            check=False,
        )
    assert ran.returncode == 6
    assert b"2 in the trash" in ran.stderr or b"2 sessions done" in ran.stderr
    assert b"only the output failed: no space left" in ran.stderr
    assert ran.stderr.count(b"error: ") == 1
    assert len(trash.entries(world.state)) == (2 if name == "prune" else 0)


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
    shown = capsys.readouterr().err
    assert "2 of 3 sessions would go" in shown
    assert "hint: --max-delete 2 allows it" in shown
    assert prune(world, "--max-delete", "1", write=False) == 1
    shown = capsys.readouterr().err
    assert "next: sesstool prune --write --max-delete 2 --policy" in shown
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


@pytest.mark.parametrize("how", [["--erase"], []])
@pytest.mark.parametrize("name", ["/no/such.jsonl", "no-such-id"])
def test_what_is_not_there_is_an_error(world, capsys, name, how):
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    assert run(["prune", *rules, *how, "--write", "--yes", name]) == 3
    assert f"there is no file {name}" in capsys.readouterr().err


@pytest.mark.parametrize("why", ["held", "live", "retained", "skipped"])
@pytest.mark.parametrize("how", [["--write", "--yes"], []])
def test_a_session_that_is_not_erased_is_an_error_with_its_reason(
    world, monkeypatch, capsys, why, how
):
    """Preview and run tell which and why, and the next step; others that were named go."""
    path, other = (world.home / next(n for n in world.old if one in n) for one in (CLAUDE, CODEX))
    rules = world.root / "trash.toml"
    if why == "held":
        assert run(["hold", "add", "claim", str(path), "--reason", "a letter"]) == 0
    elif why == "live":
        monkeypatch.setattr(ClaudeCode, "writer", lambda *_: "it runs")
    elif why == "retained":
        match = f'[[rule]]\nname = "law"\nmatch = {{ session = "{CLAUDE}" }}\n'
        rules.write_text(rules.read_text() + match + 'retain_for = "forever"\n')
    else:
        path = world.root / "note.jsonl"
        path.write_text('{"note": 1}\n')
    options = ["--erase", "--policy", str(rules), *how]
    assert run(["prune", *options, str(path), str(other)]) == (4 if why == "live" else 6)
    shown = capsys.readouterr()
    assert f"error: {path} is not erased: " in shown.err
    said, step = {
        "held": ("hold claim until released", "sesstool hold list"),
        "live": ("it runs", "close the agent"),
        "retained": ("retained for ", f"change the rule law in {rules}"),
        "skipped": ("format unknown", "remove it by hand"),
    }[why]
    assert said in shown.err
    assert step in shown.err
    assert path.exists()
    assert there(world, CODEX) is not bool(how)


def test_what_is_in_the_trash_is_not_erased_in_its_place(world, capsys):
    """It has no file there; the command that deletes it is told."""
    assert prune(world) == 0
    (entry,) = (one for one in trash.entries(world.state) if one.session == CLAUDE)
    assert run(["prune", "--erase", "--write", "--yes", CLAUDE]) == 3
    assert f"sesstool trash empty {entry.id}" in capsys.readouterr().err


@pytest.fixture
def ended(world):
    """Two sessions in the trash, whose grace is over."""
    assert prune(world) == 0
    for entry in trash.entries(world.state):
        trash_entries.save(replace(entry, until=entry.made))
    return world


@pytest.mark.usefixtures("ended")
def test_the_number_that_may_go_counts_the_trash(world, capsys):
    assert prune(world, "--max-delete", "1") == 6
    assert "2 sessions would go, and --max-delete is 1" in capsys.readouterr().err
    assert len(trash.entries(world.state)) == 2
    assert prune(world, "--max-delete", "2") == 0
    assert trash.entries(world.state) == []


@pytest.mark.parametrize("name", ["path", "id", "folder"])
def test_of_the_trash_only_what_was_named_goes(ended, name):
    """What was at the path, below the folder, or of the id; the rest waits for its own run."""
    path = ended.home / next(name for name in ended.old if CLAUDE in name)
    given = {"path": path, "id": CLAUDE, "folder": path.parent}[name]
    rules = ["--policy", str(ended.root / "trash.toml"), "--trust-clock"]
    assert run(["prune", *rules, "--write", "--yes", str(given)]) == 0
    assert [entry.session for entry in trash.entries(ended.state)] == [CODEX]


def test_what_an_agent_puts_into_each_session_is_no_word_of_the_erased_one(world, capsys):
    """A copy of what it alone was asked is told of, in another session too."""
    words, own = "these are the rules of the house of lamps", "where does the northern lamp stand"
    paths = [world.home / next(iter(world.old))]
    for n in range(7, 10):
        paths.append(paths[0].with_name(f"{OLD.format(n)}.jsonl"))
    for path in paths:
        asked = [words] + [own] * (path in paths[:2])
        said = [prompt(n + 1, n or None, one, sessionId=path.stem) for n, one in enumerate(asked)]
        path.write_text("".join(json.dumps(one) + "\n" for one in said))
    history = world.home / ".claude" / "history.jsonl"
    history.write_text(json.dumps({"display": "x", "sessionId": CLAUDE}) + "\n")
    assert run(["prune", "--erase", str(paths[0]), "--write", "--yes", "--clean-up"]) == 0
    err = capsys.readouterr().err
    assert f"{paths[1]} holds words that were asked in it" in err
    assert f"{paths[2]} holds words" not in err
    assert f"{paths[3]} holds words" not in err


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


def test_without_a_policy_the_hint_makes_one(world, capsys):
    """It is one line for a shell, and what it writes is a policy."""
    assert run(["prune", str(world.home)]) == 2
    hint = capsys.readouterr().err.partition("hint: this makes one, to be changed: ")[2]
    subprocess.run(["/bin/sh", "-c", hint], check=True)
    assert run(["config", "validate", str(default_path())]) == 0
    (rule,) = policy.load(default_path()).rules
    assert (rule.name, rule.action, rule.expire_after) == ("old", "trash", timedelta(days=365))
    assert run(["prune", "--trust-clock", str(world.home)]) in (0, 1)


def test_what_is_not_reached_is_one_line_until_it_matters(world, capsys):
    """All of it is told with -v, and to who has erased a session."""
    path = next(path for path in world.home.rglob("0b*.jsonl"))
    short = "not reached: backups, snapshots, copies elsewhere and what agents keep in the cloud;"
    told = []
    for more in ([], ["-v"], ["--write", "--yes"]):
        assert run(["prune", "--erase", *more, str(path)]) == (0 if "--yes" in more else 1)
        lines = capsys.readouterr().err.splitlines()
        told.append([line for line in lines if line.startswith("not reached: ")])
    assert told[0] == [f"{short} -v lists all"]
    assert len(told[1]) > 5
    assert told[2] == told[1]


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


def test_what_is_no_file_stays_and_is_named(world, capsys):
    """A pipe or a socket in a session's folder is nothing that can be kept."""
    pipe = (world.home / next(iter(world.old))).with_suffix("") / "tool-results" / "pipe"
    os.mkfifo(pipe)
    assert prune(world) == 0
    assert f"stays: {pipe}: no regular file" in capsys.readouterr().out
    assert pipe.exists()
    assert run(["trash", "restore", CLAUDE]) == 0
    assert world.problem() is None


def test_an_output_that_exists_is_refused_before_the_run(world, tmp_path, capsys):
    (tmp_path / "plan.json").write_text("mine")
    assert prune(world, "-f", "json", "-o", tmp_path / "plan.json") == 6
    assert "exists already" in capsys.readouterr().err
    assert there(world, CLAUDE)


def test_a_hold_of_the_policy_is_found_by_the_hint(world, capsys):
    """The command that it names lists the hold, for it names the policy."""
    rules = world.root / "trash.toml"
    rules.write_text(f'{rules.read_text()}[[hold]]\nname = "case"\nreason = "a letter"\n')
    path = str(world.home / next(iter(world.old)))
    arguments = ["--policy", str(rules), "--erase", path, "--write", "--yes"]
    assert run(["prune", *arguments]) == 6
    hint = capsys.readouterr().err.partition("hint: sesstool ")[2].partition(" shows who")[0]
    assert run(hint.split()) == 0
    assert "case: a letter" in capsys.readouterr().out


def saved_preview(world, path):
    """Save what would be done; its document, by session."""
    assert prune(world, "-f", "json", "-o", path, write=False) == 1
    value = json.loads(path.read_bytes())
    return value, {one["session"]: one for one in value["sessions"]}


def test_a_saved_preview_does_not_take_what_a_fork_reads_from(world, tmp_path, capsys):
    """The fork changed since and stays, and so does the session that it begins with."""
    parent = world.home / next(name for name in world.groups[CODEX])
    fork, base = OLD.format(9), {"thread_id": CODEX, "end_byte_offset": 10}
    child = parent.with_name(parent.name.replace(CODEX, fork))
    child.write_bytes(jsonl(meta(id=fork, history_base=base), says("user", "go on")))
    os.utime(child, ns=(MTIME, MTIME))
    _, planned = saved_preview(world, tmp_path / "plan.json")
    assert {one["action"] for one in planned.values()} == {"trash"}
    assert {CODEX, fork} < set(planned)
    os.utime(child, ns=(MTIME + 1, MTIME + 1))
    capsys.readouterr()
    assert prune(world, "--plan", tmp_path / "plan.json", "--all") == 0
    assert (child.exists(), parent.exists(), there(world, CLAUDE)) == (True, True, False)
    assert f"the fork {fork} reads its beginning from it" in capsys.readouterr().out


def test_the_limit_is_for_what_a_saved_preview_leaves(world, tmp_path):
    """One of three sessions is few enough, though the policy alone would take two."""
    value, planned = saved_preview(world, tmp_path / "plan.json")
    value["sessions"] = [planned[CLAUDE]]
    (tmp_path / "plan.json").write_text(json.dumps(value))
    rules = world.root / "trash.toml"
    rules.write_text(rules.read_text().replace("= 1.0", "= 0.5"))
    assert prune(world) == 6
    assert prune(world, "--plan", tmp_path / "plan.json") == 0
    assert (there(world, CLAUDE), there(world, CODEX)) == (False, True)


def test_a_policy_in_the_settings_may_be_below_the_home(world, home, capsys):
    settings = default_path().with_name("config.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text('policy = "~/mine.toml"\n')
    (home / "mine.toml").write_bytes((world.root / "trash.toml").read_bytes())
    assert run(["prune", "--trust-clock", str(world.home)]) == 1
    assert "2 trash" in capsys.readouterr().err
    assert run(["trash", "empty"]) == 0


def test_an_erasure_is_proven_where_the_agent_shares_nothing(world, capsys):
    """No history, no database: what others wrote down in its home is found all the same."""
    words = "where is the lamp of the northern canary kept at night"
    path = world.home / next(iter(world.old))
    path.write_bytes(jsonl(prompt(1, None, words, sessionId=CLAUDE)))
    note = world.home / ".claude" / "note.txt"
    note.write_text(f"he asked: {words}\n")
    assert not (world.home / ".claude" / "history.jsonl").exists()
    assert run(["prune", "--erase", str(path), "--write", "--yes"]) == 0
    assert f"{note} holds words that were asked in it" in capsys.readouterr().err
