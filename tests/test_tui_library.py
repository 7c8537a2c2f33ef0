"""The library screen: what it lists, and what each of its keys does."""

import asyncio
import os
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.screens import SMALL, frame_text, running, settled  # isort: skip - as it says

from sesstool.encryption.age import Sealer
from sesstool.encryption.keys import passphrase_recipient
from sesstool.library.arrange import Groups
from sesstool.tui.app import Options
from sesstool.tui.conversation import Conversation
from sesstool.tui.library import Library
from sesstool.tui.shelf import groups
from tests.conftest import answer, asks, jsonl, prompt, said
from tests.hostile import PIECES, acts

SEALED = b"".join(Sealer([passphrase_recipient(b"moon")]).seal(iter([b"{}\n"])))
SAMPLES = Path(__file__).parents[1] / "samples"
NOW = datetime(2026, 3, 8, 15, 0, tzinfo=UTC)


def at(day, hour=12):
    return datetime(2026, 3, day, hour, tzinfo=UTC).timestamp()


@pytest.fixture
def folder(tmp_path):
    """Four sessions: a sound one, one with a torn end, one in another format, one encrypted."""

    def write(name, data, when):
        path = tmp_path / "quests" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)
        os.utime(path, (when, when))

    told = prompt(1, None, "Find the silver key.", timestamp="2026-03-08T09:30:00.000Z")
    talk = jsonl(told, answer(2, 1, {"type": "text", "text": "It is here."}))
    write("0a1b2c3d-0000-4000-8000-000000000001.jsonl", talk, at(8))
    write("0a1b2c3d-0000-4000-8000-000000000002.jsonl", talk[:-40], at(7))
    write("lamp.jsonl", jsonl(said("user", "Is the lamp lit?"), said("assistant", "Yes.")), at(2))
    write("sealed.jsonl.age", SEALED, at(1))
    return tmp_path / "quests"


def library(folder):
    return Library([str(folder)], Options(now=lambda: NOW))


async def looked(pilot):
    """Wait until the sessions that are seen were looked at."""
    for _ in range(4):
        pilot.app.screen._look() if isinstance(pilot.app.screen, Library) else None
        await settled(pilot)


def played(screen, *keys, size=(130, 36), **options):
    """The frame after all keys."""

    async def run():
        async with running(screen, size, now=lambda: NOW, **options) as pilot:
            await looked(pilot)
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
            await looked(pilot)
            return frame_text(pilot.app)

    return asyncio.run(run())


def listed(text):
    """The states and titles of the rows of the list."""
    rows = [row.split("││")[1] for row in text.split("\n")[3:] if "││" in row]
    found = []
    for row in rows:
        if not row[3:14].strip(" │▐"):
            break
        found.append((row[3:14].strip(), row[61:].strip(" │▐")))
    return found


def test_sessions_are_listed_newest_first_with_their_state_in_a_word(folder):
    """State, when, records, size, agent and the first prompt of each."""
    text = played(library(folder))
    assert [state for state, _ in listed(text)] == ["ok", "damaged", "ok", "encrypted"]
    assert "today 09:30" in text
    assert "Find the silver key." in text
    assert "Is the lamp lit?" in text
    assert "openai-chat" in text
    assert "1 need attention" in text.split("\n")[0]


def test_the_groups_count_agents_and_what_needs_attention(folder):
    """The left pane has every agent, every project, and the states that a person should see."""
    text = played(library(folder))
    left = [row[1:29].strip(" ▌▐│") for row in text.split("\n")[2:]]
    told = {" ".join(row.split()) for row in left}
    assert {"All sessions 4", "claude-code 2", "openai-chat 1", "damaged 1", "encrypted 1"} <= told


def test_a_group_lists_its_sessions_alone(folder):
    """Going down in the left pane lists what the cursor is on."""
    screen = library(folder)

    async def run():
        async with running(screen, (130, 36), now=lambda: NOW) as pilot:
            await looked(pilot)
            await pilot.press("1")
            titles = [group.title for group in screen._groups]
            screen.query_one("#pane-1").go(titles.index("damaged"))
            await settled(pilot)
            return [item.name for item in screen._rows]

    assert asyncio.run(run()) == ["0a1b2c3d-0000-4000-8000-000000000002.jsonl"]


@pytest.mark.parametrize(
    ("presses", "first"),
    [(0, "0a1b2c3d"), (1, "sealed"), (2, "0a1b2c3d"), (3, "0a1b2c3d"), (5, "0a1b2c3d")],
)
def test_s_sorts_in_the_next_order(folder, presses, first):
    """Newest, oldest, size, title, records, and newest again."""
    screen = library(folder)
    played(screen, *["s"] * presses)
    assert screen._rows[0].name.startswith(first)
    assert screen._order == ["newest", "oldest", "size", "title", "records", "newest"][presses]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("agent:claude-code", 2),
        ("state:damaged", 1),
        ("since:2026-03-05", 2),
        ("LAMP", 1),
        ("agent:codex", 0),
        ("", 4),
    ],
)
def test_a_filter_lists_only_what_it_names(folder, words, count):
    """By agent, state, time and words, without regard to case."""
    screen = library(folder)

    async def run():
        async with running(screen, (130, 36), now=lambda: NOW) as pilot:
            await looked(pilot)
            await pilot.press("f")
            await pilot.pause()
            pilot.app.screen.query_one("#answer").value = words
            await pilot.press("enter")
            await settled(pilot)
            return len(screen._rows)

    assert asyncio.run(run()) == count


