"""Replay: the timeline, and what `replay --plain` prints."""

import io
import json
import re
import sys
import threading
from types import SimpleNamespace
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.cli import main, replay
from sesstool.errors import InputError, UsageError
from sesstool.export import replayed
from sesstool.export.plain import Plain
from sesstool.model.passages import Passage, passages
from sesstool.model.session import open_session
from sesstool.replay.timeline import build
from sesstool.text import lasting
from tests.conftest import (
    SHARED,
    Memory,
    answer,
    boundary,
    chat,
    jsonl,
    linked,
    prompt,
    result,
    said,
    speaks,
    talk,
    use,
    words,
)
from tests.conftest import head as pi_head
from tests.damages import DAMAGES
from tests.seeds import SEEDS
from tests.test_properties import RANDOM, SOUP, damaged, real_sessions, share


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


def test_how_far_a_session_is_read_is_told():
    """With each 1024 lines, up to the end of the record there."""
    records, seen = talk(3000), []
    line_of(records, progress=seen.append)
    assert seen == [len(jsonl(*records[:n])) - 1 for n in (1024, 2048)]


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


def times(*told):
    """The recorded seconds of prompts that tell these times."""
    records = [at(prompt(n, n - 1 or None), time) for n, time in enumerate(told, 1)]
    timeline = line_of(records)
    return [timeline.recorded(n) for n in range(len(timeline))]


def test_times_out_of_order_never_go_back():
    """A record that tells an earlier time has that of the one before; the next goes on from it."""
    day = "2026-03-01T06:0"
    assert times(f"{day}0:00Z", f"{day}5:00Z", f"{day}1:00Z", f"{day}6:00Z") == [0, 300, 300, 360]


