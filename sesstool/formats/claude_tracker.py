"""What only a whole transcript of Claude Code shows: whose records it has, and what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sesstool.formats.events import Meaning, ToolResult
from sesstool.formats.side_files import beside
from sesstool.formats.terms import Fault, Place, Tracker
from sesstool.formats.values import mapping, text
from sesstool.records.recover import Record
from sesstool.records.source import Source

_KEPT_OUTPUT = re.compile(
    r"<persisted-output>\n[^\n]*saved to: [^\n]*[/\\]tool-results[/\\]([\w.-]+)\n"
)


class ClaudeTracker(Tracker):
    """Sessions, sidechains and echoes of errors in one transcript."""

    def __init__(self, path: Path | None) -> None:
        """Follow the file at a path, None for one without."""
        self._path = path
        self._sessions: Counter[str] = Counter()
        self._first: dict[str, Place] = {}
        self._echoes = 0
        self._echo: Place | None = None
        self._sidechain = self._main = 0
        self._outputs: dict[str, Place] = {}

    def see(self, record: Record, meaning: Meaning) -> None:
        """See `Tracker.see`."""
        if not meaning.linked:
            return
        value = record.value or {}
        name = meaning.session
        if name and "forkedFrom" not in value:
            if name not in self._sessions:
                self._first[name] = _place(record)
            self._sessions[name] += 1
        if meaning.scope:
            self._sidechain += 1
        else:
            self._main += 1
        for event in meaning.events:
            if type(event) is ToolResult and type(event.content) is str:
                self._result(record, event.content)
        if value.get("isApiErrorMessage") is True:
            self._echoes += 1
            self._echo = self._echo or _place(record)

    def _result(self, record: Record, content: str) -> None:
        """A long result is kept in a file, of which the record holds the name."""
        found = _KEPT_OUTPUT.match(content)
        if found and self._path is not None:
            name = found.group(1)
            # A fork refers to the files of the session that it was made of.
            told = text(mapping((record.value or {}).get("forkedFrom")).get("sessionId"))
            folders = [self._path.stem, *re.findall(r"\A[\w-]+\Z", told)]
            outputs = (self._path.parent / one / "tool-results" / name for one in folders)
            if not any(map(beside, outputs)):
                self._outputs.setdefault(name, _place(record))

    def faults(self, source: Source) -> Iterable[Fault]:
        """See `Tracker.faults`."""
        for name, place in self._outputs.items():
            message = f"the whole output, tool-results/{name}, is not beside the session"
            yield Fault("missing-side-file", place, message)
        if self._echo:
            yield Fault("error-echo", self._echo, f"{self._echoes} records echo an API error")
        if self._sidechain and not self._main and self._sessions:
            owner = next(iter(self._sessions))
            message = f"this is the transcript of a subagent of session {owner}"
            yield Fault("subagent", self._first[owner], message)
            yield from self._described(self._first[owner])
        elif len(self._sessions) > 1:
            yield self._foreign()

    def _described(self, place: Place) -> Iterable[Fault]:
        """Since 2.1 a subagent's kind stands in a file beside its transcript."""
        path = self._path
        if path is not None and path.parent.name == "subagents":
            described = path.with_suffix(".meta.json")
            if not beside(described):
                message = f"{described.name}, which tells the subagent's kind, is not beside it"
                yield Fault("missing-side-file", place, message)

    def _foreign(self) -> Fault:
        stem = self._path.name.removesuffix(".jsonl") if self._path else ""
        own = stem if stem in self._sessions else next(iter(self._sessions))
        foreign = [s for s in self._sessions if s != own]
        count = sum(self._sessions[s] for s in foreign)
        return Fault(
            "wrong-session",
            self._first[foreign[0]],
            f"{count} records belong to session {', '.join(sorted(foreign)[:3])}, not to {own}",
            "move them by hand into a file of their own, named for their session",
        )


def _place(record: Record) -> Place:
    return Place(record.line, record.start, record.end)
