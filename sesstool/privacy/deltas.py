"""Text that streamed in pieces, one a record: a value can begin in one and end in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from sesstool.privacy.fields import leaves
from sesstool.privacy.rewrite import Place, edited
from sesstool.privacy.scan import Hit
from sesstool.records.heal import decode_any
from sesstool.records.lines import Line

# What holds the piece, below or as the member `delta`.
_TEXTS = frozenset({"delta", "text", "content", "partial_json", "arguments", "thinking"})
# What counts the pieces, and so differs from one to the next.
_COUNTS = frozenset({"event_id", "logprobs", "ordinal", "sequence_number", "timestamp", "uuid"})
# Pieces of one text that are looked at together, at most.
_RUN = 4096


class _Piece(NamedTuple):
    """A line, and where its piece of a text lies; `key` is the same for pieces of one text."""

    line: Line
    key: object
    start: int
    end: int


def mended(
    lines: Iterable[Line],
    scan: Callable[[bytes], list[Hit]],
    stand_in: Callable[[Hit], bytes],
) -> Iterator[tuple[Line, bytes, list[Place]]]:
    """Each line with its text as it is to be, and the places where values crossed pieces.

    `scan` finds values in the inside of a JSON string. The stand-in stands in the first piece.
    """
    for key, group in groupby(map(_piece, lines), lambda piece: piece.key):
        if key is None:
            for piece in group:
                yield piece.line, piece.line.text, []
            continue
        run: list[_Piece] = []
        for piece in group:
            run.append(piece)
            if len(run) == _RUN:
                yield from _joined(run, scan, stand_in)
                run = []
        yield from _joined(run, scan, stand_in)


def piece(line: bytes) -> bool:
    """Whether a line may be a piece of a streamed text."""
    return b'delta"' in line


def _joined(
    run: list[_Piece], scan: Callable[[bytes], list[Hit]], stand_in: Callable[[Hit], bytes]
) -> Iterator[tuple[Line, bytes, list[Place]]]:
    text = b"".join(piece.line.text[piece.start : piece.end] for piece in run)
    hits = scan(text) if len(run) > 1 else []
    at = 0
    for piece in run:
        size = piece.end - piece.start
        changes, places = [], []
        for hit in hits:
            inside = at <= hit.start and hit.end <= at + size
            if inside or hit.end <= at or at + size <= hit.start:
                continue
            first = at <= hit.start
            start = piece.start + max(hit.start - at, 0)
            end = piece.start + min(hit.end - at, size)
            changes.append((start, end, stand_in(hit) if first else b""))
            if first:
                places.append(Place(hit, start, end, "", "replaced"))
        yield piece.line, edited(piece.line.text, changes) if changes else piece.line.text, places
        at += size


def _piece(line: Line) -> _Piece:
    """What a line is: a piece of a streamed text, or (its key None) anything else."""
    none = _Piece(line, None, 0, 0)
    if not piece(line.text):
        return none
    try:
        decode_any(line.text)
    except ValueError:
        return none
    spans, names = [], []
    for leaf in leaves(line.text):
        path = leaf.path
        if leaf.kind == "string" and "delta" in path[-2:] and path[-1] in _TEXTS:
            spans.append((leaf.start, leaf.end))
        elif leaf.kind != "key" and not _COUNTS.intersection(map(str, path)):
            names.append((path, line.text[leaf.start : leaf.end]))
    return _Piece(line, tuple(names), *spans[0]) if len(spans) == 1 else none
