"""The promises of reading and repair, as assertions about one session given as bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from sesstool.checks.context import Options
from sesstool.errors import InputError
from sesstool.findings import Applicability, FileReport, Finding, Severity
from sesstool.formats import registry
from sesstool.records.edits import Edit, EditSet, Kept
from sesstool.records.jsonspan import deeper
from sesstool.records.recover import Record, records
from sesstool.repair.planner import Choice, Outcome, plan
from tests.conftest import Memory
from tests.mutations import lines

PLAIN = Choice()
UNSAFE = Choice(unsafe=True, flags=frozenset({"--join-branches"}))

UNREPAIRED = {
    "B117": "an empty file is never changed",
    "J206": "only a person can tell what an object in another notation should say",
    "S301": "the file does not tell what should stand there",
    "M701": "manual where neither the file's name nor a record tells the thread",
    "M712": "sesstool makes no file beside a session",
    "M706": "only a person knows where foreign records belong",
    "C607": "slimming a session is another task",
    "C601": "manual where a message has no member that could hold a text",
    "T401": "manual where the call has no id that a result could name",
    "T404": "manual where the record says more than the result, or others share the call's line",
    "T413": "only who wrote the file can tell how the turn may be parted",
    "C608": "manual where the item is only found by its id",
    "T406": "manual where a call has no member that could hold arguments",
    "G508": "manual where no record stands behind the compaction",
    "T409": "manual where the call is no object that could hold an id",
    "G505": "where the branches share no record, there is no place to join them",
}
"""Errors and warnings that the boldest repair may leave, and why."""

_TAKES_OUT = {
    "T402",
    "T403",
    "T405",
    "T408",
    "C601",
    "C602",
    "C604",
    "C606",
    "G502",
    "M704",
    "J203",
    "S304",
    "G507",
}
_LINKS = {key for form in registry.FORMATS for key in (form.id_key, form.parent_key)}
_KEYS = ("id_key", "parent_key", "call_key", "result_key", "keep_key")
_MEMBERS = {
    *("retain_start_idx", "source_message_count", "messages_compacted"),
    *(getattr(form, key) for form in registry.FORMATS for key in _KEYS),
    *("ordinal", "version", "input", "arguments", "content", "tool_calls"),
}
"""Members that a plain repair of a readable record may change: those a format names, and these."""
_MORE = {
    # Of an envelope that says nothing, and what a message asks for.
    "copilot-cli": {"id", "parentId", "timestamp", "success", "toolRequests"},
    "gemini": {"args", "messages"},  # a checkpoint holds many messages
}
"""And these in one format alone."""


def hold(data: bytes, name: str, format_name: str = "") -> None:
    """All that a plain repair and the boldest one promise."""
    for choice in (PLAIN, UNSAFE):
        outcome = planned(data, name, choice, format_name)
        if outcome is None:
            continue
        result = outcome.edits.apply(data)
        if choice is PLAIN:
            loses_nothing(data, outcome, result)
        keeps_untouched_lines(data, outcome.edits, result)
        again = planned(result, name, choice, format_name)
        assert again is not None, "a repaired session is no session any more"
        assert not again.edits, f"a second repair has work: {[f.code for f in again.mended]}"
        leaves_no_error(again.before, unsafe=choice is UNSAFE)


def planned(data: bytes, name: str, choice: Choice, format_name: str = "") -> Outcome | None:
    """The repair of some bytes, None where they are no session that can be read."""
    try:
        return plan(Memory(data, name), Options(), choice, format_name=format_name)
    except InputError:
        return None


def reads_every_byte(data: bytes, chunk: int) -> None:
    """Each byte is a record's, a fragment's, a separator's, or goes with a defect."""
    found = list(records(Memory(data, step=chunk)))
    again = list(records(Memory(data)))
    assert [*map(_shape, found)] == [*map(_shape, again)], "the size of chunks shows"
    at = 0
    for record in found:
        assert record.start >= at, "records overlap"
        assert record.raw in (data[record.start : record.end], b"")
        assert (record.value is None) <= bool(record.defects), "a fragment without a defect"
        assert record.line == data.count(b"\n", 0, record.start) + 1
        at = record.end
    covered = bytearray(len(data))
    for record in found:
        for start, end in _spans(record):
            covered[start:end] = b"\1" * (end - start)
    left = bytes(byte for byte, seen in zip(data, covered, strict=True) if not seen)
    assert not left.strip(b" \t\r\n"), "bytes belong to nothing"


def _shape(record: Record) -> tuple[Any, ...]:
    return record.line, record.start, record.end, record.value is None, record.defects


def _spans(record: Record) -> Iterator[tuple[int, int]]:
    yield record.start, record.end
    for defect in record.defects:
        yield from ((edit.start, edit.end) for edit in defect.edits)


