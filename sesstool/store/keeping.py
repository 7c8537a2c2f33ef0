"""Where the state of a session's memory is kept between runs: a cache in the user's own folder.

A file of it holds no text of the session, only places in it, counts and hashes. In doubt it counts
for nothing: the memory is then drawn anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.caches.folder import is_own, memory_path
from sesstool.errors import SesstoolError
from sesstool.formats.base import Format
from sesstool.formats.terms import Place
from sesstool.records.heal import decode, heal
from sesstool.records.source import FileSource, Source, read_file
from sesstool.records.write import create, make_folder
from sesstool.store.lineage import whole
from sesstool.store.memory import SessionMemory

_SAMPLE = 4096
# So many sessions are remembered, and a file of the cache is at most so many bytes.
_MOST, _LARGEST = 1000, 1 << 22


class Reached(NamedTuple):
    """Up to where a file was read: the offset of a record, and the line that it begins on.

    `digest` is of what stands right before it, and of the head of the file.
    """

    at: int
    line: int
    digest: str


def reached(source: Source, at: int, line: int) -> Reached:
    """What proves that a file was read up to an offset."""
    return Reached(at, line, digest(source, at))


def digest(source: Source, at: int) -> str:
    """A hash of the head of the first `at` bytes of a source, and of their end."""
    seen = hashlib.sha256(b"%d\n" % at)
    seen.update(source.read(0, min(_SAMPLE, at)))
    seen.update(source.read(max(at - _SAMPLE, 0), at))
    return seen.hexdigest()


def save(source: FileSource, memory: SessionMemory, to: Reached) -> None:
    """Keep the state of the memory of a plain file. Raises SesstoolError or OSError."""
    assert source.path is not None
    path = memory_path(source.path)
    make_folder(path.parent)
    value = {"file": _file(source), "reached": to, "memory": memory.saved()}
    body = json.dumps(value, separators=(",", ":")).encode()
    new = not is_own(path)
    if new:  # a link would lead the write elsewhere
        path.unlink(missing_ok=True)
    create(path, [_sum(body), b"\n", body], force=True)
    if new:
        _sweep(path.parent)


def load(source: FileSource, form: Format) -> tuple[SessionMemory, Reached] | None:
    """The state that was kept of the memory of a plain file, None where none was.

    Raises ValueError, with the reason in words, where it is of no use.
    """
    assert source.path is not None
    path = memory_path(source.path)
    if not os.path.lexists(path):
        return None
    try:
        if not is_own(path):
            raise ValueError("it is not the file of this user")
        raw = read_file(path) if path.stat().st_size <= _LARGEST else b""
    except OSError as error:
        raise ValueError("it cannot be read") from error
    told_sum, _, body = raw.partition(b"\n")
    if told_sum != _sum(body):
        raise ValueError("it is damaged")
    try:
        value: dict[str, Any] = decode(body)
        at, line, told = value["reached"]
        file, saved = value["file"], value["memory"]
        whole(at, line, *file[:4])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("it is damaged") from error
    if not 0 <= at <= source.size or line < 1:
        raise ValueError("the file is shorter than it was")
    now = _file(source)
    # A longer file was appended to, as its bytes must prove; one as long is still the same.
    same = file[:2] == now[:2] and (file[2] != now[2] or file == now)
    if not same or told != digest(source, at):
        raise ValueError("the file was rewritten")
    memory = SessionMemory.restored(form, saved, partial(record_at, source))
    return memory, Reached(at, line, told)


def _file(source: FileSource) -> list[int]:
    """What stat shows of a file: device, inode, size, mtime in ns."""
    file = source.opened
    return [file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns]


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def record_at(source: Source, place: Place) -> dict[str, Any]:
    """The decoded record at a place. Raises ValueError where there is none."""
    raw = source.read(place.start, place.end)
    try:
        value = decode(raw)
    except ValueError:
        value, _ = heal(raw, place.start)
    if type(value) is not dict:
        raise ValueError("no record stands there")
    return value


def _sweep(folder: Path) -> None:
    """Forget the sessions that nobody asked for the longest."""
    with suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for file in files[:-_MOST]:
            file.unlink(missing_ok=True)


UNSAVED = (SesstoolError, OSError)
"""What `save` raises: a cache that cannot be written is none, and no fault."""
