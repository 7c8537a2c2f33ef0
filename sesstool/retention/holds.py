"""Holds that were made by command: `holds.json` in the state folder.

Each hold and each release is a line of the audit log, too, with the hash of the hold: a file that
was lost, cut or changed is told, and nothing goes on without the holds that there were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from sesstool.audit import log
from sesstool.audit.log import Change
from sesstool.errors import InputError, UsageError
from sesstool.formats.schemas import RecordValidator
from sesstool.records.guard import locked, uninterrupted
from sesstool.records.write import create
from sesstool.retention.policy import Hold, Match, Policy, load
from sesstool.text import quoted

FILE = "holds.json"
SCHEMA = "holds"
_ADDED, _RELEASED = "hold", "release"
_Stamp = tuple[int, int, int]


def add(state: Path, hold: Hold, *more: Hold) -> None:
    """Add a hold; `more` have its name and hold other sessions, and end with it.

    Raises UsageError where there is one of the name, InputError where those that there are cannot
    be read, and WriteError.
    """
    holds = (hold, *more)
    with locked(state, state / FILE), uninterrupted():
        stored = _stored(state)
        there = [one for one in stored if one.name == hold.name]
        if there and hold.name not in _lost(state, stored):
            raise UsageError(
                f"there is a hold {hold.name} already", hint="give it another name, or release it"
            )
        # The hold first: it may hold without its line, and there is no line without it.
        log.ready(state)
        _write(state, [*(one for one in stored if one.name != hold.name), *holds])
        log.append(
            state,
            Change(_ADDED, _path(hold.name), _digest(there), _digest(holds), reason=hold.reason),
        )


def release(state: Path, name: str, reason: str) -> None:
    """End a hold. Raises UsageError where there is none of the name, and as `add` does."""
    with locked(state, state / FILE), uninterrupted():
        stored = _stored(state)
        there = [one for one in stored if one.name == name]
        if not there and name not in _lost(state, stored):
            raise UsageError(
                f"there is no hold {name}",
                hint="sesstool hold list shows all; one of a policy file is taken out there",
            )
        # The line first: what is told to be released may still be held for a moment.
        log.append(state, Change(_RELEASED, _path(name), _digest(there), "", reason=reason))
        if there:
            _write(state, [one for one in stored if one.name != name])


def read(state: Path) -> list[Hold]:
    """The holds that count; several may have one name.

    Raises InputError where the file cannot be read, or is not what the audit log tells of it.
    """
    stored = _stored(state)
    lost = _lost(state, stored)
    if lost:
        name = quoted(lost[0])
        raise InputError(
            f"{state / FILE} does not have the hold {lost[0]} as it was made",
            hint=f"put the file back from a backup; or say what it held: sesstool hold add {name} "
            f"PATH --reason TEXT; or let it go: sesstool hold release {name} --reason TEXT",
        )
    return stored


class Watch:
    """The holds that are in force at any moment of a run, those of the policy file as well.

    Each of the two files is read anew where it has changed.
    """

    def __init__(self, state: Path, policy: Policy | None = None) -> None:
        """Know none yet but those of a policy that has no file."""
        self._state = state
        self._file = policy.file if policy else None
        self._written = policy.holds if policy else ()
        self._made: list[Hold] = []
        # A person may have thought it over since the policy was loaded.
        self._seen: list[_Stamp | None] = [(0, 0, 0), (0, 0, 0)]

    def now(self) -> list[Hold]:
        """Those of this moment. Raises as `read` does, and ConfigError as `load` does."""
        seen = [_stamp(self._state / FILE), _stamp(self._file) if self._file else None]
        if seen[0] != self._seen[0]:
            self._made = read(self._state)
        if self._file and seen[1] != self._seen[1]:
            self._written = load(self._file).holds
        self._seen = seen
        return [*self._written, *self._made]


def _stamp(path: Path) -> _Stamp | None:
    """What changes with a file; None where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def as_json(hold: Hold) -> dict[str, Any]:
    """A hold as it is kept, and as it is shown: keys of the match that are not given are left out.

    Times are RFC 3339, or null.
    """
    match = {key: value for key, value in asdict(hold.match).items() if value not in ((), None)}
    return {
        "name": hold.name,
        "match": {k: list(v) if isinstance(v, tuple) else v for k, v in match.items()},
        "reason": hold.reason,
        "by": hold.by,
        "since": hold.since.isoformat() if hold.since else None,
        "until": hold.until.isoformat() if hold.until else None,
    }


def _stored(state: Path) -> list[Hold]:
    """The holds in the file, none where there is no file. Raises InputError."""
    path = state / FILE
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(
            f"cannot read the holds in {path}: {reason}",
            hint="see who may read it; nothing is removed while it is not known what is held",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if not RecordValidator.shipped(SCHEMA).valid(document):
        raise _damaged(path)
    try:
        return [_hold(value) for value in document["holds"]]
    except (TypeError, ValueError) as error:  # a member of a newer version, or no time
        raise _damaged(path) from error


def _hold(value: dict[str, Any]) -> Hold:
    match: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in value["match"].items()
    }
    times = {
        key: datetime.fromisoformat(value[key]) if value[key] else None
        for key in ("since", "until")
    }
    if any(time and time.tzinfo is None for time in times.values()):
        raise ValueError("a time without a zone")
    return Hold(**{**value, **times, "match": Match(**match)})


def _damaged(path: Path) -> InputError:
    return InputError(
        f"{path} is damaged, or of a newer version: what is held is not known",
        hint="put it back from a backup; or move it away and add each hold again: the audit log "
        "names them",
    )


def _lost(state: Path, stored: Iterable[Hold]) -> list[str]:
    """The holds that the audit log tells of, and that are not as they were made."""
    told: dict[str, str] = {}
    for line in log.read(state):
        name = _name(line.get("path"))
        if name is not None and line.get("action") == _ADDED:
            told[name] = str(line.get("after"))
        elif name is not None and line.get("action") == _RELEASED:
            told.pop(name, None)
    kept: dict[str, list[Hold]] = {}
    for hold in stored:
        kept.setdefault(hold.name, []).append(hold)
    return [name for name, digest in told.items() if _digest(kept.get(name, [])) != digest]


def _path(name: str) -> str:
    """How the audit log names a hold."""
    return f"hold:{name}"


def _name(path: object) -> str | None:
    text = str(path)
    return text.removeprefix("hold:") if text.startswith("hold:") else None


def _digest(holds: Iterable[Hold]) -> str:
    """The SHA-256 of what is kept of a hold, "" where there is none."""
    kept = [as_json(hold) for hold in holds]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest() if kept else ""


def _write(state: Path, holds: Iterable[Hold]) -> None:
    document = {"schema_version": 1, "holds": [as_json(hold) for hold in holds]}
    create(state / FILE, [json.dumps(document, indent=1).encode() + b"\n"], force=True)
