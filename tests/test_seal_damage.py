"""Encrypted files of which a byte was changed, or an end is missing."""

from __future__ import annotations

import os

import pytest

from sesstool import api
from sesstool.encryption import age, keys
from sesstool.encryption.payload import CHUNK, SEALED
from tests.conftest import jsonl, prompt
from tests.faults import command
from tests.sealed import CANARY, NEW, OLD, holders, without_nameless

TALK = jsonl(prompt(1, None, CANARY.decode()))


@pytest.fixture
def sealed(tmp_path, monkeypatch):
    """An encrypted session, small, alone in its folder."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "home" / "s.jsonl.age"
    path.parent.mkdir()
    path.write_bytes(b"".join(age.encrypt([TALK], [OLD.recipient()])))
    (tmp_path / "key").write_bytes(keys.identity_file(OLD, "2026-03-01T06:00:00Z"))
    return path


@pytest.fixture
def ways(sealed, tmp_path):
    """The commands that read it."""
    key = ("-i", tmp_path / "key")
    return [
        ("decrypt", "--write", *key, sealed),
        ("decrypt", "-o", sealed.with_name("out.jsonl"), *key, sealed),
        ("rekey", "--write", *key, "-r", NEW.recipient().text, sealed),
        ("validate", *key, sealed),
    ]


def refused(ways, path, data, capfd):
    """What commands do with a damaged file: nothing, but to say so."""
    path.write_bytes(data)
    for way in ways:
        capfd.readouterr()
        assert command(*way)() == 5, (way[0], len(data))
        out, err = capfd.readouterr()
        assert f"cannot open {path}: " in err
        assert CANARY.decode() not in out + err
        assert path.read_bytes() == data
        assert list(path.parent.iterdir()) == [path]
        assert not holders(api.state_folder())


def test_a_changed_byte_is_found(sealed, ways, capfd):
    """Whichever of the header or of the chunk; nothing is written."""
    data = sealed.read_bytes()
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        refused(ways, sealed, damaged, capfd)


def test_a_missing_end_is_found(sealed, ways, capfd):
    """However long it is."""
    data = sealed.read_bytes()
    for end in range(len(data)):
        refused(ways, sealed, data[:end], capfd)


@pytest.mark.parametrize("armor", [False, True], ids=["binary", "armored"])
@pytest.mark.parametrize("named", [False, True], ids=["no name", "a name"])
def test_damage_behind_good_chunks_is_found(sealed, ways, capfd, monkeypatch, armor, named):
    """What was good before it is not left either, where the file in the making has a name."""
    if named:
        without_nameless(monkeypatch)
    text = jsonl(*(prompt(n, n - 1 or None, CANARY.decode() + "." * 999) for n in range(1, 130)))
    data = b"".join(age.encrypt([text], [OLD.recipient()], armor=armor))
    assert len(text) > 2 * CHUNK
    for at in (len(data) // 2, len(data) - 40):
        refused(ways, sealed, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], capfd)
    head = len(data) - len(text) - 3 * 16
    for end in (len(data) - 2, len(data) // 2, head + SEALED, head + 2 * SEALED):
        refused(ways, sealed, data[:end], capfd)
