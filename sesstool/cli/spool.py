"""Findings on disk: a session can have more of them than there is memory."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, Self

from sesstool.api.redaction import Redacted
from sesstool.findings import Finding


class Spool:
    """Findings of several files, one file after another, in an unlinked temporary file."""

    def __init__(self) -> None:
        """Begin with none."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed on leaving the block
        self._spans: dict[int, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        """Close the file on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def add(self, file: Redacted, finding: Finding) -> None:
        """Put a finding of a file behind those that it has; files do not take turns."""
        start, number = self._spans.get(id(file)) or (self._file.tell(), 0)
        pickle.dump(finding, self._file, protocol=5)
        self._spans[id(file)] = start, number + 1

    def of(self, file: Redacted) -> Sequence[Finding]:
        """The findings of a file, once all were added."""
        return _Findings(self._file, *self._spans.get(id(file), (0, 0)))


class _Findings(Sequence[Finding]):
    def __init__(self, file: IO[bytes], start: int, number: int) -> None:
        self._file, self._start, self._number = file, start, number

    def __iter__(self) -> Iterator[Finding]:
        self._file.seek(self._start)
        for _ in range(self._number):
            yield pickle.load(self._file)  # noqa: S301 - this process alone wrote it

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, at: Any) -> Any:
        return tuple(self)[at]
