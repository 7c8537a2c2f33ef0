"""`sesstool export`: a session for people to read, or as one of another format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesstool.cli.common import Common, Number, Speed, common
from sesstool.cli.converting import converted, refuse_for
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import poured, refuse_nowhere, refuse_taken
from sesstool.cli.redacted import bounded, kept_in_place
from sesstool.cli.show import branch_option, line_range
from sesstool.cli.streams import refuse_inputs, single
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError
from sesstool.export import WRITERS, writer
from sesstool.formats.registry import TARGETS
from sesstool.heap import lean_heap
from sesstool.report.amounts import count

if TYPE_CHECKING:
    from sesstool.api.exporting import Exported

CAST = "cast"
"""The one format that is made of a timeline, and is not in `WRITERS`."""


class Size(click.ParamType[tuple[int, int]]):
    """The size of a terminal, as 100x30: columns and rows, as a tuple."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Take 20 to 1000 columns and 5 to 1000 rows."""
        found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", str(value), re.ASCII)
        columns, rows = (int(found[1]), int(found[2])) if found else (0, 0)
        if not (20 <= columns <= 1000 and 5 <= rows <= 1000):
            self.fail(f"{value} is no size of a terminal; write 100x30", param, ctx)
        return columns, rows


@click.command("export")
@common("text", "json")
@click.argument("path")
@click.option(
    "--to",
    type=click.Choice([*WRITERS, CAST, *TARGETS]),
    default="html",
    show_default=True,
    help="What to make of it: something to read, or a session of another format.",
)
@click.option("--records", default="", metavar="FROM:TO", help="Only the records of these lines.")
@branch_option
@click.option("--no-thinking", is_flag=True, help="Leave thinking out.")
@click.option("--notes", is_flag=True, help="Also the records that say nothing, by their kind.")
@click.option("--expand", is_flag=True, help="Of html and cast: all of long texts.")
@click.option(
    "--split",
    type=click.IntRange(min=1, max=1000),
    metavar="N",
    help="Of html: pages of N turns each with an index, in the new folder that -o names.",
)
@click.option(
    "--redact",
    "profile",
    type=click.Choice(["share", "resume"]),
    help="Without secrets and personal data, as `sesstool redact` takes them out.",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    help="With --redact: a file with the key of the stand-ins; without one each run has its own.",
)
@click.option("--cast-version", type=click.Choice(["2", "3"]), help="Of cast: 2 unless told.")
@click.option(
    "--size", type=Size(), metavar="COLUMNSxROWS", help="Of cast: of the terminal; 100x30."
)
@click.option("--speed", type=Speed(), metavar="TIMES", help="Of cast: how many times as fast.")
@click.option(
    "--idle", type=Number(), metavar="SECONDS", help="Of cast: how long a pause is shown; 2."
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Of html: what a recorder wrote beside the session; it tells what the run used.",
)
@click.option("--no-typing", is_flag=True, help="Of cast: what was said is there at once.")
@click.option("--force", is_flag=True, help="Let -o overwrite a file.")
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    to: str,
    records: str,
    branch: str,
    no_thinking: bool,
    notes: bool,
    expand: bool,
    split: int | None,
    profile: str | None,
    key: Path | None,
    cast_version: str | None,
    size: tuple[int, int] | None,
    speed: float | None,
    idle: float | None,
    trace: Path | None,
    no_typing: bool,
    force: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Write a session for people to read, or as a session of another format.

    The page needs no network and no script; asciinema plays the recording, called cast. Of another
    format it holds what a resume would send, and another agent goes on with it: what was lost is
    told. What comes of it holds the text of the session, and -o writes it for you alone to read.
    """
    from sesstool.api.exporting import exported  # noqa: PLC0415 - start-up time
    from sesstool.export.sections import Choice, Reading  # noqa: PLC0415 - the same
    from sesstool.privacy.standin import load_key  # noqa: PLC0415 - the same

    first, last = line_range(records)
    target = shared.output if str(shared.output) != "-" else None
    useless = key is not None and profile is None
    if trace is not None and to != "html":
        raise UsageError(f"--trace is for html, and not for {to}", hint="leave it out")
    if to in TARGETS:
        others = {"--records": records, "--no-thinking": no_thinking, "--notes": notes}
        refuse_for(to, shared, target, others, force=force)
    elif shared.output_format != "text":
        raise UsageError(f"-f json is not for {to}", hint="leave it out")
    _refuse(to, target, split=split, expand=expand, force=force, key=useless)
    told = _of_cast(to, cast_version, size, speed, idle, no_typing=no_typing)
    if to == CAST:
        if records or notes:
            option = "--records" if records else "--notes"
            raise UsageError(f"{option} is not for {CAST}", hint="leave it out")
        told |= {"thinking": not no_thinking, "whole": expand}
    secret = load_key(key) if key is not None else b""
    choice = Choice(first, last, thinking=not no_thinking, notes=notes, expand=expand)
    lean_heap()
    found = single(path)
    if target is not None:
        refuse_inputs(target, found, *filter(None, (key, trace)), *identities)
    keys = keys_of(shared, identities, passphrase_fd)
    with exported(
        found, profile=profile or "", key=secret, format_name=format_name or "", keys=keys
    ) as session:
        if to in TARGETS:
            target = converted(shared, session, to, branch, target, keys, force=force)
        elif to == CAST:
            poured(shared, map(str.encode, _cast(session, branch, told)), force=force)
        else:
            reading = Reading(
                session.source,
                session.format_name,
                name=session.name,
                profile=profile or "",
                branch=branch,
            )
            if trace is not None:
                reading.trace(trace)
            if split is not None and target is not None:
                from sesstool.export.folder import write  # noqa: PLC0415 - few runs need it

                pages = write(reading, choice, split, target)
                shared.note(f"written: {target}, {count(pages, 'page')} and an index")
            else:
                poured(shared, map(str.encode, writer(to)(reading, choice)), force=force)
        if target is not None:
            session.note(target)
        if session.redaction is not None:
            bounded(shared, session.redaction)
            kept_in_place(shared, session.redaction)
    return 0


def _of_cast(
    to: str,
    version: str | None,
    size: tuple[int, int] | None,
    speed: float | None,
    idle: float | None,
    *,
    no_typing: bool,
) -> dict[str, Any]:
    """The options of a recording that were given, as `cast.document` takes them."""
    if speed == 0:
        raise UsageError("a recording takes some time", hint="give a speed above 0")
    given = {
        "--cast-version": {"version": int(version)} if version else None,
        "--size": {"width": size[0], "height": size[1]} if size else None,
        "--speed": None if speed is None else {"speed": speed},
        "--idle": None if idle is None else {"idle": idle},
        "--no-typing": {"typing": False} if no_typing else None,
    }
    told: dict[str, Any] = {}
    for option, values in given.items():
        if values and to != CAST:
            raise UsageError(f"{option} is for {CAST}, and not for {to}", hint="leave it out")
        told |= values or {}
    return told


def _cast(session: Exported, branch: str, told: dict[str, Any]) -> Iterator[str]:
    """A recording of the session."""
    from sesstool.export import cast  # noqa: PLC0415 - few runs need it
    from sesstool.model.session import open_session  # noqa: PLC0415 - the same
    from sesstool.replay.timeline import build  # noqa: PLC0415 - the same

    known = open_session(session.source, session.format_name)
    timeline = build(known, branch, thinking=told["thinking"])
    return cast.document(known, timeline, **told)


def _refuse(
    to: str, target: Path | None, *, split: int | None, expand: bool, force: bool, key: bool
) -> None:
    """Refuse options that do not go together, and a file that could not be written."""
    if (split and to != "html") or (expand and to not in ("html", CAST)):
        option = "--split is for html" if split else f"--expand is for html and {CAST}"
        raise UsageError(f"{option}, and not for {to}", hint="leave it out")
    if split and target is None:
        raise UsageError("--split makes a folder", hint="name a new one with -o")
    if split and force:
        raise UsageError("--force replaces no folder", hint="name a new one with -o")
    if key:
        raise UsageError("--key is of no use without --redact", hint="add --redact share")
    if target is not None:
        if split:
            refuse_nowhere(target)
        elif to not in TARGETS:
            refuse_taken(target, force=force)
