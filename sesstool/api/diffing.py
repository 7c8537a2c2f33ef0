"""Comparing sessions, or the branches of one. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.diff.compare import FACTS, Comparison, Kind, compare
from sesstool.diff.sides import Name, Side, name_of
from sesstool.diff.world import World, world
from sesstool.errors import AuthError, UsageError
from sesstool.model.session import open_session
from sesstool.model.ways import Leaf, leaves
from sesstool.records.opening import open_source

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

__all__ = [
    "FACTS",
    "Comparison",
    "Kind",
    "Leaf",
    "Name",
    "World",
    "branches",
    "diff",
    "name_of",
    "world",
]


@contextmanager
def diff(
    left: Name,
    right: Name,
    base: Name | None = None,
    *,
    told: frozenset[str] = frozenset(),
    keys: Keys | None = None,
) -> Iterator[Comparison]:
    """Compare two sides; their files are open as long as the block lasts.

    `base` is their common ancestor; where none is given it is looked for where both sides tell
    the same. `told` are the FACTS of the envelopes that are a difference. Raises InputError,
    NotASessionError, and UsageError for a leaf that is none.
    """
    known = [Path(name.path) for name in (left, right, base) if name and str(name.path) != "-"]
    with ExitStack() as stack:
        one = stack.enter_context(Side(left, known=known, keys=keys))
        other = stack.enter_context(Side(right, known=known, keys=keys))
        found = base or ancestor(one, other)
        common = None
        try:
            common = stack.enter_context(Side(found, known=known, keys=keys)) if found else None
        except AuthError:
            if base is not None:  # nobody asked for one that was only found
                raise
        yield compare(one, other, common, told=told)


def ancestor(left: Side, right: Side) -> Name | None:
    """The session that both sides say they were copied from, where its file is near them."""
    ours, theirs = left.origin, right.origin
    if ours is None or theirs is None or not ours.session or ours.session != theirs.session:
        return None
    path = left.parent() or right.parent()
    if path is None or any(_same(path, side.name.path) for side in (left, right)):
        return None
    return Name(path)


def _same(path: Path, other: Path | str) -> bool:
    return str(other) != "-" and os.path.exists(other) and path.samefile(other)  # noqa: PTH110 - may raise


def branches(path: Path | str, keys: Keys | None = None) -> list[Leaf]:
    """The leaves of a session: the live one first, then those last written first.

    Raises InputError, NotASessionError, and UsageError where the format knows no branches.
    """
    with open_source(path, keys) as source:
        session = open_session(source)
        for _ in session.read():
            pass
        if session.graph is None:
            raise UsageError(
                f"{path} is of {session.format.title}, which keeps no branches in a file",
                hint="name the two files: sesstool diff A B",
            )
        return list(leaves(session, session.graph))
