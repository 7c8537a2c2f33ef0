"""`sesstool trash`: what retention took away, giving it back, and deleting it for good."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from sesstool import api
from sesstool.api import emptying, erasing, sealing
from sesstool.cli.common import Common, common, out_stream, settings, worst
from sesstool.cli.keys import can_ask, key_options, keys_of
from sesstool.cli.main import ForwardingGroup
from sesstool.cli.sealed import again
from sesstool.cli.streams import tell
from sesstool.errors import SesstoolError, UsageError, WriteError
from sesstool.report import retention as report
from sesstool.report.base import count
from sesstool.retention import decide, holds, packing, policy, trash
from sesstool.retention.policy import Hold
from sesstool.retention.trash import Entry
from sesstool.text import safe


@click.group("trash", cls=ForwardingGroup)
def command() -> None:
    """Show, give back or delete what prune took away."""


@command.command("list")
@common("text", "json")
def listed(shared: Common) -> int:
    """List what is there: in the trash until its grace is over, or archived for ever."""
    found = trash.entries(api.state_folder())
    as_json = shared.output_format == "json"
    text = (report.entries_to_json if as_json else report.entries_to_text)(found)
    out_stream().write(text.encode())
    for folder in trash.damaged(api.state_folder()):
        shared.note(f"{folder}: its manifest cannot be read; its files are in it")
    shared.note(f"{count(len(found), 'session')}; next: sesstool trash restore ID")
    return 0


@command.command("restore")
@common("text")
@click.argument("ids", nargs=-1, metavar="ID...")
@click.option("--all", "every", is_flag=True, help="Give all back.")
@key_options
def restore(
    shared: Common,
    ids: tuple[str, ...],
    every: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """Put sessions back where they were, every byte and time. ID names an entry or a session."""
    if bool(ids) is every:
        raise UsageError("name what is to come back, or --all", hint="sesstool trash list")
    state, codes = api.state_folder(), [0]
    keys = keys_of(shared, identities, passphrase_fd)
    unseal = packing.opened(partial(sealing.plain, keys=keys))
    settled(shared, _written(), delete=False)
    with trash.one_run(state):
        found = trash.entries(state) if every else [trash.find(state, name) for name in ids]
        # The newest first: each index is then as it was right behind it.
        for entry in sorted(found, key=lambda one: one.made, reverse=True):
            try:
                unpack = unseal if entry.packed.endswith(".age") else packing.unzip
                trash.restore(entry, unpack)
                out_stream().write(f"{safe(entry.path)}: restored\n".encode())
            except SesstoolError as error:
                codes.append(tell(shared, error))
    return worst(codes)


@command.command("empty")
@common("text")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All of the trash, its grace over or not.")
@click.option(
    "--clean-up",
    is_flag=True,
    help="Take them out of what their agents share, too: histories, databases.",
)
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def empty(
    shared: Common,
    ids: tuple[str, ...],
    every: bool,
    clean_up: bool,
    write: bool,
    dry_run: bool,
    yes: bool,
    exit_zero: bool,
) -> int:
    """Delete for good what is in the trash and whose grace is over, or what ID names.

    What is under a hold stays. Archived sessions go only where ID names them.
    """
    if write and dry_run:
        raise UsageError("--write and --dry-run contradict each other", hint="give one of them")
    if ids and every:
        raise UsageError("--all and ID contradict each other", hint="give one of them")
    state, now, codes = api.state_folder(), datetime.now(UTC), [0]
    written = _written()
    if write:
        settled(shared, written)
    found = _chosen(state, ids, now, every=every)
    if not found:
        shared.note("nothing to delete")
        return 0
    if not write:
        out_stream().write(report.entries_to_text(found).encode())
        again(shared)
        return 0 if exit_zero else 1
    if not yes and not can_ask(shared):
        raise WriteError("what is deleted cannot come back, and nobody can be asked", "add --yes")
    if not yes:
        what = f"{count(len(found), 'session')} cannot come back then. Delete?"
        click.confirm(what, abort=True, err=True)
    with trash.one_run(state):
        for entry in found:
            try:
                held = decide.held(entry, [*written, *holds.read(state)], now)
                if held is not None:
                    raise WriteError(
                        f"{entry.id} is under the hold {held.name}", hint="sesstool hold list"
                    )
                if clean_up:
                    erasing.clean(erasing.residues(entry), state)
                trash.purge(entry)
                out_stream().write(f"{entry.id}: deleted\n".encode())
            except SesstoolError as error:
                codes.append(tell(shared, error))
    return worst(codes)


def settled(shared: Common, written: Sequence[Hold], *, delete: bool = True) -> None:
    """Bring to an end what a crash broke off, and say how it stands.

    `written` are the holds of the policy; without `delete` nothing goes for good.
    """
    state, now = api.state_folder(), datetime.now(UTC)
    with trash.one_run(state):
        every = [*written, *holds.read(state)]
        stays = partial(decide.held, holds=every, now=now)
        for entry, end, error in trash.settle(state, stays, delete=delete):
            shared.note(f"{entry.path}: {entry.action} was broken off: {end}")
            if error is not None and error.hint:
                shared.note(f"hint: {error.hint}")
        if (path := emptying.settle(state)) is not None:
            shared.note(f"{path}: redact-payload was broken off behind it: brought to its end")


def _written() -> tuple[Hold, ...]:
    """The holds of the policy that counts here."""
    file = policy.in_use(str(settings()["policy"].value))
    return policy.load(file).holds if file else ()


def _chosen(state: Path, ids: tuple[str, ...], now: datetime, *, every: bool) -> list[Entry]:
    if ids:
        return [trash.find(state, name) for name in ids]
    return [
        entry
        for entry in trash.entries(state)
        if entry.action != "archive" and (every or entry.due(now))
    ]
