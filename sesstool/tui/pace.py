"""Long work beside a screen that stays quick."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from textual.worker import get_current_worker

T = TypeVar("T")
# Seconds of work between two rests, of a rest, and between two tellings.
_SLICE, _REST, _TELL = 0.004, 0.002, 0.25


def paced(items: Iterable[T], tell: Callable[[T], None]) -> Iterator[T]:
    """The items, in a worker, with rests between them; now and then one is told.

    They end where the worker is cancelled.
    """
    worker = get_current_worker()
    told = until = time.monotonic()
    for item in items:
        now = time.monotonic()
        if now > until:
            if worker.is_cancelled:
                return
            time.sleep(_REST)
            until = now + _SLICE
        if now - told > _TELL:
            told = now
            tell(item)
        yield item
