"""How the interpreter and the C library keep memory, for what builds up or frees a lot of it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


@cache
def lean_heap() -> None:
    """Have glibc give blocks over 1 MB back when they are freed.

    It would keep all that are below the largest so far, and scatter what stays among them: for
    1 GB of records that is a quarter of the memory. The end of the heap is kept up to 4 MB, else
    each chunk that is read gets its pages from the kernel anew.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - help needs no heap

        with suppress(AttributeError, OSError):  # another C library
            heap = ctypes.CDLL(None)
            heap.mallopt(_MMAP_THRESHOLD, 1 << 20)
            heap.mallopt(_TRIM_THRESHOLD, 4 << 20)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look over and over at what is only built up."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
