"""The index of sessions that Claude Code keeps: read as leniently as agents do, and never lost."""

from __future__ import annotations

import json
import os

import pytest

from sesstool.cli.main import run
from tests.retained import MTIME, OLD, Home

CLAUDE = OLD.format(0)
ROW = b'{"sessionId":"%s","n":1}' % CLAUDE.encode()
OTHER = b'{"sessionId":"x","n":2}'


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    return Home(tmp_path / "root", 1)


@pytest.fixture
def index(world):
    return next(world.home.rglob("sessions-index.json"))


def put(index, data):
    index.write_bytes(data)
    os.utime(index, ns=(MTIME, MTIME))


LENIENT = {
    "half of a pair": b'{"a":"\\ud800","entries":[%s,%s]}',
    "such bytes": b'{"a":"\xed\xa0\x80","entries":[%s,%s]}',
    "no number": b'{"a":NaN,"entries":[%s,%s]}',
    "a large number": b'{"a":1e999,"b":-1e999,"entries":[%s,%s]}',
    "a byte order mark": b'\xef\xbb\xbf{"entries":[%s,%s]}',
    "two lists": b'{"entries":[%s],"entries":[%s]}',
    "in lines": b'{\r\n "entries" : [\r\n  %s ,\r\n  %s\r\n ] }\r\n',
}


@pytest.mark.parametrize("name", LENIENT)
@pytest.mark.parametrize("first", [True, False])
def test_an_index_that_is_not_strict_is_changed_and_comes_back(world, index, name, first):
    """Byte for byte, with its time; what stands in a list that nobody reads is let alone."""
    data = LENIENT[name] % ((ROW, OTHER) if first else (OTHER, ROW))
    put(index, data)
    assert world.run("trash") == 0
    expected = data
    if name != "two lists" or not first:
        assert index.read_bytes() != data
        assert ROW not in index.read_bytes()
        expected = index.read_bytes()
    assert index.read_bytes() == expected
    assert world.run("restore") == 0
    assert (index.read_bytes(), index.stat().st_mtime_ns) == (data, MTIME)


UNREADABLE = {
    "empty": b"",
    "no JSON": b"entries",
    "torn": b'{"entries":[' + ROW,
    "no UTF-8": b'{"entries":[{"sessionId":"\xff"},' + ROW + b"]}",
    "too deep": b"[" * 99999,
    "a very large number": b'{"a":' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("name", [*UNREADABLE, "a pipe", "a folder"])
def test_an_index_that_cannot_be_read_stays_and_is_told(world, index, name, capsys):
    """The session goes all the same, and comes back."""
    if name in UNREADABLE:
        put(index, UNREADABLE[name])
    else:
        index.unlink()
        os.mkfifo(index) if name == "a pipe" else index.mkdir()
    assert world.run("trash") == 0
    assert not list(world.home.rglob(f"{CLAUDE}.jsonl"))
    assert f"its index cannot be read: {index}" in capsys.readouterr().err
    assert world.run("restore") == 0
    assert list(world.home.rglob(f"{CLAUDE}.jsonl"))
    if name in UNREADABLE:
        assert index.read_bytes() == UNREADABLE[name]


@pytest.mark.parametrize("rows", ["RR", "RRR", "ROR", "ORORO", "RROO", "OORR"])
def test_all_entries_of_a_session_go_and_come_back(world, index, rows):
    """An agent that was killed may have listed it twice."""
    data = b'{"entries": [%s]}' % b" , ".join({"R": ROW, "O": OTHER}[one] for one in rows)
    put(index, data)
    assert world.run("trash") == 0
    assert json.loads(index.read_bytes()) == {"entries": [json.loads(OTHER)] * rows.count("O")}
    assert world.run("restore") == 0
    assert (index.read_bytes(), index.stat().st_mtime_ns) == (data, MTIME)


@pytest.mark.parametrize("now", [b'{"entries":"abc"}', b'{"entries":null}', b"[]", b"{}", b""])
def test_an_index_that_is_another_by_now_keeps_no_session_in_the_trash(world, index, now):
    """Nor is anything put into what is no list."""
    assert world.run("trash") == 0
    put(index, now)
    assert world.run("restore") == 0
    assert index.read_bytes() == now
    assert list(world.home.rglob(f"{CLAUDE}.jsonl"))


def test_a_preview_does_not_wait_for_a_pipe(world, index, capsys):
    """In the place of the index, or of the agent's notes of what runs."""
    index.unlink()
    os.mkfifo(index)
    (world.home / ".claude/sessions").mkdir()
    os.mkfifo(world.home / ".claude/sessions/1.json")
    rules = ["--policy", str(world.root / "trash.toml"), "--trust-clock"]
    assert run(["prune", *rules, str(world.home)]) == 1
    assert "next: sesstool prune --write" in capsys.readouterr().err
