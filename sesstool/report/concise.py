"""Findings one line each, for eyes and for grep."""

from __future__ import annotations

from sesstool.findings import FileReport
from sesstool.report.base import Output, Reporter, Snippet, Totals, place
from sesstool.text import safe


class ConciseReporter(Reporter):
    """`path:line:column: CODE severity message`."""

    def __init__(self, output: Output) -> None:
        """See `Reporter`."""
        self._output = output

    def file(self, report: FileReport, snippet: Snippet) -> None:  # noqa: ARG002 - shows no lines
        """See `Reporter.file`."""
        for finding in report.findings:
            self._output.line(
                f"{place(finding)}: {finding.code} {finding.severity} {safe(finding.message)}"
            )

    def close(self, totals: Totals) -> None:
        """See `Reporter.close`."""
