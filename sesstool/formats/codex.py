"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl[.zst]`.

A line is an envelope `{timestamp, ordinal?, type, payload}`; `session_meta` comes first. The
model reads the `response_item` records; `event_msg` records tell the same to the user
interface. The newest `compacted` with a replacement history replaces all before it. Before the
envelope (0.20) lines were bare items.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from sesstool.formats.base import (
    Dependent,
    Format,
    Question,
    Score,
    Tracker,
    argument_fault,
    blocks,
    mapping,
    share,
    text,
)
from sesstool.formats.codex_forks import children
from sesstool.formats.codex_tracker import CodexTracker
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    Meta,
    StateChange,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.wording import answer_text, is_placeholder
from sesstool.records.jsonspan import dumps
from sesstool.records.live import lock_is_held

_ENVELOPE_TYPES = frozenset(
    [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    ]
)
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_OTHER_ITEMS = frozenset(
    [
        "web_search_call",
        "image_generation_call",
        "compaction",
        "compaction_summary",
        "context_compaction",
        "configuration_update",
        "ghost_snapshot",
        "agent_message",
        "other",
    ]
)
_BARE_ITEMS = _CALLS | _RESULTS | _OTHER_ITEMS | {"message", "reasoning"}
_CIPHERTEXT = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_MASK = re.compile(r"redacted|masked|removed|omitted|secret|x{8,}", re.IGNORECASE)
_FILE_ID = re.compile(r"rollout-.*?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.jsonl")
# What Codex itself puts into a user message; a person wrote none of it.
_INJECTED = ("<environment_context>", "<user_instructions>", "<permissions", "<skills", "<turn_")


