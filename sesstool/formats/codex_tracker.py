"""What only a whole Codex rollout shows: its header, its ordinals, and messages told twice."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.events import Meaning
from sesstool.formats.responses_items import Reasoning
from sesstool.formats.terms import Evidence, Fault, Place, Tracker
from sesstool.formats.values import blocks, mapping, text
from sesstool.records.edits import Edit
from sesstool.records.heal import heal
from sesstool.records.jsonspan import dumps, locate, without
from sesstool.records.linewise import put_before, put_behind, take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

# Where the events of commands and patches keep what was printed, the best first.
_OUTPUT_KEYS = ("aggregated_output", "aggregatedOutput", "formatted_output", "stdout", "stderr")
_MODES = ("legacy", "paginated")
# Members that a header may lack. With a wrong type in one of them Codex 0.171 reads no header.
_OPTIONAL: dict[str, tuple[type, ...]] = {
    "account_scoped": (bool,),
    "base_instructions": (dict, NoneType),
    "context_window": (dict, NoneType),
    "forked_from_id": (str, NoneType),
    "memory_mode": (str, NoneType),
    "model_provider": (str, NoneType),
    "parent_thread_id": (str, NoneType),
    "runtime_workspace_roots": (list, NoneType),
    "session_id": (str,),
    "source": (str, dict),
    "thread_source": (str, NoneType),
}
_REQUIRED = ("id", "timestamp", "cwd", "originator", "cli_version")
_ROLES = {"AgentMessage": "assistant", "UserMessage": "user"}
_RECOVERED = "sesstool-recovered"
# White space in ASCII, which bytes lose many times as fast as a text does.
_SPACES = string.whitespace.encode() + b"\x1c\x1d\x1e\x1f"
_QUESTIONS = ("request_user_input", "elicitation_request")


class CodexTracker(Tracker):
    """Follows one rollout; `file_id` is the thread id that the file's name tells, or ""."""

    def __init__(self, file_id: str) -> None:
        """Start before the first record."""
        self._file_id = file_id
        self._first: Record | None = None
        self._torn_head: Record | None = None
        self._headers: list[tuple[Place, dict[str, Any]]] = []
        self._bare = False
        self._records = 0
        self._cwd = ""
        self._thread = ""
        self._ordinal = -1
        self._first_ordinal = -1
        self._paginated = False
        self._unnumbered: list[tuple[Place, int, int]] = []
        self._last: Record | None = None
        self._heard: dict[int, list[Place]] = {}
        self._said: Counter[int] = Counter()
        self._outputs: dict[str, Place] = {}
        self._asked: set[str] = set()
        self._compacted: tuple[int, int, Place] | None = None
        self._bloat = 0
        self._hollow: Place | None = None
        self._copies: list[Place] = []
        self._reasoning = Reasoning()

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        value = record.value or {}
        self._records += 1
        if self._first is None:
            self._first = record
        kind = value.get("type")
        payload = mapping(value.get("payload"))
        if kind == "response_item":
            self._item(record, payload)
        self._last = record
        if kind == "session_meta" and not self._headers:
            self._paginated = payload.get("history_mode") == "paginated"
        ordinal = value.get("ordinal")
        if type(ordinal) is int:
            if self._ordinal < 0:
                self._first_ordinal = ordinal
            self._ordinal = max(self._ordinal, ordinal)
            self._unnumbered.clear()
        elif (self._ordinal >= 0 or self._paginated) and not record.defects:
            self._unnumbered.append(_number_span(record))
        if "payload" not in value and value:
            self._bare = self._bare or "type" not in value or self._records == 1
        elif kind == "session_meta":
            self._headers.append((_place(record), payload))
            self.based = self.based or type(payload.get("history_base")) is dict
        elif kind == "turn_context":
            self._cwd = self._cwd or text(payload.get("cwd"))
        elif kind == "event_msg":
            self._event(record, payload)
        elif kind == "compacted":
            self._compaction(record)

    def fragment(self, record: Record) -> None:
        """See `Tracker.fragment`."""
        if self._first is None:
            self._torn_head = record

    def _item(self, record: Record, item: dict[str, Any]) -> None:
        self._reasoning.see(record, item)
        kind = item.get("type")
        if kind in ("message", "reasoning") and self._last and self._last.raw == record.raw:
            self._copies.append(_place(record))
        if kind == "message":
            self._message(item)

    def _event(self, record: Record, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "item_completed":
            item = mapping(payload.get("item"))
            self._thread = self._thread or text(payload.get("thread_id"))
            if text(item.get("type")) in _ROLES:
                self._hear(record, _ROLES[item["type"]], _words(item.get("content")))
            elif item.get("type") in ("CommandExecution", "FileChange", "McpToolCall"):
                self._outputs[text(item.get("id"))] = _place(record)
        elif kind == "agent_message":
            self._hear(record, "assistant", text(payload.get("message")))
        elif kind in _QUESTIONS or text(kind).endswith("_approval_request"):
            self._asked.add(text(payload.get("call_id")))
        elif kind in ("exec_command_end", "mcp_tool_call_end", "patch_apply_end"):
            self._outputs[text(payload.get("call_id"))] = _place(record)

    def _hear(self, record: Record, role: str, words: str) -> None:
        """An event tells a message; its item may come before or behind it."""
        if not words or words.isspace():
            return
        key = _key(role, words)
        if self._said[key] > 0:
            self._said[key] -= 1
        else:
            self._heard.setdefault(key, []).append(_place(record))

    def _message(self, item: dict[str, Any]) -> None:
        key = _key(text(item.get("role")), _words(item.get("content")))
        waiting = self._heard.get(key)
        if waiting:
            waiting.pop()
        else:
            self._said[key] += 1

    def _compaction(self, record: Record) -> None:
        # What was heard before and not said is replaced by the summary: nothing is lost.
        self._heard.clear()
        payload = mapping((record.value or {}).get("payload"))
        if not payload.get("replacement_history") and not text(payload.get("message")).strip():
            self._hollow = _place(record)
        member = locate(record.raw, "/payload")
        key = hash(record.raw[member.start : member.end] if member else b"")
        if self._compacted and self._compacted[0] == key:
            first = self._compacted[2]
            self._compacted = (key, self._compacted[1] + 1, first)
            self._bloat += len(record.raw) + 1
        elif not self._bloat:
            self._compacted = (key, 1, _place(record))

    def next_ordinal(self) -> int:
        """See `Tracker.next_ordinal`."""
        return self._ordinal + 1 if self._ordinal >= 0 else -1

    def evidence(self, call_id: str, source: Source, scope: str = "") -> Evidence:
        """See `Tracker.evidence`: an event may hold the output that the item lost."""
        place = self._outputs.get(call_id)
        if place is None:
            return Evidence("pending" if call_id in self._asked else "uncertain")
        payload = mapping(_value(source, place).get("payload"))
        item = mapping(payload.get("item")) or payload
        result = mapping(item.get("result"))
        said = [text(item.get(key)) for key in _OUTPUT_KEYS]
        said += [
            _words(mapping(result.get("Ok") or result).get("content")),
            text(result.get("Err")),
        ]
        words = next(filter(None, said), "")
        if item.get("success") is False or item.get("status") == "failed" or "Err" in result:
            return Evidence("failed", words)
        code = item.get("exit_code", item.get("exitCode"))
        if not words and type(code) is int:
            words = f"(no output; exit code {code})"
        if words:
            return Evidence("completed", words)
        return Evidence("uncertain")

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        if self._first is None:
            return
        if self._bare:
            yield Fault(
                "old-format",
                _place(self._first),
                "records have no envelope: Codex 0.30 and newer do not resume them",
            )
            return
        yield from self._header(source)
        yield from self._ordinals()
        yield from self._lost(source)
        yield from self._reasoning.faults(source)
        for place in self._copies:
            edits = (take_out(source, place.start, place.end),)
            message = "exact copy of the record before"
            yield Fault("copied-record", place, message, "take the copy out", edits, safe=True)
        if self._hollow is not None:
            edits = (take_out(source, self._hollow.start, self._hollow.end),)
            message = "a compaction without a summary hides all that stands before it"
            title = "take it out, so that the whole history is live again"
            yield Fault("hollow-compaction", self._hollow, message, title, edits, safe=False)
        if self._compacted and self._compacted[1] > 1:
            _, count, place = self._compacted
            message = f"{count} equal compacted records follow each other: {self._bloat} bytes"
            yield Fault("bloat", place, message)

    def _header(self, source: Source) -> Iterator[Fault]:
        first = self._first
        assert first is not None
        if not self._headers:
            yield self._rebuilt(source, first)
            return
        place, meta = self._headers[0]
        if place.start != first.start:
            line = source.read(place.start, place.end)
            edits = (
                put_before(source, first.start, line),
                take_out(source, place.start, place.end),
            )
            message = f"the session_meta record stands on line {place.line}, not first"
            yield Fault(
                "misplaced-header", place, message, "move it to the front", edits, safe=True
            )
            return
        yield from self._header_fields(place, meta)
        fork = text(meta.get("forked_from_id"))
        if fork:
            copied = f", {len(self._headers) - 1} copied headers" if self._headers[1:] else ""
            yield Fault("fork", place, f"this is a fork of thread {fork}{copied}")
        else:
            for extra, other in self._headers[1:]:
                if extra.start > place.end + 1:
                    yield self._second(source, extra, text(other.get("id")) == text(meta.get("id")))

    def _rebuilt(self, source: Source, first: Record) -> Fault:
        when = text((first.value or {}).get("timestamp"))
        meta = self._known()
        header: dict[str, Any] = {"timestamp": when}
        if self._first_ordinal > 0:
            header["ordinal"] = self._first_ordinal - 1
        header |= {"type": "session_meta", "payload": meta}
        edits: tuple[Edit, ...] = (put_before(source, first.start, dumps(header)),)
        torn = self._torn_head
        place = _place(torn or first)
        what = "is torn" if torn else "is missing"
        message = f"the session_meta record {what}: Codex does not resume this thread"
        title = "write a new header from the file name, the turn contexts and the first record"
        return Fault("bad-header", place, message, title, edits, safe=False)

    def _header_fields(self, place: Place, meta: dict[str, Any]) -> Iterator[Fault]:
        missing = [key for key in _REQUIRED if type(meta.get(key)) is not str]
        if missing:
            known = self._known()
            absent = [key for key in missing if key not in meta]
            members = b"".join(dumps(key) + b":" + dumps(known[key]) + b"," for key in absent)
            at = self._payload_start()
            added = [Edit(at, at, members)] if at >= 0 and absent else []
            for key in missing:
                wrong = self._locate(f"/payload/{key}")
                if wrong is not None:
                    added.append(Edit(*wrong, dumps(known[key])))
            message = f"the header has no {', '.join(missing)}: Codex does not resume this thread"
            title = "add what is missing, from the file name and the turn contexts"
            safe = False if added else None
            yield Fault("bad-header", place, message, title, tuple(added), safe=safe)
        elif ill := next((k for k, kinds in _OPTIONAL.items() if not _fits(meta, k, kinds)), ""):
            edits = self._member_out(f"/payload/{ill}")
            message = f"the header's {ill} is of a type that makes Codex read no header"
            yield Fault("bad-header", place, message, "take it out", edits, safe=False)
        elif meta.get("history_mode", "legacy") not in _MODES:
            member = self._locate("/payload/history_mode")
            known_mode = dumps("legacy" if self._ordinal < 0 else "paginated")
            edits = (Edit(*member, known_mode),) if member else ()
            message = "the header's history_mode is unknown: Codex does not resume this thread"
            title = "write the mode that the records are in"
            yield Fault("bad-header", place, message, title, edits, safe=False)
        elif self._file_id and meta["id"] != self._file_id:
            message = f"the header's id is {meta['id']}, the file's name says {self._file_id}"
            member = self._locate("/payload/id")
            edits = (Edit(*member, dumps(self._file_id)),) if member else ()
            title = "write the file name's id into the header"
            yield Fault("header-id", place, message, title, edits, safe=False)

    def _known(self) -> dict[str, str]:
        """The required members of a header, as far as file name and records tell them."""
        first = self._first
        raw = first.raw if first else b""
        return {
            "id": self._file_id or self._thread or str(uuid5(NAMESPACE_OID, raw.hex())),
            "timestamp": text((first.value or {}).get("timestamp")) if first else "",
            "cwd": self._cwd,
            "originator": _RECOVERED,
            "cli_version": "0.0.0",
        }

    def _locate(self, pointer: str) -> tuple[int, int] | None:
        first = self._first
        found = locate(first.raw, pointer) if first and not first.defects else None
        return (first.start + found.start, first.start + found.end) if first and found else None

    def _member_out(self, pointer: str) -> tuple[Edit, ...]:
        first = self._first
        member = locate(first.raw, pointer) if first and not first.defects else None
        if first is None or member is None:
            return ()
        start, end = without(first.raw, member)
        return (Edit(first.start + start, first.start + end),)

    def _payload_start(self) -> int:
        found = self._locate("/payload")
        return found[0] + 1 if found else -1

    def _second(self, source: Source, place: Place, same: bool) -> Fault:
        edits = (take_out(source, place.start, place.end),)
        message = "a second session_meta stands in the middle: Codex resumes with less than all"
        return Fault("second-header", place, message, "take it out", edits, safe=same)

    def _ordinals(self) -> Iterator[Fault]:
        """The records at the end without a number: Codex looks at the last."""
        if not self._unnumbered:
            return
        wanted = self._ordinal + 1
        message = f"the last record has no ordinal ({wanted} is next): Codex does not resume"
        edits = tuple(
            Edit(start, end, b"%d" % number if end > start else b'"ordinal":%d,' % number)
            for number, (_, start, end) in enumerate(self._unnumbered, wanted)
        )
        title = f"go on from ordinal {wanted}"
        yield Fault("ordinal", self._unnumbered[-1][0], message, title, edits, safe=False)

    def _lost(self, source: Source) -> Iterator[Fault]:
        """Messages that an event tells and no item holds: the model would not see them."""
        lost = sorted(place for places in self._heard.values() for place in places)
        ordinal = self.next_ordinal()
        for place in lost:
            value = _value(source, place)
            payload = mapping(value.get("payload"))
            item = mapping(payload.get("item"))
            role = _ROLES.get(text(item.get("type")), "assistant")
            words = _words(item.get("content")) if item else text(payload.get("message"))
            kind = "input_text" if role == "user" else "output_text"
            record: dict[str, Any] = {"timestamp": value.get("timestamp")}
            if ordinal >= 0:
                record["ordinal"] = ordinal
                ordinal += 1
            content = [{"type": kind, "text": words}]
            message = {"type": "message", "role": role, "content": content}
            record |= {"type": "response_item", "payload": message}
            edit = put_behind(source, place.end, dumps(record))
            told = f"an event tells a message of the {role} that the model would not see"
            yield Fault(
                "lost-message", place, told, "rebuild it from the event", (edit,), safe=True
            )


def _fits(meta: dict[str, Any], key: str, kinds: tuple[type, ...]) -> bool:
    return key not in meta or isinstance(meta[key], kinds)


def _number_span(record: Record) -> tuple[Place, int, int]:
    """A record, and the bytes of its ordinal: none, at the place where one belongs."""
    found = locate(record.raw, "/ordinal")
    if found is None:
        at = record.start + record.raw.index(b"{") + 1
        return _place(record), at, at
    return _place(record), record.start + found.start, record.start + found.end


def _place(record: Record) -> Place:
    return Place(record.line, record.start, record.end)


def _value(source: Source, place: Place) -> dict[str, Any]:
    """The record at a place, which may have defects, read again."""
    value, _ = heal(source.read(place.start, place.end), place.start)
    return mapping(value)


def _key(role: str, words: str) -> int:
    """The same for an item and its event: an event joins an item's parts in its own way."""
    packed = words.encode("utf-8", "surrogatepass").translate(None, _SPACES)
    if not packed.isascii():
        packed = "".join(packed.decode("utf-8", "surrogatepass").split()).encode(
            "utf-8", "surrogatepass"
        )
    return hash((role, packed))


def _words(content: Any) -> str:
    """The text of a message's content, in an event's or an item's shape."""
    if type(content) is str:
        return content
    return "\n".join([text(mapping(b).get("text")) for b in blocks(content)])
