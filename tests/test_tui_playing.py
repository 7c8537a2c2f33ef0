"""The player in the app: what is seen at which time, and what each key does."""

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.screens import SMALL, WIDE, frame_text, settled  # isort: skip - as it says

from textual.worker import WorkerCancelled

from sesstool import api
from sesstool.api import replaying
from sesstool.api.replaying import Wish
from sesstool.api.viewing import open_view
from sesstool.audit import log
from sesstool.cli import main, replay
from sesstool.cli.browse import SCREENS, made
from sesstool.export import cast
from sesstool.model.session import open_session
from sesstool.records.opening import open_source
from sesstool.records.write import create
from sesstool.replay.player import Player
from sesstool.replay.timeline import build
from sesstool.text import width
from sesstool.tui import pace, playing
from sesstool.tui.app import Browser, Options
from sesstool.tui.conversation import Conversation
from sesstool.tui.played import Course, Played
from sesstool.tui.playing import Playing, opened
from sesstool.tui.scroller import plain
from sesstool.tui.talk import Shown
from tests.conftest import answer, boundary, jsonl, prompt, result, talk, use, words
from tests.hostile import PIECES, TEXTS, acts
from tests.test_tui_hostile import CELLS, dumped, sessions


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def at(seconds, record):
    minutes, rest = divmod(seconds, 60)
    return record | {"timestamp": f"2026-03-01T06:{minutes:02.0f}:{rest:06.3f}Z"}


# The replay shows them after 0, 1, 2, 4, 5 and 6 seconds; 684 seconds are cut to two.
STORY = (
    at(0, prompt(1, None, "x" * 200)),
    at(1, answer(2, 1, use("toolu_1", "Bash", command="ls /well"))),
    at(2, result(3, 2, "toolu_1", "a bucket\na rope")),
    at(686, answer(4, 3, words("The bucket is empty."))),
    at(687, boundary(5, 4)),
    at(688, prompt(6, 5, "Look under the rope.")),
)
FORKED = (
    at(0, prompt(1, None, "one")),
    at(1, answer(2, 1, words("two"))),
    at(2, prompt(3, 2, "three")),
    at(3, answer(4, 3, words("four"))),
    at(4, prompt(5, 2, "five")),
    at(5, answer(6, 5, words("six"))),
)


def saved(tmp_path, records, raw=b""):
    path = tmp_path / "5e551000-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(jsonl(*records) + raw)
    return path


class Stage:
    """A player that runs: keys, time, and what is seen."""

    def __init__(self, pilot, screen, clock):
        self.pilot, self.screen, self.clock = pilot, screen, clock

    async def press(self, *keys):
        for key in keys:
            await self.pilot.press(key)
            await settled(self.pilot)
        return self

    async def wait(self, seconds):
        self.clock.now += seconds
        self.screen.advance()
        await self.pilot.pause()
        return self

    @property
    def frame(self):
        return frame_text(self.pilot.app)

    @property
    def talk(self):
        return [row.strip() for row in plain(self.screen.talk.rows())]

    @property
    def lines(self):
        """The numbers of the records that are there, as far as they are seen."""
        return [int(row.split()[0]) for row in self.talk if row and row.split()[0].isdecimal()]

    @property
    def course(self):
        return [row.rstrip() for row in plain(self.screen.course.rows())]


@asynccontextmanager
async def staged(path, wish=None, size=WIDE, **options):
    clock = Clock()
    screen = Playing(open_view(path), wish or Wish(), clock=clock)
    async with Browser(screen, Options(**options)).run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        yield Stage(pilot, screen, clock)


def on_stage(path, act, wish=None, size=WIDE, **options):
    """What a function of a stage tells."""

    async def run():
        async with staged(path, wish, size, **options) as stage:
            return await act(stage)

    return asyncio.run(run())


@pytest.fixture
def story(tmp_path):
    return saved(tmp_path, STORY)


@pytest.fixture
def forked(tmp_path):
    return saved(tmp_path, FORKED)


def test_records_appear_when_their_time_has_come(story):
    """Each after as many seconds as were recorded, or two; at the end it stops by itself."""

    async def act(stage):
        seen = [stage.lines]
        for _ in range(13):
            await stage.wait(0.5)
            seen.append(stage.lines)
        assert stage.course[0].startswith("■ end  1x   00:00:06 / 00:00:06")
        return seen

    all_ = [1, 2, 3, 4, 5, 6]
    assert on_stage(story, act) == [all_[:n] for n in (1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6)]


