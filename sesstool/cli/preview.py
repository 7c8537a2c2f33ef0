"""How a repair is shown: what it mends, what it leaves, and the next step."""

from __future__ import annotations

import difflib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sesstool import api
from sesstool.cli.common import Common, out_stream
from sesstool.findings import Applicability, Finding, Severity
from sesstool.records.source import EditedSource
from sesstool.report.amounts import count
from sesstool.report.json import finding_json
from sesstool.text import safe, session_word

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

SCHEMA_VERSION = 1


def show(shared: Common, repair: api.Repair, done: Sequence[api.Applied] = ()) -> None:
    """Show one repair on stdout, and the summary and next step on stderr."""
    if shared.output_format == "text":
        _as_text(repair, written=bool(done))
    said(shared, repair, written=bool(done))
    if done:
        cut = sum(applied.cut_bytes for applied in done)
        if cut:
            shared.note(f"{count(cut, 'byte')} cut or replaced; they are kept in lost+found")
        if done[0].undo_id:
            shared.note(f"undo: sesstool undo {done[0].undo_id}")
    elif repair.files:
        shared.note(f"next: sesstool repair --write {_flags(repair)}{session_word(repair.path)}")


def said(shared: Common, repair: api.Repair, *, written: bool) -> None:
    """The summary of one repair on stderr, with what is left and what would mend it."""
    outcome = repair.outcome
    mended = len(outcome.mended)
    verb = "mended" if written else "to mend"
    left = [f for f in outcome.after.findings if f.severity is not Severity.INFORMATION]
    path = safe(repair.path)
    if not mended and not left:
        shared.note(f"{path}: nothing to repair")
        return
    rounded = f", {count(len(left), 'finding')} left" if left else ""
    shared.note(f"{path}: {count(mended, 'finding')} {verb}{rounded}")
    for finding in left[:10]:
        shared.note(f"left: {_line(finding)}; {_remedy(finding)}")
    if len(left) > 10:
        shared.note(f"left: {len(left) - 10} more; sesstool validate {path} lists them")


def _remedy(finding: Finding) -> str:
    fix = finding.fix
    if fix is None:
        return "no edit can mend it"
    if fix.applicability is Applicability.UNSAFE:
        return f"{fix.flag} would: {fix.title}"
    if fix.applicability is Applicability.SAFE:
        return f"--select leaves it out: {fix.title}"
    return fix.title


def _flags(repair: api.Repair) -> str:
    flags = {f.fix.flag for f in repair.outcome.mended if f.fix and f.fix.flag}
    return "".join(f"{flag} " for flag in sorted(flags))


def _line(finding: Finding) -> str:
    place = f"line {finding.location.line}: " if finding.location.line else ""
    return f"{place}{finding.code} {safe(finding.message)}"


def _as_text(repair: api.Repair, *, written: bool) -> None:
    out = out_stream()
    for finding in repair.outcome.mended:
        fix = finding.fix
        title = fix.title if fix else ""
        applicability = fix.applicability if fix else ""
        text = f"{finding.code} {safe(finding.message)}\n"
        place = f"{safe(finding.location.path)}:{finding.location.line}"
        verb = "did" if written else "would"
        out.write(f"{text}  --> {place}\n  {verb}: {title}  [{applicability}]\n".encode())
    for file in repair.files[1:]:
        out.write(f"also: {safe(str(file.path))}: {'; '.join(file.titles)}\n".encode())


def as_json(repair: api.Repair, done: Sequence[api.Applied]) -> dict[str, Any]:
    """What the document of `-f json` says of one session."""
    outcome = repair.outcome
    return {
        "path": repair.path,
        "format": outcome.after.format,
        "mended": [finding_json(f, show_text=False) for f in outcome.mended],
        "left": [finding_json(f, show_text=False) for f in outcome.after.findings],
        "edits": len(outcome.edits),
        "growth": outcome.edits.growth(),
        "written": [
            {"path": str(a.path), "undo": a.undo_id, "cut_bytes": a.cut_bytes} for a in done
        ],
        "rules": dict(Counter(f.code for f in outcome.mended)),
    }


def document(sessions: Sequence[dict[str, Any]]) -> None:
    """Write the one document of a run."""
    value = {"schema_version": SCHEMA_VERSION, "sessions": sessions}
    out_stream().write(json.dumps(value, indent=2).encode() + b"\n")


def unified(repair: api.Repair, keys: Keys | None = None) -> None:
    """Print the change as a unified diff of lines; what a terminal would act on is made visible."""
    with api.reopened(repair, keys) as source:
        edited = EditedSource(source, repair.outcome.edits)
        before = source.read(0, source.size).split(b"\n")
        after = edited.read(0, edited.size).split(b"\n")
    lines = difflib.unified_diff(
        [safe(line.decode("utf-8", "replace")) for line in before],
        [safe(line.decode("utf-8", "replace")) for line in after],
        safe(repair.path),
        f"{safe(repair.path)} (repaired)",
        n=1,
        lineterm="",
    )
    for line in lines:
        out_stream().write(f"{line}\n".encode())
    sys.stdout.flush()
