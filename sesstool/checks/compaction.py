"""Family G: compactions, which take the place of all that stands before them."""

from __future__ import annotations

from collections.abc import Iterator

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.checks.surgery import id_of, set_member, set_parent
from sesstool.findings import Finding, Severity
from sesstool.formats.terms import Fault
from sesstool.model.graph import BOUNDARY, ROOT, SUMMARY, Graph
from sesstool.model.strict import StrictGraph
from sesstool.records.jsonspan import dumps
from sesstool.records.linewise import take_out


@rule("G507", "compaction-no-summary", Severity.ERROR)
def compaction_no_summary(context: Context, graph: Graph, row: int) -> Finding:
    """A compaction has no summary.

    Finds: A compaction boundary behind which no summary follows, or a pi compaction with none. A
        checkpoint of Gemini CLI that restates no message, where there were some.
    Matters: A resume starts at the boundary: all before it is hidden, and nothing tells of it.
    Example: A crash between the two records.
    Repair: Unsafe, since the next request becomes long: the boundary is cut, and what hangs
        from it hangs from the record before, so that the whole history is live again. Safe in
        Gemini CLI, where a resume was broken off between two checkpoints.
    Seen: Claude Code 46603, 55818.
    """
    session = context.session
    place = graph.place(row)
    value = session.value(place)
    logical = value.get("logicalParentUuid")
    known = type(logical) is str and graph.row_of(logical) is not None
    before = graph.up[row] if graph.up[row] >= 0 else graph.before(row)
    parent = logical if known else id_of(session, graph, before) if before >= 0 else None
    edits = [take_out(session.source, place.start, place.end)]
    for child in graph.children(row):
        edits += set_parent(session, graph, child, dumps(parent))
    message = "a compaction without a summary: a resume shows nothing of what stands before it"
    fix = unsafe("take the boundary out and close the chain", edits)
    return context.finding("G507", place, message, fix=fix)


@rule("G508", "compaction-bad-pointer", Severity.ERROR)
def compaction_bad_pointer(context: Context, graph: Graph, row: int, missing: int) -> Finding:
    """A compaction keeps records that are not in the file.

    Finds: A compaction whose kept records (Claude Code: preserved segment or messages, pi:
        `firstKeptEntryId`) have ids that no record has. A dangling `logicalParentUuid` is sound.
        A MyCodeAgent checkpoint that counts more messages before it than stand there, where its
        `retain_start_idx` then names another than a user's. Where that is a tool's result, and
        none is missing, it is information.
    Matters: The agent puts the kept records behind the summary; what it does not find is
        missing from the talk. Without the first one pi sends none of them. A window that begins
        at a tool's result is refused by the provider.
    Example: `"preservedSegment":{"headUuid":"…","tailUuid":"…"}`
    Repair: In pi, safe where a record names the lost one as its parent, or is the only one whose
        parent is lost: that is the first one left. Else unsafe: the record behind the
        compaction, so that nothing is kept. Manual in Claude Code: which records were meant,
        the file does not tell. In MyCodeAgent safe: the index goes back to a user's message, by
        at most as many as are missing.
    Seen: Claude Code 46603.
    """
    session = context.session
    place = graph.place(row)
    key = session.format.keep_key
    lost = next(iter(session.format.kept(session.value(place))))
    first = graph.first_kept(row, lost) if isinstance(graph, StrictGraph) else ROOT
    found = first if first >= 0 else next(iter(graph.children(row, row)), ROOT)
    if not key or found < 0 or not id_of(session, graph, found):
        fix = manual("compare the boundary with a copy of the session")
    else:
        edits = set_member(session, place, key, dumps(id_of(session, graph, found)))
        title = f"let it keep what stands from line {graph.place(found).line} on"
        fix = safe(title, edits) if first >= 0 else unsafe(title, edits)
    message = f"the compaction keeps {missing} records that are not in the file"
    return context.finding("G508", place, message, fix=fix)


def hollow_compaction(context: Context, fault: Fault) -> Finding:
    """G507 in a session without a tree."""
    fix = (safe if fault.safe else unsafe)(fault.title, fault.edits)
    return context.finding("G507", fault.place, fault.message, fix=fix)


def check(context: Context, graph: Graph) -> Iterator[Finding]:
    """Boundaries that no summary follows before the next boundary, or that keep what is gone."""
    boundary = -1
    for row in range(len(graph)):
        flags = graph.flags[row]
        if flags & BOUNDARY:
            missing = context.session.format.kept(context.session.value(graph.place(row)))
            gone = sum(graph.row_of(name) is None for name in missing)
            if gone:
                yield compaction_bad_pointer(context, graph, row, gone)
        if flags & BOUNDARY and graph.scope[row] == graph.main:
            if boundary >= 0:
                yield compaction_no_summary(context, graph, boundary)
            boundary = row
        if flags & SUMMARY:
            boundary = -1
    if boundary >= 0:
        yield compaction_no_summary(context, graph, boundary)
