"""astorLM's sessions: `<id>.jsonl` with messages of blocks, and `<id>.meta.json`.

Unlike astorLM itself, which writes both anew on every save, this appends; what is there after it
is the same.
"""

from __future__ import annotations

import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from sesstool.errors import InputError, UsageError
from sesstool.formats.astorlm import AstorLM, side_file
from sesstool.formats.terms import Evidence, Question
from sesstool.formats.values import blocks, mapping, text
from sesstool.model.units import flat
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.source import read_file, unreadable
from sesstool.records.write import create
from sesstool.store.codec import Call, Codec, compact, given
from sesstool.store.facts import Fact, Message, Said

_ROLES = frozenset({"user", "assistant", "system"})
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?\d+(?:\.\d+)?(?:e[-+]\d+)?')
_FLOAT = re.compile(rb"[:\[,]-?\d+[.e]")


class AstorLMCodec(Codec):
    """See the module. Content that is given as text becomes one block of it."""

    format = AstorLM()

    @classmethod
    def path(cls, folder: Path, session_id: str) -> Path:
        """See `Codec.path`."""
        return folder / f"{session_id}.jsonl"

    def encode(self, fact: Fact) -> dict[str, Any] | None:
        """See `Codec.encode`. A message without id gets one: forks are told by it."""
        if not isinstance(fact, Said):
            return None
        message = given(fact.message)
        if text(message.get("role")) not in _ROLES:
            raise UsageError(
                "a message has no role that astorLM has",
                hint=f"give it one of {', '.join(sorted(_ROLES))}",
            )
        content = message.get("content")
        if type(content) is str:
            content = [{"type": "text", "text": content}]
        if type(content) is not list or not all(type(block) is dict for block in content):
            raise UsageError(
                "the content of a message is neither text nor a list of blocks",
                hint="give blocks as astorLM has them: text, tool_use, tool_result, thinking",
            )
        for block in content:
            if block.get("type") == "tool_result" and type(block.get("content")) is not str:
                raise UsageError(
                    "the content of a tool_result is no text, and astorLM keeps nothing else",
                    hint="give it as one text",
                )
        told = {key: value for key, value in message.items() if key != "id"}
        return {"id": text(message.get("id")) or str(uuid4()), **told, "content": content}

    def line(self, record: dict[str, Any]) -> bytes:
        """See `Codec.line`: with numbers as JavaScript writes them."""
        line = compact(record)
        return _TOKEN.sub(_number, line) if _FLOAT.search(line) else line

    def decode(self, value: dict[str, Any]) -> Fact | None:
        """See `Codec.decode`."""
        return Said(value) if text(value.get("role")) in _ROLES else None

    def calls(self, message: Message) -> list[Call]:
        """See `Codec.calls`."""
        return [
            Call(text(b.get("id")), text(b.get("name")), b.get("input"))
            for b in map(mapping, blocks(message.get("content")))
            if b.get("type") == "tool_use" and text(b.get("id"))
        ]

    def results(self, message: Message) -> list[tuple[str, str]]:
        """See `Codec.results`."""
        return [
            (text(b.get("tool_use_id")), flat(b.get("content")))
            for b in map(mapping, blocks(message.get("content")))
            if b.get("type") == "tool_result"
        ]

    def only_results(self, message: Message) -> bool:
        """See `Codec.only_results`: all results come first, then words."""
        content = map(mapping, blocks(message.get("content")))
        return all(block.get("type") == "tool_result" for block in content)

    def together(self, messages: list[Message]) -> list[Message]:
        """See `Codec.together`: all results in one message, and first in it."""
        if len(messages) < 2:
            return messages
        content = [block for message in messages for block in blocks(message.get("content"))]
        content.sort(key=lambda block: mapping(block).get("type") != "tool_result")
        return [{**messages[0], "content": content}]

    def answers(self, found: list[tuple[Call, Evidence]]) -> list[Message]:
        """See `Codec.answers`: one message with all of them."""
        questions = (Question(call.id, call.tool, {}, None, evidence) for call, evidence in found)
        content = [json.loads(self.format.answer(question)) for question in questions]
        name = uuid5(NAMESPACE_OID, dumps(content).decode("utf-8", "replace"))
        return [{"id": str(name), "role": "user", "content": content}] if content else []

    def without(self, message: Message, call_ids: set[str]) -> Message | None:
        """See `Codec.without`."""
        kept = []
        for block in blocks(message.get("content")):
            told = mapping(block)
            name = told.get("tool_use_id" if told.get("type") == "tool_result" else "id")
            if text(name) not in call_ids or told.get("type") not in ("tool_use", "tool_result"):
                kept.append(block)
        # Thinking is sent with what came of it, or not at all.
        says = any(not text(mapping(block).get("type")).endswith("thinking") for block in kept)
        return {**message, "content": kept} if says else None

    def begin(self, path: Path) -> None:
        """See `Codec.begin`: a session without its side file is none to astorLM."""
        if side_file(path).exists():
            _side(path)
        else:
            now = _now()
            told = {"id": self.session_id, "metadata": {}, "createdAt": now, "updatedAt": now}
            create(side_file(path), [_written(told)], alone=True)

    def finish(self, path: Path) -> None:
        """See `Codec.finish`."""
        raw, told = _side(path)
        if found := locate(raw, "/updatedAt"):  # all else keeps its bytes
            new = raw[: found.start] + b"%d" % _now() + raw[found.end :]
        else:
            new = _written(told | {"updatedAt": _now()})
        side = side_file(path)
        create(side, [new], mode=side.stat().st_mode & 0o777, force=True, alone=True)


def _side(path: Path) -> tuple[bytes, dict[str, Any]]:
    """What the side file of a session holds. Raises InputError."""
    side = side_file(path)
    try:
        raw = read_file(side)
        told = json.loads(raw)
    except OSError as error:
        raise unreadable("read", side, error) from error
    except (ValueError, RecursionError):
        told = None
    if type(told) is not dict:
        raise InputError(
            f"{side} is no JSON object, and astorLM reads no session without it",
            hint=f"sesstool validate {path} tells what to write there",
        )
    return raw, told


def _written(told: dict[str, Any]) -> bytes:
    """A side file."""
    return compact(told, indent=2).removesuffix(b"\n")


def _number(found: re.Match[bytes]) -> bytes:
    """A number with the digits that Python found, in JavaScript's form; a string as it is."""
    token = found[0]
    if token.startswith(b'"') or not set(token) & set(b".e"):
        return token
    sign, digits, exponent = Decimal(token.decode()).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if text == "0":
        return b"0"
    if len(text) <= point <= 21:
        text = text.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = f"0.{text.rjust(len(text) - point, '0')}"
    else:
        text = f"{text[0]}.{text[1:]}".removesuffix(".") + f"e{point - 1:+d}"
    return ("-" * sign + text).encode()


def _now() -> int:
    return time.time_ns() // 1_000_000
