"""Gemini CLI sessions, since 0.40: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`.

The file is a log of changes. A message takes the place of an earlier one of its id: so a call comes
to the message that asks for it once it has a result. `$set` changes what is told of the session,
and may restate all messages; `$rewindTo` takes a message back with all behind it. A result stands
with its call, and again in a message of its own. Before 0.40 a session was one JSON document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.base import Format
from sesstool.formats.events import (
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
from sesstool.formats.forking import UuidForker, written
from sesstool.formats.gemini_home import (
    BEGINS,
    BEYOND,
    CHATS,
    configured,
    gemini_home,
    project,
    session_files,
    told_id,
    whole_id,
)
from sesstool.formats.gemini_tracker import GeminiTracker, is_header, update
from sesstool.formats.payloads import Payload
from sesstool.formats.terms import Field, Question, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_blank, is_placeholder
from sesstool.records.jsonspan import dumps, with_members
from sesstool.records.recover import Record
from sesstool.records.source import is_transcript

_SILENT = frozenset({"info", "error", "warning"})
_TYPES = _SILENT | {"user", "gemini"}
_SHORT = 8  # so much of its id is in the name of a session
_LIST = "/$set/messages"
# So begins what the agent says in a person's place, and never sends again.
_OWN = ("/", "?", "<session_context>", "<hook_context>")
_HEADER = "sessionId projectHash startTime lastUpdated kind $rewindTo"
_MESSAGE = """
    id timestamp type model tokens.** toolCalls.id toolCalls.name toolCalls.status
    toolCalls.timestamp toolCalls.result.functionResponse.id toolCalls.result.functionResponse.name
    content.functionCall.id content.functionCall.name content.functionResponse.id
    content.functionResponse.name content.inlineData.mimeType content.fileData.mimeType
    thoughts.timestamp
"""
_HARMLESS = """
    read_file read_many_files list_directory glob grep_search search_file_content web_fetch
    google_web_search get_internal_docs write_todos
"""
_OPAQUE = """
    content.thoughtSignature content.inlineData.data toolCalls.result.inlineData.data
    toolCalls.result.functionResponse.parts.inlineData.data
