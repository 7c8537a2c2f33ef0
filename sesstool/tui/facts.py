"""What the inspector says of a call, a result or another record, and of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from sesstool.api.inspecting import Inspection, Spot
from sesstool.findings import Finding
from sesstool.model.passages import Passage
from sesstool.text import safe
from sesstool.tui.lines import Line, Numbered, Span, lines_of, paragraph
from sesstool.tui.signs import STATES

# Lines of what a call was given and of its result, folded and opened.
_FOLDED, _OPENED = 12, 2000
_NAME = 10
# Characters of one line of them, and of a fact.
_LONG, _LONGEST = 1000, 100_000
_STYLES = {"completed": "good", "failed": "bad"}
_EFFECTS = {"file": "changes", "command": "runs", "message": "sends", "other": "may change"}

Signs = Callable[[str], str]


class Fact(NamedTuple):
    """A name, and what is to be said under it; "" for a text of its own."""

    name: str
    text: str
    style: str = ""


class Facts(Numbered):
    """Facts, one a block, their texts in one column; those without a name take the whole width."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        """Take them all."""
        super().__init__(len(facts))
        self._facts = facts

    def draw(self, key: int, cells: int) -> Sequence[Line]:
        """See `lines.Blocks`."""
        name, text, style = self._facts[key]
        if not name:
            return list(paragraph(text, cells, style))
        rows = list(paragraph(text, max(cells - _NAME, 4), style))
        names = [name, *[""] * (len(rows) - 1)]
        return [(Span(f"{n:{_NAME}}", "dim"), *row) for n, row in zip(names, rows, strict=True)]

    def plain(self) -> str:
        """All of them as safe text, each with its own line breaks."""
        told = (f"{f.name:{_NAME}}{f.text}" if f.name else f.text for f in self._facts)
        return "\n".join(line for fact in told for line in lines_of(fact))


def facts(seen: Inspection, signs: Signs, *, opened: bool) -> Iterator[Fact]:
    """What is known of a record; long texts whole where `opened`."""
    passage, asked = seen.passage, seen.asked
    if seen.fault:
        yield Fact("", f"! {seen.fault}", "warn")
    if passage is None:
        yield Fact("at", _place(seen.spot))
        yield Fact("", "this record says nothing that sesstool knows; the line is beside", "dim")
    elif asked is None:
        yield Fact("", passage.title, "strong")
        yield from _known("id", passage.id)
        yield from _known("why", seen.why)
        yield Fact("at", _place(seen.spot))
        yield from _known("folder", seen.cwd)
        yield from _text("says", passage.text, signs, opened=opened)
    else:
        yield from _of_call(seen, asked, signs)
        yield from _text("input", asked.text, signs, opened=opened)
        if seen.answered is not None:
            name = "output, a failure" if seen.answered.error else "output"
            yield from _text(name, seen.answered.text, signs, opened=opened)


def _of_call(seen: Inspection, asked: Passage, signs: Signs) -> Iterator[Fact]:
    yield from _known("name", asked.name, "tool")
    yield from _known("id", asked.id)
    if seen.state:
        told = signs(f"{STATES.get(seen.state, '?')} {seen.state}")
        yield Fact("state", told, _STYLES.get(seen.state, "warn"))
    yield from _known("why", seen.why)
    if seen.call is not None:
        yield Fact("called", _place(seen.call))
    yield from _known("result", _place(seen.result) if seen.result else seen.state and "none")
    yield from _known("took", lasted(seen.seconds))
    for effect in seen.effects:
        yield Fact(_EFFECTS[effect.kind], effect.target[:_LONG] or "something unknown")
    if not seen.effects:
        yield Fact("changes", "nothing, it only looks")
    yield from _known("folder", seen.cwd)


def _known(name: str, text: str, style: str = "") -> Iterator[Fact]:
    if text:
        yield Fact(name, text[:_LONG], style)


def _place(spot: Spot) -> str:
    line = f"line {spot.line:,}" if spot.line else "a line that is not counted yet"
    return f"{line}   byte {spot.start:,}   {spot.pointer}".rstrip()


def _text(name: str, text: str, signs: Signs, *, opened: bool) -> Iterator[Fact]:
    """A text under its name, as far as it is shown."""
    if not text:
        return
    yield Fact("", "")
    yield Fact("", name, "strong")
    most, longest = (_OPENED, _LONGEST) if opened else (_FOLDED, _LONG)
    cut = 0
    for line in islice(lines_of(text), most):
        yield Fact("", line[:longest])
        cut += len(line) > longest
    left = text.count("\n") + 1 - most
    if left > 0 or cut:
        told = f"{left:,} more lines" if left > 0 else "some of it is too long to be shown"
        yield Fact(
            "", signs(f"… {told} ({'Y copies all' if opened else 'space shows more'})"), "dim"
        )


def lasted(seconds: float | None) -> str:
    """How long something took, "" where nobody knows."""
    if seconds is None:
        return ""
    return f"{seconds:,.1f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


def findings_told(found: Sequence[Finding]) -> Iterator[Span | Line]:
    """What was found at a record."""
    if not found:
        yield Span("no finding at this record", "dim")
    for n, one in enumerate(found):
        if n:
            yield Span("")
        yield (Span(f"{one.code} {one.severity}", "warn"), Span(f"  {one.name}", "strong"))
        yield Span(safe(one.message))
        yield from (Span(safe(f"note: {note}"), "dim") for note in one.notes)
        if one.fix is not None:
            yield Span(safe(f"help: {one.fix.title}  [{one.fix.applicability}]"))
        yield Span(f"sesstool rule {one.code} explains it", "dim")