@pytest.mark.parametrize("words", ["state:dragon", "since:yesterday"])
def test_a_filter_that_is_none_is_told(folder, words):
    """With what would be one; the list stays."""
    screen = library(folder)

    async def run():
        async with running(screen, (130, 36), now=lambda: NOW) as pilot:
            await looked(pilot)
            await pilot.press("f")
            await pilot.pause()
            pilot.app.screen.query_one("#answer").value = words
            await pilot.press("enter")
            await settled(pilot)
            return frame_text(pilot.app), len(screen._rows)

    text, count = asyncio.run(run())
    assert "takes" in text
    assert count == 4


def test_a_search_goes_from_match_to_match(folder):
    """In titles, paths and ids."""
    screen = library(folder)

    async def run():
        async with running(screen, (130, 36), now=lambda: NOW) as pilot:
            await looked(pilot)
            await pilot.press("slash", *"silver", "enter", "n")
            await settled(pilot)
            return screen._rows[screen.listed.cursor].name

    assert asyncio.run(run()).endswith("2.jsonl")


def test_enter_opens_the_session_and_escape_comes_back_to_it(folder):
    """The list is where it was."""
    screen = library(folder)

    async def run():
        async with running(screen, (130, 36), now=lambda: NOW) as pilot:
            await looked(pilot)
            await pilot.press("j", "j", "enter")
            await settled(pilot)
            opened = pilot.app.screen
            await pilot.press("escape")
            await settled(pilot)
            return opened, screen.listed.cursor

    opened, cursor = asyncio.run(run())
    assert isinstance(opened, Conversation)
    assert opened.view.path.name == "lamp.jsonl"
    assert cursor == 2


def test_v_validates_the_session(folder):
    """What the rules say stands below, and in the state."""
    text = played(library(folder), "j", "v")
    assert "1 errors" in text
    assert "B104 truncated-tail" in text
    assert [state for state, _ in listed(text)][1] == "repairable"


@pytest.mark.parametrize(
    ("keys", "name"), [("r", "Repairing"), ("x", "Redacting"), ("P", "Retaining")]
)
def test_a_key_opens_the_preview_of_a_write(folder, keys, name):
    """Of a repair, a redaction, and what retention would do; esc comes back."""
    screen = library(folder)

    async def run():
        async with running(screen, (130, 36), now=lambda: NOW) as pilot:
            await looked(pilot)
            await pilot.press(keys)
            await settled(pilot)
            opened = type(pilot.app.screen).__name__
            await pilot.press("escape")
            await settled(pilot)
            return opened, pilot.app.screen

    assert asyncio.run(run()) == (name, screen)


def test_d_compares_the_two_sessions_that_are_marked(folder):
    """With fewer marks it says what to do."""
    assert "mark two sessions" in played(library(folder), "d")
    text = played(library(folder), "space", "space", "d")
    assert "change 1" in text.split("\n")[0]
    assert "diff" in text.split("\n")[0]


def test_the_cursor_stays_on_its_group_when_another_comes_above_it(folder):
    """What is listed is what the group says."""
    screen = library(folder)

    async def run():
        async with running(screen, now=lambda: NOW) as pilot:
            await looked(pilot)
            side = screen.query_one("#pane-1")
            names = [group.title for group in screen._groups]
            await pilot.press("1")
            side.go(names.index("damaged"))
            await settled(pilot)
            shutil.copy(SAMPLES / "good" / "pi-version-1.jsonl", folder)
            screen._list_all()
            await settled(pilot)
            screen.glances.page(screen._items)
            screen._arrange()
            await settled(pilot)
            at = side.cursor
            return at - names.index("damaged"), screen._groups[at].title, len(screen._rows)

    moved, title, count = asyncio.run(run())
    assert moved > 0
    assert (title, count) == ("damaged", 1)


def test_projects_of_one_name_are_told_apart():
    """By the folder they are in; folders that stand for one project are one."""
    counts = {"-srv-a-beacon": 2, "-srv-b-beacon": 1, "copy": 3, "-srv-quest": 1}
    names = {"-srv-a-beacon": "/srv/a/beacon", "-srv-b-beacon": "/srv/b/beacon"}
    names |= {"copy": "/srv/a/beacon", "-srv-quest": "/srv/quest"}
    seen = Groups({"claude-code": Counter(counts)}, Counter(), 0, 0, names)
    assert [(group.title, group.total) for group in groups(seen)][2:] == [
        ("beacon (/srv/a)", 5),
        ("beacon (/srv/b)", 1),
        ("quest", 1),
    ]


def test_marks_count_and_stay(folder):
    """Space marks and goes on; the first line counts."""
    screen = library(folder)
    text = played(screen, "space", "space", "s", "s")
    assert "2 marked" in text.split("\n")[0]
    assert len(screen.marked) == 2


def test_a_folder_without_sessions_is_told(tmp_path):
    """There is nothing to list, and no key does harm."""
    text = played(library(tmp_path), *"jkGgsvay", "enter", "space", "1", "enter")
    assert "0 sessions" in text


def test_hostile_names_and_titles_do_not_act(tmp_path):
    """Whatever a file is called, and whatever its first prompt says."""
    for n, piece in enumerate(PIECES):
        name = f"{n}-{piece[:40].replace('/', '-').replace(chr(0), '-')}.jsonl"
        data = jsonl(said("user", "".join(PIECES[n:])), asks(piece))
        (tmp_path / name).write_bytes(data)
    for size in ((130, 36), SMALL):
        text = played(library(tmp_path), "G", "2", "g", "s", "1", "G", "3", size=size)
        assert not acts(text)
