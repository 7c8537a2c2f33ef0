"""Finds the groups: which files belong to which session, how old it is, and what hangs on it.

Of each session only the beginning and the end are read.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool.errors import AuthError, InputError, NotASessionError
from sesstool.formats.base import Format
from sesstool.formats.registry import Homes, detect, is_likely
from sesstool.formats.terms import Origin
from sesstool.records.heal import decode_any
from sesstool.records.lines import lines
from sesstool.records.opening import open_source
from sesstool.records.source import Source, bare_path, is_transcript, unreadable
from sesstool.retention.groups import Contains, Group, Piece

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_Name = tuple[Path, str]  # the home, and an id in it
_END = 1 << 13
_UUID = re.compile(rb'"uuid": ?"([^"\\]+)"')
_NO_SESSION = "format unknown: never touched"
_LINK = "a symbolic link: never followed"


@dataclass(slots=True)
class _Found:
    """A file under way to a group. `root` is the home that it lies in, or its folder.

    `owner` is the id of the session that it is a piece of, or of a record in it, "" where it is a
    session; `first` the id of its first record, `ids` those of sessions that records name. `blind`
    says why it cannot be read, "" where it can.
    """

    group: Group
    root: Path = Path()
    owner: str = ""
    origin: Origin | None = None
    first: str = ""
    ids: set[str] = field(default_factory=set)
    blind: str = ""


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
        one = _look(path, keys, homes)
        if one is None or (twin is not None and _is_added(twin, one)):
            continue
        taken.update(piece.path for piece in one.group.pieces[1:])
        found[bare_path(path) if twin is None else path] = one
    for path in taken & found.keys():  # beside a session, and seen before it
        del found[path]
    _join(found)
    groups = sorted((one.group for one in found.values()), key=lambda group: group.path)
    _share(groups)
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
        return _Found(Group(None, (piece,), untouched=_NO_SESSION), blind=blind)
    group = Group(form, (piece,), form.session_id(plain), keys=keys)
    _take_pieces(group)
    if blind:
        group.blind = blind
    root = at_home[1] if at_home else plain.parent
    found = _told(_Found(group, root, blind=blind), form, values, plain)
    # It is as young as the youngest of its subagents.
    for piece in group.pieces[1:]:
        if is_transcript(piece.path):
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
        found.ids.add(told.session)
        found.origin = found.origin or form.origin(value)
    found.owner = form.owner(values, path)
    if found.owner and found.owner in {form.meaning(value).session for value in values[-1:]}:
        group.session = form.session_id(path) or found.owner
    group.session = group.session or path.name.partition(".")[0]
    found.ids -= {""}
    return found


def _take_pieces(group: Group) -> None:
    """Find the files of a session; one of which they cannot all be found is never touched."""
    assert group.form is not None
    try:
        group.pieces, group.links = _pieces(group.form, group.plain, group.pieces[0])
    except InputError as error:
        group.untouched = f"unreadable: {error.message}"


def _pieces(form: Format, plain: Path, own: Piece) -> tuple[tuple[Piece, ...], tuple[Path, ...]]:
    """The files of a session, its own first, and what stays of them. Raises InputError."""
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
        if stat.S_ISREG(now.st_mode):
            pieces[part] = Piece.of(part, now)
        else:
            links.append(part)
    return tuple(pieces.values()), tuple(links)


def _is_added(session: _Found, twin: _Found) -> bool:
    """Take a twin of a session into its group, if it is one; the plain one stands first."""
    group, other = session.group, twin.group
    if other.untouched == _LINK:
        group.links += (other.file,)
        return True
    if blind := twin.blind or session.blind:
        group.merge(other)
        group.doubt(blind)
        return True
    known = session.ids | {group.session}
    if other.form is group.form and not (twin.ids and twin.ids.isdisjoint(known)):
        group.merge(other)
        return True
    if group.form is not None and other.form is not None:
        # It has the name of one session, whose parts are not its own, and is another.
        other.session = max(twin.ids, default=other.session)
        other.alone, other.pieces, other.links = True, other.pieces[:1], ()
    return False


def _join(found: dict[Path, _Found]) -> None:
    """Put what a session owns into its group, and tell families and bases."""
    _check_owned(found.values())
    owners, owned = defaultdict[_Name, list[_Found]](list), dict[_Name, _Found]()
    for one in found.values():
        if one.owner:
            owned[one.root, one.group.session] = one
        else:
            owners[one.root, one.group.session].append(one)
    titles = [
        one for one in owned.values() if (one.root, one.owner) not in owners.keys() | owned.keys()
    ]
    sessions = [one for some in owners.values() for one in some]
    for name, some in _holders(titles, sessions).items():
        owners[name] += some
    for key, one in list(found.items()):
        for owner in _owners_of(one, owners, owned):
            owner.group.merge(one.group)
            found.pop(key, None)
    _rest(found)
    _relate(found.values())


def _check_owned(found: Collection[_Found]) -> None:
    """Have no owner of a file that holds more than a piece of it does."""
    known: dict[Path, set[str]] = defaultdict(set)
    for one in found:
        if not one.owner and one.group.pieces[0].size:
            known[one.root].add(one.group.session)
    for one in found:
        group = one.group
        if one.owner and group.form is not None:
            records = _records(group.file, group.keys)
            try:
                sound = group.form.is_piece(records, group.file, known[one.root] - {one.owner})
            except (AuthError, InputError):
                sound = False
            one.owner = one.owner if sound else ""


def _owners_of(
    one: _Found, owners: Mapping[_Name, list[_Found]], owned: Mapping[_Name, _Found]
) -> list[_Found]:
    """The sessions that a file is a piece of: where some have one id, of all of them."""
    form, name = one.group.form, one.owner
    seen: set[str] = set()
    while form is not None and name and name not in seen:  # a subagent may have one of its own
        seen.add(name)
        above = owners.get((one.root, name), ())
        if some := [o for o in above if form.may_own(o.group.file, one.group.file)]:
            return some
        middle = owned.get((one.root, name))
        name = middle.owner if middle is not None else ""
    return []


def _share(groups: Iterable[Group]) -> None:
    """Part what several groups claim from what is of one alone."""
    claims: dict[Path, list[Group]] = defaultdict(list)
    for group in groups:
        for piece in group.pieces[1:]:
            claims[piece.path].append(group)
    for group in groups:
        common = [piece for piece in group.pieces[1:] if len(claims[piece.path]) > 1]
        if common:
            group.common = tuple((piece, tuple(claims[piece.path])) for piece in common)
            group.pieces = tuple(piece for piece in group.pieces if piece not in common)


def _records(path: Path, keys: Keys | None) -> Iterator[dict[str, Any]]:
    """All records of a file that can be read. Raises AuthError and InputError."""
    with open_source(path, keys) as source:
        for _, _, line, _ in lines(source):
            yield from _values(line)


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


def _holders(titles: Iterable[_Found], sessions: Iterable[_Found]) -> dict[_Name, list[_Found]]:
    """The sessions, by these, that hold the records which titles in files of their own are for."""
    wanted: dict[Path, set[bytes]] = defaultdict(set)
    for one in titles:
        wanted[one.group.file.parent].add(one.owner.encode())
    holders: dict[_Name, list[_Found]] = defaultdict(list)
    for one in sessions:
        names = wanted.get(one.group.file.parent)
        if not names or one.group.form is None:
            continue
        try:
            with open_source(one.group.file, one.group.keys) as source:
                held = {n for _, _, line, _ in lines(source) for n in _UUID.findall(line)}
            for name in names & held:
                holders[one.root, name.decode()].append(one)
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