def test_speed_is_that_of_the_clock_times_so_many(story):
    """Twice, four times, and half as fast."""

    async def act(stage):
        await (await stage.press(">", ">")).wait(0.5)
        assert stage.screen.player.seconds == 2
        assert stage.lines == [1, 2, 3]
        await (await stage.press("<", "<", "<")).wait(4)
        assert stage.screen.player.seconds == 4
        assert stage.course[0].split()[:3] == ["▶", "playing", "0.5x"]

    on_stage(story, act)


def test_a_pause_stops_the_time_and_goes_on_where_it_was(story):
    """The time that passes meanwhile does not count; nor does that below another screen."""

    async def act(stage):
        await stage.wait(1.5)
        await (await stage.press("space")).wait(100)
        assert stage.lines == [1, 2]
        assert "‖ paused" in stage.frame
        await (await stage.press("space")).wait(0.25)
        assert stage.screen.player.seconds == 1.75
        await (await stage.press("question_mark")).wait(100)
        await (await stage.press("escape")).wait(0.25)
        assert stage.screen.player.seconds == 2
        assert "▶ playing" in stage.frame

    on_stage(story, act)


def test_what_was_said_is_typed_with_a_cursor_behind(story):
    """Of 200 letters in half a second; what a tool was given and put out is there at once."""

    async def act(stage):
        await stage.wait(0.25)
        typed = "".join(stage.talk[1:3])
        assert typed == "x" * 100 + "█"
        await stage.press("T")
        assert "x" * 200 in "".join(stage.talk)
        assert "█" not in stage.frame
        assert "typing off" in stage.frame
        await (await stage.press("T")).wait(0.25)
        assert "x" * 200 in "".join(stage.talk)
        await stage.wait(0.51)
        assert [row.split() for row in stage.talk[4:6]] == [
            ["2", "TOOL", "CALL", "Bash", "06:00:01"],
            ["ls", "/well"],
        ]

    on_stage(story, act)


def test_what_is_typed_is_whole_once_the_next_is_there(story):
    """And is typed again when it is the last one again."""

    async def act(stage):
        await stage.wait(0.25)
        await stage.press("full_stop")
        assert stage.lines == [1, 2]
        assert "x" * 200 in "".join(stage.talk)
        assert "█" not in stage.frame
        stage.screen.player.seek(0.25)
        await stage.wait(0)
        assert "".join(stage.talk[1:3]) == "x" * 100 + "█"

    on_stage(story, act)


def test_a_result_names_its_tool_and_no_call_tells_its_end(story):
    """What becomes of a call is not known while it runs."""

    async def act(stage):
        await stage.press("end", "9")
        assert any(row.startswith("3  TOOL RESULT Bash") for row in stage.talk)
        assert "completed" not in stage.frame

    on_stage(story, act)


def test_a_long_pause_is_told_when_it_begins(story):
    """As long as it lasts, and while it is cut; i leaves it as it was."""

    async def act(stage):
        told = "… 11 min 24 s without a record, shown as 2 s …"
        await stage.wait(1.9)
        assert told not in stage.talk
        await stage.wait(0.2)
        assert told in stage.talk
        assert stage.talk.index(told) > stage.talk.index("a rope")
        await stage.press("4")
        await stage.press("i")
        assert "… 11 min 24 s without a record …" in stage.talk
        assert "pauses as they were" in stage.frame
        assert stage.screen.player.duration > 688
        assert stage.lines == [1, 2, 3]
        await stage.press("i")
        assert told in stage.talk
        assert "idle cut at 2 s" in stage.frame

    on_stage(story, act)


def test_the_timeline_tells_where_it_stands(story):
    """State, times, the true clock in a cut pause, the record; then the gauge with its lines."""

    async def act(stage):
        await (await stage.wait(3)).press("space")
        return stage.course

    state, gauge, lines, legend = on_stage(story, act)
    assert state == (
        "‖ paused  1x   00:00:03 / 00:00:06   2026-03-01 06:05:44 UTC   record 3/6"
        "   idle cut at 2 s   typing on"
    )
    cells = gauge[1:-1]
    assert (gauge[0], gauge[-1], len(cells)) == ("├", "┤", 114)
    found = {n: sign for n, sign in enumerate(cells) if sign != "─"}
    # A prompt at 0, a compaction at 5, a prompt at 6 seconds of 6.05.
    assert found == {0: "|", 56: "●", 94: "≡", 113: "|"}
    assert (lines[1], lines[57], lines[95:98], lines[115]) == ("1", "3", "5 ≡", "6")
    assert lines.split() == ["1", "3", "5", "≡", "6"]
    assert legend.split() == [
        "|",
        "prompt",
        "@",
        "subagent",
        "↳",
        "fork",
        "≡",
        "compaction",
        "!",
        "finding",
    ]