class Codex(Format):
    """See the module."""

    name = "codex"
    title = "Codex"
    schema = "codex"
    provider = "openai-responses"
    pairing = "order"
    waits = frozenset({"request_user_input"})
    harmless = frozenset({"update_plan", "view_image", "list_mcp_resources", "tool_search"})

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        envelope = share(values, (_is_envelope(v) for v in values))
        if envelope >= 50:
            return Score(envelope, f"{envelope} % of the records have a Codex envelope")
        bare = share(values, (_is_bare(v) for v in values))
        marked = any("record_type" in v or _is_bare_header(v) for v in values)
        if marked:
            return Score(bare, f"{bare} % of the records are bare Codex items")
        return Score(envelope, f"{envelope} % of the records have a Codex envelope")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind = text(value.get("type"))
        out = Meaning(time=text(value.get("timestamp")))
        if "payload" not in value:
            if kind in _BARE_ITEMS:
                out.events += _item(value, "")
            elif _is_bare_header(value):
                out.session = text(value.get("id"))
                out.events.append(Meta("", "session_meta"))
            else:
                out.events.append(Meta("", text(value.get("record_type"))))
            return out
        payload = mapping(value["payload"])
        if kind == "response_item":
            out.events += _item(payload, "/payload")
        elif kind == "session_meta":
            out.session = text(payload.get("id"))
            out.cwd = text(payload.get("cwd"))
            out.version = text(payload.get("cli_version"))
            out.events.append(Meta("", kind))
        elif kind == "compacted":
            replaces = type(payload.get("replacement_history")) is list
            out.events.append(Checkpoint("/payload", summary=replaces))
            out.events += _kept_reasoning(blocks(payload.get("replacement_history")))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            out.events.append(StateChange("/payload", "rollback", payload.get("num_turns")))
        elif kind in _ENVELOPE_TYPES:
            if kind == "turn_context":
                out.cwd, out.model = text(payload.get("cwd")), text(payload.get("model"))
            out.events.append(Meta("/payload", text(payload.get("type")) or kind))
        else:
            out.events.append(Unknown("", kind))
        return out

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return CodexTracker(self.session_id(path) if path else "")

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`. Codex's own word for a lost output is "aborted"."""
        words = answer_text(question.evidence, question.name)
        if question.evidence.state != "completed":
            words = f"aborted {words}"
        kind = text(mapping(question.call).get("type"))
        output_kind = {
            "custom_tool_call": "custom_tool_call_output",
            "tool_search_call": "tool_search_output",
        }.get(kind, "function_call_output")
        item: dict[str, Any] = {"type": output_kind, "call_id": question.call_id}
        if output_kind == "tool_search_output":
            item |= {"status": "failed", "execution": "client", "tools": []}
        else:
            item["output"] = words
        if "payload" not in question.record:
            return dumps(item)
        out: dict[str, Any] = {"timestamp": question.record.get("timestamp")}
        if question.ordinal >= 0:
            out["ordinal"] = question.ordinal
        return dumps(out | {"type": "response_item", "payload": item})

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        configured = os.environ.get("CODEX_HOME")
        for folder in path.absolute().parents:
            if folder.name in ("sessions", "archived_sessions") and (
                folder.parent.name == ".codex" or str(folder.parent) == configured
            ):
                return folder.parent
        return None

    def writer(self, path: Path) -> str | None:
        """See `Format.writer`: a running Codex holds a lock named by the thread."""
        home = self.home(path)
        thread = self.session_id(path)
        if home is None or not thread:
            return None
        lock = home / "thread-writer-locks" / f"{thread}.lock"
        if lock.exists() and lock_is_held(lock):
            return f"Codex runs this thread (it holds {lock.name})"
        return None

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        found = _FILE_ID.match(path.name)
        return found.group(1) if found else ""

    def find(self, prefix: str) -> Iterable[Path]:
        """See `Format.find`."""
        home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
        return home.glob(f"*sessions/**/rollout-*{escape(prefix)}*.jsonl*")

    def dependents(self, path: Path) -> Iterable[Dependent]:
        """See `Format.dependents`: a paginated fork names a byte offset of its parent."""
        home, thread = self.home(path), self.session_id(path)
        if home is not None and thread:
            yield from children(home, thread)

    def resume_command(self, session_id: str, cwd: str) -> str:
        """See `Format.resume_command`."""
        return f"codex resume {session_id}" if session_id else ""


def _is_envelope(value: dict[str, Any]) -> bool:
    return "payload" in value and text(value.get("type")) in _ENVELOPE_TYPES


def _is_bare_header(value: dict[str, Any]) -> bool:
    return "id" in value and "timestamp" in value and "instructions" in value


def _is_bare(value: dict[str, Any]) -> bool:
    return (
        _is_bare_header(value) or "record_type" in value or text(value.get("type")) in _BARE_ITEMS
    ) and "payload" not in value


def _item(item: dict[str, Any], pointer: str) -> list[Event]:
    """The event of a Responses item."""
    kind = text(item.get("type"))
    call_id = text(item.get("call_id"))
    if kind == "message":
        role = text(item.get("role"))
        content = item.get("content")
        prompt = role == "user" and not _injected(content)
        return [Message(f"{pointer}/content", role, content, prompt=prompt)]
    if kind in _CALLS:
        if kind == "tool_search_call" and item.get("execution") == "server":
            return [Meta(pointer, kind)]
        if not call_id and kind in ("local_shell_call", "tool_search_call"):
            # Very old shell calls are paired by their item's id, or answered by nobody.
            return [Meta(pointer, kind)]
        arguments = item.get("arguments", item.get("input", item.get("action")))
        fault = argument_fault(arguments) if kind == "function_call" else ""
        return [ToolCall(pointer, call_id, text(item.get("name")) or kind, arguments, fault=fault)]
    if kind in _RESULTS:
        if kind == "tool_search_output" and item.get("execution") == "server":
            return [Meta(pointer, kind)]
        output = item.get("output")
        return [ToolResult(pointer, call_id, output, placeholder=is_placeholder(output))]
    if kind == "reasoning":
        return [Thinking(pointer, _cipher_fault(item.get("encrypted_content")))]
    if kind in ("compaction", "compaction_summary"):
        return [Thinking(pointer, _cipher_fault(item.get("encrypted_content", "")))]
    if kind in _OTHER_ITEMS:
        return [Meta(pointer, kind)]
    return [Unknown(pointer, kind)]


def _kept_reasoning(items: list[Any]) -> list[Event]:
    """The reasoning that a compaction keeps in its replacement history."""
    return [
        Thinking(f"/payload/replacement_history/{n}", _cipher_fault(item.get("encrypted_content")))
        for n, item in enumerate(map(mapping, items))
        if item.get("type") == "reasoning"
    ]


def _injected(content: Any) -> bool:
    first = mapping(content[0]) if type(content) is list and content else {}
    return text(first.get("text")).lstrip().startswith(_INJECTED)


def _cipher_fault(value: Any) -> str:
    if value is None:
        return ""
    if type(value) is not str or not _CIPHERTEXT.fullmatch(value) or _MASK.search(value):
        return "its encrypted_content is no ciphertext"
    return ""
