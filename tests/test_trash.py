"""`trash list`, `restore` and `empty`: what they show, ask, mark and refuse."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from sesstool.cli import prune
from sesstool.cli import trash as command
from sesstool.cli.main import run
from sesstool.formats.claude_code import ClaudeCode
from sesstool.retention import entries, trash
from tests.retained import OLD, Home

CLAUDE, CODEX = OLD.format(0), OLD.format(1)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Two sessions in the trash, whose grace is over, and a user with no session at home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    made = Home(tmp_path / "root")
    assert made.run("trash") == 0
    for entry in trash.entries(made.state):
        entries.save(replace(entry, until=entry.made))
    return made


@pytest.fixture
def asked(monkeypatch):
    """The questions that a person at a terminal is asked, who says no."""
    questions = []

    def confirm(question, **_):
        questions.append(question)
        return False

    monkeypatch.setattr(click, "confirm", confirm)
    for module in (command, prune):
        monkeypatch.setattr(module, "can_ask", lambda _: True)
    return questions


def hold(world):
    (entry,) = (one for one in trash.entries(world.state) if one.session == CLAUDE)
    assert run(["hold", "add", "claim", entry.id, "--reason", "a letter", "-q"]) == 0
    return entry


def test_a_preview_marks_what_a_hold_keeps(world, capsys):
    """And does not count it; where nothing else is there, there is nothing to do."""
    entry = hold(world)
    capsys.readouterr()
    assert run(["trash", "empty"]) == 1
    shown = capsys.readouterr()
    rows = [line for line in shown.out.splitlines() if line.endswith(", stays: hold claim")]
    assert [line[:8] for line in rows] == [entry.id]
    assert "1 session cannot come back then; 1 session under a hold will stay" in shown.err
    assert run(["trash", "empty", entry.id]) == 0
    assert "next:" not in capsys.readouterr().err


def test_the_list_is_shown_before_the_question_and_no_is_no_interruption(world, asked, capsys):
    hold(world)
    capsys.readouterr()
    assert run(["trash", "empty", "--all", "--write"]) == 1
    shown = capsys.readouterr()
    assert asked == ["1 session cannot come back then; 1 session under a hold will stay. Delete?"]
    assert shown.out.count("hold claim") == 1
    assert shown.err == "nothing was done\n"
    assert len(trash.entries(world.state)) == 2


@pytest.mark.parametrize("name", ["empty", "prune"])
def test_what_came_back_while_a_person_was_asked_is_left_alone(world, monkeypatch, name, capsys):
    """The session, and what its agent has of it elsewhere."""
    history = world.home / ".codex" / "history.jsonl"
    history.write_text(json.dumps({"session_id": CODEX, "ts": 1, "text": "words"}) + "\n")

    def confirm(*_, **__):
        return run(["trash", "restore", "--all", "-q"]) == 0

    monkeypatch.setattr(click, "confirm", confirm)
    for module in (command, prune):
        monkeypatch.setattr(module, "can_ask", lambda _: True)
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    arguments = ["trash", "empty", "--all"] if name == "empty" else ["prune", *rules]
    assert run([*arguments, "--clean-up", "--write"]) == 6
    assert capsys.readouterr().err.count("is no longer in the trash") == 2
    assert world.problem() is None
    assert CODEX in history.read_text()


def test_no_to_prune_is_no_interruption(world, asked, capsys):
    assert run(["trash", "restore", "--all", "-q"]) == 0
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    assert run(["prune", *rules, "--write", str(world.home)]) == 1
    assert capsys.readouterr().err == "nothing was done\n"
    assert len(asked) == 1
    assert trash.entries(world.state) == []


@pytest.mark.parametrize("how", [["--write", "--yes"], []])
@pytest.mark.parametrize("fault", ["ahead", "behind"])
def test_a_clock_that_cannot_be_right_ends_no_grace(
    world, monkeypatch, tmp_path, fault, how, capsys
):
    """It is ahead of all sessions, or behind the log; what is named goes, and all of it."""
    if fault == "ahead":
        path = tmp_path / "old.jsonl"
        path.write_bytes(b"{}\n")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        monkeypatch.setattr(ClaudeCode, "find", lambda *_: [path])
    else:
        log = world.state / "audit.jsonl"
        later = (datetime.now(UTC) + timedelta(days=9)).isoformat()
        *lines, last = log.read_text().splitlines()
        log.write_text("\n".join([*lines, json.dumps(json.loads(last) | {"time": later})]) + "\n")
    assert run(["trash", "empty", *how]) == 6
    said = "days ahead of the newest file" if fault == "ahead" else "the last run was later"
    shown = capsys.readouterr().err
    assert said in shown
    assert "--trust-clock" in shown
    assert len(trash.entries(world.state)) == 2
    assert run(["trash", "empty", "--trust-clock"]) == 1
    assert run(["trash", "empty", "--all"]) == 1
    assert run(["trash", "empty", trash.entries(world.state)[0].id]) == 1


@pytest.mark.parametrize(
    "arguments", [["list"], ["restore", "--all"], ["empty", "--all", "--write", "--yes"], ["empty"]]
)
def test_an_entry_that_cannot_be_read_is_an_error_with_its_folder(world, arguments, capsys):
    """It is left as it is, and the others are served."""
    entry = trash.entries(world.state)[0]
    (entry.folder / "manifest.json").write_text("{")
    assert run(["trash", *arguments]) == 3
    shown = capsys.readouterr()
    assert f"error: {entry.folder}: its manifest cannot be read" in shown.err
    assert "move it away by hand" in shown.err
    assert (entry.files / "0").exists()
    done = "--all" in arguments
    assert len(trash.entries(world.state)) == (0 if done else 1)


@pytest.mark.usefixtures("world")
def test_a_list_goes_where_o_says(tmp_path, capsys):
    assert run(["trash", "list", "-o", str(tmp_path / "list")]) == 0
    assert capsys.readouterr().out == ""
    assert Path(tmp_path / "list").read_text().count("trash (rule old)") == 2


@pytest.mark.parametrize("name", ["prune", "empty", "restore"])
def test_a_log_that_is_not_whole_is_told_before_a_run(world, name, capsys):
    """It is no reason to refuse, but where a line is missing that tells of what is to come back."""
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    arguments = {
        "prune": ["prune", *rules, "--write", "--yes", str(world.home)],
        "empty": ["trash", "empty", "--write", "--yes"],
        "restore": ["trash", "restore", CLAUDE],
    }[name]
    said = "the audit log is not whole: sesstool audit verify tells where"
    log = world.state / "audit.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole.partition(b"\n")[2])
    assert run(arguments) == (3 if name == "restore" else 0)
    assert said in capsys.readouterr().err
    log.write_bytes(whole)
    (world.state / "audit.head").unlink()
    log.unlink()
    assert run(["trash", "list"]) == 0
    assert said not in capsys.readouterr().err


@pytest.mark.usefixtures("world")
def test_the_next_step_of_a_command_in_a_group_names_the_group(capsys):
    assert run(["trash", "empty", "--all"]) == 1
    assert "\nnext: sesstool trash empty --write --all\n" in capsys.readouterr().err


def test_a_path_that_begins_with_a_dash_stands_behind_two(world, monkeypatch, capsys):
    assert run(["trash", "restore", "--all", "-q"]) == 0
    (world.home / "-p").mkdir()
    path = next(world.home.rglob(f"*{CLAUDE}.jsonl")).rename(world.home / "-p" / "a.jsonl")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    monkeypatch.chdir(world.home)
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    assert run(["prune", *rules, "--erase", "--", "-p"]) == 1
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("next: "))
    assert line.endswith(" -- -p")
    assert run([*line.split()[2:-2], "--yes", "--", "-p"]) == 0
    assert not path.exists()
