"""The player: what moves a replay, and where it then stands."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.model.session import open_session
from sesstool.replay.player import FASTEST, SLOWEST, Player
from sesstool.replay.timeline import build
from tests.conftest import Memory, answer, jsonl, linked, prompt, words

# Seconds between records: a pause that is cut, several at once, and what comes out even in binary.
GAPS = [0, 1, 0, 0, 0.5, 684, 0.25, 1.5, 0]


def timeline_of(gaps=GAPS, size=100):
    """Prompts and answers with so many characters, and so many seconds before each."""
    records, at = [], 0.0
    for n, gap in enumerate(gaps, 1):
        at += gap
        time = (datetime(2026, 3, 1, 6, tzinfo=UTC) + timedelta(seconds=at)).isoformat()
        make = prompt if n % 2 else answer
        text = "x" * size if n % 2 else words("x" * size)
        records.append(make(n, n - 1 or None, text) | {"timestamp": time})
    return build(open_session(Memory(jsonl(*records))))


@pytest.fixture
def player():
    return Player(timeline_of())


def position(player):
    return player.index, player.seconds


def test_a_replay_plays_from_the_first_record_to_its_end(player):
    """Cut to two seconds the pauses are 1, 0.5, 2, 0.25 and 1.5; the last text takes none more."""
    assert position(player) == (0, 0)
    assert player.playing
    assert player.duration == 5.5
    seen = []
    for _ in range(60):
        player.tick(0.1)
        seen.append(player.index)
    assert sorted(set(seen)) == [0, 3, 4, 5, 6, 8]
    assert seen == sorted(seen)
    assert position(player) == (8, 5.5)
    assert player.at_end
    assert not player.playing


def test_a_text_appears_letter_by_letter(player):
    """A hundred characters take a quarter of a second; without typing they are there at once."""
    player.tick(0.125)
    assert player.typed == 0.5
    player.typing = False
    assert player.typed == 1
    player.typing = True
    player.tick(0.5)
    assert player.typed == 1


def test_the_recorded_time_has_all_of_a_cut_pause(player):
    """Half of the two seconds that stand for 684 are half of those."""
    player.seek(2.5)
    assert player.recorded == 1.5 + 342
    player.seek(0.5)
    assert player.recorded == 0.5


def test_steps_show_whole_records_and_pause(player):
    """Also those that came at one time; at both ends a step goes nowhere."""
    seen = []
    for _ in range(10):
        player.step(1)
        seen.append((player.index, player.typed))
    assert seen == [(n, 1) for n in (1, 2, 3, 4, 5, 6, 7, 8, 8, 8)]
    assert not player.playing
    player.step(-3)
    assert player.index == 5
    player.step(-99)
    assert player.index == 0


def test_a_step_shows_the_last_letter_after_years():
    """Seconds are not exact there: (10**9 + 0.3) - 10**9 is less than 0.3."""
    player = Player(timeline_of([0, 1e9, 10], size=120), idle=float("inf"))
    player.step(1)
    assert player.seconds - player.timeline.time_of(1) < player.timeline.typing(1)
    assert player.typed == 1


def test_playing_goes_on_behind_a_step(player):
    """From the record on that the step showed."""
    player.step(1)
    player.toggle()
    player.tick(0)
    assert player.index == 1
    player.tick(0.125)
    assert player.index == 3


def test_speed_stays_within_bounds(player):
    """From a quarter to 64 times, in steps of two."""
    player.faster()
    assert player.speed == 2
    for _ in range(9):
        player.faster()
    assert player.speed == FASTEST == 64
    for _ in range(20):
        player.slower()
    assert player.speed == SLOWEST == 0.25
    player.tick(4)
    assert position(player) == (3, 1)


def test_seeking(player):
    """By seconds, by a part of the whole, by record; what is out of bounds is the bound."""
    player.seek(1.25)
    assert position(player) == (3, 1.25)
    player.seek_fraction(0.5)
    assert position(player) == (4, 2.75)
    player.seek(-1)
    assert position(player) == (0, 0)
    player.seek(99)
    assert position(player) == (8, 5.5)
    assert player.fraction == 1
    player.go_to(4)
    assert position(player) == (4, 1.75)


def test_markers_are_gone_to(player):
    """The prompts are the records 0, 2, 4, 6 and 8."""
    assert [player.marker(1) for _ in range(5)] == [True, True, True, True, False]
    assert player.index == 8
    player.step(-1)
    assert player.marker(-1)
    assert player.index == 6
    assert player.typed == 1
    assert [player.gauge(n) for n in (0, 4, 8)] == [0, 1.5 / 5.5, 5.25 / 5.5]


def test_at_its_end_a_replay_begins_anew(player):
    """To play is what was asked for."""
    player.seek(99)
    player.toggle()
    assert position(player) == (0, 0)
    assert player.playing
    player.toggle()
    assert not player.playing
    player.tick(3)
    assert position(player) == (0, 0)


def test_another_idle_limit_leaves_the_record(player):
    """Only the time before it is another one."""
    player.go_to(5)
    player.cut(float("inf"))
    assert position(player) == (5, 685.5 + 0.25)
    player.cut(0)
    assert position(player) == (5, 0)
    assert player.duration == 0.25


def test_nothing_to_replay():
    """A session of notes alone has an end and no more."""
    player = Player(build(open_session(Memory(jsonl(linked(1, None, "system"))))))
    player.step(1)
    player.seek(3)
    player.toggle()
    player.tick(1)
    assert not player.marker(1)
    assert position(player) == (-1, 0)
    assert player.at_end
    assert (player.typed, player.recorded, player.fraction) == (0, 0, 1)


TIMELINE = timeline_of()
AMOUNT = st.floats(-2, 10)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("tick"), AMOUNT),
        st.tuples(st.just("step"), st.integers(-3, 3)),
        st.tuples(st.just("seek"), AMOUNT),
        st.tuples(st.just("seek_fraction"), st.floats(-1, 2)),
        st.tuples(st.just("go_to"), st.integers(-5, 15)),
        st.tuples(st.just("marker"), st.sampled_from([-1, 1])),
        st.tuples(st.just("cut"), st.floats(0, 1000) | st.just(float("inf"))),
        st.tuples(st.sampled_from(["toggle", "faster", "slower"])),
    ),
    max_size=30,
)
quick = settings(max_examples=300, deadline=None, derandomize=True, database=None)


@given(operations=OPERATIONS, typing=st.booleans())
@quick
def test_whatever_is_done_a_player_stands_somewhere(operations, typing):
    """Behind the record that it shows, and not behind the next; all it tells is in bounds."""
    player = Player(TIMELINE, typing=typing)
    for name, *arguments in operations:
        getattr(player, name)(*arguments)
        last = len(TIMELINE) - 1
        assert 0 <= player.index <= last
        behind = TIMELINE.time_of(player.index + 1) if player.index < last else player.duration
        assert TIMELINE.time_of(player.index) <= player.seconds <= behind + 1e-9
        assert 0 <= player.typed <= 1
        assert 0 <= player.fraction <= 1
        assert SLOWEST <= player.speed <= FASTEST
        low, high = (TIMELINE.recorded(min(player.index + n, last)) for n in (0, 1))
        assert low <= player.recorded <= high + 1e-6
        assert not (player.playing and player.at_end)


@given(parts=st.lists(st.integers(0, 400), max_size=20), speed=st.sampled_from([0.25, 1, 2, 64]))
@quick
def test_ticks_add_up(parts, speed):
    """However a time is parted, the position behind it is the same; parts are of 1/64 s."""
    many, one = Player(TIMELINE, speed), Player(TIMELINE, speed)
    for part in parts:
        many.tick(part / 64)
    one.tick(float(Fraction(sum(parts), 64)))
    assert (position(many), many.typed, many.playing) == (position(one), one.typed, one.playing)


@given(start=st.integers(0, 8), steps=st.integers(1, 8))
@quick
def test_stepping_forth_and_back_returns(start, steps):
    """As far as there are records."""
    player = Player(TIMELINE)
    player.go_to(start)
    before = position(player)
    for _ in range(min(steps, 8 - start)):
        player.step(1)
    for _ in range(min(steps, 8 - start)):
        player.step(-1)
    assert position(player) == before
