"""The player: a session once more, as time goes by. Nothing that it tells of is run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.worker import Worker, get_current_worker

from sesstool.api import replaying
from sesstool.api.exporting import Exported
from sesstool.api.replaying import AS_RECORDED, Pairs, Wish
from sesstool.api.viewing import View, open_view
from sesstool.errors import SesstoolError, UsageError
from sesstool.export import cast
from sesstool.records.write import create
from sesstool.replay.gauge import Gauge
from sesstool.replay.player import Player
from sesstool.replay.timeline import IDLE, Timeline
from sesstool.text import quoted, safe
from sesstool.tui.app import Options
from sesstool.tui.dialogs import Ask
from sesstool.tui.frame import Frame
from sesstool.tui.keys import digits, key, pair
from sesstool.tui.lines import Prose
from sesstool.tui.pace import paced
from sesstool.tui.played import Course, Played
from sesstool.tui.scroller import Scroller
from sesstool.tui.talk import Shown

# Seconds between two pictures.
_FRAME = 1 / 15
_SEEK = 5.0
_TENTHS = 10


class _Left(Exception):  # noqa: N818 - no error: the screen is gone
    """Ends the reading of a session that nobody looks at any more."""


class Playing(Frame, inherit_bindings=False):
    """A replay of one session.

    The digits go to a part of it: there is one pane to go to, and the bindings of `Frame` are away.
    """

    NAME = "Replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("space", "play", "pause", "replay.play", show=True),
        *pair(",", ".", "step", "step", "replay.step", show=True),
        *pair("<", ">", "speed", "speed", "replay.speed", show=True, ways=("slower", "faster")),
        *pair("left", "right", "seek", "5 s", "replay.seek", show=True, ways=("back", "on")),
        *pair("[", "]", "marker", "marker", "replay.marker", show=True),
        *digits("part", "seek", "replay.part", show=True),
        key("colon", "go_to", "go to", "replay.go-to", show=True),
        key("i", "idle", "idle", "replay.idle", show=True),
        key("T", "typing", "typing", "replay.typing", show=True),
        key("e", "record", "cast", "replay.cast", show=True),
        key("b", "branch", "branch", "replay.branch", show=True),
        key("enter", "whole", "the record whole, or folded", "replay.whole"),
    ]

    def __init__(
        self,
        view: View,
        wish: Wish = AS_RECORDED,
        *,
        owned: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Replay a view, which is closed at the end where it is `owned`; `clock` gives seconds."""
        super().__init__()
        self.view = view
        self.wish = wish
        self.player: Player | None = None
        self._owned = owned
        self._clock = clock
        self._then = clock()
        self._shown = Shown(thinking=wish.thinking, whole=wish.whole)
        self._title = ""
        self._branch = wish.branch
        self._whole: Timeline | None = None  # the one of all branches
        self._following = True
        self._laid_out: object = None
        self._told: object = None

    # Frame

    def panes(self) -> Iterable[Widget]:
        """The talk above, the course of the replay below, which is no pane to go to."""
        yield Scroller(id="pane-1").add_class("pane")
        course = Scroller(pick=False, id="course")
        course.can_focus = False
        yield course.add_class("pane")

    @property
    def talk(self) -> Scroller:
        """The widget with the records."""
        return self.query_one("#pane-1", Scroller)

    @property
    def course(self) -> Scroller:
        """The widget with the course of the replay."""
        return self.query_one("#course", Scroller)

    def where(self) -> str:
        """See `Frame`."""
        return f"replay  {self.view.id[:8]}  {self._title}  ›  {self._named()}"

    def _named(self) -> str:
        known = {"all": "main", "live": "what a resume reaches"}
        line = "line " if self._branch.isdecimal() else ""
        return known.get(self._branch) or f"branch to {line}{self._branch}"

    def place(self) -> str:
        """See `Frame`."""
        return "replays the log; runs nothing"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Before the session is read there is nothing to play."""
        if self.player is None and hasattr(Playing, f"action_{action}"):
            return hasattr(Frame, f"action_{action}")
        return super().check_action(action, parameters)

    def on_mount(self) -> None:
        """Read the session behind the first picture."""
        self.course.border_title = "Timeline"
        self._title = self.view.title()
        self.talk.focus()
        self._read(self.wish.branch)
        self.set_interval(_FRAME, self.advance)
        super().on_mount()

    def on_unmount(self) -> None:
        """Close the file."""
        self.workers.cancel_node(self)
        if self._owned:
            self.view.close()

    # Reading, in the background

    @work(thread=True, exclusive=True, group="read")
    def _read(self, branch: str) -> None:
        worker, thinking = get_current_worker(), self.wish.thinking

        def along(records: Pairs) -> Pairs:
            return self._paced(worker, records)

        try:
            made = replaying.timeline(self.view, branch, thinking=thinking, along=along)
            gauge = replaying.gauge(self.view, made)
        except _Left:
            return
        except ValueError:
            if not worker.is_cancelled:
                raise
            return  # the file was closed
        except SesstoolError as error:
            self.tell(self._failed, error)
            return
        self.tell(self._begin, made, gauge, branch)

    def _paced(self, worker: Worker[None], records: Pairs) -> Pairs:
        """The records, with rests for the rest of the app, and told how far they are read."""
        size = max(self.view.source.size, 1)
        yield from paced(records, lambda pair: self.tell(self._progress, pair[0].end / size))
        if worker.is_cancelled:
            raise _Left

    def _progress(self, done: float) -> None:
        if self.is_running:
            self.talk.show(Prose([f"Reading the session: {done:.0%}"]))

    def _failed(self, error: SesstoolError) -> None:
        if self.is_running:
            self.talk.show(Prose([error.message, error.hint]))

    def _begin(self, made: Timeline, gauge: Gauge, branch: str) -> None:
        """Play a timeline; one that takes the place of another goes on where that was."""
        if not self.is_running:
            return
        old, wish = self.player, self.wish
        if branch == "all":
            self._whole = made
        self._branch = branch
        self.talk.border_title = Content(safe(self._named()))
        if not len(made):
            self.player = None
            self.talk.show(Prose(["Nothing in this session was said or done."]))
            self.refresh_frame()
            return
        still = self.browser.options.still
        if old is None:
            self.player = Player(made, wish.speed, wish.idle, typing=not still)
            self.player.playing = not still
            if wish.start >= 0:
                self.player.go_to(made.index_from(wish.start))
            elif wish.line > 1:
                self.player.go_to(made.index_of(wish.line))
        else:
            self.player = Player(made, old.speed, old.timeline.idle, typing=old.typing)
            self.player.playing = old.playing
            self.player.go_to(made.index_from(old.timeline.place(old.index).start))
        signs = self.browser.signs
        self.talk.show(Played(self.view, made, self._shown, signs))
        self.course.show(Course(self.view, self.player, gauge, signs))
        self._then = self._clock()
        self._show(follow=True)
        self.refresh_bindings()
        self.refresh_frame()

    # Time

    def advance(self) -> None:
        """Let the time pass that has passed since; none does below another screen."""
        now = self._clock()
        passed, self._then = now - self._then, now
        if self.player is not None and self.is_active:
            self.player.tick(passed)
            self._show()

    def _show(self, *, follow: bool = False) -> None:
        """Draw where the player stands; the end is followed unless a person scrolled up."""
        player, talk = self.player, self.talk
        played = talk.blocks
        if player is None or not isinstance(played, Played):
            return
        if follow or talk.size == self._laid_out:
            self._following = follow or talk.at_end
        before, was = played.last(), (played.index, played.typed)
        played.stand(player.index, player.typed)
        moved = (played.index, played.typed) != was
        if moved:
            for block in {before, played.last()}:
                talk.renew(block)
        last = played.last()
        gone = last is not None and (talk.cursor is None or talk.cursor > last)
        if (self._following and (moved or talk.size != self._laid_out)) or gone:
            talk.action_last()
        self._laid_out = talk.size
        state = (player.playing, player.speed, player.typing, player.timeline.idle)
        cell = int(player.fraction * self.course.size.width)
        told = (int(player.seconds), player.index, cell, *state)
        if told != self._told:
            self._told = told
            self.course.redraw()

    # Keys

    @property
    def _player(self) -> Player:
        assert self.player is not None  # see check_action
        return self.player

    def action_play(self) -> None:
        """Play or pause."""
        self._player.toggle()
        self._show(follow=True)

    def action_step(self, records: int) -> None:
        """Go a record on or back."""
        self._player.step(records)
        self._show(follow=True)

    def action_speed(self, step: int) -> None:
        """Play faster or slower."""
        self._player.faster(2.0**step)
        self._show()

    def action_seek(self, step: int) -> None:
        """Go five seconds on or back."""
        self._player.seek(self._player.seconds + step * _SEEK)
        self._show(follow=True)

    def action_marker(self, step: int) -> None:
        """Go to the next marker."""
        if not self._player.marker(step):
            self.browser.say(f"no marker {'below' if step > 0 else 'above'}")
        self._show(follow=True)

    def action_part(self, tenth: int) -> None:
        """Go to so many tenths of the replay."""
        self._player.seek_fraction(tenth / _TENTHS)
        self._show(follow=True)

    def action_go_to(self) -> None:
        """Ask where to go."""
        question = "Go to (a line, a time such as 1:30, a per cent, or end):"
        self.app.push_screen(Ask(question), self._asked_place)

    def _asked_place(self, words: str | None) -> None:
        if words and not replaying.go(self._player, words):
            told = "write a line, a time such as 1:30, a per cent such as 50%, or end"
            self.browser.say(told, bad=True)
        self._show(follow=True)

    def action_idle(self) -> None:
        """Cut long pauses, or leave them as they were."""
        player, wish = self._player, self.wish.idle
        if not player.timeline.timed:
            self.browser.say("no record tells a time: there is no pause to cut")
            return
        limit = wish if math.isfinite(wish) else IDLE
        player.cut(math.inf if math.isfinite(player.timeline.idle) else limit)
        self.talk.redraw()  # it tells which pauses are cut
        self._show(follow=True)

    def action_typing(self) -> None:
        """Have texts appear letter by letter, or at once."""
        self._player.typing = not self._player.typing
        self._show()

    def action_whole(self) -> None:
        """Show the record whole, or folded."""
        if (start := self.talk.cursor) is not None:
            self._shown.opened ^= {start}
            self.talk.renew(start)

    # Branches

    def action_branch(self) -> None:
        """Replay the next branch alone; behind the last one all records again."""
        if self._whole is None:
            self._read("all")
        else:
            self._next_branch(self._whole)

    @work(thread=True, exclusive=True, group="read")
    def _next_branch(self, whole: Timeline) -> None:
        worker = get_current_worker()
        try:
            made, gauge, name = self._after_this(whole)
        except ValueError:
            if not worker.is_cancelled:
                raise
            return  # the file was closed
        if name == self._branch == "all":
            self.tell(self._say, "this session has one branch")
        else:
            self.tell(self._begin, made, gauge, name)

    def _after_this(self, whole: Timeline) -> tuple[Timeline, Gauge, str]:
        """The timeline of the next branch, its gauge and its name; all where there is no more."""
        leaves = replaying.branches(self.view)
        lines = [str(line) for _, line in leaves]
        at = lines.index(self._branch) + 1 if self._branch in lines else 0
        made, name = whole, "all"
        if at < len(leaves) and len(leaves) > 1:
            row, line = leaves[at]
            made, name = replaying.branch(self.view, whole, row), str(line)
        return made, replaying.gauge(self.view, made), name

    def _say(self, words: str) -> None:
        if self.is_running:
            self.browser.say(words)

    # Recording

    def action_record(self) -> None:
        """Ask for the file that a recording of the replay is written to."""
        if not self.browser.options.writes:
            command = f"sesstool export --to cast -o FILE {quoted(self.view.path)}"
            self.browser.say(f"nothing is written without --allow-write:\n{command}")
            return
        question = "Record the replay as it is set now to (a new file):"
        self.app.push_screen(Ask(question, value=f"{self.view.id[:8]}.cast"), self._asked_file)

    def _asked_file(self, name: str | None) -> None:
        if name and not self.busy:
            self.busy = True
            player = self._player
            # A copy: the pauses of the player can be cut otherwise meanwhile.
            self._record(
                Path(name).expanduser(), copy(player.timeline), player.speed, player.typing
            )

    @work(thread=True, group="record")
    def _record(self, target: Path, course: Timeline, speed: float, typing: bool) -> None:
        view, wish = self.view, self.wish
        session = replaying.session_of(view)
        lines = cast.document(
            session,
            course,
            speed=speed,
            idle=course.idle,
            typing=typing,
            thinking=wish.thinking,
            whole=wish.whole,
        )
        try:
            create(target, map(str.encode, lines))
            Exported(view.path, view.source, view.path.name, view.format).note(target)
        except SesstoolError as error:
            self.tell(self._recorded, error)
            return
        self.tell(self._recorded, target)

    def _recorded(self, done: Path | SesstoolError) -> None:
        if isinstance(done, SesstoolError):
            self.browser.last_words = f"{done.message}\n{done.hint}"
            self.browser.fail(done)
        else:
            self.browser.say(f"recorded: {done}")
        self.written_to_the_end()
        self.browser.last_words = ""


def screen(paths: Sequence[Path], options: Options) -> Playing:
    """The screen of the one session that is given. Raises UsageError and NotASessionError."""
    if len(paths) != 1:
        raise UsageError("this screen replays one session", hint="give its path")
    return opened(paths[0], options)


def opened(
    path: Path, options: Options, wish: Wish = AS_RECORDED, format_name: str = ""
) -> Playing:
    """The screen of a session. Raises what keeps it from being opened."""
    view = open_view(path, options.keys, format_name=format_name)
    try:
        replaying.session_of(view)
    except BaseException:
        view.close()
        raise
    return Playing(view, wish)
