"""The manifest of an entry as JSON. What is not as it was written is not believed.

A manifest says which files are written and deleted, so no value of it may lead elsewhere than to
the entry's own files, and to the places that the audit log tells of.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sesstool.records.source import Fingerprint
from sesstool.retention.matching import Also
from sesstool.retention.shared import Cut

VERSION = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIMES = ("made", "until", "created", "recorded")
_TEXTS = ("rule", "reason", "agent", "session", "base", "cwd", "project")
_ACTIONS = ("archive", "trash", "delete")
_PACKED = ("", "gz", "gz.age")
_COUNTS = ("device", "inode", "size", "mode")


def encoded(fields: dict[str, Any]) -> dict[str, Any]:
    """The JSON value of the fields of an entry, without its folder."""
    return fields | {
        "version": VERSION,
        "files": str(fields["files"]),
        **{name: fields[name] and fields[name].isoformat() for name in _TIMES},
        "tags": sorted(fields["tags"]),
        "models": sorted(fields["models"]),
        "items": [[str(i.path), i.name, asdict(i.before), i.owner] for i in fields["items"]],
        "cuts": [[str(cut.path), *cut[1:]] for cut in fields["cuts"]],
        "folders": [[str(path), mode] for path, mode in fields["folders"]],
        "also": {name: sorted(values) for name, values in fields["also"]._asdict().items()},
    }


def decoded(value: Any, folder: Path) -> dict[str, Any]:
    """The fields, of which `items` are tuples. Raises ValueError, TypeError and LookupError."""
    _sure(value["version"] == VERSION)
    _sure(all(isinstance(value[name], str) for name in _TEXTS))
    _sure(value["action"] in _ACTIONS and value["packed"] in _PACKED)
    _sure(isinstance(value["records"], int) and isinstance(value["tombstone"], bool))
    files = _path(value["files"])
    _sure(files == folder / "files" or files.name == folder.name)
    _sure(value["items"] != [])
    return {
        **{name: value[name] for name in (*_TEXTS, "action", "packed", "records", "tombstone")},
        **{name: _time(value[name]) for name in _TIMES},
        "stage": value["stage"],
        "folder": folder,
        "files": files,
        "tags": frozenset(map(_text, value["tags"])),
        "models": frozenset(map(_text, value["models"])),
        "items": [
            (_path(path), _name(name, "[0-9]+"), _fingerprint(before), tuple(map(int, owner)))
            for path, name, before, owner in value["items"]
        ],
        "cuts": tuple(_cut(*cut) for cut in value["cuts"]),
        "folders": tuple((_path(path), int(mode) & 0o7777) for path, mode in value["folders"]),
        "also": Also(*(frozenset(map(_text, value["also"][name])) for name in Also._fields)),
    }


def _sure(holds: object) -> None:
    if not holds:
        raise ValueError("no manifest that was written here")


def _text(value: Any) -> str:
    _sure(isinstance(value, str))
    return str(value)


def _path(value: Any) -> Path:
    """A path that needs no folder, link or `..` to be understood."""
    _sure(os.path.isabs(_text(value)) and os.path.normpath(value) == value and "\0" not in value)  # noqa: PTH117 - of a text
    return Path(value)


def _name(value: Any, pattern: str) -> str:
    _sure(re.fullmatch(pattern, _text(value), re.ASCII))
    return str(value)


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    time = datetime.fromisoformat(_text(value))
    _sure(time.tzinfo is not None)
    return time.astimezone(UTC)


def _fingerprint(value: Any) -> Fingerprint:
    found = Fingerprint(**value)
    _sure(all(type(value[name]) is int and value[name] >= 0 for name in _COUNTS))
    _sure(type(found.mtime) is int and _SHA256.fullmatch(found.sha256))
    return found


def _cut(path: Any, name: Any, pointer: Any, *rest: Any) -> Cut:
    at, start, end, before, after = rest
    _sure(all(type(number) is int and number >= 0 for number in (at, start, end)))
    return Cut(
        _path(path),
        _name(name, "index-[0-9]+"),
        _text(pointer),
        at,
        start,
        end,
        _text(before),
        _text(after),
    )
