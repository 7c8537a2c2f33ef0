"""`sesstool list`: the sessions of this computer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from sesstool.cli.common import Common, Moment, common
from sesstool.cli.filters import agents_option, no_cache_option, projects_option
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination
from sesstool.heap import uncollected
from sesstool.library import arrange
from sesstool.library.arrange import ORDERS, Query, Twig, families, id_of, ordered
from sesstool.library.discover import Item, discover
from sesstool.library.glance import STATES
from sesstool.report import listing
from sesstool.report.amounts import counted, size


@click.command("list")
@common(*listing.FORMATS)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@agents_option
@projects_option
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Only in this state."
)
@click.option("--title", "text", default="", help="Only with these words in title, id or path.")
@click.option("--since", type=Moment(first=True), help="Only written since this date or time.")
@click.option(
    "--sort",
    type=click.Choice([name for name in ORDERS if name != "records"]),
    default="newest",
    show_default=True,
    help="What comes first.",
)
@click.option("--limit", type=click.IntRange(0), default=0, help="So many at most; 0 lists all.")
@click.option("--parts", is_flag=True, help="Subagents as well, below their sessions.")
@click.option("--tree", is_flag=True, help="Forks and subagents below what they come from.")
@no_cache_option
@key_options
@uncollected()
def command(
    shared: Common,
    paths: tuple[str, ...],
    agents: tuple[str, ...],
    projects: frozenset[str],
    states: tuple[str, ...],
    text: str,
    since: datetime | None,
    sort: str,
    limit: int,
    parts: bool,
    tree: bool,
    no_cache: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """List the sessions of all agents on this computer, or those that PATH means.

    They are judged by their beginning and their end, not read whole: "ok" means that no damage is
    seen there. `validate` looks at all of a session. `config homes` tells where is looked.
    """
    from sesstool.library.living import marked  # noqa: PLC0415 - help needs none of these
    from sesstool.library.overview import survey  # noqa: PLC0415 - the same

    keys = keys_of(shared, identities, passphrase_fd, prompts=False)
    rows = marked(survey(found(paths), keys, kept=not no_cache))
    query = Query(frozenset(agents), projects, frozenset(states), text, since)
    family = families(ordered(query.of(rows), sort))
    twigs = arrange.tree(family) if tree else arrange.flat(family, parts=parts)
    shown = _first(twigs, limit)
    every = [twig.row for twig in shown]
    with destination(shared) as out:
        if shared.output_format == "json":
            out.writelines(part.encode() for part in listing.to_json(every))
        elif shared.output_format == "jsonl":
            out.writelines(line.encode() for line in listing.to_jsonl(every))
        elif shared.output_format == "concise":
            out.writelines(line.encode() for line in listing.concise(every))
        elif shown:
            wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
            others = map(id_of, rows) if len(shown) < len(rows) else ()
            out.writelines(line.encode() for line in listing.table(shown, wide, others))
    shared.note(_summary(shown, twigs))
    if not rows:
        shared.note("next: sesstool config homes tells where was looked")
    return 0


def found(paths: tuple[str, ...]) -> list[Item]:
    """The sessions that paths, folders and ids mean; by default those of all agents."""
    if not paths:
        return list(discover())
    from sesstool.api.listing import sessions  # noqa: PLC0415 - ids need more than paths

    return list(sessions(paths))


def _first(twigs: Sequence[Twig], limit: int) -> Sequence[Twig]:
    """The first sessions, so many, with their parts; 0 for all."""
    if not limit:
        return twigs
    starts = [at for at, twig in enumerate(twigs) if not twig.is_part]
    return twigs[: starts[limit]] if limit < len(starts) else twigs


def _summary(shown: Sequence[Twig], twigs: Sequence[Twig]) -> str:
    some, every = (sum(not twig.is_part for twig in found) for found in (shown, twigs))
    more = f" of {every:,}" if some < every else ""
    return f"{counted(some, 'session')}{more}, {size(sum(twig.row[0].size for twig in shown))}"
