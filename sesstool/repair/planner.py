"""From findings to edits: fixes in stages, each judged anew, until nothing is left to do.

A fault has consequences: a torn line leaves a call unanswered and a parent missing. So fixes are
applied stage by stage to a text that is never written, and the rules look again in between. What
a plan offers has therefore been checked already.
"""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sesstool.checks.context import Options
from sesstool.checks.engine import Progress, examine
from sesstool.errors import WriteError
from sesstool.findings import Applicability, FileReport, Finding
from sesstool.model.session import Session
from sesstool.records.edits import Edit, EditSet
from sesstool.records.source import CHUNK, EditedSource, Source

# Which findings are mended together; the rules look again before the next line is begun.
STAGES: tuple[tuple[str, ...], ...] = (
    ("B", "J", "M701"),
    ("B116", "M702", "M703", "M704"),
    ("G504",),
    ("G502",),
    ("G503",),
    ("G511",),
    ("C", "T405", "T406", "T408", "T409"),
    ("T402", "T403"),
    ("T404",),
    ("T401",),
    ("G508",),
    ("G501", "G509"),
    ("G505", "G507"),
    ("G510",),
    ("M705",),
)
# Far more rounds than stages: only a rule that undoes another's work would need them.
_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """Which fixes a repair may apply.

    `unsafe` allows those that guess; `flags` names further options that were given, such as
    `--join-branches`. `select` are rule codes or their beginnings, empty for all.
    """

    unsafe: bool = False
    flags: frozenset[str] = frozenset()
    select: tuple[str, ...] = ()

    def allows(self, finding: Finding) -> bool:
        """Whether a finding is to be mended."""
        fix = finding.fix
        if fix is None or (self.select and not finding.code.startswith(self.select)):
            return False
        if fix.applicability is Applicability.SAFE:
            return True
        if fix.applicability is Applicability.MANUAL:
            return False
        return self.unsafe if fix.flag == "--unsafe" else fix.flag in self.flags


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a repair would do to one file.

    `edits` are over the source that was looked at, `mode` the file's new mode or None.
    `mended` are the findings whose fixes were used, in the order of their use; their places are
    those in the source, their fixes' edits those of the stage that they were used in. `before` and
    `after` tell what the rules say of the file as it is and as it would be.
    """

    edits: EditSet
    mode: int | None
    mended: tuple[Finding, ...]
    before: FileReport
    after: FileReport
    session: Session | None


def plan(
    source: Source,
    options: Options,
    choice: Choice,
    *,
    format_name: str = "",
    status: os.stat_result | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """The repair of a source: edits that were tried, and what is left afterwards.

    Raises NotASessionError, and WriteError where the rules do not come to rest.
    """

    def look(current: Source) -> tuple[Session | None, FileReport]:
        return examine(current, options, format_name=format_name, status=status, progress=progress)

    session, before = look(source)
    format_name = format_name or before.format
    report, edits, mode = before, EditSet(), None
    mended: list[Finding] = []
    for _ in range(_ROUNDS):
        modes = [
            f for f in report.findings if choice.allows(f) and f.fix and f.fix.mode is not None
        ]
        if mode is None and modes and modes[0].fix:
            mode = modes[0].fix.mode
            mended.append(modes[0])
        used = _next_fixes(report.findings, choice.allows)
        if not used:
            after = _without_mode(report) if mode is not None else report
            return Outcome(edits, mode, tuple(_on_lines(mended, source)), before, after, session)
        mended += _at_origin(used, edits)
        # A line's edit takes its newline along, which the last line may not have.
        step = EditSet(_within(e, report.size) for f in used if f.fix for e in f.fix.edits)
        edits = edits.then(step, source.size)
        now = EditedSource(source, edits)
        # Of what was known of the text before, only this is needed: its tree goes now.
        seen, session = session and session.tracker, None
        session, report = look(now)
        if seen and session and (more := session.tracker.follow(seen, step, now)):
            edits = edits.then(EditSet(more), source.size)
            session, report = look(EditedSource(source, edits))
    raise WriteError(
        f"the repair of {source.name} does not come to rest; nothing was changed",
        hint="report this with the output of `sesstool validate`",
    )


def _at_origin(findings: list[Finding], edits: EditSet) -> list[Finding]:
    """Findings about an edited text, with the byte offsets of the original; lines are to come."""
    places = [f.location for f in findings]
    origin = edits.origins(offset for p in places for offset in (p.start, p.end))
    return [
        replace(f, location=replace(p, start=origin[p.start], end=origin[p.end]))
        for f, p in zip(findings, places, strict=True)
    ]


def _on_lines(findings: list[Finding], source: Source) -> list[Finding]:
    """Findings with the lines and columns on which their offsets lie in the source."""
    places: dict[int, tuple[int, int]] = {}
    number, begin, at = 1, 0, 0
    for start in sorted({f.location.start for f in findings if f.location.line}):
        while at < start and (piece := source.read(at, min(at + CHUNK, start))):
            newlines = piece.count(b"\n")
            if newlines:
                number += newlines
                begin = at + piece.rindex(b"\n") + 1
            at += len(piece)
        if start < source.size:
            before = source.read(begin, start).decode("utf-8", "replace")
            places[start] = (number, len(before) + 1)
    out = []
    for finding in findings:
        where = finding.location
        number, column = places.get(where.start, (where.line, where.column))
        out.append(replace(finding, location=replace(where, line=number, column=column)))
    return out


def _within(edit: Edit, size: int) -> Edit:
    return edit if edit.end <= size else replace(edit, end=size)


def _next_fixes(findings: Sequence[Finding], allows: Callable[[Finding], bool]) -> list[Finding]:
    """The findings of the first stage that has any, as many as do not touch the same bytes."""
    open_ = [f for f in findings if f.fix and f.fix.edits and allows(f)]
    for stage in STAGES:
        due = [f for f in open_ if _stage(f.code) == stage]
        if due:
            return _apart(due)
    return _apart(open_)


def _stage(code: str) -> tuple[str, ...]:
    """The stage of a rule: the one that names it longest."""
    named = [(len(p), s) for s in STAGES for p in s if code.startswith(p)]
    return max(named, key=lambda pair: pair[0])[1] if named else ()


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """Findings whose edits do not overlap those of one before."""
    used: list[Finding] = []
    taken = _Taken()
    for finding in findings:
        edits = finding.fix.edits if finding.fix else ()
        if all(taken.free(edit) for edit in edits):
            used.append(finding)
            taken.add(edits)
    return used


class _Taken:
    """The byte ranges that edits claim, in order. An insertion claims no byte."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._points: list[int] = []

    def free(self, edit: Edit) -> bool:
        at = bisect_left(self._ends, edit.start + 1)
        inside = at < len(self._starts) and self._starts[at] < max(edit.end, edit.start)
        if edit.start == edit.end:
            return not (inside and self._starts[at] < edit.start)
        point = bisect_left(self._points, edit.start + 1)
        cut = point < len(self._points) and self._points[point] < edit.end
        return not inside and not cut

    def add(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            if edit.start == edit.end:
                insort(self._points, edit.start)
            else:
                at = bisect_left(self._starts, edit.start)
                self._starts.insert(at, edit.start)
                self._ends.insert(at, edit.end)


def _without_mode(report: FileReport) -> FileReport:
    """The report of a file whose mode will have been mended."""
    left = tuple(f for f in report.findings if f.fix is None or f.fix.mode is None)
    return FileReport(
        report.path, report.format, report.detected, report.size, report.records, left
    )
