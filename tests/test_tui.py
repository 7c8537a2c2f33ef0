"""The app as a whole: its frame, its keys, its help."""

import asyncio
import re
from pathlib import Path

import pytest

from sesstool import config
from sesstool.api.viewing import open_view
from sesstool.cli import browse
from sesstool.cli.browse import _keymap
from sesstool.errors import ConfigError, InputError
from sesstool.tui.conversation import Conversation
from sesstool.tui.keys import named
from tests.conftest import jsonl, talk
from tests.screens import SMALL, frame_text, running, settled, shown

SAMPLE = Path(__file__).parents[1] / "samples" / "damaged" / "unanswered-claude-code.jsonl"


def conversation(path=SAMPLE):
    return Conversation(open_view(path))


def test_the_first_line_says_where_this_is_and_that_nothing_is_written():
    """Where on the left, the mode and the record on the right."""
    first, *_, last = shown(conversation()).split("\n")
    assert first.startswith("sesstool  ")
    assert "READ-ONLY" in first
    assert "record 1/" in first
    assert last.startswith("enter inspect  [ ] finding  { } prompt")
    assert last.endswith("? help")


def test_a_small_terminal_has_one_pane_and_a_key_for_the_other():
    """Under 100 columns the talk is seen, and 1 shows the contents."""
    assert "Contents" not in shown(conversation(), size=SMALL)
    assert "Contents" in shown(conversation(), "1", size=SMALL)
    assert "Contents" not in shown(conversation(), "1", "2", size=SMALL)


def test_a_terminal_without_room_is_told_so():
    """Below 60 by 16 a sentence asks for more."""
    text = " ".join(shown(conversation(), size=(59, 20)).split())
    assert "sesstool needs 60 columns and 16 rows; here are 59 by 20" in text
    assert "READ-ONLY" not in text


def test_the_help_names_every_binding_of_the_screen():
    """What the bindings do is in the help, each with its keys as they are now."""
    text = shown(conversation(), "question_mark", size=(120, 50))
    for words in (
        "previous, next prompt",
        "go to a line",
        "previous, next half page",
        "copy the raw line",
    ):
        assert words in text
    assert "[ ]" in text


@pytest.mark.parametrize("size", [(120, 60), (104, 60), (103, 60)])
def test_the_help_cuts_nothing_off(size):
    """Two columns or one: each line of it is there whole, with room before the next."""
    help_text = shown(conversation(), "question_mark", size=size)
    rows = [row.split("│")[2] for row in help_text.split("\n") if row.count("│") > 3]
    assert rows
    assert not any("…" in row for row in rows)
    assert re.search(r"  previous, next fork, compaction(  | *│)", help_text)


def test_keys_are_changed_by_id():
    """A binding that is given another key has that one alone, in the help too."""
    screen = conversation()

    async def run():
        async with running(screen, keymap={"talk.mark": "z"}) as pilot:
            await pilot.press("m")
            assert not screen.shown.marked
            await pilot.press("z")
            assert screen.shown.marked == {0}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("written", "keys"),
    [("!", "exclamation_mark"), ("?, ctrl+b", "question_mark,ctrl+b"), ("f5", "f5"), ("+", "plus")],
)
def test_keys_are_written_as_characters_or_by_their_names(written, keys):
    """A character stands for its key; a binding knows its name."""
    assert named(written) == keys


@pytest.mark.parametrize("written", ["", "bogus", "ctrl+bogus", "a,,b"])
def test_a_key_that_is_none_is_told(written):
    """A binding on it could never be used."""
    value = config.Value({"talk.copy": written}, "config.toml:2")
    with pytest.raises(ConfigError, match="no key is"):
        _keymap(value)


@pytest.mark.parametrize("paths", [["/nope/a", "/nope/b"], ["--screen", "library", "nope"]])
def test_what_a_library_cannot_find_ends_the_command(paths, monkeypatch):
    """Not an empty list with a word that goes away."""
    monkeypatch.setattr(browse, "refuse_without_terminal", lambda: None)
    monkeypatch.setattr(browse, "run", lambda *_, **__: 0)
    with pytest.raises(InputError):
        browse.command.main(paths, standalone_mode=False, obj=None)


def test_in_ascii_the_app_has_no_other_sign(tmp_path):
    """With --ascii each sign of the app has its twin, borders too."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*talk(30)))
    text = shown(conversation(path), ascii=True)
    assert text.isascii()
    assert shown(conversation(path), "question_mark", ascii=True).isascii()


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_the_app_ends_with_the_code_of_a_command(key):
    """Quitting is 0, an interruption 130."""

    async def run():
        async with running(conversation()) as pilot:
            await pilot.press(key)
            await pilot.pause()
        return pilot.app.return_code

    assert asyncio.run(run()) == (0 if key == "q" else 130)


def test_escape_goes_back_and_stays_at_the_first_screen():
    """Only q and ctrl+c leave the app."""

    async def run():
        async with running(conversation()) as pilot:
            await pilot.press("question_mark")
            await settled(pilot)
            assert "Help" in frame_text(pilot.app)
            await pilot.press("escape", "escape", "escape")
            await settled(pilot)
            assert "READ-ONLY" in frame_text(pilot.app)

    asyncio.run(run())


def test_the_palette_finds_rules_by_their_code():
    """And shows the page of the one that is chosen."""
    keys = ["ctrl+p", *"T401", "enter"]
    text = shown(conversation(), *keys)
    assert "T401 unanswered-call" in text
    assert "What it finds" in text
