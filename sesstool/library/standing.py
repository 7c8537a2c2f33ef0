"""How a session stands: whether somebody is at work on it, was interrupted, or is done.

All of it is pure. It is told by what both ends of a session show, and by who is alive.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from sesstool.formats.registry import by_name
from sesstool.library.arrange import Row
from sesstool.library.glance import Glance
from sesstool.library.living import Alive

STANDINGS = (
    *("running", "waiting", "interrupted", "damaged", "unreadable", "unknown"),
    *("encrypted", "empty", "past retention", "clean"),
)
"""How a session stands, in one word, in the order in which a person asks."""
OPEN = ("running", "waiting", "interrupted", "damaged", "unreadable")
"""Those that a person should look at."""
_BROKEN_OFF = {
    "call": "a tool was called, and no result is recorded",
    "question": "a question to a person has no answer",
    "result": "a tool had answered, and the agent had not gone on",
    "unfinished": "the agent had answered, and its turn was not over",
    "prompt": "the prompt has no answer",
}


class Standing(NamedTuple):
    """How a session stands, one of STANDINGS, and why in words.

    `since` is when it came to that, in UTC, None where no time is known. `doing` are the tools that
    were called last and have not answered; `uncertain` are those of them that may have changed
    something. `good` is when all was done for the last time, at the byte offset `good_end`; None
    and -1 where what was read does not tell. `lost` says that it was interrupted before this
    computer last started. `overdue` tells who would delete it now, "" where nobody would.
    """

    word: str
    why: str = ""
    since: datetime | None = None
    doing: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    good: datetime | None = None
    good_end: int = -1
    lost: bool = False
    overdue: str = ""


def standing(
    row: Row, alive: Alive | None, started: datetime | None = None, overdue: str = ""
) -> Standing:
    """How a session stands; `started` is when this computer last did, `overdue` as in Standing."""
    item, glance = row
    since = glance.last if glance else None
    if since is None and item.mtime > 0:
        since = datetime.fromtimestamp(item.mtime / 1e9, UTC)
    if glance is None:
        return Standing("unknown", "nobody has looked at it", since)
    word, why = _word(glance, alive, overdue)
    uncertain = glance.open
    if uncertain and glance.format:
        harmless = by_name(glance.format).harmless
        uncertain = tuple(name for name in uncertain if name not in harmless)
    lost = word == "interrupted" and started is not None and since is not None and since < started
    good, end = glance.good, glance.good_end
    return Standing(word, why, since, glance.open, uncertain, good, end, lost, overdue)


def _word(glance: Glance, alive: Alive | None, overdue: str) -> tuple[str, str]:
    """The word for it, and why."""
    if alive is not None:
        return "waiting" if _waits(alive, glance.ends) else "running", alive.who
    if glance.state not in ("ok", "repairable", "in use"):
        return glance.state, glance.why
    if why := _BROKEN_OFF.get(glance.ends):
        return "interrupted", why
    if overdue:
        return "past retention", overdue
    why = _done(glance.ends)
    if glance.ends == "answer" and glance.format and by_name(glance.format).belated:
        why += ", or a tool was at work: this agent records a call when it has its result"
    return "clean", why


def _waits(alive: Alive, ends: str) -> bool:
    """Whether an agent that runs waits for a person: as it tells itself, else by its last words."""
    if alive.waits is not None:
        return alive.waits
    return ends in ("answer", "question", "stopped", "compaction", "")


def _done(ends: str) -> str:
    if ends == "stopped":
        return "a person broke off the last turn"
    return "the last turn is complete" if ends == "answer" else "nothing is left to be done"
