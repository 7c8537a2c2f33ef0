"""The entry of one session in an index that several share: taken out, and put in again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import InputError, WriteError
from sesstool.formats.base import Format
from sesstool.formats.registry import by_name
from sesstool.records.heal import decode_any
from sesstool.records.jsonspan import locate, without
from sesstool.records.source import bare_path, fingerprint
from sesstool.records.undo import open_raw
from sesstool.records.write import create, replace, unchanged


class Cut(NamedTuple):
    """An item of a list in a JSON file that is to go, and what the file is without it.

    `pointer` names the list, `at` the item in it; [start, end) are the bytes that go, one comma
    among them. `before` and `after` are SHA-256. The bytes themselves are kept as `name`.
    """

    path: Path
    name: str
    pointer: str
    at: int
    start: int
    end: int
    before: str
    after: str


def cuts(form: Format, path: Path) -> Iterator[Cut]:
    """What stands of a session in the indexes that its agent shares among several.

    Each is a cut of the index as it is behind those before it. An index that cannot be read stays
    as it is, and `unread` tells of it.
    """
    left: dict[Path, bytes] = {}
    places: list[tuple[Path, str, int]] = []
    with suppress(InputError):
        places.extend(form.indexed(bare_path(path)))
        for number, (file, pointer, listed) in enumerate(places):
            data = left[file] if file in left else _read(file)
            # Those of the same list that went before it stood before it.
            at = listed - sum(one[:2] == (file, pointer) for one in places[:number])
            member = locate(data, f"{pointer}/{at}")
            if member is None:
                continue
            start, end = without(data, member)
            left[file] = data[:start] + data[end:]
            hashes = _sha256(data), _sha256(left[file])
            yield Cut(file, f"index-{number}", pointer, at, start, end, *hashes)


def unread(form: Format, path: Path) -> str:
    """Which index that may list a session cannot be read, in a few words, or ""."""
    try:
        list(form.indexed(bare_path(path)))
    except InputError as error:
        return error.message
    return ""


def take_out(cut: Cut, kept: Path) -> None:
    """Take an entry out of its index, and keep it in a file; done once where it is done again.

    Raises InputError, and WriteError where the index is another by now.
    """
    now = fingerprint(cut.path)
    if now.sha256 == cut.after and kept.exists():
        return  # a run that was killed did it
    if now.sha256 != cut.before:
        raise WriteError(f"{cut.path} has changed since it was looked at", hint="run it again")
    data = _read(cut.path)
    create(kept, [data[cut.start : cut.end]], force=True)
    _put(cut.path, data[: cut.start] + data[cut.end :])


def put_in(cut: Cut, kept: Path, agent: str, session: Path) -> None:
    """Put an entry into its index again, where that is there and does not list the session.

    The index is then as it was, byte for byte, if nobody changed it since. Raises WriteError.
    """
    try:
        data = _read(cut.path)
        entry = _read(kept)
    except InputError:
        return  # the agent has no such index any more, or nothing was taken out of it
    if _sha256(data) == cut.after:
        _put(cut.path, data[: cut.start] + entry + data[cut.start :])
    elif not _lists(cut, agent, session) and (new := _with(data, entry.strip(b", \t\r\n"), cut)):
        _put(cut.path, new)


def _lists(cut: Cut, agent: str, session: Path) -> bool:
    form = by_name(agent)
    try:
        return form is not None and any(
            path == cut.path for path, _, _ in form.indexed(bare_path(session))
        )
    except InputError:
        return True  # nobody can tell, and nothing can be put into it


def _with(data: bytes, entry: bytes, cut: Cut) -> bytes | None:
    """An index that was changed, with the entry in it; None where it has it, or is no index."""
    whole = locate(data, cut.pointer)
    if whole is None or data[whole.start : whole.start + 1] != b"[" or entry in data:
        return None
    at = locate(data, f"{cut.pointer}/{cut.at}")
    if at is not None:
        return data[: at.start] + entry + b"," + data[at.start :]
    last = data[: whole.end - 1].rstrip()
    comma = b"" if last.endswith(b"[") else b","
    return last + comma + entry + data[whole.end - 1 :]


def _read(path: Path) -> bytes:
    with open_raw(path) as source:
        return source.read(0, source.size)


def _put(path: Path, data: bytes) -> None:
    now = fingerprint(path)
    try:
        decode_any(data)  # a mistake here must not reach the disk
    except ValueError as error:
        raise WriteError(
            f"cannot write {path}: it would be no index any more",
            hint="see that it holds whole JSON, and run it again",
        ) from error
    replace(path, [data], mode=now.mode, mtime=now.mtime, expect=unchanged(path, now))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