@pytest.mark.parametrize(
    "odd",
    ["", "soon", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", 7, None],
)
def test_a_time_that_cannot_be_is_that_of_the_record_before(odd):
    """Missing, unreadable, before 2000 or after 2100: the time is carried forward."""
    first, last = "2026-03-01T06:00:00Z", "2026-03-01T06:00:09Z"
    assert times(first, odd, last) == [0, 0, 9]
    assert times(odd, first, last) == [0, 0, 9]


def test_a_clock_that_is_set_back_does_not_stop_the_replay():
    """One time of next year takes nothing from the pauses of what follows."""
    told = times("2026-03-01T06:00:00Z", "2027-03-01T06:00:00Z", *STORY_TIMES)
    assert [late - told[1] for late in told[1:]] == [0, 0, 5, 7]


STORY_TIMES = ("2026-03-01T06:00:10Z", "2026-03-01T06:00:15Z", "2026-03-01T06:00:17Z")


@pytest.mark.parametrize("moved", ["2026-03-01T06:00:00Z", ""])
def test_a_session_without_times_is_paced_by_its_texts(moved):
    """A hundred characters are a second, within bounds; no pause is cut, and none is told."""
    lengths = [100, 10, 300, 9000, 5]
    records = [at(prompt(n + 1, n or None, "x" * size), moved) for n, size in enumerate(lengths)]
    timeline = line_of(records)
    assert not timeline.timed
    assert [timeline.time_of(n) for n in range(5)] == [0, 1, 1.5, 4.5, 9.5]
    assert timeline.duration == 9.5 + 5 / 400
    timeline.cut(0.1)
    assert timeline.time_of(4) == 9.5
    assert not any(timeline.is_cut(n) for n in range(5))


def test_a_chat_without_times_is_replayed_whole():
    """The format openai-chat has no times at all."""
    timeline = line_of([said("system", "be brief"), said("user", "hello"), said("assistant", "hi")])
    assert shape(timeline) == [(1, "system", 0), (2, "prompt", 0), (3, "assistant", 0)]
    assert [timeline.time_of(n) for n in range(3)] == [0, 0.5, 1]


def test_where_a_replay_is_at_a_time():
    """The last record that was shown; of several at one time the last."""
    records = [at(prompt(n, n - 1 or None), f"2026-03-01T06:00:{s}Z") for n, s in SAME]
    timeline = line_of(records)
    assert [timeline.index_at(s) for s in (-5, 0, 0.9, 1, 1.5, 2, 99)] == [0, 0, 0, 2, 2, 3, 3]
    assert line_of([linked(1, None, "system")]).index_at(0) == -1


SAME = [(1, "00"), (2, "01"), (3, "01"), (4, "02")]


def test_a_text_is_typed_in_the_time_that_there_is():
    """Four hundred characters a second, done when the next record comes."""
    records = [
        at(prompt(1, None, "x" * 200), "2026-03-01T06:00:00Z"),
        at(answer(2, 1, words("y" * 2000)), "2026-03-01T06:00:03Z"),
        at(prompt(3, 2, "z" * 4), "2026-03-01T06:00:04Z"),
    ]
    timeline = line_of(records)
    assert [timeline.typing(n) for n in range(3)] == [0.5, 1, 0.01]
    assert timeline.duration == 3.01


def test_markers_stand_at_prompts_and_compactions():
    """A compaction of two records, where it was and what it put in place, is one marker."""
    summary = prompt(6, 5, "so far", isCompactSummary=True)
    records = [*talk(4), boundary(5, 4), summary, prompt(7, 6, "go on"), answer(8, 7)]
    timeline = line_of(records)
    found = [(timeline.place(at).line, names) for at, names in timeline.markers()]
    assert found == [(1, ("prompt",)), (3, ("prompt",)), (5, ("compaction",)), (7, ("prompt",))]
    assert [timeline.marker(n, 1) for n in (-1, 0, 1, 2, 6, 7)] == [0, 2, 2, 4, -1, -1]
    assert [timeline.marker(n, -1) for n in (0, 1, 2, 3, 7)] == [-1, 0, 0, 2, 6]


FORKED = [
    *talk(2),
    prompt(3, 2, "left"),
    answer(4, 3, words("went left")),
    prompt(5, 2, "right"),
    answer(6, 5, words("went right")),
]


def test_a_fork_is_marked_where_branches_part():
    """The marker stands at the last record that both share; the other branch is told apart."""
    timeline = line_of(FORKED)
    assert timeline.names(1) == ("fork",)
    assert [timeline.is_aside(n) for n in range(6)] == [False, False, True, True, False, False]


def test_a_subagent_is_told_by_no_person():
    """What opens it is no prompt, and nothing that one jumps to."""
    sub = prompt(3, None, "look", isSidechain=True, agentId="a1")
    timeline = line_of([*talk(2), sub])
    assert timeline.what(2) == "user"
    assert [marker.at for marker in timeline.markers()] == [0]


def test_what_the_agent_only_shows_is_no_branch():
    """A message that is never sent hangs beside the way, and nothing parts there."""
    aside = prompt(3, 2, "tip", isVisibleInTranscriptOnly=True)
    assert line_of([*talk(2), aside, prompt(4, 2)]).names(1) == ()


def test_a_branch_begins_at_no_time():
    """The first record of what is shown sets the clock, not the first of the file."""
    other = [prompt(n, n - 1 if n > 5 else None) for n in (5, 6)]
    timeline = line_of([*talk(4), *other], "6")
    assert [timeline.recorded(n) for n in range(len(timeline))] == [0, 1]


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("all", [1, 2, 3, 4, 5, 6]),
        ("live", [1, 2, 5, 6]),
        ("4", [1, 2, 3, 4]),
        ("00000000-0000-4000-8000-000000000004", [1, 2, 3, 4]),
        ("3", [1, 2, 3]),
        ("6", [1, 2, 5, 6]),
    ],
)
def test_a_branch_is_chosen(branch, expected):
    """Everything, what a resume reaches, or the way to a record by line or id."""
    timeline = line_of(FORKED, branch)
    assert [timeline.place(n).line for n in range(len(timeline))] == expected


def test_a_branch_of_a_strict_tree_is_chosen():
    """pi: a resume sends the way to the last record."""
    records = [pi_head(), *chat(2), speaks(3, 2, "user", "a"), speaks(4, 2, "user", "b")]
    assert [line_of(records, "live").place(n).line for n in range(3)] == [2, 3, 5]
    assert [line_of(records, "4").place(n).line for n in range(3)] == [2, 3, 4]


def test_what_a_compaction_replaced_is_not_live():
    """`live` is what a resume reaches; the branch of the last record has all of it."""
    records = [*talk(2), boundary(3, 2), prompt(4, 3, "sum", isCompactSummary=True), prompt(5, 4)]
    assert [line_of(records, "live").place(n).line for n in range(3)] == [3, 4, 5]
    assert len(line_of(records, "5")) == 5


def test_a_branch_that_is_none_is_refused():
    """Also in a format that knows none."""
    with pytest.raises(UsageError, match="no record 77"):
        line_of(FORKED, "77")
    with pytest.raises(UsageError, match="no branches"):
        line_of([said("user"), said("assistant")], "1")
    assert len(line_of([said("user"), said("assistant")], "live")) == 2