@pytest.mark.parametrize(
    ("keys", "line", "seconds"),
    [
        ("5", 3, 3.025),
        ("0", 1, 0),
        ("9", 5, 5.445),
        (". . .", 4, 4.05),
        (". . ,", 2, 1.02),
        ("] ]", 6, 6.05),
        ("] ] [", 5, 5.0),
        ("right", 5, 5.0),
        ("9 left", 1, 0.445),
    ],
)
def test_keys_seek(story, keys, line, seconds):
    """Digits go to tenths, arrows five seconds, dots a record, brackets to markers."""

    async def act(stage):
        await stage.press(*keys.split())
        assert stage.lines[-1] == line
        assert stage.screen.player.seconds == pytest.approx(seconds)
        await stage.press("0")
        assert stage.lines == [1]

    on_stage(story, act)


def test_digits_go_to_no_pane_and_the_help_says_so(story):
    """In the last line and in the help they seek."""

    async def act(stage):
        assert stage.frame.split("\n")[-1].startswith("space pause  , . step  < > speed  ← → 5 s")
        assert "0-9 seek  : go to  i idle  T typing  e cast" in stage.frame
        await stage.press("question_mark")
        assert "0-9 seek" in " ".join(stage.frame.split())
        assert "pane" not in stage.frame

    on_stage(story, act)


def test_behind_the_last_marker_there_is_none(story):
    """It is said, and the record stays."""

    async def act(stage):
        await stage.press("]", "]", "]")
        assert "no marker below" in stage.frame
        assert stage.lines[-1] == 6

    on_stage(story, act)


def test_a_place_is_asked_for(story):
    """A line, or words that mean no place."""

    async def act(stage):
        await stage.press("colon", "4", "enter")
        assert stage.lines == [1, 2, 3, 4]
        await stage.press("colon", "x", "enter")
        assert "write a line, a time such as 1:30" in stage.frame
        assert stage.lines == [1, 2, 3, 4]

    on_stage(story, act)


def test_the_end_is_followed_unless_a_person_scrolled_up(tmp_path):
    """Up stays where it is while records come; the last line or a key that seeks follows."""
    records = [at(n, record) for n, record in enumerate(talk(60))]

    async def act(stage):
        await stage.wait(40)
        assert stage.lines[-1] == 41
        await stage.press("ctrl+u")
        there = stage.lines
        await stage.wait(5)
        assert stage.lines == there
        await stage.press("G")
        await stage.wait(5)
        assert stage.lines[-1] == 51
        await stage.press("g", "full_stop")
        assert stage.lines[-1] == 52
        await stage.pilot.resize_terminal(100, 24)
        await stage.pilot.pause()
        await stage.wait(1)
        assert stage.lines[-1] == 52

    on_stage(saved(tmp_path, records), act)


def test_going_back_takes_away_what_comes_later(tmp_path):
    """Also for who looks at it: what is seen is of the present record or of one before."""
    records = [at(n, record) for n, record in enumerate(talk(60))]

    async def act(stage):
        await stage.press("9", "k", "1")
        assert stage.lines[-1] == 6
        await stage.press("9", "space", "ctrl+u")
        stage.screen.player.seek(0)
        await stage.wait(0)
        assert stage.lines == [1]

    on_stage(saved(tmp_path, records), act)


def test_a_long_text_is_folded_and_enter_shows_it(tmp_path):
    """The key that is named is the one that does it."""
    path = saved(tmp_path, [prompt(1, None, "\n".join(f"row {n}" for n in range(1, 21)))])

    async def act(stage):
        await stage.press("9", "T")
        assert "8 more lines (enter shows them)" in stage.frame
        await stage.press("enter")
        assert "row 20" in stage.frame
        await stage.press("enter")
        assert "row 20" not in stage.frame

    on_stage(path, act)

    async def whole(stage):
        await stage.press("T")
        assert "row 20" in stage.frame

    on_stage(path, whole, Wish(whole=True))


def test_with_reduced_motion_nothing_moves_by_itself(story):
    """It waits for a key, and types nothing."""

    async def act(stage):
        await stage.wait(100)
        assert stage.lines == [1]
        assert "x" * 100 in stage.frame
        assert "‖ paused" in stage.frame
        assert "typing off" in stage.frame
        await (await stage.press("space")).wait(1)
        assert stage.lines == [1, 2]

    on_stage(story, act, still=True)


