"""Prune and restore in the homes that real agents made: each session with all its pieces."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sesstool import api
from sesstool.api import retaining
from sesstool.audit import log, tombstones
from sesstool.encryption import keys
from sesstool.retention import cleanup
from tests.conftest import SHARED
from tests.faults import command

CLIENTS = SHARED / "corpus" / "real-clients"
HOMES = sorted(
    str(home.relative_to(CLIENTS).parent)
    for agent in ("claude-code", "codex", "pi")
    for home in CLIENTS.glob(f"{agent}/*/*/home")
)
KEY = keys.generate(pq=False)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# By design several sessions share these; what is in them is told of or taken out.
SHARED_FILES = re.compile(r"history\.jsonl|session_index\.jsonl|\.sqlite(-wal|-shm)?$")
# These have an id at most, of which the command tells that it is not reached.
IDS = re.compile(r"\.claude/(sessions/|stats-cache\.json)")
# Shorter prompts stand in other sessions as well.
TELLING = 24


class Known(NamedTuple):
    """A session as the facts of its format tell it: its files, and when it was last active.

    `base` is the session that it reads its beginning from, `time` None where no record has one.
    """

    files: frozenset[Path]
    time: datetime | None
    base: str


def records(path: Path) -> list[dict[str, Any]]:
    """The whole records of a file."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def known(home: Path) -> dict[str, Known]:
    """The sessions of a home by their ids, worked out from the notes on the agents' files alone."""
    files = [path for path in home.rglob("*") if path.is_file()]
    logs = {path: records(path) for path in files if path.suffix == ".jsonl"}
    transcripts = {
        found[0]: path
        for path in logs
        if {"projects", "sessions"} & set(path.parts)
        and (found := UUID.findall(path.name))
        and "subagents" not in path.parts
    }
    written = {
        value["uuid"]: session
        for session, path in transcripts.items()
        for value in logs[path]
        if "uuid" in value
    }
    # What is a session by its name, but a piece of another one by its records.
    above: dict[str, str] = {}
    base: dict[str, str] = defaultdict(str)
    for session, path in transcripts.items():
        values = logs[path]
        if values and all(value.get("type") == "summary" for value in values):
            above[session] = written.get(values[-1]["leafUuid"], session)
        header = (values[0].get("payload") or {}) if values else {}
        if header.get("parent_thread_id") in transcripts:
            above[session] = header["parent_thread_id"]
        base[session] = (header.get("history_base") or {}).get("thread_id", "")
    groups = defaultdict(set)
    for path in files:
        owner = next((u for u in UUID.findall(str(path.relative_to(home))) if u in transcripts), "")
        if path.name.startswith("agent-") and path in logs and not owner:
            # Where a resume changed the session under a subagent, its answer is of the later one.
            owner = logs[path][-1]["sessionId"]
        while owner in above and above[owner] != owner:
            owner = above[owner]
        if owner and not SHARED_FILES.search(path.name):
            groups[owner].add(path)
    return {
        session: Known(frozenset(mine), _newest(mine, logs), base[session])
        for session, mine in groups.items()
    }


def _newest(files: set[Path], logs: dict[Path, list[dict[str, Any]]]) -> datetime | None:
    """When the last record was written."""
    times = [
        datetime.fromisoformat(value["timestamp"]).astimezone(UTC)
        for path in files & logs.keys()
        for value in logs[path]
        if isinstance(value.get("timestamp"), str)
    ]
    return max(times, default=None)


def look(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Every name below a folder, with mode, and bytes and time where it is a file."""
    seen: dict[str, tuple[Any, ...]] = {}
    for path in folder.rglob("*"):
        now = path.lstat()
        rest = (now.st_mtime_ns, path.read_bytes()) if path.is_file() else ()
        seen[str(path.relative_to(folder))] = (stat.S_IMODE(now.st_mode), *rest)
    return seen


def without(seen: dict[str, tuple[Any, ...]], home: Path, gone: set[Path]) -> dict[str, Any]:
    """What `look` shows where some files, and the folders of those alone, are gone."""
    names = {str(path.relative_to(home)) for path in gone}
    left = {name: what for name, what in seen.items() if name not in names}
    emptied = {
        name
        for name, what in left.items()
        if len(what) == 1
        and UUID.search(name)
        and not any(len(w) > 1 and n.startswith(f"{name}/") for n, w in left.items())
        and any(one.startswith(f"{name}/") for one in names)
    }
    return {name: what for name, what in left.items() if name not in emptied}


@pytest.fixture(params=HOMES or ["absent"])
def made(request, shared, tmp_path) -> Path:
    """A copy of a home, each file as old as its last record, or as its session's."""
    folder = tmp_path / "home"
    shutil.copytree(shared / "corpus" / "real-clients" / request.param / "home", folder)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o640)
    for number, one in enumerate(known(folder).values()):
        time = one.time or datetime(2026, 11, 29, tzinfo=UTC)
        for path in one.files:
            os.utime(path, ns=(0, int(time.timestamp() * 1e9) - 86_400_000_000_000 - number))
    return folder


