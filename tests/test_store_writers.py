"""Several processes that want to write: one a session, whoever is killed meanwhile.

SESSTOOL_KILLS says how many of those that compete for one are killed, 100 by default.
"""

from __future__ import annotations

import mmap
import os
import random
import re
import signal
import struct

import pytest

from sesstool import SessionStore
from sesstool.errors import LiveSessionError
from sesstool.records import lock
from sesstool.records.lock import WriterLock, lock_path
from tests.faults import _end, _start, together
from tests.test_store_kill import KILLS, number, numbered, records

WRITERS = 4
# A session stays short, for each turn reads it: so many are killed at it.
SHORT = 5
TOLD = struct.Struct("<qq")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    # None of these loses power.
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setattr(os, "fdatasync", os.fstat)
    return tmp_path / "sessions"


def test_of_four_processes_one_writes_and_three_are_told_who(folder):
    """By number and program, as long as it writes."""
    store = SessionStore(folder, durability="record")
    wait, stop = os.pipe()
    refused, refuse = os.pipe()

    def write():
        try:
            with store.open("harbour") as session:
                for n in range(300):
                    session.append(numbered(n))
                os.read(wait, 1)
            print(f"wrote {os.getpid()}")  # noqa: T201
        except LiveSessionError as error:
            os.write(refuse, b"x")
            print(error, error.hint)  # noqa: T201
        return 0

    processes = [_start(write, lambda: os.close(stop)) for _ in range(WRITERS)]
    told = b""
    while len(told) < WRITERS - 1:
        told += os.read(refused, 1)
    os.close(stop)
    ends = [_end(*process) for process in processes]
    assert [code for code, _ in ends] == [0] * WRITERS
    said = sorted(words for _, words in ends)
    [pid] = re.findall(r"^wrote (\d+)", "".join(said), re.MULTILINE)
    lock = WriterLock(folder / "another")
    program = lock.place.read_text().partition('"program": "')[2]
    lock.release()
    for words in [one for one in said if not one.startswith("wrote")]:
        assert f"harbour.jsonl is in use: process {pid} ({program.partition(chr(34))[0]})" in words
        assert "work on a fork" in words
    whole, rest = records(store.path("harbour"))
    assert [number(line) for line in whole] == list(range(300))
    assert rest == b""
    assert not lock_path(store.path("harbour")).exists()


@pytest.mark.parametrize("form", ["openai-chat", "astorlm", "mycodeagent"])
def test_four_processes_in_one_folder_write_a_session_each(folder, form):
    """No line is spliced, none is in another session."""
    store = SessionStore(folder, form, durability="turn")
    folder.mkdir()
    names = [f"s{n}" for n in range(WRITERS)]

    def write():
        for name in names:  # whichever is free
            try:
                session = store.open(name)
            except LiveSessionError:
                continue
            if len(session):
                session.close()
                continue
            with session:
                for n in range(150):
                    message = numbered(n, 10 ** (n % 6))
                    session.append({**message, "content": f"{message['content']} {name}"})
            return 0
        return 1

    ends = together(write, WRITERS)
    assert [code for code, _ in ends] == [0] * WRITERS, ends
    for name in names:
        whole, rest = records(store.path(name))
        assert rest == b""
        assert [number(line) for line in whole] == list(range(150))
        assert all(f" {name}".encode() in line for line in whole)


def test_there_are_never_two_holders(folder):
    """In thousands of turns of four processes, of which one is killed again and again.

    Each turn appends the next number, and looks whether it is alone all the time.
    """
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    store = SessionStore(folder, durability="never")
    sessions = KILLS // SHORT + 1
    # Which session is everybody's, and who has each of them.
    shared = memoryview(mmap.mmap(-1, 8 * (1 + sessions))).cast("q")
    told, tell = os.pipe()

    def turns():
        lock._PAUSE = 0
        os.close(told)
        while True:
            name = shared[0]
            try:
                session = store.open(str(name))
            except LiveSessionError:
                os.sched_yield()
                continue
            with session:
                shared[1 + name] = os.getpid()
                n = len(session)
                session.append(numbered(n))
                if shared[1 + name] != os.getpid() or not lock_path(session.path).exists():
                    return 1
            os.write(tell, TOLD.pack(name, n))

    processes = [_start(turns, lambda: None) for _ in range(WRITERS)]
    done = []
    for kill in range(KILLS):
        shared[0] = kill // SHORT
        done += [os.read(told, TOLD.size) for _ in range(rng.randrange(40))]
        pid, read = processes.pop(rng.randrange(WRITERS))
        os.kill(pid, signal.SIGKILL)
        assert _end(pid, read) == (None, ""), seed
        processes.append(_start(turns, lambda: None))
    os.close(tell)
    for pid, read in processes:
        os.kill(pid, signal.SIGKILL)
        assert _end(pid, read) == (None, ""), seed
    with os.fdopen(told, "rb") as pipe:
        done.append(pipe.read())
    turned = list(TOLD.iter_unpack(b"".join(done)))
    assert len(set(turned)) == len(turned), seed
    count = 0
    for one in store.list():
        whole, rest = records(one.path)
        assert [number(line) for line in whole] == list(range(len(whole))), seed
        assert rest == b""
        assert {n for name, n in turned if str(name) == one.id} <= set(range(len(whole)))
        count += len(whole)
        with store.open(one.id) as session:
            assert len(session) == len(whole)
    # A turn that was killed behind its append is there, and was not told of.
    assert len(turned) <= count <= len(turned) + KILLS + WRITERS, seed
    print(f"seed {seed}: {len(turned)} turns, {KILLS} kills")  # noqa: T201 - with -s
