"""Every screen as it is drawn, at two sizes, on the samples. RENEW_SNAPSHOTS=1 draws them anew."""

import asyncio
import os
import shutil
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest

from tests.screens import SMALL, WIDE, frame_text, running, settled  # isort: skip - as it says

from sesstool.cli.browse import SCREENS
from sesstool.encryption.keyring import Keys
from sesstool.tui.app import Options
from sesstool.tui.library import Library
from sesstool.tui.redacting import Redacting
from tests.conftest import same_as_snapshot

SAMPLES = Path(__file__).parents[1] / "samples"
NOW = datetime(2026, 3, 8, 15, 0, tzinfo=UTC)
WRITTEN = datetime(2026, 3, 7, 9, 30, tzinfo=UTC).timestamp()
UNANSWERED = "damaged/unanswered-claude-code.jsonl"
FORKS = ("forks/copy-fork/bell.jsonl", "forks/copy-fork/bell-fork.jsonl")
GOOD = "good/lighthouse.jsonl"

FRAMES = {
    "library": ("library", ["forks", "damaged", "good"], ""),
    "conversation": ("conversation", [UNANSWERED], ""),
    "conversation-end": ("conversation", [UNANSWERED], "G"),
    "conversation-thinking": ("conversation", [GOOD], "t"),
    "contents": ("conversation", [GOOD], "1"),
    "inspector": ("conversation", [UNANSWERED], "G enter"),
    "diff": ("diff", FORKS, ""),
    "diff-unified": ("diff", FORKS, "equals_sign"),
    "repair": ("repair", ["damaged/several-faults.jsonl"], ""),
    "redact": ("redact", ["private/harbour-desk.jsonl"], ""),
    "prune": ("prune", ["good"], "p 2 0 2 6 minus 0 6 minus 0 1 enter"),
    "replay": ("replay", [GOOD], "full_stop full_stop"),
    "help": ("conversation", [UNANSWERED], "question_mark"),
    "palette": ("conversation", [UNANSWERED], "ctrl+p"),
    "search": ("conversation", [UNANSWERED], "slash"),
    "write": ("repair", ["damaged/several-faults.jsonl"], "W"),
}
"""Name → the screen, the samples that it shows, and the keys that are pressed."""


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """The samples in a folder of their own, written at one time."""
    shutil.copytree(SAMPLES, tmp_path / "samples")
    for path in sorted((tmp_path / "samples").rglob("*"), reverse=True):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (WRITTEN, WRITTEN))
    monkeypatch.chdir(tmp_path / "samples")
    # It is named on screens, and never made: nothing is written.
    monkeypatch.setenv("XDG_STATE_HOME", "/home/ana/.local/state")


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=["120x36", "80x24"])
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.usefixtures("samples")
def test_a_screen_is_drawn_as_it_was(name, size):
    """Each screen, with fixed samples, clock and colours, cell for cell."""
    screen, paths, keys = FRAMES[name]
    options = {"now": lambda: NOW, "keys": Keys(), "policy": "retention/retention.toml"}
    options["writes"] = name == "write"
    module, _, function = SCREENS[screen].partition(":")
    make = getattr(import_module(module), function)
    if screen == "redact":  # its stand-ins are others each time
        first = Redacting(Path(paths[0]), stand_ins=bytes(32))
    else:
        first = make([Path(path) for path in paths], Options(**options))

    async def run():
        async with running(first, size, **options) as pilot:
            for key in ["", *keys.split()]:
                if key:
                    await pilot.press(key)
                for _ in range(3):
                    if isinstance(pilot.app.screen, Library):
                        pilot.app.screen._look()
                    await settled(pilot)
            return frame_text(pilot.app)

    text = asyncio.run(run())
    rows = text.split("\n")
    assert len(rows) == size[1]
    assert all(len(row) <= size[0] for row in rows)
    same_as_snapshot(f"tui/{name}-{size[0]}x{size[1]}.txt", text + "\n")


def test_every_screen_has_its_frames():
    """No screen of the table is left out."""
    assert {screen for screen, _, _ in FRAMES.values()} == set(SCREENS)
