"""A hash-chained file of JSON lines in the state folder: added to, read, and verified.

Each line is an object that holds the SHA-256 of the line before it, so a line that is changed,
removed or put in between breaks the chain. For the end there is the head: a small file with
number and hash of the newest line. Who rewrites the lines and the head together is not found:
that proves only a copy of the newest number and hash, kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.audit.disk import make, make_folder, private, reason, sync_folder, write
from sesstool.errors import InputError, WriteError
from sesstool.version import __version__

Line = dict[str, Any]
_WAIT = 5.0
# More than two of the longest lines: a path and a set of rule codes bound a line.
_TAIL = 1 << 17
# Far less than a sector, so that no crash tears it when it is written in place.
_RECORD = re.compile(rb"([0-9]{20}) ([0-9a-f]{64})\n")
_NONE = "0" * 64


class Batch(NamedTuple):
    """Lines that were written at once: the number before the first, and how many they are."""

    before: int
    size: int


class Head(NamedTuple):
    """The newest line by the head: 0 where there was none. `fault` is why it cannot be told."""

    seq: int
    digest: str
    fault: str = ""

    def __str__(self) -> str:
        """As it is kept elsewhere: SEQ:DIGEST."""
        return f"{self.seq}:{self.digest}"


@dataclass(slots=True)
class Check:
    """What verifying told. `expected` are those of the newest lines asked for that were found.

    `newest` is the SEQ:DIGEST to keep elsewhere, "" where there is no line. `ahead` says that the
    head lacks what was added last, as where a run is killed right behind that.
    """

    lines: int = 0
    newest: str = ""
    ahead: bool = False
    expected: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chain:
    """One such file: `name`.jsonl, with `name`.head and `name`.lock. `title` is for messages."""

    name: str
    title: str

    @property
    def file(self) -> str:
        """The name of the file with the lines."""
        return f"{self.name}.jsonl"

    def ready(self, state: Path) -> None:
        """Raise WriteError where no line could be added: a change must not come before its line."""
        with self.held(state) as path:
            os.close(_opened(path))

    def append(self, state: Path, rows: Sequence[Line]) -> None:
        """Add lines with these members, all or none, and return when they are on disk.

        Raises WriteError, which leaves the file as it was.
        """
        if rows:
            with self.held(state) as path:
                _append(path, rows)

    def read(self, state: Path, damaged: list[int] | None = None) -> Iterator[Line]:
        """The lines that can be read, oldest first; `verify` tells of the others.

        What a crash left of lines that were written at once is none. The numbers of lines that
        cannot be read are added to `damaged`. Raises InputError.
        """
        known = self.head(state).seq
        waiting: list[Line] = []
        for number, line in self._lines(state):
            value = _decoded(line)
            if value is None:
                if damaged is not None:
                    damaged.append(number)
                continue
            if waiting and batch_of(value) != batch_of(waiting[0]):
                yield from waiting
                waiting.clear()
            if batch_of(value):
                waiting.append(value)
            else:
                yield value
        if not _broken_off(waiting, known):
            yield from waiting

    def verify(self, state: Path) -> list[str]:
        """What is wrong, one sentence a problem; empty where all is whole. Raises InputError."""
        return self.check(state).problems

    def check(self, state: Path, expect: Collection[str] = ()) -> Check:
        """Verify the file, and look for lines by the SEQ:DIGEST of each. Raises InputError.

        What was added at once beyond the head is whole: a crash came before that was on disk.
        """
        size = self._size(state)  # first: of what is there now the head lacks one addition
        head = self.head(state)
        done = Check()
        named = head == Head(0, _NONE)
        beyond = set[Batch | int]()
        previous, expected = "", 1
        newest: list[Line] = []
        for number, line in self._lines(state):
            value, done.lines = _decoded(line), number
            told = None
            size -= len(line)
            if named and size >= 0:
                beyond.add((batch_of(value) if value else None) or number)
            if value is None:
                what = "is damaged" if line.endswith(b"\n") else "is cut off"
                done.problems.append(f"line {number} {what}")
            else:
                done.problems += _faults(number, value, previous, expected)
                expected = value["seq"] + 1
                told = Head(value["seq"], digest(line))
                named = named or told == head
                if newest and batch_of(value) != batch_of(newest[0]):
                    newest.clear()
                if batch_of(value):
                    newest.append(value)
            previous = digest(line)
            done.newest = str(told or Head(number, previous))
            done.expected.update({done.newest}.intersection(expect))
        if _broken_off(newest, head.seq):
            done.problems.append(f"line {done.lines} is not the last of those written with it")
        if head.fault:
            if done.lines or head.fault == "damaged":
                what = f"lines behind line {done.lines} may be missing"
                done.problems.append(f"{self.name}.head is {head.fault}: {what}")
        elif len(beyond) > 1:
            what = "were added since: a run that is killed leaves no more than one"
            done.problems.append(
                f"{self.name}.head names line {head.seq}, and {len(beyond)} {what}"
            )
        elif not named:
            what = "is missing" if head.seq >= expected else "is not the one that was written"
            done.problems.append(f"line {head.seq} {what}: {self.name}.head tells of it")
        done.ahead = len(beyond) == 1
        return done

    @contextmanager
    def held(self, state: Path) -> Iterator[Path]:
        """The path of the lines, while no other process adds to them."""
        from filelock import FileLock  # noqa: PLC0415 - 5 MB, and reading needs no lock

        path = state / self.file
        try:
            make_folder(state)
            with FileLock(state / f"{self.name}.lock", timeout=_WAIT, mode=0o600):
                yield path
        except OSError as error:
            raise WriteError(
                f"cannot add to the {self.title} {path}: {reason(error)}",
                hint=f"make the {self.title} writable and see that the disk has space",
            ) from error

    def head(self, state: Path) -> Head:
        """The newest line by the head. Raises InputError."""
        path = state / self.file
        try:
            return _head(path)
        except OSError as error:
            raise InputError(f"cannot read {path.with_suffix('.head')}: {reason(error)}") from error

    def _size(self, state: Path) -> int:
        """The size of the file in bytes, 0 where there is none. Raises InputError."""
        try:
            return (state / self.file).stat().st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise InputError(f"cannot read the {self.title}: {reason(error)}") from error

    def _lines(self, state: Path) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers from 1; none where no file is."""
        path = state / self.file
        try:
            with path.open("rb") as handle:
                yield from enumerate(handle, start=1)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"cannot read the {self.title} {path}: {reason(error)}") from error


