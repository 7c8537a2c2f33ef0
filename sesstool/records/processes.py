"""The processes of this computer: which there are, what they run, and since when.

Nothing here waits. Where the system does not tell, as on macOS and Windows, no process is seen, and
only whether a number is in use can be asked.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_DEAD = "ZX"
# A process may seem to begin so many seconds after what it wrote, for clocks are set.
_SLACK = 300.0
# These run the script that their first argument names.
_RUNTIME = re.compile(r"node|nodejs|bun|deno|python[\d.]*")
_ENDING = re.compile(r"\.(?:[cm]?js|exe|py)$")


class Process(NamedTuple):
    """A process that can be seen.

    `parent` is the number of the one that started it, `names` what it is called: its own name, that
    of its program, and that of its script. `words` is its command line, `folder` where it runs,
    `began` when it did, in seconds since 1970.
    """

    pid: int
    parent: int
    names: frozenset[str]
    words: tuple[str, ...]
    folder: str
    began: float


_seen: ContextVar[dict[int, Process] | None] = ContextVar("_seen", default=None)


def process_alive(pid: int, started: str | None = None) -> bool:
    """Whether the process runs; a zombie does not.

    `started` is its start time as in field 22 of /proc/PID/stat: another process that has the
    number now is not the one asked for. It counts only where /proc tells it.
    """
    if pid <= 0:
        return False
    fields = _stat(pid)
    if not fields:
        return _answers(pid)
    return fields[0] not in _DEAD and started in (None, fields[19])


def still_there(pid: int, note: Path, started: str | None = None) -> bool:
    """Whether the process that wrote its number into a file, or into its name, still runs.

    Numbers are given again: where the file does not tell when it `started`, a process that began
    well after the file was last written is another one, and so is one that has no command line, as
    parts of the system have none. In doubt it is there.
    """
    if not process_alive(pid, started):
        return False
    fields = _stat(pid)
    if not fields or started is not None:
        return True
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes()
        return bool(words) and _began(fields) <= note.stat().st_mtime + _SLACK
    except OSError:
        return True


def machine_started() -> float | None:
    """When this computer was last started, in seconds since 1970; None where nothing tells."""
    try:
        text = (_PROC / "stat").read_text()
    except OSError:
        return None
    told = next((line.split()[1] for line in text.splitlines() if line.startswith("btime ")), "")
    return float(told) if told else None


def start_time(pid: int) -> str | None:
    """When a process began, as field 22 of /proc/PID/stat has it; None where nothing tells."""
    fields = _stat(pid)
    return fields[19] if fields else None


def all_processes() -> dict[int, Process]:
    """All that can be seen by their numbers; none where the system does not tell."""
    seen = _seen.get()
    return dict(_processes()) if seen is None else seen


def processes(*names: str, but: Iterable[int] = ()) -> Iterator[Process]:
    """The processes that have one of these names, without those that such a one started itself.

    Nor are those among them whose numbers are in `but`, or which started such a one.
    """
    every = all_processes()
    found = {pid: one for pid, one in every.items() if not one.names.isdisjoint(names)}
    known = set[int]()
    for pid in but if found else ():
        known.update(_line(every, pid))
    for pid, one in found.items():
        if one.parent not in found and pid not in known:
            yield one


def started_by(pid: int) -> Iterator[Process]:
    """All the processes that one started, and those that they did."""
    every = all_processes()
    return (one for one in every.values() if one.pid != pid and pid in _line(every, one.pid))


def _line(every: Mapping[int, Process], pid: int) -> Iterator[int]:
    """The number of a process, of the one that started it, and so on."""
    while (one := every.get(pid)) is not None:
        yield pid
        pid = one.parent if one.parent != pid else 0


@contextmanager
def one_look() -> Iterator[None]:
    """Inside the block processes are looked at once, for who asks about thousands of sessions."""
    token = _seen.set(dict(_processes()))
    try:
        yield
    finally:
        _seen.reset(token)


def _processes() -> Iterator[tuple[int, Process]]:
    for place in _PROC.glob("[0-9]*"):
        with suppress(OSError):  # it ended, or belongs to another user
            pid = int(place.name)
            fields = _stat(pid)
            if not fields or fields[0] in _DEAD:
                continue
            line = (place / "cmdline").read_bytes().decode("utf-8", "replace")
            words = tuple(filter(None, line.split("\0")))
            names = _names((place / "comm").read_text().strip(), words)
            folder = str((place / "cwd").readlink())
            yield pid, Process(pid, int(fields[1]), names, words, folder, _began(fields))


def _names(own: str, words: tuple[str, ...]) -> frozenset[str]:
    """What a process is called, by its own name and its command line."""
    found = {own}
    if words:
        program = _bare(words[0])
        found.add(program)
        if _RUNTIME.fullmatch(program):
            found.add(_bare(next((word for word in words[1:] if not word.startswith("-")), "")))
    return frozenset(found)


def _bare(word: str) -> str:
    return _ENDING.sub("", word.rpartition("/")[2])


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name, nothing where it cannot be read."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    # The name before the last parenthesis may itself hold blanks and parentheses.
    return text.rpartition(")")[2].split()


def _began(fields: list[str]) -> float:
    """When a process began, in seconds since 1970, by its fields."""
    after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + after_boot


def _answers(pid: int) -> bool:
    """Whether a process has this number, asked with the signal that does nothing."""
    if os.name == "nt":
        return True  # there it would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it belongs to another user
    return True
