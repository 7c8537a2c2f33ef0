"""Recordings of a terminal: asciicast 2 and 3, as their readers read them."""

import json
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.cli import main
from sesstool.errors import InputError
from sesstool.export import cast
from sesstool.model.session import open_session
from sesstool.replay.timeline import build
from sesstool.text import width
from tests.conftest import Memory, answer, jsonl, prompt, result, said, use, words
from tests.damages import DAMAGES
from tests.seeds import SEEDS
from tests.test_properties import RANDOM, SOUP, damaged, share
from tests.test_replay import FORKED, HOSTILE, STORY, is_harmless

OURS = re.compile(r"\x1b\[(?:0|1|2|1;3[1-6])m")


def recorded(data, name="lamp.jsonl", **more):
    session = open_session(Memory(data, name))
    return "".join(cast.document(session, build(session), **more))


def events(text):
    return [json.loads(line) for line in text.splitlines()[1:]]


def screen(text):
    """All that a recording puts out, without colours."""
    return OURS.sub("", "".join(data for _, code, data in events(text) if code == "o"))


def test_a_recording_tells_the_times_of_the_session():
    """Version 2: seconds from the start, as recorded; the header says how a pause is shown."""
    text = recorded(jsonl(*STORY), typing=False)
    assert json.loads(text.splitlines()[0]) == {
        "version": 2,
        "width": 100,
        "height": 30,
        "title": "Replay of lamp.jsonl, Claude Code: 4 records in 11 min 27 s."
        " As it was recorded, with pauses cut to 2 s. Nothing is run.",
        "idle_time_limit": 2,
    }
    times = {at: data for at, code, data in events(text) if code == "o" and ": " in data}
    assert [*times] == [0, 1.5, 685.5, 687]
    assert times[685.5] == "  Tool result Bash: oil\r\n\r\n"
    # The pause is told before it, for nobody looks at an empty screen for that long.
    told = "  \x1b[2m… 11 min 24 s without a record, shown as 2 s …\x1b[0m\r\n\r\n"
    assert [1.5, "o", told] in events(text)


def test_texts_are_typed():
    """What was said comes in pieces within the time that it has; what tools say at once."""
    long = "light the lamp " * 20
    data = jsonl(prompt(1, None, long), answer(2, 1, use("a")), result(3, 2, "a", long))
    typed = events(recorded(data))
    pieces = [at for at, code, data in typed if code == "o" and 0 < at < 1]
    assert len(pieces) == 14  # 300 characters take 0.75 seconds
    assert max(pieces) == 0.7
    assert screen(recorded(data)) == screen(recorded(data, typing=False))
    assert len(events(recorded(data, typing=False))) == 8
    assert len(typed) == 8 + 14


def test_markers_stand_at_prompts_and_forks():
    """Players jump from one to the next; the name tells the line."""
    marks = [(at, data) for at, code, data in events(recorded(jsonl(*FORKED))) if code == "m"]
    assert marks == [(0, "prompt 1"), (1, "fork 2"), (2, "prompt 3"), (4, "prompt 5")]


def test_speed_and_idle():
    """Times are parted by the speed, and so is the limit; without one there is none."""
    text = recorded(jsonl(*STORY), speed=2, idle=3, typing=False)
    assert json.loads(text.splitlines()[0])["idle_time_limit"] == 1.5
    assert events(text)[-1][0] == 343.5
    assert "with pauses cut to 3 s, 2 times as fast." in screen(text).replace("\r\n ", "")
    text = recorded(jsonl(*STORY), idle=float("inf"))
    assert "idle_time_limit" not in json.loads(text.splitlines()[0])
    assert "without a record …" in screen(text)


def test_a_session_without_times():
    """The length of the texts sets the pace, so that there is no pause to limit."""
    text = recorded(jsonl(said("user", "hello"), said("assistant", "x" * 200), said("user")))
    assert "idle_time_limit" not in text
    assert events(text)[-1][0] == 2.5


def test_the_same_session_gives_the_same_bytes():
    """There is no date in it."""
    data = jsonl(*STORY)
    assert recorded(data) == recorded(data)
    assert "timestamp" not in json.loads(recorded(data).splitlines()[0])


def read_3(text):
    """What a strict reader makes of version 3: the header, and events at absolute times."""
    first, *rest = text.split("\n")
    assert rest.pop() == ""
    header = json.loads(first)
    assert header["version"] == 3
    assert {*header} <= {
        *("version", "term", "timestamp", "idle_time_limit"),
        *("command", "title", "env", "tags"),
    }
    assert {*header["term"]} <= {"cols", "rows", "type", "version", "theme"}
    assert all(type(header["term"][k]) is int and header["term"][k] > 0 for k in ("cols", "rows"))
    assert type(header.get("title", "")) is str
    assert type(header.get("idle_time_limit", 1.0)) in (int, float)
    at, found = 0.0, []
    for line in rest:
        if line.startswith("#"):
            continue
        interval, code, data = json.loads(line)
        assert type(interval) in (int, float)
        assert interval >= 0
        assert code in ("o", "i", "m", "r", "x")
        assert type(data) is str
        at = round(at + interval, 3)
        found.append([at, code, data])
    return header, found


def test_version_3_says_the_same_in_intervals():
    """Each event tells the time since the one before; the last says that the end is reached."""
    data = jsonl(*STORY)
    header, found = read_3(recorded(data, version=3, width=80, height=24))
    assert header["term"] == {"cols": 80, "rows": 24}
    *found, end = found
    assert found == events(recorded(data, width=80, height=24))
    assert end == [found[-1][0], "x", "0"]


