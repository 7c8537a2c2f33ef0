"""Sessions as pages, texts and recordings.

`WRITERS` is the one table of what a session can be exported to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sesstool.export.sections import Choice, Reading

WRITERS = {
    "html": "sesstool.export.html:page",
    "md": "sesstool.export.markdown:document",
    "json": "sesstool.export.json:document",
}
"""Name → `module:function`, which is imported when it is asked for."""


def writer(name: str) -> Callable[[Reading, Choice], Iterator[str]]:
    """The function that writes a session, part by part."""
    module, _, function = WRITERS[name].partition(":")
    found: Callable[[Reading, Choice], Iterator[str]] = getattr(import_module(module), function)
    return found
