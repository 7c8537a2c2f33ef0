"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl[.zst]`.

A line is an envelope `{timestamp, ordinal?, type, payload}`; `session_meta` comes first. The
model reads the `response_item` records; `event_msg` records tell the same to the user
interface. The newest `compacted` with a replacement history replaces all before it. Before the
envelope (0.20) lines were bare items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from sesstool.formats.base import Format
from sesstool.formats.codex_forks import (
    FOLDERS,
    LOCKS,
    CodexForker,
    children,
    codex_home,
    configured,
)
from sesstool.formats.codex_tracker import CodexTracker
from sesstool.formats.codex_writer import CodexScribe
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Meta,
    StateChange,
    Thinking,
    Unknown,
)
from sesstool.formats.payloads import Payload, twins
from sesstool.formats.responses_items import (
    ITEM_FROZEN,
    ITEM_OPAQUE,
    ITEMS,
    answer_item,
    cipher_fault,
    item_events,
    item_payloads,
)
from sesstool.formats.side_files import present, starting
from sesstool.formats.terms import (
    Dependent,
    Origin,
    Question,
    Running,
    Score,
    SideFile,
    Trace,
    Tracker,
)
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.records.jsonspan import dumps, join
from sesstool.records.live import lock_is_held, locker
from sesstool.records.source import is_transcript

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
_ERASE = "with Codex closed, delete {0}, {0}-wal and {0}-shm: it makes them anew"
_HISTORY = ("session_id", "conversation_id")  # the newer and the older name
# What the databases hold, and what is lost with one that Codex makes anew from the rollouts.
_DATABASES = {
    "state_": ("titles and first prompts", "pins, names, projects and what was read"),
    "thread_history_": ("messages and what tools returned", "nothing"),
    "logs_": ("what Codex notes of its own work", "the notes of all sessions"),
}
_BEYOND = (
    "memories, where Codex may have noted what it drew from a session",
    "log/codex-tui.log, and what config.toml says of folders and projects",
    "databases where CODEX_SQLITE_HOME or sqlite_home in config.toml says so",
    "commits that older versions made of a project (ghost snapshots), in its own .git",
    "tasks and sessions that Codex or ChatGPT keep in the cloud, on the desktop or in an editor",
)
_HISTORIES = ("replacement_history", "guardian_history")
_OUTPUTS = (
    *("aggregated_output", "formatted_output", "stdout", "stderr", "chunk"),
    *("results", "content_items", "contentItems"),
)
_RESULT = ("content", "structuredContent", "structured_content", "_meta")
_FILE_ID = re.compile(r"rollout-.*?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.jsonl")


_FROZEN = """
    timestamp ordinal record_type payload.timestamp payload.turn_id payload.thread_id
    payload.session_id payload.root_turn_id payload.sender_thread_id payload.forked_from_id
    payload.parent_thread_id payload.history_base.** payload.history_mode payload.model
    payload.model_provider payload.originator payload.cli_version payload.source
    payload.thread_source payload.approval_policy payload.effort payload.info.**
    payload.rate_limits.** payload.git.commit_hash payload.replacement_history.ghost_commit.**
    payload.ghost_commit.** payload.context_window.** payload.target_item_id
    payload.started_at payload.started_at_ms payload.completed_at payload.completed_at_ms
    payload.time_to_first_token_ms payload.duration.** payload.duration_ms
"""


