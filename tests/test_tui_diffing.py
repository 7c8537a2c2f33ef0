"""The screen of a comparison: its rows and what its keys do."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.screens import SMALL, WIDE, frame_text, running, settled  # isort: skip - as it says

from sesstool.api import diffing
from sesstool.api.diffing import Name
from sesstool.api.viewing import open_view
from sesstool.report import diff_html
from sesstool.report.difference import Fold, Row, Rows
from sesstool.text import width
from sesstool.tui.changes import Changes
from sesstool.tui.conversation import Conversation
from sesstool.tui.diffing import Both, Diffing
from sesstool.tui.frame import Frame
from tests.conftest import answer, jsonl, prompt, result, talk, use
from tests.hostile import PIECES, acts

FORKS = Path(__file__).parents[1] / "samples" / "forks"
PAIRS = [
    ("edited-copy/rail.jsonl", "edited-copy/rail-edited.jsonl"),
    ("moved/round.jsonl", "moved/round-turned.jsonl"),
    ("copy-fork/bell.jsonl", "copy-fork/bell-fork.jsonl"),
    ("retry/flags.jsonl", "retry/flags-fork.jsonl"),
    ("other-format/tank.jsonl", "other-format/tank-chat.jsonl"),
    ("in-file-branch/mail.jsonl", "in-file-branch/mail.jsonl@8"),
]


def words(text):
    return {"type": "text", "text": text}


SHARED = [*talk(8), prompt(9, 8, "Row to the rock.")]
LEFT = [*SHARED, answer(10, 9, words("I row with two oars.")), prompt(11, 10, "Good.")]
RIGHT = [
    *SHARED,
    answer(10, 9, words("I row with four oars.")),
    answer(12, 10, use("a", "Bash", command="bail")),
    result(13, 12, "a", "dry"),
]


class Seen(NamedTuple):
    """What is to be seen after some keys."""

    text: str
    screen: Frame
    copied: str

    @property
    def rows(self):
        return self.text.split("\n")


def press(screen, *keys, size=WIDE, **options):
    """A screen after some keys; a word in a list is typed."""

    async def run():
        async with running(screen, size, **options) as pilot:
            for key in keys:
                await pilot.press(*(key if type(key) is list else [key]))
                await settled(pilot)
            return Seen(frame_text(pilot.app), pilot.app.screen, pilot.app.clipboard)

    return asyncio.run(run())


@pytest.fixture
def two(tmp_path):
    """Write two sessions, and compare them."""

    def make(left=LEFT, right=RIGHT):
        names = []
        for name, records in (("left", left), ("right", right)):
            path = tmp_path / f"{name}.jsonl"
            path.write_bytes(jsonl(*records))
            names.append(Name(path))
        return Diffing(*names)

    return make


def test_the_screen_begins_at_the_first_change(two):
    """What is shared is folded above it, the counts are below."""
    seen = press(two())
    assert "diff  left ↔ right" in seen.rows[0]
    assert seen.rows[0].endswith("READ-ONLY   change 1/3   fork at 9")
    assert "⋯ 7 equal units ⋯" in seen.rows[3]
    assert "1 changed · 1 only left · 2 only right" in seen.rows[-2]
    assert "ignored: times, ids, cwd, version, model, signature" in seen.rows[-2]
    row = next(row for row in seen.rows if row.startswith("│▌"))
    assert row.split() == ["│▌", "~", "10", "ASSISTANT", "~", "~", "10", "ASSISTANT", "│"]


def test_both_sides_of_a_change_are_beside_each_other(two):
    """With the words that changed in brackets, and a sign between."""
    text = press(two()).text
    assert "I row with [two] oars." in text
    row = next(row for row in text.split("\n") if "[two]" in row)
    assert row.index(" ~ ~ ") == 59
    assert "{four}" in row


def test_under_100_columns_it_is_unified(two):
    """And = shows it so, or not, at any width."""
    small = press(two(), size=SMALL)
    rows = [row.strip("│▌ ").rstrip() for row in small.rows]
    at = rows.index("~ 10|10 ASSISTANT")
    assert rows[at + 1 : at + 3] == [
        "-     I row with [two] oars.",
        "+     I row with {four} oars.",
    ]
    assert "10|10" in press(two(), "equals_sign").text
    assert "10|10" not in press(two(), "equals_sign", "equals_sign").text
    assert "10|10" not in press(two(), "equals_sign", size=SMALL).text


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("]", "change 2/3"),
        ("]]", "change 3/3"),
        ("]]]", "change 3/3"),
        ("]][", "change 2/3"),
        ("g]", "change 1/3"),
        ("Gk[", "change 2/3"),
    ],
)
def test_brackets_go_from_change_to_change(two, keys, place):
    """Behind the last one, and before the first, there is none."""
    seen = press(two(), *keys)
    assert place in seen.rows[0]
    assert ("no change below" in seen.text) is (keys == "]]]")


def test_a_bracket_goes_to_the_beginning_of_a_stretch(two):
    """From within it, as from behind it."""
    row = next(row for row in press(two(), "G", "[").rows if row.startswith("│▌"))
    assert "+ 11 TOOL CALL Bash" in row


def test_z_shows_what_is_equal_and_folds_it_again(two):
    """The cursor stays on its row."""
    opened = press(two(), "z")
    assert "equal units" not in opened.text
    assert "~ 10 ASSISTANT" in next(row for row in opened.rows if row.startswith("│▌"))
    folded = press(two(), "z", "z")
    assert "⋯ 7 equal units ⋯" in folded.text
    assert "~ 10 ASSISTANT" in next(row for row in folded.rows if row.startswith("│▌"))


def test_enter_opens_the_fold_under_the_cursor(two):
    """It alone."""
    seen = press(two(), "g", "enter")
    assert "equal unit" not in seen.text
    assert "1 USER" in seen.rows[3]


def test_enter_opens_both_records(two):
    """As they are in their files, and from there the conversation at the record."""
    seen = press(two(), "enter")
    assert isinstance(seen.screen, Both)
    assert seen.rows[1].count("line 10") == 2
    assert '│     "content": [{"type":"text","text":"I row with two ' in seen.text
    assert '│     "content": [{"type":"text","text":"I row with four' in seen.text
    there = press(two(), "enter", "2", "enter")
    assert isinstance(there.screen, Conversation)
    assert there.screen.view.path.name == "right.jsonl"
    assert "record 10/12" in there.rows[0]
    line = jsonl(LEFT[9]).decode().rstrip("\n")
    assert press(two(), "enter", "y").copied == line


def test_a_record_of_one_side_is_opened_alone(two):
    """There is nothing beside it."""
    seen = press(two(), "]", "enter")
    assert isinstance(seen.screen, Both)
    assert "line 11" in seen.rows[1]
    assert seen.rows[1].count("╭") == 1


def test_i_tells_what_envelopes_tell_too(two):
    """And ignores it again; the cursor stays on its row."""
    left = [*talk(2), prompt(3, 2, "On.", timestamp="2026-03-01T07:00:00.000Z")]
    right = [*talk(2), prompt(3, 2, "On.", timestamp="2026-03-01T08:00:00.000Z")]
    assert "no difference" in press(two(left, right)).text
    seen = press(two(left, right), "i")
    assert "1 changed" in seen.rows[-2]
    assert "ignored: nothing" in seen.rows[-2]
    assert "times: 2026-03-[01T07]" in seen.text
    again = press(two(left, right), "i", "i")
    assert "changed" not in again.rows[-2]


def test_w_shows_long_records_whole(two):
    """Else their first lines."""
    text = "\n".join(f"row {n}" for n in range(30))
    pair = [*talk(2), prompt(3, 2, text)], [*talk(2), prompt(3, 2, "short")]
    assert "row 29" not in press(two(*pair), size=(120, 60)).text
    assert "row 29" in press(two(*pair), "w", size=(120, 60)).text


def test_y_copies_the_row(two):
    """As unified text."""
    assert press(two(), "y").copied == (
        "~ 10|10 ASSISTANT\n-     I row with [two] oars.\n+     I row with {four} oars."
    )


def test_a_page_is_written_where_that_is_allowed(two, tmp_path):
    """It is the page that diff --html writes, and no file is replaced."""
    page = tmp_path / "page.html"
    typed = ["ctrl+u", *str(page), "enter"]
    told = press(two(), "e", writes=True)
    assert "Write the page to a new file" in told.text
    seen = press(two(), "e", typed, writes=True)
    assert "written: " in seen.text
    with diffing.diff(Name(tmp_path / "left.jsonl"), Name(tmp_path / "right.jsonl")) as found:
        assert page.read_text() == "".join(diff_html.page(found))
    page.write_text("mine")
    press(two(), "e", typed, writes=True)
    assert page.read_text() == "mine"


def test_read_only_no_page_is_written(two):
    """A sentence says how it can be."""
    seen = press(two(), "e")
    assert "read-only: browse --allow-write writes" in seen.text
    assert isinstance(seen.screen, Diffing)


def test_what_cannot_be_compared_is_told(tmp_path):
    """On the screen, with the next step."""
    (tmp_path / "none.jsonl").write_bytes(b"no session\n")
    seen = press(Diffing(Name(tmp_path / "none.jsonl"), Name(tmp_path / "gone.jsonl")), "]", "z")
    assert "not compared" in seen.rows[0]
    assert isinstance(seen.screen, Diffing)


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("size", [WIDE, SMALL])
def test_every_sample_is_shown_in_the_words_of_the_command(left, right, size):
    """All rows, at both sizes, whole and folded; none is wider than its place."""
    sides = [diffing.name_of(str(FORKS / name)) for name in (left, right)]
    with diffing.diff(*sides) as found:
        changes = Changes(found)
        changes.unified = size is SMALL
        cells = size[0] - 5
        for whole in (False, True):
            changes.whole = whole
            for n in range(changes.total):
                lines = changes.draw(n, cells)
                assert lines
                assert all(width("".join(s.text for s in line)) <= cells for line in lines)


@pytest.mark.parametrize("keys", ["d", "d>", "dj>"])
def test_d_offers_forks_and_branches(keys):
    """Its branches, then another file."""
    path = FORKS / "in-file-branch" / "mail.jsonl"
    names = {">": "enter"}
    seen = press(Conversation(open_view(path)), *(names.get(key, key) for key in keys))
    if keys == "d":
        assert "its branch to line 8" in seen.text
        assert "another file" in seen.text
    elif keys == "d>":
        assert isinstance(seen.screen, Diffing)
        assert seen.screen.names == (Name(path, "14"), Name(path, "8"))
    else:
        assert "Compare with the session in the file" in seen.text


def test_another_file_is_compared(two, tmp_path):
    """Where no fork is known its name is asked for at once."""
    two([*talk(4)], [prompt(20, None, "Elsewhere."), answer(21, 20, words("Yes."))])
    typed = [*str(tmp_path / "right.jsonl"), "enter"]
    seen = press(Conversation(open_view(tmp_path / "left.jsonl")), "d", typed)
    assert isinstance(seen.screen, Diffing)
    assert "fork at" not in seen.rows[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("copy-fork/bell.jsonl", [("bell.jsonl", "bell-fork.jsonl", "a fork of it")]),
        (
            "by-reference/rollout-2026-03-02T07-00-06-0a1b2c3d-0052-7000-8000-00000000beac.jsonl",
            [("0051", "0052", "the session it was forked from")],
        ),
        ("edited-copy/rail.jsonl", [("rail.jsonl", "rail-edited.jsonl", "begins with the same")]),
        ("other-format/tank.jsonl", []),
    ],
)
def test_the_kin_of_a_session_is_found_in_its_folder(path, expected):
    """What it was forked from, what was forked from it, and copies."""
    found = diffing.related(FORKS / path)
    assert len(found) == len(expected)
    for pair, (left, right, why) in zip(found, expected, strict=True):
        assert left in pair.left.path.name
        assert right in pair.right.path.name
        assert pair.why.startswith(why)


def test_rows_are_numbered_as_they_come():
    """Any row by its number is the one that stands there, and is found by its units."""
    for left, right in PAIRS:
        sides = [diffing.name_of(str(FORKS / name)) for name in (left, right)]
        with diffing.diff(*sides) as found:
            rows = Rows(found, context=1)
            every = list(rows)
            assert len(every) == len(rows)
            numbers = [row.number for row in every if isinstance(row, Row) and row.sign != "="]
            assert numbers == list(range(1, len(numbers) + 1))
            folded = sum(row.size for row in every if isinstance(row, Fold))
            equal = sum(isinstance(row, Row) and row.sign == "=" for row in every)
            assert folded + equal == found.counts["equal"]
            for n, row in enumerate(every):
                assert rows[n] == row
                if isinstance(row, Row):
                    assert rows.showing(*rows.units(n)) == n
                    sides_ = zip((row.left, row.right), (found.left, found.right), strict=True)
                    lines = [
                        cell.line == side.line(unit)
                        for (cell, side), unit in zip(sides_, rows.units(n), strict=True)
                        if cell is not None
                    ]
                    assert all(lines)
            whole = Rows(found, context=1 << 30)
            assert not any(isinstance(row, Fold) for row in whole)


def test_the_first_row_of_a_fold_is_where_its_units_are():
    """Units that are folded are found in their fold."""
    sides = [
        diffing.name_of(str(FORKS / "edited-copy" / n)) for n in ("rail.jsonl", "rail-edited.jsonl")
    ]
    with diffing.diff(*sides) as found:
        rows = Rows(found)
        fold = next(n for n, row in enumerate(rows) if isinstance(row, Fold))
        assert rows.showing(len(found.left) - 1, None) == fold
        assert rows.units(fold) == (None, None)


def test_large_records_are_compared_behind_the_rest(two):
    """They are there when the work is done."""
    text = "\n".join(f"row {n} of the long log" for n in range(2000))
    changed = text.replace("row 3 of", "row three of")
    seen = press(two([*talk(2), prompt(3, 2, text)], [*talk(2), prompt(3, 2, changed)]))
    assert "row [3] of the long log" in seen.text
    assert "comparing" not in seen.text


def test_a_large_record_is_not_compared_while_it_is_drawn(two, tmp_path):
    """Whoever is asked for it gives the lines."""
    two([*talk(2), prompt(3, 2, "a " * 9000)], [*talk(2), prompt(3, 2, "b " * 9000)])
    asked = []
    names = (Name(tmp_path / "left.jsonl"), Name(tmp_path / "right.jsonl"))
    with diffing.diff(*names) as found:
        changes = Changes(found, late=lambda *place: asked.append(place))
        at = changes.rows.following(0, 1)
        assert changes.draw(at, 80)[0][0].text == "  comparing a long record"
        assert asked == [(at, 80)]
        changes.laid[at, 80] = lines = changes.lay(at, 80)
        assert changes.draw(at, 80) is lines
        assert len(lines) > 10


def test_hostile_texts_are_compared(two):
    """In every place, side by side and unified; none acts."""
    text = "".join(PIECES)
    left = [prompt(1, None, text), answer(2, 1, use(text, text, command=text, x={text: 1}))]
    right = [prompt(1, None, text), answer(2, 1, use(text, text, command=text + "!", y={text: 2}))]
    for keys in ([], ["equals_sign", "w"], ["i"], ["enter"]):
        seen = press(two(left, right), *keys)
        assert acts(seen.text) == []
        assert all(width(row) <= WIDE[0] for row in seen.rows)
