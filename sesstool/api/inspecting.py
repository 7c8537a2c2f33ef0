"""One record of a session closely: a tool call with its result and the reason for its state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sesstool.api.viewing import View
from sesstool.findings import Finding
from sesstool.formats.events import Meaning, ToolCall
from sesstool.formats.terms import Evidence
from sesstool.formats.wording import doubt
from sesstool.model.effects import Effect, effects
from sesstool.model.moments import moment
from sesstool.model.passages import Passage
from sesstool.records.places import nearest

# So many calls are looked at in each direction for those of one tool.
_NEAR = 1000


class Spot(NamedTuple):
    """Where something stands: its line's offset, its number from 1 where known, the pointer."""

    start: int
    line: int | None
    pointer: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a record, or of one passage of it.

    `passage` is what is looked at, None where the record says nothing. Of a call or a result
    `call` and `result` tell where both stand, None where there is none; `state` is that of the
    call, "" while nobody knows, and `why` says in a few words how it is known. `seconds` lie
    between the two. `effects` are what the call may have changed, `cwd` the folder it ran in,
    `fault` what keeps the line from being read.
    """

    spot: Spot
    passage: Passage | None = None
    call: Spot | None = None
    result: Spot | None = None
    asked: Passage | None = None
    answered: Passage | None = None
    state: str = ""
    why: str = ""
    seconds: float | None = None
    effects: tuple[Effect, ...] = ()
    cwd: str = ""
    fault: str = ""


class Like(NamedTuple):
    """A call of the same tool: where, when (as recorded), what it was given, what became of it."""

    spot: Spot
    time: str
    words: str
    state: str
    seconds: float | None


def inspect(view: View, start: int, pointer: str = "") -> Inspection:
    """Look at the passage at a pointer in the record at an offset; "" is its first call or result.

    Raises InputError where the file cannot be read.
    """
    look = view.look(start)
    said, fault = look.passages, look.fault
    passage = next((p for p in said if p.pointer == pointer), None) if pointer else None
    if passage is None:
        kinds = ("call", "result")
        passage = next((p for kind in kinds for p in said if p.kind == kind), None)
        passage = passage or next(iter(said), None)
    spot = _spot(view, start, passage)
    if passage is None or passage.kind not in ("call", "result"):
        return Inspection(spot, passage, cwd=_cwd(view, start), fault=fault)
    if passage.kind == "call":
        call, asked = spot, passage
        result, answered = _other(view, view.result(start, passage), passage, "result")
    else:
        result, answered = spot, passage
        at, one = _other(view, view.call(start, passage), passage, "call")
        if at is None or one is None:
            why = "no call of this id stands above it" if _done(view) else ""
            return Inspection(spot, passage, result=spot, answered=passage, why=why, fault=fault)
        call, asked = at, one
    state = view.state(call.start, asked)
    given = _call(_meaning(view, call.start), asked)
    found: list[Effect] = []
    if given is not None and view.session is not None:
        form = view.session.format
        found = effects(given.name, given.arguments, form.harmless, form.waits)
    return Inspection(
        spot,
        passage,
        call,
        result,
        asked,
        answered,
        state,
        _why(view, call, asked, state),
        _seconds(view, call, result),
        tuple(found),
        _cwd(view, call.start),
        fault,
    )


def _spot(view: View, start: int, passage: Passage | None) -> Spot:
    return Spot(start, view.places.number(start), passage.pointer if passage else "")


def _other(
    view: View, start: int | None, passage: Passage, kind: str
) -> tuple[Spot | None, Passage | None]:
    """The call of a result, or the result of a call, in the record at an offset."""
    said = view.look(start).passages if start is not None else ()
    other = next((p for p in said if p.kind == kind and p.id == passage.id), None)
    return (_spot(view, start, other), other) if start is not None and other else (None, None)


def _done(view: View) -> bool:
    return view.outline is not None and view.outline.done


def _meaning(view: View, start: int) -> Meaning:
    value = view.look(start).value
    return view.meaning(value) if value is not None else Meaning()


def _call(meaning: Meaning, asked: Passage) -> ToolCall | None:
    calls = (event for event in meaning.events if isinstance(event, ToolCall))
    return next((call for call in calls if call.pointer == asked.pointer), None)


def _cwd(view: View, start: int) -> str:
    return _meaning(view, start).cwd or (view.session.cwd if view.session else "")


def _why(view: View, call: Spot, asked: Passage, state: str) -> str:
    """How the state of a call is known."""
    outline, session = view.outline, view.session
    if not state or outline is None or session is None:
        return "" if _done(view) else "still reading the session"
    open_ = outline.unanswered.get((call.start, call.pointer))
    if open_ is None:
        return "its result tells of a failure" if state == "failed" else "its result is there"
    evidence = session.tracker.evidence(open_.id, view.source, open_.scope)
    return f"no result; {_proven(evidence, asked.name, asked.name in session.format.harmless)}"


def _proven(evidence: Evidence, name: str, harmless: bool) -> str:
    if evidence.state == "uncertain":
        return doubt(name, harmless=harmless)
    if evidence.state == "pending":
        return "it waits for a person's approval"
    if evidence.state == "never started":
        return "the session was interrupted before it was started"
    held = "its output stands" if evidence.output else "its end is told"
    return f"{held} elsewhere in the file"


def _seconds(view: View, call: Spot, result: Spot | None) -> float | None:
    """The time between a call and its result, where both tell theirs."""
    if result is None:
        return None
    begun, ended = moment(view.look(call.start).time), moment(view.look(result.start).time)
    return (ended - begun).total_seconds() if begun and ended else None


def position(view: View, spot: Spot | None) -> tuple[int, int]:
    """Which call of the session this is, from 1, and how many there are; (0, 0) while unknown."""
    outline = view.outline
    if spot is None or outline is None or not outline.done:
        return 0, 0
    inside = [p.pointer for p in calls_of(view, spot.start)]
    nth = inside.index(spot.pointer) + 1 if spot.pointer in inside else 0
    return outline.calls.before(spot.start) + nth, len(outline.calls)


def calls_of(view: View, start: int) -> list[Passage]:
    """The calls of the record at an offset."""
    return [p for p in view.look(start).passages if p.kind == "call"]


def step(view: View, start: int, pointer: str, direction: int) -> Spot | None:
    """The next call behind a passage (`direction` 1), or the one before it (-1)."""
    inside = [p.pointer for p in calls_of(view, start)]
    if pointer in inside:
        at = inside.index(pointer) + direction
        if 0 <= at < len(inside):
            return Spot(start, view.places.number(start), inside[at])
    outline = view.outline
    found = nearest(outline.marks["call"], start, direction) if outline else None
    if found is None or not (calls := calls_of(view, found)):
        return None
    return _spot(view, found, calls[0 if direction > 0 else -1])


def alike(view: View, start: int, tool: str) -> Iterator[Like | None]:
    """The calls of one tool near an offset; with None for records that have none."""
    outline = view.outline
    if outline is None:
        return
    for direction in (-1, 1):
        place = start - (direction > 0)
        for _ in range(_NEAR):
            found = nearest(outline.marks["call"], place, direction)
            if found is None:
                break
            yield None
            place = found
            for asked in calls_of(view, place):
                if asked.name == tool:
                    yield _like(view, place, asked)


def _like(view: View, start: int, asked: Passage) -> Like:
    spot = _spot(view, start, asked)
    result, _ = _other(view, view.result(start, asked), asked, "result")
    words = asked.text[:500].replace("\n", " ")
    time = view.look(start).time
    return Like(spot, time, words, view.state(start, asked), _seconds(view, spot, result))


def at_record(view: View, start: int, findings: Sequence[Finding]) -> list[Finding]:
    """Those of the findings whose place is in the line at an offset."""
    span = view.places.span(start)
    return [f for f in findings if f.location.line and span.start <= f.location.start <= span.end]
