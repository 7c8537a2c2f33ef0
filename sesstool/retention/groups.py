"""A session with all that belongs to it, as far as a policy asks, and its pieces on disk."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sesstool.errors import SesstoolError
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning
from sesstool.model.moments import UNREADABLE, moment
from sesstool.records.heal import decode_any
from sesstool.records.lines import lines
from sesstool.records.live import find_writer
from sesstool.records.opening import open_source
from sesstool.records.source import SEALED, bare_path, is_transcript
from sesstool.retention.matching import Also

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_LATEST = datetime.max.replace(tzinfo=UTC)
_OLDEST = datetime.min.replace(tzinfo=UTC)
Contains = Callable[[Path], frozenset[str] | None]
"""The codes of the redaction rules that find something in a session, None where it is not known."""


class Piece(NamedTuple):
    """One file of a group, and what it was when it was looked at; `mtime` is in nanoseconds."""

    path: Path
    device: int
    inode: int
    size: int
    mtime: int
    names: int = 1

    @classmethod
    def of(cls, path: Path, now: os.stat_result) -> Piece:
        """The piece that a stat result shows."""
        return cls(path, now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_nlink)

    def unchanged(self) -> bool:
        """Whether the file is still there, and as it was."""
        try:
            return Piece.of(self.path, self.path.lstat())[:5] == self[:5]
        except OSError:
            return False


@dataclass(slots=True)
class Group:
    """See `decide.Facts`. `pieces` begins with the session itself.

    `agent` is the format's name, "" where it is not known. `untouched` says why nothing is ever
    done to it. `blind` says why no time is known, which is so for good where it is `doubtful`.
    `links` are links, pipes and the like among its files, which stay. `records` counts those of the
    session, -1 where they were not counted. `place` is where the session was, where only other
    files of it are left. `joined` are transcripts that lie elsewhere than its parts do. `common`
    are files that other groups claim as well, each with all its owners: they go with the last of
    these. It is `alone` where its name is another session's, of which the parts are.
    """

    form: Format | None
    pieces: tuple[Piece, ...]
    session: str = ""
    untouched: str = ""
    blind: str = "no record tells a time"
    created: datetime | None = None
    recorded: datetime | None = None
    cwd: str = ""
    tags: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    family: str = ""
    base: str = ""
    links: tuple[Path, ...] = ()
    joined: tuple[Path, ...] = ()
    common: tuple[tuple[Piece, tuple[Group, ...]], ...] = field(default=(), repr=False)
    doubtful: bool = False
    alone: bool = False
    asked: bool = True
    records: int = -1
    place: Path | None = None
    keys: Keys | None = None
    codes: Contains | None = None
    _trouble: tuple[str, str] | None = field(default=None, repr=False)
    _codes: list[frozenset[str] | None] = field(default_factory=list, repr=False)
    _also: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set), repr=False)

    @property
    def file(self) -> Path:
        """The session's own file."""
        return self.pieces[0].path

    @property
    def plain(self) -> Path:
        """What the session's own file is called when it is neither encrypted nor compressed."""
        return self.place or bare_path(self.file)

    @property
    def path(self) -> str:
        """Its file as text, as policies match it."""
        return str(self.file)

    @property
    def paths(self) -> tuple[str, ...]:
        """The same of all its files."""
        return tuple(str(piece.path) for piece in self._every)

    @property
    def _every(self) -> tuple[Piece, ...]:
        return (*self.pieces, *(piece for piece, _ in self.common))

    @property
    def also(self) -> Also:
        """See `decide.Holdable`."""
        told = {name: frozenset(values - {""}) for name, values in self._also.items()}
        projects = frozenset(map(_name_of, told.get("cwds", ())))
        return Also(paths=frozenset(self.paths), projects=projects, **told)

    @property
    def agent(self) -> str:
        """The name of the format."""
        return self.form.name if self.form else ""

    @property
    def project(self) -> str:
        """The name of the folder that the agent worked in, else of that which holds the session."""
        return _name_of(self.cwd) or self.file.parent.name

    @property
    def encrypted(self) -> bool:
        """Whether the session is."""
        return self.file.suffix == SEALED

    @property
    def size(self) -> int:
        """The bytes of all its files; those of one that others have too count for one of them."""
        first = (piece.size for piece, owners in self.common if owners[0] is self)
        return sum(piece.size for piece in self.pieces) + sum(first)

    @property
    def modified(self) -> datetime:
        """The newest time of its files, or the end of what a time can be."""
        newest = max(piece.mtime for piece in self._every)
        try:
            return datetime.fromtimestamp(newest / 1e9, UTC)
        except (ValueError, OverflowError, OSError):
            return _LATEST if newest > 0 else _OLDEST

    @property
    def state(self) -> str:
        """A SHA-256 of the names, inodes, sizes and times of its files: what stat tells of them."""
        seen = sorted((str(p.path), p.inode, p.size, p.mtime) for p in self.pieces)
        return hashlib.sha256(repr(seen).encode(errors="surrogateescape")).hexdigest()

    def contains(self, code: str) -> bool | None:
        """Whether a redaction rule whose code begins so finds something; None: not known."""
        if not self._codes:
            files = (self.file, *self.joined)
            self._codes += [self.codes(file) if self.codes else None for file in files]
        known = [codes for codes in self._codes if codes is not None]
        if any(found.startswith(code) for codes in known for found in codes):
            return True
        return False if len(known) == len(self._codes) else None

    def doubt(self, why: str) -> None:
        """Know no time for good."""
        self.blind, self.recorded, self.doubtful = why, None, True

    def tell(self, value: dict[str, Any], *, own: bool) -> Meaning:
        """Take in what a record tells, of the session's own file or of another one."""
        assert self.form is not None
        meaning = self.form.meaning(value)
        if (told := value.get(self.form.time_key)) is not None:
            self._see_time(told, own=own)
        if own:
            self.session = self.session or meaning.session
            self.cwd = self.cwd or meaning.cwd
            if meaning.model and meaning.model not in self.models:
                self.models |= {meaning.model}
        else:
            self._also["models"].add(meaning.model)
        if meaning.cwd and meaning.cwd != self.cwd:
            self._also["cwds"].add(meaning.cwd)
        if (tag := self.form.tag(value)) is not None:
            if own:
                self.tags = frozenset({tag} - {""})
            else:
                self._also["tags"].add(tag)
        return meaning

    def _see_time(self, told: object, *, own: bool) -> None:
        time = moment(told)
        if time is None:
            self.doubt(UNREADABLE)
            return
        if own and (self.created is None or time < self.created):
            self.created = time
        self._be_young(time)

    def _be_young(self, time: datetime | None) -> None:
        if time is not None and not self.doubtful:
            self.recorded = time if self.recorded is None else max(self.recorded, time)

    def merge(self, other: Group) -> None:
        """Take in another group, which is a piece of this one: it is as young as the younger."""
        known = {piece.path for piece in self.pieces}
        self.pieces += tuple(piece for piece in other.pieces if piece.path not in known)
        self.links += other.links
        self.joined += (other.file, *other.joined)
        for name, values in other._also.items():
            self._also[name] |= values
        self._also["sessions"].add(other.session)
        self._also["cwds"].add(other.cwd)
        self._also["tags"] |= other.tags
        self._also["models"] |= other.models
        self._be_young(other.recorded)
        if other.doubtful:
            self.doubt(other.blind)
        if other.form is not None:
            self.untouched = self.untouched or other.untouched

    def inherit(self) -> None:
        """Take what it has in common with others for its own where all of those are gone."""
        for piece, owners in self.common:
            if not any(os.path.lexists(one.file) for one in owners if one is not self):
                self.pieces += (piece,)
        self.common = tuple(one for one in self.common if one[0] not in self.pieces)

    def has_more(self) -> bool:
        """Whether files have come to the session since it was looked at. Raises InputError."""
        if self.form is None or self.alone:
            return False
        plain = self.plain
        shared = {side.path for side in self.form.drawn(plain) if side.path.parent == plain.parent}
        known = {piece.path for piece in self._every} | set(self.links) | shared
        return not known.issuperset(self.form.places(plain))

    def trouble(self) -> tuple[str, str]:
        """See `decide.Facts.trouble`. Counts the records and takes in what they tell."""
        if self._trouble is None:
            self._trouble = self.writer() or self._damage()
        return self._trouble

    def writer(self) -> tuple[str, str] | None:
        """The trouble that somebody writes to the session, if somebody does."""
        for piece in self._every:
            if is_transcript(piece.path):
                try:
                    found = find_writer(piece.path, recent_seconds=None)
                except SesstoolError:
                    continue  # it is gone, or cannot be read: its reading tells
                if found:
                    return "live", f"in use: {found.description}"
        said = self.form.writer(self.plain) if self.form else None
        return ("live", f"in use: {said}") if said else None

    def _damage(self) -> tuple[str, str]:
        """Whether all lines of its transcripts are whole records."""
        try:
            for piece in self._every:
                if is_transcript(piece.path):
                    count, bad = self._read(piece.path)
                    if bad:
                        where = "" if piece.path == self.file else f" of {piece.path.name}"
                        return "damaged", f"damaged: line {bad}{where} is no whole record"
                    if piece.path == self.file:
                        self.records = count
        except SesstoolError as error:
            return "unreadable", f"unreadable: {error.message}"
        return "", ""

    def _read(self, path: Path) -> tuple[int, int]:
        """How many records a file has, or the number of the first line that is none."""
        count = 0
        with open_source(path, self.keys) as source:
            for number, _, line, _ in lines(source):
                if not line or line.isspace():
                    continue
                try:
                    value = decode_any(line)
                except ValueError:
                    value = None
                if not isinstance(value, dict):
                    return count, number
                count += 1
                if self.form is not None:
                    self.tell(value, own=path == self.file)
        return count, 0


def _name_of(folder: str) -> str:
    """The name of a project that lies in a folder."""
    return os.path.basename(folder.rstrip("/"))  # noqa: PTH119 - any system's path
