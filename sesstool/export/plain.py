"""A session in lines that are read from top to bottom: for a pipe, a log, or a screen reader.

No colour, no box, nothing that moves a cursor; who speaks is said in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from sesstool.model.passages import Passage
from sesstool.text import safe

MOST_LINES, MOST_CHARACTERS = 40, 4000
"""How much of a text is printed where not all of it is asked for."""

TAB = 4
"""How wide tabs are, which move a cursor and are put out as blanks."""

_COMPACTION = "what stands above is no longer sent to the model"

# So many calls are remembered, the last ones.
_CALLS = 1 << 14


class Plain:
    """Puts the passages of one record after the other into lines, each with its line end.

    `whole` leaves no part of a long text out. Tools are remembered from call to result, so that a
    result says whose it is.
    """

    def __init__(self, *, whole: bool = True) -> None:
        """Start before the first record."""
        self._whole = whole
        self._tools: dict[str, str] = {}

    def lines(
        self, passages: Iterable[Passage], *, line: int, time: str = "", more: str = ""
    ) -> Iterator[str]:
        """A record that says something, with an empty line behind it; nothing of any other.

        `line` and `time` say where it stands and when it was written; `more` what else there is
        to say of it.
        """
        said = chain.from_iterable(map(self._passage, passages))
        first = next(said, None)
        if first is not None:
            head = f"[{line}] {safe(time)}".rstrip()
            yield f"{head}, {safe(more)}\n" if more else f"{head}\n"
            yield first
            yield from said
            yield "\n"

    def _passage(self, passage: Passage) -> Iterator[str]:
        if passage.kind == "call" and passage.id:
            self._tools.pop(passage.id, None)  # an id that is used again is the last one
            self._tools[passage.id] = passage.name
            if len(self._tools) > _CALLS:
                del self._tools[next(iter(self._tools))]
        elif passage.kind == "result" and not passage.name:
            passage = passage._replace(name=self._tools.get(passage.id, ""))
        who = passage.spoken
        texts = self._texts(passage)
        first, second = next(texts, ""), next(texts, None)
        rest = iter(()) if second is None else chain([second], texts)
        if passage.kind == "call" and second is not None:  # each argument has a line of its own
            first, rest = "", chain([first], rest)
        spoken = f"{safe(who)}: {first}" if first else safe(who) + ":" * (second is not None)
        yield f"{spoken}\n"
        yield from (f"{line}\n" for line in rest)

    def _texts(self, passage: Passage) -> Iterator[str]:
        """The lines of a text, and how much was left out."""
        text = passage.text.strip("\n")
        if not text and passage.kind == "compaction":
            text = _COMPACTION
        if self._whole:
            return map(_safe, _lines(text))
        lines = text[:MOST_CHARACTERS].split("\n")[:MOST_LINES]
        left = len(text) - sum(map(len, lines)) - len(lines) + 1
        more = [f"… {left:,} more characters"] if left else []
        return chain(map(_safe, lines), more)


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, which may have millions, one by one."""
    at = 0
    while (end := text.find("\n", at)) >= 0:
        yield text[at:end]
        at = end + 1
    yield text[at:]


def _safe(line: str) -> str:
    """A line safe to show; tabs and the line ends of Windows are no more than blanks."""
    return safe(line.removesuffix("\r").expandtabs(TAB))
