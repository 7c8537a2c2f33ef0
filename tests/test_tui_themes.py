"""The colours: readable in every theme, and gone where a person wants none."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.screens import frame_text, running, settled  # isort: skip - it sets what Textual reads

from rich.style import Style
from textual.color import Color

from sesstool import config
from sesstool.api.viewing import open_view
from sesstool.tui.conversation import Conversation
from sesstool.tui.scroller import STYLES, Scroller
from sesstool.tui.themes import OWN

SAMPLE = Path(__file__).parents[1] / "samples" / "damaged" / "unanswered-claude-code.jsonl"
LEAST = 4.5


def luminance(color):
    def linear(part):
        part /= 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part) for part in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def colors(segment):
    style = segment.style or Style()
    return tuple(Color.from_rich_color(part) for part in (style.color, style.bgcolor))


def test_the_contrast_is_that_of_wcag():
    """Black on white is 21, grey #767676 on white just 4.54."""
    assert contrast(Color(0, 0, 0), Color(255, 255, 255)) == pytest.approx(21)
    assert contrast(Color(118, 118, 118), Color(255, 255, 255)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", [theme.name for theme in OWN])
@pytest.mark.parametrize("keys", ["", "question_mark", "ctrl+p", "slash"])
def test_every_text_on_the_screen_has_contrast(theme, keys):
    """Each character that is drawn, in each theme, stands out 4.5 to 1."""

    async def run():
        async with running(Conversation(open_view(SAMPLE)), theme=theme) as pilot:
            if keys:
                await pilot.press(keys)
                await settled(pilot)
            return [
                segment
                for strip in pilot.app.screen._compositor.render_strips()
                for segment in strip
                if segment.text.strip()
            ]

    for segment in asyncio.run(run()):
        if re.fullmatch(r"[\s─│╭╮╰╯▔▁▂▃▄▅▆▇█▊▎▌▐]+", segment.text):
            continue  # lines that part, and carry nothing
        assert contrast(*colors(segment)) >= LEAST, (segment.text, colors(segment))


@pytest.mark.parametrize("theme", [theme.name for theme in OWN])
def test_every_style_of_a_span_has_contrast(theme):
    """On the background of a pane, of the cursor and of a match."""

    async def run():
        async with running(Conversation(open_view(SAMPLE)), theme=theme) as pilot:
            widget = pilot.app.screen.query_one("#pane-2", Scroller)
            base = widget.rich_style
            grounds = [Style(), widget._style("cursor"), widget._style("match")]
            return {
                (name, n): base + widget._style(name) + ground
                for name in STYLES
                for n, ground in enumerate(grounds)
            }

    for place, style in asyncio.run(run()).items():
        pair = [Color.from_rich_color(color) for color in (style.color, style.bgcolor)]
        assert contrast(*pair) >= LEAST, place


def test_without_colour_the_screen_says_the_same(monkeypatch):
    """NO_COLOR leaves greys, and every word and sign."""

    def run():
        async def inner():
            async with running(Conversation(open_view(SAMPLE))) as pilot:
                strips = pilot.app.screen._compositor.render_strips()
                filters = pilot.app._filters
                styles = [
                    part.style
                    for strip in strips
                    for part in strip.apply_filter(filters[0], Color(0, 0, 0))
                ]
                return frame_text(pilot.app), styles, [type(f).__name__ for f in filters]

        return asyncio.run(inner())

    colored, _, _ = run()
    monkeypatch.setenv("NO_COLOR", "1")
    plain, _, filters = run()
    assert plain == colored
    assert "Monochrome" in filters


def test_the_settings_know_the_themes():
    """Each theme that a person can choose exists."""

    async def run():
        async with running(Conversation(open_view(SAMPLE))) as pilot:
            return set(pilot.app.available_themes)

    assert set(config.THEMES) <= asyncio.run(run())
    assert {theme.name for theme in OWN} < set(config.THEMES)
