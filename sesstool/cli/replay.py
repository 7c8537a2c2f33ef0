"""`sesstool replay`: a session once more, at the pace at which it was recorded."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING

import click

from sesstool.api.replaying import Wish
from sesstool.cli.browse import app_options, appearance, run
from sesstool.cli.common import Common, Number, Speed, common, out_stream
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import refuse_output
from sesstool.cli.streams import noted, single, watched
from sesstool.cli.validate import format_option
from sesstool.errors import UsageError
from sesstool.export import replayed
from sesstool.model.session import open_session
from sesstool.records.opening import open_source
from sesstool.records.write import create
from sesstool.replay.timeline import IDLE, Timeline, build

if TYPE_CHECKING:
    from sesstool.tui.app import Options
    from sesstool.tui.frame import Frame


@click.command("replay")
@common("text")
@click.argument("path")
@click.option("--plain", is_flag=True, help="Print line by line, as to a file or a screen reader.")
@click.option(
    "--speed",
    type=Speed(),
    default=None,
    metavar="TIMES",
    help="How many times as fast; 0 prints all at once, as is done where no terminal is.",
)
@click.option(
    "--idle",
    type=Number(),
    default=IDLE,
    show_default=True,
    metavar="SECONDS",
    help="Cut longer pauses to this; inf leaves them.",
)
@click.option(
    "--from",
    "line",
    type=click.IntRange(min=1),
    metavar="LINE",
    help="Begin with the record there.",
)
@click.option(
    "--branch",
    default="all",
    show_default=True,
    metavar="all|live|LEAF",
    help="Everything, what a resume reaches, or the branch that ends with a record, by line or id.",
)
@click.option("--thinking", is_flag=True, help="Also show thinking.")
@click.option("--whole", is_flag=True, help="Show all of long texts.")
@appearance
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    plain: bool,
    speed: float | None,
    idle: float,
    line: int | None,
    branch: str,
    thinking: bool,
    whole: bool,
    theme: str | None,
    in_ascii: bool,
    no_mouse: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Replay a session as it was recorded, with long pauses cut. Nothing in it is run.

    On a terminal this opens a player; --plain prints to the terminal itself, as time goes by.
    """
    refuse_output(shared)
    found = single(path)
    to_file = shared.output is not None and str(shared.output) != "-"
    to_terminal = not to_file and sys.stdout.isatty()
    if to_terminal and not plain and speed != 0:
        _refuse(found)
        options = app_options(
            shared, theme, identities, passphrase_fd, writes=False, in_ascii=in_ascii
        )
        wish = Wish(branch, line or 1, -1, 1.0 if speed is None else speed, idle, thinking, whole)
        return run(_player(found, options, wish, format_name), options, mouse=not no_mouse)
    keys = keys_of(shared, identities, passphrase_fd)
    with open_source(found, keys) as source:
        session = open_session(source, format_name or "")
        with watched(shared, found) as advance:
            timeline = build(session, branch, thinking=thinking, progress=advance)
        timeline.cut(idle)
        first = _first(timeline, line)
        pace = 0 if to_file else float(to_terminal) if speed is None else speed
        told = replayed.lines(session, timeline, first, pace, thinking=thinking, whole=whole)
        head = replayed.heading(session, timeline, pace) + "\n\n"
        if to_file and shared.output is not None:
            create(
                shared.output, (text.encode() for text in chain([head], (text for _, text in told)))
            )
        else:
            _print(head, told, timeline, pace)
    noted(shared.output, found)
    return 0


def _refuse(found: Path | str) -> None:
    """Refuse to open the player where no keys reach it. Raises UsageError."""
    if found == "-" or not sys.stdin.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError("the player needs a terminal that gives it keys", hint="add --plain")


def _player(found: Path | str, options: Options, wish: Wish, format_name: str | None) -> Frame:
    """The player, which takes the whole screen."""
    from sesstool.tui.playing import opened  # noqa: PLC0415 - start-up time

    return opened(Path(found), options, wish, format_name or "")


def _first(timeline: Timeline, line: int | None) -> int:
    """The record to begin with."""
    if line is None or not len(timeline):
        return 0
    first = timeline.index_of(line)
    if timeline.place(first).line < line:
        last = timeline.place(first).line
        raise UsageError(
            f"nothing is shown from line {line} on", hint=f"the last record is at line {last}"
        )
    return first


def _print(head: str, told: Iterator[tuple[int, str]], timeline: Timeline, speed: float) -> None:
    """Write each record to stdout when its time has come; with speed 0 at once."""
    out, start, begin = out_stream(), time.monotonic(), -1.0
    out.write(head.encode())
    out.flush()
    index = -1
    try:
        for index, text in told:
            at = timeline.time_of(index)
            begin = at if begin < 0 else begin
            wait = (at - begin) / speed - (time.monotonic() - start) if speed else 0
            if wait > 0:
                time.sleep(min(wait, TIMEOUT_MAX))  # a clock that is wrong by centuries
            out.write(text.encode())
            out.flush()
    except KeyboardInterrupt as stop:
        if sys.stdout.isatty():
            out.write(b"\n")  # behind the ^C that the terminal shows
            out.flush()
        if index >= 0:
            stop.add_note(f"--from {timeline.place(index).line} goes on here")
        raise
