"""The redaction review: masked, decided value by value, written as the command writes."""

import asyncio
import shutil
from pathlib import Path

import pytest

from sesstool import api
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.errors import WriteError
from sesstool.privacy.standin import load_key
from sesstool.records import transact, undo
from sesstool.tui.redacting import Redacting
from tests.conftest import jsonl, prompt, talk
from tests.screens import SMALL, frame_text, running, shown
from tests.test_reviewing import SAMPLE, VALUES
from tests.writes import driven, frame, press, words

KEY = "tHe-key-of-the-stand-ins-of-this-test"


@pytest.fixture
def desk(tmp_path):
    return Path(shutil.copy2(SAMPLE, tmp_path / SAMPLE.name))


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "key"
    path.write_text(KEY)
    return path


def account():
    """What the log tells of all writes, but for times and hosts."""
    kept = ("action", "path", "before", "after", "findings")
    return [{name: line[name] for name in kept} for line in log.read(api.state_folder())]


@pytest.mark.parametrize("keys", [[], ["p"], ["s"], ["s", "s"]], ids=["", "p", "s", "ss"])
def test_what_y_writes_is_what_the_command_writes(desk, key_file, keys):
    """In place, with each profile and style: the same bytes, log, and mode; nothing to undo."""
    old, when = desk.read_bytes(), desk.stat()
    screen = Redacting(desk, stand_ins=load_key(key_file))

    async def write():
        async with running(screen, writes=True) as pilot:
            await press(pilot, *keys, "W", "y")
            return frame(pilot)

    async def told():
        async with running(Redacting(desk, stand_ins=load_key(key_file))) as pilot:
            await press(pilot, *keys)
            return pilot.app.screen.command

    command = asyncio.run(told())
    text = asyncio.run(write())
    mine, mine_told = desk.read_bytes(), account()
    assert "WRITTEN" in text
    assert "u to undo" not in text
    assert mine != old
    assert not list(undo.entries(api.state_folder()))
    now = desk.stat()
    assert (now.st_mode, now.st_mtime_ns) == (when.st_mode, when.st_mtime_ns)

    shutil.rmtree(api.state_folder())
    shutil.copy2(SAMPLE, desk)
    assert run([*command.split()[1:], "--key", str(key_file), "--yes"]) == 0
    assert desk.read_bytes() == mine
    assert account() == mine_told


def test_copies_are_those_of_the_command(desk, key_file, tmp_path):
    """The key o asks for a folder, and takes the profile for what is shared."""
    old = desk.read_bytes()
    screen = Redacting(desk, stand_ins=load_key(key_file))

    async def write():
        async with running(screen, writes=True) as pilot:
            await press(pilot, "o")
            pilot.app.screen.query_one("Input").value = str(tmp_path / "mine")
            await press(pilot, "enter")
            assert "profile: share" in frame_text(pilot.app)
            await press(pilot, "W")
            assert "Write 1 copy?" in frame_text(pilot.app)
            await press(pilot, "y")

    asyncio.run(write())
    assert desk.read_bytes() == old
    assert run(["redact", "-o", f"{tmp_path}/other/", "--key", str(key_file), str(desk)]) == 0
    copies = [(tmp_path / name / desk.name).read_bytes() for name in ("mine", "other")]
    assert copies[0] == copies[1]


def test_a_value_that_is_kept_stays_in_its_row_and_in_the_file(desk):
    """Space keeps it, space again redacts it after all; W writes what is shown."""
    text = driven(Redacting(desk), "j", "j", "space")[-1]
    assert "keep    USER" in text
    assert "5 redact, 1 keep" in text
    assert "it is kept as it is" in text
    text = driven(Redacting(desk), "j", "j", "space", "space")[-1]
    assert "6 redact" in text
    driven(Redacting(desk), "j", "j", "space", "W", "y", writes=True)
    after = desk.read_text()
    assert "/home/imoura/" in after
    assert not [value for value in VALUES if value in after and value != "imoura"]


def test_no_frame_shows_a_value_unless_v_asks(desk):
    """Through every row and place, with everything kept; nor does any message."""
    keys = ["j", "right_parenthesis", "right_parenthesis", "space"] * 6 + ["s", "p", "G", "g"]
    for text in driven(Redacting(desk), *keys):
        assert not [value for value in VALUES if value in text]


