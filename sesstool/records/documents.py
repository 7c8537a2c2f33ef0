"""Sessions of which each message and each part of one is a JSON file of its own.

So OpenCode kept them before it had a database: `session/<project>/<id>.json` says what a session
is, `message/<id>/*.json` are its messages, `part/<message>/*.json` what stands in one. The lines
are those that `databases` gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sesstool.records.databases import line
from sesstool.records.folder import names
from sesstool.records.heal import decode_any
from sesstool.records.source import read_file, unreadable

ENDING = ".json"
_PREFIX = "ses_"
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SESSION, _MESSAGE, _PART = "session", "message", "part"


def is_document(path: Path) -> bool:
    """Whether a file is called, and lies, like what such a session is told by."""
    name = path.name
    return (
        name.endswith(ENDING)  # few files are, and it is asked of all
        and name.startswith(_PREFIX)
        and path.absolute().parent.parent.name == _SESSION
    )


def lines(path: Path) -> Iterator[bytes]:
    """The records of a session as lines: what is said of it, then its messages by their ids.

    Raises InputError.
    """
    top = path.absolute().parents[2]
    told = _read(path)
    yield line(lambda read: {"info": read(told)})
    for message in _files(top / _MESSAGE / _id(told, path)):
        yield _message(_read(message), message, top)


def _message(told: bytes, path: Path, top: Path) -> bytes:
    parts = list(map(_read, _files(top / _PART / _id(told, path))))
    return line(lambda read: {"info": read(told), "parts": list(map(read, parts))})


def _id(told: bytes, path: Path) -> str:
    """The id that a session or a message has by what is in its file, or else by the file's name."""
    try:
        value = decode_any(told)
    except ValueError:
        value = None
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else path.stem


def _files(folder: Path) -> Iterator[Path]:
    """The JSON files in a folder by their names, which are ids; links are not followed."""
    for name in names(folder):
        path = folder / name
        if name.endswith(ENDING) and not path.is_symlink():
            yield path


def _read(path: Path) -> bytes:
    """What a file holds. Raises InputError."""
    try:
        return read_file(path)
    except OSError as error:
        raise unreadable("read", path, error) from error
