"""Findings as one JSON document, and the shape that a finding has in JSON."""

from __future__ import annotations

import json
from typing import Any

from sesstool.findings import Applicability, FileReport, Finding, Fix, Severity
from sesstool.records.edits import Edit
from sesstool.report.base import Output, Reporter, Snippet, Totals
from sesstool.version import __version__

SCHEMA_VERSION = 1


class JsonReporter(Reporter):
    """One document, written as the files come; `schemas/output/findings.schema.json`."""

    def __init__(self, output: Output) -> None:
        """Begin the document."""
        self._output = output
        self._between = ""
        head = {"schema_version": SCHEMA_VERSION, "tool": "sesstool", "version": __version__}
        self._write(json.dumps(head)[:-1] + ', "files": [')

    def file(self, report: FileReport, snippet: Snippet) -> None:  # noqa: ARG002 - shows no lines
        """See `Reporter.file`."""
        shown = {
            "path": report.path,
            "format": report.format,
            "detected": report.detected,
            "size": report.size,
            "records": report.records,
        }
        self._write(f'{self._between}\n{json.dumps(shown)[:-1]}, "findings": [')
        self._between = ","
        between = ""
        for finding in report.findings:
            shown = finding_json(finding, show_text=self._output.show_text)
            self._write(between + json.dumps(shown))
            between = ", "
        self._write("]}")

    def close(self, totals: Totals) -> None:
        """End the document with the totals."""
        self._write(f'\n], "totals": {json.dumps(_totals(totals))}}}\n')

    def _write(self, text: str) -> None:
        self._output.out.write(text.encode())


def finding_json(finding: Finding, *, show_text: bool) -> dict[str, Any]:
    """A finding as `schemas/output/finding.schema.json` describes it."""
    where = finding.location
    return {
        "schema": SCHEMA_VERSION,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "path": where.path,
        "line": where.line,
        "column": where.column,
        "byte_start": where.start,
        "byte_end": where.end,
        "pointer": where.pointer,
        "notes": list(finding.notes),
        "cause": finding.cause or None,
        "labels": finding.labels,
        "fix": None if finding.fix is None else _fix(finding.fix, show_text=show_text),
        "url": None,
    }


def edit_text(edit: Edit, *, show_text: bool) -> str | None:
    """The text of an edit, or None where it is withheld or is no UTF-8."""
    if edit.content and not show_text:
        return None
    try:
        return edit.text.decode()
    except UnicodeDecodeError:
        return None


def _fix(fix: Fix, *, show_text: bool) -> dict[str, Any]:
    return {
        "applicability": fix.applicability,
        "title": fix.title,
        "flag": fix.flag or None,
        "mode": None if fix.mode is None else f"{fix.mode:04o}",
        "edits": [
            {
                "start": edit.start,
                "end": edit.end,
                "text": edit_text(edit, show_text=show_text),
                "length": len(edit.text),
            }
            for edit in fix.edits
        ],
    }


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "files": totals.files,
        "records": totals.records,
        "size": totals.size,
        "findings": totals.findings,
        "severities": {s: totals.severities[s] for s in Severity},
        "fixes": {a: totals.fixes[a] for a in Applicability},
        "codes": dict(sorted(totals.codes.items())),
    }