def test_v_shows_the_one_value_until_it_is_looked_away_from(desk):
    """V again, another row or place, or three seconds hide it; no other value is shown."""

    async def run_():
        screen = Redacting(desk)
        async with running(screen) as pilot:
            await press(pilot, "V")
            seen = [value for value in VALUES if value in frame_text(pilot.app)]
            assert len(seen) == 1
            assert not any(seen[0] in note.message for note in pilot.app._notifications)
            await press(pilot, "j")
            assert seen[0] not in frame_text(pilot.app)
            for hidden_by in ("V", "right_parenthesis", "s"):
                await press(pilot, "V", hidden_by)
                assert not [value for value in VALUES if value in frame_text(pilot.app)]
            await press(pilot, "V")
            screen._hide()  # what the timer does
            await pilot.pause()
            assert not [value for value in VALUES if value in frame_text(pilot.app)]

    asyncio.run(run_())


def test_a_value_that_is_shown_cannot_be_selected(desk):
    """Nor copied with that."""

    async def run_():
        async with running(Redacting(desk)) as pilot:
            await press(pilot, "V")
            pilot.app.screen.text_select_all()
            await pilot.pause()
            return pilot.app.screen.get_selected_text() or ""

    assert not [value for value in VALUES if value in asyncio.run(run_())]


def test_without_allow_write_nothing_is_written(desk):
    """W says so."""
    old = desk.read_bytes()
    frames = driven(Redacting(desk), "W", "y", "u")
    assert "read-only: start with --allow-write" in frames[0]
    assert desk.read_bytes() == old
    assert not api.state_folder().exists()


@pytest.mark.parametrize("key", ["escape", "n", "q", "enter", "W"])
def test_no_key_but_y_writes(desk, key):
    """The session is as before."""
    old = desk.read_bytes()
    driven(Redacting(desk), "W", key, "escape", writes=True)
    assert desk.read_bytes() == old


def test_the_dialog_says_that_no_plain_copy_is_kept(desk):
    """As the command does, when it asks."""
    text = words(driven(Redacting(desk), "W", writes=True)[-1])
    assert "Redact harbour-desk.jsonl in place?" in text
    assert "27 places of 6 values in 1 file are replaced, with the profile resume." in text
    assert "No plain copy is kept, and undo entries of these files go" in text


def test_the_screen_shows_a_place_and_what_it_becomes(desk, key_file):
    """The text around, masked; the stand-in; where else it stands."""
    text = shown(Redacting(desk, stand_ins=load_key(key_file)), "j", "j")
    assert "place 1 of 16   line 2   byte 157   /cwd" in text
    assert "/home/▒▒▒▒▒▒▒▒▒▒▒▒/harbour-desk" in text
    assert "/home/⟦USER:" in text
    assert "hidden; its length is under 16" in text
    small = shown(Redacting(desk), "2", size=SMALL)
    assert "becomes" in small


def test_nothing_to_redact_is_said(tmp_path):
    """A session without any value."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(prompt(1, None)))
    text = driven(Redacting(path), "W", "V", "space", "right_parenthesis", writes=True)[-1]
    assert "nothing is found here" in text
    assert "nothing to write" in text


def test_a_write_that_fails_is_told_and_leaves_the_file(desk, monkeypatch):
    """The disk is full: the error stays on the screen, the file as it was."""
    old = desk.read_bytes()

    def refuse(*_, **__):
        raise WriteError("cannot write it: no space left on device", hint="make room")

    monkeypatch.setattr(transact, "replace", refuse)
    text = driven(Redacting(desk), "W", "y", writes=True)[-1]
    assert "Not written" in text
    assert "make room" in text
    assert "PREVIEW: nothing written yet" in text
    assert desk.read_bytes() == old


@pytest.mark.parametrize("data", [None, b"", b"\x00\x1b[31m\xff", jsonl(*talk(3))])
def test_any_file_can_be_looked_at(tmp_path, data):
    """One that is gone, empty, no session, or has nothing to redact."""
    path = tmp_path / "session.jsonl"
    if data is not None:
        path.write_bytes(data)
    driven(Redacting(path), "space", "V", "p", "s", "W", "escape", writes=True)


@pytest.mark.parametrize("action", ["keep", "profile", "style", "again", "reveal"])
def test_what_is_pressed_while_it_writes_waits(desk, action, monkeypatch):
    """The files that are written from stay open; what was asked for comes then."""
    screen = Redacting(desk)
    whole, seen = transact.replace, []

    def slow(*args, **more):
        screen.app.call_from_thread(getattr(screen, f"action_{action}"))
        seen.append((screen.busy, screen._looking))
        return whole(*args, **more)

    monkeypatch.setattr(transact, "replace", slow)
    text = driven(screen, "W", "y", writes=True)[-1]
    assert seen == [(True, False)]
    assert "WRITTEN" in text
    assert not [value for value in VALUES if value in desk.read_text()]
