"""MyCodeAgent's transcript: `transcript-<id>.jsonl`, the one format here that holds all facts.

Messages go in and come out as OpenAI's. What an event has no member for is kept in its metadata,
which the agent passes over, so that each message comes back as it was given; only one with calls
that was given no content has None.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sesstool.errors import UsageError
from sesstool.formats.mycodeagent import MyCodeAgent, error_of, result_of
from sesstool.formats.terms import Evidence, Question
from sesstool.formats.values import blocks, mapping, text
from sesstool.model.effects import decoded
from sesstool.model.units import flat
from sesstool.store.chat import Chat, checked
from sesstool.store.codec import Call, compact
from sesstool.store.facts import Checkpoint, End, Fact, Message, Phase, Said, Transition
from sesstool.store.reads import Read, as_cache, of_cache

_PHASES = frozenset({"requested", "started", "completed", "failed"})
# Where the members of a message are kept that the agent's own cannot tell.
_GIVEN = "openai"
# What metadata tells of a message anew where its calls change.
_OURS = ("action_type", "tool_calls", "tool_name", "tool_call_id", "tool_args", _GIVEN)
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_SENT_AS = {"summary": "system", "tool": "user"}


class MyCodeAgentCodec(Chat):
    """See the module. A run is a prompt with all that follows, a step an answer of the model."""

    format = MyCodeAgent()
    holds_facts = True

    def __init__(self, session_id: str, project: str = "") -> None:
        """See `Codec`."""
        super().__init__(session_id, project)
        self._runs = self._step = 0
        self.run = "run-1"
        # The tools and runs of the calls since the last prompt, by their ids.
        self._calls: dict[str, tuple[str, str]] = {}

    @classmethod
    def path(cls, folder: Path, session_id: str) -> Path:
        """See `Codec.path`."""
        return folder / f"transcript-{session_id}.jsonl"

    def line(self, record: dict[str, Any]) -> bytes:
        """See `Codec.line`: with blanks, as Python's own writer has them."""
        return compact(record, separators=(", ", ": "))

    def encode(self, fact: Fact) -> dict[str, Any] | None:
        """See `Codec.encode`."""
        kind, payload = self._payload(fact)
        run, step = self.run, self._step
        if payload.get("role") == "user":
            run, step = f"run-{self._runs + 1}", 0
        elif payload.get("role") == "assistant":
            step += 1
        elif call := self._calls.get(_call_id(payload)):
            run = call[1]
        return {
            "event_id": f"evt-{uuid4().hex}",
            "timestamp": _now(),
            "session_id": self.session_id,
            "run_id": run,
            "step": step,
            "event_type": kind,
            "payload": payload,
            "schema_version": 1,
        }

    def replaced(self, record: dict[str, Any], message: Message) -> dict[str, Any]:
        """See `Codec.replaced`."""
        payload = self._told(checked(message), recovered=False)
        kept = mapping(mapping(record.get("payload")).get("metadata"))
        kept = {key: value for key, value in kept.items() if key not in _OURS}
        return record | {"payload": payload | {"metadata": kept | payload["metadata"]}}

    def _payload(self, fact: Fact) -> tuple[str, dict[str, Any]]:
        if isinstance(fact, Said):
            return "message", self._told(checked(fact.message), recovered=fact.recovered)
        if isinstance(fact, Phase):
            tool = {"tool_name": fact.tool, "tool_call_id": fact.call_id, "status": fact.name}
            key = {"completed": "result", "failed": "error"}.get(fact.name, "args")
            value = decoded(fact.value) or {} if key == "args" else fact.value
            return "tool_lifecycle", tool | {key: value} | _cache(fact.read)
        if isinstance(fact, Transition):
            steps = {"from_state": fact.before, "to_state": fact.to}
            return "state_transition", steps | {
                "reason": fact.reason,
                "details": dict(fact.details),
            }
        if isinstance(fact, End):
            return "terminal", {"reason": fact.reason, "details": dict(fact.details)}
        return "checkpoint", {
            "summary": fact.summary,
            "source_message_count": fact.count,
            "retain_start_idx": fact.keep_from,
            "messages_compacted": fact.keep_from,
            "metadata": dict(fact.metadata),
            **({"runtime_state": cache} if (cache := _cache(fact.read)) else {}),
            "checkpoint_id": fact.id or f"cp-{uuid4().hex}",
            "created_at": _now(),
        }

    def _told(self, message: dict[str, Any], *, recovered: bool) -> dict[str, Any]:
        """The payload of a message, from which `_message` makes the same one again."""
        compact(message)  # of what is no JSON, or holds itself, nothing can be told
        role = text(message["role"])
        metadata: dict[str, Any] = {}
        if role not in ("user", "assistant", "tool"):
            raise UsageError(
                "MyCodeAgent's transcript keeps no system message",
                hint="send it before the messages of the session: it is the program's own",
            )
        if calls := self.calls(message):
            given = [{"id": c.id, "name": c.tool, "arguments": c.arguments} for c in calls]
            metadata = {"action_type": "tool_call", "tool_calls": given}
        elif role == "assistant":
            metadata = {"action_type": "final"}
        elif role == "tool":
            call_id = text(message.get("tool_call_id"))
            name, _ = self._calls.get(call_id, ("", ""))
            metadata = {"tool_name": name, "tool_call_id": call_id}
        if recovered:
            metadata |= {"recovered": True, "madeBy": "sesstool"}
        payload = {"role": role, "content": flat(message.get("content")), "metadata": metadata}
        made = _message(payload)
        if more := {key: value for key, value in message.items() if made.get(key) != value}:
            metadata[_GIVEN] = more
        return payload

    def decode(self, value: dict[str, Any]) -> Fact | None:
        """See `Codec.decode`. Records of another session are none of this one's."""
        if value.get("session_id") != self.session_id:
            return None
        kind, payload = value.get("event_type"), mapping(value.get("payload"))
        step, self.run = value.get("step"), text(value.get("run_id"))
        self._step = step if type(step) is int else self._step
        if kind == "message":
            return self._said(value, mapping(payload.get("metadata")))
        if kind == "tool_lifecycle" and text(payload.get("status")) in _PHASES:
            name = payload["status"]
            shown = payload.get("args")
            if name in ("completed", "failed"):
                shown = result_of(payload) if name == "completed" else error_of(payload)
            call_id, tool = text(payload.get("tool_call_id")), text(payload.get("tool_name"))
            kept = payload.get("read_cache")
            read = of_cache(kept, self.project) if kept else ()
            return Phase(call_id, tool, name, shown, read) if call_id else None
        if kind == "state_transition":
            before = text(payload.get("from_state")) or None
            to, reason = text(payload.get("to_state")), text(payload.get("reason"))
            return Transition(to, reason, before, mapping(payload.get("details")))
        if kind == "terminal":
            return End(text(payload.get("reason")), mapping(payload.get("details")))
        return self._checkpoint(payload) if kind == "checkpoint" else None

    def _checkpoint(self, payload: dict[str, Any]) -> Checkpoint | None:
        if payload.get("legacy_snapshot_import"):
            return None
        numbers = (payload.get("retain_start_idx"), payload.get("source_message_count"))
        keep, count = (number if type(number) is int else 0 for number in numbers)
        read = of_cache(mapping(payload.get("runtime_state")).get("read_cache"), self.project)
        summary, name = text(payload.get("summary")), text(payload.get("checkpoint_id"))
        metadata = mapping(payload.get("metadata"))
        return Checkpoint(summary, max(keep, 0), count, name, read, metadata)

    def said(self, value: dict[str, Any]) -> Message | None:
        """See `Codec.said`. The agent passes over roles that it does not know."""
        if value.get("event_type") != "message" or value.get("session_id") != self.session_id:
            return None
        message = _message(mapping(value.get("payload")))
        return message if text(message["role"]) in _ROLES else None

    def _said(self, value: dict[str, Any], metadata: dict[str, Any]) -> Said | None:
        message = self.said(value)
        if message is None:
            return None
        role, older = message["role"], False
        if role == "user":
            self._calls.clear()
            number = self.run.removeprefix("run-")
            if number.isascii() and number.isdigit() and len(number) < 9:
                self._runs = max(self._runs, int(number))
        elif calls := self.calls(message):
            self._calls |= {call.id: (call.tool, self.run) for call in calls}
            older = not metadata.get("tool_calls")
        return Said(message, recovered=metadata.get("recovered") is True, older=older)

    def made_up(self, words: str) -> bool:
        """See `Codec.made_up`."""
        if '"recovered"' in words:  # few are, and a result may be long
            told = mapping(mapping(decoded(words)).get("data"))
            return told.get("recovered") is True or super().made_up(words)
        return super().made_up(words)

    def answers(self, found: list[tuple[Call, Evidence]]) -> list[Message]:
        """See `Codec.answers`: with the codes that the agent itself uses."""
        questions = (Question(call.id, call.tool, {}, None, evidence) for call, evidence in found)
        return [
            _message(mapping(json.loads(self.format.answer(question))["payload"]))
            for question in questions
        ]


