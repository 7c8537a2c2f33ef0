"""Bytes on which a promise of reading or repair once failed, and bytes made to cost time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sesstool import text
from sesstool.checks.context import Options
from sesstool.checks.engine import examine
from sesstool.cli import snippets
from sesstool.cli.main import run
from sesstool.model import session
from sesstool.records import jsonspan, recover
from sesstool.records.jsonspan import Scanner
from tests import properties
from tests.conftest import (
    Memory,
    answer,
    asks,
    envelope,
    event,
    item,
    jsonl,
    mend,
    plan,
    prompt,
    result,
    runs,
    said,
    says_with,
    tells,
    told,
    use,
)

DEEP = b'{"a":' * 1000 + b"1" + b"}" * 1000
NAMELESS = prompt(1, None) | {"uuid": None}
CALL = answer(1, None, use("toolu_lamp"))

FOUND = {
    "a-role-that-is-no-text": ("codex", jsonl(item("message", role={}, content=[]))),
    "an-item-that-is-no-text": ("codex", jsonl(event("item_completed", item={"type": []}))),
    "a-type-that-is-no-text": (
        "",
        jsonl({"type": [], "role": {}, "payload": {}}, prompt(1, None), answer(2, 1)),
    ),
    "an-event-with-half-a-character": (
        "codex",
        jsonl(event("agent_message", message="HALF a lamp")).replace(b"HALF", b"\\ud83c"),
    ),
    "an-output-that-is-no-text": (
        "codex",
        jsonl(runs("c1"), event("exec_command_end", call_id="c1", stdout="caf?")).replace(
            b"caf?", b"caf\xe9"
        ),
    ),
    "a-compaction-deeper-than-encoders-go": (
        "codex",
        jsonl(*[envelope("compacted", {"message": "m", "more": "DEEP"})] * 2).replace(
            b'"DEEP"', DEEP
        ),
    ),
    "arguments-deeper-than-encoders-go": (
        "openai-chat",
        jsonl(asks("c1"), tells("c1")).replace(b'"{}"', DEEP),
    ),
    "a-call-and-a-result-without-an-id": (
        "openai-chat",
        jsonl(said("user"), asks("GONE"), tells("")).replace(b'"id":"GONE",', b""),
    ),
    "a-parent-without-an-id": ("claude-code", jsonl(NAMELESS, answer(2, 7) | {"uuid": None})),
    "a-circle-below-a-record-without-an-id": ("claude-code", jsonl(NAMELESS, answer(2, 2))),
    "a-doubled-record-whose-first-half-has-a-stub": (
        "codex",
        b"{" + jsonl(event("token_count")) * 2,
    ),
    "an-orphan-behind-a-stub-that-stays": (
        "claude-code",
        b"{" + jsonl(result(1, None, "gone"), prompt(2, 1), b"<<<<<<< a"),
    ),
    "an-answer-behind-a-torn-tail-that-stays": (
        "claude-code",
        jsonl(b"<<<<<<< a", prompt(3, None), answer(4, 3, use("c1"))) + b"{",
    ),
    "a-block-whose-type-is-no-text": ("openai-chat", jsonl(said("user", [{"type": {}}]))),
    "a-call-with-arguments-and-input": ("codex", jsonl(runs("c1", arguments="{", input="x"))),
    "a-result-behind-a-line-of-several-records": (
        "openai-chat",
        b"[" + jsonl(asks("c1"), said("user"), tells("c1")).replace(b"\n", b", WARN low", 1),
    ),
}
"""What went wrong → the format that the bytes are taken for, "" to detect it, and the bytes."""


@pytest.mark.parametrize("name", FOUND)
def test_what_once_failed(name):
    """A repair keeps its promises where it once did not."""
    format_name, data = FOUND[name]
    properties.hold(data, "talk.jsonl", format_name)


@pytest.mark.parametrize("command", ["validate", "repair", "resume", "show", "fork"])
def test_commands_on_deep_values(command, tmp_path, capsys):
    """What decoders take and encoders do not is no bug of a command."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(asks("c1"), tells("c1")).replace(b'"{}"', DEEP))
    assert run([command, str(path)]) in (0, 1, 3)
    assert "Traceback" not in capsys.readouterr().err


def test_a_repair_that_leaves_nothing(tmp_path):
    """A file that holds only what must go can be repaired: what went comes back by undo."""
    path = tmp_path / "talk.jsonl"
    data = jsonl(tells("gone"))
    path.write_bytes(data)
    assert run(["repair", "--write", "--format", "openai-chat", str(path)]) == 1
    assert path.read_bytes() == b""
    assert run(["undo", str(path)]) == 0
    assert path.read_bytes() == data


