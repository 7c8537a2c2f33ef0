"""Families T and C, what one provider alone refuses in a message: ids, names, numbers and order.

Each limit is one that the provider itself has stated, in its documentation or in the error with
which it refused a request; the page of the rule names it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.checks.surgery import replace_value
from sesstool.findings import Finding, Severity
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning, Message, ToolCall, ToolResult
from sesstool.formats.terms import Fault, Place
from sesstool.formats.values import blocks, mapping, text
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.recover import Record

_PLAIN = re.compile(r"[a-zA-Z0-9_-]*")
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_ID_LENGTH = {"openai-chat": 64, "openai-responses": 64}
_NAME_LENGTH = {"anthropic": 200, "openai-chat": 64}
_CALLS_LENGTH = 128


@rule("T410", "bad-call-id", Severity.ERROR)
def bad_call_id(context: Context, place: Place, name: str, fault: str) -> Finding:
    """The id of a tool call is none that the provider takes.

    Finds: In files that are sent as they are: for Anthropic an id with other characters than
        letters, digits, `_` and `-`; for OpenAI one of more than 64 characters.
    Matters: The request is refused, in every turn to come: "String should match pattern
        '^[a-zA-Z0-9_-]+$'", "string too long. Expected a string with maximum length 64".
    Example: `functions.read:0`, in a session that began with another provider.
    Repair: Safe: the id gets a name that is taken, the same wherever it stands.
    Seen: Sessions that change the provider: langchain 37756, kimi-code 327, nanobot 1634.
    """
    title = "give it an id that is taken, the same on the call and on its result"
    fix = safe(title, replace_value(context.session, place, place.pointer, dumps(_taken(name))))
    return context.finding("T410", place, f"a call id would be refused: {fault}", fix=fix)


@rule("T411", "bad-tool-name", Severity.ERROR)
def bad_tool_name(context: Context, place: Place, name: str, limit: int, *, plain: bool) -> Finding:
    """The name in a tool call is none that the provider takes.

    Finds: For Anthropic a name of more than 200 characters. For OpenAI chat, one of more than
        64, or with other characters than letters, digits, `_` and `-`.
    Matters: The request is refused, in every turn to come: "tool_use.name: String should have at
        most 200 characters", "string does not match pattern. Expected a string that matches the
        pattern '^[a-zA-Z0-9_-]+$'".
    Example: A model that wrote a whole command where the name belongs.
    Repair: Safe where the name is only too long: its end is cut, and kept in lost+found. Unsafe
        where characters must be replaced: the model then sees another name.
    Seen: Claude Code 2673, 15695; openclaw 13134; mcp-use 90.
    """
    kept = (name if plain else _ODD.sub("_", name))[:limit]
    edits = replace_value(context.session, place, place.pointer, dumps(kept))
    if plain:
        fault, fix = f"it has {len(name)} characters, over {limit}", safe("cut its end", edits)
    else:
        fault = "it has other characters than letters, digits, _ and -"
        fix = unsafe("put _ in place of the others", edits)
    return context.finding("T411", place, f"a tool's name would be refused: {fault}", fix=fix)


@rule("T412", "late-result", Severity.ERROR)
def late_result(context: Context, place: Place, order: list[int]) -> Finding:
    """A tool result stands behind words in its message.

    Finds: An Anthropic user message in which something else comes before a result.
    Matters: "tool_result blocks must come first": Anthropic refuses the request.
    Example: `[{"type":"text",…},{"type":"tool_result",…}]`
    Repair: Safe: the results move to the front; each block keeps its bytes.
    Seen: Clients that put a prompt, or a note of their own, in front of the results.
    """
    raw = context.session.source.read(place.start, place.end)
    found = [locate(raw, f"{place.pointer}/{n}") for n in range(len(order))]
    spans = [(m.start, m.end) for m in found if m is not None]
    pieces = [raw[slice(*spans[order[0]])]]
    for n, take in enumerate(order[1:], 1):
        pieces += [raw[spans[n - 1][1] : spans[n][0]], raw[slice(*spans[take])]]
    start, end = place.start + spans[0][0], place.start + spans[-1][1]
    fix = safe("move the results to the front", [Edit(start, end, b"".join(pieces), content=True)])
    return context.finding("T412", place, "a tool result stands behind words", fix=fix)


@rule("T413", "too-many-calls", Severity.ERROR)
def too_many_calls(context: Context, place: Place, count: int) -> Finding:
    """A message makes more tool calls than the provider takes.

    Finds: An OpenAI chat message with more than 128 tool calls.
    Matters: "array too long. Expected an array with maximum length 128": the request is refused.
    Example: A model that reads two hundred files at once.
    Repair: Manual: only who wrote the file can tell how the turn may be parted.
    Seen: openai-dotnet 317, gptscript 547.
    """
    fix = manual("part the message: 128 calls with their results, then the others with theirs")
    return context.finding("T413", place, f"{count} tool calls in one message, over 128", fix=fix)


@rule("C608", "bad-item-id", Severity.ERROR)
def bad_item_id(context: Context, fault: Fault) -> Finding:
    """The id of a Responses item is none that the provider takes.

    Finds: A message whose id does not begin with `msg`, a function call without `fc`, reasoning
        without `rs`; an id that an earlier item has. An item without an id is sound.
    Matters: "Expected an ID that begins with 'msg'", "Duplicate item found with id": the request
        is refused, in every turn to come.
    Example: `"id":"item_3"`, from a server that only speaks the protocol.
    Repair: Safe: the id is cut; the API asks for none, and calls and outputs go by `call_id`. A
        second reference to an item is cut whole. Manual for reasoning that is not encrypted: it
        is only found by its id.
    Seen: Codex 33176, sub2api 3981, inspect_ai 1545, vercel/ai 7883.
    """
    fix = safe(fault.title, fault.edits) if fault.safe else manual(fault.title)
    return context.finding("C608", fault.place, fault.message, fix=fix)


def provider_findings(context: Context, record: Record, meaning: Meaning) -> list[Finding]:
    """What the session's provider would refuse in one record."""
    form = context.session.format
    found: list[Finding] = []
    for event in meaning.events:
        if isinstance(event, ToolCall):
            if form.verbatim and (fault := _id_fault(form, event.id)):
                spot = _place(record, f"{event.pointer}/{form.call_key}")
                found.append(bad_call_id(context, spot, event.id, fault))
            if _is_odd_name(form, event.name):
                found.append(_bad_name(context, record, event))
        elif isinstance(event, ToolResult):
            if form.verbatim and (fault := _id_fault(form, event.id)):
                spot = _place(record, f"{event.pointer}/{form.result_key}")
                found.append(bad_call_id(context, spot, event.id, fault))
        elif isinstance(event, Message) and form.pairing == "next":
            found += _order(context, record, event)
    if form.provider == "openai-chat" and len(meaning.events) > _CALLS_LENGTH:
        calls = [event.pointer for event in meaning.events if isinstance(event, ToolCall)]
        if len(calls) > _CALLS_LENGTH:
            spot = _place(record, calls[0].rpartition("/")[0])
            found.append(too_many_calls(context, spot, len(calls)))
    return found