def test_a_session_without_times_says_what_sets_the_pace(tmp_path):
    """There is no clock, and no pause to cut."""
    records = [record | {"timestamp": ""} for record in STORY]

    async def act(stage):
        assert "no times: paced by the length of texts" in stage.frame
        assert "idle cut" not in stage.frame
        assert "UTC" not in stage.frame
        await stage.press("i")
        assert "there is no pause to cut" in stage.frame

    on_stage(saved(tmp_path, records), act)


def test_branches_are_replayed_one_by_one(forked):
    """The live one, the other one, then all again; the record that is seen stays."""

    async def act(stage):
        seen = []
        for _ in range(4):
            stage.screen.player.go_to(99)
            await stage.wait(0)
            title = stage.frame.split("\n")[0].partition("›")[2].split("READ")[0].strip()
            seen.append((title, stage.lines))
            await stage.press("b")
        return seen

    seen = on_stage(forked, act)
    assert seen == [
        ("main", [1, 2, 3, 4, 5, 6]),
        ("branch to line 6", [1, 2, 5, 6]),
        ("branch to line 4", [1, 2, 3, 4]),
        ("main", [1, 2, 3, 4, 5, 6]),
    ]


def test_a_branch_leaves_place_speed_and_pause_as_they_are(forked):
    """Only the records of other branches go."""

    async def act(stage):
        await stage.press(">", "T", "i", "3", "space", "b")
        player = stage.screen.player
        assert stage.lines == [1, 2]
        assert (player.speed, player.typing, player.playing) == (2, False, False)
        assert player.timeline.idle == float("inf")

    on_stage(forked, act)


def test_records_of_other_branches_are_told_from_the_rest(forked):
    """As in the conversation: no resume reaches them."""

    async def act(stage):
        await stage.press("9", ".")
        return [row.split()[0] for row in stage.talk if "not resumed" in row]

    assert on_stage(forked, act) == ["3", "4"]


def test_a_wish_says_how_it_begins(forked):
    """A branch, a line, a speed, pauses; b shows all from there."""

    async def act(stage):
        assert stage.lines == [1, 2, 3]
        assert "branch to line 4" in stage.frame
        assert "4x" in stage.course[0]
        assert "idle cut at 0.5 s" in stage.frame
        await stage.press("space", "b")
        assert "›  main" in stage.frame
        assert stage.lines == [1, 2, 3]

    on_stage(forked, act, Wish(branch="4", line=3, speed=4, idle=0.5))


def test_thinking_is_shown_where_it_is_asked_for(tmp_path):
    """Else not a word tells of it."""
    thought = {"type": "thinking", "thinking": "in the well, perhaps", "signature": "c"}
    records = [at(0, prompt(1, None, "Find it.")), at(1, answer(2, 1, thought))]
    path = saved(tmp_path, records)

    async def act(stage):
        await stage.press("9", ".", "T")
        return "in the well" in stage.frame, "thinking" in stage.frame.lower()

    assert on_stage(path, act) == (False, False)
    assert on_stage(path, act, Wish(thinking=True)) == (True, True)


def test_a_branch_that_is_not_there_is_told(forked):
    """With the next step; the keys of the player do nothing then."""

    async def act(stage):
        # A long path has it wrapped.
        told = " ".join(stage.frame.translate(dict.fromkeys(map(ord, "│▌"), " ")).split())
        assert "has no record nowhere" in told
        assert "sesstool diff --branches lists the leaves" in told
        await stage.press("space", "5", "b", "e", "colon", "right")
        assert stage.frame.split("\n")[-1].strip() == "? help"

    on_stage(forked, act, Wish(branch="nowhere"))


def test_a_session_in_which_nothing_was_said(tmp_path):
    """Is no error, and there is nothing to play."""
    path = saved(tmp_path, [prompt(1, None, "")])

    async def act(stage):
        await stage.press("space", "b", "5")
        return stage.frame

    assert "Nothing in this session was said or done." in on_stage(path, act)


def frames(path):
    """All lines of a replay at each record, half and wholly typed, and of its course."""
    with open_view(path) as view:
        player = Player(replaying.timeline(view, thinking=True))
        timeline = player.timeline
        talk_ = Played(view, timeline, Shown(thinking=True))
        course = Course(view, player, replaying.gauge(view, timeline))
        for index in range(len(timeline)):
            player.go_to(index)
            yield from course.draw(0, CELLS)
            for typed in (0.5, 1.0):
                talk_.stand(index, typed)
                yield from talk_.draw(talk_.last(), CELLS)