def origin() -> Line:
    """Who runs this process, by the system's account and not by the environment, and where."""
    return {"actor": _actor(), "host": platform.node(), "version": __version__}


def digest(line: bytes) -> str:
    """The hash by which the next line and the head know a line."""
    return hashlib.sha256(line.removesuffix(b"\n")).hexdigest()


def batch_of(line: Line) -> Batch | None:
    """The lines that a line was written with; None for one that was written alone."""
    match line.get("batch"):
        case [int(number), int(size)]:
            return Batch(line["seq"] - number, size)
    return None


def _faults(number: int, line: Line, previous: str, expected: int) -> Iterator[str]:
    """What is wrong with a line that can be read."""
    if line.get("prev") != previous:
        yield f"line {number} does not continue the line before it"
    if line["seq"] != expected:
        yield f"line {number} has number {line['seq']}, not {expected}"
    if fault := line.get("head"):
        what = f"was {fault}" if fault in ("missing", "damaged") else "named a line that is missing"
        yield f"line {number} tells that the head {what} when it was added"


def _broken_off(lines: Sequence[Line], known: int) -> bool:
    """Whether a crash kept some of the newest lines, written at once, from the disk.

    `known` is the number up to which all are known to have been there.
    """
    batch = batch_of(lines[-1]) if lines else None
    return batch is not None and len(lines) < batch.size and lines[-1]["seq"] > known


def _append(path: Path, rows: Sequence[Line]) -> None:
    """Write the lines that continue the chain. The caller holds the lock."""
    descriptor = _opened(path)
    try:
        head = _head(path)
        size, tail = _end(descriptor, head.seq)
        os.ftruncate(descriptor, size)
        whole = (value["seq"] for line in reversed(tail) if (value := _decoded(line)))
        last = Head(next(whole, 0), digest(tail[-1]) if tail else _NONE)
        fault = head.fault
        if not fault and head not in (last, Head(0, _NONE)) and not _holds(path, head):
            fault = str(head)
        lines, newest = _continued(last, rows, fault)
        if not fault and head != last:
            with suppress(OSError):  # so that a run of kills leaves the head one addition behind
                _point(path, last)
        try:
            write(descriptor, b"".join(lines))
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
    if not size:
        sync_folder(path)  # the name of a new file is on disk only when its folder is
    with suppress(OSError):  # the lines are on disk, and a head that lags behind is only weaker
        if head.fault:
            make(path.with_suffix(".head"), _record(newest))
        else:
            _point(path, newest)


