"""Sessions as pages, texts and recordings.

`WRITERS` is the one table of what a session can be exported to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
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


def run_page(
    session: Path | str, trace: Path | str | None = None, format_name: str = ""
) -> Iterator[str]:
    """A page about a run, part by part: the session, and how its calls and its loop went.

    `trace` is what a recorder wrote beside it: it tells what the model used, and all of the run
    where the session's format holds messages alone. Raises InputError and NotASessionError.
    """
    from sesstool.export import html  # noqa: PLC0415 - see WRITERS
    from sesstool.export.sections import Reading  # noqa: PLC0415 - the same
    from sesstool.records.opening import open_source  # noqa: PLC0415 - the same

    with open_source(Path(session)) as source:
        reading = Reading(source, format_name, name=Path(session).name)
        if trace is not None:
            reading.trace(Path(trace))
        yield from html.page(reading)