@pytest.mark.parametrize("part", [b"caf\xc3\0\xa9", b"\\\0n", b"\\u00\0e9", b"\0x"])
def test_nul_bytes_inside_a_character_or_an_escape(part):
    """NUL bytes that part a character or an escape leave it whole when they go."""
    whole = jsonl(said("user", "one"), said("user", "PART"))
    damaged = whole.replace(b"PART", part)
    assert mend(damaged) == whole.replace(b"PART", part.replace(b"\0", b""))


def test_an_answer_gets_a_line_of_its_own():
    """Where only calls are answered, a last line without its newline is not glued to."""
    data = jsonl(CALL).rstrip()
    first, second = mend(data, select=("T401",)).split(b"\n")
    assert first == data
    assert properties.value_of(second) is not None


HOSTILE = {
    "lists-that-never-end": b'{"a":[\n',
    "objects-that-never-end": b'{"a":\n',
    "noise-and-lists": b'x{"a":[',
    "noise-and-objects": b'x{"a":{"b":1}}',
    "records-on-one-line": b'{"a":1}',
    "stubs-before-records": b'{"role":"us{"role":"user","content":"x"}',
    "noise-lines-with-objects": b'x{"a":{"a":{"a":1}}}\n',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_with_the_size(name, monkeypatch):
    """However its lines tempt the reader to look ahead, it reads a file a few times at most."""
    tokens = 0
    take = Scanner._take

    def counted(scanner: Scanner, kind: str, byte: int) -> bool:
        nonlocal tokens
        tokens += 1
        return take(scanner, kind, byte)

    monkeypatch.setattr(Scanner, "_take", counted)
    monkeypatch.setattr(recover, "_PATIENCE_AT_LEAST", 0)
    data = HOSTILE[name] * (30_000 // len(HOSTILE[name]))
    assert all(record.raw for record in recover.records(Memory(data)))
    assert 0 < tokens < 20 * len(data)


def test_many_findings_in_one_record_share_one_look(monkeypatch):
    """A record with a thousand faults is taken apart once a round, not once a fault."""
    calls = 0
    members = jsonspan.members

    def counted(data: bytes, at: int) -> list[tuple[str, jsonspan.Member]]:
        nonlocal calls
        calls += 1
        return members(data, at)

    monkeypatch.setattr(jsonspan, "members", counted)
    blocks = [{"type": "text", "text": ""}] * 1000
    outcome = plan(jsonl(said("user", [*blocks, {"type": "text", "text": "x"}])))
    assert len(outcome.mended) == 1000
    assert calls < 10


class Counted(Memory):
    """Counts how often each long piece is read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.pieces = Counter[tuple[int, int]]()

    def read(self, start: int, end: int) -> bytes:
        self.pieces[start, end] += end - start > 1 << 13
        return super().read(start, end)


MANY = [f"c{n}" for n in range(600)]
AGAIN = {
    "unanswered": jsonl(said("user"), asks(*MANY), said("user")),
    "copies": jsonl(said("user"), asks(*["c"] * 600), tells("c"), said("user")),
    "twins-with-results": jsonl(
        said("user"),
        says_with(*(use("c", n=n) for n in range(600))),
        said("user", [told("c", str(n)) for n in range(600)]),
    ),
}


@pytest.mark.parametrize("name", AGAIN)
def test_many_calls_of_a_message_share_what_is_read_again(name, monkeypatch):
    """A message is read, decoded and measured anew a few times, not once a call."""
    decoded, measured = [], []
    decode, index = session._decoded, jsonspan._Index.__init__

    def one_more(source: Memory, start: int, end: int) -> Any:
        decoded.append(start)
        return decode(source, start, end)

    def another(self: jsonspan._Index, data: bytes) -> None:
        measured.append(len(data))
        index(self, data)

    monkeypatch.setattr(session, "_decoded", one_more)
    monkeypatch.setattr(jsonspan._Index, "__init__", another)
    source = Counted(AGAIN[name])
    _, report = examine(source, Options())
    assert sum(f.code in ("T401", "T405") for f in report.findings) >= 599
    assert len(decoded) < 10
    assert len(measured) < 10
    assert max(source.pieces.values()) < 10


def test_a_report_cuts_the_line_of_many_findings_once(tmp_path, monkeypatch, capsys):
    """Its head is cut into pieces once; far behind, what fits into the width is."""
    shown, opened = [], []
    show, source = text._shown, snippets.open_source

    def another(*arguments: Any, **more: Any) -> str:
        shown.append(arguments)
        return show(*arguments, **more)

    def once_more(path: Any, keys: Any) -> Any:
        opened.append(path)
        return source(path, keys)

    monkeypatch.setattr(text, "_shown", another)
    monkeypatch.setattr(snippets, "open_source", once_more)
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(said("user"), asks(*(f"c{n}" for n in range(2000)))))
    assert run(["validate", "--isolated", str(path)]) == 1
    assert capsys.readouterr().out.count("T401") == 2000
    assert len(opened) == 1
    assert len(shown) < 50_000 + 2000 * 101
