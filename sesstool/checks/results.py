"""Family T, the results: without a call, twice, in the wrong place, or without a name."""

from __future__ import annotations

from typing import Any

from sesstool.checks.answers import beside, sibling
from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.checks.surgery import (
    add_member,
    drop_block,
    id_of,
    relink,
    replace_value,
    set_parent,
)
from sesstool.findings import Finding, Fix, Severity
from sesstool.formats.events import Meaning
from sesstool.formats.terms import Place
from sesstool.formats.values import blocks, mapping
from sesstool.model.graph import ASSISTANT, HIDDEN, PROMPT, RESULT, Graph
from sesstool.model.pairing import Call, Result
from sesstool.model.session import Session
from sesstool.model.strict import StrictGraph
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.linewise import put_behind, take_out

_KEPT = "it is kept in lost+found"
_MOVE = "move it behind its call"
_STAYS = "mend the line of its call first: it stands on the next line already"


@rule("T402", "orphan-result", Severity.ERROR)
def orphan_result(context: Context, result: Result) -> Finding:
    """A tool result answers no call.

    Finds: A result whose id no call armed. On a branch that no resume reaches it is information,
        and so it is in a Codex fork by reference: the call may stand in its parent. It is as
        well where no result has an id and the file holds no call: that agent keeps none.
    Matters: Providers refuse the request ("unexpected tool_use_id"), in every turn to come.
    Example: A history that was cut between the call and its result.
    Repair: Safe: the block, or the record that holds nothing else, is cut and kept in
        lost+found. The call is not invented.
    Seen: 14 reports: trimming, compaction, torn records.
    """
    where = "on its way to the root" if context.session.format.strict_path else "in the file"
    message = f"result for call {result.id}, which is not {where}"
    if context.session.tracker.based or (not result.id and not context.session.pairing.calls):
        severity, labels = Severity.INFORMATION, {"call_id": result.id}
        message += (
            ": it may stand in the thread that this one goes on from"
            if result.id
            else ": its agent keeps no calls, or keeps them elsewhere"
        )
        return context.finding("T402", result.place, message, severity=severity, labels=labels)
    fix = safe(f"take the result out ({_KEPT})", drop_block(context.session, result.place))
    return context.held(_about(context, "T402", result, message, fix), result.id)


@rule("T403", "duplicate-result", Severity.ERROR)
def duplicate_result(context: Context, result: Result, first: Place) -> Finding | None:
    """A call has two results.

    Finds: A second result for an id that no new call armed.
    Matters: Providers refuse the request; Codex passes both on.
    Example: A client that answers an interrupted call, and the tool that answers after all.
    Repair: Safe where both say the same, or where one is an agent's placeholder: that one is
        cut and kept in lost+found. Unsafe where both are real: the later one goes.
    Seen: hermes, openclaw; two windows on one session.
    """
    session = context.session
    if not session.reaches(result.row, result.place):
        return None
    if session.graph is not None and not session.reaches(session.graph.row_at(first.start), first):
        return None
    earlier = [e for e in _results(context, first) if e.id == result.id]
    later = [e for e in _results(context, result.place) if e.id == result.id]
    same = bool(earlier and later) and earlier[0].content == later[-1].content
    message = f"second result for call {result.id}"
    if same:
        fix = safe("take the copy out", drop_block(session, result.place))
    elif result.placeholder or not earlier or not earlier[0].placeholder:
        title = f"take the second one out ({_KEPT})"
        edits = drop_block(session, result.place)
        fix = safe(title, edits) if result.placeholder else unsafe(title, edits)
    else:
        place = Place(first.line, first.start, first.end, earlier[0].pointer)
        fix = safe(f"take the placeholder out ({_KEPT})", drop_block(session, place))
    kind = "an identical" if same else "a different"
    return _about(context, "T403", result, f"{message}: {kind} one stands before it", fix)


@rule("T404", "displaced-result", Severity.ERROR)
def displaced_result(context: Context, result: Result, call: Call, ends: list[int]) -> Finding:
    """A tool result stands where its call cannot take it.

    Finds: A result behind the next message (where results must follow directly), or before its
        call.
    Matters: Providers refuse the request. Codex: output before call is dead in all versions.
    Example: call, next prompt, then the result of a slow tool.
    Repair: Safe: the record is moved behind its call; no placeholder is written.
    Seen: Slow tools whose answer came after the next prompt.
    """
    session = context.session
    message = f"the result of call {result.id} belongs behind line {call.place.line}"
    if session.graph is not None:
        fix = _moved_in_tree(session, session.graph, result, call)
        return _about(context, "T404", result, message, fix)
    if session.format.pairing == "next":
        edits = _moved_block(context, result, call, ends)
        fix = safe(_MOVE, edits) if edits else manual(_STAYS)
        return _about(context, "T404", result, message, fix)
    line = session.source.read(result.place.start, result.place.end)
    cut = take_out(session.source, result.place.start, result.place.end)
    at = call.block.end
    inside = result.place.start <= at <= result.place.end
    if inside or result.place.start < call.place.start:
        at = call.place.end
    put = put_behind(session.source, at, line)
    # On the next line already, and not next: other records share the line of its call.
    stays = cut.start <= put.start <= cut.end
    fix = manual(_STAYS) if stays else safe(_MOVE, [cut, put])
    return _about(context, "T404", result, message, fix)


