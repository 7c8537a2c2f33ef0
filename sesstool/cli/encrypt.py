"""`sesstool encrypt`: sessions, with all that belongs to them, as age files."""

from __future__ import annotations

from pathlib import Path

import click

from sesstool.api import sealing
from sesstool.cli.common import Common, common, worst
from sesstool.cli.keys import can_ask, passphrase_option, recipient_options, recipients_of
from sesstool.cli.outputs import tell
from sesstool.cli.sealed import about, again, groups, names, others, refuse, sessions, sizes
from sesstool.errors import SesstoolError, UsageError, WriteError
from sesstool.report.amounts import count
from sesstool.text import safe

_BEYOND = (
    "not reached: backups, snapshots and copies elsewhere, what an editor or a cloud keeps, swap, "
    "and freed blocks of the disk"
)


@click.command("encrypt")
@common("text")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@recipient_options
@passphrase_option
@click.option(
    "--passphrase-fd",
    type=click.IntRange(min=0),
    help="With -p: read the passphrase from this open descriptor, up to a line's end.",
)
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--yes", is_flag=True, help="Do not ask: no plain copy is kept.")
@click.option("--keep", is_flag=True, help="Make encrypted files, and keep the plain ones.")
@click.option("-a", "--armor", is_flag=True, help="Write text that survives mail, a third longer.")
@click.option("--force", is_flag=True, help="Overwrite encrypted files that exist.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has it open.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def command(
    shared: Common,
    paths: tuple[str, ...],
    recipients: tuple[str, ...],
    recipient_files: tuple[Path, ...],
    passphrase: bool,
    passphrase_fd: int | None,
    write: bool,
    dry_run: bool,
    yes: bool,
    keep: bool,
    armor: bool,
    force: bool,
    ignore_live: bool,
    exit_zero: bool,
) -> int:
    """Encrypt sessions and their side files in the format of age, each to NAME.age.

    Without --write, --keep or -o nothing is done. With --write the plain files go, once the
    encrypted ones are on disk and were read back; so do undo entries, which hold plain text.
    Whoever has a key of one recipient can decrypt, with sesstool or with age.
    """
    refuse(shared, paths, write=write, dry_run=dry_run, keep=keep)
    if str(shared.output) == "-":
        raise UsageError("encrypt writes files", hint="-o FILE instead of -o -")
    whom = recipients_of(shared, recipients, recipient_files, passphrase_fd, passphrase=passphrase)
    makes = keep or shared.output is not None
    if write and not makes and not yes:
        _ask(shared)
    codes, done = [0], 0
    targets = sessions(shared, paths, codes, write=write, makes=makes)
    ready = groups(shared, targets, codes, encrypted=False)
    # Before the first is encrypted: they are told by their plain names.
    others(shared, paths, ready)
    for group in ready:
        try:
            if not write and not makes:
                verb = f"would encrypt {count(len(group), 'file')}, {sizes(group)}"
            else:
                items = sealing.seal(
                    group,
                    whom,
                    armor=armor,
                    keep=keep,
                    to=names(shared, group, ready),
                    force=force,
                    ignore_live=ignore_live,
                )
                verb = f"encrypted, {count(len(items), 'file')}"
                done += 1
            about(group, verb, plain_goes=not makes)
        except SesstoolError as error:
            codes.append(tell(shared, error))
    if ready and not write and not makes:
        again(shared)
        codes.append(0 if exit_zero else 1)
    elif done and not makes:
        shared.note(_BEYOND)
    if not ready and not any(codes):
        shared.note(f"{safe(' '.join(paths))}: nothing to encrypt")
    return worst(codes)


def _ask(shared: Common) -> None:
    """Have a person agree that no plain copy is kept."""
    if not can_ask(shared):
        raise WriteError(
            "encrypting keeps no plain copy, and nobody can be asked",
            hint="add --yes, or keep the plain files with --keep",
        )
    click.confirm(
        "No plain copy is kept: without its key nobody can read a session again. Encrypt?",
        abort=True,
        err=True,
    )
