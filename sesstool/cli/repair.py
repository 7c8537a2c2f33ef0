"""`sesstool repair`: preview a repair, save it as a plan, or do it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesstool import api
from sesstool.cli.common import Codes, Common, common, out_stream, worst
from sesstool.cli.keys import key_options, keys_of, recipient_options, recipients_of
from sesstool.cli.outputs import tell
from sesstool.cli.preview import as_json, document, said, show, unified
from sesstool.cli.streams import found, kept_sealed, piped, settled, watched
from sesstool.cli.validate import format_option
from sesstool.errors import NotASessionError, SesstoolError, UsageError
from sesstool.findings import Severity
from sesstool.records.write import make_folder
from sesstool.text import quoted

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys


@click.command("repair")
@common("text", "json")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--unsafe", is_flag=True, help="Also mend what guesses or takes something away.")
@click.option("--join-branches", is_flag=True, help="Join the branches of two writers.")
@click.option("--select", type=Codes(), default=(), help="Mend only rules that begin so.")
@click.option(
    "--unanswered",
    type=click.Choice(["answer", "drop"]),
    default="answer",
    show_default=True,
    help="Answer calls without a result, or take them out.",
)
@click.option("--diff", is_flag=True, help="Show the change as a unified diff (session text!).")
@click.option("--save-plan", type=click.Path(path_type=Path), help="Save the plan to a new file.")
@click.option("--force", is_flag=True, help="Let -o overwrite a file.")
@click.option("--no-undo", is_flag=True, help="Keep nothing to undo the write with.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has it open.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
@key_options
@recipient_options
@format_option
def command(
    shared: Common,
    paths: tuple[str, ...],
    write: bool,
    dry_run: bool,
    unsafe: bool,
    join_branches: bool,
    select: tuple[str, ...],
    unanswered: str,
    diff: bool,
    save_plan: Path | None,
    force: bool,
    no_undo: bool,
    ignore_live: bool,
    exit_zero: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    recipients: tuple[str, ...],
    recipient_files: tuple[Path, ...],
    format_name: str | None,
) -> int:
    """Preview the repair of sessions, or do it with --write.

    -o FILE writes the repaired session to a new file and leaves the session alone.
    """
    _refuse(shared, paths, write=write, dry_run=dry_run, diff=diff, save_plan=save_plan)
    options = api.Options(drop_unanswered=unanswered == "drop", join_branches=join_branches)
    flags = frozenset({"--join-branches"} if join_branches else ())
    choice = api.Choice(unsafe=unsafe, flags=flags, select=select)
    whom = recipients_of(shared, recipients, recipient_files, needed=False)
    keys = keys_of(shared, identities, passphrase_fd, whom)
    codes, planned, told = [0], [], []
    targets = list(found(shared, paths or piped(), codes))
    for path in targets:
        try:
            if write:
                settled(shared, path, ignore_live=ignore_live)
            with watched(shared, path) as advance:
                repair = api.repair(
                    path,
                    options,
                    choice,
                    format_name=format_name or "",
                    progress=advance,
                    keys=keys,
                )
            if diff:
                unified(repair, keys)
            done: list[api.Applied] = []
            if shared.output is not None:
                _copy(shared, repair, keys, force=force, several=len(targets) > 1)
            elif write and repair:
                plan = api.plan_of([repair])
                done = api.apply(
                    plan,
                    command="repair",
                    ignore_live=ignore_live,
                    keep_undo=not no_undo,
                    keys=keys,
                )
            planned.append(repair)
            told.append(as_json(repair, done))
            if shared.output is None:
                show(shared, repair, done)
            changes = bool(repair) and not write and shared.output is None
            codes.append(int(changes or _left(repair)))
        except NotASessionError as error:
            if str(path) in paths or not paths:
                codes.append(tell(shared, error))
            else:
                shared.note(f"skipped: {error.message}")
        except SesstoolError as error:
            codes.append(tell(shared, error))
    if shared.output_format == "json" and shared.output is None:
        document(told)
    if save_plan is not None and not write:
        api.save_plan(api.plan_of(planned), save_plan)
        shared.note(f"next: sesstool apply {quoted(save_plan)}")
    code = worst(codes)
    return 0 if exit_zero and code == 1 else code


def _refuse(
    shared: Common,
    paths: tuple[str, ...],
    *,
    write: bool,
    dry_run: bool,
    diff: bool,
    save_plan: Path | None,
) -> None:
    """Refuse options that contradict each other, with a sentence."""
    if write and dry_run:
        raise UsageError("--write and --dry-run contradict each other", hint="give one of them")
    if write and shared.output is not None:
        raise UsageError(
            "--write repairs in place and -o makes a new file", hint="give one of them"
        )
    if diff and shared.output_format == "json":
        raise UsageError("--diff is for people and -f json for programs", hint="give one of them")
    if write and save_plan is not None:
        raise UsageError("--write does what --save-plan would save", hint="give one of them")
    if write and "-" in paths:
        raise UsageError("standard input cannot be repaired in place", hint="use -o FILE")


def _copy(shared: Common, repair: api.Repair, keys: Keys, *, force: bool, several: bool) -> None:
    """Write the repaired session to a new file, to a folder of them, or to stdout."""
    assert shared.output is not None
    if str(shared.output) == "-":
        out_stream().writelines(api.repaired(repair, keys))
        return
    target = shared.output
    if several or shared.to_folder:
        make_folder(target)
        target = target / Path(repair.path).name
    api.write_copy(repair, target, force=force, keys=keys)
    said(shared, repair, written=True)
    shared.note(f"written: {target}{kept_sealed(repair.path)}")


def _left(repair: api.Repair) -> bool:
    """Whether an error or a warning is left after the repair."""
    after = repair.outcome.after
    return bool(after.count(Severity.ERROR) or after.count(Severity.WARNING))