def _continued(last: Head, rows: Sequence[Line], fault: str) -> tuple[list[bytes], Head]:
    """The lines behind the last one, and the head for them.

    That the head was at fault stands in the first: who cut the end off and took the head away
    would else only have to wait for the next line.
    """
    now = datetime.now(UTC).isoformat()
    lines = []
    for number, row in enumerate(rows, start=1):
        value = {
            "seq": last.seq + 1,
            "time": now,
            **row,
            **({"head": fault} if fault and number == 1 else {}),
            **({"batch": [number, len(rows)]} if len(rows) > 1 else {}),
            "prev": last.digest if last.digest != _NONE else "",
        }
        lines.append(json.dumps(value).encode() + b"\n")
        last = Head(last.seq + 1, digest(lines[-1]))
    return lines, last


def _opened(path: Path) -> int:
    """The file, open for lines to be added; one that is made has its head first."""
    if not (path.exists() and path.stat().st_size) and _head(path).fault == "missing":
        make(path.with_suffix(".head"), _record(Head(0, _NONE)))  # before any line is
    return private(path, os.O_RDWR | os.O_APPEND)


def _end(descriptor: int, known: int) -> tuple[int, list[bytes]]:
    """How many bytes count, and some of the last lines of them.

    A power cut tore what is behind them before anybody was told of it. `known` is the number up
    to which all lines were on disk.
    """
    size, window = os.fstat(descriptor).st_size, _TAIL
    while True:
        start = max(size - window, 0)
        lines = os.pread(descriptor, size - start, start).split(b"\n")
        end = size - len(lines.pop())
        lines = [line + b"\n" for line in lines]
        while lines and b"\0" in lines[-1]:
            end -= len(lines.pop())
        batch = _batch(lines[-1]) if lines else None
        if batch:
            same = [_batch(line) == batch for line in lines]
            newest = [_decoded(line) or {} for line in compress(lines, same)]
            if _broken_off(newest, known):
                while lines and (b"\0" in lines[-1] or same[len(lines) - 1]):
                    end -= len(lines.pop())
        if not start:
            return end, lines
        if len(lines) > 1:  # the first may have begun before
            return end, lines[1:]
        window *= 2


def _batch(line: bytes) -> Batch | None:
    value = _decoded(line)
    return batch_of(value) if value else None


def _holds(path: Path, head: Head) -> bool:
    """Whether the line that a head names is there."""
    with path.open("rb") as lines:
        return any(
            digest(line) == head.digest and (_decoded(line) or {}).get("seq") == head.seq
            for line in lines
        )


def _head(path: Path) -> Head:
    """The head of a file of lines. Raises OSError."""
    try:
        with path.with_suffix(".head").open("rb") as handle:
            found = _RECORD.fullmatch(handle.read(1000))
    except FileNotFoundError:
        return Head(0, _NONE, "missing")
    if found is None:
        return Head(0, _NONE, "damaged")
    return Head(int(found[1]), found[2].decode())


def _point(path: Path, newest: Head) -> None:
    """Have the head name the newest line, and be on disk as that is."""
    descriptor = private(path.with_suffix(".head"), os.O_WRONLY)
    try:
        os.pwrite(descriptor, _record(newest), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _record(head: Head) -> bytes:
    return b"%020d %s\n" % (head.seq, head.digest.encode())


def _actor() -> Line:
    try:
        import pwd  # noqa: PLC0415 - not on Windows
    except ImportError:
        return {"uid": None, "login": ""}
    uid = os.getuid()
    try:
        return {"uid": uid, "login": pwd.getpwuid(uid).pw_name}
    except KeyError:
        return {"uid": uid, "login": ""}


def _decoded(line: bytes) -> Line | None:
    """The object on a whole line, or None where the line is none of ours."""
    if not line.endswith(b"\n"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or type(value.get("seq")) is not int:
        return None
    return value if 0 < value["seq"] < 1 << 63 else None  # longer ones cannot even be printed
