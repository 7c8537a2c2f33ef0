"""`sesstool memory`: what a session was about and how it stands, also while it goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import click

from sesstool.api.remembering import Remembered
from sesstool.cli.common import Common, common, out_stream
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination, refuse_output
from sesstool.cli.streams import noted, single, watched
from sesstool.cli.validate import format_option
from sesstool.errors import InputError, UsageError
from sesstool.store.recall import remarks_on, sections
from sesstool.text import safe

_POLL = 0.5
# What changes with every record, and while one is half written.
_COUNTS = ("records", "line", "unread")


@click.command("memory")
@common("text", "json")
@click.argument("path")
@click.option(
    "--follow",
    is_flag=True,
    help="Go on, and print it again whenever it changes, until Ctrl-C; with -f json one line each.",
)
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    follow: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Tell what a session was about and how it stands.

    That is its goal, what is to do, the calls without a result, what was verified, failed, decided
    and done, each with the line that it is drawn from. How far a session was read is kept in your
    cache folder, without any text of it.
    """
    refuse_output(shared)
    found = single(path)
    if follow and (found == "-" or shared.output is not None):
        raise UsageError("--follow looks at a file and prints", hint="give its path, and no -o")
    keys = keys_of(shared, identities, passphrase_fd)

    def note(said: str) -> None:
        if shared.verbosity > 1:
            shared.note(f"{found}: {said}")

    seen = Remembered(found, format_name=format_name or "", keys=keys, note=note)
    with watched(shared, found) as advance:
        seen.update(advance)
    if follow:
        _follow(shared, seen, found)
    with destination(shared) as out:
        out.write(_told(shared, found, seen.memory.as_dict(), indent=2))
    noted(shared.output, found)
    return 0


def _follow(shared: Common, seen: Remembered, path: Path | str) -> NoReturn:
    """Print the memory whenever it changes, for ever."""
    before: dict[str, Any] = {}
    while True:
        told = seen.memory.as_dict()
        now = {name: value for name, value in told.items() if name not in _COUNTS}
        if now != before:
            apart = b"\n" if before and shared.output_format == "text" else b""
            out_stream().write(apart + _told(shared, path, told, indent=None))
            out_stream().flush()
        before = now
        _wait(shared, seen, path)


def _wait(shared: Common, seen: Remembered, path: Path | str) -> None:
    """Wait for something new, and read it. What keeps it from being read is told once."""
    trouble = ""
    while True:
        time.sleep(_POLL)
        try:
            if seen.changed():
                if not seen.update():
                    shared.note(f"{path} was rewritten: it is read from its beginning")
                return
        except (OSError, InputError) as error:
            said = error.message if isinstance(error, InputError) else f"{path} is gone"
            if said != trouble:
                shared.note(f"{said}; waiting for it")
            trouble = said


def _told(shared: Common, path: Path | str, told: dict[str, Any], indent: int | None) -> bytes:
    """The memory in the output format that was chosen."""
    if shared.output_format == "json":
        value = {"schema_version": 1, "path": str(path)} | told
        return (json.dumps(value, indent=indent) + "\n").encode()
    return "".join(f"{line}\n" for line in _lines(str(path), told)).encode()


def _lines(path: str, told: dict[str, Any]) -> Iterator[str]:
    yield f"{safe(path)}: {told['format']}, {told['records']:,} records"
    for part in sections(told):
        yield f"\n{part.title}"
        for words, line in part.rows():
            yield f"{line or '':>7}  {safe(words)}"
    tail = remarks_on(told)
    if tail:
        yield ""
        yield from tail
