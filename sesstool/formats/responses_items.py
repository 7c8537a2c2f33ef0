"""The items of the OpenAI Responses API: messages, calls, outputs and reasoning.

Codex keeps them in an envelope; others keep them bare, one a line.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

from sesstool.formats.arguments import argument_fault
from sesstool.formats.events import Event, Message, Meta, Thinking, ToolCall, ToolResult, Unknown
from sesstool.formats.payloads import Payload
from sesstool.formats.terms import Fault, Place, Question
from sesstool.formats.values import mapping, text
from sesstool.formats.wording import answer_text, has_word, is_placeholder
from sesstool.records.linewise import take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

ITEM_FROZEN = """
    type id call_id role status name namespace execution phase action.type
    content.type summary.type output.type internal_chat_message_metadata_passthrough.** metadata.**
"""
ITEM_OPAQUE = """
    encrypted_content content.encrypted_content content.image_url output.image_url result
    content.input_audio.data content.file_data output.file_data
"""
"""The fields of an item that are no plain text, see `fields_of`."""
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_OTHER_ITEMS = frozenset(
    [
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "computer_call",
        "computer_call_output",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "apply_patch_call_output",
        "local_shell_call_output",
        "item_reference",
        "compaction",
        "compaction_summary",
        "context_compaction",
        "configuration_update",
        "ghost_snapshot",
        "agent_message",
        "other",
    ]
)
ITEMS = _CALLS | _RESULTS | _OTHER_ITEMS | {"message", "reasoning"}
_CIPHERTEXT = (string.ascii_letters + string.digits + "+/_-").encode()
_MASKS = ("redacted", "masked", "removed", "omitted", "secret", "xxxxxxxx")
# What Codex itself puts into a user message; a person wrote none of it.
_INJECTED = ("<environment_context>", "<user_instructions>", "<permissions", "<skills", "<turn_")


def item_events(item: dict[str, Any], pointer: str) -> list[Event]:
    """What a Responses item means."""
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
        name = text(item.get("name")) or kind
        return [ToolCall(pointer, call_id, name, arguments, fault=fault, as_text=True)]
    if kind in _RESULTS:
        if kind == "tool_search_output" and item.get("execution") == "server":
            return [Meta(pointer, kind)]
        output = item.get("output")
        return [ToolResult(pointer, call_id, output, placeholder=is_placeholder(output))]
    if kind == "reasoning":
        return [Thinking(pointer, cipher_fault(item.get("encrypted_content")))]
    if kind in ("compaction", "compaction_summary"):
        return [Thinking(pointer, cipher_fault(item.get("encrypted_content", "")))]
    if kind in _OTHER_ITEMS:
        return [Meta(pointer, kind)]
    return [Unknown(pointer, kind)]


def item_payloads(item: dict[str, Any], pointer: str) -> Iterator[Payload]:
    """Where the output of a tool stands in an item, be it the client's or the provider's tool."""
    kind = text(item.get("type"))
    if kind.endswith("_output"):
        yield Payload(f"{pointer}/output")
    elif kind == "image_generation_call":
        yield Payload(f"{pointer}/result", blank=True)
    elif kind in _OTHER_ITEMS and kind.endswith("_call"):
        for name in ("output", "outputs", "results", "error"):
            yield Payload(f"{pointer}/{name}")


class Reasoning:
    """Finds the reasoning items that the model's own item does not follow."""

    def __init__(self) -> None:
        """Start before the first item."""
        self._open: list[Place] = []
        self._aimless: list[Place] = []

    def see(self, record: Record, item: dict[str, Any]) -> None:
        """Take the items in their order."""
        kind = text(item.get("type")) or "message"
        if kind == "reasoning":
            self._open.append(Place(record.line, record.start, record.end))
            return
        if kind.endswith("_output") or (kind == "message" and item.get("role") != "assistant"):
            self._aimless += self._open
        self._open = []

    def faults(self, source: Source) -> Iterator[Fault]:
        """One for each that leads to nothing, also at the end."""
        for place in self._aimless + self._open:
            edits = (take_out(source, place.start, place.end),)
            message = "a reasoning item without the item that it led to"
            yield Fault("orphan-reasoning", place, message, "take it out", edits, safe=True)


def answer_item(question: Question, lost: str = "") -> dict[str, Any]:
    """The output that answers a call; `lost` stands before the words where it was not recorded."""
    words = answer_text(question.evidence, question.name)
    if not question.evidence.output:
        words = lost + words
    item: dict[str, Any] = {"call_id": question.call_id}
    kind = text(mapping(question.call).get("type"))
    if kind == "tool_search_call":
        missing = {"status": "failed", "execution": "client", "tools": []}
        return {"type": "tool_search_output"} | item | missing
    custom = kind == "custom_tool_call"
    output_kind = "custom_tool_call_output" if custom else "function_call_output"
    return {"type": output_kind} | item | {"output": words}


def _injected(content: Any) -> bool:
    first = mapping(content[0]) if type(content) is list and content else {}
    return text(first.get("text")).lstrip().startswith(_INJECTED)


def cipher_fault(value: Any) -> str:
    """Why the provider would not open what it sealed itself; "" where it would."""
    if value is None:
        return ""
    if type(value) is not str or not _is_ciphertext(value) or has_word(value, _MASKS):
        return "its encrypted_content is no ciphertext"
    return ""


def _is_ciphertext(value: str) -> bool:
    """Whether a text is base64 of either alphabet; twice as fast as a regular expression."""
    body = value.rstrip("=")
    sealed = bool(body) and len(value) - len(body) <= 2 and body.isascii()
    return sealed and not body.encode().translate(None, _CIPHERTEXT)
