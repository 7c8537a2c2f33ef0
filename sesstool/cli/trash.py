"""`sesstool trash`: what retention took away, giving it back, and deleting it for good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from sesstool import api
from sesstool.api import emptying, erasing, retaining, sealing
from sesstool.audit import log
from sesstool.cli.common import Common, common, out_stream, settings, worst
from sesstool.cli.keys import agreed, can_ask, key_options, keys_of
from sesstool.cli.main import ForwardingGroup
from sesstool.cli.outputs import destination, printed, tell, unprinted
from sesstool.cli.sealed import again
from sesstool.errors import ConfigError, InputError, SesstoolError, UsageError, WriteError
from sesstool.records.guard import uninterrupted
from sesstool.report import retention as report
from sesstool.report.amounts import count
from sesstool.retention import decide, holds, packing, policy, trash
from sesstool.retention.copies import copies
from sesstool.retention.policy import Policy
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
    with destination(shared) as out:
        out.write(text.encode())
    shared.note(f"{count(len(found), 'session')}; next: sesstool trash restore ID")
    return _damaged(shared)


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
    warn_of_log(shared)
    settled(shared, _rules(), delete=False)
    if every:
        codes.append(_damaged(shared))
    told: list[str] = []
    with trash.one_run(state), _written(shared, told, codes):
        found = trash.entries(state) if every else [trash.find(state, name) for name in ids]
        # The newest first: each index is then as it was right behind it.
        for entry in sorted(found, key=lambda one: one.made, reverse=True):
            try:
                unpack = unseal if entry.packed.endswith(".age") else packing.unzip
                with uninterrupted():  # until it is told, too
                    trash.restore(entry, unpack)
                    told.append(f"{safe(entry.path)}: restored")
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
@click.option("--trust-clock", is_flag=True, help="Take the clock's time as it is.")
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def empty(
    shared: Common,
    ids: tuple[str, ...],
    every: bool,
    clean_up: bool,
    trust_clock: bool,
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
    if not (ids or every or trust_clock):
        retaining.check_clock(state)
    rules = _rules()
    if write:
        warn_of_log(shared)
        settled(shared, rules)
    found = _chosen(state, ids, now, every=every)
    if not ids:
        codes.append(_damaged(shared))
    if not found:
        shared.note("nothing to delete")
        return worst(codes)
    watch = holds.Watch(state, rules)
    holders = {entry.id: decide.held(entry, watch.now(), now) for entry in found}
    held = {name: hold.name for name, hold in holders.items() if hold is not None}
    what = f"{count(len(found) - len(held), 'session')} cannot come back then"
    what += f"; {count(len(held), 'session')} under a hold will stay" if held else ""
    listed = report.entries_to_text(found, held)
    if not write:
        with destination(shared) as out:
            out.write(listed.encode())
        shared.note(what)
        if len(held) < len(found):
            again(shared)
            codes.append(0 if exit_zero else 1)
        return worst(codes)
    if not yes and not can_ask(shared):
        raise WriteError("what is deleted cannot come back, and nobody can be asked", "add --yes")
    if not yes and len(held) < len(found):
        out_stream().write(listed.encode())
        out_stream().flush()
        if not agreed(shared, f"{what}. Delete?"):
            return 1
    _delete(shared, found, watch, codes, clean_up=clean_up)
    return worst(codes)


def _delete(
    shared: Common, found: Sequence[Entry], watch: holds.Watch, codes: list[int], *, clean_up: bool
) -> None:
    """Delete entries for good, but what is under a hold; errors are told, and counted."""
    state, now = api.state_folder(), datetime.now(UTC)
    made = copies(found, state)
    living = erasing.Living()
    told: list[str] = []
    with trash.one_run(state), _written(shared, told, codes):
        # It may have come back meanwhile.
        there = {entry.id: entry for entry in trash.entries(state)}
        for entry in found:
            try:
                if hold := decide.held(entry, watch.now(), now):
                    raise WriteError(
                        f"{entry.id} is under the hold {hold.name}", hint="sesstool hold list"
                    )
                if there.get(entry.id) != entry:
                    raise WriteError(
                        f"{entry.id} is no longer in the trash", hint="sesstool trash list"
                    )
                with uninterrupted():  # until it is told, too
                    kept = erasing.residues(entry, living=living) if clean_up else []
                    cleaned = sum(erasing.clean(kept, state))
                    trash.purge(entry)
                    told.append(f"{entry.id}: deleted")
                    if cleaned:
                        told.append(f"  taken out of shared files: {cleaned:,} lines and rows")
                    told += [f"  left: {safe(why)}" for why in erasing.staying(kept)]
                    told += [f"  {line}" for line in report.copies_of(entry.path, made)]
            except ConfigError:
                raise  # nobody knows any more what the policy holds
            except SesstoolError as error:
                codes.append(tell(shared, error))


@contextmanager
def _written(shared: Common, told: list[str], codes: list[int]) -> Iterator[None]:
    """Print what was done of each session, also where the run ends early."""
    try:
        yield
    except (KeyboardInterrupt, SesstoolError) as error:
        printed(shared, _lines(told), ran=True)
        words = f"{_done(told)}; the rest is as it was, and the same command goes on"
        if isinstance(error, KeyboardInterrupt):
            error.add_note(words)
        else:
            shared.note(words)
        raise
    failed = printed(shared, _lines(told), ran=True)
    if failed is not None:
        shared.note(_done(told))
    codes.append(unprinted(shared, failed))


def _lines(told: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in told)


def _done(told: Iterable[str]) -> str:
    """How many sessions it was done with; what is told below one is indented."""
    return f"{count(sum(not line.startswith(' ') for line in told), 'session')} done"


def warn_of_log(shared: Common) -> None:
    """Say before a run that the account of those before is not whole. Raises InputError."""
    if log.verify(api.state_folder()):
        shared.note("warning: the audit log is not whole: sesstool audit verify tells where")


def settled(shared: Common, rules: Policy | None, *, delete: bool = True) -> None:
    """Bring to an end what a crash broke off, and say how it stands.

    The holds of the policy count as the others do. Without `delete` nothing goes for good.
    """
    state, now = api.state_folder(), datetime.now(UTC)
    with trash.one_run(state):
        stays = partial(decide.held, holds=holds.Watch(state, rules).now(), now=now)
        for entry, end, error in trash.settle(state, stays, delete=delete):
            what = "restore" if entry.stage is trash.Stage.RESTORING else entry.action
            shared.note(f"{entry.path}: {what} was broken off: {end}")
            if error is not None and error.hint:
                shared.note(f"hint: {error.hint}")
        if (path := emptying.settle(state)) is not None:
            shared.note(f"{path}: redact-payload was broken off behind it: brought to its end")


def _rules() -> Policy | None:
    """The policy that counts here, if there is one. Raises ConfigError."""
    file = policy.in_use(str(settings()["policy"].value))
    return policy.load(file) if file else None


def _damaged(shared: Common) -> int:
    """Tell of the entries that cannot be read; the exit code."""
    hint = "its files are in it: move it away by hand, to keep them or to delete them"
    errors = (
        InputError(f"{folder}: its manifest cannot be read, and it is left alone", hint=hint)
        for folder in trash.damaged(api.state_folder())
    )
    return worst([0, *(tell(shared, error) for error in errors)])


def _chosen(state: Path, ids: tuple[str, ...], now: datetime, *, every: bool) -> list[Entry]:
    if ids:
        return [trash.find(state, name) for name in ids]
    return [
        entry
        for entry in trash.entries(state)
        if entry.action != "archive" and (every or entry.due(now))
    ]