@given(TEXTS)
def test_no_text_acts_however_far_it_is_typed(tmp_path_factory, text):
    """Every line is safe and fits, in each format."""
    for data in list(sessions(text))[:-1]:
        for line in frames(dumped(data, tmp_path_factory)):
            shown = "".join(span.text for span in line)
            assert not acts(shown)
            assert "\n" not in shown
            assert width(shown) <= CELLS


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_behind_a_session_are_replayed(tmp_path_factory, data, glued):
    """As damage, or as what they say."""
    sound = jsonl(*STORY)
    path = dumped(sound[: -1 if glued else None] + data, tmp_path_factory)
    assert not any(acts(span.text) for line in frames(path) for span in line)


def test_records_of_one_line_are_shown_one_after_the_other(tmp_path):
    """Each with its own words and time, where two were glued."""
    path = saved(tmp_path, [])
    path.write_bytes(jsonl(*STORY[:2]) + jsonl(*STORY[2:]).replace(b"\n", b"", 1))

    async def act(stage):
        await stage.wait(2.5)
        seen = [stage.lines, "The bucket" in stage.frame]
        await stage.wait(2)
        return [*seen, stage.lines, "The bucket" in stage.frame]

    assert on_stage(path, act) == [[1, 2, 3], False, [1, 2, 3, 3], True]


@pytest.mark.parametrize("size", [WIDE, SMALL])
@pytest.mark.parametrize("part", range(4))
def test_hostile_texts_do_nothing(tmp_path, part, size):
    """However far they are typed, in a title, a tool's name, an argument, an id."""
    hostile = "".join(PIECES[part::4])
    records = [
        at(0, prompt(1, None, hostile * 3)),
        at(1, answer(2, 1, use("toolu_1", hostile, **{hostile: hostile}))),
        at(2, result(3, 2, "toolu_1", hostile)),
        at(200, prompt(4, 3, hostile, isSidechain=True, agentId=hostile)),
    ]
    for record in records:
        record["sessionId"] = hostile

    async def act(stage):
        for _ in range(20):
            await stage.wait(0.22)
            assert not acts(stage.frame)
        assert stage.lines[-1] == 4

    on_stage(saved(tmp_path, records), act, size=size)


def test_eighty_columns_have_room_for_both(story):
    """The timeline takes two lines for what it tells; all words of it are there."""

    async def act(stage):
        await stage.wait(6)
        text = stage.frame
        assert stage.lines[-1] == 6
        for part in ("00:00:06 / 00:00:06", "06:11:28 UTC", "record 6/6", "typing on", "≡"):
            assert part in text
        assert text.split("\n")[-1].startswith("space pause  , . step")
        assert all(len(row) <= 80 for row in text.split("\n"))

    on_stage(story, act, size=SMALL)


def test_in_ascii_no_other_sign_is_used(story):
    """Neither in the gauge, nor for the cursor, nor for a pause."""

    async def act(stage):
        for _ in range(13):
            await stage.wait(0.2)
            assert [c for c in stage.frame if not c.isascii()] == []
        assert "... 11 min 24 s without a record, shown as 2 s ..." in stage.frame

    on_stage(story, act, ascii=True)


def test_a_recording_needs_leave_to_write(story, tmp_path, monkeypatch):
    """Else the command is named that makes one."""
    monkeypatch.chdir(tmp_path)

    async def act(stage):
        await stage.press("e")
        assert "nothing is written without --allow-write" in stage.frame
        assert "sesstool export --to cast" in stage.frame
        assert not list(tmp_path.glob("*.cast"))

    on_stage(story, act)


