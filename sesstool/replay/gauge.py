"""The gauge: a replay as a row of cells, with what stands where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sesstool.replay.timeline import Timeline

NAMES = ("prompt", "subagent", "fork", "compaction", "finding")
"""What can be marked; of several in one cell the last of these is shown."""


class Mark(NamedTuple):
    """What a cell shows: one of NAMES, and the record's index."""

    name: str
    at: int


class Gauge:
    """The marks of a timeline, which does not know those of `others`: name → indices of records."""

    def __init__(self, timeline: Timeline, others: Mapping[str, Iterable[int]]) -> None:
        """Gather what is rare; prompts can be many, and are looked up cell by cell."""
        self._timeline = timeline
        self._rare = [Mark(name, at) for name, places in others.items() for at in places]
        for marker in timeline.markers():
            self._rare += [Mark(name, marker.at) for name in marker.names if name != "prompt"]
        self._rare.sort(key=lambda mark: (-NAMES.index(mark.name), mark.at))

    def cell(self, seconds: float, cells: int) -> int:
        """The cell of a time of the replay, of so many cells."""
        duration = self._timeline.duration
        return min(int(seconds / duration * cells), cells - 1) if duration else 0

    def marks(self, cells: int) -> dict[int, Mark]:
        """The cells that show something; in each the first record of what counts most."""
        timeline = self._timeline
        found: dict[int, Mark] = {}
        for mark in self._rare:
            found.setdefault(self.cell(timeline.time_of(mark.at), cells), mark)
        at = timeline.marker(-1, 1)
        while at >= 0:
            cell = self.cell(timeline.time_of(at), cells)
            if "prompt" in timeline.names(at):
                found.setdefault(cell, Mark("prompt", at))
            # On to the next cell. Where its edge falls between two floats, one is looked at twice.
            edge = timeline.duration * (cell + 1) / cells * (1 - 1e-9)
            at = timeline.marker(max(at, timeline.first_at(edge) - 1), 1)
        return found
