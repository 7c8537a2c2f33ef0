"""The proof behind an erasure: no file of a folder holds one of some texts any more."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ahocorasick_rs import BytesAhoCorasick

from sesstool.records.opening import open_source
from sesstool.records.packed import codec_of
from sesstool.records.source import FileSource, Source, unreadable
from sesstool.records.undo import open_raw

# Databases cut a long text into pages of 512 bytes at least: a piece of it is still whole there.
_PIECE = 64
_PIECES = 16


def leftovers(folder: Path, texts: Iterable[str]) -> list[Path]:
    """The files below a folder that hold one of the texts, or a piece of a long one.

    A text is looked for in UTF-8 and UTF-16, as it is and as JSON writes it, alone or inside of
    other JSON; compressed files are looked into, encrypted ones are taken as they are. Links to
    folders are not followed. Memory does not grow with the files. Raises InputError where a file
    or a folder cannot be read: nothing is proven then.
    """
    wanted = sorted({piece for text in texts for piece in _pieces(text)})
    matcher = BytesAhoCorasick(wanted)
    longest = max(map(len, wanted), default=1)
    return [path for path in _files(folder) if _holds(path, matcher, longest)]


def held(paths: Iterable[Path], texts: Iterable[str]) -> dict[Path, set[str]]:
    """Which of the texts each of some files holds, looked for as `leftovers` does."""
    owners: dict[bytes, set[str]] = {}
    for text in texts:
        for piece in _pieces(text):
            owners.setdefault(piece, set()).add(text)
    wanted = sorted(owners)
    matcher = BytesAhoCorasick(wanted)
    longest = max(map(len, wanted), default=1)
    found: dict[Path, set[str]] = {}
    for path in paths:
        hits = _hits(path, matcher, longest)
        found[path] = {text for hit in hits for text in owners[wanted[hit]]}
    return found


def _hits(path: Path, matcher: BytesAhoCorasick, longest: int) -> set[int]:
    hits: set[int] = set()
    tail = b""
    with _opened(path) as source:
        for chunk in source.chunks():
            piece = tail + chunk
            found = matcher.find_matches_as_indexes(piece, overlapping=True)
            hits.update(hit for hit, _, _ in found)
            tail = piece[max(len(piece) - longest + 1, 0) :]
    return hits


def _files(folder: Path) -> Iterator[Path]:
    def stop(error: OSError) -> None:
        raise unreadable("read", error.filename, error) from error

    for inside, folders, names in os.walk(folder, onerror=stop):
        folders.sort()
        yield from (path for name in sorted(names) if (path := Path(inside, name)).is_file())


def _holds(path: Path, matcher: BytesAhoCorasick, longest: int) -> bool:
    with _opened(path) as source:
        return _found(source, matcher, longest)


def _opened(path: Path) -> FileSource:
    """A file as it is, or decompressed."""
    raw = open_raw(path)
    if not codec_of(raw.read(0, 16)):
        return raw
    raw.close()
    return open_source(path)


def _found(source: Source, matcher: BytesAhoCorasick, longest: int) -> bool:
    tail = b""
    for chunk in source.chunks():
        piece = tail + chunk
        if matcher.find_matches_as_indexes(piece):
            return True
        tail = piece[max(len(piece) - longest + 1, 0) :]
    return False


def _pieces(text: str) -> Iterator[bytes]:
    """The byte strings of which one at least stands where the text does."""
    spelled = {text}
    for _ in range(2):
        for ascii_only in (True, False):
            spelled |= {json.dumps(one, ensure_ascii=ascii_only)[1:-1] for one in spelled}
    whole = {one.encode("utf-8", "surrogatepass") for one in spelled}
    whole |= {text.encode(code, "surrogatepass") for code in ("utf-16-le", "utf-16-be")}
    for one in whole:
        count = len(one) // _PIECE
        if count < 2:
            yield from [one] if one else []
        else:
            for n in range(0, count, -(-count // _PIECES)):
                yield one[n * _PIECE : (n + 1) * _PIECE]