"""


class GeminiForker(UuidForker):
    """A fork has an id of its own, in each record that tells it; messages stay as they are."""

    def name(self) -> str:
        """See `Forker.name`."""
        return f"{BEGINS}{written(self.now)[:16].replace(':', '-')}-{self.id[:8]}.jsonl"

    def record(self, record: Record, parent: str | None, *, last: bool) -> Iterator[bytes]:
        """See `Forker.record`."""
        value, name = mapping(record.value), dumps(self.id)
        if is_header(value):
            yield with_members(record.raw, {"sessionId": name})
        elif "sessionId" in update(value):
            changed = with_members(dumps(update(value)), {"sessionId": name})
            yield with_members(record.raw, {"$set": changed})
        else:
            yield record.raw


class Gemini(Format):
    """See the module."""

    fields: dict[str, Field] = (
        fields_of(_HEADER, "")
        | fields_of(_HEADER, "", "$set.")
        | fields_of(_MESSAGE, _OPAQUE, "", "$set.messages.", "messages.")
    )
    name = "gemini"
    title = "Gemini CLI"
    time_key = "timestamp"
    beyond = BEYOND
    schema = "gemini"
    told = ("sessionId", "projectHash")
    pairing = "order"
    programs = ("gemini",)
    belated = True
    call_key = "functionCall/id"
    result_key = "functionResponse/id"
    upserts = True
    waits = frozenset({"ask_user", "exit_plan_mode"})
    harmless = frozenset(_HARMLESS.split())
    forker = GeminiForker
    resumes = "gemini --resume"
    variables = ("GEMINI_CLI_HOME",)

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if not any(map(_is_certain, values)):
            return Score(0, "nothing in the records is Gemini CLI's alone")
        ours = share(values, (_is_certain(v) or _is_message(v) for v in values))
        return Score(ours, f"{ours} % of the records are of Gemini CLI")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        changed = update(value)
        told = value if is_header(value) else changed
        out = Meaning(
            session=text(told.get("sessionId")),
            time=text(value.get("timestamp")) or text(told.get("lastUpdated")),
            model=text(value.get("model")),
        )
        if type(value.get("$rewindTo")) is str:
            out.events.append(StateChange("/$rewindTo", "rewind", value["$rewindTo"]))
        elif type(value.get("id")) is str:
            out.id, out.events = value["id"], message_events(value, "")
            out.messages = ((out.id, len(out.events)),)
        elif type(changed.get("messages")) is list:
            _restated(changed["messages"], out)
        elif changed or is_header(value):
            out.events.append(Meta("", "session" if is_header(value) else "$set"))
        else:
            out.events.append(Unknown("", text(value.get("type"))))
        return out

    def inside(self, pointer: str) -> str:
        """See `Format.inside`."""
        if not pointer.startswith(f"{_LIST}/"):
            return ""
        return "/".join(pointer.split("/")[: _LIST.count("/") + 2])

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        yield from _outputs(value, "")
        for n, message in enumerate(map(mapping, blocks(update(value).get("messages")))):
            yield from _outputs(message, f"{_LIST}/{n}")

    def titled(self, value: dict[str, Any]) -> tuple[int, str]:
        """See `Format.titled`."""
        return 1, text((value if is_header(value) else update(value)).get("summary"))

    def owner(self, values: Sequence[dict[str, Any]], path: Path) -> str:
        """See `Format.owner`: a subagent lies in a folder of its parent's id."""
        aside = any(value.get("kind") == "subagent" for value in values)
        inside = path.parent.parent.name == CHATS
        return path.parent.name if aside and inside else ""

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return GeminiTracker(path)

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`: a message of its own, as the agent itself writes one."""
        record, evidence = question.record, question.evidence
        words = answer_text(evidence, question.name)
        response = {"output" if evidence.state == "completed" else "error": words}
        part = {"id": question.call_id, "name": question.name, "response": response}
        seed = f"{record.get('id')}/{question.call_id}"
        seed = seed.encode("utf-8", "backslashreplace").decode()  # an id may hold half a character
        out = {
            "id": str(uuid5(NAMESPACE_OID, seed)),
            "timestamp": record.get("timestamp") or text(update(record).get("lastUpdated")),
            "type": "user",
            "content": [{"functionResponse": part}],
        }
        return dumps(out | {"madeBy": "sesstool"})

    def home(self, path: Path) -> Path | None:
        """See `Format.home`."""
        return gemini_home(path)

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`: of a session the name tells only how it begins."""
        return whole_id(path)

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`."""
        tmp, name = configured() / "tmp", escape(prefix)
        for path in tmp.glob(f"*/{CHATS}/{BEGINS}*-{escape(prefix[:_SHORT])}*.jsonl{ending}"):
            if len(prefix) <= _SHORT or ending or told_id(path).startswith(prefix):
                yield path
        yield from tmp.glob(f"*/{CHATS}/*/{name}*.jsonl{ending}")

    def folders(self) -> Iterable[Path]:
        """See `Format.folders`."""
        return [configured() / "tmp"]

    def is_session(self, path: Path) -> bool:
        """See `Format.is_session`: logs and outputs of tools lie in the same folder."""
        inside = CHATS in (path.parent.name, path.parent.parent.name)
        return is_transcript(path) and inside

    def where(self, home: Path, inside: tuple[str, ...]) -> tuple[str, str]:
        """See `Format.where`: `tmp/<project>/chats/<session id>/` is of that session."""
        name = "".join(inside[1:2])
        return project(home / "tmp" / name) or name if name else "", "".join(inside[3:4])

    def own_places(self, path: Path) -> Iterable[Path]:
        """See `Format.own_places`."""
        name = whole_id(path) or told_id(path)
        if name and self.home(path) is not None:
            chats = path.parent if path.parent.name == CHATS else path.parent.parent
            yield from (p for p in session_files(chats.parent, name) if p != path)

    def is_output(self, part: Path) -> bool:
        """See `Format.is_output`."""
        return part.parent.parent.name == "tool-outputs"

    def leaves_out(self, words: str) -> bool:
        """See `Format.leaves_out`."""
        return not words.strip()


def is_document(value: dict[str, Any]) -> bool:
    """Whether a value is a whole session, as versions before 0.40 kept it."""
    return is_header(value) and type(value.get("messages")) is list


def _is_certain(value: dict[str, Any]) -> bool:
    """Whether no other agent writes such a record: their messages may look alike."""
    if "$rewindTo" in value or "$set" in value:
        return True
    header = is_header(value) and not {"uuid", "parentId", "payload"} & value.keys()
    return (header and not is_document(value)) or (_is_message(value) and value["type"] == "gemini")


def _is_message(value: dict[str, Any]) -> bool:
    known = text(value.get("type")) in _TYPES and "content" in value
    return known and "id" in value and not {"uuid", "parentId", "data", "role"} & value.keys()


