"""Family G: the tree of records, its branches, and what a resume cannot reach.

`compaction` has the rules about compactions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from sesstool.checks import compaction
from sesstool.checks.context import Context, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.checks.surgery import id_of, set_member, set_parent
from sesstool.findings import Finding, Fix, Severity
from sesstool.formats.events import ToolCall, ToolResult
from sesstool.formats.terms import Fault
from sesstool.formats.wording import FIRST_PROMPT
from sesstool.model.graph import (
    ASSISTANT,
    CALL,
    HIDDEN,
    RESULT,
    ROOT,
    SUMMARY,
    TALK,
    Branch,
    Graph,
)
from sesstool.model.strict import StrictGraph
from sesstool.records.edits import Edit
from sesstool.records.jsonspan import dumps
from sesstool.records.linewise import put_before, put_behind, take_out

# How many rows above a result its call is looked for.
_NEAR = 64


@rule("G501", "dangling-parent", Severity.ERROR)
def dangling_parent(context: Context, graph: Graph, row: int, parent: int) -> Finding:
    """A record hangs from one that is not in the file.

    Finds: A parent id that no record has, or no parent id at all. Where nothing stands before
        the record, or no resume comes by it, it is information; so it is in Copilot CLI, which
        reads in the order of the file.
    Matters: Claude Code 2.0 and pi lose everything before it, in silence or with a 400; newer
        ones bridge the gap.
    Example: A hook's record that was never written, or a torn line.
    Repair: Safe: a tool's result hangs from its own call, any other record from the record
        before it in the file, of the same branch of talk; in pi, which sends one way only, from
        the nearest record above that nothing hangs from. Unsafe in pi where two branches grew
        at the same time: it may belong to either. A compaction is never bridged.
    Seen: 6.5 % of real Claude Code files; 5.2 % of the history reachable in one of them.
    """
    missing = graph.lost[row]
    message = f"parent {missing} is not in the file" if missing else "the record names no parent"
    place = graph.place(row)
    strict = isinstance(graph, StrictGraph)
    call = _own_call(context, graph, row)
    if call >= 0 and (parent >= 0 or graph.live[call]):
        parent = graph.behind_call(call, row, parent) if isinstance(graph, StrictGraph) else call
    if parent < 0:
        severity: Severity | None = Severity.INFORMATION
        fix = None
        if not missing and not strict:
            fix = safe("make it the root", set_parent(context.session, graph, row, b"null"))
            severity = None
    else:
        severity = None
        who = "a resume loses" if strict else "older readers lose"
        message += f": {who} what stands before line {place.line}"
        fix = _hung(context, graph, row, parent)
    above = graph.place(parent).start if parent >= 0 else 0
    cause = context.cause(missing, (above, place.start)) if missing else ""
    found = context.finding("G501", place, message, fix=fix, severity=severity, cause=cause)
    return context.held(found, missing)


def _hung(context: Context, graph: Graph, row: int, parent: int) -> Fix:
    """The fix that hangs a row from another one, which must have an id first."""
    line = graph.place(parent).line
    name = id_of(context.session, graph, parent)
    if not name:
        return unsafe(f"give line {line} an id, and hang it from there", [])
    edits = set_parent(context.session, graph, row, dumps(name))
    rivalled = isinstance(graph, StrictGraph) and graph.rivalled(row, parent)
    guess = rivalled and not graph.flags[row] & RESULT
    return (unsafe if guess else safe)(f"hang it from line {line}", edits)


@rule("G502", "duplicate-uuid", Severity.ERROR)
def duplicate_uuid(
    context: Context, graph: Graph, row: int, earlier: int, copies: frozenset[int] = frozenset()
) -> Finding:
    """Two records have one id.

    Finds: A record with the id of a record above it. An exact copy is a warning. In Qwen Code,
        records of one id and one parent that say different things are parts of one message.
    Matters: Some readers take the first, some the last: the other is lost, with what hangs from
        it. Where the second hangs below the first, a walk never ends.
    Example: A hook that writes the same id in every turn.
    Repair: Safe for a copy: it is cut. Safe where the record behind one of the two names a parent
        that is missing: that is its id. Safe for a record that says the same in another place:
        it is cut where nothing but copies hangs from it, else it gets a new id, and the records
        behind it that name the old one follow it; so does one that hangs below the first.
        Else unsafe: nobody can tell which of the two they meant.
    Seen: Claude Code 24304, 22526 and hooks of plug-ins.
    """
    session = context.session
    place, first = graph.place(row), graph.place(earlier)
    if row in copies:
        message = f"exact copy of line {first.line}"
        edits = [take_out(session.source, place.start, place.end)]
        fix = safe("take the copy out", edits)
        return context.finding("G502", place, message, fix=fix, severity=Severity.WARNING)
    name = id_of(session, graph, row)
    for one in (earlier, row):
        if wanted := _wanted(graph, one):
            at = graph.place(one)
            edits = set_member(session, at, session.format.id_key, dumps(wanted))
            message = f"lines {first.line} and {place.line} have one id, and another one is missing"
            fix = safe(
                f"give line {at.line} the id that the next record names as its parent", edits
            )
            return context.finding("G502", place, message, fix=fix)
    fresh = dumps(_fresh(session.id, place.start))
    edits = set_member(session, place, session.format.id_key, fresh)
    followers = [c for c in graph.children(row) if c not in graph.lost and c not in copies]
    for child in followers:
        edits += set_parent(session, graph, child, fresh)
    message = f"id {name} stands on line {first.line} already, on another record"
    again = _says(context, graph, row) == _says(context, graph, earlier)
    if again and copies and not followers:
        message = f"line {first.line} again, in another place"
        edits = [take_out(session.source, place.start, place.end)]
        if _follows_on(context, graph, row) and not _follows_on(context, graph, earlier):
            parent = session.value(place).get(session.format.parent_key)
            edits += set_parent(session, graph, earlier, dumps(parent))
        fix = safe("take the copy out", edits)
        return context.finding("G502", place, message, fix=fix)
    # Where the second hangs below the first, a walk by id goes round for ever.
    again = again or graph.hangs_below(row, earlier)
    fix = safe("give it a new id", edits) if again else unsafe("give it a new id", edits)
    return context.finding("G502", place, message, fix=fix)


@rule("G503", "parent-cycle", Severity.ERROR)
def parent_cycle(context: Context, graph: Graph, row: int) -> Finding:
    """Records hang from each other in a circle.

    Finds: A record whose parent stands below it and hangs from it.
    Matters: pi does not start, older Claude Code hangs; what stands before is out of reach.
    Example: A record that is its own parent.
    Repair: Safe: the record that closes the circle hangs from the record before it. Unsafe in
        pi where two branches grew at the same time: it may belong to either.
    Seen: Claude Code 2.1.30 and 2.1.108.
    """
    before = graph.before(row)
    if isinstance(graph, StrictGraph) and (call := _own_call(context, graph, row)) >= 0:
        before = graph.behind_call(call, row, before)
    if before >= 0:
        fix = _hung(context, graph, row, before)
    else:
        fix = safe("make it the root", set_parent(context.session, graph, row, b"null"))
    message = "its parent hangs from itself: a walk up never ends"
    return context.finding("G503", graph.place(row), message, fix=fix)


@rule("G504", "missing-uuid", Severity.ERROR)
def missing_uuid(context: Context, graph: Graph, row: int, wanted: str) -> Finding:
    """A record of the chain has no id.

    Finds: A chain record without a uuid (Claude Code) or id (pi).
    Matters: Nothing can hang from it: what stands before is out of reach for older readers.
    Example: `{"type":"assistant","parentUuid":"…","message":{…}}`
    Repair: Safe where the record below names a parent that is missing: that is its id. Else
        unsafe: it gets a new one.
    Seen: Sessions passed through other tools.
    """
    session = context.session
    key = session.format.id_key
    place = graph.place(row)
    if wanted:
        edits = set_member(session, place, key, dumps(wanted))
        fix = safe("give it the id that the next record names as its parent", edits)
    else:
        name = dumps(_fresh(session.id, place.start))
        fix = unsafe("give it a new id", set_member(session, place, key, name))
    return context.finding("G504", place, f"the record has no {key}", fix=fix)


@rule("G505", "two-writers", Severity.WARNING)
def two_writers(context: Context, graph: Graph, branch: Branch) -> Finding:
    """Two writers continued the session at the same time.

    Finds: A branch whose records and those of the live branch were written in turns.
    Matters: A resume shows one of the two. Real sessions lost 10 of 23 calls that way.
    Example: The same session open in two windows.
    Repair: Left alone by a plain repair. `--join-branches` hangs the branches one behind the
        other in file order; `sesstool fork --at` keeps them apart.
    Seen: Claude Code and pi; a rewind or a fork is not taken for it.
    """
    place = graph.place(branch.root)
    live = graph.place(graph.leaf)
    tip = graph.place(branch.tip)
    message = (
        f"two writers: this branch ({branch.messages} messages, to line {tip.line}) grew at the "
        f"same time as the one that a resume shows (to line {live.line})"
    )
    edits = _joined(context, graph, branch)
    fix = unsafe("hang both branches behind each other", edits, "--join-branches")
    return context.finding("G505", place, message, fix=fix)


@rule("G506", "branch", Severity.INFORMATION)
def branch_off(context: Context, graph: Graph, branch: Branch) -> Finding:
    """The session has a branch that a resume does not show.

    Finds: Messages that hang beside the way from the leaf to the root.
    Matters: They are in the file and not in the talk: a rewind, or an edited prompt.
    Example: Two prompts with one parent.
    Repair: None: it is meant. `sesstool fork --at` continues it.
    Seen: Every agent with a rewind.
    """
    tip = graph.place(branch.tip)
    message = f"a branch of {branch.messages} messages ends on line {tip.line}; it is not resumed"
    return context.finding("G506", graph.place(branch.root), message)


@rule("G509", "lost-first-message", Severity.ERROR)
def lost_first_message(context: Context, graph: Graph, row: int) -> Finding:
    """The talk begins with an answer.

    Finds: A session whose first record (in pi: first message) is missing and whose first message
        is the model's.
    Matters: Providers want a person's message first ("first message must use the user role"):
        Claude Code 2.0 does not resume.
    Example: The line of the first prompt is torn.
    Repair: Safe: a message that says what was lost takes the id of the missing record, so that
        nothing else changes.
    Seen: Claude Code after damage at the head of the file.
    """
    session = context.session
    place = graph.place(row)
    above = graph.before(row) if isinstance(graph, StrictGraph) else ROOT
    parent = id_of(session, graph, above) if above >= 0 else None
    words = session.format.prompt(session.value(place), graph.lost[row], FIRST_PROMPT, parent)
    fix = safe("write a message in its place", [put_before(session.source, place.start, words)])
    cause = context.cause(graph.lost[row], (0, place.start))
    message = "the first message is lost: the talk begins with an answer"
    found = context.finding("G509", place, message, fix=fix, cause=cause)
    return context.held(found, graph.lost[row])


@rule("G510", "lost-message", Severity.ERROR)
def lost_message(context: Context, fault: Fault) -> Finding:
    """A message is told by an event only.

    Finds: A Codex event of a message whose own item is missing.
    Matters: The model reads items and never events: it does not know what was said.
    Example: A full disk that swallowed one line of two.
    Repair: Safe: the item is rebuilt from the event beside it, word by word.
    Seen: Codex 0.171 after SIGKILL and ENOSPC.
    """
    fix = safe(fault.title, fault.edits)
    return context.finding("G510", fault.place, fault.message, fix=fix)


@rule("G511", "misplaced-leaf", Severity.ERROR)
def misplaced_leaf(context: Context, graph: StrictGraph) -> Finding:
    """The last record is not the end of the talk.

    Finds: A pi session whose last record has records that hang from it, which stand above.
    Matters: pi goes on from the last record: what hangs from it is not sent. Records are
        appended, so that none can stand above its parent by itself. Moved lines elsewhere are
        sound: pi follows the ids.
    Example: The last two lines in the wrong order.
    Repair: Safe: the record moves back before what hangs from it; where many lines were moved,
        the end of the talk moves to the end of the file.
    Seen: Sessions that were sorted or merged by other tools.
    """
    source = context.session.source
    place, leaf = graph.place(graph.tip), graph.place(graph.leaf)
    message = f"what hangs from the last record ends on line {place.line}: it is not resumed"
    first = graph.early_child()
    if first >= 0:
        put = put_before(source, graph.place(first).start, source.read(leaf.start, leaf.end))
        fix = safe("move it before what hangs from it", [put, take_out(source, *leaf[1:3])])
    else:
        put = put_behind(source, source.size, source.read(place.start, place.end))
        fix = safe(f"move line {place.line} to the end", [take_out(source, *place[1:3]), put])
    return context.finding("G511", leaf, message, fix=fix)


def copied_record(context: Context, fault: Fault) -> Finding:
    """G502 in a session without ids."""
    fix = safe(fault.title, fault.edits)
    severity = Severity.WARNING
    return context.finding("G502", fault.place, fault.message, fix=fix, severity=severity)


def dangling_link(context: Context, fault: Fault) -> Finding:
    """G501 in a session that is read in the order of its file: nothing is out of reach."""
    return context.finding("G501", fault.place, fault.message, severity=Severity.INFORMATION)


def check(context: Context) -> Iterator[Finding]:
    """All findings about the tree of a session that was read."""
    graph = context.session.graph
    if graph is None:
        return
    for row in graph.nameless:
        yield missing_uuid(context, graph, row, _wanted(graph, row))
    again = [
        pair
        for pair in graph.joined.items()
        if _says(context, graph, pair[0]) == _says(context, graph, pair[1])
    ]
    twins = sorted([*graph.twins, *again])
    copies = frozenset(row for row, earlier in twins if _copied(context, graph, row, earlier))
    for row, earlier in twins:
        yield duplicate_uuid(context, graph, row, earlier, copies)
    for row in dict.fromkeys(graph.cycles):
        yield parent_cycle(context, graph, row)
    if isinstance(graph, StrictGraph) and graph.tip != graph.leaf:
        yield misplaced_leaf(context, graph)
    bridged = dict(graph.breaks)
    headless = _headless(graph)
    for row in graph.lost:
        # On a strict way a lost first message itself comes back.
        if row != headless or not isinstance(graph, StrictGraph):
            yield dangling_parent(context, graph, row, bridged.get(row, -1))
    if headless >= 0:
        yield lost_first_message(context, graph, headless)
    yield from compaction.check(context, graph)
    for branch in graph.branches():
        grew = branch.fork >= 0 and branch.switches and branch.live_after
        judge = two_writers if grew else branch_off
        yield judge(context, graph, branch)


def _own_call(context: Context, graph: Graph, row: int) -> int:
    """The row of the call that a row's result answers, where it stands near; else ROOT."""
    session = context.session
    if not graph.flags[row] & RESULT:
        return ROOT
    meaning = session.format.meaning(session.value(graph.place(row)))
    wanted = {e.id for e in meaning.events if type(e) is ToolResult}
    for other in range(row - 1, max(row - _NEAR, -1), -1):
        if graph.flags[other] & CALL and graph.scope[other] == graph.scope[row]:
            events = session.format.meaning(session.value(graph.place(other))).events
            if any(type(e) is ToolCall and e.id in wanted for e in events):
                return other
    return ROOT


