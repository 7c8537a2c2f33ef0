"""What is said of a session as a whole, whatever it is exported to."""

from __future__ import annotations

from collections.abc import Iterator

from sesstool.export.sections import END, Choice, Reading
from sesstool.formats.others import Named
from sesstool.report.amounts import counted as count
from sesstool.version import __version__

_FROM = {
    "copy": "a fork of session",
    "reference": "goes on from session",
    "subagent": "a subagent of session",
}


def facts(reading: Reading, choice: Choice) -> list[tuple[str, str]]:
    """Names and values, in the order in which they are read; what is not known is left out."""
    return list(_facts(reading, choice))


def _facts(reading: Reading, choice: Choice) -> Iterator[tuple[str, str]]:
    session, source = reading.session, reading.session.source
    yield "SHA-256", reading.sha256 + (" (of its decompressed bytes)" if source.codec else "")
    yield "Size", f"{count(source.size, 'byte')}, {count(session.records, 'record')}"
    yield "Agent", f"{session.format.title} {session.version}".rstrip()
    if isinstance(session.format, Named):
        yield "Read", "as JSON only: what the records of this agent mean is not known"
    if session.model:
        yield "Model", session.model
    if session.id:
        yield "Session", session.id
    if reading.origin is not None:
        yield "Origin", f"{_FROM[reading.origin.mode]} {reading.origin.session}"
    if session.cwd:
        yield "Folder", session.cwd
    if session.first_time:
        yield "Time", f"{session.first_time} to {session.last_time}"
    yield "Turns", str(reading.turns)
    if session.pairing.calls:
        left = reading.unanswered
        yield (
            "Tool calls",
            f"{session.pairing.calls}" + (f", {left} without a result" if left else ""),
        )
    if reading.branches:
        yield (
            "Branches",
            f"{count(len(reading.branches), 'branch', 'branches')} that a resume does not reach",
        )
    if reading.fragments:
        yield "Damage", f"no record: {count(reading.fragments, 'piece')} of the file"
    if shown := _shown(reading, choice):
        yield "Shown", shown
    if reading.notes and not choice.notes:
        yield "Not shown", f"{count(reading.notes, 'record')} about the session, without words"
    if reading.profile:
        yield "Redacted", f"profile {reading.profile}, by sesstool {__version__}"


def _shown(reading: Reading, choice: Choice) -> str:
    """What of the session is shown, "" where that is all."""
    parts = []
    if (choice.first, choice.last) != (1, END):
        end = "the last" if choice.last == END else str(choice.last)
        parts.append(f"lines {choice.first} to {end}")
    if reading.branch != "all":
        live = reading.branch == "live"
        parts.append("what a resume reaches" if live else f"the branch to {reading.branch}")
    if not choice.thinking:
        parts.append("no thinking")
    return ", ".join(parts)
