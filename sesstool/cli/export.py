"""`sesstool export`: a session as a page, as Markdown, or as JSON."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.redacted import bounded, kept_in_place
from sesstool.cli.show import branch_option, line_range
from sesstool.cli.streams import lean_heap, poured, refuse_nowhere, single
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError, WriteError
from sesstool.export import WRITERS, writer
from sesstool.report.base import count


@click.command("export")
@common("text")
@click.argument("path")
@click.option(
    "--to",
    type=click.Choice(list(WRITERS)),
    default="html",
    show_default=True,
    help="What to make of it.",
)
@click.option("--records", default="", metavar="FROM:TO", help="Only the records of these lines.")
@branch_option
@click.option("--no-thinking", is_flag=True, help="Leave thinking out.")
@click.option("--notes", is_flag=True, help="Also the records that say nothing, by their kind.")
@click.option("--expand", is_flag=True, help="Of html: fold nothing, as for paper.")
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
    force: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Write a session for people to read: one HTML page, Markdown, or JSON.

    The page needs no network and no script. What comes of it holds the text of the session, and
    -o writes it for you alone to read.
    """
    from sesstool.api.exporting import exported  # noqa: PLC0415 - start-up time
    from sesstool.export.sections import Choice, Reading  # noqa: PLC0415 - the same
    from sesstool.privacy.standin import load_key  # noqa: PLC0415 - the same

    first, last = line_range(records)
    target = shared.output if str(shared.output) != "-" else None
    useless = key is not None and profile is None
    _refuse(to, target, split=split, expand=expand, force=force, key=useless)
    secret = load_key(key) if key is not None else b""
    choice = Choice(first, last, thinking=not no_thinking, notes=notes, expand=expand)
    lean_heap()
    found = single(path)
    keys = keys_of(shared, identities, passphrase_fd)
    with exported(
        found, profile=profile or "", key=secret, format_name=format_name or "", keys=keys
    ) as session:
        reading = Reading(
            session.source,
            session.format_name,
            name=session.name,
            profile=profile or "",
            branch=branch,
        )
        if split is not None and target is not None:
            from sesstool.export.folder import write  # noqa: PLC0415 - few runs need it

            pages = write(reading, choice, split, target)
            shared.note(f"written: {target}, {count(pages, 'page')} and an index")
        else:
            parts = (part.encode() for part in writer(to)(reading, choice))
            poured(shared, parts, force=force)
        if target is not None:
            session.note(target)
        if session.redaction is not None:
            bounded(shared, session.redaction)
            kept_in_place(shared, session.redaction)
    return 0


def _refuse(
    to: str, target: Path | None, *, split: int | None, expand: bool, force: bool, key: bool
) -> None:
    """Refuse options that do not go together, and a file that could not be written."""
    if to != "html" and (split or expand):
        option = "--split" if split else "--expand"
        raise UsageError(f"{option} is for html, and not for {to}", hint="leave it out")
    if split and target is None:
        raise UsageError("--split makes a folder", hint="name a new one with -o")
    if split and force:
        raise UsageError("--force replaces no folder", hint="name a new one with -o")
    if key:
        raise UsageError("--key is of no use without --redact", hint="add --redact share")
    if target is not None:
        refuse_nowhere(target)
        if os.path.lexists(target) and not force and not split:
            raise WriteError(
                f"cannot write {target}: it exists already",
                hint="choose another name, or add --force",
            )
