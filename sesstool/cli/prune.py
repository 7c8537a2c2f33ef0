"""`sesstool prune`: what a retention policy does with sessions, and doing it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesstool import api
from sesstool.api import retaining
from sesstool.api.previews import Saved
from sesstool.cli.common import Common, Moment, common, out_stream, settings, worst
from sesstool.cli.keys import agreed, can_ask, key_options, keys_of
from sesstool.cli.outputs import printed, refuse_report, tell, unprinted
from sesstool.cli.sealed import again
from sesstool.cli.trash import settled, warn_of_log
from sesstool.errors import SesstoolError, UsageError, WriteError
from sesstool.records.write import create
from sesstool.report import retention as report
from sesstool.report.retention_page import Heads, page
from sesstool.retention import holds, trash
from sesstool.retention.cleanup import places
from sesstool.retention.policy import Policy, chosen

if TYPE_CHECKING:
    from sesstool.api.retaining import Done, Plan

_LEGAL = "not legal advice: whether a policy meets the law, a person must judge"
_ELSEWHERE = (
    "not reached: backups, snapshots, copies elsewhere and what agents keep in the cloud; "
    "-v lists all"
)


@click.command("prune")
@common("text", "json")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    help="The retention policy; else the setting, else yours: retention.toml.",
)
@click.option("--as-of", type=Moment(), help="What would be done then; writes nothing.")
@click.option("--erase", is_flag=True, help="Delete the sessions that PATH names, of any age.")
@click.option(
    "--clean-up",
    is_flag=True,
    help="Take deleted sessions out of what their agents share: histories, databases.",
)
@click.option(
    "--max-delete",
    type=click.IntRange(min=0),
    help="How many sessions may go, those of the trash too.",
)
@click.option(
    "--plan",
    "saved",
    type=click.Path(path_type=Path),
    help="Do no more than a preview says that was saved with -f json -o FILE.",
)
@click.option("--trust-clock", is_flag=True, help="Take the clock's time as it is.")
@click.option("--all", "every", is_flag=True, help="Tell of the sessions that are kept, too.")
@click.option("--report", "html", type=click.Path(path_type=Path), help="Write a page to print.")
@key_options
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def command(
    shared: Common,
    paths: tuple[str, ...],
    policy: Path | None,
    as_of: datetime | None,
    erase: bool,
    clean_up: bool,
    max_delete: int | None,
    saved: Path | None,
    trust_clock: bool,
    every: bool,
    html: Path | None,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    write: bool,
    dry_run: bool,
    yes: bool,
    exit_zero: bool,
) -> int:
    """Do with sessions what a retention policy says; without --write only tell it.

    PATH is a file, a folder or a session id; without one the sessions of all agents are looked at.
    Sessions of PATH that are in the trash go for good once their grace is over; without PATH, all.
    A session goes with all that belongs to it: subagents, outputs, its entry in an index, and what
    undo keeps. Trashed ones come back with `sesstool trash restore`.
    """
    _refuse(paths, as_of, write=write, dry_run=dry_run, erase=erase)
    if html is not None:
        refuse_report(html, ".html")
    if write and shared.output is not None and os.path.lexists(shared.output):
        raise WriteError(f"{shared.output} exists already", hint="choose another name for -o")
    rules = _policy(policy, erase=erase)
    keys = keys_of(shared, identities, passphrase_fd)
    if write:
        warn_of_log(shared)
        settled(shared, rules)
    plan = retaining.plan(
        paths,
        rules,
        as_of,
        erase=erase,
        clean_up=clean_up,
        most=max_delete,
        saved=Saved(saved) if saved is not None else None,
        trust_clock=trust_clock,
        keys=keys,
    )
    refused = list(retaining.refusals(plan)) if erase else []
    before = Heads.of(api.state_folder())
    done = None
    if write and plan:
        if plan.limit:
            hint = f"{' '.join(_more(plan))} allows it"
            raise WriteError(f"nothing was done: {plan.limit}", hint=hint)
        if not _ask(shared, plan, yes=yes):
            return 1
        done = _done(shared, plan, clean_up=clean_up)
    failed = printed(shared, _told(shared, plan, done, every=every), ran=done is not None)
    codes = [0, *(tell(shared, error) for error in refused)]
    errors = (one.skipped or one.unfinished for one in done or ())
    codes += [tell(shared, error) for error in errors if error is not None]
    shared.note(report.summary(plan, done))
    # Who erases must know all of it.
    listed = shared.verbosity > 1 or (erase and done is not None)
    for line in _beyond(plan, done, clean_up=clean_up, listed=listed):
        shared.note(line)
    if done and (after := report.afterwards(done)):
        shared.note(after)
    if plan and not write and as_of is None:
        # The page is there now.
        again(shared, "html", *(["max_delete"] if plan.limit else ()), more=_more(plan))
        if plan.limit:
            shared.note(f"note: {plan.limit}; --max-delete allows it")
    shared.note(_LEGAL)
    codes.append(unprinted(shared, failed))
    if html is not None:
        codes.append(_report(shared, html, plan, done, before))
    codes.append(1 if plan and not write and not exit_zero else 0)
    return worst(codes)


def _refuse(
    paths: tuple[str, ...], as_of: datetime | None, *, write: bool, dry_run: bool, erase: bool
) -> None:
    """Refuse options that contradict each other, with a sentence."""
    if write and dry_run:
        raise UsageError("--write and --dry-run contradict each other", hint="give one of them")
    if write and as_of:
        raise UsageError(
            "--as-of asks what would be, and --write does what is", hint="give one of them"
        )
    if erase and not paths:
        raise UsageError("--erase deletes what PATH names", hint="give a session id or a path")
    if "-" in paths:
        raise UsageError("this works on files, not on standard input", hint="give a path")


def _more(plan: Plan) -> list[str]:
    """What allows a run that removes more than it may."""
    goes = sum(row.decision.removes for row in plan.rows) + len(plan.ended)
    return ["--max-delete", str(goes)] if plan.limit else []


def _done(shared: Common, plan: Plan, *, clean_up: bool) -> list[Done]:
    """Do it. What ends it early does so with what was done until then."""
    done: list[Done] = []
    try:
        for one in retaining.apply(plan, clean_up=clean_up):
            done.append(one)  # noqa: PERF402 - what was done is wanted where it ends early
    except (KeyboardInterrupt, SesstoolError) as error:
        printed(shared, _told(shared, plan, done, every=False), ran=True)
        told = f"{report.summary(plan, done)}; the rest is as it was, and the same command goes on"
        if isinstance(error, KeyboardInterrupt):
            error.add_note(told)
        else:
            shared.note(told)
        if after := report.afterwards(done):
            shared.note(after)
        raise
    return done


def _policy(given: Path | None, *, erase: bool) -> Policy:
    """The policy of the option, of the settings, or the user's own. Raises UsageError."""
    # The setting is the option's default, and no shell has read it.
    named = given.expanduser() if given else str(settings()["policy"].value)
    return retaining.policy_in_use(named) if erase else chosen(named)


