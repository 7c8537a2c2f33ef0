"""`sesstool validate`: what is wrong with sessions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesstool import api
from sesstool.checks.engine import RULES, Progress
from sesstool.cli.common import Codes, Common, common, worst
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination, tell
from sesstool.cli.snippets import snippets
from sesstool.cli.streams import encrypted, found, piped, size_of, watched
from sesstool.cli.workers import spread, worthwhile
from sesstool.errors import NotASessionError, SesstoolError
from sesstool.findings import FileReport, Severity
from sesstool.formats.registry import FORMATS
from sesstool.formats.schemas import RecordValidator
from sesstool.report.base import Output, Totals
from sesstool.report.base import statistics as rule_counts
from sesstool.report.reporters import REPORTERS

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_FAILING = {
    "error": (Severity.ERROR,),
    "warning": (Severity.ERROR, Severity.WARNING),
    "information": tuple(Severity),
}

_Judged = FileReport | SesstoolError


def format_option(function: Callable[..., int]) -> Callable[..., int]:
    """The option that names the format instead of detecting it."""
    names = click.Choice([form.name for form in FORMATS])
    text = "Take the input for this format."
    return click.option("--format", "format_name", type=names, default=None, help=text)(function)


@click.command("validate")
@common(*REPORTERS)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--select", type=Codes(), default=(), help="Show only rules that begin so.")
@click.option("--ignore", type=Codes(), default=(), help="Leave out rules that begin so.")
@click.option("--schema", type=click.Path(path_type=Path), help="Judge records by this schema too.")
@format_option
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="warning",
    show_default=True,
    help="The least severity that makes the exit code 1.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="How many files to read at once; by default as many as there are cores, where it pays.",
)
@click.option("--thorough", is_flag=True, help="Also run the checks that cost much.")
@click.option("--statistics", is_flag=True, help="Count the findings by rule.")
@key_options
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there are findings.")
@click.option("--show-text", is_flag=True, help="Show session text in snippets.")
def command(
    shared: Common,
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    schema: Path | None,
    format_name: str | None,
    fail_on: str,
    jobs: int | None,
    thorough: bool,
    statistics: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    exit_zero: bool,
    show_text: bool,
) -> int:
    """Report what is wrong with sessions. Nothing is ever written.

    PATH is a file, a folder (every session below it), a session id, or - for standard input.
    """
    names = paths or piped()
    _own.cache_clear()
    if schema:
        _own(schema)
    judge = partial(
        _judge,
        options=api.Options(thorough=thorough),
        format_name=format_name or "",
        schema=schema,
    )
    keys = keys_of(shared, identities, passphrase_fd)
    totals, codes = Totals(), [0]
    with destination(shared) as out:
        output = Output(out, shared.note, RULES, shared.colored(sys.stdout), show_text=show_text)
        reporter = REPORTERS[shared.output_format](output)
        for path, report in _reports(shared, judge, list(found(shared, names, codes)), jobs, keys):
            if isinstance(report, NotASessionError) and str(path) not in names:
                shared.note(f"skipped: {report.message}")
                continue
            if isinstance(report, SesstoolError):
                codes.append(tell(shared, report))
                continue
            shown = _wanted(report, select, ignore)
            totals.add(shown)
            with snippets(path, keys) as snippet:
                reporter.file(shown, snippet)
            if not exit_zero and any(shown.count(s) for s in _FAILING[fail_on]):
                codes.append(1)
        reporter.close(totals)
        if statistics and shared.output_format in ("text", "concise"):
            out.write(rule_counts(totals, RULES).encode())
        elif statistics:
            # The result is for a program: the counts go to the person beside it.
            click.echo(rule_counts(totals, RULES), err=True, nl=False)
    return worst(codes)


def _reports(
    shared: Common,
    judge: partial[_Judged],
    paths: list[Path | str],
    jobs: int | None,
    keys: Keys,
) -> Iterator[tuple[Path | str, _Judged]]:
    """Each path with what the rules say of it, or the error that it meets."""
    jobs = jobs or worthwhile(paths)
    judge = partial(judge, keys=keys)
    # Only this process can ask for a passphrase.
    if jobs > 1 and len(paths) > 1 and not any(map(encrypted, paths)):
        with shared.progress(sum(map(size_of, paths)), f"{len(paths)} files") as bar:
            for path, report in spread(judge, paths, jobs):
                bar.advance(report.size if isinstance(report, FileReport) else 0)
                yield path, report
        return
    for path in paths:
        with watched(shared, path) as advance:
            report = judge(path, progress=advance)
        yield path, report


def _judge(
    path: Path | str,
    *,
    options: api.Options,
    format_name: str,
    schema: Path | None,
    keys: Keys,
    progress: Progress | None = None,
) -> _Judged:
    try:
        return api.validate(
            path,
            options,
            format_name=format_name,
            schema=_own(schema) if schema else None,
            progress=progress,
            keys=keys,
        )
    except SesstoolError as error:
        return error


@cache
def _own(schema: Path) -> RecordValidator:
    """The user's schema, which each process reads once."""
    return RecordValidator.from_file(schema)


def _wanted(report: FileReport, select: tuple[str, ...], ignore: tuple[str, ...]) -> FileReport:
    kept = tuple(
        f
        for f in report.findings
        if (not select or f.code.startswith(select)) and not (ignore and f.code.startswith(ignore))
    )
    return replace(report, findings=kept)
