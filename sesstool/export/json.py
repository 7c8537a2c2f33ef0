"""A session as one JSON document: what each record says, in words, and what became of its calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sesstool.export.sections import NO_CALL, UNANSWERED, Choice, Reading, Section
from sesstool.model.passages import Passage
from sesstool.version import __version__

SCHEMA_VERSION = 1


def document(reading: Reading, choice: Choice = Choice()) -> Iterator[str]:
    """The document that `schemas/output/export.schema.json` describes, in parts.

    It is ASCII: nothing in it acts on a terminal, and half a character stays what it is.
    """
    head = {
        "schema_version": SCHEMA_VERSION,
        "tool": "sesstool",
        "version": __version__,
        "session": _session(reading),
    }
    yield json.dumps(head)[:-1] + ', "records": ['
    between = "\n"
    for section in reading.sections(choice):
        yield between + json.dumps(_record(section))
        between = ",\n"
    yield "\n]}\n"


def _session(reading: Reading) -> dict[str, Any]:
    session, origin = reading.session, reading.origin
    return {
        "file": reading.name,
        "sha256": reading.sha256,
        "bytes": session.source.size,
        "records": session.records,
        "fragments": reading.fragments,
        "format": session.format.name,
        "agent_version": session.version or None,
        "model": session.model or None,
        "id": session.id or None,
        "origin": None if origin is None else {"session": origin.session, "mode": origin.mode},
        "cwd": session.cwd or None,
        "first_time": session.first_time or None,
        "last_time": session.last_time or None,
        "turns": reading.turns,
        "calls": session.pairing.calls,
        "unanswered": reading.unanswered,
        "branches": len(reading.branches),
        "redaction": reading.profile or None,
    }


def _record(section: Section) -> dict[str, Any]:
    record = section.record
    return {
        "line": record.line,
        "byte_start": record.start,
        "byte_end": record.end,
        "time": section.time or None,
        "turn": section.turn,
        "subagent": section.scope or None,
        "aside": section.aside or None,
        "marks": [*section.before, *section.after],
        "passages": None if section.said is None else [_passage(said) for said in section.said],
    }


def _passage(said: Passage) -> dict[str, Any]:
    out: dict[str, Any] = {
        "kind": said.kind,
        "name": said.name or None,
        "text": said.text,
        "pointer": said.pointer,
    }
    if said.kind in ("call", "result"):
        out["call"] = said.id or None
        out["state"] = said.state.removeprefix(UNANSWERED)
        out["paired"] = not said.state.startswith(UNANSWERED) and said.state != NO_CALL
    return out
