"""A session with its side files, plain or encrypted, and what may be left of it."""

from __future__ import annotations

import errno
import os
import shutil
from itertools import islice
from pathlib import Path

import pytest

from sesstool import api
from sesstool.audit import log
from sesstool.encryption import age, keys
from sesstool.errors import AuthError
from tests.conftest import SESSION, answer, jsonl, prompt
from tests.faults import command

CANARY = b"the lamp of the northern canary"
MTIME = 1_700_000_000_123_456_789
_TALK = jsonl(prompt(1, None, CANARY.decode()), answer(2, 1))
_TORN = b'{"cut ' + CANARY
PLAIN = {
    f"{SESSION}.jsonl": _TALK,
    f"{SESSION}/subagents/agent-1.jsonl": _TALK,
    f"{SESSION}/tool-results/x.txt": CANARY,
}
OLD, NEW = keys.generate(pq=False), keys.generate(pq=False)


class Home:
    """A folder of its own with a session, its group, two keys, and a state folder."""

    def __init__(self, root: Path, files: int = len(PLAIN)) -> None:
        self.root = root
        self.plain = dict(islice(PLAIN.items(), files))
        self.home = root / "home"
        self.state = api.state_folder()
        self.session = self.home / f"{SESSION}.jsonl"
        self.keys = {}
        for name, identity in (("old", OLD), ("new", NEW)):
            self.keys[name] = root.with_name(f"{root.name}-{name}.key")
            self.keys[name].write_bytes(keys.identity_file(identity, "2026-03-01T06:00:00Z"))
        for name, data in self.plain.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self.session.write_bytes(_TALK + _TORN)
        for name in self.plain:
            os.utime(self.home / name, ns=(MTIME, MTIME))

    def commands(self, path: Path | None = None) -> dict[str, tuple[object, ...]]:
        """Each command that changes a group, with its arguments."""
        path = path or self.home
        return {
            "encrypt": ("encrypt", "--write", "--yes", "-r", OLD.recipient().text, path),
            "decrypt": ("decrypt", "--write", "-i", self.keys["old"], path),
            "rekey": (
                *("rekey", "--write", "-i", self.keys["old"]),
                *("-r", NEW.recipient().text, path),
            ),
        }

    def path_for(self, name: str) -> Path:
        """The session as a command finds it."""
        return self.session if name == "encrypt" else Path(f"{self.session}.age")

    def begin(self, name: str) -> None:
        """Make the group what a command is to change; undo keeps something of it, too."""
        key: tuple[object, ...] = ()
        if name != "encrypt":
            assert command(*self.commands()["encrypt"])() == 0
            key = ("-i", self.keys["old"])
        assert command("repair", "--write", *key, self.path_for(name))() == 0
        assert list((self.state / "undo").iterdir())
        assert bool(holders(self.state)) is (name == "encrypt")

    def keep(self) -> None:
        """Remember how all is."""
        for folder in (self.home, self.state):
            shutil.copytree(folder, _kept(folder))

    def back(self) -> None:
        """Have all as it was then."""
        for folder in (self.home, self.state):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(_kept(folder), folder)

    def problem(self) -> str | None:
        """What is lost; None where each file is there whole, plain or encrypted."""
        for name, data in self.plain.items():
            path = self.home / name
            # What takes a file away gives it another name first.
            hidden = list(path.parent.glob(".sesstool-*.old"))
            copies = [path, path.with_name(path.name + ".age"), *hidden]
            texts = [text_of(copy) for copy in copies if copy.exists()]
            if data not in texts:
                return f"{name} is lost"
            if not hidden and any(text != data for text in texts):
                return f"{name} is not whole"
        return None

    def wrong(self, name: str) -> str | None:
        """What is not as it must be when a command has ended."""
        found = {
            str(path.relative_to(self.home)): path
            for path in self.home.rglob("*")
            if not path.is_dir()
        }
        ending = "" if name == "decrypt" else ".age"
        if set(found) != {one + ending for one in self.plain}:
            return f"there are {sorted(found)}"
        reader = {"decrypt": None, "encrypt": OLD, "rekey": NEW}[name]
        for one, data in self.plain.items():
            path = found[one + ending]
            text = path.read_bytes() if reader is None else opened(path, reader)
            if text != data:
                return f"{one} is not what it was"
            now = path.stat()
            if (now.st_mode & 0o777, now.st_mtime_ns) != (0o600, MTIME):
                return f"{one} has another mode or time"
        if name != "decrypt" and holders(self.home, self.state):
            return f"plain text is left in {holders(self.home, self.state)}"
        if left := [p for p in self.state.rglob(".*") if p.name != ".lock"]:
            return f"left in the state folder: {left}"
        if list((self.state / "conversions").glob("*")) + list((self.state / "rekey").glob("*")):
            return "a journal is left"
        # What was undone of an encrypted file is encrypted, too, and may stay.
        if name != "decrypt" and list((self.state / "undo").iterdir()):
            return "undo keeps something"
        if log.verify(self.state):
            return "the audit log is damaged"
        done = [line["path"] for line in log.read(self.state) if line["action"] == name]
        if len(done) != len(self.plain) or len(set(done)) != len(self.plain):
            return f"in the audit log stand {done}"
        return None


def without_nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no file system know files without a name, as some do not."""
    real = os.open

    def refusing(path: str, flags: int, *more: object, **options: object) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(path, flags, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)


def opened(path: Path, identity: object) -> bytes | None:
    """The plain text of an encrypted file; None where the key does not open it."""
    try:
        return b"".join(age.decrypt([path.read_bytes()], [identity]))  # type: ignore[list-item]
    except AuthError:
        return None


def text_of(path: Path) -> bytes | None:
    """What a file holds, be it encrypted or not; None where neither key opens it."""
    data = path.read_bytes()
    if not age.is_age(data):
        return data
    return next((t for key in (OLD, NEW) if (t := opened(path, key)) is not None), None)


def holders(*folders: Path) -> list[Path]:
    """The files that hold plain text, hidden ones among them."""
    every = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in every if CANARY in path.read_bytes()]


def _kept(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-kept")
