"""The inspector's screen: its panes and what its keys do."""

import asyncio
from typing import NamedTuple

import pytest

from tests.screens import SMALL, WIDE, frame_text, running, settled  # isort: skip - as it says

from sesstool.api.viewing import open_view
from sesstool.text import width
from sesstool.tui.conversation import Conversation
from sesstool.tui.frame import Frame
from sesstool.tui.inspecting import Inspector
from sesstool.tui.lines import Blocks
from sesstool.tui.raw import Raw
from tests.conftest import answer, dump, jsonl, prompt, result, use
from tests.hostile import PIECES, acts

LONG = "\n".join(f"row {n}" for n in range(40))
QUEST = [
    prompt(1, None, "Find the silver key."),
    answer(2, 1, use("a", "Bash", command="ls /well"), use("b", "Read", file_path="/well/rope")),
    result(3, 2, "a", LONG),
    result(4, 3, "b", "frayed"),
    answer(5, 4, use("c", "Bash", command="lift rope")),
]


class Seen(NamedTuple):
    """What is to be seen after some keys; `panes` are what each pane has, by number."""

    text: str
    screen: Frame
    copied: str
    panes: dict[int, Blocks]

    @property
    def head(self):
        return self.text.split("\n")[0]


def play(tmp_path, *keys, records=QUEST, size=WIDE, **options):
    """Inspect the record under the cursor, and press keys."""
    path = tmp_path / "5e551000-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(jsonl(*records))

    async def run():
        async with running(Conversation(open_view(path)), size, **options) as pilot:
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
            screen = pilot.app.screen
            blocks = {}
            if isinstance(screen, Inspector):
                blocks = {n: screen.pane(n).blocks for n in range(1, 5)}
            return Seen(frame_text(pilot.app), screen, pilot.app.clipboard, blocks)

    return asyncio.run(run())


def test_enter_inspects_the_call_under_the_cursor(tmp_path):
    """What it is, its state and why, where both are, and the record with the call marked."""
    seen = play(tmp_path, ")", "enter", size=(120, 50))
    assert "5e551000  ›  record 2  ›  tool call Bash" in seen.head
    assert seen.head.endswith("READ-ONLY   call 1/3")
    for words in (
        "name      Bash",
        "id        a",
        "state     ✓ completed",
        "why       its result is there",
        "called    line 2   byte ",
        "result    line 3   byte ",
        "took      1.0 s",
        '│         "name": "Bash",',
        "… 28 more lines (space shows more)",
        "no finding at this record",
    ):
        assert words in seen.text, words


@pytest.mark.parametrize(
    ("keys", "head", "place"),
    [
        ([")"], "record 2  ›  tool call Read", "call 2/3"),
        ([")", ")"], "record 5  ›  tool call Bash", "call 3/3"),
        ([")", ")", "("], "record 2  ›  tool call Read", "call 2/3"),
        (["enter"], "record 3  ›  tool result Bash", "call 1/3"),
        (["enter", "enter"], "record 2  ›  tool call Bash", "call 1/3"),
        (["3", "j", "enter"], "record 5  ›  tool call Bash", "call 3/3"),
    ],
)
def test_keys_lead_to_calls_and_results(tmp_path, keys, head, place):
    """( and ) go by calls, enter between a call and its result, or to one of the list."""
    seen = play(tmp_path, ")", "enter", *keys)
    assert head in seen.head
    assert seen.head.endswith(place)


def test_behind_the_last_call_there_is_none(tmp_path):
    """It is said, and nothing moves."""
    seen = play(tmp_path, ")", "enter", ")", ")", ")")
    assert "no tool call below" in seen.text
    assert "record 5" in seen.head


def test_an_unanswered_call_has_its_reason_and_its_finding(tmp_path):
    """The finding is the one that validate tells."""
    text = play(tmp_path, ")", ")", "enter").text
    assert "state     ? uncertain" in text
    assert "result    none" in text
    assert "T401 error  unanswered-call" in text


def test_space_shows_the_long_text_whole(tmp_path):
    """And folds it again."""
    assert "row 39" in play(tmp_path, ")", "enter", "space").panes[1].plain()
    assert "row 39" not in play(tmp_path, ")", "enter", "space", "space").panes[1].plain()


def test_c_shows_the_record_in_the_conversation(tmp_path):
    """The screen below has the cursor on it."""
    seen = play(tmp_path, ")", "enter", ")", ")", "c")
    assert isinstance(seen.screen, Conversation)
    assert "record 5/5" in seen.head


def test_esc_leaves_the_conversation_where_it_was(tmp_path):
    """However far the inspector went."""
    seen = play(tmp_path, ")", "enter", ")", ")", "escape")
    assert isinstance(seen.screen, Conversation)
    assert "record 2/5" in seen.head


def test_y_copies_the_pane_and_capital_y_the_line(tmp_path):
    """The call as text with all it put out, the line as it stands in the file."""
    copied = play(tmp_path, ")", "enter", "y").copied
    assert copied.startswith("name      Bash\nid        a\n")
    assert "row 39" in copied
    line = dump(QUEST[1]).decode()
    assert play(tmp_path, ")", "enter", "Y").copied == line
    assert play(tmp_path, ")", "enter", "2", "y").copied == line


@pytest.mark.parametrize(("key", "title"), [("2", "Raw record, line 2"), ("4", "Findings")])
def test_a_small_terminal_has_one_pane_at_a_time(tmp_path, key, title):
    """Each has all the room."""
    rows = play(tmp_path, ")", "enter", key, size=SMALL).text.split("\n")
    assert title in rows[1]
    assert rows[-2].startswith("╰")
    assert sum(row.startswith("╭") for row in rows) == 1


def test_in_ascii_there_is_no_other_sign(tmp_path):
    """The marks of the raw record, too."""
    assert play(tmp_path, ")", "enter", ascii=True).text.isascii()


@pytest.mark.parametrize("keys", [")>s", ")>>", ">2s", ">)s3"])
def test_hostile_texts_are_inspected(tmp_path, keys):
    """In names, ids, arguments, results and folders; none acts."""
    text = "".join(PIECES)
    records = [
        prompt(1, None, text, cwd=text),
        answer(2, 1, use(text, text, command=text, other={text: text}), cwd=text),
        result(3, 2, text, text),
    ]
    names = {">": "enter", "s": "space"}
    shown = play(tmp_path, *(names.get(key, key) for key in keys), records=records)
    assert isinstance(shown.screen, Inspector)
    assert acts(shown.text) == []
    assert all(width(row) <= WIDE[0] for row in shown.text.split("\n"))
    assert acts(shown.panes[1].plain()) == []


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff\x00\x1b[2J", b'{"a":1}{"b":2}', b"[" * 3000, b"null", b'"\\ud800"'],
)
def test_any_bytes_are_a_raw_record(data):
    """What is no JSON is shown as it is."""
    raw = Raw(data, len(data), "/message/content/0")
    rows = [line for key in range(raw.total) for line in raw.draw(key, 40)]
    assert rows
    assert all(acts("".join(s.text for s in row)) == [] for row in rows)
    assert all(width("".join(s.text for s in row)) <= 40 for row in rows)


def test_a_record_of_many_values_is_cut_and_says_so():
    """Only so many lines are held."""
    data = b"[" + b",".join(b'"%d"' % n for n in range(30_000)) + b"]"
    raw = Raw(data, len(data))
    assert raw.total == 20_001
    assert raw.draw(20_000, 60)[0][0].text == f"the rest of {len(data):,} bytes is not shown"
