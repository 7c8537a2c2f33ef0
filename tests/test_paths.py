"""Which spellings are one file."""

from __future__ import annotations

import json

import pytest

from sesstool.cli.main import run
from sesstool.model.paths import located
from tests.conftest import answer, jsonl, prompt, use

HOME = "/srv/beacon"
WINDOWS = "C:\\Srv\\Beacon"


@pytest.mark.parametrize(
    ("cwd", "paths"),
    [
        (
            HOME,
            [
                "x/a.txt",
                "./x/a.txt",
                "x//a.txt",
                "x/./a.txt",
                "y/../x/a.txt",
                "../beacon/x/a.txt",
                "/srv/beacon/x/a.txt",
                "//srv/beacon//x/a.txt",
                "file:///srv/beacon/x/a.txt",
                "file://localhost/srv/beacon/x/%61.txt",
                "file:/srv/beacon/x/a.txt",
            ],
        ),
        (
            WINDOWS,
            [
                "x\\a.txt",
                "x/a.txt",
                ".\\x\\\\a.txt",
                "X\\A.TXT",
                "C:\\Srv\\Beacon\\x\\a.txt",
                "c:/srv/beacon/x/a.txt",
                "\\\\?\\C:\\Srv\\Beacon\\x\\a.txt",
                "/c/Srv/Beacon/x/a.txt",
                "file:///c%3A/Srv/Beacon/x/a.txt",
            ],
        ),
        ("", ["x/a.txt", "./x/a.txt", "x//a.txt"]),
        ("", ["C:\\x\\a.txt", "c:/x/A.txt", "file:///C:/x/a.txt"]),
        ("", ["x\\a.txt", ".\\x\\a.txt"]),
    ],
)
def test_one_file(cwd, paths):
    assert len({located(path, cwd) for path in paths}) == 1


@pytest.mark.parametrize(
    ("path", "other", "cwd"),
    [
        ("a.txt", "A.txt", HOME),
        ("x\\a.txt", "x/a.txt", HOME),
        ("a.txt", "../a.txt", HOME),
        ("a.txt", "/a.txt", HOME),
        ("C:\\a.txt", "D:\\a.txt", ""),
        ("file://other/a.txt", "file:///a.txt", HOME),
        ("a%20b", "a b", HOME),
    ],
)
def test_two_files(path, other, cwd):
    assert located(path, cwd) != located(other, cwd)


def wrote(tmp_path, name, cwd, arguments, tool="Write"):
    path = tmp_path / f"{name}.jsonl"
    shared = prompt(1, None, cwd=cwd)
    path.write_bytes(jsonl(shared, answer(name, 1, use("c1", tool, **arguments), cwd=cwd)))
    return str(path)


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ((HOME, {"file_path": "/srv/beacon/a.txt"}), (HOME, {"path": "./a.txt"}), ["./a.txt"]),
        ((HOME, {"path": "a.txt"}), ("/srv/pier", {"path": "a.txt", "content": "x"}), []),
        ((HOME, {"path": "a.txt"}), ("/srv/pier", {"path": "../beacon/a.txt"}), ["a.txt"]),
        ((HOME, {"path": "a.txt"}), ("", {"path": "/srv/beacon/a.txt"}), ["a.txt"]),
        ((HOME, {"path": "/srv/beacon/a.txt"}), ("", {"path": "a.txt"}), ["a.txt"]),
        ((HOME, {"other": 1}), (HOME, {"other": 2}), []),
        ((WINDOWS, {"path": "A.txt"}), (WINDOWS, {"path": "c:/srv/beacon/a.txt"}), ["A.txt"]),
    ],
)
def test_a_file_that_both_touched(tmp_path, capsys, ours, theirs, both):
    """Whichever is the left side; a call that names no file touched none that is known."""
    left, right = wrote(tmp_path, 2, *ours), wrote(tmp_path, 3, *theirs)
    for sides in ((left, right), (right, left)):
        assert run(["diff", *sides, "--effects", "-f", "json"]) == 1
        assert json.loads(capsys.readouterr().out)["effects"]["both"] == both


def test_a_patch_is_made_where_its_command_runs(tmp_path, capsys):
    patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"
    command = {"command": ["apply_patch", patch], "workdir": "lamps"}
    left = wrote(tmp_path, 2, HOME, command, "shell")
    right = wrote(tmp_path, 3, HOME, {"path": "lamps/a.txt"})
    run(["diff", left, right, "--effects", "-f", "json"])
    assert json.loads(capsys.readouterr().out)["effects"]["both"] == ["lamps/a.txt"]
