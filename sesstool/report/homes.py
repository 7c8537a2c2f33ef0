"""Where the agents keep sessions: as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sesstool.library.homes import Home, Place
from sesstool.report.amounts import counted, size
from sesstool.report.listing import home_relative
from sesstool.text import safe


def to_text(found: Iterable[Home]) -> str:
    """One agent after the other: its places with what they hold, and what moves them."""
    return "\n".join("".join(_home(one)) for one in found)


def to_json(found: Iterable[Home]) -> str:
    """The same as one document; see schemas/output/homes.schema.json."""
    value = {"schema_version": 1, "agents": [_value(one) for one in found]}
    return json.dumps(value, indent=2) + "\n"


def summary(found: Iterable[Home]) -> str:
    """How many agents have sessions here, in one line."""
    homes = list(found)
    with_some = [one for one in homes if any(place.sessions for place in one.places)]
    total = sum(place.sessions for one in homes for place in one.places)
    told = f"{counted(total, 'session')} of {counted(len(with_some), 'agent')} here"
    return f"{told}; {len(homes)} agents were looked for"


def _home(one: Home) -> Iterator[str]:
    yield f"{safe(one.title)} ({one.format})\n"
    for place in one.places:
        yield f"  {home_relative(str(place.path))}: {_held(place)}\n"
        if place.trouble:
            yield f"    {safe(place.trouble)}\n"
    for name, value in one.variables:
        yield f"  {name}: {f'set to {home_relative(value)}' if value else 'not set'}\n"


def _held(place: Place) -> str:
    if not place.there:
        return "not there"
    parts = f" and {counted(place.parts, 'part')} of them" if place.parts else ""
    return f"{counted(place.sessions, 'session')}{parts}, {size(place.size)}"


def _value(one: Home) -> dict[str, Any]:
    return {
        "agent": one.format,
        "title": one.title,
        "variables": [{"name": name, "value": value or None} for name, value in one.variables],
        "places": [
            {
                "path": str(place.path),
                "there": place.there,
                "sessions": place.sessions,
                "parts": place.parts,
                "bytes": place.size,
                "trouble": place.trouble or None,
            }
            for place in one.places
        ],
    }
