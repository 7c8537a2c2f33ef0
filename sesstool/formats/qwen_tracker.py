"""What only a whole session of Qwen Code shows: whose records it has, and which tools ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sesstool.formats.events import Meaning
from sesstool.formats.terms import Evidence, Fault, Place, Tracker
from sesstool.formats.values import mapping, text
from sesstool.records.recover import Record
from sesstool.records.source import Source


class QwenTracker(Tracker):
    """Follows one session; `file_id` is the id that the file's name tells, or ""."""

    def __init__(self, file_id: str) -> None:
        """Start before the first record."""
        self._file_id = file_id
        self._sessions: Counter[str] = Counter()
        self._first: dict[str, Place] = {}
        self._aside = self._main = 0
        self._failed: set[str] = set()

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        name = meaning.session
        if name:
            if name not in self._sessions:
                self._first[name] = Place(record.line, record.start, record.end)
            self._sessions[name] += 1
        self._aside += bool(meaning.scope)
        self._main += not meaning.scope
        value = record.value or {}
        if value.get("subtype") == "ui_telemetry":
            event = mapping(mapping(value.get("systemPayload")).get("uiEvent"))
            if event.get("event.name") == "qwen-code.tool_call" and event.get("success") is False:
                self._failed.add(text(event.get("call_id")))

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`: the reader refuses a file with records of two sessions."""
        if self._aside and not self._main and self._sessions:
            owner = next(iter(self._sessions))
            message = f"this is the transcript of a subagent of session {owner}"
            yield Fault("subagent", self._first[owner], message)
        if len(self._sessions) > 1:
            own = self._file_id if self._file_id in self._sessions else next(iter(self._sessions))
            foreign = [name for name in self._sessions if name != own]
            count = sum(self._sessions[name] for name in foreign)
            yield Fault(
                "wrong-session",
                self._first[foreign[0]],
                f"{count} records belong to session {', '.join(sorted(foreign)[:3])}, not to "
                f"{own}: Qwen Code loads neither",
                "move them by hand into a file of their own, named for their session",
                severity="error",
            )

    def evidence(self, call_id: str, source: Source, scope: str = "") -> Evidence:
        """See `Tracker.evidence`: what the screen was told of a call tells that it failed."""
        return Evidence("failed" if call_id in self._failed else "uncertain")