def loses_nothing(data: bytes, outcome: Outcome, result: bytes) -> None:
    """Each readable record is there as it was, but for what a finding's fix changes in it."""
    after = [v for line in lines(result) if (v := value_of(line)) is not None]
    whole = Counter(map(_canonical, after))
    moved = set(map(_unlinked, after))
    inside: set[str] | None = None
    copies = Counter[str]()
    if any(finding.code == "B116" for finding in outcome.mended):
        copies.update(_canonical(r.value) for r in records(Memory(data)) if r.value)
    taken_out = 0
    members = _MEMBERS | _MORE.get(outcome.before.format, set())
    for start, end in _readable(data):
        pieces = _kept(outcome.edits, len(data), start, end)
        value = value_of(data[start:end])
        if whole[_canonical(value)] or copies[_canonical(value)] > 1:
            continue
        if inside is None:
            inside = {_canonical(v) for top in after for v in objects(top)}
        if _canonical(value) in inside:
            continue
        if not pieces:
            # The results of a turn are gathered in one message.
            gathered = _blocks(value) and all(_canonical(b) in inside for b in _blocks(value))
            taken_out += _unlinked(value) not in moved and not gathered
            continue
        new = value_of(_line_at(result, pieces[0]))
        changed = differing(value, new)
        if _blocks(value) and _blocks(new):
            # A block may come to others, or go: each is looked for by itself.
            changed = differing(value | {"content": []}, new | {"content": []})
            gone = [b for b in _blocks(value) if _canonical(b) not in inside]
            taken_out += sum(
                all(differing(block, b) - members for b in _blocks(new)) for block in gone
            )
        assert changed <= members, f"a repair changed {sorted(changed - members)}; see _MEMBERS"
    allowed = sum(finding.code in _TAKES_OUT for finding in outcome.mended)
    assert taken_out <= allowed, "records are gone, and no finding says so"


def _blocks(value: dict[str, Any]) -> list[Any]:
    content = value.get("content")
    return content if type(content) is list else []


def keeps_untouched_lines(data: bytes, edits: EditSet, result: bytes) -> None:
    """Lines that no edit touches are in the result, byte for byte and in order."""
    left = iter(result.split(b"\n"))
    at = 0
    for line in data.split(b"\n"):
        start, end = at, at + len(line)
        at = end + 1
        if not any(_touches(edit, data, start, end) for edit in edits):
            assert any(line == other for other in left), "an untouched line is gone"


def leaves_no_error(report: FileReport, *, unsafe: bool) -> None:
    """What is left has no fix, or one that was not asked for."""
    wrong = [f for f in report.findings if f.severity is not Severity.INFORMATION]
    left = [f.code for f in wrong if not _may_stay(f, unsafe=unsafe)]
    assert not left, f"findings are left: {left}; see UNREPAIRED"


def _may_stay(finding: Finding, *, unsafe: bool) -> bool:
    """Whether a finding has no fix, or only one that waits for a flag."""
    if unsafe:
        return finding.code in UNREPAIRED and not (finding.fix and finding.fix.edits)
    return finding.fix is None or finding.fix.applicability is not Applicability.SAFE


def value_of(line: bytes) -> dict[str, Any] | None:
    """The object that a line of strict JSON holds."""
    try:
        # Deeper ones could not be compared.
        value = None if deeper(line, 200) else json.loads(line, parse_constant=_refuse)
    except ValueError:
        return None
    return value if type(value) is dict and value else None


def _refuse(_: str) -> None:
    raise ValueError


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a JSON value, at any depth."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if type(here) is dict:
            yield here
            waiting += here.values()
        elif type(here) is list:
            waiting += here


def differing(before: Any, after: Any) -> set[str]:
    """The names of the innermost members in which two values differ."""
    if type(before) is dict and type(after) is dict:
        return {
            name
            for key in before.keys() | after.keys()
            for name in _in_member(key, before.get(key, _ABSENT), after.get(key, _ABSENT))
        }
    if type(before) is list and type(after) is list and len(before) == len(after):
        return {name for pair in zip(before, after, strict=True) for name in differing(*pair)}
    return set() if before == after and type(before) is type(after) else {""}


_ABSENT = object()


def _in_member(key: str, before: Any, after: Any) -> set[str]:
    return {name or key for name in differing(before, after)}


def _canonical(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        # Such a record is never looked into, let alone changed.
        return "nested deeper than the encoder goes"


def _unlinked(value: Any) -> str:
    """A record without its place in the tree, which it changes where it is moved.

    Another finding may have given it the id that it lacked.
    """
    return _canonical({key: inner for key, inner in value.items() if key not in _LINKS})


def _readable(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    for line in data.split(b"\n"):
        if value_of(line) is not None and _is_strict(line):
            yield at, at + len(line)
        at += len(line) + 1


def _is_strict(line: bytes) -> bool:
    """Whether every reader takes the line: orjson refuses halves of characters."""
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True


def _kept(edits: EditSet, size: int, start: int, end: int) -> list[int]:
    """Where the pieces of [start, end) that are kept begin in the result."""
    found, at = [], 0
    for piece in edits.pieces(size):
        if not isinstance(piece, Kept):
            at += len(piece)
            continue
        first, last = max(piece.start, start), min(piece.end, end)
        if first < last:
            found.append(at + first - piece.start)
        at += piece.end - piece.start
    return found


def _line_at(data: bytes, at: int) -> bytes:
    start = data.rfind(b"\n", 0, at) + 1
    end = data.find(b"\n", at)
    return data[start : end if end >= 0 else len(data)]


def _touches(edit: Edit, data: bytes, start: int, end: int) -> bool:
    """Whether an edit changes a byte of a line, or where it begins or ends."""
    if edit.end == start:
        before = edit.text or data[: edit.start]
        return before != b"" and not before.endswith(b"\n")
    if edit.start == edit.end:
        behind = edit.start == end and edit.text.startswith(b"\n")
        return start < edit.start <= end and not behind
    return edit.start <= end and edit.end > start
