"""Formats of packages that are installed beside sesstool."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MILL = Path(__file__).parent / "plugin"
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
NO_NETWORK = ["--no-index", "--no-deps"]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """The scripts of a fresh environment with sesstool and the example, each from its wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    building = [
        subprocess.Popen([*PIP, "wheel", *NO_NETWORK, "--no-build-isolation", "-w", folder, path])
        for path in (ROOT, MILL)
    ]
    venv.create(folder / "venv", with_pip=False)
    assert [process.wait() for process in building] == [0, 0]
    scripts = folder / "venv" / "bin"
    python = [*PIP, "--python", scripts / "python"]
    wheels = sorted(folder.glob("*.whl"))
    subprocess.run([*python, "install", *NO_NETWORK, "--no-compile", *wheels], check=True)
    # What sesstool needs is not installed again; the installed wheels stand before it.
    own = sysconfig.get_path("purelib", vars={"base": str(folder / "venv")})
    Path(own, "outer.pth").write_text(sysconfig.get_path("purelib"))
    return scripts


@pytest.fixture
def runs(home):
    """The folder with two sessions of Mill, in a home where only Mill has been."""
    folder = shutil.copytree(MILL / "runs", home / ".mill" / "runs")
    for path in folder.iterdir():
        path.chmod(0o600)
        os.utime(path, (1_772_000_000, 1_772_000_000))
    return folder


def run(scripts, *arguments, code=0):
    """What the installed command prints."""
    done = subprocess.run(
        [scripts / "sesstool", *arguments],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert "plug-in" not in done.stderr
    return done.stdout


def test_every_command_knows_the_format_of_a_package(fresh, runs, monkeypatch):
    """Found, shown, checked, compared, repaired as others are; and unknown when it has gone."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(runs)
    listed = json.loads(run(fresh, "list", "--agent", "mill", "-f", "json"))["sessions"]
    assert [(one["id"], one["agent"], one["state"]) for one in listed] == [
        ("oats", "mill", "repairable"),
        ("rye", "mill", "ok"),
    ]
    found = json.loads(run(fresh, "validate", "oats.jsonl", "-f", "json", code=1))
    (one,) = found["files"]
    assert (one["format"], [f["code"] for f in one["findings"]]) == ("mill", ["T401"])
    told = run(fresh, "resume", "oats", code=1)
    assert "open call  line 5: grind c2: uncertain" in told
    assert "resume     mill --continue oats" in told
    assert "2  Is the rye dry?" in run(fresh, "memory", "rye")
    assert "Tool call look: rye" in run(fresh, "show", "rye")
    assert "RESULT look  two «sacks»" in run(fresh, "search", "sacks")
    assert "nothing shared first" in run(fresh, "diff", "oats", "rye", code=1)
    assert "byte 401  /words" in run(fresh, "redact", "rye", code=1)
    assert json.loads(run(fresh, "schema", "mill"))["title"] == "One record of a Mill session"
    assert "Is the rye dry?" in run(fresh, "export", "--to", "md", "rye")
    run(fresh, "repair", "--write", "-q", "oats")
    *_, answered = map(json.loads, (runs / "oats.jsonl").read_bytes().splitlines())
    assert (answered["call"], answered["failed"], answered["mill"]) == ("c2", True, "result")
    assert answered["out"].startswith("[sesstool] interrupted: no result of this grind call")
    python = [*PIP, "--python", fresh / "python"]
    subprocess.run([*python, "uninstall", "-y", "sesstool-mill"], check=True)
    assert run(fresh, "validate", "rye.jsonl", code=3) == ""
