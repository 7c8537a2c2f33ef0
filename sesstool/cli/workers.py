"""Several files at once: a process for each core, where there is enough to read."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sesstool.cli.streams import size_of
from sesstool.errors import InputError
from sesstool.heap import lean_heap

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

# Starting processes takes longer than one of them needs for so many bytes.
_WORTH = 50 << 20
# How many files each process may be ahead of the one that is reported.
_AHEAD = 2


def worthwhile(paths: Sequence[Path | str]) -> int:
    """How many processes pay for these files: 1 where they are small, or no files."""
    if "-" in paths or sum(map(size_of, paths)) < _WORTH:
        return 1
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(cores, len(paths))


def spread(
    judge: Callable[[Path | str], T], paths: Sequence[Path | str], jobs: int
) -> Iterator[tuple[Path | str, T]]:
    """What `judge` returns for each path, in their order, from `jobs` processes.

    Raises InputError where a process dies. Whoever stops listening ends the processes.
    """
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - one file needs no pool
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - the same
    from multiprocessing import active_children  # noqa: PLC0415 - the same

    todo = deque(paths)
    running: deque[tuple[Path | str, Future[T]]] = deque()
    # A process that is forked would write what waits here a second time.
    sys.stdout.flush()
    with ProcessPoolExecutor(jobs, initializer=_begin) as pool:
        try:
            while todo or running:
                while todo and len(running) < _AHEAD * jobs:
                    path = todo.popleft()
                    running.append((path, pool.submit(judge, path)))
                path, future = running.popleft()
                yield path, future.result()
        except BrokenProcessPool:
            raise InputError(
                f"a process died before {path} was read: it was killed, or had no memory left",
                hint="run it again with --jobs 1",
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():
                child.terminate()
            raise


def _begin() -> None:
    # Ctrl-C comes to all processes: these end without a word, and when they are told to.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    lean_heap()
