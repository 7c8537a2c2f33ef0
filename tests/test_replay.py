"""Replay: the timeline, the player, and what `replay --plain` prints."""

from types import SimpleNamespace

import pytest

from sesstool.cli import main, replay
from sesstool.model.session import open_session
from sesstool.replay.timeline import build
from tests.conftest import Memory, answer, jsonl, prompt, result, use


def line_of(records, branch="all", **more):
    return build(open_session(Memory(jsonl(*records))), branch, **more)


def at(record, time):
    return record | {"timestamp": time}


def shape(timeline):
    """Line, kind and recorded seconds of each record."""
    return [
        (timeline.place(n).line, timeline.what(n), timeline.recorded(n))
        for n in range(len(timeline))
    ]


STORY = [
    at(prompt(1, None), "2026-03-01T06:00:00Z"),
    {"type": "custom-title", "customTitle": "lamp"},
    at(answer(2, 1, use("a", command="ls")), "2026-03-01T06:00:01.500Z"),
    at(result(3, 2, "a", "oil"), "2026-03-01T07:11:25.500+01:00"),
    at(answer(4, 3), "2026-03-01T06:11:27Z"),
]


def test_a_timeline_has_what_was_said_with_its_times():
    """Notes are left out; times are seconds since the first record, in whatever zone."""
    timeline = line_of(STORY)
    assert shape(timeline) == [
        (1, "prompt", 0),
        (3, "call", 1.5),
        (4, "result", 685.5),
        (5, "assistant", 687),
    ]
    assert timeline.timed
    raw = jsonl(*STORY)
    place = timeline.place(2)
    assert raw[place.start : place.end] == raw.split(b"\n")[3]


def test_long_pauses_are_cut():
    """The pause of 684 seconds is shown as 2, or as what is asked for; the true one is known."""
    timeline = line_of(STORY)
    assert [timeline.time_of(n) for n in range(4)] == [0, 1.5, 3.5, 5]
    assert [timeline.gap(n) for n in range(4)] == [0, 1.5, 684, 1.5]
    assert [timeline.is_cut(n) for n in range(4)] == [False, False, True, False]
    timeline.cut(1)
    assert [timeline.time_of(n) for n in range(4)] == [0, 1, 2, 3]
    timeline.cut(float("inf"))
    assert timeline.time_of(3) == 687


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleeping moves; tells when each record was written."""
    seen = SimpleNamespace(now=100.0, slept=[])

    def sleep(seconds):
        seen.now += seconds
        seen.slept.append(round(seconds, 3))

    monkeypatch.setattr(replay, "time", SimpleNamespace(monotonic=lambda: seen.now, sleep=sleep))
    return seen


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "lamp.jsonl"
    path.write_bytes(jsonl(*STORY))
    return path


def test_replay_prints_at_once_where_no_terminal_is(story, clock, capsysbinary):
    """Every record that says something, who speaks in words, long pauses in words."""
    assert main.run(["replay", str(story)]) == 0
    assert capsysbinary.readouterr().out.decode() == (
        "Replay of lamp.jsonl, Claude Code: 4 records in 11 min 27 s. All at once."
        " Nothing is run.\n\n"
        "[1] 2026-03-01T06:00:00Z\nUser: light the lamp\n\n"
        "[3] 2026-03-01T06:00:01.500Z\nTool call Bash: ls\n\n"
        "… 11 min 24 s without a record …\n\n"
        "[4] 2026-03-01T07:11:25.500+01:00\nTool result of Bash: oil\n\n"
        "[5] 2026-03-01T06:11:27Z\nAssistant: it burns\n\n"
    )
    assert clock.slept == []
