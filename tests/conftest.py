"""Builders of records, a source in memory, and a home of its own for every test."""

from __future__ import annotations

import compileall
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sesstool.checks.context import Options
from sesstool.checks.engine import examine
from sesstool.findings import FileReport
from sesstool.formats.registry import FORMATS
from sesstool.model.session import Session, open_session
from sesstool.records.edits import EditSet
from sesstool.repair import planner
from sesstool.repair.planner import Choice, Outcome

SHARED = Path(__file__).parents[2] / "shared"
SNAPSHOTS = Path(__file__).parent / "snapshots"
SESSION = "5e551000-0000-4000-8000-000000000001"
THREAD = "0123abcd-0000-7000-8000-00000000c0de"
ROLLOUT = f"rollout-2026-03-01T06-00-00-{THREAD}.jsonl"
_FOLDERS = {
    "HOME": "",
    "XDG_STATE_HOME": ".state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".data",
}


def pytest_configure(config: pytest.Config) -> None:
    """Compile sesstool once.

    The tests start thousands of processes, and where PYTHONDONTWRITEBYTECODE is set each would.
    """
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parents[1] / "sesstool", quiet=2)


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """A home folder of its own, where no agent has been."""
    folder = tmp_path_factory.mktemp("home")
    for name, inside in _FOLDERS.items():
        monkeypatch.setenv(name, str(folder / inside))
    for name in {name for form in FORMATS for name in form.variables} - _FOLDERS.keys():
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A folder for what is broken off at each of many calls; in memory, where that is a folder.

    What a kill leaves was written, and a model tells what a power cut leaves: nothing must reach a
    disk. It is the current folder, too, where no settings of a project are read by each command.
    """
    monkeypatch.setattr(os, "fsync", os.fstat)
    monkeypatch.setattr(os, "fdatasync", os.fstat)
    memory = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        folder = Path(name)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        with monkeypatch.context() as moved:
            moved.chdir(folder)
            yield folder


@pytest.fixture
def shared():
    """The folder with the cases and the corpus, where it is there."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: real sessions and cases are not looked at")
    return SHARED


def same_as_snapshot(name: str, text: str) -> None:
    """Compare with a snapshot; RENEW_SNAPSHOTS=1 writes it instead."""
    path = SNAPSHOTS / name
    if os.environ.get("RENEW_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


class Memory:
    """A source of bytes in memory, read `step` bytes at a time."""

    def __init__(self, data: bytes, name: str = "session.jsonl", step: int = 1 << 20) -> None:
        self.name, self.path, self.codec = name, Path(name), ""
        self.data, self.size, self.step = data, len(data), step

    def read(self, start: int, end: int) -> bytes:
        return self.data[start:end]

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, self.size, self.step):
            yield self.data[start : start + self.step]


