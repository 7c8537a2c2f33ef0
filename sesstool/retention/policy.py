"""The policy file `retention.toml`: what it may say, and what is wrong with one that says else.

`schemas/retention.schema.json` tells the shape of the file, this module what values mean.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from platformdirs import user_config_path

from sesstool import toml
from sesstool.encryption.keyring import is_secret
from sesstool.errors import ConfigError, UsageError
from sesstool.formats.schemas import RecordValidator
from sesstool.retention import units
from sesstool.retention.globs import CHECKS, PARTS, sound
from sesstool.text import quoted

T = TypeVar("T")

FOREVER = units.FOREVER
FILE = "retention.toml"
ACTIONS = ("redact-payload", "archive", "trash", "delete", "shred-key")
"""From the weakest to the strongest."""
NEVER = ("pinned", "live", "damaged", "unreadable")
_MOST = 1 << 20
# As printf takes it.
_SMALLEST = r'version = 1\nrule = [{name = "old", expire_after = "1y"}]\n'
# What the schema has for editors, and this module says better.
_SAID_HERE = {"pattern", "minLength", "minItems"}


@dataclass(frozen=True, slots=True)
class Match:
    """Which sessions are meant: those for which all keys hold that are given.

    A key holds if one of its globs matches; one that is empty or None is not given.
    `larger_than` counts bytes; `contains_rule` holds beginnings of codes of findings.
    """

    agent: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    contains_rule: tuple[str, ...] = ()
    larger_than: int | None = None
    encrypted: bool | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """What keeps sessions whatever the rules say, from `since` until before `until`, in UTC."""

    name: str
    match: Match
    reason: str
    by: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """How long sessions must be kept, and after what time they must go; None says nothing."""

    name: str
    match: Match
    retain_for: timedelta | None
    expire_after: timedelta | None
    action: str


@dataclass(frozen=True, slots=True)
class Cap:
    """How many bytes sessions may take together, and which of them go first."""

    name: str
    match: Match
    max_bytes: int
    order: str
    action: str


@dataclass(frozen=True, slots=True)
class Defaults:
    """What counts where no rule says otherwise.

    `max_delete_fraction` is the part of all sessions that one run may remove. `age_from` is where
    the age of a session counts from. `fork` says whether forks have the age of the youngest.
    """

    action: str = "trash"
    grace: timedelta = timedelta(days=14)
    max_delete_fraction: float = 0.25
    clock_tolerance: timedelta = timedelta(days=1)
    age_from: str = "last-activity"
    tombstone: bool = True
    fork: str = "family"


@dataclass(frozen=True, slots=True)
class Protect:
    """What no rule removes: the newest sessions of each project, and sessions in a state."""

    min_keep_per_project: int = 0
    never: tuple[str, ...] = NEVER


@dataclass(frozen=True, slots=True)
class Archive:
    """Where archived sessions go, and whom they are encrypted for."""

    to: Path | None = None
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """All that a policy file says; `sha256` is that of its bytes, in hex.

    `file` is the path that it was read from, None where there is none.
    """

    name: str
    sha256: str
    defaults: Defaults
    protect: Protect
    archive: Archive
    holds: tuple[Hold, ...]
    rules: tuple[Rule, ...]
    caps: tuple[Cap, ...]
    file: Path | None = None


class _Wrong(Exception):  # noqa: N818 - it becomes a ConfigError once the line is known
    """What is wrong, and where."""

    def __init__(self, keys: toml.Keys, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.keys = keys
        self.hint = hint


def default_path() -> Path:
    """Where the user's own policy stands, if there is one."""
    return user_config_path("sesstool") / FILE


def in_use(named: str | None) -> Path | None:
    """The policy file that counts: the one that is named, or else the user's own if it is there."""
    if named:
        return Path(named).expanduser()
    return default_path() if os.path.lexists(default_path()) else None


def chosen(named: Path | str) -> Policy:
    """The policy that counts, as `in_use` finds it. Raises ConfigError, UsageError without one."""
    path = in_use(str(named))
    if path is None:
        place = default_path()
        raise UsageError(
            f"there is no retention policy: neither --policy nor {place}",
            hint=f"this makes one, to be changed: mkdir -p {quoted(place.parent)} && "
            f"printf {quoted(_SMALLEST)} > {quoted(place)}",
        )
    return load(path)


def is_policy(path: Path) -> bool:
    """Whether a file means to be a policy, by its name or its tables. Raises ConfigError."""
    if path.name == FILE:
        return True
    return not toml.parse(_bytes(path), str(path)).keys().isdisjoint(_KEYS)


