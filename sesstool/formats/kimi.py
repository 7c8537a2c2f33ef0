"""Kimi CLI sessions: `~/.kimi/sessions/<hash of the project's path>/<session id>/context.jsonl`.

OpenAI-style messages, one a line, with records of roles of the agent's own between them: the
system prompt, marks to go back to, and how many tokens were used. The agent sends the messages as
they stand. A compaction, and a way back, move the file aside as `context_N.jsonl` and begin a new
one; `wire.jsonl` beside it has what the screen was told.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from glob import escape
from hashlib import md5
from pathlib import Path
from typing import Any

from sesstool.formats.arguments import argument_fault
from sesstool.formats.base import Format
from sesstool.formats.events import (
    Event,
    Meaning,
    Message,
    Meta,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.forking import FolderForker
from sesstool.formats.side_files import below, home_of, present
from sesstool.formats.terms import Fault, Place, Question, Score, SideFile, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_placeholder
from sesstool.records.jsonspan import dumps
from sesstool.records.linewise import take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source, bare_path, is_transcript, read_file

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_OWN = frozenset({"_system_prompt", "_checkpoint", "_usage"})
# What other vendors' messages have and these never do.
_FOREIGN = frozenset({"uuid", "parentUuid", "parentId", "payload", "parts", "message", "type"})
_FILE = "context.jsonl"
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# What the agent says in a person's place.
_OWN_WORDS = re.compile(r"\s*<(?:system|system-reminder|notification)\b")

_FROZEN = """
    role id token_count tool_call_id name tool_calls.id tool_calls.type tool_calls.function.name
    content.type content.image_url.id partial
"""
_OPAQUE = """
    content.encrypted content.image_url.url content.audio_url.url content.video_url.url
