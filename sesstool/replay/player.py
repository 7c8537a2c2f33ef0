"""The player: where a replay stands, and what moves it. It has no clock of its own, and no screen.

Whoever shows a replay calls `tick` with the seconds that passed, and looks at the position.
"""

from __future__ import annotations

from sesstool.replay.timeline import IDLE, Timeline

SLOWEST, FASTEST = 0.25, 64.0
"""How fast a replay can be; as recorded is 1."""

# Seconds; a sum of times in a session of years is not more exact.
_ROUNDING = 1e-6


class Player:
    """A replay that plays or rests.

    `index` is the record that was shown last, -1 where there is none; `seconds` the time of the
    replay, which lies between that record and the next. `typing` says that texts appear letter by
    letter. With `speed` a second of the clock is so many of the replay.
    """

    def __init__(
        self, timeline: Timeline, speed: float = 1.0, idle: float = IDLE, *, typing: bool = True
    ) -> None:
        """Stand at the first record, and play."""
        self.timeline = timeline
        self.typing = typing
        self.speed = min(max(speed, SLOWEST), FASTEST)
        self.playing = len(timeline) > 0
        self.index = 0 if len(timeline) else -1
        self.seconds = 0.0
        timeline.cut(idle)

    @property
    def duration(self) -> float:
        """Seconds of the whole replay, at speed 1."""
        return self.timeline.duration

    @property
    def at_end(self) -> bool:
        """Whether all was shown."""
        return self.index == len(self.timeline) - 1 and self.seconds >= self.duration

    @property
    def fraction(self) -> float:
        """How much of the replay has passed, from 0 to 1."""
        return min(self.seconds / self.duration, 1.0) if self.duration else float(self.at_end)

    @property
    def typed(self) -> float:
        """How much of the text of the record at `index` is there, from 0 to 1."""
        if self.index < 0:
            return 0.0
        left = self.timeline.typing(self.index) - self._since
        if not self.typing or left <= _ROUNDING:
            return 1.0
        return self._since / self.timeline.typing(self.index)

    @property
    def recorded(self) -> float:
        """Seconds from the first record on as they were recorded, with all of each pause."""
        return self.timeline.recorded_at(self.index, self._since) if self.index >= 0 else 0.0

    @property
    def _since(self) -> float:
        return self.seconds - self.timeline.time_of(self.index)

    def tick(self, seconds: float) -> None:
        """Let so many seconds of the clock pass; at the end the replay stops by itself."""
        if self.playing and seconds > 0:
            to = min(self.seconds + seconds * self.speed, self.duration)
            self._stand(self.timeline.index_at(to), to)

    def toggle(self) -> None:
        """Play or pause; at the end play again from the start."""
        if self.at_end:
            self.seek(0)
        self.playing = not self.playing and self.index >= 0

    def step(self, records: int) -> None:
        """Pause, and go so many records on, or back where that is negative."""
        self.playing = False
        self.go_to(self.index + records)

    def go_to(self, index: int) -> None:
        """Show a record, or the nearest that there is, with all of its text."""
        if self.index >= 0:
            index = min(max(index, 0), len(self.timeline) - 1)
            self._stand(index, self.timeline.time_of(index) + self.timeline.typing(index))

    def seek(self, seconds: float) -> None:
        """Go to a time of the replay, or to the nearest that there is."""
        if self.index >= 0:
            to = min(max(seconds, 0.0), self.duration)
            self._stand(self.timeline.index_at(to), to)

    def seek_fraction(self, fraction: float) -> None:
        """Go to a part of the replay: 0 is its start, 1 its end."""
        self.seek(self.duration * fraction)

    def marker(self, step: int) -> bool:
        """Go to the next marker (`step` 1) or the one before (-1); whether there is one."""
        at = self.timeline.marker(self.index, step)
        if at >= 0:
            self.go_to(at)
        return at >= 0

    def faster(self, times: float = 2.0) -> None:
        """Play so many times as fast as now, within bounds."""
        self.speed = min(max(self.speed * times, SLOWEST), FASTEST)

    def slower(self) -> None:
        """Play half as fast."""
        self.faster(0.5)

    def cut(self, idle: float) -> None:
        """Cut pauses to so many seconds from now on; the record shown stays the same."""
        if self.index < 0:
            self.timeline.cut(idle)
            return
        since = self._since
        self.timeline.cut(idle)
        since = min(since, self.timeline.room(self.index))
        self._stand(self.index, self.timeline.time_of(self.index) + since)

    def _stand(self, index: int, seconds: float) -> None:
        """Stand at a record, at a time that is not before it; at the end the replay stops."""
        self.index, self.seconds = index, seconds
        self.playing = self.playing and not self.at_end

    def gauge(self, index: int) -> float:
        """Where a record stands on a line from 0 to 1 that shows the whole replay."""
        return self.timeline.time_of(index) / self.duration if self.duration else 0.0
