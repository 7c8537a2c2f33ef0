"""What a session costs in the app: run as a program, prints its figures as JSON.

    python tests/benchmarks/browsing.py SESSION|FOLDER

Of a folder it is the library that is measured, up to its first rows and to the last.

CPU is that of the process from behind the imports on; jumps and pages are seconds of CPU of the
thread that draws, with all rows drawn, the median of several, `busy` the worst of these while the
session is read; memory is the greatest resident size in MB.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from textual.app import App

from sesstool.api.viewing import open_view
from sesstool.heap import lean_heap
from sesstool.tui import library
from sesstool.tui.app import Browser, Options
from sesstool.tui.conversation import Conversation

SIZE = (120, 36)
_TIMES = 15


async def bare() -> float:
    """The CPU of a Textual app with nothing in it, up to its first screen: the reference."""
    started = time.process_time()
    async with App[None]().run_test(size=SIZE):
        return time.process_time() - started


async def figures(path: Path) -> dict[str, float]:
    """Open a session, move in it while it is read and after it, and note what that takes."""
    found = {}
    started = time.process_time()
    screen = Conversation(open_view(path))
    app = Browser(screen, Options(still=True))
    async with app.run_test(size=SIZE):
        # Idle it never is: the session is read behind it.
        while not screen.is_mounted or not screen.talk.rows():  # noqa: ASYNC110 - as told
            await asyncio.sleep(0)
        found["first"] = time.process_time() - started
        await asyncio.sleep(0.5)
        found["busy"] = max(_moves(screen).values())
        await app.workers.wait_for_complete()
        found |= _moves(screen)
        found["read"] = time.process_time() - started
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )
    return found


async def listed(folder: Path) -> dict[str, float]:
    """List the sessions of a folder: the CPU up to the first rows, and to all of them."""
    found = {}
    started = time.process_time()
    options = Options(still=True)
    screen = library.screen([folder], options)
    app = Browser(screen, options)
    async with app.run_test(size=SIZE):
        while not screen._rows:  # noqa: ASYNC110 - idle it never is
            await asyncio.sleep(0)
        found["rows"] = time.process_time() - started
        while screen._listing or len(screen._rows) < len(screen._items):  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.01)
        found["all"] = time.process_time() - started
    return found


def _moves(screen: Conversation) -> dict[str, float]:
    """Some jumps and pages, each with its rows drawn."""
    size = screen.view.source.size
    talk = screen.talk
    taken: dict[str, list[float]] = {"end": [], "middle": [], "page": []}
    for n in range(_TIMES):
        place = size // 2 + n * size // 100
        taken["end"].append(_timed(screen, talk.action_last))
        taken["middle"].append(_timed(screen, lambda at=place: screen.go(at)))
        taken["page"].append(_timed(screen, lambda: talk.action_page(1)))
    return {name: median(times) for name, times in taken.items()}


def _timed(screen: Conversation, action: Any) -> float:
    started = time.thread_time()
    action()
    for row in range(screen.talk.size.height):
        screen.talk.render_line(row)
    return time.thread_time() - started


if __name__ == "__main__":
    lean_heap()
    reference = asyncio.run(bare())
    path = Path(sys.argv[1])
    measured = asyncio.run(listed(path) if path.is_dir() else figures(path))
    print(json.dumps({"bare": reference, **measured}))
