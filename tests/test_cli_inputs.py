"""What a person names on the command line: several inputs, wrong ones, and codes of rules."""

from __future__ import annotations

import json

import pytest

from sesstool.cli.main import run
from tests.conftest import CALL, jsonl, prompt, talk


@pytest.fixture
def sound(tmp_path):
    path = tmp_path / "sound.jsonl"
    path.write_bytes(jsonl(*talk(2)))
    path.chmod(0o600)
    return path


def test_a_name_that_means_nothing_does_not_stop_the_run(sound, capsys):
    """The others are judged, the JSON is whole, and the exit code is that of the input."""
    assert run(["validate", "-f", "json", "nosuch", str(sound)]) == 3
    shown = capsys.readouterr()
    assert [f["path"] for f in json.loads(shown.out)["files"]] == [str(sound)]
    assert "there is no file nosuch" in shown.err


@pytest.mark.parametrize("command", [["validate", "--ignore", "X9"], ["repair", "--select", "T9"]])
def test_a_code_that_no_rule_has_is_refused(sound, capsys, command):
    """A typo in a code must not make a run green."""
    assert run([*command, str(sound)]) == 2
    assert f"no rule begins with {command[-1]}" in capsys.readouterr().err


def test_counts_do_not_break_a_document(tmp_path, capsys):
    """--statistics beside a format for programs goes to the person."""
    path = tmp_path / "open.jsonl"
    path.write_bytes(jsonl(*CALL))
    path.chmod(0o600)
    assert run(["validate", "-f", "json", "--statistics", str(path)]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["files"]
    assert "1  T401  " in shown.err


def test_a_diff_is_not_for_programs(sound, capsys):
    """Session text in a diff and a document in JSON contradict each other."""
    assert run(["repair", "--diff", "-f", "json", str(sound)]) == 2
    assert "--diff is for people" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "resume"])
def test_one_session_at_a_time(sound, capsys, command):
    """A folder of one session is that session; of several, the person chooses."""
    assert run([command, str(sound.parent)]) == 0
    (sound.parent / "other.jsonl").write_bytes(sound.read_bytes())
    assert run([command, str(sound.parent)]) == 2
    assert "more than one session" in capsys.readouterr().err


def test_a_path_that_is_not_there(capsys):
    """The error says what to do next."""
    assert run(["validate", "none.jsonl"]) == 3
    err = capsys.readouterr().err
    assert "cannot open none.jsonl: no such file" in err
    assert "sesstool: hint: check the path" in err


def test_records_of_another_session(tmp_path, capsys):
    """No edit moves them, and the next step is named."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*talk(2), prompt(3, 2, sessionId="other")))
    assert run(["repair", str(path)]) == 1
    err = capsys.readouterr().err
    assert "M706" in err
    assert "move them by hand into a file of their own" in err
