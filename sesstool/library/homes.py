"""Where the agents keep sessions on this computer: where is looked, and what is found."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sesstool.formats.registry import FORMATS
from sesstool.library.discover import discover


class Place(NamedTuple):
    """A folder or a database of an agent.

    `sessions` and `parts` count files, or rows of a database, `size` their bytes on disk. `trouble`
    says in a few words what cannot be read there.
    """

    path: Path
    there: bool
    sessions: int = 0
    parts: int = 0
    size: int = 0
    trouble: str = ""


class Home(NamedTuple):
    """An agent's places. `variables` are those of the environment that move them, with values.

    A value is "" where the variable is not set.
    """

    format: str
    title: str
    variables: tuple[tuple[str, str], ...]
    places: tuple[Place, ...]

    @property
    def is_meant(self) -> bool:
        """Whether it has a place here, or a variable of its own sets one, perhaps mistaken."""
        mine = (value for name, value in self.variables if not name.startswith("XDG_"))
        return any(place.there for place in self.places) or any(mine)


def homes(environment: Mapping[str, str] = os.environ) -> list[Home]:
    """Look where the agents keep sessions; those that keep none in a place of their own are out."""
    found = []
    for form in FORMATS:
        paths = list(dict.fromkeys([*form.folders(), *form.databases()]))
        if paths:
            variables = tuple((name, environment.get(name, "")) for name in form.variables)
            places = tuple(_place(path) for path in paths)
            found.append(Home(form.name, form.title, variables, places))
    return found


def _place(path: Path) -> Place:
    if not os.path.lexists(path):
        return Place(path, there=False)
    sessions = parts = size = 0
    troubles: list[str] = []
    for item in discover([path]):
        if item.trouble:
            troubles.append(item.trouble)
            continue
        parts += item.is_part
        sessions += not item.is_part
        size += item.size
    there = True
    return Place(path, there, sessions, parts, size, _first(troubles))


def _first(troubles: Iterable[str]) -> str:
    first, *more = [*troubles, ""]
    return f"{first}, and {len(more) - 1} more" if len(more) > 1 else first