class Codex(Format):
    """See the module."""

    fields = fields_of(_FROZEN, "payload.images") | fields_of(
        ITEM_FROZEN, ITEM_OPAQUE, "", "payload.", "payload.replacement_history.", "payload.item."
    )
    name = "codex"
    title = "Codex"
    time_key = "timestamp"
    beyond = _BEYOND
    schema = "codex"
    provider = "openai-responses"
    pairing = "order"
    call_key = result_key = "call_id"
    waits = frozenset({"request_user_input"})
    harmless = frozenset({"update_plan", "view_image", "list_mcp_resources", "tool_search"})
    forker = CodexForker
    scribe = CodexScribe
    resumes = "codex resume"
    variables = ("CODEX_HOME",)

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
            if kind in ITEMS:
                out.events = item_events(value, "")
            elif _is_bare_header(value):
                out.session = text(value.get("id"))
                out.events.append(Meta("", "session_meta"))
            else:
                out.events.append(Meta("", text(value.get("record_type"))))
            return out
        payload = mapping(value["payload"])
        if kind == "response_item":
            out.events = item_events(payload, "/payload")
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

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        if "payload" not in value:
            yield from item_payloads(value, "")
            return
        kind, payload = text(value.get("type")), mapping(value["payload"])
        if kind == "response_item":
            yield from item_payloads(payload, "/payload")
        elif kind == "compacted":
            for name in _HISTORIES:
                for n, item in enumerate(map(mapping, blocks(payload.get(name)))):
                    yield from item_payloads(item, f"/payload/{name}/{n}")
        elif kind == "event_msg":
            yield from _told(payload, "/payload")
            yield from _told(mapping(payload.get("item")), "/payload/item")

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return CodexTracker(self.session_id(path) if path else "")

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        item = answer_item(question, lost="aborted ")  # Codex's own word
        if "payload" not in question.record:
            return dumps(item)
        out: dict[str, Any] = {"timestamp": question.record.get("timestamp")}
        if question.ordinal >= 0:
            out["ordinal"] = question.ordinal
        return dumps(out | {"type": "response_item", "payload": item})

    def replacement(self, value: dict[str, Any]) -> Sequence[Meaning]:
        """See `Format.replacement`."""
        items = blocks(mapping(value.get("payload")).get("replacement_history"))
        return [
            Meaning(item_events(mapping(item), f"/payload/replacement_history/{n}"))
            for n, item in enumerate(items)
        ]

    def system(self, value: dict[str, Any]) -> Any:
        """See `Format.system`: the header has it."""
        held = mapping(value.get("payload", value))
        if value.get("type") != "session_meta" and not _is_bare_header(value):
            return None
        return mapping(held.get("base_instructions")).get("text") or held.get("instructions")

    def ordinal(self, value: dict[str, Any]) -> int:
        """See `Format.ordinal`."""
        number = value.get("ordinal")
        return number if type(number) is int else -1

    def origin(self, value: dict[str, Any]) -> Origin | None:
        """See `Format.origin`. A copy has its parent's header behind its own."""
        if value.get("type") != "session_meta":
            return None
        payload = mapping(value.get("payload"))
        base = mapping(payload.get("history_base"))
        ends = [base.get(name) for name in ("end_byte_offset", "end_ordinal_exclusive")]
        end, ordinals = (n if type(n) is int and n >= 0 else -1 for n in ends)
        if text(base.get("thread_id")) and max(end, ordinals) >= 0:
            return Origin(base["thread_id"], "reference", end=end, ordinals=ordinals)
        if text(payload.get("forked_from_id")):
            return Origin(payload["forked_from_id"], "copy")
        parent = text(payload.get("parent_thread_id"))
        return Origin(parent, "subagent") if parent else None

    def owner(self, values: Sequence[dict[str, Any]], path: Path) -> str:
        """See `Format.owner`: a subagent has a rollout of its own, and its header says so."""
        header = next((v for v in values if v.get("type") == "session_meta"), {})
        payload = mapping(header.get("payload"))
        aside = payload.get("thread_source") == "subagent" or "subagent" in mapping(
            payload.get("source")
        )
        if not aside or text(payload.get("id")) != self.session_id(path):
            return ""
        origin = self.origin(header)
        return origin.session if origin is not None and origin.mode == "subagent" else ""

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`."""
        payload = mapping(value.get("payload"))
        named = payload.get("type") == "thread_name_updated"
        return 1, text(payload.get("thread_name")) if named else ""

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return codex_home(path)

    def writer(self, path: Path) -> str | None:
        """See `Format.writer`: a running Codex holds a lock named by the thread."""
        home = self.home(path)
        thread = self.session_id(path)
        if home is None or not thread:
            return None
        lock = home / LOCKS / f"{thread}.lock"
        if lock.exists() and lock_is_held(lock):
            return f"Codex runs this thread (it holds {lock.name})"
        return None

    def running(self, home: Path) -> Iterable[Running]:
        """See `Format.running`. Versions before 0.150 have the file open for writing instead."""
        for lock in (home / LOCKS).glob("*.lock"):
            if lock_is_held(lock):
                pid = locker(lock)
                yield Running(
                    f"process {pid}" if pid else f"it holds {lock.name}", lock.stem, pid=pid
                )

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        found = _FILE_ID.match(path.name)
        return found.group(1) if found else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        name = f"*{escape(prefix)}*" if prefix else "*"  # "**" is no name
        for path in configured().glob(f"*sessions/**/rollout-{name}.jsonl*{ending}"):
            if is_transcript(path):
                yield path

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / name for name in FOLDERS]

    def dependents(self, path: Path) -> Iterable[Dependent]:
        """See `Format.dependents`: a paginated fork names a byte offset of its parent."""
        home, thread = self.home(path), self.session_id(path)
        if home is not None and thread:
            yield from children(home, thread)

    def drawn(self, path: Path) -> Iterable[SideFile]:
        """See `Format.drawn`: lists and titles; a resume reads the rollout alone."""
        home = self.home(path)
        if home is not None:
            for name in ("state_*.sqlite", "thread_history_*.sqlite"):
                for database in sorted(home.glob(name)):
                    fate = "Codex resumes from the rollout, not from there"
                    yield SideFile(database, fate, _ERASE.format(database.name))

    def others(self, path: Path) -> Iterable[SideFile]:
        """See `Format.others`."""
        home = self.home(path)
        if home is not None:
            yield from present(home, {"history.jsonl": "the prompts of all sessions"})

    def traces(self, path: Path) -> Iterable[Trace]:
        """See `Format.traces`."""
        home, thread = self.home(path), self.session_id(path)
        if home is None or not thread:
            return
        prompts = "prompts that were typed"
        yield Trace(home / "history.jsonl", "lines", (thread,), prompts, _HISTORY)
        yield Trace(home / "session_index.jsonl", "lines", (thread,), "titles", ("id",))
        names = (thread, str(path.absolute()))
        for database in sorted(home.glob("*.sqlite")):
            known = (what for key, what in _DATABASES.items() if database.name.startswith(key))
            what, lost = next(known, ("what names the thread", ""))
            yield Trace(database, "rows", names, what, lost=lost, program="codex")

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        home, thread = self.home(path), self.session_id(path)
        if home is not None and thread:
            yield from starting(home, "shell_snapshots", thread)


def _told(event: dict[str, Any], pointer: str) -> Iterator[Payload]:
    """What an event, or the item that it is about, tells of the output of a tool."""
    yield from twins(pointer, *_OUTPUTS)
    kind = text(event.get("type"))
    if "tool_call" in kind or kind.endswith("ToolCall"):
        yield from twins(pointer, "error/message" if mapping(event.get("error")) else "error")
    result = event.get("result")
    if type(result) is str:  # a picture that was made
        yield Payload(f"{pointer}/result", twin=True, blank=True)
    elif "Ok" in mapping(result) or "Err" in mapping(result):
        yield from twins(f"{pointer}/result", "Err", *(f"Ok/{name}" for name in _RESULT))
    else:
        yield from twins(f"{pointer}/result", *_RESULT)
    yield from _of_agents(event, pointer)
    for name, change in mapping(event.get("changes")).items():
        at = f"{pointer}/changes{join(name)}"
        # What was added stands in the call.
        if mapping(change).get("type") == "delete":
            yield from twins(at, "content")
        yield from twins(at, "unified_diff")


def _of_agents(event: dict[str, Any], pointer: str) -> Iterator[Payload]:
    """What subagents said at their end, which is the output of the call that waited for it."""
    yield from twins(pointer, "status/completed")
    for name in ("statuses", "agents_states"):
        for agent in mapping(event.get(name)):
            yield from twins(f"{pointer}/{name}{join(agent)}", "completed", "message")
    for n, _ in enumerate(blocks(event.get("agent_statuses"))):
        yield from twins(f"{pointer}/agent_statuses/{n}/status", "completed")


def _is_envelope(value: dict[str, Any]) -> bool:
    return "payload" in value and text(value.get("type")) in _ENVELOPE_TYPES


def _is_bare_header(value: dict[str, Any]) -> bool:
    return "id" in value and "timestamp" in value and "instructions" in value


def _is_bare(value: dict[str, Any]) -> bool:
    return (
        _is_bare_header(value) or "record_type" in value or text(value.get("type")) in ITEMS
    ) and "payload" not in value


def _kept_reasoning(items: list[Any]) -> list[Event]:
    """The reasoning that a compaction keeps in its replacement history."""
    return [
        Thinking(f"/payload/replacement_history/{n}", cipher_fault(item.get("encrypted_content")))
        for n, item in enumerate(map(mapping, items))
        if item.get("type") == "reasoning"
    ]
