"""A repair of which a person chooses the rules: what each choice does, and the command for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool import api
from sesstool.api import Choice, Options, Repair
from sesstool.checks.engine import RULES, Progress
from sesstool.findings import Applicability, Finding, Severity
from sesstool.records.edits import Edit
from sesstool.records.live import find_writer
from sesstool.records.source import EditedSource, Source
from sesstool.repair import resume as resuming
from sesstool.repair.resume import ResumeReport
from sesstool.text import session_word

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

MOST = 5000
"""How many findings are listed; a damaged file can have millions."""
_AROUND = 160


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants beside the safe fixes: a rule is taken whole, as `--select` does.

    `off` are rules that are left alone. `on` are those whose unsafe fixes are wanted, `every` says
    that all of them are; `flags` are further options, such as `--join-branches`.
    """

    off: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    every: bool = False

    def toggled(self, row: Row) -> Wish:
        """The wish with the rule of a row chosen, or chosen no longer."""
        fix, one = row.finding.fix, frozenset({row.finding.code})
        assert fix is not None
        chosen = row.state == "chosen"
        if fix.flag not in ("", "--unsafe"):
            flags = self.flags ^ {fix.flag} if chosen == (fix.flag in self.flags) else self.flags
            return replace(self, off=self.off - one, flags=flags)
        if fix.applicability is not Applicability.SAFE:
            off = self.off | one if chosen and self.every else self.off - one
            return replace(self, off=off, on=self.on - one if chosen else self.on | one)
        if chosen:
            return replace(self, off=self.off | one, on=self.on - one)
        # Beside unsafe fixes, a rule that has fixes of both kinds can only be taken whole.
        return replace(self, off=self.off - one, on=self.on | one if self.on else self.on)


class Row(NamedTuple):
    """A finding, and what becomes of it.

    `state` is "chosen", "open" where a fix is not, "gone" where it goes with another's, "manual"
    where a person must, and "none" where no edit can mend it. `follows` says that it comes up with
    the fix of another; `line` is where it is in the file as it is.
    """

    finding: Finding
    state: str
    line: int
    start: int
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """A repair as wished, its rows in order of place, and the choice that a command makes it with.

    `more` counts the findings that are not listed.
    """

    repair: Repair
    wish: Wish
    choice: Choice
    rows: tuple[Row, ...]
    more: int = 0

    @property
    def command(self) -> str:
        """The command that writes the same."""
        parts = ["sesstool repair --write"]
        parts += ["--unsafe"] * self.choice.unsafe + sorted(self.choice.flags)
        parts += [f"--select {','.join(self.choice.select)}"] if self.choice.select else []
        return " ".join([*parts, session_word(self.repair.path)])

    def edits(self, row: Row) -> list[Edit]:
        """What is done about a row, over the file as it is; what would be, where it is open."""
        fix = row.finding.fix
        if fix is not None and not row.follows:
            return list(fix.edits)
        end = max(row.finding.location.end, row.start)
        return [e for e in self.repair.outcome.edits if e.start <= end and e.end >= row.start]


def preview(
    path: Path, wish: Wish = Wish(), *, progress: Progress | None = None, keys: Keys | None = None
) -> Preview:
    """Plan the repair of a session as wished; nothing is written. Raises as `api.repair`.

    No guess is made that is not wished for: where one comes up behind another, its rule is left
    out, and it is planned anew.
    """
    off = set(wish.off)
    options = Options(join_branches="--join-branches" in wish.flags)
    while True:
        unsafe = wish.every or bool(wish.on - off)
        choice = Choice(unsafe, wish.flags, _selected(off))
        repair = api.repair(path, options, choice, progress=progress, keys=keys)
        guessed = {
            f.code
            for f in repair.outcome.mended
            if f.fix and f.fix.flag == "--unsafe" and f.code not in wish.on
        }
        if wish.every or not guessed:
            rows = _rows(repair)
            listed = tuple(islice(rows, MOST))
            return Preview(repair, wish, choice, listed, sum(1 for _ in rows))
        off |= guessed


