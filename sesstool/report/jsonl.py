"""Findings as JSON lines, for a program that reads along."""

from __future__ import annotations

import json

from sesstool.findings import FileReport
from sesstool.report.base import Output, Reporter, Snippet, Totals
from sesstool.report.json import finding_json


class JsonlReporter(Reporter):
    """One finding a line; `schemas/output/finding.schema.json`."""

    def __init__(self, output: Output) -> None:
        """See `Reporter`."""
        self._output = output

    def file(self, report: FileReport, snippet: Snippet) -> None:  # noqa: ARG002 - shows no lines
        """See `Reporter.file`."""
        for finding in report.findings:
            self._output.line(json.dumps(finding_json(finding, show_text=self._output.show_text)))

    def close(self, totals: Totals) -> None:
        """See `Reporter.close`."""
