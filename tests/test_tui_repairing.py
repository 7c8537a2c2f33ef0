"""The repair preview: what it shows, and that what it writes is what the command writes."""

import asyncio
import shutil
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api.viewing import open_view
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.errors import WriteError
from sesstool.records import transact
from sesstool.tui.conversation import Conversation
from sesstool.tui.repairing import Repairing
from sesstool.tui.writing import Written
from tests.conftest import jsonl, talk
from tests.screens import SMALL, frame_text, running, shown
from tests.writes import driven, frame, press, words

DAMAGED = sorted((Path(__file__).parents[1] / "samples" / "damaged").glob("*.jsonl"))
samples = pytest.mark.parametrize("sample", DAMAGED, ids=lambda path: path.stem)


def by_name(stem):
    return next(path for path in DAMAGED if path.stem == stem)


@pytest.fixture
def torn(tmp_path):
    """A session with four safe fixes."""
    return Path(shutil.copy(by_name("interrupted"), tmp_path / "interrupted.jsonl"))


def account(path):
    """What the log tells of the last change of a file, but for its time and its ids."""
    line = [one for one in log.read(api.state_folder()) if one["path"] == str(path)][-1]
    kept = ("action", "path", "before", "after", "findings")
    return {name: line[name] for name in kept} | {"undo": bool(line["undo"])}


@samples
@pytest.mark.parametrize("how", ["a", "A"])
def test_what_y_writes_is_what_the_command_writes_and_u_takes_it_back(sample, how, tmp_path):
    """Byte for byte, with the same line in the log, mode and time; undo gives the old bytes."""
    path = tmp_path / sample.name
    for side in (sample, sample.with_suffix(".meta.json")):
        if side.exists():
            shutil.copy2(side, tmp_path)
    old, when = path.read_bytes(), path.stat()
    run(["repair", "--write", *(["--unsafe"] if how == "A" else []), str(path)])
    new, told = path.read_bytes(), account(path) if path.read_bytes() != old else None
    run(["undo", str(path)])
    assert path.read_bytes() == old

    async def write():
        async with running(Repairing(path), writes=True) as pilot:
            await press(pilot, how, "W", "y")
            assert path.read_bytes() == new
            if told is not None:
                assert account(path) == told
                assert "WRITTEN (u to undo)" in frame_text(pilot.app)
            await press(pilot, "u")
            assert "PREVIEW: nothing written yet" in frame_text(pilot.app)

    asyncio.run(write())
    assert path.read_bytes() == old
    now = path.stat()
    assert (now.st_mode, now.st_mtime_ns) == (when.st_mode, when.st_mtime_ns)


def test_without_allow_write_nothing_is_written(torn):
    """W and u say so, and no dialog opens."""
    old = torn.read_bytes()
    frames = driven(Repairing(torn), "W", "y", "u")
    assert all("read-only: start with --allow-write" in frame for frame in frames)
    assert not any("Press y to write" in frame for frame in frames)
    assert torn.read_bytes() == old
    assert not api.state_folder().exists()


@pytest.mark.parametrize("key", ["escape", "n", "q", "enter", "W", "space", "Y"])
def test_no_key_but_y_writes(torn, key):
    """The dialog is closed or stays open; the file is as before."""
    old = torn.read_bytes()
    driven(Repairing(torn), "W", key, "escape", writes=True)
    assert torn.read_bytes() == old


def test_the_dialog_tells_what_would_be_done(torn):
    """How many fixes, which, how much longer the file is, and how it is undone."""
    text = driven(Repairing(torn), "W", writes=True)[0]
    assert "Write 4 fixes to interrupted.jsonl?" in text
    assert "B104 line 7: cut the 402 bytes" in text
    assert "418 bytes longer" in text
    assert "undo with u, or with sesstool undo" in words(text)


def test_the_screen_shows_what_is_wrong_and_what_the_fixes_do(torn):
    """Rows with boxes, the rule in a sentence, the bytes, the resume, the effect."""
    text = shown(Repairing(torn))
    assert "4 of 4 fixes chosen" in text
    assert "[x] B106  safe    glued-records          line 2" in text
    assert "Several whole records stand on one line." in text
    assert "byte 856: 1 byte added" in text
    assert "claude-code: yes, 8 of 8 messages reach the model" in text
    assert "file     3,533 → 3,951 bytes  (-488 +906)" in text
    assert "lock     free: no writer" in text


