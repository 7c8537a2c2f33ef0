"""Browsing a session: what each key of the conversation does."""

import asyncio
import gzip
from pathlib import Path

import pytest

from tests.screens import SMALL, frame_text, running, settled  # isort: skip - as it says

from sesstool.api import viewing
from sesstool.api.viewing import open_view
from sesstool.encryption.age import Sealer
from sesstool.encryption.keyring import Keys
from sesstool.encryption.keys import passphrase_recipient
from sesstool.tui.conversation import Conversation, open_session
from sesstool.tui.scroller import plain
from tests.conftest import (
    answer,
    boundary,
    jsonl,
    prompt,
    result,
    said,
    talk,
    use,
)

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture
def made(tmp_path):
    """Write some records to a session and open it."""

    def make(*records, raw=b""):
        path = tmp_path / "5e551000-0000-4000-8000-000000000000.jsonl"
        path.write_bytes(jsonl(*records) + raw)
        return Conversation(open_view(path))

    return make


FAILED = {
    "type": "tool_result",
    "tool_use_id": "toolu_2",
    "content": "No such file",
    "is_error": True,
}
QUEST = (
    prompt(1, None, "Find the silver key."),
    answer(2, 1, {"type": "thinking", "thinking": "in the well, perhaps", "signature": "c"}),
    answer(3, 2, use("toolu_1", "Bash", command="ls /well", timeout=5)),
    result(4, 3, "toolu_1", "a bucket\na rope"),
    answer(5, 4, use("toolu_2", "Read", path="/well/bucket")),
    prompt(6, 5, [FAILED]),
    answer(7, 6, {"type": "text", "text": "The bucket is empty."}),
    prompt(8, 7, "Look under the rope."),
    answer(9, 8, use("toolu_3", "Bash", command="lift rope")),
)


def sealed(data, passphrase):
    return b"".join(Sealer([passphrase_recipient(passphrase)]).seal(iter([data])))


def played(screen, *keys, size=(120, 40)):
    """The line of the record under the cursor, and the frame, after each key."""

    async def run():
        async with running(screen, size) as pilot:
            seen = []
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
                seen.append((line_of(screen), frame_text(pilot.app)))
            return seen

    return asyncio.run(run())


def line_of(screen):
    start = screen.talk.cursor
    return screen.view.places.number(start) if start is not None else None


def test_calls_are_told_with_what_became_of_them(made):
    """Completed, failed, and uncertain where no result came, in words."""
    (_, text), *_ = played(made(*QUEST), "g")
    rows = text.split("\n")
    calls = [row.partition("TOOL CALL")[2].split()[1:3] for row in rows if "TOOL CALL" in row]
    assert calls == [["✓", "completed"], ["✗", "failed"], ["?", "uncertain"]]
    assert any("TOOL RESULT Bash" in row for row in rows)
    assert any("TOOL RESULT FAILED Read" in row for row in rows)


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        ("} } {", [8, 8, 1]),
        (") ) ) ( (", [3, 5, 9, 5, 3]),
        ("] [", [9, 9]),
        ("G g", [9, 1]),
        ("j j k", [2, 3, 2]),
    ],
)
def test_jumps_go_to_the_next_of_a_kind(made, keys, lines):
    """Prompts, calls, findings, ends and neighbours; where there is none the cursor stays."""
    assert [line for line, _ in played(made(*QUEST), *keys.split())] == lines


def test_a_jump_to_nothing_says_so(made):
    """There is no prompt below the last."""
    assert "no prompt below" in played(made(*QUEST), "G", "}")[-1][1]


def test_thinking_and_output_are_shown_on_demand(made):
    """T shows what the model thought, o hides what tools put out."""
    seen = [text for _, text in played(made(*QUEST), "g", "t", "o", "o", "t")]
    assert ["in the well, perhaps" in text for text in seen] == [False, True, True, True, False]
    assert ["a bucket" in text for text in seen] == [True, True, False, True, True]
    assert "~ thinking, 4 words (t shows it)" in seen[0]
    assert "~ output, 2 lines (o shows it)" in seen[2]


def test_a_long_text_is_folded_and_shown_whole(made):
    """Twelve rows of it, then how many lines are left; space shows them."""
    screen = made(prompt(1, None, "\n".join(f"line {n}" for n in range(1, 21))))
    folded, whole, again = (text for _, text in played(screen, "g", "space", "space"))
    assert "line 12" in folded
    assert "line 13" not in folded
    assert "8 more lines (space shows them)" in folded
    assert "line 20" in whole
    assert again == folded


