"""A replay record by record, for what prints or writes it down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sesstool.formats.events import Meaning
from sesstool.model.passages import Passage
from sesstool.model.session import Session
from sesstool.replay.timeline import Timeline, shown


class Step(NamedTuple):
    """One record of a replay: its index in the timeline, `at`, and what it says.

    Bytes that are no record say nothing, and have an empty `meaning`.
    """

    at: int
    meaning: Meaning
    passages: list[Passage]


def step(session: Session, timeline: Timeline, index: int, *, thinking: bool = False) -> Step:
    """The record at an index, read again; the session must be the one of the timeline."""
    if timeline.what(index) == "damage":
        return Step(index, Meaning(), [])
    value = session.value(timeline.place(index))
    meaning = session.format.meaning(value)
    return Step(index, meaning, list(shown(value, meaning, thinking=thinking)))


def steps(
    session: Session, timeline: Timeline, first: int = 0, *, thinking: bool = False
) -> Iterator[Step]:
    """The records from `first` on, each read when it is asked for."""
    for index in range(max(first, 0), len(timeline)):
        yield step(session, timeline, index, thinking=thinking)