def _message(payload: dict[str, Any]) -> dict[str, Any]:
    """The chat message in an event's payload."""
    given = mapping(mapping(payload.get("metadata")).get(_GIVEN))
    return _made(payload) | given if given else _made(payload)


def _made(payload: dict[str, Any]) -> dict[str, Any]:
    """The same by the members that the agent itself knows."""
    metadata = mapping(payload.get("metadata"))
    role, content = text(payload.get("role", "assistant")), payload.get("content")
    if role == "assistant":
        calls = [_call(mapping(call)) for call in blocks(metadata.get("tool_calls"))]
        if not calls and metadata.get("action_type") == "tool_call":
            older = {"id": metadata.get("tool_call_id"), "name": metadata.get("tool_name")}
            calls = [_call({**older, "arguments": metadata.get("tool_args")})]
        if calls:
            return {"role": role, "content": content or None, "tool_calls": calls}
    elif role == "tool" and (call_id := text(metadata.get("tool_call_id"))):
        return {"role": role, "tool_call_id": call_id, "content": content}
    # A summary is the agent's own, and a tool's words without a call are sent as a user's.
    return {"role": _SENT_AS.get(role, role), "content": content}


def _call_id(payload: dict[str, Any]) -> str:
    """The call that a payload is about, "" for none."""
    told = mapping(payload.get("metadata")) if payload.get("role") == "tool" else payload
    return text(told.get("tool_call_id"))


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call.get("arguments")
    if type(arguments) is not str:
        arguments = json.dumps(arguments or {}, ensure_ascii=False)
    function = {"name": text(call.get("name")), "arguments": arguments}
    return {"id": text(call.get("id")), "type": "function", "function": function}


def _cache(read: Sequence[Read]) -> dict[str, Any]:
    """Files that were read, as the agent keeps them."""
    return {"read_cache": as_cache(read, time.time())} if read else {}


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
