"""Where a command's result goes, and what it says while it works."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from sesstool import api
from sesstool.cli.common import Common, err, out_stream
from sesstool.cli.main import close_stdout
from sesstool.errors import SesstoolError, UsageError, WriteError
from sesstool.records import convert
from sesstool.records.source import SEALED
from sesstool.records.undo import State
from sesstool.records.write import create, real_path
from sesstool.text import quoted

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


@contextmanager
def destination(shared: Common) -> Iterator[BinaryIO]:
    """Stdout, or the file of -o: a new one, whole or not at all."""
    if shared.output is None or str(shared.output) == "-":
        yield out_stream()
        return
    kept = io.BytesIO()
    yield kept
    create(shared.output, [kept.getvalue()])


def poured(shared: Common, parts: Iterable[bytes], *, force: bool = False) -> None:
    """Write the result part by part to stdout or to the file of -o, whole or not at all."""
    if shared.output is None or str(shared.output) == "-":
        out_stream().writelines(parts)
    else:
        create(shared.output, parts, force=force)


def printed(shared: Common, text: str, *, ran: bool) -> OSError | SesstoolError | None:
    """Write the result; why it could not be written, where that takes back nothing that `ran`."""
    try:
        with destination(shared) as out:
            out.write(text.encode())
            out.flush()
    except (OSError, SesstoolError) as error:
        if not ran:
            raise
        if isinstance(error, OSError):
            close_stdout()
        return error
    return None


def unprinted(shared: Common, failed: OSError | SesstoolError | None) -> int:
    """Tell what `printed` returned, behind the summary of what was done; the exit code."""
    if failed is None:
        return 0
    if isinstance(failed, BrokenPipeError):
        raise failed
    why = failed.message if isinstance(failed, SesstoolError) else str(failed.strerror).lower()
    told = f"what was to be done is done, and only the output failed: {why}"
    return tell(shared, WriteError(told, hint="sesstool audit show tells of each file"))


def refuse_report(path: Path, *endings: str, force: bool | None = None) -> None:
    """Refuse before the work a report that could not be written after it.

    Raises UsageError and WriteError.
    """
    if path.suffix.lower() not in endings:
        *some, last = endings
        either = f"neither {', '.join(some)} nor {last}" if some else f"not {last}"
        raise UsageError(f"the report {path} is {either}", hint="its name says what it is to be")
    refuse_taken(path, force=force)


def refuse_taken(path: Path, *, force: bool | None = None) -> None:
    """Refuse before the work a new file that could not be made after it.

    `force` is None where the command has no --force. Raises WriteError.
    """
    if os.path.lexists(path) and not force:
        hint = "choose another name" + ("" if force is None else ", or add --force")
        raise WriteError(f"cannot write {path}: it exists already", hint=hint)
    refuse_nowhere(path)


def refuse_output(shared: Common) -> None:
    """The same for the file of -o, of a command that has no --force."""
    if shared.output is not None and str(shared.output) != "-":
        refuse_taken(shared.output)


def refuse_inputs(path: Path, *inputs: Path | str) -> None:
    """Refuse a file to be replaced that is read: a session is all that there is of it.

    "-" is what stands behind standard input. Raises UsageError.
    """
    for name in inputs:
        there = "/dev/stdin" if str(name) == "-" else str(name)
        if os.path.exists(path) and os.path.exists(there) and os.path.samefile(path, there):  # noqa: PTH110, PTH121 - Path.exists may raise
            raise UsageError(f"{path} is what is read", hint="name a new file with -o")


def refuse_nowhere(path: Path) -> None:
    """Refuse a file to be made in a folder that is not there. Raises WriteError."""
    folder = real_path(path).parent
    if not folder.is_dir():
        raise WriteError(
            f"cannot write {path}: there is no folder {path.parent}",
            hint=f"mkdir -p {quoted(path.parent)}",
        )


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


@cache
def lean_heap() -> None:
    """Have glibc give blocks over 1 MB back when they are freed.

    It would keep all that are below the largest so far, and scatter what stays among them: for
    1 GB of records that is a quarter of the memory. The end of the heap is kept up to 4 MB, else
    each chunk that is read gets its pages from the kernel anew.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - help needs no heap

        with suppress(AttributeError, OSError):  # another C library
            heap = ctypes.CDLL(None)
            heap.mallopt(_MMAP_THRESHOLD, 1 << 20)
            heap.mallopt(_TRIM_THRESHOLD, 4 << 20)


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


def tell(shared: Common, error: SesstoolError) -> int:
    """Show an error about one of several files; returns its exit code."""
    err(f"sesstool: error: {error.message}")
    if error.hint and shared.verbosity > 0:
        err(f"sesstool: hint: {error.hint}")
    return error.exit_code


def piped() -> tuple[str, ...]:
    """Standard input as the only path, where it is no terminal. Raises UsageError."""
    if sys.stdin.isatty():
        raise UsageError("no session is given", hint="give a path, a folder, or a session id")
    return ("-",)