@pytest.mark.parametrize("columns", [20, 33, 100])
def test_lines_fit_the_terminal(columns):
    """Also those of wide characters; nothing is lost where a line is broken."""
    text = "灯台 lamp " * 50
    lines = screen(recorded(jsonl(prompt(1, None, text)), width=columns)).split("\r\n")
    assert max(map(width, lines)) <= columns
    assert "".join("".join(lines).split()).endswith("灯台lamp" * 50)


def test_hostile_text_is_harmless():
    """Only our own colours act on a terminal, also from the title."""
    data = jsonl(
        prompt(1, None, HOSTILE.replace("\ud800", ""), timestamp="\x1b[1m"),
        answer(2, 1, use("a", "\x1b]52;c;x\x07"), words("\x9b2J")),
    )
    text = recorded(data, "\x1b[2J.jsonl")
    assert is_safe(text)
    assert "a␛[2Jb<U+009B>1mc<U+202E>d<U+2028>e␀f␇g␍h" in screen(text)


def is_safe(text):
    header, *_ = text.splitlines()
    shown = screen(text).replace("\r\n", "")
    marks = "".join(data for _, code, data in events(text) if code != "o")
    return all(map(is_harmless, (text, json.loads(header)["title"], shown, marks))) and (
        "\n" not in shown
    )


@given(
    rng=RANDOM,
    name=st.sampled_from(sorted(SEEDS)),
    damages=st.lists(st.sampled_from(DAMAGES), max_size=2),
    soup=st.none() | SOUP,
    version=st.sampled_from(cast.VERSIONS),
)
@share(5)
def test_any_bytes_are_recorded(rng, name, damages, soup, version):
    """Nothing is raised but that it is no session; times never go back; the text is harmless."""
    data = damaged(rng, SEEDS[name], damages) if soup is None else soup
    try:
        text = recorded(data, name, version=version, width=40)
    except InputError:
        return
    assert is_safe(text)
    found = read_3(text)[1] if version == 3 else events(text)
    assert [at for at, *_ in found] == sorted(at for at, *_ in found)
    assert max(map(width, screen(text).split("\r\n"))) <= 40


@pytest.mark.skipif(not shutil.which("asciinema"), reason="asciinema is absent: it plays nothing")
@pytest.mark.parametrize("command", [["cat"], ["play", "-s", "1000"]], ids=" ".join)
def test_asciinema_plays_it(tmp_path, command):
    """Version 2, by asciinema itself."""
    path = tmp_path / "lamp.cast"
    text = recorded(jsonl(*STORY))
    path.write_text(text)
    done = subprocess.run(
        ["asciinema", *command, str(path)],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert (
        OURS.sub("", done.stdout.decode())
        .replace("\r\n", "\n")
        .endswith(screen(text).replace("\r\n", "\n"))
    )


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "lamp.jsonl"
    path.write_bytes(jsonl(*STORY))
    return path


def exported(capsysbinary, *arguments):
    code = main.run(["export", "--to", "cast", *map(str, arguments)])
    out, err = capsysbinary.readouterr()
    return code, out.decode(), err.decode()


def test_the_command_writes_a_recording(story, tmp_path, capsysbinary):
    """What the options say, to stdout or to a new file that the owner alone may read."""
    assert exported(capsysbinary, story) == (0, recorded(jsonl(*STORY)), "")
    options = ("--size", "60x20", "--speed", "2", "--idle", "5", "--cast-version", "3")
    target = tmp_path / "lamp.cast"
    assert exported(capsysbinary, story, *options, "--no-typing", "-o", target)[0] == 0
    told = recorded(jsonl(*STORY), version=3, width=60, height=20, speed=2, idle=5, typing=False)
    assert target.read_text() == told
    assert target.stat().st_mode & 0o777 == 0o600
    assert exported(capsysbinary, story, "-o", target)[0] == 6


def test_a_branch_is_recorded(tmp_path, capsysbinary):
    """As `replay --branch` has it."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(*FORKED))
    _, text, _ = exported(capsysbinary, path, "--branch", "4")
    assert "went left" in screen(text)
    assert "went right" not in screen(text)


@pytest.mark.parametrize(
    "options",
    [
        *(["--records", "1:2"], ["--notes"], ["--split", "2", "-o", "x"], ["--speed", "0"]),
        *(["--speed", "nan"], ["--size", "9x9"], ["--size", "100"], ["--cast-version", "1"]),
        *(["--to", "md", "--speed", "2"], ["--to", "html", "--no-typing"]),
    ],
    ids=" ".join,
)
def test_options_of_another_format_are_refused(story, options, capsysbinary):
    """So is a terminal that is none, and a recording that takes no time."""
    assert exported(capsysbinary, story, *options)[:2] == (2, "")


def test_a_recording_is_redacted(tmp_path, capsysbinary):
    """No value is left, with --redact."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(prompt(1, None, "write to mina.quay@kiln.fi"), answer(2, 1)))
    code, text, _ = exported(capsysbinary, path, "--redact", "share")
    assert code == 0
    assert "mina.quay@kiln.fi" in screen(exported(capsysbinary, path)[1])
    assert "kiln.fi" not in text
    assert "it burns" in screen(text)
