"""A session as Markdown, in which nothing that the session holds is markup.

Texts stand in fences that nothing in them closes, names in code spans; there is no HTML in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sesstool.export.facts import facts
from sesstool.export.sections import Choice, Reading, Section
from sesstool.model.passages import Passage
from sesstool.report.amounts import counted
from sesstool.text import safe
from sesstool.version import __version__

_ROLES = ("system", "user", "assistant", "tool")
_TICKS = re.compile(r"`+")
# What may act on a terminal stands between newlines and tabs; of a text so much at once.
_OTHERS = re.compile(r"[^\n\t]+")
_CHUNK = 1 << 16


def document(reading: Reading, choice: Choice = Choice()) -> Iterator[str]:
    """The document, in parts: a heading for each turn, one below it for each thing said."""
    yield f"# Session {_code(reading.name)}\n\n"
    for name, value in facts(reading, choice):
        yield f"- {name}: {_code(value)}\n"
    turn = -1
    for section in reading.sections(choice):
        if section.turn != turn:
            turn = section.turn
            yield _heading(reading, turn)
        yield from _section(section)
    yield f"\n---\n\nMade by sesstool {__version__}. This file holds text of the session.\n"


def _heading(reading: Reading, turn: int) -> str:
    if not turn:
        return f"\n## {reading.untitled}\n"
    return f"\n## {turn}. {_code(reading.title(turn) or '(no text)')}\n"


def _section(section: Section) -> Iterator[str]:
    for mark in section.before:
        yield f"\n*{mark}*\n"
    where = [f"line {section.record.line}"]
    if section.time:
        where.append(_code(section.time))
    where += map(_code, section.words)
    if section.said is None:
        yield f"\n### No record\n\n{', '.join(where)}: "
        yield f"{counted(section.size, 'byte')} that are no record, and are not shown.\n"
    for said in section.said or ():
        yield f"\n### {_title(said)}\n\n{', '.join(where)}\n"
        text = said.text.replace("\r\n", "\n").strip("\n")
        if text:
            yield from _fenced(text)
    for mark in section.after:
        yield f"\n*{mark}*\n"


def _title(said: Passage) -> str:
    """What it is, with what the session holds of that in a code span."""
    if said.kind == "message":
        head = said.spoken if said.name in _ROLES else _code(said.spoken)
    else:
        head = said._replace(name="", state="", error=False).spoken
        head += f" {_code(said.name)}" if said.name else ""
    state = said.state or ("failed" if said.error else "")
    return f"{head}: {state}" if state not in ("", "completed") else head


def _fenced(text: str) -> Iterator[str]:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"\n{fence}text\n"
    for at in range(0, len(text), _CHUNK):
        yield _OTHERS.sub(lambda found: safe(found[0]), text[at : at + _CHUNK])
    yield f"\n{fence}\n"


def _code(text: str) -> str:
    """A text in one line in which no character is markup."""
    shown = safe(text)
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {shown} {ticks}" if longest else f"`{shown}`"
