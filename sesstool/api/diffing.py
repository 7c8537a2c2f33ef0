"""Comparing sessions, or the branches of one. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool.diff.compare import FACTS, Comparison, Kind, compare, retold
from sesstool.diff.sides import Name, Side, name_of, origin_of, parent_of
from sesstool.diff.world import World, world
from sesstool.errors import AuthError, SesstoolError, UsageError
from sesstool.formats.terms import Origin
from sesstool.model.session import Session, open_session
from sesstool.model.ways import Leaf, leaves
from sesstool.records.opening import open_source
from sesstool.records.recover import records
from sesstool.records.source import is_transcript, plain_path

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

# So many records at the beginning tell what a session has to do with another.
_HEAD = 64

__all__ = [
    "FACTS",
    "Comparison",
    "Kind",
    "Leaf",
    "Name",
    "Pair",
    "World",
    "branches",
    "diff",
    "name_of",
    "related",
    "retold",
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


class Pair(NamedTuple):
    """Two sides that are worth comparing, and in a few words why."""

    left: Name
    right: Name
    why: str


def related(path: Path, keys: Keys | None = None, most: int = 20) -> list[Pair]:
    """What a session is worth to be compared with, at most so many of a kind.

    Its own branches, the session that it was forked from, and those in its folder that were
    forked from it, or from the same one, or begin with the same records. Raises InputError and
    NotASessionError.
    """
    with open_source(path, keys) as source:
        session = open_session(source)
        for _ in session.read():
            pass
        found = list(islice(_branches(path, session), most))
        ours = _start(session)
        origin = ours.origin
        parent = parent_of(session, origin, (), keys) if origin is not None else None
    if parent is not None and not _same(parent, path):
        found.append(Pair(Name(parent), Name(path), "the session it was forked from"))
    forks = []
    for other in sorted(filter(is_transcript, path.parent.glob("*.jsonl*"))):
        if other == path or (parent is not None and _same(parent, other)):
            continue
        theirs = _start_of(other, keys)
        if theirs is not None and (why := _kin(ours, theirs)):
            forks.append(Pair(Name(path), Name(other), why))
    return found + forks[:most]


class _Start(NamedTuple):
    """What the head of a session tells: its ids, those of its records, where it comes from."""

    names: frozenset[str]
    records: frozenset[str]
    origin: Origin | None


def _start(session: Session) -> _Start:
    head = [r.value for r in islice(records(session.source), _HEAD) if r.value is not None]
    meanings = [session.format.meaning(value) for value in head]
    path = session.source.path
    names = {meaning.session for meaning in meanings[:1]} | {session.id}
    if path is not None:
        names.add(session.format.session_id(plain_path(path)))
    known = frozenset(meaning.id for meaning in meanings) - {""}
    return _Start(frozenset(names - {""}), known, origin_of(session))


def _start_of(path: Path, keys: Keys | None) -> _Start | None:
    """What the head of a file tells; None where it cannot be read: who opens it is told why."""
    try:
        with open_source(path, keys) as source:
            return _start(open_session(source))
    except SesstoolError:
        return None


def _kin(ours: _Start, theirs: _Start) -> str:
    """What another session is to this one, "" where nothing is known of it."""
    if theirs.origin is not None and theirs.origin.session in ours.names:
        return "a fork of it"
    if ours.origin is not None and theirs.origin is not None:
        return "a fork of the same session" if ours.origin.session == theirs.origin.session else ""
    return "begins with the same records" if ours.records & theirs.records else ""


def _branches(path: Path, session: Session) -> Iterator[Pair]:
    if session.graph is None:
        return
    found = leaves(session, session.graph)
    live = next(found, None)
    for leaf in found:
        assert live is not None
        ours, theirs = Name(path, str(live.line)), Name(path, str(leaf.line))
        yield Pair(ours, theirs, f"its branch to line {leaf.line}")


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
