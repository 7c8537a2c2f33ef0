"""Where a command writes: stdout or a file, and what is refused before anything is written."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sesstool.cli.common import Common, err, out_stream
from sesstool.cli.main import close_stdout
from sesstool.errors import SesstoolError, UsageError, WriteError
from sesstool.records.write import create, real_path
from sesstool.text import quoted


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


def refuse_nowhere(path: Path) -> None:
    """Refuse a file to be made in a folder that is not there. Raises WriteError."""
    folder = real_path(path).parent
    if not folder.is_dir():
        raise WriteError(
            f"cannot write {path}: there is no folder {path.parent}",
            hint=f"mkdir -p {quoted(path.parent)}",
        )


def tell(shared: Common, error: SesstoolError) -> int:
    """Show an error about one of several files; returns its exit code."""
    err(f"sesstool: error: {error.message}")
    if error.hint and shared.verbosity > 0:
        err(f"sesstool: hint: {error.hint}")
    return error.exit_code