@pytest.mark.parametrize(
    ("typed", "line"), [("8", 8), ("50%", 4), ("end", 9), ("99", 1), ("x", 1), ("100%", 9)]
)
def test_a_line_is_gone_to(made, typed, line):
    """By its number, by how far into the file, or the end."""
    keys = ["percent_sign" if char == "%" else char for char in typed]
    seen = played(made(*QUEST), "colon", *keys, "enter")
    assert seen[-1][0] == line or (typed == "50%" and 3 <= seen[-1][0] <= 6)


def test_a_search_goes_to_what_it_finds_and_on(made):
    """N and N go from match to match; the first line counts them; case does not matter."""
    seen = played(made(*QUEST), "slash", *"ROPE", "enter", "n", "n", "N")
    assert [line for line, _ in seen[5:]] == [4, 8, 9, 8]
    assert "3 matching" in seen[-1][1]


def test_a_search_for_nothing_that_is_there_says_so(made):
    """The cursor stays."""
    line, text = played(made(*QUEST), "slash", *"dragon", "enter")[-1]
    assert line == 1
    assert "no match" in text


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("role:user", [1, 8]),
        ("tool:bash", [3, 9]),
        ("is:failed", [6]),
        ("is:call rope", [9]),
        ("bucket", [4, 5, 7]),
        ("is:thinking", [2]),
        ("is:compaction", []),
        ("is:finding", [9]),
        ("is:finding dragon", []),
        ("", list(range(1, 10))),
    ],
)
def test_a_filter_shows_only_what_it_names(made, words, lines):
    """By role, tool, kind and words; an empty one shows all again."""
    screen = made(*QUEST)

    async def run():
        async with running(screen) as pilot:
            await pilot.press("f")
            await pilot.pause()
            pilot.app.screen.query_one("#answer").value = words
            await pilot.press("enter")
            await settled(pilot)
            found, key = [], screen.talk.blocks.first()
            while key is not None:
                found.append(screen.view.places.number(key))
                key = screen.talk.blocks.after(key)
            return found

    assert asyncio.run(run()) == lines


def test_a_filter_that_is_no_filter_is_told(made):
    """What the person wrote is not thrown away without a word."""
    screen = made(*QUEST)

    async def run():
        async with running(screen) as pilot:
            await pilot.press("f")
            await pilot.pause()
            pilot.app.screen.query_one("#answer").value = "is:dragon"
            await pilot.press("enter")
            await settled(pilot)
            return frame_text(pilot.app)

    assert "is: takes one of" in asyncio.run(run())


def test_marks_are_set_and_found_again(made):
    """M marks, ' goes to the next mark, and the mark shows."""
    seen = played(made(*QUEST), "j", "m", "G", '"', "m", "'")
    assert [line for line, _ in seen] == [2, 2, 9, 2, 2, 2]
    assert "*      2" in seen[1][1]
    assert "*      2" not in seen[4][1]


def test_the_text_and_the_line_are_copied(made):
    """Y gives what is said, Y the bytes of the line."""
    screen = made(*QUEST)

    async def run():
        async with running(screen) as pilot:
            await pilot.press("y")
            text = pilot.app.clipboard
            await pilot.press("Y")
            return text, pilot.app.clipboard

    text, raw = asyncio.run(run())
    assert text == "Find the silver key."
    assert raw.encode() + b"\n" == jsonl(QUEST[0])


def test_the_contents_list_prompts_and_compactions_and_lead_there(made):
    """Enter on a place goes to it; what is wrong is listed too."""
    records = (*talk(6), boundary(7, 6), *talk(12, 8))
    screen = made(*records)

    async def run():
        async with running(screen) as pilot:
            text = frame_text(pilot.app)
            await pilot.press("1")
            kinds = [item.kind for item in screen._rows]
            screen.contents.go(kinds.index("compaction"))
            await pilot.press("enter")
            await settled(pilot)
            return text, line_of(screen), screen.talk.has_focus

    text, line, focused = asyncio.run(run())
    assert "7 ≡ compaction" in text
    assert (line, focused) == (7, True)


