"""Processes that are killed while they write a session: what `append` returned for is there.

SESSTOOL_KILLS says how many are killed at random moments, 100 by default.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import time
from collections import Counter

import pytest

from sesstool import SessionStore
from sesstool.records import undo
from sesstool.records.undo import state_folder
from tests.faults import at_call, forked, kill

FORMS = ("openai-chat", "astorlm", "mycodeagent")
POLICIES = ("record", "turn", "interval", "never")
KILLS = int(os.environ.get("SESSTOOL_KILLS", "100"))
OPENED, CLOSING, NUMBER = -1, -2, struct.Struct("<q")
# A session is followed through so many kills: it is read back at each of them.
FOLLOWED = 15


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "sessions"


def numbered(n, size=0):
    """A message that tells its number, with so many characters more."""
    return {"role": "assistant" if n % 2 else "user", "content": f"{n} {'x' * size}"}


def number(line):
    """The number of the message in a record of any of the formats."""
    value = json.loads(line)
    content = value.get("payload", value)["content"]
    return int((content if type(content) is str else content[0]["text"]).split()[0])


def records(path):
    """The whole records of a file, and what is behind them."""
    *whole, rest = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return whole, rest


def write_forever(store, told, rng):
    """Open, append some messages and close, over and over; tell each step behind it."""

    def tell(value):
        os.write(told, NUMBER.pack(value))

    # A kill takes nothing away that was written: what is synced matters for the moments alone.
    os.fsync = os.fstat
    if rng.random() < 0.5:
        os.fdatasync = os.fstat
    while True:
        with store.open("harbour") as session:
            tell(OPENED)
            for n in range(len(session), len(session) + rng.randrange(12)):
                session.append(numbered(n, rng.choice((0, 0, 0, 0, 0, 50, 9000, 200_000))))
                tell(n)
            tell(CLOSING)


def killed(store, rng):
    """Kill such a process at a random moment; what it told until then."""
    told, tell = os.pipe()
    draw = random.Random(rng.random())
    if (pid := os.fork()) == 0:
        try:
            os.close(told)
            write_forever(store, tell, draw)
        finally:
            os._exit(1)
    os.close(tell)
    steps = [os.read(told, NUMBER.size) for _ in range(rng.randrange(15))]
    end = time.perf_counter() + rng.random() * rng.choice((0, 1e-4, 1e-3, 1e-2))
    while time.perf_counter() < end:
        pass
    os.kill(pid, signal.SIGKILL)
    with os.fdopen(told, "rb") as pipe:
        steps.append(pipe.read())
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status), "the process failed before it was killed"
    return [value for (value,) in NUMBER.iter_unpack(b"".join(steps))]


def kept():
    """What is in lost+found, in the order of its bytes."""
    return sorted(path.read_bytes() for path in state_folder().rglob("cut.bin"))


def settled(store, count, torn):
    """The next open has all the records, without a torn tail, which is kept."""
    with store.open("harbour") as session:
        assert len(session) == count
        session.append(numbered(count))
        assert [number(line) for line in records(session.path)[0]] == list(range(count + 1))
    assert kept() == sorted(torn)
    assert not any(entry.unfinished for entry in undo.entries(state_folder()))
    left = {path.name for path in store.folder.iterdir()}
    assert left - {"harbour.meta.json"} == {session.path.name}


@pytest.mark.parametrize("form", FORMS)
def test_what_append_returned_for_is_there_after_a_kill(folder, form):
    """At any moment, by any policy: in order, without a gap, with one torn tail at most.

    The next open cuts and keeps that, and takes over the lock.
    """
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    torn, moments, count = [], Counter(), 0
    store = SessionStore(folder / "0", form)
    for number_ in range(-(-KILLS // len(FORMS))):
        if number_ % FOLLOWED == FOLLOWED - 1:
            settled(store, count, torn)
            store, count = SessionStore(folder / str(number_), form), 0
        store = SessionStore(store.folder, form, durability=rng.choice(POLICIES))
        path = store.path("harbour")
        if count and rng.random() < 0.4 and not records(path)[1]:
            torn.append(f'{{"role":"user","content":"torn {number_}'.encode())
            with path.open("ab") as file:
                file.write(torn[-1])
        steps = killed(store, rng)
        whole, rest = records(path)
        assert [number(line) for line in whole] == list(range(len(whole))), seed
        count = max(count, *(n + 1 for n in steps), 0)
        assert count <= len(whole) <= count + 1, seed
        count = len(whole)
        if rest and rest != (torn or [b""])[-1]:
            torn.append(rest)
            moments["in a write"] += 1
        moment = {OPENED: "behind open", CLOSING: "in close"}
        moments[moment.get(steps[-1], "in append") if steps else "in open"] += 1
    settled(store, count, torn)
    print(f"seed {seed}: {dict(moments)}, {len(torn)} torn tails")  # noqa: T201 - with -s


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("policy", ["record", "interval"])
def test_a_kill_at_each_call_that_changes_a_file(scratch, form, begun, policy):
    """In a new session, and in one with a torn tail: in open, append and close.

    A write is killed in its middle.
    """

    def run():
        with store.open("harbour") as session:
            for n in range(len(session), len(session) + 3):
                session.append(numbered(n))
                print(n, flush=True)  # noqa: T201
        return 0

    torn, code, in_writes = [], None, 0
    for step in range(1, 200):
        store = SessionStore(scratch / str(step), form, durability=policy)
        path = store.path("harbour")
        planted = f'{{"role":"user","content":"torn {step}'.encode()
        if begun:
            run()
            with path.open("ab") as file:
                file.write(planted)
            torn.append(planted)
        before = len(records(path)[0])
        code, told = forked(run, at_call(step, kill))
        whole, rest = records(path)
        count = max(before, *(int(n) + 1 for n in told.split()), 0)
        assert count <= len(whole) <= count + 1
        if rest and rest != planted:
            torn.append(rest)
            in_writes += 1
        settled(store, len(whole), torn)
        if code is not None:
            break
    assert code == 0
    assert in_writes == 3
    assert step > (40 if begun else 10)
