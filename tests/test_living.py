"""What is shared among sessions stays where a session lives on under the same id."""

from __future__ import annotations

import json

import pytest

from sesstool.api import erasing
from sesstool.cli.main import run
from tests.retained import OLD, Home

CLAUDE, CODEX = OLD.format(0), OLD.format(1)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Homes with a history of prompts each, a line a session."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    world = Home(tmp_path / "root")
    rows = {".claude": ("sessionId", CLAUDE), ".codex": ("session_id", CODEX)}
    for folder, (key, session) in rows.items():
        path = world.home / folder / "history.jsonl"
        path.write_text(json.dumps({key: session}) + "\n" + json.dumps({key: "other"}) + "\n")
    return world


def listed(world):
    """Whose prompts are still there."""
    found = b"".join(path.read_bytes() for path in sorted(world.home.glob(".*/history.jsonl")))
    return [one for one in (CLAUDE, CODEX) if one.encode() in found]


def session(world, name):
    return next(world.home.rglob(f"*{name}.jsonl"))


def again(world, name, folder):
    """The same session in another folder of the home."""
    path = session(world, name)
    other = path.parent.parent / folder / path.name
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    return other


@pytest.mark.parametrize("name", [CLAUDE, CODEX])
def test_nothing_is_cleaned_of_a_session_that_lives_on_elsewhere(world, name, capsys):
    """Its own files go; the other file of it and all that is shared stay, and it is told why."""
    path = session(world, name)
    other = again(world, name, "15")
    assert run(["prune", "--erase", str(path), "--write", "--yes", "--clean-up"]) == 0
    said = capsys.readouterr()
    assert f"{name} lives on in {other}: what is shared stays" in said.out + said.err
    assert (path.exists(), other.exists(), listed(world)) == (False, True, [CLAUDE, CODEX])


def test_a_session_that_goes_with_all_its_files_is_cleaned(world):
    """Also where they are several: none of them is what it lives on in."""
    paths = [session(world, CODEX), again(world, CODEX, "15")]
    assert run(["prune", "--erase", *map(str, paths), "--write", "--yes", "--clean-up"]) == 0
    assert listed(world) == [CLAUDE]


def test_a_link_to_the_session_is_no_other_one(world):
    path = session(world, CLAUDE)
    (path.parent.parent / "15").mkdir()
    (path.parent.parent / "15" / path.name).symlink_to(path)
    (path.parent.parent / "16").mkdir()
    (path.parent.parent / "16" / path.name).symlink_to("nowhere")
    assert run(["prune", "--erase", str(path), "--write", "--yes", "--clean-up"]) == 0
    assert listed(world) == [CODEX]


@pytest.mark.parametrize("place", ["its own", "another"])
def test_what_an_agent_went_on_with_stays_when_the_trash_is_emptied(world, place, capsys):
    """The agent wrote the session anew, or goes on with it in another file."""
    path = session(world, CODEX)
    other = path if place == "its own" else path.parent.parent / "15" / path.name
    assert world.run("trash") == 0
    assert not path.exists()
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(b"{}\n")
    capsys.readouterr()
    assert run(["trash", "empty", "--all", "--clean-up", "--write", "--yes"]) == 0
    said = capsys.readouterr()
    assert f"{CODEX} lives on in {other}: what is shared stays" in said.out + said.err
    assert listed(world) == [CODEX]


def test_a_home_is_walked_once_a_run(world, monkeypatch):
    walks = []
    real = erasing._by_session
    monkeypatch.setattr(erasing, "_by_session", lambda *a: walks.append(a[1]) or real(*a))
    rules = ["--policy", str(world.root / "delete.toml"), "--trust-clock"]
    assert run(["prune", *rules, "--write", "--yes", "--clean-up", str(world.home)]) == 0
    assert sorted(path.name for path in walks) == [".claude", ".codex"]
    assert listed(world) == []