def _moved_block(context: Context, result: Result, call: Call, ends: list[int]) -> list[Edit]:
    """Move a result's block to its siblings, or its whole record where all of it belongs there.

    `ends` are the ends of the records of the calls that results of both its record and its
    call's block answer. No edits where it stands on the next line already.
    """
    session, place = context.session, result.place
    raw = session.raw(place)
    in_message = mapping(session.value(place)).get("role") == "user"
    if sibling(call) is None and in_message and len(ends) == _blocks(session, place):
        cut = take_out(session.source, place.start, place.end)
        put = put_behind(session.source, max(ends), raw)
        return [] if cut.start <= put.start <= cut.end else [cut, put]
    member = locate(raw, place.pointer)
    if member is None:
        return []
    block = raw[member.start : member.end]
    return [*drop_block(session, place), beside(session, call, block)]


def _blocks(session: Session, place: Place) -> int:
    return len(blocks(session.value(place).get("content")))


def _moved_in_tree(session: Session, graph: Graph, result: Result, call: Call) -> Fix:
    """Move a record behind its call's block, hang it there, and close the gap it leaves."""
    if not result.alone:
        return manual("the record says more than the result; part them by hand")
    place = result.place
    line = session.source.read(place.start, place.end)
    last, child = graph.behind(call.row, result.row)
    strict = isinstance(graph, StrictGraph)
    parent = dumps(id_of(session, graph, last if strict else call.row))
    moved = line
    for edit in reversed(set_parent(session, graph, result.row, parent)):
        start, end = edit.start - place.start, edit.end - place.start
        moved = moved[:start] + edit.text + moved[end:]
    cut = take_out(session.source, place.start, place.end)
    put = put_behind(session.source, graph.place(last).end, moved)
    if moved == line and cut.start <= put.start <= cut.end:
        return manual(_STAYS)
    edits = [cut, put]
    if strict:
        edits += relink(session, graph, result.row)
        if child >= 0 and graph.up[child] == last:
            edits += set_parent(session, graph, child, dumps(id_of(session, graph, result.row)))
        return safe(_MOVE, edits)
    # What follows a result that came too early hangs where it should; behind one that came late
    # it hangs from the record that stood between.
    before = graph.before(result.row) if result.row > call.row else -1
    for follower in graph.children(result.row):
        if before >= 0 and not graph.flags[follower] & RESULT:
            edits += set_parent(session, graph, follower, dumps(id_of(session, graph, before)))
    if child >= 0 and child != result.row and graph.flags[graph.up[child]] & ASSISTANT:
        edits += set_parent(session, graph, child, dumps(id_of(session, graph, result.row)))
    return safe(_MOVE, edits)


@rule("T409", "nameless-result", Severity.ERROR)
def nameless_result(context: Context, result: Result, call: Call) -> Finding:
    """A call or its result has no id, or one that is no other's.

    Finds: A result without a call id where exactly one call is open, or the reverse. A result
        whose id, or whose call's, shows damage and is else the same.
    Matters: Providers refuse the request; agents leave both out.
    Example: `{"role":"tool","content":"…"}` without `tool_call_id`.
    Repair: Safe: it gets the id of the only one that it can belong to. Where several are left,
        manual: no result is taken out, and none is made up for their calls.
    Seen: Sessions passed through other tools.
    """
    session = context.session
    of_result = bool(call.id)
    place, name = (result.place, call.id) if of_result else (call.place, result.id)
    key = session.format.result_key if of_result else session.format.call_key
    spot = Place(*place[:3], f"{place.pointer}/{key}")
    text = dumps(name)
    edits = replace_value(session, spot, spot.pointer, text) or add_member(session, spot, text)
    what, other = ("result", "call") if of_result else ("call", "result")
    title = f"give it the id of the only {other} that it can belong to"
    fix = safe(title, edits) if edits else manual(f"{title}, by hand")
    fault = f"names no call by its id {result.id}" if call.id and result.id else "has no id"
    message = f"a {what} {fault}; exactly one {other} is left for it"
    return context.finding("T409", place, message, fix=fix)


def undecided(context: Context, one: Call | Result) -> Finding:
    """T401 or T409 where nobody can tell which results and calls belong together."""
    fix = manual("give each result that names no call the id of its call, by hand")
    if isinstance(one, Result):
        fault = f"names no call by its id {one.id}" if one.id else "has no id"
        message = f"a result {fault}, and nobody can tell which call it answers"
        return context.finding("T409", one.place, message, fix=fix)
    message = f"call {one.id} has no result by its id; results that name no call stand behind it"
    return context.finding("T401", one.place, message, fix=fix, labels={"call_id": one.id})


def astray(graph: Graph, row: int, call: int) -> bool:
    """Whether a result stands before its call, or behind something that was said after it.

    What another writer says in between hangs from somewhere else, and is no fault.
    """
    if isinstance(graph, StrictGraph):
        return not graph.hangs_on(row, call)
    if row < call:
        return True
    for other in range(call + 1, row):
        flags = graph.flags[other]
        said = flags & (ASSISTANT | PROMPT) and not flags & HIDDEN
        if said and not graph.same_turn(other, call) and follows(graph, other, call):
            return True
    return False


def follows(graph: Graph, row: int, call: int) -> bool:
    """Whether a row hangs below a call's turn."""
    while row > call:
        row = graph.up[row] if graph.up[row] < row else -1
        if row >= 0 and graph.same_turn(row, call):
            return True
    return row == call


def _about(context: Context, code: str, result: Result, message: str, fix: Fix) -> Finding:
    labels = {"call_id": result.id}
    cause = context.cause(result.id)
    if context.session.reaches(result.row, result.place):
        return context.finding(code, result.place, message, fix=fix, cause=cause, labels=labels)
    message += ", on a branch that a resume does not reach"
    severity = Severity.INFORMATION
    return context.finding(code, result.place, message, severity=severity, labels=labels)


def _results(context: Context, place: Place) -> list[Any]:
    meaning: Meaning = context.session.format.meaning(context.session.value(place))
    return [e for e in meaning.events if hasattr(e, "placeholder")]
