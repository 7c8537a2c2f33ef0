"""`sesstool show`: one session as plain text, from its first record to its last."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination, poured, refuse_output
from sesstool.cli.streams import noted, single
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError
from sesstool.export.plain import Plain
from sesstool.export.sections import END, Choice, Reading, Section
from sesstool.heap import lean_heap
from sesstool.records.opening import open_source
from sesstool.report.amounts import counted as count
from sesstool.text import safe


def branch_option(function: Any) -> Any:
    """Give a command --branch."""
    return click.option(
        "--branch",
        default="all",
        show_default=True,
        metavar="all|live|LEAF",
        help="Everything, what a resume reaches, or the branch that ends with a record, by line "
        "or id.",
    )(function)


@click.command("show")
@common("text")
@click.argument("path")
@click.option("--records", default="", metavar="FROM:TO", help="Only the records of these lines.")
@branch_option
@click.option(
    "--raw",
    is_flag=True,
    help="Print the records' own bytes; to a terminal, with what could act on it made visible "
    "unless -o - is given.",
)
@click.option("--thinking", is_flag=True, help="Also print thinking.")
@click.option("--notes", is_flag=True, help="Also the records that say nothing, by their kind.")
@click.option(
    "--plain", is_flag=True, help="As always: no colour, no box, nothing that moves a cursor."
)
@click.option("--header", is_flag=True, help="Of an encrypted file: what shows without a key.")
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    records: str,
    branch: str,
    raw: bool,
    thinking: bool,
    notes: bool,
    plain: bool,  # noqa: ARG001 - there is no other way
    header: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Print a session as plain text, in file order, for a terminal or a screen reader."""
    first, last = line_range(records)
    refuse_output(shared)
    found = single(path)
    if header:
        return _header(shared, found)
    keys = keys_of(shared, identities, passphrase_fd)
    lean_heap()
    choice = Choice(first, last, thinking=thinking or raw, notes=notes or raw)
    own = _visible if shared.output is None and sys.stdout.isatty() else bytes
    with open_source(found, keys) as source:
        reading = Reading(source, format_name or "", branch=branch)
        plainly = Plain()
        poured(
            shared,
            (
                part
                for section in reading.sections(choice)
                for part in (
                    [own(section.record.raw), b"\n"] if raw else _encoded(section, plainly)
                )
            ),
        )
    noted(shared.output, found)
    return 0


def _visible(raw: bytes) -> bytes:
    """The bytes of a record in which nothing acts on a terminal."""
    return safe(raw.decode("utf-8", "surrogateescape")).encode()


def _encoded(section: Section, plain: Plain) -> Iterator[bytes]:
    return (line.encode() for line in _lines(section, plain))


def _header(shared: Common, path: Path | str) -> int:
    """Print what an encrypted file tells to everybody."""
    from sesstool.api.sealing import facts_of  # noqa: PLC0415 - few runs ask for it

    if not isinstance(path, Path):
        raise UsageError("--header looks at a file", hint="give its path")
    facts = facts_of(path)
    kinds = zip(facts.kinds, facts.tags, strict=True)
    whom = [
        f"  recipient  {safe(kind[:40])}{f' (key {tag})' if tag else ''}" for kind, tag in kinds
    ]
    lines = [
        f"{safe(str(path))}: age v1{', armored' if facts.armored else ''}",
        *whom,
        f"  header     {facts.header} bytes",
        f"  session    {facts.size} bytes, by arithmetic: nothing here is authenticated",
        f"  overhead   {facts.overhead} bytes",
    ]
    with destination(shared) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())
    return 0


def line_range(value: str) -> tuple[int, int]:
    """The lines that a range names: "10:20", "10:", ":20" or "10"."""
    first, colon, last = value.partition(":")
    try:
        start = int(first) if first else 1
        end = int(last) if last else start if first and not colon else END
    except ValueError:
        start, end = 1, 0
    if not 1 <= start <= end:
        raise UsageError(f"{value} is no range of lines", hint="write FROM:TO, from 1 on")
    return start, end


def _lines(section: Section, plain: Plain) -> Iterator[str]:
    """What is printed of a record, or of bytes that are none."""
    line = section.record.line
    yield from (f"{mark}\n\n" for mark in section.before)
    if section.said is None:
        yield f"[{line}] {count(section.size, 'byte')} that are no record\n\n"
    else:
        more = ", ".join(section.words)
        yield from plain.lines(section.said, line=line, time=section.time, more=more)
    yield from (f"{mark}\n\n" for mark in section.after)
