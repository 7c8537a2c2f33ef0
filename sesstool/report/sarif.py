"""Findings as SARIF 2.1.0, for code scanning and for other tools."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sesstool.checks.rule import Rule
from sesstool.findings import FileReport, Finding, Fix, Location, Severity
from sesstool.records.edits import Edit
from sesstool.report.base import Output, Reporter, Snippet, Totals
from sesstool.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFORMATION: "note"}


class SarifReporter(Reporter):
    """One run. The results come first, so that they can be written as the files come."""

    def __init__(self, output: Output) -> None:
        """Begin the document."""
        self._output = output
        self._between = ""
        head = {"$schema": _SCHEMA, "version": "2.1.0"}
        run = {"columnKind": "unicodeCodePoints"}
        self._write(f'{json.dumps(head)[:-1]}, "runs": [{json.dumps(run)[:-1]}, "results": [')

    def file(self, report: FileReport, snippet: Snippet) -> None:  # noqa: ARG002 - shows no lines
        """See `Reporter.file`."""
        alike: Counter[str] = Counter()
        for finding in report.findings:
            identity = _identity(finding)
            alike[identity] += 1
            result = _result(finding, show_text=self._output.show_text)
            result["partialFingerprints"] = {
                "sesstoolFinding/v1": hashlib.sha256(
                    f"{identity}\0{alike[identity]}".encode(errors="surrogateescape")
                ).hexdigest()
            }
            self._write(f"{self._between}\n{json.dumps(result)}")
            self._between = ","

    def close(self, totals: Totals) -> None:
        """End the document with the rules that found something."""
        rules = self._output.rules
        driver = {
            "name": "sesstool",
            "version": __version__,
            "rules": [_rule(rules[code]) for code in sorted(totals.codes) if code in rules],
        }
        self._write(f'\n], "tool": {json.dumps({"driver": driver})}}}]}}\n')

    def _write(self, text: str) -> None:
        self._output.out.write(text.encode())


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _identity(finding: Finding) -> str:
    """What stays the same for a finding when lines are added to its file."""
    labels = sorted(finding.labels.items())
    where = finding.location
    return "\0".join([finding.code, where.path, where.pointer, *(f"{k}={v}" for k, v in labels)])


def _result(finding: Finding, *, show_text: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join([finding.message, *finding.notes])},
        "locations": [_location(finding.location)],
        "properties": {"labels": finding.labels, "cause": finding.cause or None},
    }
    fix = finding.fix
    if fix is not None:
        result["properties"]["fix"] = {"applicability": fix.applicability, "title": fix.title}
        if fix.edits and (show_text or not any(edit.content for edit in fix.edits)):
            result["fixes"] = [_fix(fix, finding.location.path)]
    return result


def _location(where: Location) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(where.path)}}
    if where.line:
        physical["region"] = {
            "startLine": where.line,
            "startColumn": where.column,
            "byteOffset": where.start,
            "byteLength": where.end - where.start,
        }
    location: dict[str, Any] = {"physicalLocation": physical}
    if where.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": where.pointer}]
    return location


def _fix(fix: Fix, path: str) -> dict[str, Any]:
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _uri(path)},
                "replacements": [_replacement(edit) for edit in fix.edits],
            }
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    try:
        content = {"text": edit.text.decode()}
    except UnicodeDecodeError:
        content = {"binary": base64.b64encode(edit.text).decode()}
    return {
        "deletedRegion": {"byteOffset": edit.start, "byteLength": edit.end - edit.start},
        "insertedContent": content,
    }


def _uri(path: str) -> str:
    """The path as a URI, relative where the path is."""
    if Path(path).is_absolute():
        return Path(path).as_uri()
    return quote(Path(path).as_posix(), errors="surrogateescape")
