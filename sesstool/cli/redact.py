"""`sesstool redact`: what secrets and personal data sessions hold, and without them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from sesstool.api import redaction as api
from sesstool.api.publishing import publish
from sesstool.cli.common import Common, common, out_stream, worst
from sesstool.cli.keys import (
    key_options,
    keys_of,
    recipient_options,
    recipients_of,
    secret,
    vault_option,
)
from sesstool.cli.outputs import refuse_nowhere, refuse_report
from sesstool.cli.redacted import copied, poured_out, said, shown, something, verdict
from sesstool.cli.spool import Spool
from sesstool.cli.streams import encrypted, found, piped
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError, WriteError
from sesstool.privacy import allow as allow_list
from sesstool.privacy.names import load_subject, load_terms
from sesstool.privacy.standin import load_key
from sesstool.records.undo import state_folder
from sesstool.records.write import create, real_path
from sesstool.report.amounts import count
from sesstool.report.reporters import REPORTERS

_FOR_PEOPLE = ("text", "concise")


@click.command("redact")
@common(*REPORTERS)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-w", "--write", is_flag=True, help="Do it; without this nothing is changed.")
@click.option("--in-place", is_flag=True, help="With --write: replace the sessions themselves.")
@click.option("-n", "--dry-run", is_flag=True, help="Only preview, as without --write.")
@click.option("--yes", is_flag=True, help="Do not ask: no plain copy is kept.")
@click.option("--check", is_flag=True, help="For CI: only say whether there is anything.")
@click.option(
    "--profile",
    type=click.Choice(list(api.PROFILES)),
    help="resume keeps what a resume needs (default in place); share drops what cannot be "
    "looked into (default with -o).",
)
@click.option("--detectors", default="", help="Only these: groups, kinds or rules, with commas.")
@click.option(
    "--style",
    type=click.Choice(["tag", "shape", "label"]),
    default="tag",
    show_default=True,
    help="What stands in the place of a value.",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    help="A file with the key of the stand-ins; without one each run has its own.",
)
@click.option(
    "--terms",
    type=click.Path(path_type=Path),
    help="A file with names of yours to take out, one a line, or as [[term]] tables with text, "
    "kind and whole-word where it ends with .toml.",
)
@click.option(
    "--subject",
    multiple=True,
    metavar="VALUE",
    allow_from_autoenv=False,
    help="One person to take out, by name, e-mail, user name or phone number, with all that is "
    "linked to it; give it once for each value that is theirs. Others on this machine can see it "
    "in the list of processes, and the shell keeps it: --subject-file is safer.",
)
@click.option(
    "--subject-file",
    type=click.Path(path_type=Path),
    help="A file with such values, one a line; - reads them from standard input.",
)
@click.option("--only-subject", is_flag=True, help="Take out the subject, and terms, alone.")
@click.option(
    "--allow",
    type=click.Path(path_type=Path),
    help="A TOML file with what is left alone: [[allow]] tables with value (a keyed hash), rule "
    "or path. Needs --key for values.",
)
@click.option(
    "--fingerprint",
    is_flag=True,
    help="Only print the entries of an allow list for the values on standard input, one a line; "
    "needs --key.",
)
@click.option(
    "--unreadable",
    type=click.Choice(["text", "skip"]),
    default="text",
    show_default=True,
    help="Lines that are no JSON: redact them as text, or leave them.",
)
@click.option(
    "--report",
    "reports",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Write what was found, without values, to a .json or .html file; may be given twice.",
)
@key_options
@vault_option(required=False)
@recipient_options
@click.option("--force", is_flag=True, help="Let -o and --report overwrite files.")
@click.option("--ignore-live", is_flag=True, help="Write even while a writer has it open.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is something to do.")
@format_option
def command(
    shared: Common,
    paths: tuple[str, ...],
    write: bool,
    in_place: bool,
    dry_run: bool,
    yes: bool,
    check: bool,
    profile: str | None,
    detectors: str,
    style: str,
    key: Path | None,
    terms: Path | None,
    subject: tuple[str, ...],
    subject_file: Path | None,
    only_subject: bool,
    allow: Path | None,
    fingerprint: bool,
    unreadable: str,
    reports: tuple[Path, ...],
    vault: Path | None,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    recipients: tuple[str, ...],
    recipient_files: tuple[Path, ...],
    force: bool,
    ignore_live: bool,
    exit_zero: bool,
    format_name: str | None,
) -> int:
    """Find secrets and personal data in sessions, and put stand-ins in their place.

    Without --write and -o it only reports; no value is ever printed. -o FILE or FOLDER makes
    copies.

    With --key, a session that was redacted in place and only grew since is redacted from where
    it grew, unless there is to be a --report.

    With --vault the originals are kept, encrypted, and `sesstool unredact` gives them back byte
    for byte. A vault can be added to; keep it and its key away from what is shared. Deleting the
    key erases what was taken out, in every copy of the vault, for good.
    """
    secret_key = load_key(key) if key else b""
    if fingerprint:
        return _print_entries(paths, secret_key)
    subject += _subject(subject_file, paths) if subject_file else ()
    if only_subject and not subject:
        raise UsageError("--only-subject is of no use without --subject", hint="name the person")
    _refuse(shared, paths, write=write, in_place=in_place, dry_run=dry_run, check=check)
    for report in reports:
        refuse_report(report, ".json", ".html", force=force)
    chosen = profile or ("share" if shared.output is not None else "resume")
    choice = api.Choice(
        profile=chosen,
        style=style,
        unreadable=unreadable,
        detectors=tuple(filter(None, (part.strip() for part in detectors.split(",")))),
        terms=load_terms(terms) if terms else (),
        subject=subject,
        only_subject=only_subject,
        allow=_allowed(allow, secret_key) if allow else (),
    )
    whom = recipients_of(shared, recipients, recipient_files, needed=False)
    keys = keys_of(shared, identities, passphrase_fd, whom)
    keep_in = None
    if vault is not None and (write or shared.output is not None):
        _refuse_shared(vault, shared, force=force)
        refuse_nowhere(vault)
        keep_in = (vault, secret(shared, vault, identities, passphrase_fd))
    if write and not yes:
        _ask(shared)
    codes = [0]
    targets = list(found(shared, paths or piped(), codes))
    if not targets:
        return worst(codes)
    if vault is not None and any(map(encrypted, targets)):
        raise UsageError(
            "what is encrypted keeps its originals in no vault", hint="decrypt it, or leave --vault"
        )
    poured = str(shared.output) == "-"
    heading = f"profile {chosen}: {api.PROFILES[chosen]}"
    if poured:
        shared.note(heading)
    elif shared.output_format in _FOR_PEOPLE and not check:
        _line(heading)
    with (
        Spool() as spool,
        _stopped("it"),
        api.redact(
            targets,
            choice,
            key=secret_key,
            format_name=format_name or "",
            told=spool.add if _lists(shared) and not check and not poured else None,
            given=paths,
            keep=keep_in is not None,
            resume=state_folder() if write and not reports else None,
            keys=keys,
        ) as redaction,
        _stopped(count(len(redaction.files), "file"), redaction.published),
    ):
        if poured and len(redaction.files) > 1:
            raise UsageError("-o - takes one file, and these are several", hint="name a folder")
        if check:
            _line(verdict(redaction))
        elif not poured:
            shown(shared, redaction, spool)
        done = "in place" if write else "copies" if shared.output is not None else "preview"
        with _reported(redaction, done, reports, force=force, vault=keep_in is not None):
            if poured:
                poured_out(redaction)
            elif shared.output is not None:
                copied(shared, redaction, force=force, keep_in=keep_in)
            elif write:
                publish(redaction, ignore_live=ignore_live, keep_in=keep_in)
        if not check:
            said(shared, redaction, write=write, paths=paths)
        for report in reports:
            shared.note(f"report: {report}")
        if not write and shared.output is None and any(map(something, redaction.files)):
            codes.append(0 if exit_zero else 1)
    return worst(codes)


@contextmanager
def _stopped(what: str, published: Sequence[Path] = ()) -> Iterator[None]:
    """Have an interruption say what was written until then, of `what`."""
    try:
        yield
    except KeyboardInterrupt as error:
        if published:
            error.add_note(f"written: {len(published)} of {what}, each of them whole")
        elif not getattr(error, "__notes__", None):
            error.add_note("nothing was written")
        raise


def _lists(shared: Common) -> bool:
    """Whether each place is shown, and not only counted."""
    return shared.output_format != "text" or shared.verbosity > 1


def _line(text: str) -> None:
    out_stream().write(f"{text}\n".encode())


def _refuse(
    shared: Common,
    paths: tuple[str, ...],
    *,
    write: bool,
    in_place: bool,
    dry_run: bool,
    check: bool,
) -> None:
    """Refuse options that contradict each other, with a sentence."""
    if write and (dry_run or check):
        other = "--dry-run" if dry_run else "--check"
        raise UsageError(f"--write and {other} contradict each other", hint="give one of them")
    if check and shared.output is not None:
        raise UsageError("--check writes nothing and -o makes copies", hint="give one of them")
    if write and shared.output is not None:
        raise UsageError("--write redacts in place and -o makes copies", hint="give one of them")
    if write != in_place:
        raise UsageError(
            "redacting in place keeps no plain copy", hint="say --write --in-place, or -o FOLDER"
        )
    if write and "-" in paths:
        raise UsageError("standard input cannot be redacted in place", hint="use -o FILE")


def _subject(path: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    if str(path) == "-" and (not paths or "-" in paths):
        raise UsageError(
            "standard input cannot be both the subject and a session", hint="give a path"
        )
    return load_subject(path)


def _allowed(path: Path, key: bytes) -> tuple[allow_list.Entry, ...]:
    entries = allow_list.load(path)
    if not key and any(entry.value for entry in entries):
        raise UsageError(
            f"the values in {path} can only be told with the key they were hashed with",
            hint="give it with --key",
        )
    return entries


def _print_entries(paths: tuple[str, ...], key: bytes) -> int:
    """Print the entries of an allow list for the values on standard input."""
    if paths or sys.stdin.isatty():
        raise UsageError(
            "--fingerprint reads values from standard input, one a line, and no session",
            hint="sesstool redact --key KEYFILE --fingerprint < VALUES >> allow.toml",
        )
    if not key:
        raise UsageError(
            "an allow list holds keyed hashes, and there is no key", hint="give one with --key"
        )
    values = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").splitlines()
    out_stream().writelines(line.encode() for line in allow_list.listed(values, key))
    return 0


def _refuse_shared(vault: Path, shared: Common, *, force: bool) -> None:
    """Refuse a vault that would be handed on with the copies."""
    if shared.output is None:
        return
    if str(shared.output) == "-":
        raise UsageError("a vault is for files, not for streams", hint="-o FILE instead of -o -")
    if real_path(vault).is_relative_to(real_path(shared.output)) and not force:
        raise UsageError(
            f"the vault {vault} is in the folder of the copies, and would be shared with them",
            hint="keep it elsewhere; --force puts it there all the same",
        )


def _ask(shared: Common) -> None:
    """Have a person agree that no plain copy is kept."""
    if shared.no_input or not sys.stdin.isatty():
        raise WriteError(
            "redacting in place keeps no plain copy, and nobody can be asked",
            hint="add --yes, or make copies with -o FOLDER",
        )
    click.confirm(
        "No plain copy is kept, and undo entries of these files go. Redact in place?",
        abort=True,
        err=True,
    )


@contextmanager
def _reported(
    redaction: api.Redaction, done: str, reports: tuple[Path, ...], *, force: bool, vault: bool
) -> Iterator[None]:
    """Write the reports, and take them back where what they tell of then fails.

    They come first: what was taken out in place cannot be reported on later.
    """
    from sesstool.report.redaction import document, page  # noqa: PLC0415 - few runs need it

    written: list[Path] = []
    try:
        if reports:
            content = document(redaction, done, vault=vault)
        for report in reports:
            html = report.suffix.lower() == ".html"
            text = page(content) if html else json.dumps(content, indent=1) + "\n"
            create(report, [text.encode()], force=force)
            written.append(report)
        yield
    except BaseException:
        for report in written:
            report.unlink(missing_ok=True)
        raise