def test_the_contents_point_to_where_the_talk_is_beside_subagents(made):
    """Those are listed behind all places of the session itself."""
    aside = prompt(3, None, "look", isSidechain=True, agentId="explore")
    talked = talk(8, 4)
    talked[0]["parentUuid"] = answer(2, 1)["uuid"]
    screen = made(*talk(2), aside, *talked)

    async def run():
        async with running(screen) as pilot:
            screen._go_line(8)
            await settled(pilot)
            item = screen._rows[screen.contents.cursor]
            kinds = {row.kind for row in screen._rows}
            return "subagent" in kinds, item.kind, screen.view.places.number(item.start)

    assert asyncio.run(run()) == (True, "prompt", 7)


def test_notes_are_shown_on_demand(made):
    """Records that the model does not get are passed over, unless a asks for them."""
    screen = made(prompt(1, None), {"type": "mode", "mode": "plan", "sessionId": "s"})
    first, second = (text for _, text in played(screen, "g", "a"))
    assert "NOTE" not in first
    assert "NOTE" in second


def test_a_session_that_grows_is_followed(made):
    """What is written since is shown; at the end the cursor goes along."""
    screen = made(*QUEST[:7])

    async def run():
        async with running(screen) as pilot:
            await pilot.press("G")
            with screen.view.path.open("ab") as file:
                file.write(jsonl(*QUEST[7:]))
            screen._follow()
            await settled(pilot)
            return line_of(screen), plain(screen.talk.rows()), screen.view.places.total

    line, rows, total = asyncio.run(run())
    assert (line, total) == (9, 9)
    assert any("lift rope" in row for row in rows)


def test_a_session_that_was_replaced_is_read_anew(made):
    """Another file at the path is another session; one that is gone is told, and stays shown."""
    screen = made(*QUEST)

    async def run():
        async with running(screen) as pilot:
            other = screen.view.path.with_suffix(".new")
            other.write_bytes(jsonl(said("user"), said("assistant")))
            other.replace(screen.view.path)
            screen._follow()
            await settled(pilot)
            fresh = screen.view.format
            screen.view.path.unlink()
            screen._follow()
            await settled(pilot)
            return fresh, frame_text(pilot.app)

    fresh, text = asyncio.run(run())
    assert fresh == "openai-chat"
    assert "esc goes back" in text


def followed(screen, *keys, grown=b"", other=b""):
    """The lines that are found and shown when the file has grown, or holds something else."""

    async def run():
        async with running(screen) as pilot:
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
            path = screen.view.path
            path.write_bytes(other or path.read_bytes() + grown)
            screen._follow()
            await settled(pilot)
            search = screen.search.found if screen.search else []
            lines = [
                [screen.view.places.number(at) for at in found]
                for found in (screen.shown.only or [], search)
            ]
            return *lines, line_of(screen), frame_text(pilot.app)

    return asyncio.run(run())


def test_a_filter_and_a_search_take_in_what_is_written_since(made):
    """Also the last line, which was half written when it was looked at; the cursor stays."""
    line = jsonl(QUEST[7])
    screen = made(*QUEST[:7], raw=line[:60])
    keys = ("f", *"role:user", "enter", "slash", *"rope", "enter", "g")
    only, found, at, text = followed(screen, *keys, grown=line[60:] + jsonl(*QUEST[8:]))
    assert (only, found, at) == ([1, 8], [4, 8, 9], 1)
    assert "Look under the rope." in text


def test_a_filter_and_a_search_do_not_disturb_each_other(made):
    """A search that runs goes on when something is filtered."""
    screen = made(*QUEST)

    async def run():
        async with running(screen) as pilot:
            screen._asked_search("rope")
            screen._asked_filter("is:call")
            await settled(pilot)

    asyncio.run(run())
    assert len(screen.search.found) == 3
    assert len(screen.filter.found) == 3


def test_nothing_is_kept_of_a_file_that_was_written_anew_in_its_place(made):
    """A longer one too: marks, filters and numbers of lines are those of the new text."""
    other = jsonl(*(prompt(n, n - 1 or None, "The moon. " * n) for n in range(1, 40)))
    screen = made(*QUEST)
    only, _, at, text = followed(screen, "m", "f", *"moon", "enter", other=other)
    assert not screen.shown.marked
    assert (only, at) == ([*range(1, 40)], 1)
    assert "record 1/39" in text


