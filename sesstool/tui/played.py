"""What the player draws: the records up to the present one, and the course of the replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from sesstool.api import replaying
from sesstool.api.viewing import Look, View
from sesstool.export import replayed
from sesstool.model.passages import Passage
from sesstool.replay.gauge import NAMES, Gauge, Mark
from sesstool.replay.player import Player
from sesstool.replay.timeline import Timeline, is_shown
from sesstool.text import lasting, width
from sesstool.tui.lines import Line, Numbered, Span, column, cut
from sesstool.tui.talk import INDENT, NUMBER, Shown, Talk

_SIGNS = {"prompt": "|", "compaction": "≡", "fork": "↳", "subagent": "@", "finding": "!"}
_STYLES = {
    "prompt": "user",
    "compaction": "warn",
    "fork": "assistant",
    "subagent": "tool",
    "finding": "bad",
}
_HERE = "●"


class Played(Talk):
    """The records of a timeline as far as they are played, each known by its offset."""

    OPENS = "enter"

    def __init__(
        self, view: View, timeline: Timeline, shown: Shown, signs: Callable[[str], str] = str
    ) -> None:
        """Show the records of a view's timeline; none before `stand` is called."""
        super().__init__(view, shown, signs)
        self.timeline = timeline
        self.index = -1
        self.typed = 1.0

    def stand(self, index: int, typed: float) -> None:
        """Show the records up to one of which so much is typed, from 0 to 1."""
        self.index, self.typed = index, typed if self.timeline.is_typed(index) else 1.0

    def first(self) -> int | None:
        """See `lines.Blocks`."""
        return self._key(0)

    def last(self) -> int | None:
        """See `lines.Blocks`."""
        return self._key(self.index)

    def after(self, key: int) -> int | None:
        """See `lines.Blocks`."""
        return self._key(self.timeline.index_from(key) + 1)

    def before(self, key: int) -> int | None:
        """See `lines.Blocks`."""
        return self._key(min(self.timeline.index_from(key), self.index + 1) - 1)

    def share(self, key: int) -> float:
        """See `lines.Blocks`."""
        return self.timeline.index_from(key) / max(self.index, 1)

    def _key(self, index: int) -> int | None:
        return self.timeline.place(index).start if 0 <= index <= self.index else None

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `lines.Blocks`. A pause is told behind the record that it follows."""
        lines = list(super().draw(key, cells))
        index = self.timeline.index_from(key)
        whole = index < self.index or self.typed >= 1
        if whole and index + 1 < len(self.timeline):
            pause = replayed.pause(self.timeline, index + 1)
            if pause:
                told = Span(self._signs(pause), "dim")
                lines += [cut((Span(" " * INDENT), told), cells), ()]
        return lines

    def _look(self, key: int) -> Look:
        index = self.timeline.index_from(key)
        place = self.timeline.place(index)
        look = self.view.look(place.start, place.end)
        said = [p for p in look.passages if is_shown(p, thinking=self.shown.thinking)]
        if index == self.index and self.typed < 1:
            said = list(self._so_far(said))
        return replace(look, passages=tuple(said))

    def _so_far(self, said: Sequence[Passage]) -> Iterator[Passage]:
        """The passages as far as they are typed, with a cursor behind."""
        left = int(sum(len(p.text) for p in said) * self.typed)
        for passage in said:
            if left < len(passage.text):
                yield passage._replace(text=passage.text[:left] + self._signs("█"))
                return
            left -= len(passage.text)
            yield passage

    def _number(self, key: int) -> str:
        line = self.timeline.place(self.timeline.index_from(key)).line
        return " " + column(f"{line}", NUMBER - 1, right=True)

    def _resumed(self, key: int) -> bool:
        return not self.timeline.is_aside(self.timeline.index_from(key))

    def _state(self, key: int, passage: Passage) -> Iterator[Span]:
        """What becomes of a call is not known yet."""
        yield from ()


class Course(Numbered):
    """The course of a replay, as one block: where it stands, the gauge, lines, what signs mean."""

    def __init__(
        self, view: View, player: Player, gauge: Gauge, signs: Callable[[str], str] = str
    ) -> None:
        """Show a player of a view."""
        super().__init__(1)
        self._view, self._player, self._gauge, self._signs = view, player, gauge, signs
        self._marks = lru_cache(maxsize=1)(self._marked)

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `Blocks`."""
        room = max(cells - 2, 1)
        marks = self._marks(room, self._player.timeline.idle)
        legend = [Span("  ".join(self._signs(f"{_SIGNS[name]} {name}") for name in NAMES), "dim")]
        lines = [*self._told(cells), self._row(room, marks), self._lines(room, marks), legend]
        return [cut(line, cells) for line in lines]

    def _told(self, cells: int) -> Iterator[Line]:
        """Where the replay stands, in as many lines as that needs."""
        line: list[Span] = []
        used = 0
        for number, part in enumerate(self._parts()):
            size = width(part)
            if line and used + 3 + size > cells:
                yield line
                line, used = [], 0
            gap = "   " if line else ""
            line.append(Span(gap + part, "" if number else "strong"))
            used += len(gap) + size
        yield line

    def _parts(self) -> Iterator[str]:
        player = self._player
        timeline = player.timeline
        state = "▶ playing" if player.playing else "■ end" if player.at_end else "‖ paused"
        yield f"{self._signs(state)}  {player.speed:g}x"
        yield f"{clocked(player.seconds)} / {clocked(player.duration)}"
        if player.index >= 0:
            place = timeline.place(player.index)
            told = replaying.clock(player, self._view.look(place.start, place.end).time)
            if told:
                yield told
        yield f"record {player.index + 1:,}/{len(timeline):,}"
        if not timeline.timed:
            yield "no times: paced by the length of texts"
        elif timeline.idle == float("inf"):
            yield "pauses as they were"
        else:
            yield f"idle cut at {lasting(timeline.idle)}"
        yield f"typing {'on' if player.typing else 'off'}"

    def _marked(self, cells: int, idle: float) -> dict[int, Mark]:
        """The marks; with another idle limit they stand elsewhere."""
        return self._gauge.marks(cells)

    def _row(self, room: int, marks: dict[int, Mark]) -> Line:
        here = self._gauge.cell(self._player.seconds, room)
        spans = [Span(self._signs("├"), "dim")]
        for cell in range(room):
            if cell == here:
                spans.append(Span(self._signs(_HERE), "strong"))
            elif cell in marks:
                name = marks[cell].name
                spans.append(Span(self._signs(_SIGNS[name]), _STYLES[name]))
            else:
                spans.append(Span(self._signs("─"), "dim"))
        return [*spans, Span(self._signs("┤"), "dim")]

    def _lines(self, room: int, marks: dict[int, Mark]) -> Line:
        """The numbers of lines below the gauge: here, both ends, then what counts most."""
        timeline = self._player.timeline
        if not len(timeline):
            return []
        here = self._gauge.cell(self._player.seconds, room)
        last = len(timeline) - 1
        wanted = [(here, Mark("", self._player.index)), (0, Mark("", 0)), (room, Mark("", last))]
        wanted += sorted(marks.items(), key=lambda item: (-NAMES.index(item[1].name), item[0]))
        labels: dict[int, tuple[str, str]] = {}
        told = set()
        taken = bytearray(room + 2)
        for cell, mark in wanted:
            sign = self._signs(_SIGNS[mark.name]) if mark.name not in ("", "prompt") else ""
            text = f"{timeline.place(mark.at).line} {sign}".rstrip()
            start = max(min(cell + 1, room + 2 - len(text)), 0)
            if mark.at in told or any(taken[max(start - 1, 0) : start + len(text) + 1]):
                continue
            told.add(mark.at)
            taken[start : start + len(text)] = b"\1" * len(text)
            labels[start] = (text, "" if labels else "strong")
        spans: list[Span] = []
        at = 0
        for start, (text, style) in sorted(labels.items()):
            spans += [Span(" " * (start - at)), Span(text, style)]
            at = start + len(text)
        return spans


def clocked(seconds: float) -> str:
    """A time of the replay, as hours, minutes and seconds."""
    minutes, second = divmod(int(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}"
