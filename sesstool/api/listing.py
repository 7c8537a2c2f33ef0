"""The sessions of this computer, to be listed: which there are, and what is known of each.

`library/arrange.py` sorts, filters and counts them.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from sesstool import api
from sesstool.checks.engine import Progress
from sesstool.errors import (
    AuthError,
    InputError,
    NoMatchError,
    NotASessionError,
    StalePlanError,
    UsageError,
)
from sesstool.findings import Applicability, FileReport, Severity
from sesstool.library.discover import Item, discover
from sesstool.library.glance import Glance, look
from sesstool.records.opening import holder_of
from sesstool.records.processes import one_look

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_MOST = 10_000
_Stamp = tuple[int, int, int]


def sessions(names: Iterable[str] = ()) -> Iterator[Item]:
    """The sessions that names mean, without opening them; by default those of all agents.

    A name is a path, a folder, or the id of a session or a unique beginning of one. Raises
    InputError where there is nothing of the name, UsageError for what is no name.
    """
    names = list(names)
    yield from discover([_path(name) for name in names] if names else None)


def _path(name: str) -> Path:
    if name == "-":
        raise UsageError("standard input is in no list", hint="give a path, a folder or an id")
    if os.path.lexists(name):
        return Path(name)
    path = Path(next(iter(api.find([name]))))
    if not os.path.lexists(path) and not holder_of(path):
        raise InputError(f"cannot open {path}: no such file", hint="check the path")
    return path


@dataclass(frozen=True, slots=True)
class Examined:
    """What all the rules say about a session, in counts.

    `state` is "ok", "repairable" where a plain repair leaves no error, "damaged" where it does;
    else as a glance has it. `why` names the errors, or the reason. `safe` and `unsafe` count fixes.
    """

    state: str
    why: str = ""
    errors: int = 0
    warnings: int = 0
    information: int = 0
    safe: int = 0
    unsafe: int = 0
    records: int = -1


class _Held(NamedTuple):
    """What is kept of a session; `stamp` tells for which of its bytes."""

    stamp: _Stamp
    facts: Glance
    examined: Examined | None
    shown: Glance


class Glances:
    """What was seen of sessions, in memory only: of the `most` that were looked at last.

    Several threads may ask it. `keys` open encrypted sessions; they must not ask for a passphrase.
    """

    def __init__(self, keys: Keys | None = None, most: int = _MOST) -> None:
        """Know nothing yet."""
        self._keys = keys
        self._most = most
        self._seen: OrderedDict[str, _Held] = OrderedDict()
        self._lock = Lock()

    def known(self, item: Item) -> Glance | None:
        """What was seen of a session, however long ago; no file is looked at."""
        held = self._seen.get(_name(item))
        return held.shown if held else None

    def examined(self, item: Item) -> Examined | None:
        """What `examine` said of a session, however long ago; no file is looked at."""
        held = self._seen.get(_name(item))
        return held.examined if held else None

    def of(self, item: Item) -> Glance:
        """What there is to see of a session now. Its file is read where it has changed.

        The state is that of `examine` where that was done since the file changed. Never raises.
        """
        stamp = _stamp(item)
        held = self._seen.get(_name(item))
        if held is None or held.stamp != stamp:
            return self._keep(item, stamp, look(item, self._keys), None)
        return self._keep(item, stamp, held.facts, held.examined)

    def page(self, items: Iterable[Item]) -> list[Glance]:
        """The same of several; processes are looked at once."""
        with one_look():
            return [self.of(item) for item in items]

    def examine(self, item: Item, progress: Progress | None = None) -> Examined:
        """Have all rules look at a session. Never raises, but for what `progress` raises.

        It is read whole; `progress` is told byte offsets.
        """
        stamp = _stamp(item)
        examined = _examine(item, self._keys, progress)
        self._keep(item, stamp, look(item, self._keys), examined)
        return examined

    def _keep(self, item: Item, stamp: _Stamp, facts: Glance, examined: Examined | None) -> Glance:
        """Keep what was seen; gives what is to be shown: who writes now counts first."""
        writer = "" if item.trouble else _writer(item)
        shown = facts
        if writer:
            shown = facts._replace(state="in use", why=writer)
        elif examined is not None:
            shown = facts._replace(state=examined.state, why=examined.why)
        with self._lock:
            self._seen[_name(item)] = _Held(stamp, facts, examined, shown)
            self._seen.move_to_end(_name(item))
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)
        return shown


def _name(item: Item) -> str:
    return f"{item.folder}{os.sep}{item.name}"


def _stamp(item: Item) -> _Stamp:
    """What changes with a file."""
    try:
        now = item.path.stat()
    except NotADirectoryError:
        return (0, item.size, item.mtime)  # of the rows in a database
    except OSError:
        return (0, 0, 0)
    return (now.st_ino, now.st_size, now.st_mtime_ns)


def _writer(item: Item) -> str:
    """Who is writing to a session, in a few words, "" for nobody."""
    try:
        return api.in_use(item.path)
    except InputError:
        return ""


def _examine(item: Item, keys: Keys | None, progress: Progress | None) -> Examined:
    if item.trouble:
        return Examined("unreadable", item.trouble)
    try:
        report = api.validate(item.path, progress=progress, keys=keys)
        left = report.count(Severity.ERROR)
        if left and report.fixable(Applicability.SAFE):
            after = api.repair(item.path, progress=progress, keys=keys).outcome.after
            left = after.count(Severity.ERROR)
    except NotASessionError as error:
        return Examined("unknown", error.message)
    except (NoMatchError, UsageError) as error:  # the latter is about the keys
        return Examined("encrypted", error.message)
    except AuthError as error:
        return Examined("damaged", error.message)
    except (InputError, StalePlanError) as error:
        return Examined("unreadable", error.message)
    return _counts(report, left)


def _counts(report: FileReport, left: int) -> Examined:
    """What a report says; `left` counts the errors that a plain repair leaves."""
    errors = report.count(Severity.ERROR)
    names = (f"{f.code} {f.name}" for f in report.findings if f.severity is Severity.ERROR)
    state = "damaged" if left else "repairable" if errors else "ok"
    return Examined(
        state if report.size else "empty",
        ", ".join(dict.fromkeys(names)) or "no error is found",
        errors,
        report.count(Severity.WARNING),
        report.count(Severity.INFORMATION),
        report.fixable(Applicability.SAFE),
        report.fixable(Applicability.UNSAFE),
        report.records,
    )
