"""Without `--allow-write` nothing is written, whatever is pressed; a disk that refuses is told."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sesstool import api
from sesstool.tui.redacting import Redacting
from sesstool.tui.repairing import Repairing
from tests.retained import Home
from tests.writes import driven, words

ROOT = Path(__file__).parents[1]
DAMAGED = ROOT / "samples" / "damaged" / "interrupted.jsonl"
PRIVATE = ROOT / "samples" / "private" / "harbour-desk.jsonl"


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A session with faults and values in it, and a home with sessions that are due."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    home = Home(tmp_path / "root")
    session = tmp_path / "session.jsonl"
    session.write_bytes(PRIVATE.read_bytes() + DAMAGED.read_bytes())
    return home, session


def files(folder):
    return {
        str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()
    }


def watched(world, folder, may):
    """What every key of every screen wrote, and the keys; what has no folder goes to `folder`."""
    home, session = world
    command = [sys.executable, "-m", "tests.watching", str(session), str(home.home)]
    ran = subprocess.run(
        [*command, str(home.root / "trash.toml"), may],
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout)


def test_no_key_of_any_screen_writes_without_allow_write(world, tmp_path):
    """Nothing is opened for writing, made, moved or taken away."""
    before = files(tmp_path)
    told = watched(world, tmp_path, "no")
    assert told["events"] == []
    assert files(tmp_path) == before
    for name in ("Conversation", "Redacting", "Repairing", "Retaining"):
        assert sum(key.startswith(f"{name} ") for key in told["pressed"]) > 10
    assert {f"{name} W" for name in ("Redacting", "Repairing", "Retaining")} <= set(told["pressed"])


def test_the_watch_sees_what_is_written_where_that_is_allowed(world, tmp_path):
    """The same keys with --allow-write: so the test above can fail."""
    before = files(tmp_path)
    events = watched(world, tmp_path, "yes")["events"]
    assert {"open", "os.mkdir", "os.rename"} <= {event[0] for event in events}
    assert files(tmp_path) != before


@pytest.fixture
def full(tmp_path):
    """A disk with no room, on which a session lies."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can make a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("sample", [DAMAGED, PRIVATE], ids=["repair", "redact"])
@pytest.mark.parametrize("where", ["session", "state"])
def test_a_full_disk_is_told_and_the_file_is_as_before(full, sample, where, monkeypatch, tmp_path):
    """Of the session, or of the state folder, where undo and the log are kept."""
    session = (full if where == "session" else tmp_path) / "session.jsonl"
    shutil.copy(sample, session)
    if where == "state":
        monkeypatch.setenv("XDG_STATE_HOME", str(full / "state"))
        assert api.state_folder().is_relative_to(full)
    old = session.read_bytes()
    rest = full / "rest"
    with rest.open("wb", buffering=0) as handle, suppress(OSError):
        while True:
            handle.write(b"x" * 512)
    screen = Repairing(session) if sample is DAMAGED else Redacting(session)
    text = words(driven(screen, "W", "y", writes=True)[-1])
    assert "Not written" in text
    assert "no space left on device" in text.lower()
    assert session.read_bytes() == old
    assert sorted(p.name for p in full.iterdir() if p.suffix == ".jsonl") in ([], ["session.jsonl"])