def _selected(off: set[str]) -> tuple[str, ...]:
    """The rules that are not off, as `--select` names them; all families whole are none."""
    if not off:
        return ()
    families = sorted({code[0] for code in RULES})
    parts: list[str] = []
    for family in families:
        codes = sorted(code for code in RULES if code.startswith(family))
        parts += [family] if off.isdisjoint(codes) else [c for c in codes if c not in off]
    return tuple(parts)


def _rows(repair: Repair) -> Iterator[Row]:
    outcome = repair.outcome
    mended = {_key(f, f.location.start) for f in outcome.mended}
    origin = outcome.edits.origins(f.location.start for f in outcome.after.findings)
    left = {_key(f, origin[f.location.start]) for f in outcome.after.findings}
    rows = [
        Row(f, _state(f, f.location.start, mended, left), f.location.line, f.location.start)
        for f in _told(outcome.before.findings)
    ]
    known = {_key(row.finding, row.start) for row in rows}
    rows += [
        Row(f, "chosen", f.location.line, f.location.start, follows=True)
        for f in outcome.mended
        if _key(f, f.location.start) not in known
    ]
    known |= mended
    rows += [
        Row(f, _state(f, start, mended, left), 0, start, follows=True)
        for f in _told(outcome.after.findings)
        if _key(f, start := origin[f.location.start]) not in known
    ]
    yield from sorted(rows, key=lambda row: row.start)


_Key = tuple[str, int, str]


def _told(findings: Iterable[Finding]) -> Iterator[Finding]:
    return (f for f in findings if f.fix is not None or f.severity is not Severity.INFORMATION)


def _key(finding: Finding, start: int) -> _Key:
    return finding.code, start, finding.location.pointer


def _state(finding: Finding, start: int, mended: set[_Key], left: set[_Key]) -> str:
    key, fix = _key(finding, start), finding.fix
    if key in mended:
        return "chosen"
    if key not in left and not (fix and fix.mode is not None):
        return "gone"
    if fix is None:
        return "none"
    return "manual" if fix.applicability is Applicability.MANUAL else "open"


class Change(NamedTuple):
    """A place that an edit changes, as it is and as it will be: bytes of `start` and what is near.

    `before` and `after` are what stands there now and then, `head` and `tail` what stays around it
    on the lines of its ends; all are cut to what can be read at a glance, and `size` and `new` tell
    how many bytes go and come.
    """

    start: int
    size: int
    new: int
    head: bytes
    before: bytes
    after: bytes
    tail: bytes


def changes(
    repair: Repair, edits: Iterable[Edit], *, most: int = 8, keys: Keys | None = None
) -> list[Change]:
    """What edits do to the bytes of a session. Raises StalePlanError where that changed since."""
    with api.reopened(repair, keys) as source:
        return [_change(source, edit) for edit in islice(edits, most)]


def _change(source: Source, edit: Edit) -> Change:
    end = min(edit.end, source.size)
    head = source.read(max(edit.start - _AROUND, 0), edit.start).rpartition(b"\n")[2]
    tail = source.read(end, min(end + _AROUND, source.size)).partition(b"\n")[0]
    before = source.read(edit.start, min(edit.start + 4 * _AROUND, end))
    after = edit.text[: 4 * _AROUND]
    return Change(edit.start, end - edit.start, len(edit.text), head, before, after, tail)


def resumed(repair: Repair, *, keys: Keys | None = None) -> ResumeReport:
    """What a resume sends once the repair is done. Raises StalePlanError and NotASessionError."""
    with api.reopened(repair, keys) as source:
        return resuming.resume(EditedSource(source, repair.outcome.edits))


def in_use(path: Path) -> str:
    """Who has a session open, "" where nobody has. Raises InputError."""
    found = find_writer(path, recent_seconds=api.recent(path))
    return found.description if found else api.writer(path) or ""
