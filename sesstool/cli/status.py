"""`sesstool status`: how the sessions of this computer stand."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesstool.cli.common import Common, common, out_stream, settings
from sesstool.cli.filters import agents_option, no_cache_option, projects_option
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.list import found
from sesstool.cli.outputs import destination
from sesstool.heap import uncollected
from sesstool.library.arrange import Query, families
from sesstool.library.situation import Situation, Told, closer, situation
from sesstool.library.standing import OPEN, STANDINGS
from sesstool.report import status as report
from sesstool.text import elide

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

# A screen of its own without a cursor, and the terminal as it was.
_ENTER, _LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"
# So many of those that are shown are looked at more closely for the last good state.
_CLOSELY = 200
_RANK = {word: rank for rank, word in enumerate(STANDINGS)}


@click.command("status")
@common(*report.FORMATS)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@agents_option
@projects_option
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STANDINGS),
    help="Only those that stand so; else those that need a person, or are at work.",
)
@click.option("--all", "every", is_flag=True, help="Those as well of which nothing is to be done.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many to show as text; 0 shows all.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    help="The retention policy; else the setting, else yours: retention.toml.",
)
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(0.2, 3600),
    default=2.0,
    show_default=True,
    help="With --watch: look every so many seconds.",
)
@no_cache_option
@key_options
def command(
    shared: Common,
    paths: tuple[str, ...],
    agents: tuple[str, ...],
    projects: frozenset[str],
    states: tuple[str, ...],
    every: bool,
    limit: int,
    policy: Path | None,
    watch: bool,
    interval: float,
    no_cache: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """Tell how the sessions of all agents here stand, and how to go on with each.

    Running and waiting are judged by locks, open files, processes and what agents register; the
    rest by the beginning and the end of each file. What is not shown is counted. JSON has all.
    """
    keys = keys_of(shared, identities, passphrase_fd, prompts=False)
    query = Query(frozenset(agents), projects)
    wanted = frozenset(states) or frozenset(STANDINGS if every else OPEN)

    def look() -> Situation:
        seen = situation(found(paths), keys, kept=not no_cache, here=Path.cwd(), due=_due(policy))
        return seen._replace(told=[one for one in seen.told if query.fits(one.row)])

    if watch:
        return _watch(shared, look, wanted, limit, interval)
    with uncollected():
        return _once(shared, look(), wanted, limit, keys, whole=not states)


def _due(named: Path | None) -> dict[Path, str]:
    """The sessions that the policy in use would take away, with the rule's reason."""
    from sesstool.retention import policy  # noqa: PLC0415 - few have one

    path = named or policy.in_use(str(settings()["policy"].value))
    if path is None:
        return {}
    from sesstool.api import retaining  # noqa: PLC0415 - the same

    rules = policy.load(path.expanduser())
    rows = retaining.plan((), rules, trust_clock=True).rows
    return {
        Path(row.group.path): f"{rules.name} takes it away: {row.decision.reason}"
        for row in rows
        if row.changes
    }


def _once(
    shared: Common,
    seen: Situation,
    wanted: frozenset[str],
    limit: int,
    keys: Keys | None,
    *,
    whole: bool,
) -> int:
    """Show those that are wanted; JSON has all of them, if they are asked for `whole`."""
    every = _sessions(seen)
    shown = [one for one in every if one.standing.word in wanted]
    use = report.uses(one.row for one in seen.told)
    with destination(shared) as out:
        if shared.output_format == "text":
            out.write(_screen(seen, shown, limit, keys).encode())
            out.write(report.disk(use).encode() if seen.told else b"")
        else:
            told = every if whole else shown
            if shared.output_format == "json":
                parts = report.to_json(told, use, seen.started)
                out.writelines(part.encode() for part in parts)
            for one in told if shared.output_format == "jsonl" else ():
                out.write(json.dumps(report.status_value(one)).encode() + b"\n")
    shared.note(report.summary(one.standing.word for one in every))
    if not seen.told:
        shared.note("next: sesstool config homes tells where was looked")
    return 0


def _sessions(seen: Situation) -> list[Told]:
    """All but the parts of others, those that a person asks for first at the beginning."""
    parts = families(one.row for one in seen.told).parts
    hidden = {row[0] for rows in parts.values() for row in rows}
    alone = [one for one in seen.told if one.row[0] not in hidden] if hidden else seen.told
    return sorted(alone, key=lambda one: _RANK[one.standing.word])


def _screen(seen: Situation, shown: Sequence[Told], limit: int, keys: Keys | None = None) -> str:
    """What is shown as text; of the first sessions more is read for the last good state."""
    first = list(shown[:limit] if limit else shown)
    for at, one in enumerate(first[:_CLOSELY]):
        if one.standing.word in ("interrupted", "damaged") and one.standing.good is None:
            first[at] = closer(one, seen.started, keys)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    text = report.text(first, seen.now, columns)
    if len(first) < len(shown):
        text += f"… and {len(shown) - len(first):,} more: --limit 0 shows all\n"
    return text + ("\n" if text else "")


def _watch(
    shared: Common,
    look: Callable[[], Situation],
    wanted: frozenset[str],
    limit: int,
    interval: float,
) -> int:
    """Look again and again: a terminal shows how all stand, else each change is a line."""
    before: dict[Path, str] | None = None
    live = sys.stdout.isatty() and shared.output_format == "text"
    out = out_stream()
    try:
        out.write(_ENTER if live else b"")
        while True:
            with uncollected():
                seen = look()
            every = _sessions(seen)
            shown = [one for one in every if one.standing.word in wanted]
            if live:
                summary = report.summary(one.standing.word for one in every)
                out.write(_frame(_screen(seen, shown, limit), summary))
            else:
                after = {one.row[0].path: one.standing.word for one in every}
                for one in shown if before is None else every:
                    if before is None or before.get(one.row[0].path) != one.standing.word:
                        out.write(_change(shared, one, seen.now))
                before = after
            out.flush()
            time.sleep(interval)
    except KeyboardInterrupt:
        return 0
    finally:
        with suppress(OSError):  # the terminal is gone
            out.write(_LEAVE if live else b"")
            out.flush()


def _frame(text: str, summary: str) -> bytes:
    """What is drawn over the last screen: whole lines, no more than the terminal has.

    The last one is the summary.
    """
    columns, height = shutil.get_terminal_size()
    lines = text.rstrip("\n").splitlines()
    room = max(height - 1, 0)
    if len(lines) > room:
        kept = max(room - 1, 0)
        lines = [*lines[:kept], f"… {len(lines) - kept:,} lines more than fit"][:room]
    shown = (elide(line, columns) + "\x1b[K" for line in [*lines, summary])
    return ("\x1b[H" + "\n".join(shown) + "\x1b[J").encode()


def _change(shared: Common, one: Told, now: datetime) -> bytes:
    if shared.output_format == "text":
        return report.line(one, now).encode()
    value = {"time": now.isoformat(), **report.status_value(one)}
    return json.dumps(value).encode() + b"\n"
