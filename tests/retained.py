"""Homes of two agents with sessions that are due and one that is not, and what is left of them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

from sesstool import api
from sesstool.audit import log, tombstones
from sesstool.encryption import age, keys
from sesstool.errors import AuthError
from sesstool.retention import trash
from tests.conftest import answer, dump, jsonl, meta, prompt, says
from tests.faults import at_calls, command, forked

CANARY = b"the lamp of the northern canary"
MTIME = 1_700_000_000_123_456_789
KEY = keys.generate(pq=False)
OLD = "0a000000-0000-4000-8000-{:012x}"
YOUNG = "0b000000-0000-4000-8000-000000000001"
_PROJECT = ".claude/projects/-srv-lamp"
_ROLLOUTS = ".codex/sessions/2023/11/14"
# Another name than the newest of all, so that the clock is sound.
_TORN = b'{"cut ' + CANARY
ACTIONS = ("trash", "delete", "archive", "sealed")
COMMANDS = (*ACTIONS, "restore", "unpack", "empty")


def claude(session: str) -> dict[str, bytes]:
    """The files of a Claude Code session, its own first."""
    talk = jsonl(
        prompt(1, None, CANARY.decode(), sessionId=session), answer(2, 1, sessionId=session)
    )
    folder = f"{_PROJECT}/{session}"
    return {
        f"{folder}.jsonl": talk,
        f"{folder}/subagents/agent-1.jsonl": talk,
        f"{folder}/tool-results/x.txt": CANARY,
        f".claude/todos/{session}-agent-{session}.json": b"[]",
    }


def codex(session: str, child: str) -> dict[str, bytes]:
    """The files of a Codex thread: its own, and that of its subagent."""
    name = f"{_ROLLOUTS}/rollout-2023-11-14T22-13-20-"
    return {
        f"{name}{session}.jsonl": jsonl(meta(id=session), says("user", CANARY.decode())),
        f"{name}{child}.jsonl": jsonl(
            meta(id=child, parent_thread_id=session, thread_source="subagent"),
            says("user", CANARY.decode()),
        ),
    }


class Home:
    """A folder of its own with the homes, a policy for each action, and a state folder.

    `groups` are the files that are due, as they are at the beginning, by session.
    """

    def __init__(self, root: Path, groups: int = 2, *, small: bool = False) -> None:
        self.root = root
        self.home = root / "home"
        self.state = api.state_folder()
        made = [
            codex(OLD.format(n), OLD.format(n + 4096)) if n % 2 else claude(OLD.format(n))
            for n in range(groups)
        ]
        if small:
            made = [dict(list(files.items())[:2]) for files in made]
        self.groups = dict(zip(map(OLD.format, range(groups)), made, strict=True))
        self.old = {name: data for files in made for name, data in files.items()}
        young = {f"{_PROJECT}/{YOUNG}.jsonl": jsonl(prompt(1, None, sessionId=YOUNG))}
        listed = [one for one in self.groups if f"{_PROJECT}/{one}.jsonl" in self.old]
        rows = [{"sessionId": one} for one in (*listed, YOUNG)]
        self.index = dump({"version": 1, "entries": rows})
        self.kept = young | {f"{_PROJECT}/sessions-index.json": self.index}
        for name, data in (self.old | self.kept).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for path in self.home.rglob("*.*"):
            if path.is_file():
                path.chmod(0o600)
                os.utime(path, ns=(MTIME, MTIME))
        for action in ACTIONS:
            archive = f'[archive]\nrecipients = ["{KEY.recipient().text}"]\n'
            (root / f"{action}.toml").write_text(
                f"""version = 1
