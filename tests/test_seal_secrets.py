"""What is encrypted stays secret: modes, and what commands print and write meanwhile."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from sesstool.encryption import age
from sesstool.errors import LiveSessionError
from sesstool.records import write
from tests.faults import command, forked
from tests.sealed import CANARY, OLD, Home, holders
from tests.test_live import linux, other_process
from tests.test_seal_kill import home
from tests.test_targets import APPEND

__all__ = ["home"]


@pytest.mark.parametrize("umask", [0, 0o777], ids=["all", "none"])
def test_what_is_made_is_private_whatever_the_umask(tmp_path, monkeypatch, umask):
    """Files are 0600 and folders 0700: keys, encrypted and decrypted files, what is kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "made" / "state"))
    home = Home(tmp_path / "given")
    (tmp_path / "made").mkdir()
    steps = [
        ("keygen", "-o", tmp_path / "made" / "key"),
        ("encrypt", "-r", OLD.recipient().text, "-o", f"{tmp_path}/made/sealed/", home.home),
        ("decrypt", "-i", home.keys["old"], "-o", f"{tmp_path}/made/plain/", None),
        (*home.commands()["encrypt"],),
        (*home.commands()["rekey"],),
    ]
    for step in steps:
        words = [tmp_path / "made" / "sealed" if word is None else word for word in step]
        code, said = forked(command(*words), lambda: os.umask(umask))
        assert code == 0, said
    made = list((tmp_path / "made").rglob("*"))
    modes = {str(path): stat.S_IMODE(path.stat().st_mode) for path in made}
    assert {m for p, m in modes.items() if Path(p).is_dir()} == {0o700}, modes
    assert {m for p, m in modes.items() if not Path(p).is_dir()} == {0o600}, modes
    inside = [path for path in home.home.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in inside} == {0o600}


def test_no_output_holds_text_or_a_key(home, capfd):
    """With -v, and of errors: a wrong key, a file that was cut, a bug."""
    home.begin("encrypt")
    secrets = [CANARY.decode(), "AGE-SECRET-KEY-"]
    sealed = home.path_for("decrypt")
    old, new = home.keys["old"], home.keys["new"]
    steps = [
        (home.commands()["encrypt"], 0),
        (("validate", "-i", old, sealed), 0),
        (("validate", "-i", new, sealed), 5),
        (("show", "--header", sealed), 0),
        (("repair", "--write", "-i", old, sealed), 0),
        (("decrypt", "--write", "-i", new, sealed), 5),
        (home.commands()["rekey"], 0),
        (home.commands()["rekey"], 5),
    ]
    for step, code in steps:
        assert command(step[0], "-v", *step[1:])() == code, step
        assert not holders(home.home, home.state)
        said = "".join(capfd.readouterr())
        assert not [secret for secret in secrets if secret in said]
    kept = [path for path in home.state.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"AGE-SECRET-KEY-" in path.read_bytes()]


def test_a_bug_is_told_without_what_it_was_about(home, monkeypatch, capfd):
    """Where the encryption itself fails in a way that nobody thought of."""
    home.begin("encrypt")

    def broken(*_):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(age.payload, "seal", broken)
    run = command("encrypt", "-v", *home.commands()["encrypt"][1:])
    assert run() == 70
    assert CANARY.decode() not in "".join(capfd.readouterr())
    assert home.problem() is None
    assert not list(home.home.rglob("*.age"))


@linux
def test_a_session_that_is_written_to_is_not_encrypted(home):
    """It is refused, with all that belongs to it."""
    home.begin("encrypt")
    with other_process("f = open(sys.argv[1], 'a')", home.session):
        assert command(*home.commands()["encrypt"])() == LiveSessionError.exit_code
        assert not list(home.home.rglob("*.age"))
    assert home.problem() is None


@linux
@pytest.mark.parametrize("leased", [True, False], ids=["lease", "no lease"])
def test_what_is_written_in_the_moment_of_the_removal_is_not_lost(home, monkeypatch, leased):
    """The file gets its name back, with what the other one wrote, and its encrypted copy goes."""
    home.begin("encrypt")
    rename, openers_held_off = os.replace, write.openers_held_off
    held, late = [], []

    @contextmanager
    def watched(descriptor):
        with openers_held_off(descriptor) if leased else nullcontext(lambda: False) as waits:
            held.append(waits)
            yield waits

    def renamed(source, target, **more):
        if str(source) == str(home.session) and not late:
            late.append(subprocess.Popen([sys.executable, "-c", APPEND, home.session]))
            if leased:
                while not held[-1]():  # until the other one has come to its open
                    assert late[0].poll() is None
            else:
                late[0].wait()
        rename(source, target, **more)

    monkeypatch.setattr(write, "openers_held_off", watched)
    monkeypatch.setattr(os, "replace", renamed)
    before = home.session.read_bytes()
    assert command(*home.commands()["encrypt"])() == 6
    assert late[0].wait() == 0
    assert home.session.read_bytes() == before + b"late"
    assert not home.path_for("decrypt").exists()
