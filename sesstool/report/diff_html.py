"""A comparison as one HTML page that needs nothing else: no script, no other file, no network."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.diff.compare import Comparison
from sesstool.diff.sides import Side
from sesstool.diff.words import Piece
from sesstool.diff.world import Done, world
from sesstool.model.passages import title
from sesstool.records.write import create
from sesstool.report.amounts import count
from sesstool.report.difference import (
    Cell,
    Fold,
    Fork,
    Row,
    Rows,
    Shown,
    Sign,
    behind_fork,
    not_compared,
    outline,
    tally,
    without_blobs,
)
from sesstool.text import elide, safe
from sesstool.version import __version__

# So much of a text fills about one line of a column, and so many of these are shown of a text, or
# of what is equal before and behind a change in one. Folds of fewer would save no room.
_LINE = re.compile(r"[^\n]{0,99}\n|[^\n]{1,100}\Z|[^\n]{0,99} |[^\n]{1,100}")
_SHOWN, _NEAR, _FOLDED = 16, 3, 4
# Of more differences nobody reads a list; each leads to the next all the same.
_LISTED = 1000
_WORDS: dict[Sign, str] = {
    "=": "the same on both sides",
    "-": "on the left only",
    "+": "on the right only",
    "~": "changed",
    "<": "moved, here on the left",
    ">": "moved, here on the right",
}
_NOUNS = {
    "message": "messages",
    "thinking": "thinking",
    "call": "tool calls",
    "result": "tool results",
    "compaction": "compactions",
    "rollback": "turns rolled back",
    "unknown": "other records",
}


class Block(NamedTuple):
    """A stretch of a text; `label` tells how much of it is folded, "" where it is not.

    `changed` says that what is folded is, or is in, a difference.
    """

    label: str
    changed: bool
    pieces: list[Piece]


def page(comparison: Comparison, context: int = 2) -> Iterator[str]:
    """The page, in parts; `context` equal units are shown around differences."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - start-up time

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters |= {
        "count": count,
        "elide": elide,
        "blocks": lambda text: list(_blocks([Piece("=", text)], changed=False)),
    }
    template = resources.files("sesstool.report").joinpath("difference.html.j2").read_text("utf-8")
    total = sum(1 for _ in outline(comparison))
    table = [(_NOUNS[kind], found) for kind, found in tally(comparison)]
    return environment.from_string(template).generate(
        version=__version__,
        sides=[_side("-", "left", comparison.left), _side("+", "right", comparison.right)],
        lineage=comparison.lineage,
        shared=comparison.fork[0] + 1,
        fork=_lines(comparison, *comparison.fork) if behind_fork(comparison) else None,
        based=comparison.based is not None,
        total=total,
        words=_WORDS,
        table=table,
        every=sum((found for _, found in table), Counter[str]()),
        world=_world(comparison),
        listed=islice(_listed(comparison), _LISTED),
        more=max(total - _LISTED, 0),
        rows=map(_row, Rows(comparison, context)),
        heading=_heading,
        place=_place,
    )


def save(target: Path, comparison: Comparison, context: int = 2) -> None:
    """Write the page to a new file. Raises WriteError, also where it exists."""
    create(target, (part.encode() for part in page(comparison, context)))


def _side(sign: Sign, name: str, side: Side) -> dict[str, Any]:
    return {
        "sign": sign,
        "name": name,
        "path": str(side.name),
        "agent": f"{side.format.title} {side.version}".rstrip(),
        "session": side.session or "no id",
        "cwd": side.cwd,
        "records": side.records,
        "units": len(side),
        "gaps": list(not_compared(side)),
    }


def _lines(comparison: Comparison, one: int, other: int) -> tuple[int, int]:
    return comparison.left.line(one), comparison.right.line(other)


def _world(comparison: Comparison) -> dict[str, Any]:
    found = world(comparison)
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    for number, (_, one, other) in enumerate(outline(comparison), 1):
        if one is not None:
            left[one] = number
        if other is not None:
            right[other] = number
    return {
        "calls": [
            ("Left, behind the fork", _calls(found.left, left)),
            ("Right, behind the fork", _calls(found.right, right)),
            ("From before the fork: done once, known to both", _calls(found.inherited, {})),
        ],
        "both": found.both,
    }


def _calls(calls: Iterable[Done], places: dict[int, int]) -> list[dict[str, Any]]:
    return [{"number": places.get(done.unit, 0)} | done._asdict() for done in calls]


