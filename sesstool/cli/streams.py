"""The sessions that a command is given, and what it says while it works on them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from sesstool import api
from sesstool.cli.common import Common
from sesstool.cli.outputs import tell
from sesstool.errors import SesstoolError, UsageError
from sesstool.heap import lean_heap
from sesstool.records import convert
from sesstool.records.source import SEALED
from sesstool.records.undo import State
from sesstool.text import quoted


def refuse_inputs(path: Path, *inputs: Path | str) -> None:
    """Refuse a file to be replaced that is read: a session is all that there is of it.

    "-" is what stands behind standard input. Raises UsageError.
    """
    for name in inputs:
        there = "/dev/stdin" if str(name) == "-" else str(name)
        if os.path.exists(path) and os.path.exists(there) and os.path.samefile(path, there):  # noqa: PTH110, PTH121 - Path.exists may raise
            raise UsageError(f"{path} is what is read", hint="name a new file with -o")


def found(shared: Common, names: Iterable[str], codes: list[int]) -> Iterator[Path | str]:
    """The sessions that the user means; a name that means none is told, and the rest goes on."""
    for name in names:
        try:
            yield from api.find([name])
        except SesstoolError as error:
            codes.append(tell(shared, error))


def single(name: str) -> Path | str:
    """The one session that a name means. Raises UsageError where it means several."""
    first, *others = islice(api.find([name]), 2)
    if others:
        raise UsageError(
            f"{name} holds more than one session", hint=f"name one of them, such as {quoted(first)}"
        )
    return first


def size_of(path: Path | str) -> int:
    """The size of a file in bytes, 0 of what is none."""
    # Not Path.is_file: of a folder that cannot be searched it raises OSError.
    return os.path.getsize(path) if os.path.isfile(path) else 0  # noqa: PTH113, PTH202 - Path may raise


def encrypted(path: Path | str) -> bool:
    """Whether a file is encrypted; one that cannot be read is not."""
    try:
        return isinstance(path, Path) and api.is_encrypted(path)
    except SesstoolError:
        return False


@contextmanager
def watched(shared: Common, path: Path | str) -> Iterator[Callable[[int], None]]:
    """Show how far a file was read; yields what takes byte offsets."""
    lean_heap()
    with shared.progress(size_of(path), Path(path).name) as bar:
        at = 0

        def advance(offset: int) -> None:
            nonlocal at
            if offset > at:
                bar.advance(offset - at)
            at = offset

        yield advance


_ENDS = {
    State.VOID: "the file is as before it",
    State.DONE: "the file is its result",
    State.UNDONE: "the file is as before it",
}


def settled(shared: Common, path: Path | str, *, ignore_live: bool) -> None:
    """Bring to an end what a crash broke off of the changes of a file, and say how it stands."""
    converted(shared, path)
    for entry in api.settle(path, ignore_live=ignore_live):
        end = _ENDS.get(entry.state, "the file was changed since, and is left alone")
        undo = f"; undo: sesstool undo {entry.id}" if entry.state is State.DONE else ""
        shared.note(f"{path}: {entry.command} {entry.id} was broken off: {end}{undo}")


def converted(shared: Common, path: Path | str) -> bool:
    """The same of its encryption or decryption; whether there was such a thing."""
    done = convert.settle(api.state_folder(), Path(path))
    if done is not None:
        end = "it was brought to its end" if done.done else "what it began with is as before"
        shared.note(f"{path}: {done.command} was broken off: {end}")
    return done is not None


def noted(target: Path | None, *sources: Path | str) -> None:
    """Have the log tell of a new file that holds the text of sessions: encrypt names it."""
    if target is not None and str(target) != "-":
        api.note_copy(target, *sources)


def kept_sealed(source: Path | str) -> str:
    """What is said of a file that is written encrypted, since it was made of such a one."""
    return ", encrypted for the same recipients" if str(source).endswith(SEALED) else ""


def piped() -> tuple[str, ...]:
    """Standard input as the only path, where it is no terminal. Raises UsageError."""
    if sys.stdin.isatty():
        raise UsageError("no session is given", hint="give a path, a folder, or a session id")
    return ("-",)
