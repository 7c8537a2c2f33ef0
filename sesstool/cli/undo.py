"""`sesstool undo`: put back what a write replaced, or show what it cut."""

from __future__ import annotations

import click

from sesstool import api
from sesstool.cli.common import Common, common, out_stream
from sesstool.errors import UndoError, UsageError
from sesstool.records import settle
from sesstool.records import undo as journal
from sesstool.records.undo import State
from sesstool.text import safe


@click.command("undo")
@common("text")
@click.argument("target", default=None, metavar="[PATH|ID]")
@click.option("--list", "show_list", is_flag=True, help="List what can be undone.")
@click.option("--show-cut", is_flag=True, help="Print the bytes that a write cut (session text!).")
@click.option("--purge", is_flag=True, help="Forget an entry (or all with --yes), with its bytes.")
@click.option("--yes", is_flag=True, help="Purge all entries.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has the file open.")
def command(
    shared: Common,
    target: str | None,
    show_list: bool,
    show_cut: bool,
    purge: bool,
    yes: bool,
    ignore_live: bool,
) -> int:
    """Put back the bytes, mode and time that a file had before the last write.

    Without a target the newest write of all is taken back. A file that changed since is left
    alone, and both hashes are shown.
    """
    if target == "":
        raise UsageError("the target is empty", hint="leave it out for the newest write of all")
    state = api.state_folder()
    if show_list:
        for entry in journal.entries(state):
            line = f"{entry.id}  {entry.made}  {entry.state}  {entry.command}  {entry.path}"
            out_stream().write(f"{safe(line)}\n".encode())
        for name in journal.damaged(state):
            shared.note(f"{name}: cannot be read; sesstool undo --purge {name} forgets it")
    elif show_cut:
        _cut(target or "")
    elif purge:
        if not target and not yes:
            raise UsageError("purge all entries?", hint="give an id, or --yes for all of them")
        gone = settle.purge(state, target)
        shared.note(f"purged: {', '.join(gone) or 'nothing'}")
    else:
        entry = api.undo(target or "", ignore_live=ignore_live)
        if entry.state is State.VOID:
            end = f"{entry.command} {entry.id} was broken off: the file is as before it"
        else:
            end = f"put back as before {entry.command} {entry.id}"
        shared.note(f"{entry.path}: {end}")
    return 0


def _cut(target: str) -> None:
    entry = journal.find(api.state_folder(), target)
    if entry.codec:
        raise UndoError(
            f"the entry {entry.id} keeps the whole {entry.codec} file, not single bytes",
            hint="undo it into place, and decompress or decrypt a copy",
        )
    for offset, data in journal.cut_ranges(entry):
        out_stream().write(b"# byte %d, %d bytes\n" % (offset, len(data)))
        out_stream().write(data + (b"" if data.endswith(b"\n") else b"\n"))