def _listed(comparison: Comparison) -> Iterator[Row]:
    """The differences without what they say, which takes time to compare."""
    for number, (sign, one, other) in enumerate(outline(comparison), 1):
        yield Row(sign, _named(comparison.left, one), _named(comparison.right, other), number)


def _named(side: Side, unit: int | None) -> Cell | None:
    return None if unit is None else Cell(side.line(unit), title(side.unit(unit)))


def _heading(row: Row) -> str:
    """What a row is about: what the unit is, on both sides where they are not the same."""
    return " → ".join(dict.fromkeys(safe(cell.title) for cell in row[1:3] if cell))


def _place(row: Row) -> str:
    left, right = row.left, row.right
    if left and right:
        return f"lines {left.line} | {right.line}"
    cell = left or right
    return f"line {cell.line}" if cell else ""


def _row(row: Shown) -> dict[str, Any]:
    if isinstance(row, Fork):
        return {"what": "fork"}
    if isinstance(row, Fold):
        return {"what": "fold", "size": row.size}
    assert isinstance(row, Row)  # the page holds all that differs
    equal = row.sign == "="
    cells = (("left", "-", row.left), ("right", "+", None if equal else row.right))
    return {
        "what": "equal" if equal else "difference",
        "row": row,
        "cells": [_cell(name, sign, row.sign, cell) for name, sign, cell in cells if cell],
    }


def _cell(name: str, side: str, sign: Sign, cell: Cell) -> dict[str, Any]:
    """A unit; of what changed each side has its own pieces, and those of both."""
    keep = ("=", side) if sign == "~" else "="
    parts = [(part.name, [p for p in part.pieces if p.sign in keep]) for part in cell.parts]
    return {
        "side": name,
        "sign": side if sign == "~" else sign,
        "line": cell.line,
        "note": cell.note,
        "parts": [
            {"name": part, "blocks": list(_blocks(pieces, changed=sign in "-+"))}
            for part, pieces in parts
        ],
    }


def _blocks(pieces: list[Piece], *, changed: bool) -> Iterator[Block]:
    """A text, with what is too long in it folded: what is equal around changes, else its end.

    `changed` says that all of it is a difference.
    """
    lines = _split(Piece(piece.sign, without_blobs(piece.text)) for piece in pieces)
    runs = [(differs, list(run)) for differs, run in groupby(lines, _differs)]
    shown: list[list[Piece]] = []
    for n, (differs, run) in enumerate(runs):
        around = not differs and len(runs) > 1
        head, tail = _SHOWN, 0
        if around:
            head, tail = _NEAR * (n > 0), _NEAR * (n + 1 < len(runs))
        end = len(run) - tail
        if end - head < _FOLDED:
            shown += run
            continue
        if shown := shown + run[:head]:
            yield _block("", shown)
        label = _size(run[head:end], "equal" if around else "more")
        yield _block(label, run[head:end], changed=changed or differs)
        shown = run[end:]
    if shown:
        yield _block("", shown)


def _differs(line: list[Piece]) -> bool:
    return any(piece.sign != "=" for piece in line)


def _size(lines: list[list[Piece]], word: str) -> str:
    text = "".join(piece.text for line in lines for piece in line)
    if "\n" in text:
        return count(len(text.removesuffix("\n").split("\n")), f"{word} line")
    return count(len(text), f"{word} character")


def _split(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Pieces as lines, long ones cut."""
    line: list[Piece] = []
    size = 0
    for piece in pieces:
        for text in _LINE.findall(piece.text):
            line.append(Piece(piece.sign, text))
            size += len(text)
            if text.endswith("\n") or size >= 100:
                yield line
                line, size = [], 0
    if line:
        yield line


def _block(label: str, lines: list[list[Piece]], *, changed: bool = False) -> Block:
    """Lines as few pieces; in what changed tabs are made visible, and newlines alone."""
    pieces = []
    for sign, run in groupby(chain.from_iterable(lines), lambda piece: piece.sign):
        text = "".join(piece.text for piece in run)
        if sign != "=":
            text = text.replace("\t", "␉\t")
            text = text.replace("\n", "␊\n") if text.isspace() else text
        pieces.append(Piece(sign, text))
    return Block(label, changed, pieces)


def _finalize(value: Any) -> Any:
    """All that comes into the page from outside is made safe to show; newlines and tabs stay."""
    return re.sub(r"[^\n\t]+", lambda found: safe(found[0]), value) if type(value) is str else value
