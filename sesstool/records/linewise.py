"""Edits that put a whole line in or take a record out.

A piece that a repair leaves alone may stand on a record's line, and the last line may lack its
LF: what is put in gets a line of its own all the same.
"""

from __future__ import annotations

from sesstool.records.edits import Edit
from sesstool.records.source import Source

_STEP = 1 << 12


def put_behind(source: Source, at: int, record: bytes) -> Edit:
    """Write a record behind the line that byte `at` ends or stands on."""
    while chunk := source.read(at, at + _STEP):
        found = chunk.find(b"\n")
        if found >= 0:
            return Edit(at + found + 1, at + found + 1, record + b"\n", content=True)
        at += len(chunk)
    # Nothing ends the last line; the new one takes its place, also in that.
    text = record + b"\n" if _begins_line(source, at) else b"\n" + record
    return Edit(at, at, text, content=True)


def put_before(source: Source, at: int, record: bytes) -> Edit:
    """Write a record before the line that byte `at` stands on."""
    while not _begins_line(source, at):
        back = max(at - _STEP, 0)
        at = back + source.read(back, at).rfind(b"\n") + 1
    return Edit(at, at, record + b"\n", content=True)


def take_out(source: Source, start: int, end: int) -> Edit:
    """Cut a record, with its line where it has one to itself."""
    alone = _begins_line(source, start) and source.read(end, end + 1) == b"\n"
    return Edit(start, end + alone)


def _begins_line(source: Source, at: int) -> bool:
    return at == 0 or source.read(at - 1, at) == b"\n"
