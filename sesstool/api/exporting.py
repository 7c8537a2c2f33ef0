"""What is exported: a session as it is, or without secrets and personal data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool import api
from sesstool.api.redaction import Choice, Redaction, naming, redact
from sesstool.audit import log
from sesstool.records.opening import open_source
from sesstool.records.source import Continued, FileSource

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys


@dataclass(slots=True)
class Exported:
    """The bytes to be exported, and what they are called.

    `format_name` is the name of their format where it is known. `redaction` is what they were
    redacted by, None for what is exported as it is.
    """

    path: Path | str
    source: FileSource | Continued
    name: str
    format_name: str
    redaction: Redaction | None = None

    def note(self, target: Path) -> None:
        """Have the log tell of the file that it was exported to, for whoever erases the session."""
        if not isinstance(self.path, Path):
            return
        redactor = self.redaction.redactor if self.redaction else None
        shown = redactor.shown if redactor else None
        log.note_copy(api.state_folder(), target, self.path, shown)


@contextmanager
def exported(
    path: Path | str,
    *,
    profile: str = "",
    key: bytes = b"",
    format_name: str = "",
    keys: Keys | None = None,
) -> Iterator[Exported]:
    """Open a session to export it; with a `profile` what a redaction leaves of it.

    The redaction looks at all that belongs to the session, as `redaction.redact` does, with whose
    errors it fails; then nothing is to be written. `key` makes stand-ins that are the same each
    time.
    """
    if not profile:
        with open_source(path, keys) as source:
            name = path.name if isinstance(path, Path) else source.name
            yield Exported(path, source, name, format_name)
        return
    choice = Choice(profile=profile)
    with redact([path], choice, key=key, format_name=format_name, keys=keys) as redaction:
        file = redaction.files[0]
        result, form = file.result, file.text.form
        assert result is not None
        # Its own name may hold values, and is what an agent names a session by.
        result.name, result.path = file.name.name, file.name
        with naming(redaction.files):
            name = form.name if form else format_name
            yield Exported(path, result, result.name, name, redaction)
