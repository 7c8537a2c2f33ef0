"""Made-up sound sessions of any size, the same bytes in every run."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_WORDS = (
    "anchor beacon buoy cable chart compass current deck drift fog gale harbour heave keel lamp "
    "lens log mast moor oar pilot quay reef rope rudder sail shoal signal sound stern swell tide"
)
SESSION = "be7c0000-0000-4000-8000-000000000001"
# What a record with a tool's result holds.
_RESULTS = (b'"tool_result"', b'"function_call_output"', b'"role":"tool"')
# Characters of a text: mostly short, now and then a whole file.
_LENGTHS = (40, 120, 120, 400, 400, 1200, 3000, 20_000)

Value = dict[str, Any]
Turn = list[Value]


def write(path: Path, form: str, size: int) -> None:
    """Write a session of about `size` bytes: whole turns until there are enough."""
    rng = random.Random(form)
    with path.open("wb") as out:
        for turn in _MAKERS[form](rng):
            for value in turn:
                out.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")
            if out.tell() >= size:
                return


def write_line(path: Path, size: int) -> None:
    """Write a session of one record, which takes one line of about `size` bytes."""
    prompt, *_ = next(_claude_code(random.Random(size)))
    prompt["message"]["content"] = "TEXT"
    head, tail = json.dumps(prompt, separators=(",", ":")).encode().split(b"TEXT")
    words = _WORDS.encode()
    with path.open("wb") as out:
        out.write(head)
        out.writelines(words for _ in range(size // len(words)))
        out.write(tail + b"\n")


def plant(path: Path, every: int) -> None:
    """Put a token, a password and an address into each so many records that hold text."""
    rng = random.Random(every)
    texts = [b'"content":"', b'"text":"', b'"output":"']
    kept = path.with_name("kept.jsonl")
    with path.open("rb") as source, kept.open("wb") as out:
        for number, line in enumerate(source):
            mark = next((mark for mark in texts if mark in line), None)
            if mark is None or number % every:
                out.write(line)
                continue
            drawn = "".join(rng.choices(string.ascii_letters + string.digits, k=72))
            told = (
                f"{'gh' + 'p_'}{drawn[:36]} password: {drawn[36:48]} mina.{drawn[48:54]}@kiln.fi "
            )
            out.write(line.replace(mark, mark + told.encode(), 1))
    kept.replace(path)


FORKS = ("scattered edits", "200 distinct", "a moved third", "nothing in common")
"""Kinds of pairs of sessions that `fork` writes."""


def fork(left: Path, right: Path, kind: str, records: int) -> None:
    """Write two sessions of so many records of about 1 KB; the second has ids of its own."""
    rng = random.Random(kind)
    few = [_words(rng) for _ in range(200)]
    said = [rng.choice(few) if kind == FORKS[1] else _words(rng) for _ in range(records)]
    other = list(said)
    if kind == FORKS[2]:
        third = records // 6 * 2
        other = said[third : 2 * third] + said[:third] + said[2 * third :]
    elif kind == FORKS[3]:
        other = [_words(rng) for _ in range(records)]
    else:
        for n in rng.sample(range(records), records // 100):
            other[n] = rng.choice(few) if kind == FORKS[1] else _words(rng)
    _write_talk(left, said, 1)
    _write_talk(right, other, 2)


def _words(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS.split(), k=150))


def _write_talk(path: Path, said: list[str], number: int) -> None:
    """A straight chain of prompts and answers."""
    parent = None
    with path.open("wb") as out:
        for n, words in enumerate(said):
            role = "assistant" if n % 2 else "user"
            uuid = f"be7c{number:04d}-0000-4000-8000-{n:012d}"
            value = {
                "parentUuid": parent,
                "isSidechain": False,
                "cwd": "/srv/harbour",
                "sessionId": f"{SESSION[:-1]}{number}",
                "version": "2.1.300",
                "type": role,
                "message": {"role": role, "content": words},
                "uuid": uuid,
                "timestamp": _time(n),
            }
            parent = uuid
            out.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")


def drop_result(path: Path) -> None:
    """Take the first result behind the middle of a session out: one call is unanswered."""
    kept = path.with_name("kept.jsonl")
    middle = path.stat().st_size // 2
    with path.open("rb") as source, kept.open("wb") as out:
        for line in source:
            result = any(mark in line for mark in _RESULTS)
            if middle >= 0 and out.tell() > middle and result:
                middle = -1
            else:
                out.write(line)
    kept.chmod(0o600)
    kept.replace(path)


def _text(rng: random.Random, limit: int = 1 << 20) -> str:
    line = " ".join(rng.choices(_WORDS.split(), k=64)) + ".\n"
    length = min(rng.choice(_LENGTHS), limit)
    return (line * (length // len(line) + 1))[:length]


def _claude_code(rng: random.Random) -> Iterator[Turn]:
    """A prompt, some calls with their results, and an answer; all in a straight chain."""
    number, parent = 0, None

    def record(kind: str, message: Value, **more: Any) -> Value:
        nonlocal number, parent
        number += 1
        uuid = f"be7c1111-0000-4000-8000-{number:012d}"
        value = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/harbour",
            "sessionId": SESSION,
            "version": "2.1.300",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": _time(number),
        }
        parent = uuid
        return value | more

    def answer(block: Value) -> Value:
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-bench",
            "content": [block],
            "usage": {"input_tokens": number, "output_tokens": 200},
        }
        return record("assistant", message, requestId=f"req_{number}")

    while True:
        turn = [record("user", {"role": "user", "content": _text(rng)})]
        for _ in range(rng.randint(0, 5)):
            call = f"toolu_{number:08d}"
            command = {"command": _text(rng, 200), "description": "look"}
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": command}
            words = _text(rng)
            block = {"type": "tool_result", "tool_use_id": call, "content": words}
            message = {"role": "user", "content": [block]}
            turn += [answer(use), record("user", message, toolUseResult={"stdout": words})]
        yield [*turn, answer({"type": "text", "text": _text(rng)})]


def _codex(rng: random.Random) -> Iterator[Turn]:
    """A header, then turns of items, with the events that double them."""
    number = 0

    def record(kind: str, **payload: Any) -> Value:
        nonlocal number
        number += 1
        return {"timestamp": _time(number), "type": kind, "payload": payload}

    def item(kind: str, **fields: Any) -> Value:
        return record("response_item", type=kind, **fields)

    def message(role: str, words: str) -> Value:
        kind = "output_text" if role == "assistant" else "input_text"
        return item("message", role=role, content=[{"type": kind, "text": words}])

    about = {"cwd": "/srv/harbour", "originator": "codex_cli_rs", "cli_version": "0.171.0"}
    yield [record("session_meta", id=SESSION, timestamp=_time(0), **about)]
    while True:
        words = _text(rng)
        turn = [
            record("turn_context", cwd="/srv/harbour", model="gpt-bench"),
            message("user", words),
            record("event_msg", type="user_message", message=words),
        ]
        for _ in range(rng.randint(0, 5)):
            call = f"call_{number:08d}"
            arguments = json.dumps({"command": ["bash", "-lc", _text(rng, 200)]})
            turn += [
                item("function_call", name="shell", arguments=arguments, call_id=call),
                item("function_call_output", call_id=call, output=_text(rng)),
                record("event_msg", type="token_count", info=None),
            ]
        words = _text(rng)
        turn += [
            record("event_msg", type="agent_message", message=words),
            message("assistant", words),
        ]
        yield turn


def _openai_chat(rng: random.Random) -> Iterator[Turn]:
    """A prompt, some calls with their results, and an answer."""
    number = 0
    yield [{"role": "system", "content": _text(rng, 400)}]
    while True:
        turn: Turn = [{"role": "user", "content": _text(rng)}]
        for _ in range(rng.randint(0, 5)):
            number += 1
            call = f"call_{number:08d}"
            function = {"name": "shell", "arguments": json.dumps({"command": _text(rng, 200)})}
            asked = {"id": call, "type": "function", "function": function}
            turn += [
                {"role": "assistant", "content": None, "tool_calls": [asked]},
                {"role": "tool", "tool_call_id": call, "content": _text(rng)},
            ]
        yield [*turn, {"role": "assistant", "content": _text(rng)}]


def _time(number: int) -> str:
    minutes, seconds = divmod(number, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"2026-01-{days % 28 + 1:02d}T{hours:02d}:{minutes:02d}:{seconds:02d}.000Z"


_MAKERS: dict[str, Callable[[random.Random], Iterator[Turn]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "openai-chat": _openai_chat,
}
FORMATS = tuple(_MAKERS)
