"""`sesstool fork`: a new session that starts as a copy of another one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesstool.cli.common import Common, common, out_stream
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import refuse_nowhere
from sesstool.cli.streams import single, watched
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError
from sesstool.records.source import SEALED
from sesstool.records.write import cannot_write, private_folder
from sesstool.report.amounts import count
from sesstool.text import elide, quoted, safe

if TYPE_CHECKING:
    from sesstool.api.forking import Fork

# So many effects are listed, each of so many cells; json has them all.
_SHOWN, _WIDE = 20, 60


@click.command("fork")
@common("text", "json")
@click.argument("path")
@click.option(
    "--at",
    default="",
    metavar="RECORD",
    help="The last record of the fork, by its line or its id; else what a resume ends with.",
)
@click.option("--to", "new_id", default="", metavar="ID", help="The new session's id; else drawn.")
@click.option("--force", is_flag=True, help="Overwrite the file of the new session.")
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    at: str,
    new_id: str,
    force: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Make a new session that starts as a copy of another one, which its agent resumes.

    It is made in the agent's own way of forking, where the agent looks for it or where -o says.
    Told is what both sessions inherit, with paths and command lines: what was done before the fork
    was done once.
    """
    from sesstool.api.forking import fork  # noqa: PLC0415 - start-up time

    if str(shared.output) == "-":
        raise UsageError("a fork is a file of its own", hint="name it with -o, or leave -o out")
    found = single(path)
    if shared.output is not None and shared.to_folder:
        refuse_nowhere(shared.output)
        try:
            private_folder(shared.output)
        except OSError as error:
            raise cannot_write(shared.output, error) from error
    keys = keys_of(shared, identities, passphrase_fd)
    with watched(shared, found) as advance:
        made = fork(
            found,
            at=at,
            new_id=new_id,
            target=shared.output,
            force=force,
            format_name=format_name or "",
            keys=keys,
            progress=advance,
        )
    told = _json(made) if shared.output_format == "json" else "\n".join(_lines(made))
    out_stream().write(f"{told}\n".encode())
    _note(shared, made)
    return 0


def _lines(made: Fork) -> list[str]:
    """What was made, and what both sessions inherit."""
    way = "by reference to" if made.by_reference else "of"
    records = count(made.records, "record")
    lines = [
        f"{safe(str(made.path))}: {made.format} session {safe(made.session_id)}",
        f"  fork       {way} {safe(made.parent)}, {records} up to line {made.at}",
    ]
    calls = len(made.inherited)
    done = f"{count(calls, 'call')} that may have changed something; done at most once, for both"
    lines.append(f"  inherited  {done if calls else 'no call that may have changed anything'}")
    for call in made.inherited[:_SHOWN]:
        targets = ", ".join(safe(e.target) for e in call.effects if e.target)
        what = elide(f"{safe(call.tool) or 'a tool'} {targets}".rstrip(), _WIDE)
        where = "" if call.path == made.parent else f" of {safe(Path(call.path).name)}"
        lines.append(f"             line {call.line}{where}: {what}")
    if calls > _SHOWN:
        lines.append(f"             and {calls - _SHOWN} more")
    for open_ in made.open_calls:
        tool = f"{safe(open_.tool) or 'a tool'} {safe(open_.id)}".rstrip()
        lines.append(f"  open call  line {open_.line}: {tool}: {open_.state}; {open_.effect}")
    if made.command:
        lines.append(f"  resume     {safe(made.command)}")
    return lines


def _note(shared: Common, made: Fork) -> None:
    """Say what is not in the fork, and what is to be done about what stands open in it."""
    if made.in_use:
        parent = safe(made.parent)
        shared.note(
            f"{parent} is in use: {made.in_use}; what it gets from now on is not in the fork"
        )
    if made.parent.endswith(SEALED):
        name = quoted(made.path)
        shared.note(f"it is in the clear: sesstool encrypt --write -r RECIPIENT {name} encrypts it")
    if made.left_out:
        shared.note(f"{count(made.left_out, 'piece')} that no agent reads stayed behind")
    if made.missing:
        shared.note(f"{safe(made.missing)}: what was done in it is not listed")
    if made.open_calls:
        verb = "has" if len(made.open_calls) == 1 else "have"
        shared.note(f"{count(len(made.open_calls), 'call')} at the end {verb} no result")
    if made.unfinished:
        shared.note(f"it ends with {made.unfinished}, which may be refused or be lost")
    if made.open_calls or made.unfinished:
        from sesstool.api import recent  # noqa: PLC0415 - start-up time

        name = quoted(made.path)
        # What was just written in an agent's home counts as in use.
        later = "in a minute " if recent(made.path) is not None else ""
        shared.note(f"next: sesstool resume {name}, and {later}sesstool repair {name}")


def _json(made: Fork) -> str:
    value: dict[str, Any] = {"schema_version": 1} | asdict(made)
    value["inherited"] = [
        {
            "line": call.line,
            "tool": call.tool,
            "effects": [{"kind": e.kind, "target": e.target} for e in call.effects],
            "path": call.path,
        }
        for call in made.inherited
    ]
    return json.dumps(value, indent=2, default=str)
