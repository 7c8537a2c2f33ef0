"""What the formats have in common that are read and never written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sesstool.errors import InputError
from sesstool.formats.base import Format
from sesstool.formats.terms import Question
from sesstool.records import databases


class ReadOnly(Format):
    """A format of sessions that sesstool reads out of what else an agent keeps in the same file."""

    repairable = False

    def answer(self, question: Question) -> bytes:
        """See `Format.answer`: a fix that holds it is never offered."""
        return b"{}"

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """See `Format.find`. A database that cannot be read has none."""
        if ending:
            return
        for database in self.databases():
            try:
                _, found = databases.sessions(database)
            except InputError:
                continue
            for session in found:
                if session.id.startswith(prefix):
                    yield databases.inside(database, session.id)
