"""`sesstool audit`: what sesstool wrote, and proof that the record of it is whole."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from sesstool import api
from sesstool.audit import log, tombstones
from sesstool.cli.common import Common, common
from sesstool.cli.main import ForwardingGroup
from sesstool.cli.outputs import destination
from sesstool.errors import UsageError
from sesstool.report.amounts import count
from sesstool.text import safe

_TEXTS = ("time", "host", "version", "action", "path", "before", "after", "undo")
_OPTIONAL = ("of", "entry", "reason", "head")
_NEWEST = re.compile(r"[0-9]+:[0-9a-f]{64}")


@click.group("audit", cls=ForwardingGroup)
def command() -> None:
    """Show and verify the log of every write."""


@command.command("show")
@common("text", "json")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--since", metavar="DATE", help="Only from then on: 2026-03-01, or with a time; UTC.")
@click.option("--action", metavar="NAME", help="Only what this command did, such as repair.")
def show(shared: Common, paths: tuple[str, ...], since: str | None, action: str | None) -> int:
    """Print what was written: time, who, action, path, undo or trash entry, one line a change.

    PATH is a file, or a folder with all below it, also one that is gone. A path that redact
    wrote into the log with stand-ins is not found by it.
    """
    start = _time(since) if since else None
    places = [os.path.realpath(path) for path in paths]
    damaged: list[int] = []
    rows = (
        row
        for row in map(_row, log.CHAIN.read(api.state_folder(), damaged))
        if (action in (None, row["action"])) and _since(row, start) and _below(row, places)
    )
    with destination(shared) as out:
        if shared.output_format == "json":
            out.write(b'{"schema_version": 1, "changes": [')
            for number, row in enumerate(rows):
                out.write((b",\n " if number else b"\n ") + json.dumps(row).encode())
            out.write(b"\n]}\n")
        else:
            out.writelines(safe("  ".join(_words(row))).encode() + b"\n" for row in rows)
    if damaged:
        shared.note(f"{count(len(damaged), 'line')} cannot be read; next: sesstool audit verify")
    return 0


@command.command("verify")
@common("text")
@click.option(
    "--expect",
    multiple=True,
    metavar="SEQ:DIGEST",
    help="A newest line that verify printed before, and that must still be there.",
)
def verify(shared: Common, expect: tuple[str, ...]) -> int:
    """Prove that the audit log and the tombstones are whole, and print the newest line of each.

    Every line that was changed, removed, moved or put in is found. Not found is who rewrote
    the lines and the head together: keep what is printed elsewhere, and give it to --expect.
    Where the newest line is not in the head yet, a note says so, for it may be put in by hand.
    """
    for one in expect:
        if not _NEWEST.fullmatch(one):
            raise UsageError(
                "--expect is SEQ:DIGEST", hint="give what sesstool audit verify printed as newest"
            )
    missing, found = set(expect), False
    with destination(shared) as out:
        for chain in (log.CHAIN, tombstones.CHAIN):
            told = chain.check(api.state_folder(), expect)
            missing -= told.expected
            newest = f", newest {told.newest}" if told.newest else ""
            out.write(f"{chain.title}: {count(told.lines, 'line')}{newest}\n".encode())
            for problem in told.problems:
                out.write(f"{chain.file}: {problem}\n".encode())
            found |= bool(told.problems)
            if told.ahead and not told.problems:
                shared.note(
                    f"note: the newest line of {chain.file} is not in {chain.name}.head yet: a run "
                    "was killed right behind it, or it was put in by hand"
                )
        for one in sorted(missing):
            out.write(f"{one} is in neither: what is here is not what was printed then\n".encode())
    if found or missing:
        shared.note(
            f"next: keep {api.state_folder()} as it is, and compare it with a backup; moved away, "
            "the files begin anew"
        )
    return int(bool(found or missing))


def _row(line: dict[str, Any]) -> dict[str, Any]:
    """A line of the log with members of the right types, whatever was done to it."""
    actor, codes = line.get("actor"), line.get("findings")
    uid, login = (actor.get("uid"), actor.get("login")) if isinstance(actor, dict) else (None, "")
    return {
        "seq": line["seq"],
        **{name: _text(line.get(name)) for name in _TEXTS},
        "actor": {"uid": uid if type(uid) is int else None, "login": _text(login)},
        "findings": [_text(code) for code in codes] if isinstance(codes, list) else [],
        **{name: _text(line[name]) for name in _OPTIONAL if name in line},
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(row: dict[str, Any]) -> Iterator[str]:
    actor = row["actor"]
    yield row["time"] or "-"
    yield actor["login"] or ("-" if actor["uid"] is None else f"uid {actor['uid']}")
    yield row["action"] or "-"
    yield row["path"] or "-"
    if "of" in row:
        yield f"of {row['of']}"
    if "entry" in row:
        yield f"entry {row['entry']}"
    if row["undo"]:
        yield f"undo {row['undo']}"
    if "reason" in row:
        yield f"({row['reason']})"


def _below(row: dict[str, Any], places: list[str]) -> bool:
    """Whether a change is of one of these files, or of one below these folders."""
    names = [row["path"], row.get("of", "")]
    return not places or any(
        name == place or name.startswith(os.path.join(place, ""))  # noqa: PTH118 - no file is meant
        for name in names
        for place in places
    )


def _since(row: dict[str, Any], start: datetime | None) -> bool:
    """Whether a change is not from before; one whose time cannot be read is shown."""
    try:
        return start is None or _utc(row["time"]) >= start
    except ValueError:
        return True


def _time(date: str) -> datetime:
    try:
        return _utc(date)
    except ValueError as error:
        raise UsageError("--since is no date", hint="write it as 2026-03-01") from error


def _utc(date: str) -> datetime:
    value = datetime.fromisoformat(date)
    return value if value.tzinfo else value.replace(tzinfo=UTC)
