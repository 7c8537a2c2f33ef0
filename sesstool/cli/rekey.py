"""`sesstool rekey`: encrypted sessions for other recipients, with new keys."""

from __future__ import annotations

from pathlib import Path

import click

from sesstool import api
from sesstool.api import sealing
from sesstool.cli.common import Common, common, out_stream, worst
from sesstool.cli.keys import (
    key_options,
    keys_of,
    passphrase_option,
    recipient_options,
    recipients_of,
)
from sesstool.cli.outputs import tell
from sesstool.cli.sealed import SEALED_FILES, again, groups, refuse, sessions
from sesstool.errors import SesstoolError, UsageError
from sesstool.records import undo as journal
from sesstool.records.write import real_path
from sesstool.report.amounts import count
from sesstool.text import safe


@click.command("rekey")
@common("text")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@key_options
@recipient_options
@passphrase_option
@click.option(
    "--new-passphrase-fd",
    type=click.IntRange(min=0),
    help="With -p: read the new passphrase from this open descriptor, up to a line's end.",
)
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has it open.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def command(
    shared: Common,
    paths: tuple[str, ...],
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    recipients: tuple[str, ...],
    recipient_files: tuple[Path, ...],
    passphrase: bool,
    new_passphrase_fd: int | None,
    write: bool,
    dry_run: bool,
    ignore_live: bool,
    exit_zero: bool,
) -> int:
    """Encrypt encrypted sessions anew, for the recipients given here and for nobody else.

    Each file gets a new key, and takes the place of the old one at once. A run that was broken
    off is taken up by the same command: files that are done are passed over. Whoever could read
    the old files, and kept one, can read that still. Undo entries of the files go, for the same
    could read them.
    """
    if shared.output is not None:
        raise UsageError("rekey works in place", hint="copy the files first, and rekey the copies")
    refuse(shared, paths, write=write, dry_run=dry_run, keep=False)
    whom = recipients_of(
        shared, recipients, recipient_files, new_passphrase_fd, passphrase=passphrase
    )
    keys = keys_of(shared, identities, passphrase_fd)
    codes, done, undone = [0], 0, 0
    targets = sessions(shared, paths, codes, write=write, every=SEALED_FILES)
    run = sealing.Rekeying(whom)
    if write:
        run.take_up()
    ready = [path for path in targets if not run.has_done(path)]
    passed = len(targets) - len(ready)
    for group in groups(shared, ready, codes, keys, encrypted=True):
        try:
            # The session comes last: once it is done, all that belongs to it is.
            for path in reversed(group.files):
                if run.has_done(path):
                    passed += path not in targets
                    continue
                if write:
                    undone += bool(journal.entries(api.state_folder(), real_path(path)))
                    run.rekey(path, keys, ignore_live=ignore_live)
                done += 1
        except SesstoolError as error:
            codes.append(tell(shared, error))
    if write and not any(codes):
        run.forget()
    verb = "encrypted anew" if write else "to encrypt anew"
    before = f"; {count(passed, 'file')} done before" if passed else ""
    out_stream().write(safe(f"{count(done, 'file')} {verb}{before}").encode() + b"\n")
    if undone:
        shared.note(
            f"undo entries of {count(undone, 'file')} are gone, with what they kept: who could "
            "read the old files could read them"
        )
    if done and not write:
        again(shared)
        codes.append(0 if exit_zero else 1)
    return worst(codes)
