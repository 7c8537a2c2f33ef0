"""Findings shown in the formats of `REPORTERS`."""

from __future__ import annotations

from sesstool.report.base import Output, Reporter, Snippet, Totals, statistics
from sesstool.report.concise import ConciseReporter
from sesstool.report.github import GithubReporter
from sesstool.report.json import JsonReporter
from sesstool.report.jsonl import JsonlReporter
from sesstool.report.sarif import SarifReporter
from sesstool.report.text import TextReporter

REPORTERS: dict[str, type[Reporter]] = {
    "text": TextReporter,
    "concise": ConciseReporter,
    "json": JsonReporter,
    "jsonl": JsonlReporter,
    "github": GithubReporter,
    "sarif": SarifReporter,
}
"""Format name → class; the choices of `--output-format` are its keys."""

__all__ = [
    "REPORTERS",
    "Output",
    "Reporter",
    "Snippet",
    "Totals",
    "statistics",
]
