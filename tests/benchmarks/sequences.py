"""Pairs of sequences of 64-bit hashes that are hard to align, and what aligning one costs.

    python tests/benchmarks/sequences.py NAME SIZE

prints CPU seconds of `align` and of `moved`, the values matched, and the MB that both calls take
above their inputs: a process of its own, so that no peak hides another.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from array import array
from collections.abc import Callable

from sesstool.diff.align import align, moved

Pair = tuple["array[int]", "array[int]"]


def pairs(size: int) -> dict[str, Callable[[], Pair]]:
    """Each name with what makes its two sequences of about `size` values, the same every time."""
    return {
        "1 % edits": lambda: _edited(_values(size, 2**62), 2**62),
        "1 % edits, 200 distinct": lambda: _edited(_values(size, 200), 200),
        "a third moved": lambda: _moved(_values(size, 2**62)),
        "nothing in common": lambda: (_values(size, 2**62), _values(size, 2**62, seed=2)),
        "one value, 1 % removed": lambda: (_pattern(size, 1), _pattern(size - size // 100, 1)),
        "period 2 and period 3": lambda: (_pattern(size, 2), _pattern(size, 3)),
        "period 7, 1 % edits": lambda: _edited(_pattern(size, 7), 7),
        "unrelated, 200 distinct": lambda: (_values(size, 200), _values(size, 200, seed=2)),
        "shuffled": lambda: _shuffled(_values(size, 2**62)),
    }


def _values(size: int, distinct: int, seed: int = 1) -> array[int]:
    made = random.Random(seed)
    return array("q", (made.randrange(distinct) for _ in range(size)))


def _pattern(size: int, period: int) -> array[int]:
    return array("q", (place % period for place in range(size)))


def _edited(values: array[int], distinct: int) -> Pair:
    """One value in a hundred is removed, replaced or followed by another."""
    made = random.Random(3)
    other = array("q")
    for value in values:
        change = made.choice("-~+") if made.random() < 0.01 else "="
        if change in "=+":
            other.append(value)
        if change in "~+":
            other.append(made.randrange(distinct))
    return values, other


def _moved(values: array[int]) -> Pair:
    third = len(values) // 3
    return values, values[third : 2 * third] + values[:third] + values[2 * third :]


def _shuffled(values: array[int]) -> Pair:
    return values, array("q", random.Random(4).sample(values, len(values)))


def _peak() -> float:
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(name: str, size: int) -> None:
    """Print what aligning one pair costs."""
    left, right = pairs(size)[name]()
    inputs, started = _peak(), time.process_time()
    runs = align(left, right)
    aligned = time.process_time()
    moved(left, right, runs)
    ended = time.process_time()
    matched = sum(run.length for run in runs)
    print(aligned - started, ended - aligned, matched, _peak() - inputs)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
