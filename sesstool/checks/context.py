"""What every rule needs: the session, and a way to say something about a place in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sesstool.checks.rule import RULES
from sesstool.findings import Applicability, Finding, Fix, Location, Severity
from sesstool.formats.terms import Place
from sesstool.model.session import Session, path_of
from sesstool.records.edits import Edit
from sesstool.records.heal import Defect
from sesstool.records.jsonspan import locate

# How far back the beginning of a line is looked for, in bytes: most lines are short.
_BACK = (1 << 8, 1 << 12, 1 << 16)


@dataclass(frozen=True, slots=True)
class Options:
    """What a run of the checks looks for.

    `thorough` adds the checks that cost much and find little; `drop_unanswered` takes
    unanswered calls out instead of answering them; `join_branches` allows joining the branches
    of two writers.
    """

    thorough: bool = False
    drop_unanswered: bool = False
    join_branches: bool = False


@dataclass(slots=True)
class Context:
    """A session under examination.

    `tokens` maps ids seen in fragments to the finding there; `fragments` are the byte offsets
    of fragments, in order, with the findings about them. `unread` maps the words of lines that
    stay, and that nobody could look into, to the finding there.
    """

    session: Session
    options: Options
    tokens: dict[bytes, str] = field(default_factory=dict)
    fragments: list[tuple[int, str]] = field(default_factory=list)
    unread: dict[bytes, str] = field(default_factory=dict)

    def finding(
        self,
        code: str,
        place: Place,
        message: str,
        *,
        fix: Fix | None = None,
        severity: Severity | None = None,
        notes: Iterable[str] = (),
        cause: str = "",
        labels: dict[str, str] | None = None,
    ) -> Finding:
        """A finding of the rule `code` about a place; its byte span is that of the pointer."""
        rule = RULES[code]
        start, end = place.start, place.end
        if place.pointer:
            raw = self.session.raw(place)
            member = locate(raw, place.pointer)
            if member is not None:
                start, end = place.start + member.start, place.start + member.end
        path = path_of(self.session.source)
        column = self._column(start) if place.line else 1
        location = Location(path, place.line, column, start, end, place.pointer)
        return Finding(
            code,
            rule.name,
            severity or rule.severity,
            message,
            location,
            fix,
            tuple(notes),
            cause,
            labels or {},
        )

    def _column(self, start: int) -> int:
        """The character column of a byte offset, from 1; long lines count their last bytes."""
        before = b""
        for back in _BACK:
            before = self.session.source.read(max(start - back, 0), start)
            if b"\n" in before or back >= start:
                break
        line = before[before.rfind(b"\n") + 1 :]
        return len(line.decode("utf-8", "replace")) + 1

    def bad_line(self, defect: Defect) -> tuple[str, ...]:
        """The note on what the session's agent does at a line with a defect, if it does much."""
        note = self.session.format.bad_line(defect.kind)
        return (note,) if note else ()

    def held(self, finding: Finding, name: str) -> Finding:
        """The finding, but without a fix where an unread line may hold what it misses.

        What such a line says comes back when it is mended: nothing may take its place.
        """
        key = self.unread.get(name.encode("utf-8", "surrogatepass"), "") if name else ""
        if not key:
            return finding
        fix = manual("mend the line that holds it first") if finding.fix else None
        return replace(finding, severity=Severity.INFORMATION, fix=fix, cause=key)

    def cause(self, name: str, between: tuple[int, int] = (0, 0)) -> str:
        """The finding about the fragment that took this id away, "" if there is none.

        That is a fragment that holds the id, or else the first between two byte offsets.
        """
        held = self.tokens.get(name.encode("utf-8", "surrogatepass"), "")
        if held or between[0] >= between[1]:
            return held
        at = bisect_left(self.fragments, between[0], key=lambda fragment: fragment[0])
        if at < len(self.fragments) and self.fragments[at][0] < between[1]:
            return self.fragments[at][1]
        return ""


def safe(title: str, edits: Iterable[Edit]) -> Fix:
    """A fix that a plain repair applies."""
    return Fix(Applicability.SAFE, title, tuple(edits))


def unsafe(title: str, edits: Iterable[Edit], flag: str = "--unsafe") -> Fix:
    """A fix that waits for a flag."""
    return Fix(Applicability.UNSAFE, title, tuple(edits), flag)


def manual(title: str) -> Fix:
    """Advice for a person: no edit exists."""
    return Fix(Applicability.MANUAL, title)
