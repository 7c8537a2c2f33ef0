"""Lists the sessions below a folder and shows a page of them: costs as JSON, after the imports.

Times are CPU seconds, `memory` the growth of the greatest resident size in MB, `walk` what
os.walk and os.stat take for the same files.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time

from sesstool.api.listing import Glances, sessions

_PAGE = 36


def _peak() -> float:
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(folder: str) -> None:
    """Print the costs."""
    before, began = _peak(), time.process_time()
    items = list(sessions([folder]))
    listed, memory = time.process_time() - began, _peak() - before
    began = time.process_time()
    Glances().page(sorted(items, key=lambda item: -item.mtime)[:_PAGE])
    page = time.process_time() - began
    began = time.process_time()
    for above, _, files in os.walk(folder):
        for name in files:
            os.stat(os.path.join(above, name))  # noqa: PTH116, PTH118 - what the list does, bare
    walk = time.process_time() - began
    costs = {"count": len(items), "list": listed, "memory": memory, "page": page, "walk": walk}
    print(json.dumps(costs))


if __name__ == "__main__":
    main(sys.argv[1])
