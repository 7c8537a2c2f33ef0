"""What every report has in common: the `Reporter` protocol, where it goes, and the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, Protocol

from sesstool.checks.rule import Rule
from sesstool.findings import Applicability, FileReport, Finding, Severity
from sesstool.text import safe


class Excerpt(NamedTuple):
    """Bytes of a line and the offset where they begin; `headless` if that is inside the line."""

    raw: bytes
    offset: int
    headless: bool = False


Snippet = Callable[[Finding], Excerpt | None]
"""Gives what a report may show of the line that a finding is in."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a report goes, and how it looks.

    `talk` takes one line for the person who watches. `width` counts terminal cells.
    `show_text` allows session text in the report.
    """

    out: BinaryIO
    talk: Callable[[str], None]
    rules: Mapping[str, Rule]
    color: bool = False
    width: int = 100
    show_text: bool = False

    def line(self, text: str = "") -> None:
        """Write one line of safe text."""
        self.out.write(f"{text}\n".encode())


@dataclass(slots=True)
class Totals:
    """Counts over all the files of a run; `size` counts bytes."""

    files: int = 0
    records: int = 0
    size: int = 0
    severities: Counter[Severity] = field(default_factory=Counter)
    fixes: Counter[Applicability] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, report: FileReport) -> None:
        """Count one more file."""
        self.files += 1
        self.records += report.records
        self.size += report.size
        for finding in report.findings:
            self.severities[finding.severity] += 1
            self.codes[finding.code] += 1
            if finding.fix is not None:
                self.fixes[finding.fix.applicability] += 1

    @property
    def findings(self) -> int:
        """How many findings there are."""
        return self.severities.total()


class Reporter(Protocol):
    """Shows the findings of a run, file by file as they come."""

    def __init__(self, output: Output) -> None:
        """Start a report."""

    def file(self, report: FileReport, snippet: Snippet) -> None:
        """Show the findings of one file."""

    def close(self, totals: Totals) -> None:
        """End the report."""


def place(finding: Finding) -> str:
    """Where a finding is, for people: `path:line:column`, or the path of a whole file."""
    where = finding.location
    path = safe(where.path)
    return f"{path}:{where.line}:{where.column}" if where.line else path


def statistics(totals: Totals, rules: Mapping[str, Rule]) -> str:
    """The findings counted by rule, the most frequent first, one line each."""
    ranked = sorted(totals.codes.items(), key=lambda item: (-item[1], item[0]))
    digits = max((len(str(number)) for _, number in ranked), default=0)
    return "".join(
        f"{number:>{digits}}  {code}  {rules[code].summary if code in rules else ''}".rstrip()
        + "\n"
        for code, number in ranked
    )
