"""The tombstones: proof that a session is gone, which holds nothing that it said. See `chain`.

What could name a person is kept as an HMAC-SHA256 under a random key of this state folder: who
has the key and a copy of a file can prove that it is one of those that went, and nobody can
guess it without.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesstool.audit.chain import Chain, origin
from sesstool.audit.disk import make, reason
from sesstool.errors import InputError

CHAIN = Chain("tombstones", "tombstones")
_KEY = "tombstones.key"
_SIZE = 32
# Shorter ones may be words.
_ID = re.compile(r"[0-9a-f]{8,128}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One session that is gone.

    `rule` is the name of the rule that asked for it, `action` what was done, and `entry` the id
    of the trash entry, which the lines of the audit log have, too. The times are RFC 3339 in UTC,
    "" where unknown. `bytes` counts all files, `records` is -1 where unknown, and `hashes` are
    the SHA-256 of the files in hexadecimal.
    """

    session: str
    agent: str
    rule: str
    action: str
    entry: str
    created: str
    last_activity: str
    bytes: int
    records: int
    hashes: tuple[str, ...]


def append(state: Path, *tombstones: Tombstone) -> None:
    """Add a line for each, all or none, and return when they are on disk.

    Raises WriteError, which leaves the tombstones as they were.
    """
    with CHAIN.held(state):
        key = _key(state) or _new_key(state)
    CHAIN.append(state, [_row(key, one) for one in tombstones])


def read(state: Path) -> Iterator[dict[str, Any]]:
    """The lines that can be read, oldest first; `verify` tells of the others. Raises InputError."""
    return CHAIN.read(state)


def verify(state: Path) -> list[str]:
    """What is wrong with the tombstones, one sentence a problem. Raises InputError."""
    return CHAIN.verify(state)


def of(state: Path, session: str) -> list[dict[str, Any]]:
    """The lines of a session. Raises InputError."""
    key = _key(state)
    return [line for line in read(state) if line.get("session") == _session(key, session)]


def root(state: Path, hashes: Iterable[str]) -> str:
    """What a tombstone has as `root` where the files of a session had these SHA-256.

    "" where the key is missing. Raises InputError.
    """
    key = _key(state)
    return _root(key, hashes) if key else ""


def _row(key: bytes, one: Tombstone) -> dict[str, Any]:
    return {
        **origin(),
        "session": _session(key, one.session),
        "agent": one.agent,
        "rule": one.rule,
        "action": one.action,
        "entry": one.entry,
        "created": one.created,
        "last_activity": one.last_activity,
        "files": len(one.hashes),
        "bytes": one.bytes,
        "records": one.records,
        "root": _root(key, one.hashes),
    }


def _session(key: bytes, session: str) -> str:
    """The id, or a keyed hash of one that may be somebody's words."""
    return session if _ID.fullmatch(session) else f"hmac-sha256:{_keyed(key, 'session', session)}"


def _root(key: bytes, hashes: Iterable[str]) -> str:
    return _keyed(key, "files", "\n".join(sorted(hashes)))


def _keyed(key: bytes, what: str, value: str) -> str:
    data = f"{what}\n{value}".encode(errors="surrogateescape")
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def _key(state: Path) -> bytes:
    """The key of a state folder, b"" where there is none. Raises InputError."""
    path = state / _KEY
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason(error)}") from error
    if len(key) != _SIZE:
        raise InputError(
            f"{path} is no key of {_SIZE} bytes",
            hint="put it back from a backup; where it is lost, remove it: what it made cannot be "
            "proven any more",
        )
    return key


def _new_key(state: Path) -> bytes:
    key = secrets.token_bytes(_SIZE)
    make(state / _KEY, key)
    return key