[defaults]
max_delete_fraction = 1.0
{archive if action == "sealed" else ""}
[[rule]]
name = "old"
match = {{ session = "0a*" }}
expire_after = "30d"
action = "{"archive" if action == "sealed" else action}"
"""
            )
        self.key = root / "key"
        self.key.write_bytes(keys.identity_file(KEY, "2026-03-01T06:00:00Z"))

    def run(self, name: str) -> int:
        """A command to its end; its exit code."""
        if name == "empty":
            return command("trash", "empty", "--all", "--write", "--yes")()
        if name in ("restore", "unpack"):
            return command("trash", "restore", "--all", "-i", self.key)()
        policy = self.root / f"{name}.toml"
        return command(
            *("prune", "--write", "--yes", "--trust-clock", "--policy", policy, self.home)
        )()

    def steps(self, name: str) -> int:
        """How many calls that change the file system a command makes."""
        count = [0]

        def counted() -> int:
            code = self.run(name)
            sys.stdout.write(f"steps {count[0]}")
            return code

        def seen(*_: object) -> None:
            count[0] += 1

        said = forked(counted, at_calls(seen))[1]
        return int(said.rpartition("steps ")[2])

    def begin(self, name: str) -> None:
        """Make all what a command is to change; undo keeps something of a session, too."""
        session = self.home / next(iter(self.old))
        session.write_bytes(session.read_bytes() + _TORN)
        os.utime(session, ns=(MTIME, MTIME))
        assert command("repair", "--write", session)() == 0
        assert list((self.state / "undo").iterdir())
        if name in ("restore", "empty"):
            assert self.run("trash") == 0
        if name == "unpack":
            assert self.run("sealed") == 0

    def keep(self) -> None:
        """Remember how all is."""
        for folder in (self.home, self.state):
            shutil.copytree(folder, _kept(folder), symlinks=True)

    def back(self) -> None:
        """Have all as it was then."""
        for folder in (self.home, self.state):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(_kept(folder), folder, symlinks=True)

    def problem(self) -> str | None:
        """What is lost, or is told wrongly; None where nothing is."""
        for name, data in self.kept.items():
            if name.endswith("index.json"):
                continue
            if not self._is(name, data):
                return f"{name} is not as it was"
        gone = {
            line["before"]
            for line in log.read(self.state)
            if line["action"] in ("delete", trash.PURGED)
        }
        kept = self._kept()
        for name, data in self.old.items():
            if sha256(data) not in gone and data not in [*self._here(name), *kept.get(name, [])]:
                return f"{name} is lost"
        return None

    def wrong(self, name: str) -> str | None:
        """What is not as it must be when a command has ended."""
        back = name in ("restore", "unpack")
        for one, data in self.old.items():
            if back and not self._is(one, data):
                return f"{one} is not back as it was"
            if not back and (self.home / one).exists():
                return f"{one} is still there"
        index = self.home / _PROJECT / "sessions-index.json"
        if back and index.read_bytes() != self.index:
            return "the index is not as it was"
        rows = [row["sessionId"] for row in json.loads(index.read_bytes())["entries"]]
        if not back and rows != [one for one in rows if not one.startswith("0a")]:
            return f"the index lists {rows}"
        if index.stat().st_mtime_ns != MTIME:
            return "the index has another time"
        if not back and [p for p in self.home.rglob("0a*") if p.is_dir()]:
            return "a folder of a session is left"
        if left := list(self.home.rglob(".sesstool*")):
            return f"left: {left}"
        if problems := log.verify(self.state) + tombstones.verify(self.state):
            return f"the logs: {problems}"
        return self._accounts(name)

    def _accounts(self, name: str) -> str | None:
        """Whether the trash, the log, the tombstones and undo say the same of each session."""
        entries = {entry.session: entry for entry in trash.entries(self.state)}
        stones = [line["session"] for line in tombstones.read(self.state)]
        told: dict[str, list[str]] = {}
        for line in log.read(self.state):
            if line["action"] != "repair":
                told.setdefault(line["path"], []).append(line["action"])
        gone = name in ("delete", "empty")
        taken = {"sealed": "archive", "unpack": "archive", "delete": "delete"}.get(name, "trash")
        taken = "archive" if name == "archive" else taken
        expected = [taken, *(["restore"] if name in ("restore", "unpack") else [])]
        expected += [trash.PURGED] if gone else []
        for session, files in self.groups.items():
            if stones.count(session) != gone:
                return f"{session} has {stones.count(session)} tombstones"
            if (session in entries) is not (name in ACTIONS and not gone):
                return f"{session} is in the trash: {session in entries}"
            for one in files:
                if told.get(str(self.home / one)) != expected:
                    return f"the log tells of {one}: {told.get(str(self.home / one))}"
            if session in entries and entries[session].stage is not trash.Stage.HELD:
                return f"{session} is {entries[session].stage}"
        if trash.damaged(self.state) or list((self.state / "trash").glob(".*")):
            return "something is left in the trash"
        if (gone or name == "sealed") and (left := holders(self.state)):
            return f"text is left in {left}"
        return None

    def _is(self, name: str, data: bytes) -> bool:
        path = self.home / name
        if not path.exists():
            return False
        now = path.stat()
        return (path.read_bytes(), now.st_mtime_ns, now.st_mode & 0o777) == (data, MTIME, 0o600)

    def _here(self, name: str) -> list[bytes]:
        """What a file holds, or what has the name that it has while it goes."""
        path = self.home / name
        return [p.read_bytes() for p in (path, *path.parent.glob(".sesstool-*.old")) if p.is_file()]

    def _kept(self) -> dict[str, list[bytes]]:
        """What the trash has of each file."""
        found: dict[str, list[bytes]] = {}
        for entry in trash.entries(self.state):
            for item in entry.items:
                here = entry.where(item)
                if here.exists():
                    name = str(item.path.relative_to(self.home))
                    found.setdefault(name, []).append(_unpacked(here.read_bytes()))
        return found


def sha256(data: bytes) -> str:
    """As the log has it."""
    return hashlib.sha256(data).hexdigest()


def holders(*folders: Path) -> list[Path]:
    """The files below that hold session text."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in files if CANARY in path.read_bytes()]


def _unpacked(data: bytes) -> bytes:
    try:
        plain = b"".join(age.decrypt([data], [KEY])) if age.is_age(data) else data
        return gzip.decompress(plain) if plain.startswith(b"\x1f\x8b") else plain
    except (AuthError, OSError, EOFError):
        return b""


def _kept(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-kept")
