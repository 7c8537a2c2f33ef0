"""A comparison as one JSON document, which holds all of both sides that is not equal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sesstool.diff.compare import Change, Comparison
from sesstool.diff.sides import Side
from sesstool.diff.world import Done, world
from sesstool.model.units import canonical
from sesstool.report.difference import Part, changed_parts
from sesstool.version import __version__

SCHEMA_VERSION = 1


def document(comparison: Comparison, *, effects: bool) -> Iterator[bytes]:
    """The document that `schemas/output/diff.schema.json` describes, in parts."""
    left, right = comparison.left, comparison.right
    one, other = comparison.fork
    head: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": "sesstool",
        "version": __version__,
        "left": _side(left),
        "right": _side(right),
        "lineage": comparison.lineage,
        "differs": comparison.differs,
        "fork": None if one < 0 else {"left": _place(left, one), "right": _place(right, other)},
        "counts": comparison.counts,
    }
    if effects:
        found = world(comparison)
        head["effects"] = {
            "left": _calls(found.left),
            "right": _calls(found.right),
            "both": list(found.both),
            "inherited": _calls(found.inherited),
        }
    yield json.dumps(head)[:-1].encode() + b', "changes": ['
    between = b"\n"
    for change in comparison.changes:
        yield between
        yield from _change(comparison, change)
        between = b",\n"
    yield b"\n]}\n"


def _side(side: Side) -> dict[str, Any]:
    origin = side.origin
    return {
        "path": str(side.name.path),
        "leaf": side.name.leaf or None,
        "format": side.format.name,
        "session": side.session or None,
        "origin": None if origin is None else {"session": origin.session, "mode": origin.mode},
        "damaged": side.damaged,
        "missing": side.missing or None,
        "records": side.records,
        "units": len(side),
    }


def _change(comparison: Comparison, change: Change) -> Iterator[bytes]:
    """A change, unit by unit: one side can have all of its units in one."""
    about: dict[str, Any] = {"kind": change.kind}
    if change.kind == "moved":
        about["elsewhere"] = change.elsewhere
    if change.kind == "changed":
        parts = changed_parts(comparison, change.left, change.right)
        about["parts"] = [_part(part) for part in parts]
    yield json.dumps(about)[:-1].encode()
    for name, side, first, end in (
        ("left", comparison.left, change.left, change.left_end),
        ("right", comparison.right, change.right, change.right_end),
    ):
        yield f', "{name}": {{"first": {first}, "count": {end - first}'.encode()
        if change.kind != "equal":
            yield b', "units": ['
            for n in range(first, end):
                yield b", " * (n > first) + _unit(comparison, side, n)
            yield b"]"
        yield b"}"
    yield b"}"


def _place(side: Side, number: int) -> dict[str, Any]:
    return {
        "unit": number,
        "file": side.file(number),
        "line": side.line(number),
        "id": side.about(number).id or None,
    }


def _unit(comparison: Comparison, side: Side, number: int) -> bytes:
    unit = side.unit(number)
    out = _place(side, number) | {
        "kind": unit.kind,
        "name": unit.name or None,
        "call": unit.id or None,
        "error": unit.error,
        "pointer": unit.pointer,
    }
    if comparison.based is not None:
        out["in_base"] = bool(comparison.based[side is comparison.right][number])
    # What was said may be nested too deep for `json`.
    return json.dumps(out)[:-1].encode() + b', "content": ' + canonical(unit.content) + b"}"


def _part(part: Part) -> dict[str, Any]:
    pieces = [{"sign": piece.sign, "text": piece.text} for piece in part.pieces]
    return {"name": part.name, "pieces": pieces}


def _calls(calls: Iterable[Done]) -> list[dict[str, Any]]:
    return [
        {
            "unit": done.unit,
            "line": done.line,
            "tool": done.tool,
            "effects": [effect._asdict() for effect in done.effects],
        }
        for done in calls
    ]
