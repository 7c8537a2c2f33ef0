"""The records that findings are in, read for a report's snippets."""

from __future__ import annotations

from pathlib import Path

from sesstool.findings import Finding
from sesstool.records.source import open_source
from sesstool.report.base import Snippet

# What a snippet shows around a place, in bytes.
_AROUND = 1 << 16


def snippets(path: Path | str) -> Snippet:
    """A function that reads the line of a finding; standard input cannot be read again."""

    def snippet(finding: Finding) -> tuple[bytes, int] | None:
        where = finding.location
        if where.line == 0 or str(path) == "-":
            return None
        with open_source(path) as source:
            start = max(where.start - _AROUND, 0)
            data = source.read(start, where.start + _AROUND)
        before = data.rfind(b"\n", 0, where.start - start) + 1
        after = data.find(b"\n", where.start - start)
        return data[before : after if after >= 0 else len(data)], start + before

    return snippet
