"""Screens that write, driven key by key."""

import asyncio

from tests.screens import frame_text, running, settled


async def press(pilot, *keys):
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def frame(pilot):
    """The text of the frame, with what the app told besides."""
    told = "\n".join(note.message for note in pilot.app._notifications)
    return f"{frame_text(pilot.app)}\n{told}"


def words(text):
    """A text without its borders and line breaks."""
    return " ".join(text.replace("│", " ").split())


def driven(screen, *keys, **options):
    """The frames after each key."""

    async def run_():
        frames = []
        async with running(screen, **options) as pilot:
            for key in keys:
                await press(pilot, key)
                frames.append(frame(pilot))
        return frames

    return asyncio.run(run_())