def dump(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def jsonl(*records: Any) -> bytes:
    """Records as lines; bytes are taken as they are."""
    return b"".join((r if type(r) is bytes else dump(r)) + b"\n" for r in records)


def loads(data: bytes) -> list[Any]:
    """The values of the lines."""
    return [json.loads(line) for line in data.split(b"\n") if line]


def read(data: bytes, name: str = "session.jsonl", format_name: str = "") -> Session:
    """The session in some bytes, read to its end."""
    session = open_session(Memory(data, name), format_name)
    for _ in session.read():
        pass
    return session


def look(
    data: bytes,
    options: Options = Options(),
    name: str = "session.jsonl",
    **more: Any,
) -> FileReport:
    """What the rules say about some bytes."""
    return examine(Memory(data, name), options, **more)[1]


def codes(report: FileReport) -> list[str]:
    return [f.code for f in report.findings]


def plan(
    data: bytes,
    *flags: str,
    unsafe: bool = False,
    select: tuple[str, ...] = (),
    options: Options = Options(),
    name: str = "session.jsonl",
    format_name: str = "",
) -> Outcome:
    """The repair of some bytes."""
    choice = Choice(unsafe, frozenset(flags), select)
    return planner.plan(Memory(data, name), options, choice, format_name=format_name)


def mend(data: bytes, *flags: str, **more: Any) -> bytes:
    """Some bytes after their repair."""
    return plan(data, *flags, **more).edits.apply(data)


def rest(records: list[Any], *left_out: int) -> list[Any]:
    """The records but those at some places."""
    return [r for n, r in enumerate(records) if n not in left_out]


def naive(edits: EditSet, data: bytes) -> bytes:
    """Edited bytes, by the plainest way that there is: from the last edit to the first."""
    for edit in reversed(edits.edits):
        data = data[: edit.start] + edit.text + data[edit.end :]
    return data


# Claude Code: records with ids made of small numbers.


def uid(n: int | None) -> str | None:
    return None if n is None else f"00000000-0000-4000-8000-{n:012d}"


def linked(n: int, parent: int | None, kind: str, **more: Any) -> dict[str, Any]:
    """A record of the chain."""
    envelope = {
        "parentUuid": uid(parent),
        "isSidechain": False,
        "type": kind,
        "uuid": uid(n),
        "timestamp": f"2026-03-01T06:{n % 3600 // 60:02d}:{n % 60:02d}.000Z",
        "sessionId": SESSION,
        "cwd": "/srv/beacon",
        "version": "2.1.300",
    }
    return envelope | more


def prompt(n: int, parent: int | None, words: Any = "light the lamp", **more: Any) -> Any:
    return linked(n, parent, "user", message={"role": "user", "content": words}, **more)


def answer(n: int, parent: int | None, *content: Any, turn: str = "", **more: Any) -> Any:
    message = {
        "id": turn or f"msg_{n}",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(content) or [{"type": "text", "text": "it burns"}],
    }
    return linked(n, parent, "assistant", message=message, **more)


def use(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(n: int, parent: int | None, call_id: str, words: Any = "done", **more: Any) -> Any:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": words}
    return prompt(n, parent, [block], **more)


def blocks(record: Any) -> Any:
    return record["message"]["content"]


def boundary(n: int, logical: int | None = None) -> Any:
    more = {"logicalParentUuid": uid(logical)} if logical is not None else {}
    return linked(n, None, "system", subtype="compact_boundary", content="compacted", **more)


def talk(last: int, first: int = 1) -> list[Any]:
    """A straight talk of prompts and answers with the ids from `first` to `last`."""
    return [
        (prompt if n % 2 else answer)(n, n - 1 if n > first else None)
        for n in range(first, last + 1)
    ]


# Codex: envelopes around items and events.


def envelope(kind: str, payload: dict[str, Any], ordinal: int | None = None) -> Any:
    head: dict[str, Any] = {"timestamp": "2026-03-01T06:00:00.000Z"}
    if ordinal is not None:
        head["ordinal"] = ordinal
    return head | {"type": kind, "payload": payload}


def meta(ordinal: int | None = None, **more: Any) -> Any:
    payload = {
        "id": THREAD,
        "timestamp": "2026-03-01T06:00:00.000Z",
        "cwd": "/srv/beacon",
        "originator": "codex_cli_rs",
        "cli_version": "0.171.0",
    }
    return envelope("session_meta", payload | more, ordinal)


def item(kind: str, ordinal: int | None = None, **fields: Any) -> Any:
    return envelope("response_item", {"type": kind} | fields, ordinal)


def event(kind: str, ordinal: int | None = None, **fields: Any) -> Any:
    return envelope("event_msg", {"type": kind} | fields, ordinal)


def says(role: str, words: str, ordinal: int | None = None) -> Any:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", ordinal, role=role, content=[{"type": kind, "text": words}])


def runs(call_id: str, ordinal: int | None = None, **fields: Any) -> Any:
    fields = {"name": "shell", "arguments": '{"cmd":"ls"}', "call_id": call_id} | fields
    return item("function_call", ordinal, **fields)


def output(call_id: str, words: str = "ok", ordinal: int | None = None) -> Any:
    return item("function_call_output", ordinal, call_id=call_id, output=words)


# OpenAI chat.


def said(role: str, content: Any = "words", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content} | more


def asks(*call_ids: str, arguments: str = "{}") -> dict[str, Any]:
    calls = [
        {"id": i, "type": "function", "function": {"name": "look", "arguments": arguments}}
        for i in call_ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tells(call_id: str, words: str = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": words}


# Anthropic messages; `use` makes a call.


def says_with(*content: Any) -> dict[str, Any]:
    return said("assistant", list(content))


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def told(call_id: str, content: Any = "seen", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | more


# Responses items.


def bare(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind} | fields


def bare_call(call_id: str, **fields: Any) -> dict[str, Any]:
    return bare(
        "function_call", **({"name": "look", "arguments": "{}", "call_id": call_id} | fields)
    )


def bare_output(call_id: str, output: Any = "seen") -> dict[str, Any]:
    return bare("function_call_output", call_id=call_id, output=output)


# pi: entries with ids made of small numbers.


def pid(n: int | None) -> str | None:
    return None if n is None else f"{n:08x}"


def head(**more: Any) -> Any:
    first = {"type": "session", "version": 3, "id": THREAD}
    return first | {"timestamp": "2026-03-01T06:00:00.000Z", "cwd": "/srv/beacon"} | more


def entry(n: int, parent: int | None, kind: str, **more: Any) -> Any:
    link = {"type": kind, "id": pid(n), "parentId": pid(parent)}
    return link | {"timestamp": f"2026-03-01T06:00:{n % 60:02d}.000Z"} | more


def speaks(n: int, parent: int | None, role: str, *content: Any, **more: Any) -> Any:
    blocks = [{"type": "text", "text": c} if type(c) is str else c for c in content]
    message = {"role": role, "content": blocks, "timestamp": 1772344800000 + n} | more
    return entry(n, parent, "message", message=message)


def call_of(call_id: str, arguments: Any = None) -> Any:
    given = {"path": "log"} if arguments is None else arguments
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": given}


def result_of(n: int, parent: int | None, call_id: str, words: str = "done") -> Any:
    return speaks(n, parent, "toolResult", words, toolCallId=call_id, toolName="bash")


def compaction(n: int, parent: int | None, kept: int, summary: str = "so far") -> Any:
    return entry(n, parent, "compaction", summary=summary, firstKeptEntryId=pid(kept))


def chat(last: int, first: int = 1) -> list[Any]:
    """A straight talk of prompts and answers with the ids from `first` to `last`."""
    return [
        speaks(n, n - 1 if n > 1 else None, "user" if n % 2 else "assistant", f"words {n}")
        for n in range(first, last + 1)
    ]


CALL = [prompt(1, None), answer(2, 1, use("a"))]
TURN = [
    prompt(1, None),
    answer(2, 1, use("a"), turn="m"),
    answer(3, 2, use("b"), turn="m"),
]
