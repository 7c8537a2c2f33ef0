"""Family J: JSON that decoders disagree about."""

from __future__ import annotations

import json
from typing import Any

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.findings import Finding, Severity
from sesstool.formats.terms import Place
from sesstool.records.heal import Defect, Kind
from sesstool.records.recover import Record


@rule("J201", "lone-surrogate", Severity.ERROR)
def lone_surrogate(context: Context, record: Record, defect: Defect) -> Finding:
    r"""A string holds half a character.

    Finds: An escape of a high or low surrogate without its other half.
    Matters: No UTF-8 text can hold it. Providers answer "no low surrogate in string" to every
        request that sends it, so that the session is dead.
    Example: `"\ud83c"`, the first half of an emoji that was cut.
    Repair: Safe: U+FFFD takes its place; whole characters stay.
    Seen: Claude Code 558; qwen-code.
    """
    place = Place(record.line, defect.start, defect.end)
    message = f"{defect.count} halves of surrogate pairs stand alone"
    fix = safe("put U+FFFD in their place", defect.edits)
    return context.finding("J201", place, message, fix=fix)


@rule("J202", "nonstrict-json", Severity.ERROR)
def nonstrict_json(context: Context, record: Record, defect: Defect) -> Finding:
    r"""A record is JSON for lenient readers only.

    Finds: NaN and Infinity, commas before a closing bracket, backslashes that escape nothing.
    Matters: Python reads and writes NaN in silence, every other reader refuses the record.
    Example: `{"score":NaN}`
    Repair: Unsafe, since it guesses what was meant: null for NaN and Infinity, no comma, the
        backslash as a character.
    Seen: Sessions written by Python scripts.
    """
    place, notes = Place(record.line, defect.start, defect.end), context.bad_line(defect)
    message = f"{defect.count} places are no strict JSON"
    fix = unsafe("write null, cut the comma, or double the backslash", defect.edits)
    return context.finding("J202", place, message, fix=fix, notes=notes)


@rule("J203", "not-an-object", Severity.ERROR)
def not_an_object(context: Context, record: Record, defect: Defect) -> Finding:
    """A line is JSON, but no object.

    Finds: null, a number, a string or a list on a line of its own.
    Matters: A record is an object; readers that expect one fail on the line.
    Example: `null`
    Repair: Safe: the line is cut and kept in lost+found. A list of records is unsafe: each of
        them gets a line of its own.
    Seen: Scripts that print a function's result into the session.
    """
    place, notes = Place(record.line, record.start, record.end), context.bad_line(defect)
    if defect.kind is Kind.LIST:
        fix = unsafe("give each record of the list a line", defect.edits)
        return context.finding(
            "J203", place, "a list of records stands on one line", fix=fix, notes=notes
        )
    fix = safe("cut the line (it is kept in lost+found)", defect.edits)
    return context.finding("J203", place, "JSON, but no object", fix=fix, notes=notes)


@rule("J204", "duplicate-key", Severity.WARNING)
def duplicate_key(context: Context, record: Record) -> Finding | None:
    """An object names a member twice.

    Finds: The same key twice in one object. Looked for with --thorough, and on lines that
        another finding points at.
    Matters: Readers take the last value, or the first, or refuse: they see different sessions.
    Example: `{"role":"user","role":"assistant"}`
    Repair: None: only a person can tell which value is meant.
    Seen: Records merged by hand.
    """
    twice = 0

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal twice
        twice += len(pairs) - len({key for key, _ in pairs})

    try:
        json.loads(record.raw, object_pairs_hook=look)
    except (ValueError, RecursionError):
        return None
    if not twice:
        return None
    place = Place(record.line, record.start, record.end)
    return context.finding("J204", place, f"{twice} keys stand twice in one object")


@rule("J205", "too-deep", Severity.INFORMATION)
def too_deep(context: Context, record: Record, _: Defect) -> Finding:
    """A record is nested too deep to be looked into.

    Finds: JSON nested over a thousand levels.
    Matters: Most decoders stop at such a depth; what the record says was not checked.
    Example: `{"a":{"a":{"a":…}}}`
    Repair: None.
    Seen: Test data.
    """
    place = Place(record.line, record.start, record.end)
    return context.finding("J205", place, "nested too deep to be checked")


@rule("J206", "other-notation", Severity.ERROR)
def other_notation(context: Context, record: Record, defect: Defect) -> Finding:
    """A line is an object, but in the notation of a program.

    Finds: Objects as Python or JavaScript print them: with single quotes, bare keys or
        comments.
    Matters: It is no JSON: every reader skips the line, or stops at it.
    Example: `{'role': 'user', 'content': 'hi'}`
    Repair: Manual: there are too many such notations to be sure of what was meant.
    Seen: Scripts that print a dictionary instead of its JSON.
    """
    place, notes = Place(record.line, record.start, record.end), context.bad_line(defect)
    fix = manual("write it again as JSON, where it was made")
    return context.finding("J206", place, "an object that is no JSON", fix=fix, notes=notes)


BY_KIND = {
    "lone-surrogate": lone_surrogate,
    "nonstrict-json": nonstrict_json,
    "not-an-object": not_an_object,
    "list-of-records": not_an_object,
    "other-notation": other_notation,
    "too-deep": too_deep,
}
