"""`sesstool unredact`: the originals of redacted sessions, byte for byte, with the vault."""

from __future__ import annotations

from pathlib import Path

import click

from sesstool.api import unredaction as api
from sesstool.cli.common import Common, common, out_stream, worst
from sesstool.cli.keys import key_options, secret, vault_option
from sesstool.cli.outputs import tell
from sesstool.errors import SesstoolError, UndoError, UsageError
from sesstool.report.amounts import count
from sesstool.text import quoted, safe


@click.command("unredact")
@common("text")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@key_options
@vault_option(required=True)
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("--in-place", is_flag=True, help="With --write: replace the redacted files.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option(
    "--by-stand-in",
    is_flag=True,
    help="Where a file was changed since: replace the stand-ins that the vault knows.",
)
@click.option("--force", is_flag=True, help="Let -o overwrite files.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has it open.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
def command(
    shared: Common,
    paths: tuple[str, ...],
    vault: Path,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    write: bool,
    in_place: bool,
    dry_run: bool,
    by_stand_in: bool,
    force: bool,
    ignore_live: bool,
    exit_zero: bool,
) -> int:
    """Give back what redact --vault took out: the originals, byte for byte.

    Nothing is published whose SHA-256 is not that of the original. What was appended to a
    redacted session stays, with values in the place of the stand-ins in it. -o FILE or FOLDER
    makes the originals as new files; they hold the values.

    The vault holds the values, encrypted: whoever has it and its key can undo the redaction, and
    nobody else. Deleting the key erases them, in every copy of the vault, for good.
    """
    _refuse(shared, paths, write=write, in_place=in_place, dry_run=dry_run)
    codes = [0]
    files = ready = 0
    with api.open_vault(vault, secret(shared, vault, identities, passphrase_fd)) as opened:
        if opened.damage:
            shared.note(
                f"the vault is not whole: {opened.damage}; "
                f"{count(len(opened.files), 'original')} of it can be tried"
            )
        targets: list[Path] = []
        for name in paths:
            try:
                targets += api.find([name], opened)
            except SesstoolError as error:
                codes.append(tell(shared, error))
        several = len(targets) > 1 or shared.to_folder
        late: dict[Path, SesstoolError] = {}
        while targets:
            for path in targets:
                try:
                    with api.unredact(path, opened, by_stand_in=by_stand_in) as file:
                        files += 1
                        ready += file.changed
                        out_stream().write(f"{safe(str(path))}: {_told(file)}\n".encode())
                        target = _target(shared.output, file, several=several)
                        if target is not None:
                            api.publish(file, target, force=force)
                            shared.note(f"written: {target}")
                        elif write:
                            api.publish(file, ignore_live=ignore_live)
                except UndoError as error:
                    late[path] = error
                except SesstoolError as error:
                    codes.append(tell(shared, error))
            # What refers to bytes of another session is as it was once that one is.
            again = list(late) if write and 0 < len(late) < len(targets) else []
            codes += [tell(shared, error) for path, error in late.items() if path not in again]
            targets, late = again, {}
    done = "put back" if write or shared.output else "to put back"
    shared.note(f"{count(ready, 'original')} {done} of {count(files, 'file')}")
    if ready and not write and shared.output is None:
        options = " ".join(quoted(part) for part in _again(paths, vault, identities, by_stand_in))
        shared.note(f"next: sesstool unredact -o FOLDER {options}")
        shared.note(f"next: sesstool unredact --write --in-place {options}")
        codes.append(0 if exit_zero else 1)
    return worst(codes)


def _refuse(
    shared: Common, paths: tuple[str, ...], *, write: bool, in_place: bool, dry_run: bool
) -> None:
    if write and dry_run:
        raise UsageError("--write and --dry-run contradict each other", hint="give one of them")
    if write and shared.output is not None:
        raise UsageError("--write works in place and -o makes files", hint="give one of them")
    if write != in_place:
        raise UsageError(
            "--write and --in-place go together", hint="say --write --in-place, or -o FOLDER"
        )
    if "-" in paths or str(shared.output) == "-":
        raise UsageError("unredact works on files, not on streams", hint="give a path, and -o FILE")


def _told(file: api.Unredacted) -> str:
    """What came of a file, without anything that it holds."""
    kept = file.kept
    if kept is None:
        words = f"only what its stand-ins tell: {count(file.done, 'stand-in')} of it"
    elif not kept.changed:
        return "nothing was taken out of it"
    else:
        words = f"the original, redacted {kept.made}"
        if not file.grown:
            return f"{words}, {kept.size} bytes"
        words += (
            f"; it has grown by {file.grown} bytes since, which are kept, with values for "
            f"{count(file.done, 'stand-in')}"
        )
    return words + (f"; {count(file.left, 'stand-in')} left, unknown here" if file.left else "")


def _target(output: Path | None, file: api.Unredacted, *, several: bool) -> Path | None:
    if output is None:
        return None
    return output / file.name if several or output.is_dir() else output


def _again(
    paths: tuple[str, ...], vault: Path, identities: tuple[Path, ...], by_stand_in: bool
) -> list[str]:
    """The arguments of the next command."""
    key = [word for path in identities for word in ("-i", str(path))]
    return ["--vault", str(vault), *key, *(["--by-stand-in"] if by_stand_in else []), *paths]