def _place(record: Record, pointer: str) -> Place:
    return Place(record.line, record.start, record.end, pointer)


def _id_fault(form: Format, name: str) -> str:
    limit = _ID_LENGTH.get(form.provider)
    if limit is not None:
        return f"it has {len(name)} characters, over {limit}" if len(name) > limit else ""
    plain = _PLAIN.fullmatch(name)
    return "" if plain else "it has other characters than letters, digits, _ and -"


def _taken(name: str) -> str:
    """The name that an id gets: the same wherever it stands, and no other id's."""
    unique = uuid.uuid5(uuid.NAMESPACE_OID, name.encode("utf-8", "surrogatepass").hex()).hex[:12]
    return f"{_ODD.sub('_', name)[:32]}_{unique}"


def _is_odd_name(form: Format, name: str) -> bool:
    if form.provider == "anthropic":
        return len(name) > _NAME_LENGTH["anthropic"]
    limit = _NAME_LENGTH.get(form.provider)
    return form.verbatim and limit is not None and (len(name) > limit or not _PLAIN.fullmatch(name))


def _bad_name(context: Context, record: Record, call: ToolCall) -> Finding:
    provider = context.session.format.provider
    plain = provider == "anthropic" or bool(_PLAIN.fullmatch(call.name))
    pointer = next(
        (
            f"{call.pointer}/{inner}name"
            for inner in ("", "function/", "custom/")
            if locate(record.raw, f"{call.pointer}/{inner}name")
        ),
        call.pointer,
    )
    limit = _NAME_LENGTH[provider]
    return bad_tool_name(context, _place(record, pointer), call.name, limit, plain=plain)


def _order(context: Context, record: Record, message: Message) -> Iterator[Finding]:
    kinds = [text(mapping(b).get("type")) for b in blocks(message.content)]
    results = [n for n, kind in enumerate(kinds) if kind == "tool_result"]
    if message.role == "user" and results and results[-1] >= len(results):
        others = [n for n in range(len(kinds)) if n not in set(results)]
        yield late_result(context, _place(record, message.pointer), results + others)