def _restated(messages: list[Any], out: Meaning) -> None:
    """What a checkpoint says: all messages anew."""
    out.events.append(StateChange(_LIST, "restated", len(messages)))
    told = []
    for n, message in enumerate(map(mapping, messages)):
        if type(message.get("id")) is str:  # others are passed over
            events = message_events(message, f"{_LIST}/{n}")
            out.events += events
            told.append((message["id"], len(events)))
    out.messages = tuple(told)


def message_events(value: dict[str, Any], at: str) -> list[Event]:
    """The events of a message that stands at a pointer in its record."""
    kind, content = text(value.get("type")), value.get("content")
    if kind == "user":
        return _user(content, at)
    if kind != "gemini":
        known = kind in _SILENT
        hidden = Message(f"{at}/content", "system", content, hidden=True)
        return [hidden if known else Unknown(at, kind)]
    parts = [mapping(part) for part in blocks(content)]
    own = [n for n, part in enumerate(parts) if "functionCall" in part or part.get("thought")]
    events: list[Event] = []
    if own:
        for n in own:
            spot = f"{at}/content/{n}"
            call = mapping(parts[n].get("functionCall"))
            events.append(_call(call, spot, "/functionCall") if call else Thinking(spot))
    else:
        thoughts = enumerate(blocks(value.get("thoughts")))
        events += [Thinking(f"{at}/thoughts/{n}") for n, thought in thoughts if mapping(thought)]
    for n, call in enumerate(map(mapping, blocks(value.get("toolCalls")))):
        spot = f"{at}/toolCalls/{n}"
        if not own:
            events.append(_call(call, spot, ""))
        if call.get("result"):
            events.append(_result_of(call, spot))
    words = [part for n, part in enumerate(parts) if n not in own] if own else content
    if not events or not is_blank(words):
        events.append(Message(f"{at}/content", "assistant", content, hidden=is_blank(words)))
    return events


def _user(content: Any, at: str) -> list[Event]:
    """What stands in a person's place: words, or results."""
    parts = blocks(content)
    events: list[Event] = []
    words = []
    for n, part in enumerate(parts):
        answer = mapping(mapping(part).get("functionResponse"))
        if answer:
            spot = at if len(parts) == 1 else f"{at}/content/{n}"
            events.append(_result(text(answer.get("id")), answer.get("response"), spot))
        else:
            words.append(part)
    said = words if type(content) is list else content
    if words or not events:
        own = _is_own(said)
        events.append(Message(f"{at}/content", "user", content, own, not own))
    return events


def _is_own(content: Any) -> bool:
    """Whether the agent leaves words out of its requests: its own, commands, and nothing at all."""
    if type(content) is not list:
        content = [content]
    parts = (part if type(part) is str else mapping(part).get("text", "[]") for part in content)
    words = "".join(part for part in parts if type(part) is str).strip()
    return not words or words.startswith(_OWN)


def _call(call: dict[str, Any], at: str, below: str) -> ToolCall:
    arguments = call.get("args")
    sound = arguments is None or type(arguments) is dict
    fault = "" if sound else "its arguments are no object"
    inside = f"{below}/args"
    return ToolCall(
        at, text(call.get("id")), text(call.get("name")), arguments, fault=fault, inside=inside
    )


def _result_of(call: dict[str, Any], at: str) -> ToolResult:
    """The result that stands with its call."""
    found = call["result"]
    parts = [mapping(part) for part in blocks(found)] or [mapping(found)]
    answer = next((mapping(p["functionResponse"]) for p in parts if "functionResponse" in p), {})
    response = found if type(found) is str else answer.get("response", found)
    return _result(text(call.get("id")), response, at)


def _result(call_id: str, response: Any, at: str) -> ToolResult:
    held = mapping(response)
    failed = "error" in held and "output" not in held
    words = held.get("error" if failed else "output", response)
    return ToolResult(at, call_id, words, failed, placeholder=is_placeholder(words))


def _outputs(message: dict[str, Any], at: str) -> Iterator[Payload]:
    """Where the output of tools stands in a message."""
    for n, part in enumerate(map(mapping, blocks(message.get("content")))):
        if "functionResponse" in part:
            yield from _responses(f"{at}/content/{n}")
    for n, call in enumerate(map(mapping, blocks(message.get("toolCalls")))):
        spot = f"{at}/toolCalls/{n}"
        yield Payload(f"{spot}/resultDisplay", twin=True)
        if type(call.get("result")) is str:
            yield Payload(f"{spot}/result")
        for k, _ in enumerate(blocks(call.get("result"))):
            yield from _responses(f"{spot}/result/{k}")


def _responses(at: str) -> Iterator[Payload]:
    for name in ("output", "error"):
        yield Payload(f"{at}/functionResponse/response/{name}")