@pytest.fixture
def key(tmp_path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(keys.identity_file(KEY, "2026-03-01T06:00:00Z"))
    return path


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Nothing has to reach a disk here, and no agent runs, whatever does on this machine."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setattr(cleanup, "processes", lambda _: iter(()))


@pytest.fixture
def prune(tmp_path, monkeypatch, capsys):
    """Runs the command at a time, with a policy of one rule; returns what it printed."""

    def run(home: Path, action: str, match: str, now: datetime, *, sealed: bool = False) -> str:
        policy = tmp_path / "policy.toml"
        policy.write_text(
            f"""version = 1
[defaults]
max_delete_fraction = 1.0
fork = "independent"
[protect]
min_keep_per_project = 0
never = []
{f'[archive]{chr(10)}recipients = ["{KEY.recipient().text}"]' if sealed else ""}
[[rule]]
name = "old"
match = {match}
expire_after = "1h"
action = "{action}"
"""
        )
        plan = retaining.plan
        with monkeypatch.context() as patch:
            patch.setattr(retaining, "plan", lambda n, p, _, **more: plan(n, p, now, **more))
            assert command("prune", "--write", "--yes", "--policy", policy, home)() == 0
        return "".join(capsys.readouterr())

    return run


def due(sessions: dict[str, Known], now: datetime) -> set[str]:
    """Those that are older than an hour, without what others still read from."""
    limit = now - timedelta(hours=1)
    gone = {name for name, one in sessions.items() if one.time and one.time <= limit}
    while needed := {sessions[name].base for name in sessions.keys() - gone} & gone:
        gone -= needed
    return gone


def files_of(sessions: dict[str, Known], names: set[str]) -> set[Path]:
    return {path for name in names for path in sessions[name].files}


def telling(files: set[Path]) -> Iterator[str]:
    """The prompts in some files that are long enough to tell."""
    for path in files:
        for value in records(path) if path.suffix == ".jsonl" else ():
            for key in ("message", "payload"):
                said = value.get(key) or {}
                content = said.get("content") if isinstance(said, dict) else None
                if isinstance(said, dict) and said.get("role") == "user":
                    texts = (
                        [content]
                        if isinstance(content, str)
                        else [
                            block.get("text") or ""
                            for block in content or ()
                            if type(block) is dict
                        ]
                    )
                    yield from (text for text in texts if len(text) >= TELLING)


def holders(home: Path, sessions: dict[str, Known], gone: set[str], texts: set[str]) -> set[str]:
    """The files that still name a session that is gone, or hold one of its prompts."""
    stays = b"".join(path.read_bytes() for path in files_of(sessions, sessions.keys() - gone))
    words = {name.encode() for name in gone} | {json.dumps(t)[1:-1].encode() for t in texts}
    words = {word for word in words if word not in stays}
    return {
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    }


END = datetime(2027, 3, 1, tzinfo=UTC)


def half(sessions: dict[str, Known]) -> datetime:
    """A time at which the older ones are due."""
    times = sorted(one.time for one in sessions.values() if one.time)
    return times[len(times) // 2] + timedelta(minutes=30)


def test_each_session_goes_whole_and_comes_back(made, prune, key):
    """To the trash by age, to archives by a rule for all, plain and encrypted; in any order."""
    sessions, before = known(made), look(made)
    now = half(sessions)
    some = due(sessions, now)
    prune(made, "trash", '{ session = "*" }', now)
    assert look(made) == without(before, made, files_of(sessions, some))
    for name in sorted(some):
        assert command("trash", "restore", name)() == 0
    assert look(made) == before
    every = due(sessions, END)
    for sealed in (False, True) if every else ():
        prune(made, "archive", '{ session = "*" }', END, sealed=sealed)
        assert look(made) == without(before, made, files_of(sessions, every))
        if sealed:
            assert command("trash", "restore", "--all")() == 5
            assert look(made) == without(before, made, files_of(sessions, every))
        for name in sorted(every, reverse=sealed):
            assert command("trash", "restore", name, *(("-i", key) if sealed else ()))() == 0
        assert look(made) == before
    assert log.verify(api.state_folder()) + tombstones.verify(api.state_folder()) == []


def test_what_is_deleted_leaves_nothing(made, prune):
    """The one with the most files by its id: but for shared files nothing has a word of it."""
    sessions, before = known(made), look(made)
    name = max(sessions, key=lambda one: (len(sessions[one].files), one))
    gone = {name} & due(sessions, END) - {one.base for one in sessions.values()}
    texts = set(telling(files_of(sessions, gone)))
    prune(made, "delete", f'{{ session = "{name}" }}', END)
    assert look(made) == without(before, made, files_of(sessions, gone))
    left = holders(made, sessions, gone, texts)
    assert not [one for one in left if not SHARED_FILES.search(one) and not IDS.search(one)]


def test_what_is_erased_is_in_no_file(made, capsys):
    """Each session, one after the other: in the shared files neither, and all are told."""
    while sessions := known(made):
        name = min(sessions.keys() - {one.base for one in sessions.values()})
        own = set(sessions[name].files)
        texts, before = set(telling(own)), without(look(made), made, own)
        holding = holders(made, sessions, {name}, texts) - {str(p.relative_to(made)) for p in own}
        holding = {one for one in holding if not IDS.search(one)}
        path = next(p for p in own if p.suffix == ".jsonl" and name in p.name)
        assert command("prune", "--erase", "--clean-up", path)() == 1
        said = capsys.readouterr().out
        assert all(f"{one.removesuffix('-wal')} holds" in said for one in holding)
        assert command("prune", "--erase", "--clean-up", "--write", "--yes", path)() == 0
        left = holders(made, sessions, {name}, texts)
        assert not [one for one in left if not IDS.search(one)]
        after = look(made)
        for changed in before.keys() | after.keys():
            if not SHARED_FILES.search(changed):
                assert after.get(changed) == before.get(changed), changed
