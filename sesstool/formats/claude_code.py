"""Claude Code transcripts: `~/.claude/projects/<slug>/<session id>.jsonl`.

Records form a tree by uuid and parentUuid. One model answer is written as several records that
share `message.id`; each parallel call's result hangs from its own call, so that a healthy file
has branches. A compaction is a `compact_boundary` without a parent, then a summary.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from sesstool.errors import InputError
from sesstool.formats.anthropic_blocks import MESSAGE_FROZEN, MESSAGE_OPAQUE, block_event
from sesstool.formats.base import Format
from sesstool.formats.claude_fork import ClaudeForker
from sesstool.formats.claude_home import (
    BEYOND,
    configured,
    like_home,
    registered,
    session_files,
    session_traces,
)
from sesstool.formats.claude_records import COPIED, FROZEN, META_TYPES, OPAQUE, twins_of
from sesstool.formats.claude_tracker import ClaudeTracker
from sesstool.formats.claude_writer import ClaudeScribe
from sesstool.formats.events import (
    Checkpoint,
    Meaning,
    Message,
    Meta,
    StateChange,
    ToolResult,
    Unknown,
)
from sesstool.formats.payloads import Payload, of_results
from sesstool.formats.side_files import below, home_of, present
from sesstool.formats.terms import Origin, Question, Running, Score, SideFile, Trace, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_blank
from sesstool.records.heal import decode_any
from sesstool.records.jsonspan import dumps
from sesstool.records.processes import processes
from sesstool.records.source import read_file

CHAIN_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
_TALK = frozenset({"user", "assistant"})
_AGENT = "agent-"  # so the files of subagents begin, which lay beside sessions before 2.1.2
# Where titles stand: a person's own, the model's, and that of some earlier session.
_TITLES = {
    "custom-title": (2, "customTitle"),
    "ai-title": (1, "aiTitle"),
    "summary": (0, "summary"),
}
_PLACEHOLDER = re.compile(r"<[A-Z_]+>")
# What a project's folder name has a hyphen for.
_NO_SLUG = re.compile(r"[^A-Za-z0-9]")
_INDEX = "start the agent, which may mend it"
_UUID_NAME = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.jsonl")


class ClaudeCode(Format):
    """See the module."""

    fields = fields_of(FROZEN, OPAQUE) | fields_of(
        MESSAGE_FROZEN, MESSAGE_OPAQUE, "message.", "data.message.message."
    )
    name = "claude-code"
    title = "Claude Code"
    time_key = "timestamp"
    beyond = BEYOND
    parts_begin = _AGENT
    schema = "claude-code"
    provider = "anthropic"
    linked = True
    id_key = "uuid"
    parent_key = "parentUuid"
    pairing = "turn"
    programs = ("claude",)
    waits = frozenset({"AskUserQuestion", "ExitPlanMode"})
    forker = ClaudeForker
    scribe = ClaudeScribe
    resumes = "claude --resume"
    variables = ("CLAUDE_CONFIG_DIR",)
    harmless = frozenset(
        {"Read", "Grep", "Glob", "LS", "NotebookRead", "WebSearch", "TodoWrite", "BashOutput"}
    )

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        envelope = share(values, (_is_ours(v) for v in values))
        foreign = share(values, (_is_look_alike(v) for v in values))
        if foreign:
            return Score(0, "records carry message.parts, as look-alikes of Claude Code do")
        if path is not None and self.home(path) and envelope:
            return Score(max(envelope, 90), "lies in a Claude Code home")
        return Score(envelope, f"{envelope} % of the records have a Claude Code envelope")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        kind = text(value.get("type"))
        out = Meaning(
            id=text(value.get("uuid")),
            session=text(value.get("sessionId")),
            time=text(value.get("timestamp")),
            version=text(value.get("version")),
            cwd=text(value.get("cwd")),
        )
        out.linked = kind in CHAIN_TYPES or ("uuid" in value and "parentUuid" in value)
        if out.id.startswith("<") and _PLACEHOLDER.fullmatch(out.id):
            # Somebody replaced all ids by one word: such records can no longer form a tree.
            out.linked = False
        if out.linked:
            parent = value.get("parentUuid")
            # No parent at all is not the same as null: null is a root.
            missing = "" if "parentUuid" not in value or parent is not None else None
            out.parent = parent if type(parent) is str else missing
            if value.get("isSidechain") is True:
                out.scope = text(value.get("agentId")) or "sidechain"
        if kind in _TALK:
            _talk(value, kind, out)
        elif kind == "system":
            if value.get("subtype") == "compact_boundary":
                out.events.append(Checkpoint(""))
            else:
                out.events.append(Meta("", text(value.get("subtype"))))
        elif kind == "last-prompt":
            out.events.append(StateChange("", "leaf", value))
        elif kind in CHAIN_TYPES or kind in META_TYPES:
            out.events.append(Meta("", kind))
        else:
            out.events.append(Unknown("", kind))
        return out

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return ClaudeTracker(path)

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`. The time is the call's: a newer one would make it the leaf."""
        record, words = question.record, answer_text(question.evidence, question.name)
        failed = question.evidence.state != "completed"
        result = {"tool_use_id": question.call_id, "type": "tool_result", "content": words}
        out: dict[str, Any] = {"parentUuid": record.get("uuid")}
        out |= {key: record[key] for key in COPIED if key in record}
        out |= {
            "type": "user",
            "message": {"role": "user", "content": [result | {"is_error": failed}]},
            "uuid": question.id,
            "timestamp": record.get("timestamp"),
            "toolUseResult": words,
            "sourceToolAssistantUUID": record.get("uuid"),
            "madeBy": "sesstool",
        }
        return dumps(out)

    def prompt(
        self, beside: dict[str, Any], record_id: str, words: str, parent: str | None = None
    ) -> bytes:
        """See `Format.prompt`."""
        out: dict[str, Any] = {"parentUuid": parent}
        out |= {key: beside[key] for key in COPIED if key in beside}
        out |= {
            "type": "user",
            "message": {"role": "user", "content": words},
            "uuid": record_id,
            "timestamp": beside.get("timestamp"),
            "madeBy": "sesstool",
        }
        return dumps(out)

    def kept(self, value: dict[str, Any]) -> Iterable[str]:
        """See `Format.kept`. The anchor may be the summary, which a crash can part from it."""
        meta = mapping(value.get("compactMetadata"))
        segment = mapping(meta.get("preservedSegment"))
        names = [segment.get("headUuid"), segment.get("tailUuid")]
        names += blocks(mapping(meta.get("preservedMessages")).get("uuids"))
        return [name for name in names if type(name) is str]

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """See `Format.origin`. A fork that keeps its ids tells nothing."""
        told = mapping(value.get("forkedFrom"))
        name = text(told.get("sessionId"))
        return Origin(name, "copy", text(told.get("messageUuid"))) if name else None

    def owner(self, values: Sequence[dict[str, Any]], path: Path) -> str:
        """See `Format.owner`: old versions have subagents, and titles, in files beside it.

        Where a resume began, 2.0 started subagents for a session that stays empty: what they
        answered is of the one that was resumed.
        """
        if values and all(value.get("type") == "summary" for value in values):
            return text(values[-1].get("leafUuid"))
        if path.name.startswith(_AGENT) and values and all(map(_is_aside, values)):
            return text(values[-1].get("sessionId"))
        return ""

    def is_piece(
        self, records: Iterable[dict[str, Any]], path: Path, others: Container[str]
    ) -> bool:
        """See `Format.is_piece`."""
        if path.name.startswith(_AGENT):
            return all(_is_aside(v) and text(v.get("sessionId")) not in others for v in records)
        return all(value.get("type") == "summary" for value in records)

    def may_own(self, path: Path, piece: Path) -> bool:
        """See `Format.may_own`: the folders of projects tell apart what has one id."""
        return path.parent == piece.parent

    def tag(self, value: dict[str, Any]) -> str | None:
        """See `Format.tag`."""
        return text(value.get("tag")) if value.get("type") == "tag" else None

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`. Versions before 2.0 begin a file with summaries of others."""
        rank, key = _TITLES.get(text(value.get("type")), (0, ""))
        return rank, text(value.get(key))

    def continues(self, value: dict[str, Any]) -> str:
        """See `Format.continues`: a compaction hangs from nothing."""
        return text(value.get("logicalParentUuid"))

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        yield from of_results(self.meaning(value))
        yield from twins_of(value)

    def is_output(self, part: Path) -> bool:
        """See `Format.is_output`."""
        return part.parent.name == "tool-results"

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return home_of(path, ".claude", configured, ("projects",))

    def writer(self, path: Path) -> str | None:
        """See `Format.writer`: the agent registers each running process with its session.

        Versions before 2.1 do not: one that runs in the session's project may be its writer.
        """
        home, name = self.home(path), self.session_id(path)
        if home is None:
            return None
        known = list(registered(home))
        for one in known:
            if one.session and one.session == name:
                return f"Claude Code runs this session ({one.who})"
        for process in processes(*self.programs, but=[one.pid for one in known]):
            if _NO_SLUG.sub("-", process.folder) in path.parts:
                return f"Claude Code runs in the folder of this session (process {process.pid})"
        return None

    def running(self, home: Path) -> Iterable[Running]:
        """See `Format.running`."""
        return registered(home)

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        return path.stem if _UUID_NAME.fullmatch(path.name) else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        return configured().glob(f"projects/*/{escape(prefix)}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "projects"]

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: `projects/<slug>/<session id>/…` is of that session."""
        owner = "".join(inside[2:3])
        return "".join(inside[1:2]), owner if self.session_id(Path(f"{owner}.jsonl")) else ""

    def drawn(self, path: Path) -> Iterable[SideFile]:
        """See `Format.drawn`."""
        head = path.with_suffix("") / "resume-head.jsonl"
        if head.is_file():
            yield SideFile(head, "Claude Code compares the two, and reads all where they differ")
        index = path.parent / "sessions-index.json"
        if index.is_file() and self.home(path):
            fate = "versions before 2.1.30 list the session as it was until they write to it"
            yield SideFile(index, f"{fate}; newer ones do not read it")

    def indexed(self, path: Path) -> Iterable[tuple[Path, str, int]]:
        """See `Format.indexed`."""
        index = path.parent / "sessions-index.json"
        try:
            rows = blocks(mapping(decode_any(read_file(index))).get("entries"))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            raise InputError(f"its index cannot be read: {index}", hint=_INDEX) from error
        for number, row in enumerate(rows):
            if mapping(row).get("sessionId") == self.session_id(path) != "":
                yield index, "/entries", number

    def others(self, path: Path) -> Iterable[SideFile]:
        """See `Format.others`."""
        home = self.home(path) or like_home(path)
        if home is not None:
            yield from present(
                home,
                {
                    "history.jsonl": "the prompts of all sessions",
                    "paste-cache": "what was pasted into prompts",
                    "plans": "the plans that were made",
                    "todos": "the lists of what was to be done",
                },
            )
        notes = {"memory": "what the agent keeps in mind of the project"}
        yield from present(path.parent, notes)

    def traces(self, path: Path) -> Iterable[Trace]:
        """See `Format.traces`."""
        home, name = self.home(path) or like_home(path), self.session_id(path)
        if home is not None and name:
            yield from session_traces(home, name)

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        yield from below(path.parent, path.stem)
        home, name = self.home(path), self.session_id(path)
        if home is not None:
            yield from below(path.parent, "sessions-index.json")
        if home is not None and name:
            yield from session_files(home, name)

    def leaves_out(self, words: str) -> bool:
        """See `Format.leaves_out`."""
        return bool(words)

    def empty_is_sound(self, path: Path) -> bool:
        """See `Format.empty_is_sound`.

        2.0 makes the file before it has anything to write, for sessions and subagents alike.
        """
        return path.name.startswith("agent-") or bool(_UUID_NAME.fullmatch(path.name))


def _is_aside(value: dict[str, Any]) -> bool:
    return value.get("isSidechain") is True


def _is_ours(value: dict[str, Any]) -> bool:
    kind = text(value.get("type"))
    if kind in CHAIN_TYPES:
        return "uuid" in value or "parentUuid" in value or "sessionId" in value
    return kind in META_TYPES or ("uuid" in value and "parentUuid" in value)


def _is_look_alike(value: dict[str, Any]) -> bool:
    """Qwen Code writes the same envelope around another vendor's message."""
    message = value.get("message")
    return (type(message) is dict and "parts" in message) or (
        value.get("subtype") == "ui_telemetry"
    )


def _talk(value: dict[str, Any], kind: str, out: Meaning) -> None:
    """The events of a user or assistant record."""
    message = mapping(value.get("message"))
    content = message.get("content")
    model = text(message.get("model"))
    hidden = (
        model == "<synthetic>"
        or value.get("isApiErrorMessage") is True
        or value.get("isVisibleInTranscriptOnly") is True
    )
    if kind == "assistant":
        out.turn = text(message.get("id"))
        out.model = "" if hidden else model
    if value.get("isCompactSummary") is True:
        out.events.append(Checkpoint("", summary=True, hollow=is_blank(content)))
    results = False
    for n, block in enumerate(content if type(content) is list else ()):
        if type(block) is dict and block.get("type") != "text":
            event = block_event(block, f"/message/content/{n}")
            if event is not None:
                out.events.append(event)
                results = results or type(event) is ToolResult
    prompt = kind == "user" and not results and value.get("isMeta") is not True
    out.events.append(Message("/message/content", kind, content, hidden, prompt))
