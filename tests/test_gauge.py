"""The gauge of a replay, the timelines of branches, and where one can go."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.api import replaying
from sesstool.api.viewing import open_view
from sesstool.errors import NotASessionError
from sesstool.model.session import open_session
from sesstool.model.ways import leaves
from sesstool.replay.gauge import Gauge, Mark
from sesstool.replay.player import Player
from sesstool.replay.timeline import build
from tests.conftest import Memory, answer, boundary, jsonl, prompt, words


def timed(records, step=1.0):
    """The records, one after the other by so many seconds."""
    for n, record in enumerate(records):
        seconds = n * step
        stamp = f"2026-03-01T06:{int(seconds) // 60:02}:{seconds % 60:06.3f}Z"
        record["timestamp"] = stamp
    return records


# Line 2 is where branches part: at 3 the one that was left, at 5 the one that goes on.
FORKED = timed(
    [
        prompt(1, None, "one"),
        answer(2, 1, words("two")),
        prompt(3, 2, "three"),
        answer(4, 3, words("four")),
        prompt(5, 2, "five"),
        answer(6, 5, words("six")),
        boundary(7, 6),
        prompt(8, 7, "eight"),
    ]
)


def session(records):
    return open_session(Memory(jsonl(*records)))


def view_of(tmp_path, records, raw=b""):
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(*records) + raw)
    return open_view(path)


def test_marks_stand_where_their_records_are_shown():
    """Seven seconds and eight cells or so: a cell a record; a fork counts more than a prompt."""
    timeline = build(session(FORKED))
    assert timeline.duration == pytest.approx(7.0125)
    marks = Gauge(timeline, {"subagent": [1, 3], "finding": [3, 4]}).marks(8)
    assert marks == {
        0: Mark("prompt", 0),
        1: Mark("fork", 1),
        2: Mark("prompt", 2),
        3: Mark("finding", 3),
        4: Mark("finding", 4),
        6: Mark("compaction", 6),
        7: Mark("prompt", 7),
    }
    assert Gauge(timeline, {}).marks(1) == {0: Mark("compaction", 6)}


@given(
    st.lists(st.sampled_from([0, 0, 0.125, 1, 7.5]), min_size=1, max_size=40), st.integers(1, 90)
)
def test_no_prompt_is_missing_in_a_gauge(gaps, cells):
    """Each cell in which a prompt falls shows the first of those; no other cell shows any."""
    seconds, records = 0.0, []
    for n, gap in enumerate(gaps, 1):
        seconds += gap
        stamp = f"2026-03-01T06:{int(seconds) // 60:02}:{seconds % 60:06.3f}Z"
        make = prompt if n % 3 else answer
        text = "x" if n % 3 else words("x")
        records.append(make(n, n - 1 or None, text) | {"timestamp": stamp})
    timeline = build(session(records))
    gauge, expected = Gauge(timeline, {}), {}
    for marker in timeline.markers():
        cell = gauge.cell(timeline.time_of(marker.at), cells)
        expected.setdefault(cell, Mark("prompt", marker.at))
    assert gauge.marks(cells) == expected


def test_a_replay_without_length_has_one_cell():
    """All that it shows is shown at once."""
    timeline = build(open_session(Memory(jsonl(prompt(1, None, "")) + b"%%EOF\n")))
    assert (len(timeline), timeline.duration) == (1, 0)
    gauge = Gauge(timeline, {"finding": [0]})
    assert gauge.cell(0, 10) == 0
    assert gauge.marks(10) == {0: Mark("finding", 0)}


COLUMNS = ("_lines", "_starts", "_ends", "_times", "_shown", "_whats", "_lengths", "_marked")


def test_a_branch_of_a_timeline_is_what_is_built_of_the_branch():
    """In every column; the timeline that it is taken out of stays as it was."""
    known = session(FORKED)
    whole = build(known)
    before = {name: bytes(getattr(whole, name)) for name in COLUMNS}
    seen = []
    for leaf in leaves(known, known.graph):
        part = replaying.branch(SimpleNamespace(session=known), whole, leaf.row)
        fresh = build(session(FORKED), str(leaf.line))
        for name in COLUMNS:
            assert bytes(getattr(part, name)) == bytes(getattr(fresh, name)), name
        assert part.timed is fresh.timed is True
        seen.append([part.place(n).line for n in range(len(part))])
    assert seen == [[1, 2, 5, 6, 7, 8], [1, 2, 3, 4]]
    assert {name: bytes(getattr(whole, name)) for name in COLUMNS} == before


@pytest.mark.parametrize("branch", ["all", "live", "4"])
def test_a_session_that_was_read_gives_the_same_timeline(tmp_path, branch):
    """Whether a view was outlined before or is on the way, and when it is read again."""
    fresh = build(session(FORKED), branch)
    with view_of(tmp_path, FORKED) as view:
        once = replaying.timeline(view, branch)
        assert view.outline.done
        again = replaying.timeline(view, branch)
    for name in COLUMNS:
        assert bytes(getattr(once, name)) == bytes(getattr(fresh, name)), name
        assert bytes(getattr(again, name)) == bytes(getattr(fresh, name)), name


def test_the_outline_of_a_view_tells_subagents_and_damage(tmp_path):
    """They are on the gauge, each at the first record of theirs that is shown."""
    sub = prompt(9, None, "look", isSidechain=True, agentId="a1")
    sub["timestamp"] = "2026-03-01T06:00:08Z"
    last = prompt(10, 8) | {"timestamp": "2026-03-01T06:00:10Z"}
    with view_of(tmp_path, [*FORKED, sub, last], b"%%EOF\n") as view:
        timeline = replaying.timeline(view)
        marks = replaying.gauge(view, timeline).marks(1000)
    told = {mark.at: mark.name for mark in marks.values()}
    assert timeline.what(10) == "damage"
    assert (told[8], told[10]) == ("subagent", "finding")


def test_what_is_no_session_is_not_replayed(tmp_path):
    """The error names the file."""
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b"some words\n")
    with open_view(path) as view, pytest.raises(NotASessionError, match="is no session"):
        replaying.timeline(view)


@pytest.fixture
def player():
    return Player(build(session(FORKED)))


@pytest.mark.parametrize(
    ("typed", "index", "seconds"),
    [
        ("5", 4, None),
        ("99", 7, None),
        (" 3 ", 2, None),
        ("0:03", 3, 3),
        ("1:00", 7, 7.0125),
        ("0:00:02", 2, 2),
        ("50%", 3, 3.50625),
        ("300%", 7, 7.0125),
        ("end", 7, 7.0125),
    ],
)
def test_words_say_where_to_go(player, typed, index, seconds):
    """A line shows its record whole; times and parts are those of the replay."""
    assert replaying.go(player, typed)
    assert player.index == index
    if seconds is None:
        assert player.typed == 1
    else:
        assert player.seconds == pytest.approx(seconds)


@pytest.mark.parametrize("typed", ["", "x", "-1", "1:", "%", "1.5", "٣", "9" * 30, "1:2:3:4"])
def test_other_words_move_nothing(player, typed):
    """They are refused."""
    player.seek(3)
    assert not replaying.go(player, typed)
    assert player.seconds == 3


def test_the_clock_is_that_of_the_record_and_goes_on_in_pauses(player):
    """In UTC, whatever zone the record tells; where no record tells a time there is none."""
    player.seek(3.5)
    assert replaying.clock(player, "2026-03-01T06:00:03Z") == "2026-03-01 06:00:03 UTC"
    assert replaying.clock(player, "2026-03-01T07:59:59+02:00") == "2026-03-01 05:59:59 UTC"
    slow = Player(build(session(timed([prompt(1, None), prompt(2, 1)], 600))))
    slow.seek(1)
    assert replaying.clock(slow, "2026-03-01T06:00:00Z") == "2026-03-01 06:05:00 UTC"
    assert replaying.clock(slow, "9999-12-31T23:59:59Z") == ""
    assert replaying.clock(slow, "") == ""
    still = Player(build(session([prompt(1, None) | {"timestamp": ""}])), idle=math.inf)
    assert replaying.clock(still, "2026-03-01T06:00:00Z") == ""
