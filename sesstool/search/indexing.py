"""The index of words, filled with what sessions say, and asked for it.

A hit is read from the session itself: the index only tells where to look. What it cannot hold is
scanned as without it: encrypted sessions, of which it would be a copy in the clear, and damaged
ones, whose lines are no records.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sesstool.caches.words import Known, Stamp, Words, split
from sesstool.errors import SesstoolError, UsageError
from sesstool.search.scan import Scan, opened
from sesstool.search.wanted import Wanted

_TAIL = 1 << 12
# So many bytes are read in one change: others who write wait for its end.
_BATCH = 32 << 20
# Words of these scripts have no blanks between: each character counts as one.
_UNSPACED = re.compile("[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_LARGEST_INODE = (1 << 63) - 1


class _Work(NamedTuple):
    """A file that is to be read; `known` is what the index had of it when that was planned."""

    path: str
    home: str
    name: bytes
    size: int
    known: Known | None


Progress = Callable[[int, int], None]
"""Is told how many bytes were read, and of how many."""


class Index:
    """The index, open, with the files that it covers by their numbers."""

    def __init__(self, words: Words) -> None:
        """Cover nothing yet."""
        self._words = words
        self._names = _Names()
        self._covered: dict[str, int] = {}

    def update(self, files: Mapping[str, str], progress: Progress = lambda *_: None) -> None:
        """Have it hold what these files say now, and nothing of files that are gone.

        Each path has the name of the format of the agent in whose home it lies, or "". Raises
        ValueError where the index is of no use.
        """
        named = {self._names.of(path): (path, home) for path, home in files.items()}
        known = self._words.known()
        stale = [
            one.id
            for name, one in known.items()
            if (_is_changed(name, one) if name in named else not os.path.lexists(name))
        ]
        if stale:
            with self._words.changing():
                self._words.drop(stale)
            known = self._words.known()
        todo = list(_todo(named, known))
        total, done = sum(work.size for work in todo), 0
        for batch in _batches(todo):
            with self._words.changing():
                for work in batch:
                    self._add(work)
                    done += work.size
                    progress(done, total)
        for name, one in self._words.known().items():
            if name in named and one.whole and one.reached >= 0:
                self._covered[named[name][0]] = one.id

    def _add(self, work: _Work) -> None:
        """Read a file from where it was read to; what cannot be read is left to the scan."""
        if self._words.known(work.name).get(work.name) != work.known:
            return  # another process was here before
        try:
            with opened(Path(work.path), home=work.home) as scan:
                self._read(scan, work)
        except (SesstoolError, OSError):
            return

    def _read(self, scan: Scan, work: _Work) -> None:
        stamp = _stamp(scan.now, b"" if scan.packed else _tail(scan, scan.size))
        start = work.known.reached if work.known else 0
        adder = self._words.add(work.name, start)
        reached = end = start
        try:
            for first, end, texts in scan.texts(start):
                if texts is None and end < scan.size:
                    reached = -1
                    break
                if texts:
                    adder.put(first, _spaced("\n".join(texts)))
                reached = end + 1 if end < scan.size else first
        except SesstoolError:
            reached = -1
        adder.close(end)
        self._words.reached(adder.file, stamp, reached)

    def find(self, wanted: Wanted) -> dict[str, Sequence[int]]:
        """The offsets that may match in each file that is covered, in their order; often none.

        Raises UsageError where no index can tell, and ValueError.
        """
        found: dict[int, array[int]] = {}
        for file, offset in self._words.find(match_of(wanted)):
            found.setdefault(file, array("q")).append(offset)
        rows = {file: sorted(set(offsets)) for file, offsets in found.items()}
        return {path: rows.get(file, ()) for path, file in self._covered.items()}


def match_of(wanted: Wanted) -> str:
    """What is looked for as FTS5 has it; the last word may go on. Raises UsageError."""
    words = split(_spaced(wanted.text)) if not wanted.regex else []
    if not words:
        why = "no expressions" if wanted.regex else "none is looked for"
        raise UsageError(f"the index finds words, and {why}", hint="search without --index")
    *most, last = (f'"{word}"' for word in words)
    goes_on = wanted.text.strip()[-1].isalnum()
    return " AND ".join([*most, last + " *" * goes_on])


def _spaced(text: str) -> str:
    if text.isascii():
        return text
    whole = text.encode("utf-8", "replace").decode()  # SQLite takes no half of a character
    return _UNSPACED.sub(r" \g<0> ", whole)


class _Names:
    """Paths without links in them; each folder is looked at once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> bytes:
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder or ".")
        real = f"{self._folders[folder]}{os.sep}{name}"
        return os.fsencode(os.path.realpath(real) if os.path.islink(real) else real)  # noqa: PTH114 - a path takes longer


def _todo(named: Mapping[bytes, tuple[str, str]], known: Mapping[bytes, Known]) -> Iterator[_Work]:
    """The files that are not in the index, or not as far as they go."""
    for name, (path, home) in named.items():
        one = known.get(name)
        if one is not None and one.reached < 0:
            continue
        try:
            now = os.stat(name)  # noqa: PTH116 - many of them
        except OSError:
            continue
        if one is None or not one.whole or not _is_same(one, now):
            yield _Work(path, home, name, now.st_size - (one.reached if one else 0), one)


def _batches(todo: Iterable[_Work]) -> Iterator[list[_Work]]:
    batch: list[_Work] = []
    size = 0
    for work in todo:
        batch.append(work)
        size += work.size
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_changed(name: bytes, known: Known) -> bool:
    """Whether a file is gone, or is another than that which was read, and not just a longer one."""
    try:
        now = os.stat(name)  # noqa: PTH116 - many of them
        if _is_same(known, now):
            return False
        was = known.stamp
        if now.st_ino & _LARGEST_INODE != was.inode or now.st_size <= was.size:
            return True
        with opened(Path(os.fsdecode(name))) as scan:
            return scan.packed or _tail(scan, was.size) != was.tail
    except (SesstoolError, OSError):
        return True


def _is_same(known: Known, now: os.stat_result) -> bool:
    return known.stamp[:3] == _stamp(now, b"")[:3]


def _stamp(now: os.stat_result, tail: bytes) -> Stamp:
    return Stamp(now.st_ino & _LARGEST_INODE, now.st_size, now.st_mtime_ns, tail)


def _tail(scan: Scan, size: int) -> bytes:
    """A hash of the last bytes of the first `size`."""
    start = max(size - _TAIL, 0)
    return hashlib.sha256(scan.part(start, size)).digest()
