"""Drives every key of every screen, and tells what was written to the file system.

`python -m tests.watching SESSION FOLDER POLICY yes|no` prints one JSON list of events; the last
word says whether the app may write. An audit hook cannot be taken back: this is a process of its
own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

_CHANGES = {
    "os": "chmod chown link mkdir remove rename rmdir setxattr symlink truncate utime",
    "shutil": "copyfile move rmtree",
    "sqlite3": "connect",
    "subprocess": "Popen",
    "tempfile": "mkdtemp mkstemp",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# They end the app, or stand for the terminal's own.
_LEFT_OUT = {"q", "ctrl+c", "ctrl+q", "escape"}


def watch(events):
    """Note each event that changes a file, but for scratch files that have no name."""
    changes = {f"{module}.{name}" for module, names in _CHANGES.items() for name in names.split()}
    # Nobody can write to a folder: that is a file in it without a name.
    scratch = tempfile.gettempdir()

    def seen(event, args):
        if event in changes:
            events.append([event, *map(str, args)])
        elif event == "open":
            path, _, flags = args
            # What is opened by number is open already.
            known = isinstance(path, int) or str(path) in ("/dev/null", "/dev/tty", scratch)
            if flags & _WRITING and not known:
                events.append([event, str(path), flags])

    sys.addaudithook(seen)


async def drive(screens, *, writes):
    """Press each key of each screen; what opens is answered, and left again."""
    from tests.screens import running, settled  # noqa: PLC0415 - it imports the app

    pressed = []
    for screen in screens:
        async with running(screen, writes=writes) as pilot:
            app = pilot.app
            # Last, for they write.
            late = {"W": 1, "u": 2}
            keys = {b.binding.key for b in app.screen.active_bindings.values()} - _LEFT_OUT
            for key in sorted(keys, key=lambda k: (late.get(k, 0), k)):
                base = app.screen
                await pilot.press(key)
                await settled(pilot)
                pressed.append(f"{type(screen).__name__} {key}")
                for answer in ("x", "enter", "y", "escape", "escape", "escape"):
                    if app.screen is base:
                        break
                    await pilot.press(answer)
                    await settled(pilot)
    return pressed


def main():
    """See the module."""
    session, folder, policy, may = sys.argv[1:]
    from sesstool.api.viewing import open_view  # noqa: PLC0415 - what imports write is not meant
    from sesstool.tui.conversation import Conversation  # noqa: PLC0415
    from sesstool.tui.redacting import Redacting  # noqa: PLC0415
    from sesstool.tui.repairing import Repairing  # noqa: PLC0415
    from sesstool.tui.retaining import Retaining  # noqa: PLC0415

    screens = [
        Conversation(open_view(Path(session))),
        Redacting(Path(session)),
        Repairing(Path(session)),
        Retaining([Path(folder)], policy),
    ]
    events = []
    watch(events)
    pressed = asyncio.run(drive(screens, writes=may == "yes"))
    sys.stdout.write(json.dumps({"events": events, "pressed": pressed}))


if __name__ == "__main__":
    main()