def _beyond(plan: Plan, done: list[Done] | None, *, clean_up: bool, listed: bool) -> Iterator[str]:
    """What deletion does not reach, all where it is `listed`, and what is left in a home."""
    deleted = [row for row in plan.changes if row.decision.action == "delete"]
    if any(row.residues for row in deleted) and not clean_up:
        yield "--clean-up takes out what is elsewhere; close the agents first"
    for one in done or ():
        yield from (f"{one.path}: {said}" for said in one.left)
    formats = {row.group.form for row in deleted if row.group.form is not None}
    if formats and not listed:
        yield _ELSEWHERE
        return
    for place in dict.fromkeys(place for form in formats for place in places(form)):
        yield f"not reached: {place}"


def _told(shared: Common, plan: Plan, done: list[Done] | None, *, every: bool) -> str:
    """The result, wrapped where a person reads it at once."""
    if shared.output_format == "json":
        return report.to_json(plan, done, every=every)
    watched = shared.output is None and sys.stdout.isatty()
    columns = shutil.get_terminal_size((80, 24)).columns if watched else None
    return report.to_text(plan, done, every=every, columns=columns)


def _report(shared: Common, path: Path, plan: Plan, done: list[Done] | None, before: Heads) -> int:
    """Write the page of the run; that it cannot be written is told, and undoes nothing."""
    state = api.state_folder()
    try:
        text = page(
            plan,
            done,
            holds=holds.read(state),
            trash=trash.entries(state),
            heads=(before, Heads.of(state)),
        )
        create(path, [text.encode()])
    except SesstoolError as error:
        return tell(shared, error)
    shared.note(f"report: {path}")
    return 0


def _ask(shared: Common, plan: Plan, *, yes: bool) -> bool:
    """Have a person agree to what goes."""
    if yes:
        return True
    what = report.summary(plan, None)
    if not can_ask(shared):
        raise WriteError(f"{what}, and nobody can be asked", hint="add --yes")
    out_stream().write(_told(shared, plan, None, every=False).encode())
    out_stream().flush()
    return agreed(shared, f"{what}. Do it?")
