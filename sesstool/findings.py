"""What a check has to say: a `Finding`, with its place and perhaps a `Fix`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sesstool.records.edits import Edit


class Severity(StrEnum):
    """How much a finding matters.

    An error breaks a resume or loses something, a warning may; information does neither.
    """

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"


class Applicability(StrEnum):
    """Who may apply a fix.

    Safe: lossless, proven by the file, or one poisonous piece that is kept in lost+found.
    Unsafe: it guesses, or takes away what a person may want. Manual: no edit exists.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Location:
    """Where a finding is.

    `line` and `column` count from 1; `line` 0 means the file as a whole. `column` counts
    characters of the physical line and is for people; `start` and `end` are byte offsets in
    the (uncompressed) file and are the authority. `pointer` is an RFC 6901 JSON pointer inside
    the record.
    """

    path: str
    line: int = 0
    column: int = 1
    start: int = 0
    end: int = 0
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """How a finding can be mended.

    `title` completes "help: …" and holds no session text. `flag` names the option that the fix
    waits for, where `--unsafe` is not enough. `mode` is a file mode to set, where the fix is
    about access and not about bytes.
    """

    applicability: Applicability
    title: str
    edits: tuple[Edit, ...] = ()
    flag: str = ""
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check has to say about one place.

    `message` and `notes` hold ids, counts and names, never session text. `cause` is the key of
    the finding that this one follows from, or "".
    """

    code: str
    name: str
    severity: Severity
    message: str
    location: Location
    fix: Fix | None = None
    notes: tuple[str, ...] = ()
    cause: str = ""
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What another finding names as its cause: `CODE@byte`."""
        return f"{self.code}@{self.location.start}"


@dataclass(frozen=True, slots=True)
class FileReport:
    """What the checks said about one session file.

    `format` is the name of the format, `detected` why it was taken for it. `size` counts
    bytes, `records` the records that could be read. Findings are in order of place; there can be
    too many of them to be held in memory.
    """

    path: str
    format: str
    detected: str
    size: int
    records: int
    findings: Sequence[Finding] = ()

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(f.severity is severity for f in self.findings)

    def fixable(self, applicability: Applicability) -> int:
        """How many findings have a fix of this applicability."""
        return sum(
            f.fix is not None and f.fix.applicability is applicability for f in self.findings
        )