def _headless(graph: Graph) -> int:
    """The live root, where its parent is lost and a model's answer comes first; else ROOT.

    A subagent may go on from its session's own talk, which stands in another file.
    """
    live = [row for row in range(len(graph)) if graph.live[row]]
    talk = next((r for r in live if graph.flags[r] & TALK and not graph.flags[r] & HIDDEN), ROOT)
    if graph.main != 0 or talk < 0 or not graph.flags[talk] & ASSISTANT:
        return ROOT
    root = live[0]
    if isinstance(graph, StrictGraph):
        summed_up = any(graph.flags[row] & SUMMARY for row in live)
        root = ROOT if graph.torn or summed_up else talk
    return root if graph.lost.get(root) else ROOT


def _wanted(graph: Graph, row: int) -> str:
    """The id that the records below miss, where it can only be this row's."""
    for other in range(row + 1, len(graph)):
        if other in graph.nameless:
            return ""
        if graph.lost.get(other):
            return graph.lost[other]
        if graph.scope[other] == graph.scope[row] and graph.up[other] >= 0:
            return ""
    return ""


def _joined(context: Context, graph: Graph, branch: Branch) -> list[Edit]:
    """Put the other branch before the live one: the leaf, which the agent chose, stays."""
    for row in graph.children(branch.fork):
        if graph.live[row] and not graph.flags[row] & RESULT:
            tip = id_of(context.session, graph, branch.tip)
            return set_parent(context.session, graph, row, dumps(tip)) if tip else []
    return []


def _follows_on(context: Context, graph: Graph, row: int) -> bool:
    """Whether a record hangs from the one before it, as most do."""
    before = graph.before(row)
    name = id_of(context.session, graph, before) if before >= 0 else None
    parent = context.session.value(graph.place(row)).get(context.session.format.parent_key)
    return bool(parent == name)


def _copied(context: Context, graph: Graph, row: int, earlier: int) -> bool:
    read, place, first = context.session.source.read, graph.place(row), graph.place(earlier)
    return read(place.start, place.end) == read(first.start, first.end)


def _says(context: Context, graph: Graph, row: int) -> dict[str, Any]:
    """A record without its place in the tree and in time."""
    value = context.session.value(graph.place(row))
    return {
        k: v for k, v in value.items() if k not in (context.session.format.parent_key, "timestamp")
    }


def _fresh(seed: str, start: int) -> str:
    """A new id; the same record always gets the same one, so that plans can be compared."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}/record/{start}"))