def test_a_branch_that_is_shown_grows_too(made):
    """What is written at its end is a part of it."""
    screen = made(*QUEST, answer(10, 1, {"type": "text", "text": "No."}))
    grown = jsonl(answer(11, 10, {"type": "text", "text": "Yes."}))
    assert followed(screen, "b", grown=grown)[0] == [1, 10, 11]


def test_the_summary_of_a_compaction_is_no_prompt():
    """The agent made it, and no person."""
    with open_view(SAMPLES / "good" / "lighthouse.jsonl") as view:
        list(view.read())
        assert [view.places.number(at) for at in view.outline.marks["prompt"]] == [2, 10, 16]


def test_a_plain_copy_of_an_encrypted_session_is_no_part_of_it(tmp_path):
    """The contents list subagents, and not the session itself."""
    plain_path = tmp_path / "5e551000-0000-4000-8000-000000000000.jsonl"
    plain_path.write_bytes(jsonl(*QUEST))
    packed = Path(f"{plain_path}.gz")
    packed.write_bytes(gzip.compress(jsonl(*QUEST)))
    played(screen := Conversation(open_view(packed)), "g")
    assert "file" not in [item.kind for item in screen._rows]


def test_branches_are_shown_one_by_one():
    """B goes through the branches of a session and back to all records."""
    screen = Conversation(open_view(next((SAMPLES / "forks" / "in-file-branch").glob("*.jsonl"))))
    seen = [text.split("\n")[0] for _, text in played(screen, "g", "b", "b", "b")]
    assert ["branch to line" in first for first in seen] == [False, True, True, False]
    assert seen[1] != seen[2]


def test_a_session_of_no_known_format_is_shown_line_by_line(made):
    """Nothing is hidden from a person who looks."""
    screen = made(raw=b"dear diary\nit rained\n")
    (_, text), *_ = played(screen, "g")
    assert "dear diary" in text
    assert "it rained" in text


def test_an_empty_file_says_so(made):
    """No key does harm there."""
    seen = played(made(), *"jkGg[]{}()nNyYmb", "space", "enter", "v", "a")
    assert seen[-1][0] is None
    assert "an empty file" in seen[0][1].split("\n")[0]


@pytest.mark.parametrize("size", [(120, 36), SMALL, (60, 16)])
def test_every_sample_opens_at_every_size(size):
    """Each of the made-up sessions is shown, whatever is wrong with it."""
    for path in sorted(SAMPLES.rglob("*.jsonl"))[:: 3 if size == SMALL else 9]:
        text = played(Conversation(open_view(path)), "G", size=size)[-1][1]
        assert "READ-ONLY" in text, path


def test_an_encrypted_session_is_opened_with_its_passphrase(made, tmp_path):
    """A wrong one is told; the right one shows the session, and nothing is written."""
    path = tmp_path / "sealed.jsonl.age"
    path.write_bytes(sealed(jsonl(*QUEST), b"moon"))
    screen = made(*QUEST[:1])

    async def run():
        async with running(screen, keys=Keys()) as pilot:
            open_session(screen, path)
            frames = []
            for typed in ("sun", "moon"):
                await settled(pilot)
                frames.append(frame_text(pilot.app))
                await pilot.press(*typed, "enter")
            await settled(pilot)
            return *frames, frame_text(pilot.app)

    asked, again, text = asyncio.run(run())
    assert "Passphrase of sealed.jsonl.age:" in asked
    assert "cannot open" not in asked
    assert "capitals count" in again
    assert "Find the silver key." in text
    assert "record 1/9" in text.split("\n")[0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "5e551000-0000-4000-8000-000000000000.jsonl",
        "sealed.jsonl.age",
    ]


def test_a_line_too_long_to_be_decoded_is_found_by_its_bytes(made, monkeypatch):
    """It says how long it is, and the search still goes there."""
    monkeypatch.setattr(viewing, "LONGEST", 400)
    screen = made(*QUEST[:2], prompt(3, 2, "x" * 400 + "dragon"))
    seen = played(screen, "slash", *"dragon", "enter")
    assert seen[-1][0] == 3
    assert "bytes, too long to be shown" in seen[-1][1]


def test_openai_messages_are_shown(made):
    """A list of messages without times and ids is a conversation all the same."""
    (_, text), *_ = played(made(said("user", "Is it dark?"), said("assistant", "Not yet.")), "g")
    assert "Is it dark?" in text
    assert "Not yet." in text
