"""Family C: content that a provider refuses, and content that only takes room."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from typing import Any

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.checks.surgery import drop_block, drop_record, replace_value
from sesstool.checks.tools import bad_arguments
from sesstool.findings import Finding, Severity
from sesstool.formats.base import Fault, Place, mapping, text
from sesstool.formats.events import Meaning, Message, Thinking, ToolCall, ToolResult
from sesstool.formats.wording import MARK, removed_text
from sesstool.records.jsonspan import dumps
from sesstool.records.recover import Record

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_IMAGE_LIMIT = 5 << 20
_EMPTY_TEXT = f"{MARK} this message was empty"


@rule("C601", "empty-content", Severity.ERROR)
def empty_content(context: Context, place: Place, *, whole: bool, role: str) -> Finding:
    """A message, or a text block of one, is empty.

    Finds: A text block without text; a message with nothing in it. An empty tool result is
        sound. Blank text that Claude Code wrote itself is information: it leaves it out.
    Matters: Providers refuse the request ("text content blocks must be non-empty"), in every
        turn to come.
    Example: `{"type":"text","text":""}` beside a tool call.
    Repair: Safe for a block beside others: it is cut. Safe for a whole record of a tree: it is
        cut and the chain closed. Unsafe for a whole message of a plain list, where the order of
        turns counts: a placeholder text is written.
    Seen: 8 reports; Claude Code 60837, pi, Copilot CLI.
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
    if type(_at(session.value(place), place.pointer)) is list:
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


@rule("C603", "bad-image", Severity.ERROR)
def bad_image(context: Context, place: Place, fault: str, data: str) -> Finding:
    """An image would be refused.

    Finds: Image data that is empty, no base64, over 5 MB, or not of the kind that it says.
    Matters: The request is refused, in every turn to come: one image kills a session.
    Example: An HTML error page as `image/png`.
    Repair: Unsafe: a text takes its place that tells size and hash; the bytes are kept in
        lost+found.
    Seen: 10 reports; Claude Code 2104, 20021, 34025.
    """
    kind = text(mapping(_at(context.session.value(place), place.pointer)).get("type"))
    digest = hashlib.sha256(data.encode()).hexdigest()
    words = removed_text("image", len(data), digest)
    block = {"type": "input_text" if kind == "input_image" else "text", "text": words}
    edits = replace_value(context.session, place, place.pointer, dumps(block))
    fix = unsafe("put a text with its size and hash in its place", edits)
    return context.finding("C603", place, f"an image would be refused: {fault}", fix=fix)


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
    edits = drop_record(context.session, place)
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


def check(context: Context, record: Record, meaning: Meaning) -> Iterator[Finding]:
    """The findings about the content of one record."""
    for event in meaning.events:
        if isinstance(event, Message):
            yield from _message(context, record, meaning, event)
        elif isinstance(event, Thinking):
            if event.fault:
                yield _refused_thinking(context, record, event)
        elif isinstance(event, ToolCall):
            if event.fault:
                yield bad_arguments(context, record, event)
        elif isinstance(event, ToolResult) and type(event.content) is list:
            pointer = event.pointer + ("/content" if "/content/" in event.pointer else "/output")
            yield from _images(context, record, event.content, pointer)


def _refused_thinking(context: Context, record: Record, event: Thinking) -> Finding:
    anthropic = context.session.format.provider == "anthropic"
    return (bad_thinking if anthropic else encrypted_reasoning)(context, record, event)


def _message(
    context: Context, record: Record, meaning: Meaning, event: Message
) -> Iterator[Finding]:
    if event.hidden or event.role not in ("user", "assistant"):
        return
    place = Place(record.line, record.start, record.end, event.pointer)
    content = event.content
    if type(content) is list and content:
        yield from _images(context, record, content, event.pointer)
        yield from _blocks(context, place, content, event.role)
    elif (not content or _is_blank(content)) and not _says_more(record, meaning):
        yield empty_content(context, place, whole=True, role=event.role)


def _blocks(context: Context, place: Place, content: list[Any], role: str) -> Iterator[Finding]:
    """The findings about empty blocks among those of a message."""
    blank = [n for n, block in enumerate(content) if _is_empty(block)]
    for n in blank:
        spot = Place(*place[:3], f"{place.pointer}/{n}")
        if context.session.graph is not None and mapping(content[n]).get("text"):
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
    return type(content) is str and not content.strip()


def _is_empty(block: Any) -> bool:
    block = mapping(block)
    words = block.get("text")
    return text(block.get("type")).endswith("text") and _is_blank(words)


def _images(
    context: Context, record: Record, content: list[Any], pointer: str
) -> Iterator[Finding]:
    for n, block in enumerate(content):
        data, declared = _image(mapping(block))
        if data is None:
            continue
        fault = _image_fault(data, declared)
        if fault:
            place = Place(record.line, record.start, record.end, f"{pointer}/{n}")
            yield bad_image(context, place, fault, data)


def _image(block: dict[str, Any]) -> tuple[str | None, str]:
    """The base64 data and the declared type of an image block, None where it is no such."""
    kind = block.get("type")
    source = mapping(block.get("source"))
    if kind == "image" and source.get("type") == "base64":
        return text(source.get("data")), text(source.get("media_type"))
    if kind in ("input_image", "image_url"):
        url = block.get("image_url")
        url = text(mapping(url).get("url")) if type(url) is dict else text(url)
        if url.startswith("data:"):
            head, _, data = url[5:].partition(",")
            return data, head.partition(";")[0]
    return None, ""


def _image_fault(data: str, declared: str) -> str:
    if not data:
        return "it is empty"
    if len(data) > _IMAGE_LIMIT:
        return f"it has {len(data)} bytes, over 5 MB"
    try:
        start = base64.b64decode(data[:64], validate=True)
        binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        return "it is no base64"
    kinds = [kind for magic, kind in _MAGIC.items() if start.startswith(magic)]
    if not kinds:
        return f"it says {declared}, its bytes are no image"
    if declared.startswith("image/") and declared.replace("jpg", "jpeg") != kinds[0]:
        return f"it says {declared}, its bytes are {kinds[0]}"
    return ""


def _at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if type(value) is list else mapping(value).get(part)
    return value
