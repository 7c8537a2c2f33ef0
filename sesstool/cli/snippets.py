"""The records that findings are in, read for a report's snippets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.findings import Finding
from sesstool.records.opening import open_source
from sesstool.records.source import FileSource
from sesstool.report.base import Excerpt, Snippet

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

# How far from a place its line is looked at, in bytes.
_AROUND = 1 << 16


@contextmanager
def snippets(path: Path | str, keys: Keys | None = None) -> Iterator[Snippet]:
    """A function that reads the line of a finding; standard input cannot be read again.

    The file is opened where it is first asked for, and once: it may have to be decompressed.
    """
    with ExitStack() as stack:
        yield _Lines(path, stack, keys).excerpt


class _Lines:
    """Reads the lines of one file. The head of the last is kept for the findings that share it."""

    def __init__(self, path: Path | str, stack: ExitStack, keys: Keys | None) -> None:
        self._path = path
        self._keys = keys
        self._stack = stack
        self._source: FileSource | None = None
        self._last: Excerpt | None = None

    def excerpt(self, finding: Finding) -> Excerpt | None:
        at = finding.location.start
        if finding.location.line == 0 or str(self._path) == "-":
            return None
        last = self._last
        if last and last.offset <= at <= last.offset + min(len(last.raw), _AROUND):
            return last
        if self._source is None:
            self._source = self._stack.enter_context(open_source(self._path, self._keys))
        start = max(at - _AROUND, 0)
        newline = self._source.read(start, at).rfind(b"\n")
        headless = start > 0 and newline < 0
        start = at if headless else start + newline + 1
        raw = self._source.read(start, start + 2 * _AROUND).partition(b"\n")[0]
        found = Excerpt(raw, start, headless)
        self._last = None if headless else found
        return found
