"""`sesstool apply`: do what a saved plan says, if nothing changed since."""

from __future__ import annotations

from pathlib import Path

import click

from sesstool import api
from sesstool.cli.common import Common, common, out_stream
from sesstool.cli.streams import settled
from sesstool.report.amounts import count
from sesstool.text import quoted, safe


@click.command("apply")
@common("text")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("--no-undo", is_flag=True, help="Keep nothing to undo the writes with.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has a file open.")
def command(shared: Common, plan: Path, write: bool, no_undo: bool, ignore_live: bool) -> int:
    """Show a saved plan, and with --write do it.

    A plan fits only the bytes that it was made for: a file that changed since is refused.
    """
    loaded = api.Plan.load(plan)
    for file in loaded.files:
        path = safe(str(file.path))
        out_stream().write(f"{path}: {count(len(file.edits), 'edit')}\n".encode())
        for title in file.titles:
            out_stream().write(f"  {safe(title)}\n".encode())
    if not write:
        shared.note(f"next: sesstool apply --write {quoted(plan)}")
        return int(any(loaded.files))
    for file in loaded.files:
        settled(shared, file.path, ignore_live=ignore_live)
    for done in api.apply(loaded, ignore_live=ignore_live, keep_undo=not no_undo):
        undo = f"; undo: sesstool undo {done.undo_id}" if done.undo_id else ""
        shared.note(f"{done.path}: written{undo}")
    return 0
