"""Asks an index in $XDG_CACHE_HOME for a word: milliseconds of the call as JSON, after the imports.

`query` is the median of the times that the index alone takes, `hits` how many rows it names.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

from sesstool.caches.folder import words_path
from sesstool.caches.words import Words

_RUNS = 20


def main(match: str) -> None:
    """Print the costs."""
    times, hits = [], 0
    for _ in range(_RUNS):
        began = time.perf_counter()
        with Words(words_path()) as words:
            hits = sum(1 for _ in words.find(match))
        times.append((time.perf_counter() - began) * 1e3)
    print(json.dumps({"query": median(times), "hits": hits}))


if __name__ == "__main__":
    main(sys.argv[1])
