"""Screens of the app as text, drawn without a terminal."""

import asyncio
import os
from contextlib import asynccontextmanager

# Read when Textual is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"

import textual.app
import textual.pilot

from sesstool.tui.app import Browser, Options

WIDE, SMALL = (120, 36), (80, 24)
# Textual draws some sixtieth of a second after a change.
_SOON = 1 / 50


async def idle(_min_sleep=0.0, max_sleep=1.0):
    """Wait until nothing is ready to run, and nothing soon to be drawn.

    In place of Textual's own, which sleeps 20 ms three times for each key and looks at the time of
    the processor, which a busy machine may not have given.
    """
    loop = asyncio.get_running_loop()
    end, waits = loop.time() + max_sleep, 0
    while loop.time() < end:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=end)
        # What ticks by itself all the time is not waited for to its end.
        if due > loop.time() + _SOON or waits == 3:
            return
        waits += 1
        await asyncio.sleep(max(0, due - loop.time()))


textual.app.wait_for_idle = textual.pilot.wait_for_idle = idle


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
