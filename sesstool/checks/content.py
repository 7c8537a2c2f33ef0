"""Family C: content that a provider refuses, and content that only takes room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.images import image_findings
from sesstool.checks.provider import provider_findings
from sesstool.checks.rule import rule
from sesstool.checks.surgery import drop_block, drop_record, drop_value, replace_value
from sesstool.checks.tools import bad_arguments
from sesstool.findings import Finding, Severity
from sesstool.formats.events import Meaning, Message, Thinking, ToolCall, ToolResult
from sesstool.formats.terms import Fault, Place
from sesstool.formats.values import mapping, text
from sesstool.formats.wording import MARK
from sesstool.records.jsonspan import dumps, value_at
from sesstool.records.recover import Record

_TALK = frozenset({"user", "assistant"})
_EMPTY_TEXT = f"{MARK} this message was empty"


@rule("C601", "empty-content", Severity.ERROR)
def empty_content(context: Context, place: Place, *, whole: bool, role: str) -> Finding:
    """A message, or a text block of one, is empty.

    Finds: A text block without text; a message with nothing in it. An empty tool result is
        sound. Blank text that Claude Code or pi wrote itself is information, for they leave it
        out; so is empty text of astorLM's.
    Matters: Providers refuse the request ("text content blocks must be non-empty"), in every
        turn to come.
    Example: `{"type":"text","text":""}` beside a tool call.
    Repair: Safe for a block beside others: it is cut. Safe for a whole record of a tree: it is
        cut and the chain closed. Unsafe for a whole message of a plain list, where the order of
        turns counts: a placeholder text is written.
    Seen: 8 reports; Claude Code 60837, pi, Copilot CLI. Qwen Code leaves out such an answer
        together with the one before it.
    """
    session = context.session
    if not whole:
        fix = safe("take the empty block out", drop_block(session, place))
        return context.finding("C601", place, "empty text block", fix=fix)
    message = f"message of the {role} with nothing in it"
    if session.graph is not None:
        edits = drop_record(session, Place(*place[:3]))
        fix = safe("take the record out and close the chain", edits)
        return context.finding("C601", place, message, fix=fix)
    filler = dumps(_EMPTY_TEXT)
    if type(value_at(session.value(place), place.pointer)) is list:
        kind = {"assistant": "output_text"}.get(role, "input_text")
        kind = kind if session.format.provider == "openai-responses" else "text"
        filler = dumps([{"type": kind, "text": _EMPTY_TEXT}])
    edits = replace_value(session, place, place.pointer, filler)
    fix = unsafe("write a placeholder text", edits) if edits else manual("mend it by hand")
    return context.finding("C601", place, message, fix=fix, severity=Severity.WARNING)


@rule("C602", "bad-thinking", Severity.ERROR)
def bad_thinking(context: Context, record: Record, event: Thinking) -> Finding:
    """A thinking block would be refused.

    Finds: A thinking block whose signature is missing, masked or no signature, or whose text
        seems to have been changed after it was signed.
    Matters: "thinking blocks cannot be modified": the request is refused, in every turn to come.
    Example: `{"type":"thinking","thinking":"…","signature":"[REDACTED]"}`
    Repair: Safe: the block is cut whole and kept in lost+found, never edited; text and calls
        stay. Unsafe where the signature is sound and only the text looks masked.
    Seen: 12 reports; redaction tools; sessions moved from another provider.
    """
    place = Place(record.line, record.start, record.end, event.pointer)
    edits = drop_block(context.session, place)
    title = "take the block out (it is kept in lost+found)"
    fix = unsafe(title, edits) if event.guess else safe(title, edits)
    message = f"a thinking block would be refused: {event.fault}"
    severity = Severity.WARNING if event.guess else None
    return context.finding("C602", place, message, fix=fix, severity=severity)


@rule("C604", "encrypted-reasoning", Severity.ERROR)
def encrypted_reasoning(context: Context, record: Record, event: Thinking) -> Finding:
    """A reasoning item's ciphertext was changed.

    Finds: `encrypted_content` that is no ciphertext any more.
    Matters: The provider cannot open it and refuses the request; Codex is dead with it.
    Example: `"encrypted_content":"REDACTED"`
    Repair: Safe: the item is cut and kept in lost+found; the answer behind it stays.
    Seen: Redaction tools; sessions of another organisation.
    """
    place = Place(record.line, record.start, record.end, event.pointer)
    edits = drop_block(context.session, place)
    fix = safe("take the reasoning item out (it is kept in lost+found)", edits)
    message = f"a reasoning item would be refused: {event.fault}"
    return context.finding("C604", place, message, fix=fix)


@rule("C605", "error-echo", Severity.INFORMATION)
def error_echo(context: Context, fault: Fault) -> Finding:
    """Records echo errors of the provider.

    Finds: Claude Code's own records of API errors, whose model is `<synthetic>`.
    Matters: They are shown and not sent. Many of them point at a fault elsewhere in the file.
    Example: `API Error: 400 …` as an answer.
    Repair: None: they do no harm.
    Seen: Every session that was refused once.
    """
    return context.finding("C605", fault.place, fault.message)


@rule("C606", "orphan-reasoning", Severity.ERROR)
def orphan_reasoning(context: Context, fault: Fault) -> Finding:
    """A reasoning item stands without the item that it led to.

    Finds: Reasoning that no answer and no call of the model follows.
    Matters: The Responses API refuses it ("provided without its required following item"), in
        every turn to come.
    Example: A turn that was interrupted while the model was thinking, then the next prompt.
    Repair: Safe: the item is cut and kept in lost+found; nothing that was said goes with it.
    Seen: 5 reports; Codex and others on the Responses API.
    """
    fix = safe(f"{fault.title} (it is kept in lost+found)", fault.edits)
    return context.finding("C606", fault.place, fault.message, fix=fix)


@rule("C607", "bloat", Severity.WARNING)
def bloat(context: Context, fault: Fault) -> Finding:
    """Equal compaction records follow each other.

    Finds: The same `compacted` record several times in a row.
    Matters: Each holds a whole history: files of 37 to 98 GB grew that way.
    Example: Five equal `compacted` records.
    Repair: Manual: nothing is broken, and slimming a session is another task.
    Seen: Codex 28866, 30932.
    """
    fix = manual("nothing is broken; keep a copy before you slim it")
    return context.finding("C607", fault.place, fault.message, fix=fix)


def check(context: Context, record: Record, meaning: Meaning) -> list[Finding]:
    """The findings about the content of one record."""
    form = context.session.format
    sent = form.verbatim
    found: list[Finding] = []
    for event in meaning.events:
        if isinstance(event, Message):
            if not event.hidden and event.role in _TALK:
                found += _message(context, record, meaning, event)
        elif isinstance(event, ToolCall):
            sent = True
            if event.fault:
                found.append(bad_arguments(context, record, event))
        elif isinstance(event, ToolResult):
            if type(event.content) is list:
                key = "output" if form.provider == "openai-responses" else "content"
                pointer = f"{event.pointer}/{key}"
                found += image_findings(context, record, event.content, pointer)
                if form.pairing == "next":
                    found += _empty_results(context, record, event.content, pointer)
        elif isinstance(event, Thinking) and event.fault:
            found.append(_refused_thinking(context, record, event))
    if sent:
        found += provider_findings(context, record, meaning)
    return found


def _empty_results(
    context: Context, record: Record, content: list[Any], pointer: str
) -> Iterator[Finding]:
    """The findings about empty text blocks in a tool result."""
    for n in (n for n, b in enumerate(map(mapping, content)) if b.get("text") == ""):
        spot = Place(record.line, record.start, record.end, f"{pointer}/{n}")
        fix = safe("take the empty block out", drop_value(context.session, spot, spot.pointer))
        yield context.finding("C601", spot, "empty text block in a tool result", fix=fix)


def _refused_thinking(context: Context, record: Record, event: Thinking) -> Finding:
    anthropic = context.session.format.provider == "anthropic"
    return (bad_thinking if anthropic else encrypted_reasoning)(context, record, event)


def _message(context: Context, record: Record, meaning: Meaning, event: Message) -> list[Finding]:
    content = event.content
    if type(content) is list and content:
        found = image_findings(context, record, content, event.pointer)
        if any(map(_is_empty, content)):
            place = Place(record.line, record.start, record.end, event.pointer)
            found += _blocks(context, place, content, event.role)
        return found
    if content and not _is_blank(content):
        return []
    place = Place(record.line, record.start, record.end, event.pointer)
    if context.session.format.leaves_out(""):
        message = "message with nothing in it: the agent leaves it out"
        return [context.finding("C601", place, message, severity=Severity.INFORMATION)]
    if _says_more(record, meaning):
        return []
    return [empty_content(context, place, whole=True, role=event.role)]


def _blocks(context: Context, place: Place, content: list[Any], role: str) -> Iterator[Finding]:
    """The findings about the blank blocks of a message."""
    blank = [n for n, block in enumerate(content) if _is_empty(block)]
    for n in blank:
        spot = Place(*place[:3], f"{place.pointer}/{n}")
        if context.session.format.leaves_out(text(mapping(content[n]).get("text"))):
            message = "blank text block: the agent leaves it out"
            yield context.finding("C601", spot, message, severity=Severity.INFORMATION)
        elif len(blank) == len(content):
            yield empty_content(context, place, whole=True, role=role)
            return
        else:
            yield empty_content(context, spot, whole=False, role=role)


def _says_more(record: Record, meaning: Meaning) -> bool:
    """Whether a message without words says something else: a call, or a refusal."""
    value = record.value or {}
    calls = any(isinstance(e, ToolCall) for e in meaning.events)
    return calls or bool(value.get("refusal") or value.get("function_call"))


def _is_blank(content: Any) -> bool:
    return type(content) is str and (not content or content.isspace())


def _is_empty(block: Any) -> bool:
    if type(block) is not dict or not _is_blank(block.get("text")):
        return False
    # Parts in the shape of Gemini bear no type; blank ones are sent, empty ones are not.
    return text(block.get("type")).endswith("text") or block == {"text": ""}
