"""Sessions of which each message and each part of one is a JSON file of its own.

So OpenCode kept them before it had a database: `session/<project>/<id>.json` says what a session
is, `message/<id>/*.json` are its messages, `part/<message>/*.json` what stands in one. The lines
are those that `databases` gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sesstool.records.databases import parse
from sesstool.records.folder import names
from sesstool.records.jsonspan import dumps
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
    info = _value(path)
    yield dumps({"info": info}) + b"\n"
    for message in _files(top / _MESSAGE / _id(info, path)):
        told = _value(message)
        parts = [_value(part) for part in _files(top / _PART / _id(told, message))]
        yield dumps({"info": told, "parts": parts}) + b"\n"


def _id(info: Any, path: Path) -> str:
    """The id that a session or a message has by what is in its file, or else by the file's name."""
    told = info.get("id") if isinstance(info, dict) else None
    return told if isinstance(told, str) and _NAME.fullmatch(told) else path.stem


def _files(folder: Path) -> Iterator[Path]:
    """The JSON files in a folder by their names, which are ids; links are not followed."""
    for name in names(folder):
        path = folder / name
        if name.endswith(ENDING) and not path.is_symlink():
            yield path


def _value(path: Path) -> Any:
    """What a file holds; of a damaged one the text. Raises InputError."""
    try:
        return parse(read_file(path))
    except OSError as error:
        raise unreadable("read", path, error) from error