def load(path: Path) -> Policy:
    """The policy in a file. Raises ConfigError, which names file, line and key."""
    return replace(parse(_bytes(path), str(path)), file=path)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            data = handle.read(_MOST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigError(
            f"cannot read {path}: {reason}",
            hint="check the path, and who may read it; without its policy nothing is removed",
        ) from error
    if len(data) > _MOST:
        raise ConfigError(f"{path} is too large for a policy", hint="name the policy file")
    return data


def parse(data: bytes, name: str) -> Policy:
    """The policy in the bytes of a file, whose name is for messages. Raises ConfigError."""
    document = toml.parse(data, name)
    try:
        _check_keys(document)
        _check_shape(document)
        return _policy(document, name, hashlib.sha256(data).hexdigest())
    except _Wrong as wrong:
        where = toml.dotted(wrong.keys)
        place = f"{name}:{toml.line_of(data, wrong.keys)}: {where}{': ' if where else ''}"
        raise ConfigError(f"{place}{wrong}", hint=wrong.hint) from wrong


_TABLES = {"defaults": Defaults, "protect": Protect, "archive": Archive}
_LISTS = {"hold": Hold, "rule": Rule, "cap": Cap}
_KEYS = ("version", *_TABLES, *_LISTS)


def _check_keys(document: dict[str, Any]) -> None:
    """Refuse keys and tables that are not known; what has the wrong type is left to the schema."""
    _known(document, _KEYS, ())
    for name, kind in _TABLES.items():
        _known(document.get(name), _names(kind), (name,))
    for name, kind in _LISTS.items():
        listed = document.get(name)
        for index, table in enumerate(listed if isinstance(listed, list) else ()):
            _known(table, _names(kind), (name, index))
            if isinstance(table, dict):
                _known(table.get("match"), _names(Match), (name, index, "match"))


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _known(table: Any, names: tuple[str, ...], where: tuple[str | int, ...]) -> None:
    for key in table if isinstance(table, dict) else ():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
            raise _Wrong((*where, key), "unknown key", hint)


def _check_shape(document: dict[str, Any]) -> None:
    """Compare with the schema, which knows dates as text."""
    holds = document.get("hold")
    if isinstance(holds, list):
        holds = [
            {k: _text(k, v) for k, v in h.items()} if isinstance(h, dict) else h for h in holds
        ]
        document = {**document, "hold": holds}
    for violation in RecordValidator.shipped("retention").explain(document):
        if violation.keyword not in _SAID_HERE:
            steps = violation.pointer.split("/")[1:]
            keys = [int(step) if step.isdecimal() else step for step in steps]
            raise _Wrong(keys, violation.message, _HINTS.get(steps[-1] if steps else "", _SCHEMA))


_SCHEMA = "sesstool schema retention tells what may stand there"
_FRACTION = "write a part of all sessions, as in 0.25; 1.0 is all"
_HINTS = {
    "max_delete_fraction": _FRACTION,
    "": "a policy begins with version = 1",
    "version": "this sesstool reads version = 1",
    "hold": "a hold is a table [[hold]] with name and reason",
    "rule": "a rule is a table [[rule]] with name",
    "cap": "a cap is a table [[cap]] with name and max_bytes",
}


def _text(key: str, value: Any) -> Any:
    return value.isoformat() if key in {"since", "until"} and isinstance(value, date) else value


def _policy(document: dict[str, Any], name: str, sha256: str) -> Policy:
    defaults = _defaults(document.get("defaults", {}))
    holds, rules, caps = (document.get(kind, []) for kind in _LISTS)
    for kind in _LISTS:
        _check_names(document.get(kind, []), kind)
    return Policy(
        name,
        sha256,
        defaults,
        _protect(document.get("protect", {})),
        _archive(document.get("archive", {})),
        tuple(_hold(table, ("hold", i)) for i, table in enumerate(holds)),
        tuple(_rule(table, ("rule", i), defaults.action) for i, table in enumerate(rules)),
        tuple(_cap(table, ("cap", i), defaults.action) for i, table in enumerate(caps)),
    )


def _check_names(tables: list[dict[str, Any]], kind: str) -> None:
    """Refuse names that are empty or stand twice: a report could not tell what they mean."""
    seen = set()
    for index, table in enumerate(tables):
        name = _filled(table, "name", (kind, index))
        if name in seen:
            raise _Wrong((kind, index, "name"), f"another {kind} has this name", "give it its own")
        seen.add(name)


def _defaults(table: dict[str, Any]) -> Defaults:
    values = dict(table)
    for key in ("grace", "clock_tolerance"):
        if key in table:
            values[key] = _read(units.duration, table[key], ("defaults", key))
    fraction = table.get("max_delete_fraction", 1.0)
    if not 0 < fraction <= 1:
        raise _Wrong(
            ("defaults", "max_delete_fraction"),
            "is not above 0 and at most 1",
            _FRACTION,
        )
    return Defaults(**values)


def _protect(table: dict[str, Any]) -> Protect:
    kept = int(table.get("min_keep_per_project", 0))  # the schema takes 3.0, too
    return Protect(kept, tuple(table.get("never", NEVER)))


def _archive(table: dict[str, Any]) -> Archive:
    recipients = tuple(table.get("recipients", ()))
    for index, recipient in enumerate(recipients):
        where = ("archive", "recipients", index)
        if is_secret(recipient):
            hint = "take it out, keep it in a file of its own, and give the recipient: age1..."
            raise _Wrong(where, "is a secret key", hint)
        if not recipient.strip():
            raise _Wrong(where, "is empty", "give a recipient, or take it out")
    folder = _filled(table, "to", ("archive",)) if "to" in table else ""
    if folder and not os.path.isabs(expanded := os.path.expanduser(folder)):  # noqa: PTH111, PTH117 - Path may raise
        raise _Wrong(("archive", "to"), "is no absolute path", "begin it with / or ~")
    return Archive(Path(expanded) if folder else None, recipients)


def _hold(table: dict[str, Any], where: tuple[str | int, ...]) -> Hold:
    match = _match(table, where)
    if match.part:
        raise _Wrong((*where, "match", "part"), "a hold keeps whole sessions", "take part out")
    since = _read(units.moment, table["since"], (*where, "since")) if "since" in table else None
    until = _read(units.end, table["until"], (*where, "until")) if "until" in table else None
    if since and until and until <= since:
        raise _Wrong((*where, "until"), "is not after since", "give a later date")
    reason = _filled(table, "reason", where)
    return Hold(table["name"], match, reason, table.get("by", ""), since, until)


def _rule(table: dict[str, Any], where: tuple[str | int, ...], default: str) -> Rule:
    retain, expire = (
        _read(units.duration, table[key], (*where, key)) if key in table else None
        for key in ("retain_for", "expire_after")
    )
    if retain is None and expire is None:
        raise _Wrong(where, "has neither retain_for nor expire_after", "give one, as in 90d")
    if retain is not None and expire is not None and expire < retain:
        raise _Wrong(
            (*where, "expire_after"), "is before retain_for ends", "make it as long, or longer"
        )
    match = _match(table, where)
    return Rule(table["name"], match, retain, expire, _action(table, match, where, default))


def _cap(table: dict[str, Any], where: tuple[str | int, ...], default: str) -> Cap:
    most = _read(units.size, _whole(table["max_bytes"]), (*where, "max_bytes"))
    if not most:
        raise _Wrong((*where, "max_bytes"), "is not above 0", "write a size, as in 20 GB")
    match = _match(table, where)
    if match.part:
        raise _Wrong(
            (*where, "match", "part"), "is of no use: a cap removes sessions", "take it out"
        )
    order = table.get("order", "oldest-activity")
    return Cap(table["name"], match, most, order, _action(table, match, where, default))


def _action(table: dict[str, Any], match: Match, where: tuple[str | int, ...], default: str) -> str:
    """The action, which must be redact-payload for a part, and for nothing else."""
    action: str = table.get("action", default)
    place = (*where, "action") if "action" in table else where
    if action == "redact-payload" and not match.part:
        hint = f"give match.part: {', '.join(PARTS)}"
        raise _Wrong(place, "redact-payload needs a part of a session", hint)
    if match.part and action != "redact-payload":
        hint = 'give action = "redact-payload", or take match.part out'
        raise _Wrong(place, "a part of a session can only be redacted", hint)
    return action


def _match(table: dict[str, Any], where: tuple[str | int, ...]) -> Match:
    values: dict[str, Any] = {}
    for key, value in table.get("match", {}).items():
        place = (*where, "match", key)
        if key == "encrypted":
            values[key] = value
        elif key == "larger_than":
            values[key] = _read(units.size, _whole(value), place)
        else:
            # A list holds its texts as they are, so that one may have a "|".
            texts = value.split("|") if isinstance(value, str) else value
            check = CHECKS.get(key, lambda text: text)
            values[key] = tuple(_read(sound, text.strip(), place) for text in texts)
            values[key] = tuple(_read(check, text, place) for text in values[key])
            if not texts:
                raise _Wrong(place, "is empty", "name something, or take it out")
    return Match(**values)


def _whole(value: float | str) -> int | str:
    """The value; the schema takes 5.0 for an integer, too."""
    return int(value) if isinstance(value, float) else value


def _read(read: Callable[[Any], T], value: Any, where: toml.Keys) -> T:
    """What `read` makes of a value. Raises _Wrong with its place."""
    try:
        return read(value)
    except UsageError as error:
        raise _Wrong(where, error.message, error.hint) from error


def _filled(table: dict[str, Any], key: str, where: tuple[str | int, ...]) -> str:
    text: str = table[key]
    if not text.strip() or not text.isprintable():
        raise _Wrong((*where, key), "is empty or holds a control character", "write some words")
    return text
