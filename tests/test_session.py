"""A session: what one pass over the records finds out."""

from __future__ import annotations

import pytest

from sesstool.model.session import open_session, path_of
from tests.conftest import (
    SESSION,
    THREAD,
    Memory,
    answer,
    asks,
    event,
    jsonl,
    meta,
    output,
    prompt,
    read,
    runs,
    said,
    says,
    talk,
    tells,
)


def test_what_is_known_of_a_session():
    """Id, folder, version, model and times are told by the records."""
    session = read(jsonl(*talk(3), answer(4, 3, version="2.1.301")))
    assert (session.id, session.cwd, session.model) == (SESSION, "/srv/beacon", "claude-test")
    assert (session.version, session.records) == ("2.1.301", 4)
    assert session.first_time == "2026-03-01T06:00:01.000Z"
    assert session.last_time == "2026-03-01T06:00:04.000Z"
    assert session.messages() == (4, 4)


def test_the_name_of_the_file_tells_the_id():
    """Where the file's name holds an id, it counts, and not the records'."""
    assert read(jsonl(*talk(2)), f"{THREAD}.jsonl").id == THREAD
    assert read(jsonl(*talk(2)), "copy.jsonl").id == SESSION


def test_fragments_have_no_meaning():
    """Records come in file order with their meaning; bytes that are none have None."""
    data = jsonl(*talk(2)) + b"WARN\n" + jsonl(prompt(3, 2))
    session = open_session(Memory(data))
    found = [(r.line, meaning is None) for r, meaning in session.read()]
    assert found == [(1, False), (2, False), (3, True), (4, False)]
    assert session.records == 3
    assert len(session.graph) == 3


COMPACTED = {"type": "compacted", "payload": {"replacement_history": []}}
TURNS = [says("user", "a"), says("assistant", "b"), says("user", "c"), says("assistant", "d")]


@pytest.mark.parametrize(
    ("records", "count"),
    [
        pytest.param(TURNS, 4, id="plain"),
        pytest.param([*TURNS, runs("x"), output("x")], 4, id="calls-are-no-messages"),
        pytest.param([*TURNS, COMPACTED, says("user", "e")], 1, id="compacted"),
        pytest.param(
            [*TURNS, {"type": "compacted", "payload": {"message": "x"}}], 4, id="kept-history"
        ),
        pytest.param([*TURNS, event("thread_rolled_back", num_turns=1)], 2, id="rolled-back"),
        pytest.param([*TURNS, event("thread_rolled_back", num_turns=9)], 4, id="too-far"),
        pytest.param([says("user", "<environment_context>"), *TURNS], 5, id="injected"),
        pytest.param(
            [*TURNS, event("thread_rolled_back", num_turns=2), *TURNS[:2]], 2, id="and-on"
        ),
    ],
)
def test_codex_counts(records, count):
    """A compaction with a history or a rollback takes messages away, nothing else does."""
    assert read(jsonl(meta(), *records)).messages() == (count, count)


def test_chat_counts():
    """People's and models' messages count; results and instructions do not."""
    records = [said("system"), said("user"), asks("a"), tells("a"), said("assistant")]
    assert read(jsonl(*records)).messages() == (3, 3)


def test_a_resume_reaches_one_branch():
    """Of a tree, a resume sends the way to the leaf; the rest is there, and not sent."""
    session = read(jsonl(*talk(4), prompt(5, 2), answer(6, 5)))
    assert session.messages() == (4, 6)
    places = [session.graph.place(row) for row in range(6)]
    assert [session.reaches(r, p) for r, p in enumerate(places)] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]


def test_a_record_is_read_again():
    """The value at a place is the record's, also where its bytes must be mended first."""
    data = jsonl(*talk(2), prompt(3, 2, "lamp")).replace(b'lamp"', b'l\0amp"')
    session = read(data)
    assert session.value(session.graph.place(2)) == prompt(3, 2, "lamp")


def test_names():
    """A finding names the path of a file, or what a pipe is called."""
    assert path_of(Memory(b"", "a/b.jsonl")) == "a/b.jsonl"
    piped = Memory(b"", "standard input")
    piped.path = None
    assert path_of(piped) == "standard input"
