"""A thread that looks after what became due: the flush of `interval`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakMethod

_INTERVAL = 1.0


class Ticker:
    """Calls a method back once an interval after something became due, while its object lives."""

    def __init__(self, act: Callable[[], None]) -> None:
        """Begin, with a thread."""
        self._due, self._stop = threading.Event(), threading.Event()
        self._act = WeakMethod(act, lambda _: self._end())
        self._thread = threading.Thread(target=self._run, name="sesstool", daemon=True)
        self._thread.start()

    def due(self) -> None:
        """Something is."""
        self._due.set()

    def stop(self) -> None:
        """Call back no more, and wait for one that began."""
        self._end()
        self._thread.join()

    def _end(self) -> None:
        self._stop.set()
        self._due.set()

    def _run(self) -> None:
        while self._due.wait() and not self._stop.wait(_INTERVAL):
            self._due.clear()
            if act := self._act():
                act()
            del act
