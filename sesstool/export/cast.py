"""A replay as a recording of a terminal: asciicast, which asciinema and its web player play.

Times are those of the session, and the header says how long a pause is shown. What the session
says is made safe first, so that only our own colours reach the terminal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from sesstool.export import replayed
from sesstool.export.plain import Plain
from sesstool.model.session import Session
from sesstool.replay.steps import Step, steps
from sesstool.replay.timeline import IDLE, Timeline
from sesstool.text import wrapped

VERSIONS = (2, 3)
# Between two pieces of a typed text so many seconds pass.
_FRAME = 0.05
_STYLES = {
    "prompt": "1;36",
    "user": "1;36",
    "assistant": "1;32",
    "call": "1;33",
    "compaction": "1;35",
    "rollback": "1;35",
    "damage": "1;31",
}
_DIM = "2"
_INDENT = "  "


def document(
    session: Session,
    timeline: Timeline,
    *,
    width: int = 100,
    height: int = 30,
    version: int = 2,
    speed: float = 1.0,
    idle: float = IDLE,
    typing: bool = True,
    thinking: bool = False,
    whole: bool = False,
) -> Iterator[str]:
    """The lines of a recording of a terminal of `width` by `height` cells, in one of VERSIONS.

    `speed` must be above 0. The same session gives the same bytes: the recording tells no date.
    """
    timeline.cut(idle)
    cast = _Cast(version, speed)
    title = replayed.heading(session, timeline, speed)
    yield _line(cast.header(timeline, title, width, height))
    writer = _Writer(session, timeline, width, typing=typing, whole=whole)
    for event in writer.events(title, thinking=thinking):
        yield _line(cast.event(*event))
    if version == 3:
        yield _line(cast.event(writer.end, "x", "0"))


class _Cast:
    """The two notations: in version 2 events tell the time, in 3 that since the one before."""

    def __init__(self, version: int, speed: float) -> None:
        self._version, self._speed = version, speed
        self._before = 0

    def header(self, timeline: Timeline, title: str, width: int, height: int) -> dict[str, Any]:
        size: dict[str, Any] = {"width": width, "height": height}
        if self._version == 3:
            size = {"term": {"cols": width, "rows": height}}
        limit = timeline.idle / self._speed
        idle = {"idle_time_limit": limit} if timeline.timed and math.isfinite(limit) else {}
        return {"version": self._version, **size, "title": title, **idle}

    def event(self, seconds: float, code: str, data: str) -> list[float | str]:
        at = round(seconds / self._speed * 1000)
        told, self._before = at - (self._before if self._version == 3 else 0), at
        return [told / 1000, code, data]


class _Writer:
    """What appears on the terminal, and when. `end` is when the last of it did, in seconds."""

    def __init__(
        self, session: Session, timeline: Timeline, width: int, *, typing: bool, whole: bool
    ) -> None:
        self._session, self._timeline = session, timeline
        self._width = width
        self._typing = typing
        self._plain = Plain(whole=whole)
        self.end = 0.0

    def events(self, title: str, *, thinking: bool) -> Iterator[tuple[float, str, str]]:
        """Seconds, the kind of event ("o" for output, "m" for a marker) and its text."""
        yield 0.0, "o", self._body(title, _DIM) + "\r\n"
        for step in steps(self._session, self._timeline, thinking=thinking):
            yield from self._record(step)

    def _record(self, step: Step) -> Iterator[tuple[float, str, str]]:
        index, timeline = step.at, self._timeline
        pause = replayed.pause(timeline, index)
        if pause:  # told before it, so that nobody wonders
            yield self.end, "o", self._body(pause, _DIM) + "\r\n"
        at = timeline.recorded(index) if timeline.timed else timeline.time_of(index)
        what, line = timeline.what(index), timeline.place(index).line
        for name in timeline.names(index):
            yield at, "m", f"{name} {line}"
        said = self._plain.lines(
            step.passages, line=line, time=step.meaning.time, more=replayed.more(step, timeline)
        )
        head, *texts = [*said] or [f"[{line}]\n", replayed.damage(timeline, index) + "\n", "\n"]
        yield at, "o", self._body(head.rstrip("\n"), _STYLES.get(what, "1"))
        body = "".join(self._body(text.rstrip("\n")) for text in texts)
        time = timeline.typing(index) if self._typing and timeline.is_typed(index) else 0.0
        frames = max(math.ceil(time / _FRAME), 1)
        size = math.ceil(len(body) / frames)
        for frame, start in enumerate(range(0, len(body), size)):
            self.end = at + time * frame / frames
            yield self.end, "o", body[start : start + size]

    def _body(self, text: str, style: str = "") -> str:
        """A safe text in the lines of the terminal, in a style."""
        room = max(self._width - len(_INDENT), 1)
        shown = (f"\x1b[{style}m{part}\x1b[0m" if style else part for part in wrapped(text, room))
        return "".join(f"{_INDENT}{part}".rstrip(" ") + "\r\n" for part in shown)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
