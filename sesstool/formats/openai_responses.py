"""Items of the OpenAI Responses API, one a line: the `input` list of a request, or a store of it.

Calls and outputs go together by `call_id`. A message may leave its type out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sesstool.formats.anthropic_blocks import is_block
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning
from sesstool.formats.payloads import Payload
from sesstool.formats.responses_items import (
    ITEM_FROZEN,
    ITEM_OPAQUE,
    ITEMS,
    Reasoning,
    answer_item,
    item_events,
    item_payloads,
)
from sesstool.formats.responses_writer import ResponsesScribe
from sesstool.formats.terms import ASKING, Fault, Place, Question, Score, Tracker
from sesstool.formats.values import blocks, fields_of, mapping, share, text
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps, locate, without
from sesstool.records.linewise import take_out
from sesstool.records.recover import Record
from sesstool.records.source import Source

# What records of other formats have around an item, and items never have.
_FOREIGN = frozenset(
    {"payload", "message", "parentId", "parentUuid", "uuid", "sessionId", "tool_calls"}
)
# What a message has that leaves its type out; with more it is some other agent's.
_BARE_KEYS = frozenset({"role", "content", "id", "status", "phase"})
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


class OpenAIResponses(Format):
    """See the module."""

    fields = fields_of(ITEM_FROZEN, ITEM_OPAQUE)
    name = "openai-responses"
    title = "OpenAI Responses items"
    schema = "openai-responses"
    provider = "openai-responses"
    verbatim = True
    once = True
    call_key = result_key = "call_id"
    pairing = "order"
    waits = ASKING
    scribe = ResponsesScribe

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        if not any(text(v.get("type")) in ITEMS for v in values):
            return Score(0, "no record is an item with its type")
        items = share(values, (_is_item(v) for v in values))
        return Score(items, f"{items} % of the records are Responses items")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        return Meaning(item_events(_typed(value), ""))

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        return item_payloads(value, "")

    def tracker(self, path: Path | None) -> Tracker:
        """See `Format.tracker`."""
        return _Tracker()

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`."""
        return dumps(answer_item(question))


def _typed(value: dict[str, Any]) -> dict[str, Any]:
    return value if "type" in value or "role" not in value else {"type": "message"} | value


def _is_item(value: dict[str, Any]) -> bool:
    item = _typed(value)
    kind = text(item.get("type"))
    if kind not in ITEMS or _FOREIGN & value.keys():
        return False
    if "type" not in value and not value.keys() <= _BARE_KEYS:
        return False
    content = map(mapping, blocks(item.get("content")))
    return kind != "message" or ("role" in item and not any(map(is_block, content)))


class _Tracker(Tracker):
    """Reasoning that leads to nothing, and ids that the API would not take."""

    def __init__(self) -> None:
        self._reasoning = Reasoning()
        self._ids: set[int] = set()
        self._faults: list[Fault] = []

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        item = record.value or {}
        self._reasoning.see(record, item)
        name = text(item.get("id"))
        if name and not record.defects:
            kind = text(item.get("type")) or "message"
            wanted = _PREFIXES.get(kind, "")
            if not name.startswith(wanted):
                message = f"the id of a {kind} item does not begin with {wanted}"
                self._faults.append(_fault(record, item, message))
            elif hash(name) in self._ids:
                message = f"the id of a {kind} item stands on an earlier item too"
                self._faults.append(_fault(record, item, message))
            self._ids.add(hash(name))

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        for fault in self._faults:
            if fault.safe and not fault.edits:
                cut = take_out(source, fault.place.start, fault.place.end)
                yield replace(fault, edits=(cut,))
            else:
                yield fault
        yield from self._reasoning.faults(source)


def _fault(record: Record, item: dict[str, Any], message: str) -> Fault:
    """How an id is mended; one of a second reference is the whole record, and is cut later."""
    place = Place(record.line, record.start, record.end, "/id")
    if item.get("type") == "item_reference":
        return Fault("bad-item-id", place, message, "take the reference out", safe=True)
    if item.get("type") == "reasoning" and not item.get("encrypted_content"):
        return Fault("bad-item-id", place, message, "take the item out, or mend its id")
    member = locate(record.raw, "/id")
    assert member is not None
    start, end = without(record.raw, member)
    edits = (Edit(record.start + start, record.start + end),)
    return Fault("bad-item-id", place, message, "cut the id", edits, safe=True)
