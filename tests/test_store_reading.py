"""What is held of a session while it is read is what is read again where it is too much."""

from __future__ import annotations

import os
import random
import shutil

import pytest

from sesstool import SessionStore
from sesstool.errors import InputError
from sesstool.records.undo import state_folder
from sesstool.store import reading
from sesstool.store.facts import Checkpoint, Said
from sesstool.store.mycodeagent import MyCodeAgentCodec
from tests.test_store import ASK, SAY, TALKS


@pytest.mark.parametrize("most", [0, 700, 1 << 26])
def test_the_messages_of_a_resume_do_not_depend_on_how_they_were_held(tmp_path, monkeypatch, most):
    """With checkpoints that keep anything, also more than an earlier one."""
    monkeypatch.setattr(reading, "_MOST", most)
    held = 0
    for seed in range(60):
        rng = random.Random(seed)
        store = SessionStore(tmp_path / str(most), "mycodeagent", durability="never")
        with store.open(str(seed)) as session:
            for n in range(rng.randrange(25)):
                session.record(Said(dict(rng.choice(TALKS["mycodeagent"]), name=f"{n}")))
                if rng.random() < 0.2:
                    count = session.history.count
                    session.record(Checkpoint("so far", rng.randrange(count + 2), count))
            if not session.path.exists():
                continue
        with reading.opened(session.path) as source:
            history, found = reading.resumed(source, MyCodeAgentCodec(str(seed)))
            held += isinstance(found, list)
            again = reading.messages(source, history.codec, history.view)
            assert list(found) == list(again), seed
    assert {0: held == 0, 700: 0 < held < 60, 1 << 26: held > 30}[most]


@pytest.mark.parametrize("most", [0, 1 << 26])
def test_a_record_whose_newline_is_nul_is_resumed_before_it_is_cut(tmp_path, monkeypatch, most):
    """And only the NULs are cut, when the session is opened."""
    monkeypatch.setattr(reading, "_MOST", most)
    store = SessionStore(tmp_path)
    with store.open("harbour") as session:
        session.append(ASK)
        session.append(SAY)
    whole = session.path.read_bytes()
    session.path.write_bytes(whole[:-1] + b"\0\0\0")
    assert store.resume("harbour").messages == [ASK, SAY]
    with store.open("harbour") as session:
        assert session.messages() == [ASK, SAY]
        assert session.path.read_bytes() == whole[:-1]
        session.append(ASK)
    assert session.path.read_bytes() == whole + whole[: whole.index(b"\n") + 1]


def damaged(rng, data):
    """The bytes of a session, damaged in one of many ways."""
    at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    junk = rng.choice(
        [b"\0" * 30, b"\n", b"{", b"[" * 3000, b"\xff\xfe", b'{"role":1}', b"1e999\n"]
    )
    return rng.choice(
        [
            data[:at],
            data[:at] + bytes(to - at) + data[to:],
            data[:at] + data[to:],
            data[:at] + junk + data[to:],
            data + junk,
            data[:at] + bytes(len(data) - at),
            data + data[at:to],
        ]
    )


@pytest.mark.parametrize("form", TALKS)
def test_an_open_keeps_every_byte_of_any_file(tmp_path, monkeypatch, form):
    """It cuts the end off, which is in lost+found then, or leaves the file and names a repair."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setattr(os, "fdatasync", os.fstat)
    store = SessionStore(tmp_path, form)
    with store.open("harbour") as session:
        for message in TALKS[form]:
            session.append(message)
    sound = session.path.read_bytes()
    outcomes = set()
    for seed in range(100):
        data = damaged(random.Random(seed), sound)
        session.path.write_bytes(data)
        shutil.rmtree(state_folder(), ignore_errors=True)
        try:
            state = store.resume("harbour")
        except InputError:
            with pytest.raises(InputError) as caught:
                store.open("harbour")
            error = caught.value
            assert "sesstool repair --write" in error.hint or "holds no record" in error.message
            assert session.path.read_bytes() == data
            outcomes.add("refused")
            continue
        opened = store.open("harbour")
        with opened:
            now = session.path.read_bytes()
            assert data.startswith(now), seed
            if now != data:
                kept = [path.read_bytes() for path in state_folder().rglob("cut.bin")]
                assert data[len(now) :] in kept, seed
            outcomes.add("cut" if now != data else "whole")
            assert opened.messages() == state.messages
            opened.append(TALKS[form][0])
        assert session.path.read_bytes().startswith(now)
        store.open("harbour").close()
    assert outcomes == {"refused", "cut", "whole"}
