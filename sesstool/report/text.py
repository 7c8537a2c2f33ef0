"""Findings for people: the place, the structure of the record around it, and what helps."""

from __future__ import annotations

from sesstool.findings import Applicability, FileReport, Finding, Fix, Severity
from sesstool.records.source import STANDARD_INPUT
from sesstool.report.amounts import count
from sesstool.report.base import Excerpt, Output, Reporter, Snippet, Totals, place
from sesstool.text import safe, session_word, structure

_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFORMATION: "1;36"}
_DIM = "2"


class TextReporter(Reporter):
    """A paragraph for each finding on stdout; a summary and the next command on stderr."""

    def __init__(self, output: Output) -> None:
        """See `Reporter`."""
        self._output = output

    def file(self, report: FileReport, snippet: Snippet) -> None:
        """See `Reporter.file`."""
        lines = {finding.key: finding.location.line for finding in report.findings}
        for finding in report.findings:
            self._finding(finding, snippet(finding), lines)
            self._output.line()
        if report.findings:
            self._summary(report)

    def close(self, totals: Totals) -> None:
        """Tell the sum, where it is not what the last file's summary said."""
        if not totals.files:
            self._output.talk("no session was read.")
        elif totals.files != 1 or not totals.findings:
            found = count(totals.findings, "finding") if totals.findings else "no findings"
            self._output.talk(f"{found} in {count(totals.files, 'file')}.")

    def _finding(self, finding: Finding, record: Excerpt | None, lines: dict[str, int]) -> None:
        line = self._output.line
        safe_fix = finding.fix is not None and finding.fix.applicability is Applicability.SAFE
        mark = "[*] " if safe_fix else ""
        code = self._paint(finding.code, _COLORS[finding.severity])
        line(f"{code} {mark}{safe(finding.message)}")
        line(f"  {self._paint('-->', _DIM)} {_where(finding)}")
        indent = " " * (len(str(finding.location.line)) + 1)
        if record is not None:
            self._snippet(finding, record, indent)
        for note in _notes(finding, lines):
            line(f"{indent}{self._paint('=', _DIM)} note: {safe(note)}")
        if finding.fix is not None:
            line(f"help: {safe(finding.fix.title)}  [{_applied(finding.fix)}]")

    def _snippet(self, finding: Finding, record: Excerpt, indent: str) -> None:
        where = finding.location
        shown, first, last = structure(
            record.raw,
            where.start - record.offset,
            where.end - record.offset,
            self._output.width - len(indent) - 2,
            show_text=self._output.show_text,
            headless=record.headless,
        )
        bar = self._paint("|", _DIM)
        caret = self._paint("^" * (last - first), _COLORS[finding.severity])
        self._output.line(f"{indent}{bar}")
        self._output.line(f"{where.line} {bar} {shown}")
        self._output.line(f"{indent}{bar} {' ' * first}{caret}")

    def _summary(self, report: FileReport) -> None:
        told = f"{safe(report.path)}: {count(len(report.findings), 'finding')} "
        told += f"({', '.join(_severities(report))})."
        fixable = {a: report.fixable(a) for a in Applicability}
        for kind in (Applicability.SAFE, Applicability.UNSAFE):
            if fixable[kind]:
                told += f" {fixable[kind]} {kind} {'fix' if fixable[kind] == 1 else 'fixes'}."
        self._output.talk(told)
        if fixable[Applicability.SAFE] or fixable[Applicability.UNSAFE]:
            flags = [] if fixable[Applicability.SAFE] else _flags(report)
            path = "-" if report.path == STANDARD_INPUT else session_word(report.path)
            command = ["sesstool", "repair", *flags, path]
            self._output.talk(f"next: {' '.join(command)}")

    def _paint(self, text: str, color: str) -> str:
        return f"\x1b[{color}m{text}\x1b[0m" if self._output.color else text


def _where(finding: Finding) -> str:
    """The place, and the severity in words: its colour is not seen by everybody."""
    where = finding.location
    parts = [place(finding)]
    if where.line:
        parts.append(f"byte {where.start}")
    if where.pointer:
        parts.append(safe(where.pointer))
    return "  ".join([*parts, finding.severity])


def _notes(finding: Finding, lines: dict[str, int]) -> list[str]:
    """The notes, and what the finding follows from; `lines` has the line of each finding."""
    if not finding.cause:
        return list(finding.notes)
    code, _, byte = finding.cause.partition("@")
    line = lines.get(finding.cause)
    place = f"on line {line}" if line else f"at byte {byte}"
    return [*finding.notes, f"follows from {code} {place}"]


def _applied(fix: Fix) -> str:
    """Who may apply a fix, and the option that it waits for where --unsafe is not enough."""
    more = fix.flag not in {"", "--unsafe"}
    return f"{fix.applicability}, {fix.flag}" if more else fix.applicability


def _flags(report: FileReport) -> list[str]:
    """The options that the unsafe fixes wait for."""
    fixes = [f.fix for f in report.findings if f.fix is not None]
    return sorted({x.flag or "--unsafe" for x in fixes if x.applicability is Applicability.UNSAFE})


def _severities(report: FileReport) -> list[str]:
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning"}
    told = [count(report.count(s), noun) for s, noun in nouns.items() if report.count(s)]
    if information := report.count(Severity.INFORMATION):
        told.append(f"{information} information")
    return told
