"""`sesstool memory`: what a session was about and how it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sesstool.api.remembering import memory
from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.streams import destination, single, watched
from sesstool.cli.validate import format_option
from sesstool.store.recall import left_word, remarks_on, sections
from sesstool.text import safe


@click.command("memory")
@common("text", "json")
@click.argument("path")
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Tell what a session was about and how it stands.

    That is its goal, what is to do, the calls without a result, what was verified, failed, decided
    and done, each with the line that it is drawn from.
    """
    found = single(path)
    keys = keys_of(shared, identities, passphrase_fd)
    with watched(shared, found) as advance:
        told = memory(found, format_name=format_name or "", progress=advance, keys=keys).as_dict()
    if shared.output_format == "json":
        text = json.dumps({"schema_version": 1, "path": str(found)} | told, indent=2) + "\n"
    else:
        text = "".join(f"{line}\n" for line in _lines(str(found), told))
    with destination(shared) as out:
        out.write(text.encode())
    return 0


def _lines(path: str, told: dict[str, Any]) -> Iterator[str]:
    yield f"{safe(path)}: {told['format']}, {told['records']:,} records"
    for part in sections(told):
        yield f"\n{part.title}"
        if part.left:
            yield f"         {part.left:,} {left_word(part)}"
        for words, line in part.entries:
            yield f"{line:>7}  {safe(words)}"
    tail = remarks_on(told)
    if tail:
        yield ""
        yield from tail