def test_space_leaves_a_rule_out_and_the_command_says_so(torn):
    """The plan is made anew, and the last call keeps the resume from being accepted."""
    text = driven(Repairing(torn), "j", "j", "space")[-1]
    assert "[ ] T401" in text
    assert "3 of 4 fixes chosen" in text
    assert "no, T401 at line 6 is still open" in text
    assert "--select" in text


def test_unsafe_fixes_begin_unticked_and_manual_ones_have_no_box(tmp_path):
    """A chooses the unsafe ones; a takes that back."""
    path = shutil.copy(by_name("transcript-session-lamp-oil"), tmp_path)
    frames = driven(Repairing(Path(path)), "A", "a")
    assert "[x] S304  unsafe" in frames[0]
    assert "[ ] S304  unsafe" in frames[1]
    glued = shown(Repairing(by_name("pi-glued-header")))
    assert "    M701  goes" in glued


def test_a_small_terminal_shows_each_pane_by_its_number(torn):
    """The fixes, what one does, the effect."""
    frames = driven(Repairing(torn), "1", "2", "3", size=SMALL)
    assert "[x] B106" in frames[0]
    assert "byte 856" in frames[1]
    assert "3,533" in frames[2]


def test_nothing_to_repair_is_said(tmp_path):
    """A sound session has no fixes, and W has nothing to ask."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*talk(4)))
    frames = driven(Repairing(path), "W", writes=True)
    assert "nothing to repair" in frames[0]
    assert "nothing to write" in frames[0]


@pytest.mark.parametrize("data", [None, b"no session\n", b""])
def test_what_cannot_be_repaired_is_told(tmp_path, data):
    """A file that is gone, is no session, or is empty."""
    path = tmp_path / "session.jsonl"
    if data is not None:
        path.write_bytes(data)
    text = driven(Repairing(path), "W", "space", "b", "enter", writes=True)[-1]
    assert "repair  session.jsonl" in text


def test_a_write_that_fails_is_told_and_leaves_the_file(torn, monkeypatch):
    """The error with its next step stays on the screen; the preview is made anew."""
    old = torn.read_bytes()

    def refuse(*_, **__):
        raise WriteError("cannot write it: no space left on device", hint="make room")

    monkeypatch.setattr(transact, "_put", refuse)
    text = driven(Repairing(torn), "W", "y", writes=True)[-1]
    assert "Not written" in text
    assert "no space left on device" in text
    assert "make room" in text
    assert "PREVIEW: nothing written yet" in text
    assert torn.read_bytes() == old


def test_a_session_that_changed_since_is_not_written(torn):
    """What was previewed is written, or nothing."""

    async def run_():
        async with running(Repairing(torn), writes=True) as pilot:
            await press(pilot, "W")
            torn.write_bytes(torn.read_bytes() + b"\n")
            await press(pilot, "y")
            return frame(pilot)

    assert "changed since" in words(asyncio.run(run_()))


def test_quitting_waits_for_a_write(torn):
    """A key that quits while it runs takes effect when it is done."""
    screen = Repairing(torn)

    async def run_():
        async with running(screen, writes=True) as pilot:
            screen.busy = True
            await pilot.press("q")
            await pilot.pause()
            assert pilot.app.return_value is None
            assert "this waits for its end" in frame(pilot)
            screen._done(Written("written"))
            await pilot.pause()
        return pilot.app.return_value

    assert asyncio.run(run_()) == 0


def test_the_conversation_opens_the_repair_and_the_redaction(torn):
    """With r and x, and esc comes back."""

    async def run_():
        async with running(Conversation(open_view(torn))) as pilot:
            frames = []
            for key in ("r", "escape", "x", "escape"):
                await press(pilot, key)
                frames.append(frame_text(pilot.app).split("\n")[0])
            return frames

    repair, back, redact, last = asyncio.run(run_())
    assert "repair  interrupted.jsonl" in repair
    assert "redact  interrupted.jsonl" in redact
    assert "READ-ONLY" in back
    assert "READ-ONLY" in last