def test_a_recording_is_what_export_makes(story, tmp_path, monkeypatch):
    """With the speed, pauses and typing of the player, which goes on as it was; no file is lost."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "5e551000.cast"

    async def act(stage):
        await stage.press(">", "T", "i", "e", "enter")
        assert f"recorded: {target.name}" in " ".join(stage.frame.split())
        assert stage.screen.player.timeline.idle == float("inf")
        target.write_bytes(was := target.read_bytes())
        await stage.press("e", "enter")
        assert target.read_bytes() == was
        assert "exists already" in " ".join(stage.frame.split())

    on_stage(story, act, writes=True)
    with open_source(story) as source:
        session = open_session(source)
        timeline = build(session)
        lines = cast.document(session, timeline, speed=2, idle=float("inf"), typing=False)
        assert target.read_text() == "".join(lines)
    assert log.copies(api.state_folder(), story) == [target]


def test_the_app_waits_for_a_recording_that_is_written(story, tmp_path, monkeypatch):
    """Whoever leaves meanwhile leaves when it is whole."""
    monkeypatch.chdir(tmp_path)
    going, may_end = threading.Event(), threading.Event()

    def slow(target, chunks):
        going.set()
        assert may_end.wait(60)
        create(target, chunks)

    monkeypatch.setattr(playing, "create", slow)

    async def act(stage):
        app = stage.pilot.app
        await stage.pilot.press("e")
        await stage.pilot.pause()
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        assert going.wait(60)
        await stage.pilot.press("q")
        await stage.pilot.pause()
        assert app.is_running
        may_end.set()
        with suppress(WorkerCancelled):  # it ends with the app
            await app.workers.wait_for_complete()
        await stage.pilot.pause()
        assert app.return_code == 0

    on_stage(story, act, writes=True)
    assert (tmp_path / "5e551000.cast").read_text().startswith("{")


def test_p_replays_from_the_record_under_the_cursor(story):
    """And esc goes back to the conversation, whose file is still open."""

    async def run():
        screen = Conversation(open_view(story))
        async with Browser(screen, Options(still=True)).run_test(size=WIDE) as pilot:
            await settled(pilot)
            await pilot.press("j", "j", "p")
            await settled(pilot)
            player = pilot.app.screen
            assert isinstance(player, Playing)
            assert player.view is screen.view
            assert player.player.index == 2
            await pilot.press("escape")
            await settled(pilot)
            assert pilot.app.screen is screen
            assert "The bucket is empty." in frame_text(pilot.app)

    asyncio.run(run())


def test_a_file_that_is_replayed_alone_is_closed_at_the_end(story):
    """The one of a conversation is not, see above."""
    views = []

    async def act(stage):
        views.append(stage.screen.view)

    on_stage(story, act)
    assert views[0].source.handle.closed


def test_leaving_while_the_session_is_read_ends_the_reading(story, monkeypatch):
    """How far it is read is told meanwhile; the endless one here ends without an error."""
    told, ended = [], []

    def timeline(view, *_, along, **__):
        try:
            for _ in along((SimpleNamespace(end=view.source.size / 4), None) for _ in iter(int, 1)):
                pass
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    async def run():
        screen = Playing(open_view(story))
        app = Browser(Conversation(open_view(story)), Options(still=True))
        async with app.run_test(size=WIDE) as pilot:
            await settled(pilot)
            monkeypatch.setattr(replaying, "timeline", timeline)
            monkeypatch.setattr(pace, "_TELL", -1)
            app.push_screen(screen)
            while not told:
                await pilot.pause()
                told.extend(row for row in frame_text(app).split("\n") if "25%" in row)
            await pilot.press("escape")
            await settled(pilot)
            assert isinstance(app.screen, Conversation)
            while not ended:
                await pilot.pause()
            assert screen.player is None
            assert app.broke is None

    asyncio.run(run())
    assert "Reading the session: 25%" in told[0]
    assert ended == ["_Left"]


def test_the_command_opens_the_player(story, monkeypatch):
    """With what its options say; the app gets the look that is asked for."""
    seen = []

    def run(first, options, *, mouse):
        seen.append((first, options, mouse))
        first.view.close()
        return 0

    monkeypatch.setattr(replay, "run", run)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    told = ["--speed", "4", "--idle", "5", "--from", "3", "--branch", "live", "--thinking"]
    assert main.run(["replay", str(story), *told, "--whole", "--ascii", "--no-mouse"]) == 0
    [(first, options, mouse)] = seen
    assert isinstance(first, Playing)
    assert first.wish == Wish("live", 3, -1, 4.0, 5.0, thinking=True, whole=True)
    assert (options.ascii, options.writes, mouse) == (True, False, False)


def test_what_is_no_session_is_refused(tmp_path):
    """Before the screen is filled; the file is closed."""
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b"some words\n")
    with pytest.raises(Exception, match="is no session that sesstool knows"):
        opened(path, Options())


def test_browse_knows_the_player_by_name():
    """As --screen replay."""
    assert SCREENS["replay"] == "sesstool.tui.playing:screen"
    sample = Path(__file__).parents[1] / "samples" / "forked" / "white-door.jsonl"
    screen = made("replay", [sample], Options())
    assert isinstance(screen, Playing)
    screen.view.close()