def test_thoughts_are_shown_where_they_are_asked_for():
    """A record of a thought alone is no record of the replay otherwise."""
    thought = {"type": "thinking", "thinking": "oil?", "signature": "RQ=="}
    records = [prompt(1, None), answer(2, 1, thought), answer(3, 2)]
    assert [what for _, what, _ in shape(line_of(records))] == ["prompt", "assistant"]
    with_it = line_of(records, thinking=True)
    assert [what for _, what, _ in shape(with_it)] == ["prompt", "thinking", "assistant"]


def test_damage_is_shown_and_blank_lines_are_not():
    """What is no record is told; nothing is skipped in silence."""
    timeline = line_of([prompt(1, None), b"  ", b"%%EOF", answer(2, 1)])
    assert shape(timeline)[1][:2] == (3, "damage")
    assert len(timeline) == 3


def test_a_timeline_takes_forty_bytes_a_record():
    """Whatever the records say."""
    timeline = line_of(talk(1000))
    columns = [column for column in vars(timeline).values() if hasattr(column, "__len__")]
    assert sum(len(c) * getattr(c, "itemsize", 1) for c in columns) <= 41 * 1000 + 2 * 1000
    each = [c for c in columns if len(c) == 1000]
    assert sum(getattr(c, "itemsize", 1) for c in each) == 39


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.25, "0.2 s"),
        (2, "2 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (684, "11 min 24 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (7500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
        (10**8, "1,157 d 9 h"),
    ],
)
def test_a_time_span_in_words(seconds, said):
    """Two units at most, the larger first."""
    assert lasting(seconds) == said


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is absent: no real sessions")
def test_every_format_of_the_samples_and_the_corpus_is_replayed():
    """What is shown is what passages tell; times never go back, in the session or the replay."""
    formats = set()
    for name, data in real_sessions().items():
        session = open_session(Memory(data, name))
        timeline = build(session)
        formats.add(session.format.name)
        again = open_session(Memory(data, name))
        expected = [
            record.start
            for record, meaning in again.read()
            if meaning and any(tells(p) for p in passages(record.value, meaning))
        ]
        kept = [n for n in range(len(timeline)) if timeline.what(n) != "damage"]
        assert [timeline.place(n).start for n in kept] == expected
        for n in range(1, len(timeline)):
            assert timeline.gap(n) >= 0
            assert 0 <= timeline.time_of(n) - timeline.time_of(n - 1) <= 5
        prompts = [m.at for m in timeline.markers() if "prompt" in m.names]
        assert all(timeline.what(n) == "prompt" for n in prompts)
    assert formats >= {"claude-code", "codex", "pi", "openai-chat"}


def tells(passage):
    return passage.kind not in ("note", "thinking")


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
        "[4] 2026-03-01T07:11:25.500+01:00\nTool result Bash: oil\n\n"
        "[5] 2026-03-01T06:11:27Z\nAssistant: it burns\n\n"
    )
    assert clock.slept == []


def run(capsysbinary, *arguments):
    code = main.run(["replay", *map(str, arguments)])
    out, err = capsysbinary.readouterr()
    return code, out.decode(), err.decode()


def test_replay_keeps_time(story, clock, capsysbinary):
    """Each record comes when it is due, at the speed asked for."""
    code, out, _ = run(capsysbinary, story, "--plain", "--speed", "2")
    assert code == 0
    assert clock.slept == [0.75, 1, 0.75]
    assert "with pauses cut to 2 s, 2 times as fast. Nothing is run." in out
    assert "… 11 min 24 s without a record, shown as 2 s …" in out


def test_pauses_are_left_with_idle_inf(story, clock, capsysbinary):
    """They are told nevertheless."""
    _, out, _ = run(capsysbinary, story, "--speed", "1", "--idle", "inf")
    assert clock.slept == [1.5, 684, 1.5]
    assert ". As it was recorded. Nothing" in out
    assert "… 11 min 24 s without a record …" in out


