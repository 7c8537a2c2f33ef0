"""SHA-256 beside other work: hashing takes longer than encrypting, and another core has time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from types import TracebackType
from typing import Self

# How many chunks may wait: enough to keep both sides busy, and bounded in memory.
_WAITING = 8


class Hasher:
    """Hashes what it is given in a thread of its own. `size` counts the bytes."""

    def __init__(self) -> None:
        """Start the thread."""
        self.size = 0
        self._hash = hashlib.sha256()
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._room = Semaphore(_WAITING)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def through(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The chunks as they are; each is hashed, too."""
        for chunk in chunks:
            self.size += len(chunk)
            self._room.acquire()
            self._queue.put(chunk)
            yield chunk

    def sha256(self) -> str:
        """The SHA-256 of all that came; no more may come."""
        self._end()
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        """End the thread on leaving the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the thread."""
        self._end()

    def _end(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (chunk := self._queue.get()) is not None:
            self._hash.update(chunk)
            self._room.release()
