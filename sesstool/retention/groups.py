"""A session with all that belongs to it, as far as a policy asks, and its pieces on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool.errors import SesstoolError
from sesstool.formats.base import Format
from sesstool.records.heal import decode_any
from sesstool.records.lines import lines
from sesstool.records.live import find_writer
from sesstool.records.opening import open_source
from sesstool.records.source import SEALED, bare_path

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

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

    `agent` is the format's name, "" where it is not known; `untouched` says then why nothing is
    ever done to it. `blind` says why no time is known. `links` are symbolic links among its files,
    which stay. `records` counts those of the session, -1 where they were not counted. `place` is
    where the session was, where only other files of it are left.
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
    asked: bool = True
    records: int = -1
    place: Path | None = None
    keys: Keys | None = None
    codes: Contains | None = None
    _trouble: tuple[str, str] | None = field(default=None, repr=False)
    _codes: list[frozenset[str] | None] = field(default_factory=list, repr=False)

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
        return tuple(str(piece.path) for piece in self.pieces)

    @property
    def agent(self) -> str:
        """The name of the format."""
        return self.form.name if self.form else ""

    @property
    def project(self) -> str:
        """The name of the folder that the agent worked in, else of that which holds the session."""
        return os.path.basename(self.cwd.rstrip("/")) or self.file.parent.name  # noqa: PTH119 - any system's path

    @property
    def encrypted(self) -> bool:
        """Whether the session is."""
        return self.file.suffix == SEALED

    @property
    def size(self) -> int:
        """The bytes of all its files."""
        return sum(piece.size for piece in self.pieces)

    @property
    def modified(self) -> datetime:
        """The newest time of its files."""
        return datetime.fromtimestamp(max(piece.mtime for piece in self.pieces) / 1e9, UTC)

    @property
    def state(self) -> str:
        """A SHA-256 of the names, inodes, sizes and times of its files: what stat tells of them."""
        seen = sorted((str(p.path), p.inode, p.size, p.mtime) for p in self.pieces)
        return hashlib.sha256(repr(seen).encode(errors="surrogateescape")).hexdigest()

    def contains(self, code: str) -> bool | None:
        """Whether a redaction rule whose code begins so finds something; None: not known."""
        if not self._codes:
            self._codes.append(self.codes(self.file) if self.codes else None)
        codes = self._codes[0]
        return None if codes is None else any(found.startswith(code) for found in codes)

    def has_more(self) -> bool:
        """Whether files have come to the session since it was looked at."""
        if self.form is None:
            return False
        plain = self.plain
        shared = {side.path for side in self.form.drawn(plain) if side.path.parent == plain.parent}
        known = {piece.path for piece in self.pieces} | set(self.links) | shared
        return not known.issuperset(self.form.parts(plain))

    def trouble(self) -> tuple[str, str]:
        """See `decide.Facts.trouble`. Counts the records and takes in what they tell."""
        if self._trouble is None:
            self._trouble = self.writer() or self._damage()
        return self._trouble

    def writer(self) -> tuple[str, str] | None:
        """The trouble that somebody writes to the session, if somebody does."""
        for piece in self.pieces:
            if ".jsonl" in piece.path.suffixes:
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
            for piece in self.pieces:
                if ".jsonl" in piece.path.suffixes:
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
        models: set[str] = set()
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
                    models.add(self.form.meaning(value).model)
                    if path == self.file and (tag := self.form.tag(value)) is not None:
                        self.tags = frozenset({tag} - {""})
        self.models |= models - {""}
        return count, 0
