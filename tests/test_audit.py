"""The audit log: what it holds, and that tampering shows."""

import hashlib
import json
import os
import stat
from itertools import pairwise
from multiprocessing import get_context

import pytest

from sesstool import __version__
from sesstool.audit import log
from sesstool.errors import WriteError


def change(path="/s/a.jsonl", **more):
    return log.Change("repair", path, "aa", "bb", **more)


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def lines(state):
    """A log of four lines."""
    for number in range(4):
        log.append(state, change(f"/s/{number}.jsonl"))
    return (state / log.NAME).read_bytes().splitlines(keepends=True)


def test_a_line_says_who_did_what_to_which_bytes(state):
    """All that an auditor asks for, and the rule codes once each."""
    log.append(state, change(findings=("T401", "B104", "T401"), undo="0badcafe"))
    (line,) = log.read(state)
    assert line["actor"]["uid"] == os.getuid()
    assert (line["seq"], line["version"], line["action"]) == (1, __version__, "repair")
    assert (line["path"], line["before"], line["after"]) == ("/s/a.jsonl", "aa", "bb")
    assert (line["findings"], line["undo"], line["prev"]) == (["B104", "T401"], "0badcafe", "")
    assert line["time"].endswith("+00:00")
    assert set(line) >= {"host", "actor"}


def test_each_line_holds_the_hash_of_the_line_before(state, lines):
    """The chain is what anybody can compute from the bytes."""
    for before, line in pairwise(lines):
        assert json.loads(line)["prev"] == hashlib.sha256(before.rstrip(b"\n")).hexdigest()
    assert [line["seq"] for line in log.read(state)] == [1, 2, 3, 4]
    assert log.verify(state) == []


def test_the_log_is_private(state):
    """Paths are nobody else's business."""
    log.append(state, change())
    assert stat.S_IMODE((state / log.NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_no_log_is_a_whole_log(state):
    """Nothing was written, so nothing is missing."""
    assert log.verify(state) == []
    assert list(log.read(state)) == []


def test_a_changed_line_shows(state, lines):
    """The line after it no longer continues it."""
    lines[1] = lines[1].replace(b"/s/1", b"/s/9")
    (state / log.NAME).write_bytes(b"".join(lines))
    assert log.verify(state) == ["line 3 does not continue the line before it"]


def test_a_removed_line_shows(state, lines):
    """It leaves a gap in the numbers and in the chain."""
    del lines[2]
    (state / log.NAME).write_bytes(b"".join(lines))
    assert log.verify(state) == [
        "line 3 does not continue the line before it",
        "line 3 has number 4, not 3",
    ]


def test_a_removed_beginning_shows(state, lines):
    """The first line continues nothing, and has number 1."""
    (state / log.NAME).write_bytes(b"".join(lines[1:]))
    assert "line 1 does not continue the line before it" in log.verify(state)
    assert "line 1 has number 2, not 1" in log.verify(state)


def test_swapped_lines_show(state, lines):
    """Order is part of the chain."""
    lines[1], lines[2] = lines[2], lines[1]
    (state / log.NAME).write_bytes(b"".join(lines))
    assert "line 2 has number 3, not 2" in log.verify(state)


@pytest.mark.parametrize("torn", [b"", b"\0" * 20, b"\0" * 19 + b"\n"], ids=["cut", "nul", "hole"])
def test_a_torn_last_line_shows_until_the_next_one_comes(state, lines, torn):
    """Nobody was told of a line that a power cut tore, so the next one takes its place."""
    path = state / log.NAME
    path.write_bytes(b"".join(lines)[:-20] + torn)
    (problem,) = log.verify(state)
    assert problem.startswith("line 4 is ")
    log.append(state, change("/s/new.jsonl"))
    assert log.verify(state) == []
    assert [line["seq"] for line in log.read(state)] == [1, 2, 3, 4]
    assert [line["path"] for line in log.read(state)][-1] == "/s/new.jsonl"


@pytest.mark.parametrize("line", [b"[]\n", b'{"seq":"1"}\n', b"\xff\n", b"\n"])
def test_a_line_that_is_none_of_ours_shows(state, lines, line):
    """Whatever stands there, it is named and does not stop the check."""
    (state / log.NAME).write_bytes(b"".join([*lines, line]))
    assert log.verify(state) == ["line 5 is damaged"]


def test_a_long_log_goes_on_where_it_ended(state, monkeypatch):
    """Only the end is read, and that is enough."""
    monkeypatch.setattr(log, "_TAIL", 2000)
    for number in range(20):
        log.append(state, change(f"/s/{number}.jsonl"))
    assert log.verify(state) == []
    assert [line["seq"] for line in log.read(state)] == list(range(1, 21))


def _append_some(state):
    for _ in range(10):
        log.append(state, change())


def test_processes_take_turns(state):
    """Two at once give one chain."""
    context = get_context("spawn")
    workers = [context.Process(target=_append_some, args=(state,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert log.verify(state) == []
    assert len(list(log.read(state))) == 20


def test_a_line_that_does_not_fit_leaves_nothing(state, lines, monkeypatch):
    """A short write is cut back, and said."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
    with pytest.raises(WriteError, match="cannot add to the audit log"):
        log.append(state, change())
    assert (state / log.NAME).read_bytes() == b"".join(lines)
