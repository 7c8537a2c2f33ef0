"""The table of what a policy means, in `tests/retention/`: each case as data and as real files.

A case has a policy, the moment `now` (or `as_of`, as the option takes it) and sessions by name.
`<name>` in a policy is the id of a session. What a session does not say is as in `Told`; `expect`,
`rule` and `why` tell what is to be done with it, by what, and a part of the reason. `holds` are
those that stand beside the policy, `erase` names the sessions that are asked for, `most` is that of
--max-delete, and `limit` a part of why the run removes too much. A case that says why it is
`data_only` cannot be made of files.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sesstool.encryption import age, keys
from sesstool.formats.codex import Codex
from sesstool.model.moments import moment as moment_of
from sesstool.retention import units
from sesstool.retention.matching import Also
from tests.conftest import answer, dump, envelope, jsonl, meta, prompt, says

FOLDER = Path(__file__).with_name("retention")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
KEY = keys.generate(pq=False)
_SPAN = re.compile(r"([+-]?\d+)([dhs])")
_SECONDS = {"d": 86_400, "h": 3_600, "s": 1}
_TROUBLE = {"live": "in use", "damaged": "damaged: line", "unreadable": "unreadable: cut"}


def cases() -> list[dict[str, Any]]:
    """All cases; the name of each begins with that of its file."""
    return [
        case | {"name": f"{path.stem}: {case['name']}"}
        for path in sorted(FOLDER.glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


def span(text: str) -> timedelta:
    """The time that a text like "90d-1s" tells."""
    return timedelta(seconds=sum(int(n) * _SECONDS[unit] for n, unit in _SPAN.findall(text)))


def moment(case: dict[str, Any]) -> datetime:
    """When a case plays."""
    asked: date | None = case.get("as_of")
    return units.end(asked) if asked is not None else case.get("now", NOW)


def identity(name: str) -> str:
    """The id of a session."""
    return str(uuid5(NAMESPACE_URL, name))


def policy_of(case: dict[str, Any]) -> bytes:
    """The policy of a case, with the ids of its sessions."""
    return re.sub(r"<(\w+)>", lambda m: identity(m[1]), f"version = 1\n{case['policy']}").encode()


@dataclass
class Told:
    """What a case says of a session; ages are spans before `now`.

    `age` is that of the last record, or `last` its time as the record has it. `begun` is the age
    of the first record and `touched` that of the file's time; both are as `age` where they are not
    given. `subagent` is the age of the last record of a subagent, `result` that of the file time
    of a tool's result. What is `buried` has its tag between many records.
    """

    name: str
    now: datetime
    agent: str = "claude-code"
    age: str = "100d"
    last: str | None = None
    begun: str = ""
    touched: str = ""
    subagent: str = ""
    result: str = ""
    untimed: bool = False
    unknown: bool = False
    encrypted: bool = False
    locked: bool = False
    cwd: str = "/srv/harbour"
    project: str = ""
    tags: list[str] = field(default_factory=list)
    model: str = "lamp-1"
    codes: list[str] = field(default_factory=list)
    size: int = 0
    copy_of: str = ""
    reads: str = ""
    state: str = ""
    buried: bool = False
    expect: str = "keep"
    rule: str = ""
    why: str = ""

    def before(self, ago: str) -> datetime:
        return self.now - span(ago)

    @property
    def last_text(self) -> str:
        return self.last if self.last is not None else self.before(self.age).isoformat()

    @property
    def folder(self) -> Path:
        """Where the files that belong to a session of Claude Code lie."""
        return self.path.parent / identity(self.name)

    @property
    def paths(self) -> list[Path]:
        found = [self.path]
        found += [self.folder / "subagents/agent-1.jsonl"] if self.subagent else []
        return found + ([self.folder / "tool-results/x.txt"] if self.result else [])

    @property
    def path(self) -> Path:
        ending = ".age" if self.encrypted or self.locked else ""
        if self.unknown:
            return Path.home() / f".claude/projects/x/{self.name}.jsonl"
        if self.agent == "codex":
            name = f"rollout-2026-03-01T06-00-00-{identity(self.name)}.jsonl{ending}"
            return Path.home() / ".codex/sessions/2026/03/01" / name
        slug = re.sub(r"[^A-Za-z0-9]", "-", self.cwd)
        return Path.home() / f".claude/projects/{slug}/{identity(self.name)}.jsonl{ending}"


def told(case: dict[str, Any]) -> list[Told]:
    """The sessions of a case."""
    fixed = {key: case[key] for key in ("agent",) if key in case}
    return [
        Told(**{"name": name, "now": moment(case), **fixed, **facts})
        for name, facts in case.get("sessions", {}).items()
    ]


@dataclass(eq=False)
class Known:
    """The same as `decide.Facts`; `asked` counts how often its files would have been read."""

    told: Told
    family: str
    asked: int = 0

    def __post_init__(self) -> None:
        one = self.told
        self.paths = tuple(map(str, one.paths))
        self.also = Also(paths=frozenset(self.paths))
        self.path, self.agent = str(one.path), "" if one.unknown else one.agent
        self.untouched = "format unknown: never touched" if one.unknown else ""
        self.session, self.base = identity(one.name), one.reads and identity(one.reads)
        blank = one.untimed or one.unknown or one.locked
        self.cwd = "" if one.unknown or one.locked else one.cwd
        self.project = self.cwd.rpartition("/")[2] or Path(self.path).parent.name
        self.tags = frozenset() if one.buried or one.locked else frozenset(one.tags)
        self.models = frozenset() if one.locked or one.unknown else frozenset({one.model} - {""})
        self.size, self.encrypted = one.size, one.encrypted or one.locked
        self.blind = "it is encrypted, and no key" if one.locked else "no record tells a time"
        known = [one.before(one.subagent)] if one.subagent else []
        if not blank and (last := moment_of(one.last_text)):
            known.append(last)
        elif not blank:
            known, self.blind = [], "a time that cannot be read"
        begun = [one.before(one.begun)] if one.begun else []
        self.created, self.recorded = min([*known, *begun], default=None), max(known, default=None)
        ages = [one.touched or one.age, *filter(None, [one.result])]
        self.modified = max(one.before(ago) for ago in ages)

    def contains(self, code: str) -> bool | None:
        return (
            None if self.told.locked else any(found.startswith(code) for found in self.told.codes)
        )

    def trouble(self) -> tuple[str, str]:
        self.asked += 1
        self.tags = frozenset(self.told.tags)
        return self.told.state, _TROUBLE.get(self.told.state, "")


def facts(sessions: list[Told]) -> list[Known]:
    """What is known of the sessions of a case; a family has the name of its first."""
    above = {one.name: one.copy_of for one in sessions}

    def first(name: str) -> str:
        return first(above[name]) if above.get(name) else name

    families = [first(one.name) for one in sessions]
    return [
        Known(one, name if families.count(name) > 1 else "")
        for one, name in zip(sessions, families, strict=True)
    ]


def write(sessions: list[Told]) -> None:
    """Put the sessions of a case into the homes of their agents, with their times."""
    for number, one in enumerate(sessions):
        data = _data(one)
        if one.size:
            data = _data(one, one.size - len(data))
            assert len(data) == one.size
        if one.encrypted or one.locked:
            data = b"".join(age.encrypt([data], [KEY.recipient()]))
        _put(one.path, data, one.before(one.touched or one.age))
        if one.subagent:
            time = one.before(one.subagent).isoformat()
            record = _linked(one, 9, None, time, agentId="1", isSidechain=True)
            path = one.folder / "subagents/agent-1.jsonl"
            _put(path, jsonl(record), one.before(one.touched or one.age))
        if one.result:
            _put(one.folder / "tool-results/x.txt", b"fog", one.before(one.result))
        if one.state == "live":
            row = {"pid": os.getpid(), "sessionId": identity(one.name)}
            path = Path.home() / f".claude/sessions/{number}.json"
            _put(path, dump(row), datetime.now(UTC))  # as a process writes it that runs now


def _put(path: Path, data: bytes, time: datetime) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    nanoseconds = int((time - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)) * 1000
    os.utime(path, ns=(nanoseconds, nanoseconds))


def _data(one: Told, padding: int = 0) -> bytes:
    """The lines of a session."""
    if one.unknown:
        return b'{"weather": "fog"}\n' * 3
    words = "write to keeper@kiln.fi" if one.codes else "it burns"
    words += "." * padding
    begun = one.before(one.begun).isoformat() if one.begun else one.last_text
    torn = [b'{"torn'] if one.state == "damaged" else []
    if one.agent == "codex":
        return jsonl(*_codex(one, begun, torn, words))
    copied = {"forkedFrom": {"sessionId": identity(one.copy_of)}} if one.copy_of else {}
    tags = [{"type": "tag", "tag": tag, "sessionId": identity(one.name)} for tag in one.tags]
    # What a tool said, for the cases that take it out.
    first = _linked(one, 1, None, begun, toolUseResult="fog", **copied)
    fill = [_linked(one, n, None, begun, fog="." * 1000) for n in range(3, 103)]
    around = fill if one.buried else []
    return jsonl(first, *torn, *around, *tags, *around, _answer(one, words))


def _linked(one: Told, number: int, parent: str | None, time: str, **more: Any) -> Any:
    record = prompt(1, None, **_shared(one, number, parent, time), **more)
    return _timed(one, record)


def _answer(one: Told, words: str) -> Any:
    more = _shared(one, 2, identity(f"{one.name} 1"), one.last_text)
    record = answer(2, 1, {"type": "text", "text": words}, **more)
    record["message"]["model"] = one.model
    return _timed(one, record)


def _shared(one: Told, number: int, parent: str | None, time: str) -> dict[str, Any]:
    return {
        "uuid": identity(f"{one.name} {number}"),
        "parentUuid": parent,
        "sessionId": identity(one.name),
        "cwd": one.cwd,
        "timestamp": time,
    }


def _timed(one: Told, record: Any) -> Any:
    return {k: v for k, v in record.items() if k != "timestamp" or not one.untimed}


def _codex(one: Told, begun: str, torn: list[bytes], words: str) -> list[Any]:
    more: dict[str, Any] = {"id": identity(one.name), "cwd": one.cwd}
    if one.reads:
        more["history_base"] = {"thread_id": identity(one.reads), "end_byte_offset": 10}
    if one.copy_of:
        more["forked_from_id"] = identity(one.copy_of)
    head = _timed(one, meta(**more) | {"timestamp": begun})
    assert Codex().meaning(head).session == identity(one.name)
    turn = _timed(one, envelope("turn_context", {"model": one.model}) | {"timestamp": begun})
    turns = [turn] if one.model else []
    output = envelope("response_item", {"type": "function_call_output", "output": "fog"})
    turns.append(_timed(one, output | {"timestamp": begun}))
    return [head, *turns, *torn, _timed(one, says("user", words) | {"timestamp": one.last_text})]
