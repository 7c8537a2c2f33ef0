"""Findings as workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from sesstool.findings import FileReport, Finding, Severity
from sesstool.report.base import Output, Reporter, Snippet, Totals
from sesstool.text import safe

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFORMATION: "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({":": "%3A", ",": "%2C"})


class GithubReporter(Reporter):
    """`::error title=sesstool (CODE),file=…,line=…::message`."""

    def __init__(self, output: Output) -> None:
        """See `Reporter`."""
        self._output = output

    def file(self, report: FileReport, snippet: Snippet) -> None:  # noqa: ARG002 - shows no lines
        """See `Reporter.file`."""
        for finding in report.findings:
            self._output.line(_command(finding))

    def close(self, totals: Totals) -> None:
        """See `Reporter.close`."""


def _command(finding: Finding) -> str:
    where = finding.location
    properties = [f"title=sesstool ({finding.code})", f"file={_property(where.path)}"]
    if where.line:
        properties += [f"line={where.line}", f"col={where.column}"]
    told = [finding.message, *finding.notes]
    if finding.fix is not None:
        told.append(f"help: {finding.fix.title}")
    data = "\n".join(safe(part) for part in told).translate(_DATA)
    return f"::{_LEVELS[finding.severity]} {','.join(properties)}::{data}"


def _property(text: str) -> str:
    return safe(text).translate(_DATA).translate(_PROPERTY)
