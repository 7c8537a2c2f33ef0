"""The one widget of all long views: what it shows of blocks of any height."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from tests.screens import running  # isort: skip - it sets what Textual reads

from sesstool.text import width, wrapped
from sesstool.tui.frame import Frame
from sesstool.tui.lines import Numbered, Span, column, cut, lines_of, paragraph, spread
from sesstool.tui.scroller import Scroller, plain


class Heights(Numbered):
    """Blocks of given heights; each line names its block and its number."""

    def __init__(self, heights):
        super().__init__(len(heights))
        self.heights = heights
        self.drawn = []

    def draw(self, key, _cells):
        self.drawn.append(key)
        return [(Span(f"{key}.{n}"),) for n in range(self.heights[key])]


class One(Frame):
    def __init__(self, blocks, *, pick=True):
        super().__init__()
        self.scroller = Scroller(blocks, pick=pick, id="pane-1")

    def panes(self):
        yield self.scroller

    def on_mount(self):
        super().on_mount()
        self.scroller.focus()


def played(heights, *steps, size=(60, 18), pick=True):
    """What is seen after some steps, as names of lines, with the block under the cursor."""
    screen = One(Heights(heights), pick=pick)

    async def run():
        async with running(screen, size) as pilot:
            seen = []
            for step in ("", *steps):
                if callable(step):
                    step(screen.scroller)
                elif step:
                    await pilot.press(step)
                await pilot.pause()
                seen.append((plain(screen.scroller.rows()), screen.scroller.cursor))
            return seen

    return asyncio.run(run())


ROOM = 16  # rows of a terminal of 18


def test_the_head_is_seen_first_and_nothing_else_is_drawn():
    """Of a million blocks those on the screen are drawn."""
    blocks = Heights([2] * 1_000_000)
    screen = One(blocks)

    async def run():
        async with running(screen, (60, 18)):
            return plain(screen.scroller.rows())

    seen = asyncio.run(run())
    assert seen[:3] == ["0.0", "0.1", "1.0"]
    assert len(seen) == ROOM
    assert len(set(blocks.drawn)) < 30


def test_the_end_fills_the_screen():
    """The last line of the last block is at the lower edge."""
    (_, (seen, cursor)) = played([3] * 100, "G")
    assert seen[-1] == "99.2"
    assert len(seen) == ROOM
    assert cursor == 99


def test_down_and_up_go_block_by_block():
    """The cursor moves by blocks; those that are seen whole stay where they are."""
    seen = played([2] * 50, "j", "j", "k")
    assert [cursor for _, cursor in seen] == [0, 1, 2, 1]
    assert all(lines[0] == "0.0" for lines, _ in seen)


def test_a_block_higher_than_the_screen_is_scrolled_through():
    """Down does not jump over what was not seen yet."""
    seen = played([40, 1, 1], *["j"] * 6)
    assert [cursor for _, cursor in seen] == [0, 0, 0, 0, 1, 2, 2]
    shown = {line for lines, _ in seen for line in lines}
    assert {f"0.{n}" for n in range(40)} <= shown


def test_a_page_leaves_one_line_and_comes_back():
    """A page forth and a page back is where one was."""
    (first, _), (second, _), (third, _) = played([1] * 100, "pagedown", "pageup")
    assert second[0] == first[-1]
    assert third == first


def test_a_far_block_comes_to_a_third_of_the_height():
    """A jump shows what stands before it."""
    (_, (seen, cursor)) = played([1] * 100, lambda s: s.go(60))
    assert cursor == 60
    assert seen.index("60.0") == ROOM // 3


def test_without_a_cursor_lines_scroll():
    """Prose has no block under the cursor."""
    (first, _), (second, _) = played([1] * 50, "j", pick=False)
    assert second[0] == first[1]


def test_nothing_to_show_is_an_empty_pane():
    """No key does harm where there is nothing."""
    keys = ("j", "k", "G", "g", "pagedown", "pageup", "ctrl+d", "ctrl+u")
    assert played([], *keys)[-1] == ([], None)


class Bare(Scroller):
    """A scroller of a fixed size that needs no app."""

    size = Size(60, ROOM)

    def refresh(self, *_, **__):
        return self

    def post_message(self, _):
        return False


STEPS = ("down", "up", "last", "first", "page(1)", "page(-1)", "half(1)", "half(-1)")


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.lists(st.sampled_from(STEPS) | st.integers(0, 29)),
)
def test_whatever_is_pressed_what_is_seen_is_a_stretch_of_the_whole(heights, steps):
    """No line is lost, doubled or out of order, and the screen is full where there is enough."""
    whole = [f"{block}.{n}" for block, height in enumerate(heights) for n in range(height)]
    scroller = Bare(Heights(heights))
    for step in ["first", *steps]:
        if isinstance(step, int):
            scroller.go(step % len(heights))
        else:
            name, _, argument = step.partition("(")
            action = getattr(scroller, f"action_{name}")
            action(*([int(argument[:-1])] if argument else []))
        seen = plain(scroller.rows())
        start = whole.index(seen[0])
        assert seen == whole[start : start + len(seen)]
        assert len(seen) == min(ROOM, len(whole))
        assert any(line.startswith(f"{scroller.cursor}.") for line in seen)


TEXTS = st.text(st.sampled_from("ab \t\x1b\u202e\ud800漢字é\u0301\n\r🙂"), max_size=80)


@given(TEXTS, st.integers(2, 20))
def test_a_wrapped_text_fits_and_loses_nothing_but_blanks(text, cells):
    """What is drawn is as wide as it was measured."""
    for line in lines_of(text):
        parts = list(wrapped(line, cells))
        assert all(width(part) <= cells for part in parts)
        assert "".join(parts).replace(" ", "") == line.replace(" ", "")
    assert all(
        sum(width(span.text) for span in line) <= cells + 2
        for line in paragraph(text, cells, "", 2)
    )


@pytest.mark.parametrize("cells", [0, 1, 5, 80])
def test_a_line_of_spans_is_cut_to_its_width(cells):
    """Left and right parts share a line of any width."""
    left, right = [Span("漢字 left"), Span(" more")], [Span("right")]
    assert sum(width(span.text) for span in cut(left, cells)) <= cells
    assert sum(width(span.text) for span in spread(left, right, cells)) in (cells, cells - 1)
    assert width(column("漢字 and more", max(cells, 1))) == max(cells, 1)
