"""`sesstool search`: what was said and done in sessions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from sesstool.api.searching import Found, Part, Tally, Wanted, search
from sesstool.cli.common import Common, Moment, Progress, common, err, out_stream
from sesstool.cli.filters import agents_option, projects_option
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import refuse_output, tell
from sesstool.cli.streams import noted
from sesstool.errors import AuthError, SesstoolError, UsageError
from sesstool.heap import lean_heap
from sesstool.records.write import create
from sesstool.report import search as reports
from sesstool.report.search import Report, report, summary

_NOTHING, _UNSEARCHED = 1, 3


@click.command("search")
@common(*reports.FORMATS)
@click.argument("query")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--regex", is_flag=True, help="QUERY is an RE2 expression.")
@click.option("-s", "--case-sensitive", "case", is_flag=True, help="Capitals count.")
@click.option("--role", "roles", multiple=True, help="Only what this role said: user, assistant.")
@click.option("--tool", "tools", multiple=True, help="Only calls of this tool and their results.")
@agents_option
@projects_option
@click.option("--since", type=Moment(first=True), help="Only records from this date or time on.")
@click.option("--until", type=Moment(), help="Only records up to this date or time.")
@click.option(
    "--index",
    is_flag=True,
    help="Look in an index of words in your cache folder, which is made first and kept up to date. "
    "It finds words and beginnings of words, where a search without it finds any part of one.",
)
@click.option("-l", "--files", is_flag=True, help="Print only the paths of the sessions.")
@click.option(
    "--context",
    type=click.IntRange(0, 10_000),
    default=60,
    show_default=True,
    help="How many characters to show on each side of a match.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="How many hits of a session to show; 0 shows all.",
)
@key_options
def command(
    shared: Common,
    query: str,
    paths: tuple[str, ...],
    regex: bool,
    case: bool,
    roles: tuple[str, ...],
    tools: tuple[str, ...],
    agents: tuple[str, ...],
    projects: frozenset[str],
    since: datetime | None,
    until: datetime | None,
    index: bool,
    files: bool,
    context: int,
    limit: int,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """Look for words in what sessions say: messages, tool inputs and tool outputs.

    Without PATH that is the sessions of all agents on this computer, the newest first. Blanks in
    QUERY stand for any blanks and ends of lines. Exits 0 where something is found, 1 where nothing
    is, and 3 where nothing is found and something could not be searched.
    """
    if "-" in paths:
        raise UsageError("search reads files", hint="give a path, or a folder")
    refuse_output(shared)
    lean_heap()
    wanted = Wanted(
        query,
        regex=regex,
        case=case,
        roles=frozenset(map(str.lower, roles)),
        tools=frozenset(map(str.lower, tools)),
        since=since,
        until=until,
    )
    # Nobody is asked for passphrases of sessions that happen to be here.
    asking = shared if paths else replace(shared, no_input=True)
    keys = keys_of(asking, identities, passphrase_fd)
    tally = Tally()
    found = search(
        wanted,
        paths,
        keys=keys,
        agents=frozenset(agents),
        projects=projects,
        limit=limit,
        context=context,
        bare=files,
        index=index,
        progress=_Bar(shared).tell,
        tally=tally,
        tell=partial(_tell, shared, locked=bool(identities)),
    )
    shown = report(shared.output_format, bare=files, color=shared.colored(sys.stdout))
    if shared.output is None or str(shared.output) == "-":
        _print(found, shown, tally)
    else:
        seen: list[Path] = []
        create(shared.output, (part.encode() for part in _parts(found, shown, tally, seen)))
        noted(shared.output, *seen)
    _sum_up(shared, tally)
    if tally.found:
        return 0
    return _UNSEARCHED if tally.locked or tally.unread or tally.records else _NOTHING


class _Bar:
    """Shows how far the index is made, once that takes a while."""

    def __init__(self, shared: Common) -> None:
        self._shared = shared
        self._bar: Progress | None = None
        self._done = 0

    def tell(self, done: int, total: int) -> None:
        self._bar = self._bar or self._shared.progress(total, "index")
        self._bar.advance(done - self._done)
        self._done = done
        if done >= total:
            self._bar.__exit__()


def _parts(found: Iterable[Part], shown: Report, tally: Tally, seen: list[Path]) -> Iterator[str]:
    """What is written; the sessions that it is of are added to `seen`."""
    for part in found:
        if isinstance(part, Found):
            seen.append(part.item.path)
        yield shown.show(part)
    yield shown.close(tally)


def _print(found: Iterable[Part], shown: Report, tally: Tally) -> None:
    """Print what is found as it is found."""
    out = out_stream()
    for text in _parts(found, shown, tally, []):
        out.write(text.encode())
        out.flush()


def _tell(shared: Common, error: SesstoolError, *, locked: bool) -> None:
    """Tell what cannot be searched; where no key is given, encrypted sessions are just counted."""
    if locked or not isinstance(error, AuthError | UsageError) or shared.verbosity > 1:
        tell(shared, error)


def _sum_up(shared: Common, tally: Tally) -> None:
    """Say what was found, and what was not searched, with the next step."""
    shared.note(summary(tally))
    if tally.locked:
        err(f"sesstool: warning: not searched, for no key opens them: {tally.locked:,} encrypted")
        shared.note("sesstool: hint: give the key with -i FILE; -v names them")
