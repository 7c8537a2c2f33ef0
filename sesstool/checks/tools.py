"""Family T: tool calls; `results` has the rules about their results."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

from sesstool.checks.answers import Answers
from sesstool.checks.context import Context, manual, safe
from sesstool.checks.results import (
    astray,
    displaced_result,
    duplicate_result,
    follows,
    nameless_result,
    orphan_result,
    undecided,
)
from sesstool.checks.rule import rule
from sesstool.checks.surgery import add_member, drop_block, replace_value
from sesstool.findings import Finding, Fix, Severity
from sesstool.formats.base import Format
from sesstool.formats.events import ToolCall
from sesstool.formats.terms import Place
from sesstool.formats.wording import doubt
from sesstool.model.graph import RESULT
from sesstool.model.pairing import Call, Result
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps
from sesstool.records.recover import Record

KEPT = "it is kept in lost+found"
_NEW_ID = "give the second call, and its result, a new id"


def _tool(call: Call) -> str:
    return call.name or "a tool"


@rule("T401", "unanswered-call", Severity.ERROR)
def unanswered_call(context: Context, call: Call, answers: Answers) -> Finding:
    """A tool call has no result.

    Finds: A call whose id no result names before its turn ends. On a branch that no resume
        reaches it is information.
    Matters: Providers refuse every further request (Claude: "tool_use ids were found without
        tool_result blocks"). Newer agents hide it: they leave the call out, or answer
        "aborted", and the model does not know that the tool may have run.
    Example: An assistant record with `tool_use`, then the next prompt.
    Repair: Safe: one result a call, in the agent's own shape, behind the results of its
        siblings. It says what the file proves: the recorded output where an event holds it,
        else that the outcome is unknown. Nothing is ever run again.
        `--unanswered drop` takes the call out instead.
    Seen: The most frequent fatal fault: 30 reports in more than 20 products.
    """
    session = context.session
    state = session.tracker.evidence(call.id, session.source, call.scope).state
    harmless = call.name in context.session.format.harmless
    notes = []
    if state == "uncertain":
        notes.append(doubt(call.name, harmless=harmless))
    labels = {"call_id": call.id, "tool": call.name, "state": state}
    message = f"call {call.id} ({_tool(call)}) has no result"
    if not context.session.reaches(call.row, call.place):
        message += ", on a branch that a resume does not reach"
        severity: Severity | None = Severity.INFORMATION
        fix: Fix | None = None
    elif context.options.drop_unanswered:
        severity = None
        fix = safe("take the call out", drop_block(context.session, call.place))
    elif not call.id:
        severity = None
        fix = manual("give the call an id by hand: no result can name it")
    else:
        severity = None
        fix = safe("write a result that says what is known", answers.edits(call))
    found = context.finding(
        "T401",
        call.place,
        message,
        fix=fix,
        severity=severity,
        notes=notes,
        cause=context.cause(call.id),
        labels=labels,
    )
    return context.held(found, call.id)


@rule("T405", "duplicate-call-id", Severity.ERROR)
def duplicate_call_id(
    context: Context, call: Call, before: Call, told: Callable[[Place], dict[str, ToolCall]]
) -> Finding:
    """Two calls that wait at the same time have one id.

    Finds: A call under the id of a call that is not answered yet. An id that is used again
        after its result is sound, except in Anthropic messages and Responses items, of which
        the provider wants each id once.
    Matters: Providers refuse the request ("tool_use ids must be unique"); results cannot be
        told apart.
    Example: Two parallel calls with the id `call_0`.
    Repair: Safe: a copy without a result of its own is cut. Another call gets a new id, together
        with its result where it has one; the first result belongs to the first call. Where one
        result is left in the turn that names no call, the second call gets its id.
    Seen: Gateways that count calls from 0 in each chunk or turn; Claude Code 20508, hermes 102629.
    """
    session, own = context.session, call.result
    message = f"id {call.id} stands on two calls at once"
    if own is not None and own.id != call.id:
        pointer = f"{call.place.pointer}/{session.format.call_key}"
        edits = replace_value(session, call.place, pointer, dumps(own.id))
        fix = safe("give the second call the id of the only result that is left", edits)
    elif own is None and _same_call(call, before, told):
        fix = safe("take the copy out", drop_block(session, call.place))
    else:
        fix = safe(_NEW_ID, _renamed(context, call))
    labels = {"call_id": call.id, "tool": call.name}
    return context.finding("T405", call.place, message, fix=fix, labels=labels)


def reused_call_id(context: Context, call: Call) -> Finding:
    """T405 where the first call was answered, and the provider wants each id once all the same."""
    message = f"id {call.id} stands on an earlier call too; the provider wants each id once"
    fix = safe(_NEW_ID, _renamed(context, call))
    labels = {"call_id": call.id, "tool": call.name}
    return context.finding("T405", call.place, message, fix=fix, labels=labels)


def _renamed(context: Context, call: Call) -> list[Edit]:
    """A new id for a call and its result."""
    session, own = context.session, call.result
    fresh = dumps(f"{call.id}_{_short(session.id, call)}")
    form, place = session.format, call.place
    edits = replace_value(session, place, f"{place.pointer}/{form.call_key}", fresh)
    if own is not None:
        pointer = f"{own.place.pointer}/{form.result_key}"
        edits += replace_value(session, own.place, pointer, fresh)
    return edits


@rule("T406", "bad-arguments", Severity.ERROR)
def bad_arguments(context: Context, record: Record, call: ToolCall) -> Finding:
    r"""The arguments of a tool call cannot be sent again.

    Finds: Arguments that are no JSON object, or no JSON text where text is wanted.
    Matters: Claude Code and Copilot CLI do not resume; providers refuse the request.
    Example: `"arguments":"{\"cmd\":\"echo ha"`, cut while it was streamed.
    Repair: Safe: an object that was kept as the wrong type is written as the right one; else an
        empty object takes its place and the raw text is kept in lost+found. Call and result
        stay paired.
    Seen: Streams that broke off; null from some gateways.
    """
    place = Place(record.line, record.start, record.end, call.pointer + call.inside)
    text, title = _sendable(call.arguments, as_text=call.as_text)
    edits = replace_value(context.session, place, place.pointer, text) or add_member(
        context.session, place, text
    )
    message = f"the arguments of call {call.id} cannot be sent again: {call.fault}"
    fix = safe(title, edits)
    return context.finding("T406", place, message, fix=fix if edits else manual("mend it by hand"))


@rule("T407", "waiting-call", Severity.INFORMATION)
def waiting_call(context: Context, call: Call) -> Finding:
    """A tool call waits for a person.

    Finds: An unanswered call of a tool that asks a person, with nothing behind it.
    Matters: It is not interrupted: the agent asks again on resume. An invented answer would be
        taken for the person's own.
    Example: `AskUserQuestion` as the last record.
    Repair: None: only the person can answer.
    Seen: LlamaBot 84, where a repair answered it.
    """
    message = f"call {call.id} ({_tool(call)}) waits for a person"
    labels = {"call_id": call.id, "tool": call.name, "state": "pending"}
    return context.finding("T407", call.place, message, labels=labels)


@rule("T408", "server-tool-orphan", Severity.ERROR)
def server_tool_orphan(context: Context, half: Call | Result) -> Finding:
    """Half of a call that the provider ran itself is missing.

    Finds: A server tool's result without its call in the same answer, or the reverse.
    Matters: The provider refuses the request, for it wrote both or none.
    Example: `advisor_tool_result` alone.
    Repair: Safe: the half that is there is cut and kept in lost+found; the chain is closed.
    Seen: Claude Code with advisor and web search.
    """
    what = "result" if isinstance(half, Result) else "call"
    message = f"the server tool's {what} {half.id} has no other half"
    fix = safe(f"take it out ({KEPT})", drop_block(context.session, half.place))
    labels = {"call_id": half.id}
    return context.finding("T408", half.place, message, fix=fix, labels=labels)


def check(context: Context) -> Iterator[Finding]:
    """All findings about the calls and results of a session that was read."""
    pairing = context.session.pairing
    form = context.session.format
    pairing.match_left(partial(_near, context))
    answers = Answers(context.session, [c for c in pairing.unanswered if c.id and not c.server])
    for call in pairing.unanswered:
        if call.server:
            yield server_tool_orphan(context, call)
        elif _waits(context, call, form):
            yield waiting_call(context, call)
        else:
            yield unanswered_call(context, call, answers)
    for orphan in pairing.orphans:
        if orphan.server:
            yield server_tool_orphan(context, orphan)
        else:
            yield orphan_result(context, orphan)
    together: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for result, call in pairing.displaced:
        together[id(call.block), result.place.start].append(call.place.end)
    for result, call in pairing.displaced:
        graph = context.session.graph
        if graph is not None and graph.live[result.row] and not graph.live[call.row]:
            # A compaction stands between them: the call is no longer sent.
            yield orphan_result(context, result)
        elif graph is None or astray(graph, result.row, call.row):
            ends = together[id(call.block), result.place.start]
            yield displaced_result(context, result, call, ends)
    for result, call in pairing.nameless:
        yield nameless_result(context, result, call)
    for one in pairing.undecided:
        yield undecided(context, one)
    # The twins of one message, or of two, ask for the same calls again and again.
    told = lru_cache(maxsize=2)(partial(_told, context))
    for call, before in pairing.twins:
        yield duplicate_call_id(context, call, before, told)
    for call in pairing.reused:
        yield reused_call_id(context, call)
    for result, first in pairing.duplicates:
        found = duplicate_result(context, result, first)
        if found is not None:
            yield found


def _near(context: Context, result: Result, call: Call) -> bool:
    """Whether a result that names no call can be that of a call above it.

    Not where bytes that nobody could read, or another file, hold the other half of one of them.
    """
    session, graph = context.session, context.session.graph
    if session.tracker.based or not session.reaches(call.row, call.place):
        return False
    if not session.reaches(result.row, result.place):
        return False
    if any(
        context.cause(i) or i.encode("utf-8", "surrogatepass") in context.unread
        for i in (result.id, call.id)
    ):
        return False
    return graph is None or follows(graph, result.row, call.row)


def _waits(context: Context, call: Call, form: Format) -> bool:
    """Whether a call waits for a person: nobody has said anything since."""
    session = context.session
    asked = session.tracker.evidence(call.id, session.source, call.scope).state == "pending"
    if call.name not in form.waits and not asked:
        return False
    graph = session.graph
    if graph is None:
        return session.last_message <= call.place.start
    leaf = graph.leaf
    if leaf >= 0 and graph.flags[leaf] & RESULT and graph.up[leaf] >= 0:
        leaf = graph.up[leaf]  # the answer to a call beside it
    return leaf == call.row or graph.same_turn(leaf, call.row)


def _same_call(call: Call, before: Call, told: Callable[[Place], dict[str, ToolCall]]) -> bool:
    one, other = (
        told(place._replace(pointer="")).get(place.pointer) for place in (call.place, before.place)
    )
    if one is None or other is None:
        return False
    return (one.name, one.arguments) == (other.name, other.arguments)


def _told(context: Context, record: Place) -> dict[str, ToolCall]:
    """The calls of a record by pointer."""
    session = context.session
    events = session.format.meaning(session.value(record)).events
    return {e.pointer: e for e in events if type(e) is ToolCall}


def _short(seed: str, call: Call) -> str:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}/{call.place.start}/{call.place.pointer}").hex[:8]


def _sendable(arguments: Any, *, as_text: bool) -> tuple[bytes, str]:
    """The JSON that takes the place of arguments, and what to say about it."""
    value = arguments
    if type(arguments) is str:
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            value = None
    if type(value) is dict:
        title = "write the same arguments as the type that is wanted"
    else:
        value, title = {}, "put an empty object in their place (they are kept in lost+found)"
    text = dumps(value)
    return (dumps(text.decode("utf-8", "surrogatepass")) if as_text else text), title
