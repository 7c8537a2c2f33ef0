"""Screens of the app as text, drawn without a terminal."""

import asyncio
import os
from contextlib import asynccontextmanager

# Read when Textual is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"

from sesstool.tui.app import Browser, Options

WIDE, SMALL = (120, 36), (80, 24)


def frame_text(app):
    """What the terminal would show, row by row, without the blanks at their ends."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


@asynccontextmanager
async def running(screen, size=WIDE, **options):
    """The app with a first screen, ready; yields its pilot."""
    app = Browser(screen, Options(still=True, **options))
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot):
    """Wait until nothing is to be done any more."""
    await pilot.pause()
    # Reading is followed by validation, and that by what it tells.
    for _ in range(4):
        if all(worker.is_finished for worker in pilot.app.workers):
            return
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


def shown(screen, *keys, size=WIDE, **options):
    """The text of the frame after some keys."""

    async def run():
        async with running(screen, size, **options) as pilot:
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
            return frame_text(pilot.app)

    return asyncio.run(run())
