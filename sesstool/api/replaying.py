"""A session that is looked at, as a replay: its timeline, its branches, its clock, where to go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from sesstool.api.viewing import View
from sesstool.errors import NotASessionError
from sesstool.formats.events import Meaning
from sesstool.model.moments import moment
from sesstool.model.session import Session
from sesstool.model.ways import leaves
from sesstool.records.recover import Record
from sesstool.replay.gauge import Gauge
from sesstool.replay.player import Player
from sesstool.replay.timeline import IDLE, Timeline, branch_of, build

Pairs = Iterator[tuple[Record, Meaning | None]]
"""Records with their meaning, None for fragments."""

_TIME = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be replayed, and how.

    `branch` is as `timeline.build` takes it. The replay begins at a `line`, or at the record at a
    byte offset `start`. `thinking` and `whole` show thoughts, and all of long texts.
    """

    branch: str = "all"
    line: int = 1
    start: int = -1
    speed: float = 1.0
    idle: float = IDLE
    thinking: bool = False
    whole: bool = False


AS_RECORDED = Wish()


def session_of(view: View) -> Session:
    """The session of a view. Raises NotASessionError where it is none."""
    if view.session is None:
        raise NotASessionError(
            f"{view.path} is no session that sesstool knows", hint="only sessions can be replayed"
        )
    return view.session


def timeline(
    view: View,
    branch: str = "all",
    *,
    thinking: bool = False,
    along: Callable[[Pairs], Pairs] = iter,
) -> Timeline:
    """The timeline of a view, whose outline is made on the way where it is not there yet.

    All records go through `along`, which may tell how far it is, or end it by an exception; then
    the view is of no use any more. Raises UsageError where there is no such branch.
    """
    session, outline = session_of(view), view.outline
    assert outline is not None
    records = session.again() if outline.done else outline.reading()
    return build(session, branch, thinking=thinking, records=along(records))


def branches(view: View) -> list[tuple[int, int]]:
    """The leaves of a view that was read, the live one first: row in the graph, and line."""
    session = session_of(view)
    if session.graph is None:
        return []
    return [(leaf.row, leaf.line) for leaf in leaves(session, session.graph)]


def branch(view: View, whole: Timeline, row: int) -> Timeline:
    """The timeline of a branch by the row of its leaf, out of the one of all branches."""
    return branch_of(whole, session_of(view), row)


def gauge(view: View, shown: Timeline) -> Gauge:
    """The gauge of a timeline; subagents and damage are known by the outline of the view."""
    outline = view.outline
    marks = outline.marks if outline is not None and len(shown) else {}
    named = {"subagent": marks.get("subagent", ()), "finding": marks.get("damage", ())}
    return Gauge(shown, {name: map(shown.index_from, at) for name, at in named.items()})


def clock(player: Player, told: str) -> str:
    """The date and time at which a replay stands, of a record that told its own; "" for none.

    In a pause it goes on from record to record.
    """
    time = moment(told) if told and player.timeline.timed else None
    if time is None:
        return ""
    since = player.recorded - player.timeline.recorded(player.index)
    try:
        return f"{time + timedelta(seconds=since):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError):
        return ""


def go(player: Player, words: str) -> bool:
    """Go to a line (`118`), a time of the replay (`1:30`), a part (`50%`) or the `end`.

    Whether the words mean one of these.
    """
    words = words.strip()
    if words == "end":
        player.seek_fraction(1)
    elif re.fullmatch(r"\d{1,3}%", words, re.ASCII):
        player.seek_fraction(min(int(words[:-1]), 100) / 100)
    elif re.fullmatch(r"\d{1,18}", words, re.ASCII):
        player.go_to(player.timeline.index_of(int(words)))
    elif found := _TIME.fullmatch(words):
        hours, minutes, seconds = (int(part or 0) for part in found.groups())
        player.seek(hours * 3600 + minutes * 60 + seconds)
    else:
        return False
    return True
