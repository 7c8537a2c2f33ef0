"""astorLM sessions: `<id>.jsonl` with messages, and `<id>.meta.json` beside it.

Messages have Anthropic's blocks, whoever the provider is. Both files are written anew on every
save, not in one step. A session exists where the side file can be parsed; one line of messages
that cannot be parsed leaves it without any, and the next save writes that down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from sesstool.formats.anthropic_blocks import (
    MESSAGE_FROZEN,
    MESSAGE_OPAQUE,
    block_event,
    result_block,
)
from sesstool.formats.astorlm_writer import AstorScribe
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning, Message, Thinking, ToolResult
from sesstool.formats.forking import Forker, Parent
from sesstool.formats.side_files import beside
from sesstool.formats.terms import Fault, Place, Question, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.records.heal import Kind
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.recover import Record
from sesstool.records.source import Source, open_file

# What the messages of others have beside id, role and content.
_FOREIGN = frozenset(
    {
        *("type", "model", "uuid", "parentUuid", "parentId", "payload", "parts", "message"),
        *("tool_calls", "tool_call_id", "timestamp"),
    }
)
_ROLES = frozenset({"user", "assistant", "system"})
_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use", "tool_result"})
_SUFFIX = ".jsonl"
_SIDE = ".meta.json"
# A side file holds a few hundred bytes; metadata of the user's own may make it bigger.
_SIDE_LIMIT = 1 << 24
# What the reader passes over or replaces, and what JavaScript's decoder takes.
_READABLE = frozenset(
    {
        Kind.BLANK,
        Kind.CRLF,
        Kind.INVALID_UTF8,
        Kind.LIST,
        Kind.NOT_OBJECT,
        Kind.NO_NEWLINE,
        Kind.SURROGATE,
    }
)


class AstorForker(Forker):
    """A fork has the messages with their ids, and a side file that names the parent."""

    @classmethod
    def fresh(cls, parent: Parent, now: datetime, beside: Path | None) -> str:  # noqa: ARG003 - see `Forker.fresh`
        """See `Forker.fresh`."""
        return str(uuid4())

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`. A message without an id gets one."""
        raw = record.raw
        place = locate(raw, "") if "id" not in (record.value or {}) else None
        if place is not None:
            at = place.start + 1
            more = b"," * bool(record.value)
            raw = b'%b"id":"%b"%b%b' % (raw[:at], str(uuid4()).encode(), more, raw[at:])
        yield raw

    def side(self) -> Path | None:
        """See `Forker.side`."""
        return side_file(self.parent.path) if self.parent.path is not None else None

    def side_file(self, target: Path, there: bytes) -> tuple[Path, bytes]:
        """See `Forker.side_file`: without one there is no session."""
        now = int(self.now.timestamp() * 1000)
        side = {
            "id": self.id,
            "parentId": self.parent.id,
            "metadata": mapping(mapping(_parsed(there)).get("metadata")),
            "createdAt": now,
            "updatedAt": now,
        }
        return target.with_name(self.id + _SIDE), json.dumps(side, indent=2).encode()


class AstorLM(Format):
    """See the module."""

    fields = fields_of(MESSAGE_FROZEN, MESSAGE_OPAQUE)
    name = "astorlm"
    title = "astorLM"
    schema = "astorlm"
    provider = "anthropic"
    pairing = "next"
    harmless = frozenset({"bash_get_output", "glob", "grep", "ls", "read"})
    forker = AstorForker
    scribe = AstorScribe

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`. Bare Anthropic messages have neither ids nor a side file."""
        ours = share(values, (_is_message(v) for v in values))
        if not any(_has_blocks(v) for v in values):
            return Score(0, "no message is made of blocks")
        if path is not None and beside(side_file(path)):
            return Score(ours, f"{ours} % of the records are messages, and a side file is there")
        if not any("id" in v for v in values if _is_message(v)):
            return Score(0, "the messages have no ids, and there is no side file")
        return Score(ours, f"{ours} % of the records are messages with ids")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`. Thinking is never sent as a block: nothing can be wrong with it."""
        role, content = text(value.get("role")), value.get("content")
        out = Meaning()
        results = False
        for n, block in enumerate(map(mapping, blocks(content))):
            pointer = f"/content/{n}"
            if text(block.get("type")).endswith("thinking"):
                out.events.append(Thinking(pointer))
            elif event := block_event(block, pointer):
                out.events.append(event)
                results = results or type(event) is ToolResult
        prompt = role == "user" and not results
        out.events.append(Message("/content", role, content, prompt=prompt))
        return out

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return _Tracker(path)

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        return result_block(question)

    def message(self, block: bytes) -> bytes:
        """See `Format.message`. The same block always gets the same id."""
        name = str(uuid5(NAMESPACE_OID, block.decode("utf-8", "replace")))
        return b'{"id":%b,"role":"user","content":[%b]}' % (dumps(name), block)

    def bad_line(self, kind: Kind) -> str:
        """See `Format.bad_line`."""
        if kind in _READABLE:
            return ""
        return "astorLM resumes without any message, and its next save overwrites this file"

    def leaves_out(self, words: str) -> bool:
        """See `Format.leaves_out`."""
        return not words

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        return path.name.rpartition(_SUFFIX)[0]

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`: no folder is known, so those of the folder that the user stands in."""
        for path in Path().glob(f"{escape(prefix)}*{_SUFFIX}{ending}"):
            if beside(side_file(path)):
                yield path

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        if side := beside(side_file(path)):
            yield side

    def empty_is_sound(self, path: Path) -> bool:
        """See `Format.empty_is_sound`: a session without a message yet."""
        return type(_side(path)) is dict


def _is_message(value: dict[str, Any]) -> bool:
    known = text(value.get("role")) in _ROLES and "content" in value
    return known and not _FOREIGN & value.keys()


def _has_blocks(value: dict[str, Any]) -> bool:
    return any(text(mapping(b).get("type")) in _BLOCKS for b in blocks(value.get("content")))


def side_file(path: Path) -> Path:
    """The side file of a session, which may be compressed."""
    return path.with_name(path.name.rpartition(_SUFFIX)[0] + _SIDE)


def _side(path: Path) -> Any:
    """What the side file of a session says, None where it is missing or no JSON."""
    try:
        with open_file(side_file(path)) as file:
            return _parsed(file.read(_SIDE_LIMIT))
    except OSError:
        return None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


class _Tracker(Tracker):
    """What the side file says of the session."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the session's own, None where it came through a pipe."""
        self._path = path

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        if self._path is None:
            return
        whole = Place(0, 0, 0)
        file, name = side_file(self._path), self._path.name.rpartition(_SUFFIX)[0]
        minimal = json.dumps({"id": name}, ensure_ascii=False)
        title = f"write {minimal} into {file.name}, which is the least that astorLM reads"
        there = beside(file)
        if there is None:
            message = f"there is no {file.name} beside it: astorLM knows no such session"
            yield Fault("missing-side-file", whole, message, title, severity="warning")
            return
        if there != file:
            return  # it is encrypted
        side = _side(self._path)
        if type(side) is not dict:
            message = f"{file.name} is no JSON object: astorLM knows no such session"
            yield Fault("bad-side-file", whole, message, title)
            return
        if side.get("id") != name:
            message = f"{file.name} names another session than its own name does"
            title = f"make {json.dumps(name, ensure_ascii=False)} the id in {file.name}"
            yield Fault("bad-side-file", whole, message, title, severity="warning")
        if parent := text(side.get("parentId")):
            yield Fault("fork", whole, f"this is a fork of session {parent}")
