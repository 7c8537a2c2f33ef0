"""`sesstool decrypt`: encrypted sessions as they were, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesstool.api import sealing
from sesstool.cli.common import Common, common, out_stream, worst
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import tell
from sesstool.cli.sealed import SEALED_FILES, about, again, groups, names, refuse, sessions, sizes
from sesstool.errors import SesstoolError, UsageError
from sesstool.report.amounts import count
from sesstool.text import safe

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys


@click.command("decrypt")
@common("text")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@key_options
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--keep", is_flag=True, help="Make plain files, and keep the encrypted ones.")
@click.option("--salvage", is_flag=True, help="With -o: save what is sound of a damaged file.")
@click.option("--force", is_flag=True, help="Overwrite plain files that exist.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has it open.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def command(
    shared: Common,
    paths: tuple[str, ...],
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    write: bool,
    dry_run: bool,
    keep: bool,
    salvage: bool,
    force: bool,
    ignore_live: bool,
    exit_zero: bool,
) -> int:
    """Decrypt sessions and their side files, each NAME.age to NAME, with the key of -i.

    Without --write, --keep or -o nothing is done. With --write the encrypted files go. No plain
    file is there before all of it was verified. To read a session it need not be decrypted: the
    other commands take -i as well. -o - writes one file to stdout.
    """
    refuse(shared, paths, write=write, dry_run=dry_run, keep=keep)
    keys = keys_of(shared, identities, passphrase_fd)
    makes = keep or shared.output is not None
    codes = [0]
    targets = sessions(shared, paths, codes, write=write, makes=makes, every=SEALED_FILES)
    if str(shared.output) == "-" and not salvage:
        return _poured(shared, targets, keys)
    if salvage:
        return _salvaged(shared, targets, keys, force=force)
    ready = groups(shared, targets, codes, keys, encrypted=True)
    for group in ready:
        try:
            if not write and not makes:
                verb = f"would decrypt {count(len(group), 'file')}, {sizes(group)}"
            else:
                items = sealing.unseal(
                    group,
                    keys,
                    keep=keep,
                    to=names(shared, group, ready),
                    force=force,
                    ignore_live=ignore_live,
                )
                verb = f"decrypted, {count(len(items), 'file')}"
            about(group, verb)
        except SesstoolError as error:
            codes.append(tell(shared, error))
    if ready and not write and not makes:
        again(shared)
        codes.append(0 if exit_zero else 1)
    if not ready and not any(codes):
        shared.note(f"{safe(' '.join(paths))}: nothing to decrypt")
    return worst(codes)


def _poured(shared: Common, targets: list[Path], keys: Keys) -> int:
    """Write one decrypted file to stdout, once it was verified to its end."""
    if len(targets) != 1:
        raise UsageError("-o - takes one file", hint="name a folder: -o FOLDER/")
    try:
        out_stream().writelines(sealing.plain(targets[0], keys))
    except SesstoolError as error:
        return tell(shared, error)
    return 0


def _salvaged(shared: Common, targets: list[Path], keys: Keys, *, force: bool) -> int:
    """Write what is sound of one damaged file to a new one. Exits 5, for it is not the whole."""
    if shared.output is None or str(shared.output) == "-" or len(targets) != 1:
        raise UsageError("--salvage takes one file, and -o", hint="add -o FILE")
    error = sealing.salvage(targets[0], keys, shared.output, force=force)
    shared.note(f"written: {shared.output}")
    if error is None:
        shared.note("nothing is missing")
        return 0
    return tell(shared, error)
