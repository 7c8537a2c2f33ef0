"""A replay in words, record by record: what was said, the pauses, and what sets the pace."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from sesstool.export.plain import Plain
from sesstool.model.session import Session
from sesstool.replay.steps import Step, steps
from sesstool.replay.timeline import Timeline
from sesstool.report.amounts import counted
from sesstool.text import lasting, safe

# A pause of so many seconds is told.
_TOLD = 60


def heading(session: Session, timeline: Timeline, speed: float) -> str:
    """What is replayed, and what sets the pace; with `speed` 0 there is none. A safe text."""
    span = f" in {lasting(timeline.recorded(len(timeline) - 1))}" if timeline.timed else ""
    if not speed:
        pace = "All at once"
    elif not timeline.timed:
        pace = "No record tells a time: the length of the texts sets the pace"
    elif math.isinf(timeline.idle):
        pace = "As it was recorded"
    else:
        pace = f"As it was recorded, with pauses cut to {lasting(timeline.idle)}"
    if speed not in (0, 1):
        pace += f", {speed:g} times as fast"
    name = safe(Path(session.source.name).name)
    records = counted(len(timeline), "record")
    return f"Replay of {name}, {session.format.title}: {records}{span}. {pace}. Nothing is run."


def lines(
    session: Session,
    timeline: Timeline,
    first: int,
    speed: float,
    *,
    thinking: bool = False,
    whole: bool = True,
) -> Iterator[tuple[int, str]]:
    """Each record's index from `first` on, and its lines, with those about the pause before it."""
    plain = Plain(whole=whole)
    for step in steps(session, timeline, first, thinking=thinking):
        place = timeline.place(step.at)
        said = plain.lines(
            step.passages, line=place.line, time=step.meaning.time, more=more(step, timeline)
        )
        words = "".join(said) or f"[{place.line}]\n{damage(timeline, step.at)}\n\n"
        gap = pause(timeline, step.at, shown=speed > 0) if step.at > first else ""
        yield step.at, f"{gap}\n\n{words}" if gap else words


def more(step: Step, timeline: Timeline) -> str:
    """What else there is to say of a record than what it says; not safe yet."""
    scope = step.meaning.scope
    said = (
        f"subagent {scope}" if scope else "",
        "other branch" if timeline.is_aside(step.at) else "",
        "branches part here" if "fork" in timeline.names(step.at) else "",
    )
    return ", ".join(filter(None, said))


def damage(timeline: Timeline, index: int) -> str:
    """What is said of bytes that say nothing."""
    place = timeline.place(index)
    return f"{counted(place.end - place.start, 'byte')} that are no record"


def pause(timeline: Timeline, index: int, *, shown: bool = True) -> str:
    """The pause before a record, "" for a short one; `shown` says that it is, however short."""
    gap = timeline.gap(index)
    if not timeline.timed or gap < _TOLD:
        return ""
    cut = f", shown as {lasting(timeline.idle)}" if shown and timeline.is_cut(index) else ""
    return f"… {lasting(gap)} without a record{cut} …"
