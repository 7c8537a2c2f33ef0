"""Factory Droid sessions: `~/.factory/sessions/<project>/<session id>.jsonl`.

A header comes first; messages hold Anthropic's blocks, in an envelope with an id. Newer versions
link them by parentId, the first one to the header; older ones have no parents, and their messages
follow each other. What the agent itself makes of damage is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.anthropic_blocks import MESSAGE_FROZEN, MESSAGE_OPAQUE, block_event
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning, Message, Meta, Thinking, ToolResult, Unknown
from sesstool.formats.forking import UuidForker
from sesstool.formats.side_files import below, home_of
from sesstool.formats.terms import Question, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text
from sesstool.records.jsonspan import dumps
from sesstool.records.recover import Record

_META = frozenset(
    {"session_start", "session_end", "todo_state", "session_settings", "agent_turn_outcome"}
) | {"compaction_state"}
_FILE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.jsonl")
_FROZEN = "type id parentId timestamp version owner hostId"


class DroidTracker(Tracker):
    """Knows the header's id: what hangs from it is a root."""

    def __init__(self) -> None:
        """Start before the first record."""
        self._header = ""

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        self._header = self._header or meaning.session
        if meaning.parent and meaning.parent == self._header:
            meaning.parent = None


class Droid(Format):
    """See the module."""

    fields = fields_of(_FROZEN, "") | fields_of(MESSAGE_FROZEN, MESSAGE_OPAQUE, "message.")
    name = "droid"
    title = "Factory Droid"
    time_key = "timestamp"
    schema = "droid"
    linked = True
    id_key = "id"
    parent_key = "parentId"
    pairing = "turn"
    programs = ("droid",)
    waits = frozenset({"AskUser", "ExitSpecMode"})
    harmless = frozenset({"Read", "Grep", "Glob", "LS", "WebSearch", "FetchUrl"})
    forker = UuidForker
    resumes = "droid --resume"

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if any("uuid" in v or _is_foreign(v) for v in values):
            return Score(0, "messages carry what Factory Droid does not write")
        ours = share(values, map(_is_ours, values))
        if path is not None and ours and self.home(path):
            return Score(max(ours, 90), "lies in a Factory Droid home")
        return Score(ours, f"{ours} % of the records are of Factory Droid")

    def fitting(self, values: Sequence[dict[str, Any]]) -> Format:
        """See `Format.fitting`: older versions name no parents."""
        messages = [v for v in values if v.get("type") == "message"]
        linked = any("parentId" in v for v in messages) or not messages
        return self if linked else _PLAIN

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind = text(value.get("type"))
        out = Meaning(time=text(value.get("timestamp")))
        if kind == "session_start":
            out.session, out.cwd = text(value.get("id")), text(value.get("cwd"))
            out.version = text(value.get("version"))
        if kind != "message":
            out.events.append(Meta("", kind) if kind in _META else Unknown("", kind))
            return out
        if self.linked:
            out.linked, out.id = True, text(value.get("id"))
            parent = value.get("parentId", "")
            out.parent = None if parent is None else text(parent)
        _talk(mapping(value.get("message")), out)
        return out

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return DroidTracker()

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        failed = question.evidence.state != "completed"
        block = {
            "type": "tool_result",
            "tool_use_id": question.call_id,
            "content": answer_text(question.evidence, question.name),
            "is_error": failed,
        }
        above = question.parent or text(question.record.get("id"))
        name = question.id or str(uuid5(NAMESPACE_OID, f"{above}/{question.call_id}"))
        return self._record(question.record, name, above, [block])

    def prompt(
        self, beside: dict[str, Any], record_id: str, words: str, parent: str | None = None
    ) -> bytes:
        """See `Format.prompt`."""
        return self._record(beside, record_id, parent, [{"type": "text", "text": words}])

    def _record(
        self, beside: dict[str, Any], record_id: str, parent: str | None, content: list[Any]
    ) -> bytes:
        """A user's message, at the time of the record beside it."""
        out: dict[str, Any] = {"type": "message", "id": record_id}
        if "timestamp" in beside:
            out["timestamp"] = beside["timestamp"]
        out["message"] = {"role": "user", "content": content}
        if self.linked:
            out["parentId"] = parent
        return dumps(out | {"madeBy": "sesstool"})

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`."""
        header = value.get("type") == "session_start"
        return 1, text(value.get("sessionTitle") or value.get("title")) if header else ""

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return home_of(path, ".factory", configured, ("sessions",))

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        return path.stem if self.home(path) and _FILE_ID.fullmatch(path.name) else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        return (configured() / "sessions").rglob(f"{escape(prefix)}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "sessions"]

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`."""
        return "".join(inside[1:2]), ""

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        if self.home(path) is not None:
            yield from below(path.parent, f"{path.stem}.settings.json")


class _Plain(Droid):
    """Messages without parents, one behind the other."""

    linked = False


_PLAIN = _Plain()


def configured() -> Path:
    """The home of this user."""
    return Path.home() / ".factory"


def _is_ours(value: dict[str, Any]) -> bool:
    kind = text(value.get("type"))
    if kind == "message":
        return text(mapping(value.get("message")).get("role")) in ("user", "assistant")
    return kind == "session_start" or (kind in _META and "id" in value)


def _is_foreign(value: dict[str, Any]) -> bool:
    """Whether a message is one of pi's, which writes the same envelope."""
    message = mapping(value.get("message"))
    return (
        value.get("type") == "session"
        or type(message.get("timestamp")) is int
        or any(mapping(b).get("type") == "toolCall" for b in blocks(message.get("content")))
    )


def _talk(message: dict[str, Any], out: Meaning) -> None:
    """The events of a message: what vendor made its thoughts is not told, so none is refused."""
    role, content = text(message.get("role")), message.get("content")
    out.model = text(message.get("model"))
    for n, block in enumerate(map(mapping, blocks(content))):
        event = block_event(block, f"/message/content/{n}")
        if event is not None:
            out.events.append(Thinking(event.pointer) if type(event) is Thinking else event)
    prompt = role == "user" and not any(type(event) is ToolResult for event in out.events)
    out.events.append(Message("/message/content", role, content, prompt=prompt))