def test_a_session_without_times_says_so(tmp_path, clock, capsysbinary):
    """The heading tells what sets the pace."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(jsonl(said("user", "hello"), said("assistant", "hi")))
    _, out, _ = run(capsysbinary, path, "--speed", "1")
    assert "No record tells a time: the length of the texts sets the pace." in out
    assert clock.slept == [0.5]


def test_replay_begins_at_a_line(story, clock, capsysbinary):
    """The clock begins there too, and the pause before it is none."""
    _, out, _ = run(capsysbinary, story, "--speed", "1", "--from", "4")
    assert re.findall(r"^\[(\d+)\]", out, re.MULTILINE) == ["4", "5"]
    assert clock.slept == [1.5]
    assert "without a record" not in out
    code, _, err = run(capsysbinary, story, "--from", "6")
    assert code == 2
    assert "the last record is at line 5" in err


@pytest.mark.parametrize("speed", ["inf", "1e-300", "5e-324", "1001", "0.0009"])
@pytest.mark.parametrize(
    "command", [["replay", "--plain"], ["export", "--to", "cast"]], ids=" ".join
)
def test_a_speed_that_no_clock_keeps_is_refused(story, command, speed, capsys):
    """What would take longer than clocks count, or no time."""
    assert main.run([*command, "--speed", speed, str(story)]) == 2
    assert "not from 0.001 to 1000" in capsys.readouterr().err


def test_a_pause_of_decades_is_slept_as_long_as_can_be(tmp_path, clock, capsysbinary):
    """Where nothing is cut and the replay is slow."""
    path = tmp_path / "talk.jsonl"
    late = prompt(2, 1, "late", timestamp="2099-03-01T06:00:00Z")
    path.write_bytes(jsonl(prompt(1, None), late))
    options = ("--speed", "0.001", "--idle", "inf")
    assert run(capsysbinary, path, *options)[0] == 0
    assert clock.slept == [threading.TIMEOUT_MAX]


@pytest.mark.parametrize("option", ["--speed", "--idle"])
@pytest.mark.parametrize("value", ["nan", "-1"])
def test_a_pace_that_is_none_is_refused(story, option, value, capsysbinary):
    """Not a number compares with nothing."""
    assert run(capsysbinary, story, option, value)[0] == 2


@pytest.mark.usefixtures("clock")
def test_ctrl_c_ends_a_replay_and_tells_how_to_go_on(story, capsysbinary, monkeypatch):
    """Whole records were printed, and the next is named."""

    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(replay.time, "sleep", stopped)
    code, out, err = run(capsysbinary, story, "--speed", "1")
    assert code == 130
    assert out.endswith("User: light the lamp\n\n")
    assert err == "sesstool: interrupted; --from 3 goes on here\n"


@pytest.mark.usefixtures("clock")
def test_each_record_is_flushed(story, monkeypatch):
    """What was printed reaches the reader before the pause behind it."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(raw, 1 << 20)))
    seen = []
    monkeypatch.setattr(replay.time, "sleep", lambda _: seen.append(raw.getvalue().count(b"\n[")))
    assert main.run(["replay", "--speed", "1", str(story)]) == 0
    assert seen == [1, 2, 3]


def test_a_file_gets_all_at_once(story, tmp_path, clock, capsysbinary):
    """-o writes a new file, and never another's."""
    target = tmp_path / "told.txt"
    code, out, _ = run(capsysbinary, story, "--speed", "1", "-o", target)
    assert (code, out, clock.slept) == (0, "", [])
    assert "All at once." in target.read_text()
    assert target.read_text().endswith("Assistant: it burns\n\n")
    assert run(capsysbinary, story, "-o", target)[0] == 6
    code, _, err = run(capsysbinary, story, "-o", target / "x" / "y")
    assert (code, "hint: mkdir -p" in err) == (6, True)


def test_the_player_needs_a_terminal_with_keys(story, capsysbinary, monkeypatch):
    """Where stdin is none the hint names what there is; --speed 0 prints by itself."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    code, _, err = run(capsysbinary, story)
    assert code == 2
    assert "hint: add --plain" in err
    code, out, _ = run(capsysbinary, story, "--speed", "0")
    assert (code, "All at once." in out) == (0, True)


def test_branches_subagents_and_damage_are_said(tmp_path, capsysbinary):
    """What stands beside a record's time: where it belongs."""
    path = tmp_path / "talk.jsonl"
    sub = prompt(7, None, "look", isSidechain=True, agentId="a1")
    path.write_bytes(jsonl(*FORKED, sub, b"%%EOF"))
    _, out, _ = run(capsysbinary, path)
    assert "[2] 2026-03-01T06:00:02.000Z, branches part here\nAssistant: it burns\n" in out
    assert "[4] 2026-03-01T06:00:04.000Z, other branch\nAssistant: went left\n" in out
    assert "[7] 2026-03-01T06:00:07.000Z, subagent a1\nUser: look\n" in out
    assert out.endswith("[8]\n5 bytes that are no record\n\n")