"""


class KimiForker(FolderForker):
    """See `FolderForker`."""

    file = _FILE


class KimiTracker(Tracker):
    """Finds answers that were written twice: their calls have ids, which the agent never reuses."""

    def __init__(self) -> None:
        """Start before the first record."""
        self._last = b""
        self._copies: list[Record] = []
        self._is_copy = False

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        calls = any(type(event) is ToolCall and event.id for event in meaning.events)
        self._is_copy = calls and record.raw == self._last
        if self._is_copy:
            self._copies.append(record)
        self._last = record.raw

    def reads(self, meaning: Meaning) -> bool:
        """See `Tracker.reads`: what is said of the copy is said once."""
        return not self._is_copy

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        for copy in self._copies:
            place = Place(copy.line, copy.start, copy.end)
            edits = (take_out(source, copy.start, copy.end),)
            message = "exact copy of the answer before it, with the same calls"
            yield Fault("copied-record", place, message, "take the copy out", edits, safe=True)


class Kimi(Format):
    """See the module."""

    fields = fields_of(_FROZEN, _OPAQUE)
    name = "kimi"
    title = "Kimi CLI"
    schema = "kimi"
    pairing = "direct"
    programs = ("kimi",)
    result_key = "tool_call_id"
    waits = frozenset({"AskUserQuestion", "ExitPlanMode"})
    harmless = frozenset({"ReadFile", "ReadMediaFile", "Glob", "Grep", "SearchWeb", "FetchURL"})
    forker = KimiForker
    resumes = "kimi --session"
    variables = ("KIMI_SHARE_DIR",)
    beyond = (
        "kimi.json in its home folder, which has the folders of projects and no texts",
        "logs in its home folder",
        "plans in its home folder, which bear no session's name",
    )

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`: where no record is the agent's own, only its folder tells."""
        ours = share(values, map(_is_ours, values))
        if path is not None and ours and path.name.startswith("context") and self.home(path):
            return Score(max(ours, 90), "lies in a Kimi CLI home")
        if not any(text(v.get("role")) in _OWN for v in values):
            return Score(0, "no record has a role that is Kimi CLI's alone")
        return Score(ours, f"{ours} % of the records are of Kimi CLI")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        role = text(value.get("role"))
        if role in _ROLES:
            return Meaning(_events(value, role))
        return Meaning([Meta("", role.strip("_")) if role in _OWN else Unknown("", role)])

    def system(self, value: dict[str, Any]) -> Any:
        """See `Format.system`."""
        return value.get("content") if value.get("role") == "_system_prompt" else None

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return KimiTracker()

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        words = answer_text(question.evidence, question.name)
        return dumps({"role": "tool", "content": words, "tool_call_id": question.call_id})

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return home_of(path, ".kimi", configured, ("sessions",))

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`: it is the name of the folder."""
        folder = path.absolute().parent
        named = path.name == _FILE and _ID.fullmatch(folder.name)
        return folder.name if named and folder.parent.name != "subagents" else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        return configured().glob(f"sessions/*/{escape(prefix)}*/{_FILE}{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "sessions"]

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`: earlier states, and what the screen was told, are parts."""
        return is_transcript(path) and bare_path(path).name == _FILE

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: subagents lie in the folder of their session."""
        hashed = "".join(inside[1:2])
        owner = inside[2] if inside[3:4] == ("subagents",) else ""
        return _projects(home / "kimi.json").get(hashed, hashed), owner

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`: all that lies in the session's folder."""
        if not self.session_id(path):
            return
        for place in below(path.parent.parent, path.parent.name):
            if bare_path(place) != bare_path(path):
                yield place

    def others(self, path: Path) -> Iterable[SideFile]:
        """See `Format.others`."""
        home = self.home(path)
        if home is not None:
            yield from present(home, {"user-history": "the prompts of each project"})

    def empty_is_sound(self, path: Path) -> bool:
        """See `Format.empty_is_sound`: the file is made before there is anything to write."""
        return path.name == _FILE


def configured() -> Path:
    """The home of this user."""
    return Path(os.environ.get("KIMI_SHARE_DIR") or Path.home() / ".kimi")


def _projects(listed: Path) -> dict[str, str]:
    """The folders of projects by the hashes that stand for them."""
    try:
        return _read(listed, listed.stat().st_mtime_ns)
    except (OSError, ValueError, RecursionError):
        return {}


@lru_cache(maxsize=4)
def _read(listed: Path, _mtime: int) -> dict[str, str]:
    """The same, read once for each state of the file. Raises OSError or ValueError."""
    rows = blocks(mapping(json.loads(read_file(listed))).get("work_dirs"))
    paths = [text(mapping(row).get("path")) for row in rows]
    return {
        md5(path.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(): path
        for path in paths
    }


def _is_ours(value: dict[str, Any]) -> bool:
    role = text(value.get("role"))
    return role in _OWN or (role in _ROLES and not _FOREIGN & value.keys())


def _events(value: dict[str, Any], role: str) -> list[Event]:
    """The events of a message."""
    content = value.get("content")
    if role == "tool":
        call_id = text(value.get("tool_call_id"))
        return [ToolResult("", call_id, content, placeholder=is_placeholder(content))]
    events: list[Event] = [
        Thinking(f"/content/{n}")
        for n, block in enumerate(blocks(content))
        if mapping(block).get("type") == "think"
    ]
    for n, call in enumerate(map(mapping, blocks(value.get("tool_calls")))):
        function = mapping(call.get("function"))
        arguments = function.get("arguments")
        fault, name = argument_fault(arguments), text(function.get("name"))
        at, call_id, inside = f"/tool_calls/{n}", text(call.get("id")), "/function/arguments"
        events.append(ToolCall(at, call_id, name, arguments, False, fault, inside, as_text=True))
    if content or not events:
        prompt = role == "user" and not _is_own(content)
        events.append(Message("/content", role, content, prompt=prompt))
    elif role == "assistant":
        events.append(Message("/content", role, content))
    return events


def _is_own(content: Any) -> bool:
    """Whether the agent says a message in a person's place."""
    first = mapping(blocks(content)[0]).get("text") if blocks(content) else content
    return type(first) is str and bool(_OWN_WORDS.match(first))
