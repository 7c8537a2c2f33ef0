"""Finds the groups: which files belong to which session, how old it is, and what hangs on it.

Of each session only the beginning and the end are read.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool.errors import AuthError, InputError, NotASessionError
from sesstool.formats.base import Format, Origin
from sesstool.formats.registry import Homes, detect, is_likely
from sesstool.records.heal import decode_any
from sesstool.records.lines import lines
from sesstool.records.opening import open_source
from sesstool.records.source import Source, bare_path, unreadable
from sesstool.retention.groups import Contains, Group, Piece

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_END = 1 << 13
_UUID = re.compile(rb'"uuid": ?"([^"\\]+)"')
_NO_SESSION = "format unknown: never touched"
_LINK = "a symbolic link: never followed"


@dataclass(slots=True)
class _Found:
    """A file under way to a group. `root` is the home that it lies in, or its folder.

    `owner` is the id of the session that it is a piece of, or of a record in it, "" where it is a
    session; `first` the id of its first record.
    """

    group: Group
    root: Path = Path()
    owner: str = ""
    origin: Origin | None = None
    first: str = ""


def survey(
    paths: Iterable[Path],
    *,
    asked: Iterable[Path] | None = None,
    keys: Keys | None = None,
    codes: Contains | None = None,
) -> list[Group]:
    """The groups of the sessions among some files, in the order of their paths.

    Files that belong to a session are no groups of their own. `asked` are the files that the user
    means, None for all: the others are looked at for what hangs on them. `codes` is asked for what
    a group contains.
    """
    wanted = None if asked is None else {bare_path(path) for path in asked}
    homes = Homes()
    found: dict[Path, _Found] = {}
    taken: set[Path] = set()
    # A session stands above what belongs to it, which need not be opened by itself.
    for path in sorted(set(paths), key=lambda one: (len(one.parts), one)):
        if path in taken:
            continue
        twin = found.get(bare_path(path))
        if twin is not None:
            _add(twin.group, path)
            continue
        one = _look(path, keys, homes)
        if one is not None:
            taken.update(piece.path for piece in one.group.pieces[1:])
            found[bare_path(path)] = one
    _join(found)
    groups = sorted((one.group for one in found.values()), key=lambda group: group.path)
    for group in groups:
        group.codes = codes
        group.asked = wanted is None or any(bare_path(p.path) in wanted for p in group.pieces)
    return groups


def _look(path: Path, keys: Keys | None, homes: Homes) -> _Found | None:
    """What the ends of a file tell; None where there is no file."""
    try:
        now = path.lstat()
        if stat.S_ISDIR(now.st_mode):  # one that cannot be listed, or no session for its name
            os.scandir(path).close()
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = f"unreadable: {unreadable('look at', path, error).message}"
        return _Found(Group(None, (Piece(path, 0, 0, 0, 0),), untouched=why))
    piece = Piece.of(path, now)
    if path.is_symlink():
        return _Found(Group(None, (piece,), untouched=_LINK))
    plain = bare_path(path)
    values: list[dict[str, Any]] = []
    blind = ""
    try:
        values = _ends(path, keys)
    except AuthError:
        blind = "it is encrypted, and no key was given that opens it (-i KEYFILE)"
    except InputError as error:
        blind = f"unreadable: {error.message.rpartition(': ')[2]}"
    at_home = homes.of(plain)
    form = _format(values, plain, at_home[0] if at_home else None)
    if form is None:
        return _Found(Group(None, (piece,), untouched=_NO_SESSION))
    group = Group(form, (piece,), form.session_id(plain), keys=keys)
    _take_pieces(group)
    if blind:
        group.blind = blind
    root = at_home[1] if at_home else plain.parent
    found = _told(_Found(group, root), form, values, plain)
    # It is as young as the youngest of its subagents.
    for piece in group.pieces[1:]:
        if ".jsonl" in piece.path.suffixes:
            with suppress(AuthError, InputError):  # what cannot be read has its file's time
                for value in _ends(piece.path, keys):
                    group.tell(value, own=False)
    return found


def _format(values: Sequence[dict[str, Any]], path: Path, at_home: Format | None) -> Format | None:
    """The format by the home that a file lies in, else by its records."""
    if at_home is not None and (not values or is_likely(at_home, values, path)):
        return at_home
    try:
        return detect(values, path, path.name)[0]
    except NotASessionError:
        return None


def _told(found: _Found, form: Format, values: Sequence[dict[str, Any]], path: Path) -> _Found:
    """Take in what the records at both ends tell."""
    group = found.group
    for value in values:
        told = group.tell(value, own=True)
        found.first = found.first or told.id
        found.origin = found.origin or form.origin(value)
    found.owner = form.owner(values, path)
    if found.owner in {form.meaning(value).session for value in values[-1:]}:
        group.session = form.session_id(path) or found.owner
    group.session = group.session or path.name.partition(".")[0]
    return found


def _take_pieces(group: Group) -> None:
    """Find the files of a session; one of which they cannot all be found is never touched."""
    assert group.form is not None
    try:
        group.pieces, group.links = _pieces(group.form, group.plain, group.pieces[0])
    except InputError as error:
        group.untouched = f"unreadable: {error.message}"


def _pieces(form: Format, plain: Path, own: Piece) -> tuple[tuple[Piece, ...], tuple[Path, ...]]:
    """The files of a session, its own first, and the links among them. Raises InputError."""
    # An index that several sessions share lies beside them.
    shared = {side.path for side in form.drawn(plain) if side.path.parent == plain.parent}
    pieces, links = {own.path: own}, []
    for part in form.places(plain):
        if part in shared or part in pieces:
            continue
        try:
            now = part.lstat()
        except FileNotFoundError:
            continue  # gone a moment ago
        except OSError as error:
            raise unreadable("look at", part, error) from error
        if part.is_symlink():
            links.append(part)
        else:
            pieces[part] = Piece.of(part, now)
    return tuple(pieces.values()), tuple(links)


def _add(group: Group, path: Path) -> None:
    """Take a twin of the session into its group; the plain one stands first."""
    known = {piece.path for piece in group.pieces}
    if path not in known:
        group.pieces = (*group.pieces, Piece.of(path, path.lstat()))


def _join(found: dict[Path, _Found]) -> None:
    """Put what a session owns into its group, and tell families and bases."""
    owners = {(one.root, one.group.session): one for one in found.values() if not one.owner}
    owned = {(one.root, one.group.session): one for one in found.values() if one.owner}
    titles = [
        one for one in owned.values() if (one.root, one.owner) not in owners.keys() | owned.keys()
    ]
    owners |= _holders(titles, owners.values())
    for key, one in list(found.items()):
        owner = one
        seen: set[str] = set()
        while owner.owner and owner.owner not in seen:  # a subagent may have one of its own
            seen.add(owner.owner)
            above = (owner.root, owner.owner)
            owner = owners.get(above) or owned.get(above) or owner
        if owner is not one and not owner.owner:
            owner.group.merge(one.group)
            del found[key]
    _rest(found)
    _relate(found.values())


def _rest(found: dict[Path, _Found]) -> None:
    """Make one group of what is left of a session whose own file the agent has deleted."""
    first: dict[tuple[Path, str], Group] = {}
    for key, one in list(found.items()):
        group, form = one.group, one.group.form
        if not one.owner or form is None or form.session_id(bare_path(group.file)):
            continue
        inside = next((f for f in group.file.parents if f.name == one.owner), group.file)
        place = inside.with_name(f"{one.owner}.jsonl")
        if form.session_id(place) != one.owner:
            continue
        if place in found:  # as a link to it, or as what is no session
            group.untouched = found[place].group.untouched
            continue
        if (above := first.setdefault((one.root, one.owner), group)) is not group:
            above.merge(group)
            del found[key]
            continue
        group.place = place
        _take_pieces(group)


def _holders(
    titles: Iterable[_Found], sessions: Iterable[_Found]
) -> dict[tuple[Path, str], _Found]:
    """The sessions that hold the records which titles in files of their own are for."""
    wanted: dict[Path, set[bytes]] = defaultdict(set)
    for one in titles:
        wanted[one.group.file.parent].add(one.owner.encode())
    holders: dict[tuple[Path, str], _Found] = {}
    for one in sessions:
        names = wanted.get(one.group.file.parent)
        if not names or one.group.form is None:
            continue
        try:
            with open_source(one.group.file, one.group.keys) as source:
                for _, _, line, _ in lines(source):
                    for name in names.intersection(_UUID.findall(line)):
                        holders[one.root, name.decode()] = one
        except (InputError, AuthError):
            continue  # what cannot be read owns nothing that can be told
    return holders


def _relate(found: Iterable[_Found]) -> None:
    """Name the family of copies that each group is of, and the one that it reads from."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    found = list(found)
    sizes: dict[str, int] = defaultdict(int)
    for one in found:
        session = f"{one.group.agent} {one.group.session}"
        if one.first:
            above[top(session)] = top(f"{one.group.agent} record {one.first}")
        if one.origin is not None and one.origin.mode == "copy":
            above[top(session)] = top(f"{one.group.agent} {one.origin.session}")
        if one.origin is not None and one.origin.mode == "reference":
            one.group.base = one.origin.session
    for one in found:
        sizes[top(f"{one.group.agent} {one.group.session}")] += 1
    for one in found:
        name = top(f"{one.group.agent} {one.group.session}")
        one.group.family = name if sizes[name] > 1 else ""


def _ends(path: Path, keys: Keys | None) -> list[dict[str, Any]]:
    """The records at the beginning and the end of a file. Raises AuthError and InputError."""
    with open_source(path, keys) as source:
        return [*_head(source), *_tail(source)]


def _head(source: Source) -> Iterator[dict[str, Any]]:
    """The records at the beginning: at least the first, however long it is."""
    size = _END
    while True:
        data = source.read(0, size)
        whole = data if len(data) >= source.size else data.rpartition(b"\n")[0]
        if whole or size >= source.size:
            yield from _values(whole)
            return
        size *= 4


def _tail(source: Source) -> Iterator[dict[str, Any]]:
    """The records at the end that the beginning does not hold, until one tells something."""
    size = _END
    while source.size > _END:
        start = max(source.size - size, 0)
        values = list(_values(source.read(start, source.size).partition(b"\n")[2]))
        if any("timestamp" in value or "time" in value for value in values) or start == 0:
            yield from values
            return
        size *= 4


def _values(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            value = decode_any(line) if line else None
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