def test_long_texts_are_cut_and_say_so(tmp_path, capsysbinary):
    """After forty lines or four thousand characters, unless all is asked for."""
    path = tmp_path / "talk.jsonl"
    many, long = "\n".join(map(str, range(100))), "x" * 5_000_000
    path.write_bytes(jsonl(prompt(1, None, many), answer(2, 1, words(long))))
    _, out, _ = run(capsysbinary, path)
    assert "\n39\n… 180 more characters\n\n" in out
    assert f"Assistant: {'x' * 4000}\n… 4,996,000 more characters\n\n" in out
    _, out, _ = run(capsysbinary, path, "--whole")
    assert f"Assistant: {long}\n" in out
    assert "more characters" not in out


def test_blanks_are_as_people_know_them():
    """A tab is some, and the line end of Windows is none."""
    said = Passage("message", "user", "a\tb\r\nc\r\n\n")
    assert [*Plain().lines([said], line=7)] == ["[7]\n", "User: a   b\n", "c\n", "\n"]


def test_a_result_names_the_tool_of_its_call():
    """Each result, of the last thousands of calls; a failed one says so."""
    plain = Plain()
    for n in (1, *range(1 << 14), 1):
        [*plain.lines([Passage("call", f"tool {n}", "", f"c{n}")], line=1)]
    told = [
        [*plain.lines([Passage("result", "", "ok", name, error=name == "c3")], line=1)][1]
        for name in ("c0", "c1", "c1", "c3")
    ]
    assert told == [
        *("Tool result tool 0: ok\n", "Tool result tool 1: ok\n", "Tool result tool 1: ok\n"),
        "Tool result tool 3 (failed): ok\n",
    ]
    [*plain.lines([Passage("call", "tool", "", "one more")], line=1)]
    (_, first, _) = plain.lines([Passage("result", "", "ok", "c0")], line=1)
    assert first == "Tool result: ok\n"


HOSTILE = "a\x1b[2Jb\x9b1mc\u202ed\u2028e\x00f\x07g\rh\ti\ud800j"


def test_hostile_text_is_harmless(tmp_path, capsysbinary):
    """Nothing but line ends acts on a terminal, wherever the text stands."""
    path = tmp_path / f"x{chr(27)}[2J.jsonl"
    deep: dict = {}
    for _ in range(300):
        deep = {"a": deep}
    records = [
        prompt(1, None, HOSTILE, timestamp="\x1b[1m", isSidechain=True, agentId=HOSTILE),
        answer(2, 1, use("i" + HOSTILE, HOSTILE, **{HOSTILE: HOSTILE, "deep": deep})),
        result(3, 2, "i" + HOSTILE, HOSTILE),
        prompt(4, 3, [{"type": "image", "source": {"media_type": HOSTILE, "data": HOSTILE}}]),
        linked(5, 4, HOSTILE, message={"role": HOSTILE, "content": HOSTILE}),
    ]
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    code, out, err = run(capsysbinary, path, "--format", "claude-code", "--whole")
    assert code == 0
    assert is_harmless(out)
    assert is_harmless(err)
    assert "a␛[2Jb<U+009B>1mc<U+202E>d<U+2028>e␀f␇g␍h   i�j" in out


def is_harmless(text):
    return all(c == "\n" or c.isprintable() or category(c) == "Zs" for c in text)


@given(
    rng=RANDOM,
    name=st.sampled_from(sorted(SEEDS)),
    damages=st.lists(st.sampled_from(DAMAGES), max_size=2),
    soup=st.none() | SOUP,
)
@share(5)
def test_any_bytes_are_replayed(rng, name, damages, soup):
    """Nothing is raised but that it is no session; records are in order; the text is harmless."""
    data = damaged(rng, SEEDS[name], damages) if soup is None else soup
    try:
        session = open_session(Memory(data, name))
    except InputError:
        return
    timeline = build(session)
    starts = [timeline.place(n).start for n in range(len(timeline))]
    assert starts == sorted(starts)
    told = [replayed.heading(session, timeline, 1)]
    told += [text for _, text in replayed.lines(session, timeline, 0, 1)]
    assert len(told) == len(timeline) + 1
    assert all(map(is_harmless, told))
    assert "".join(told).encode()
