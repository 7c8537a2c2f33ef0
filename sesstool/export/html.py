"""A session as one HTML page that needs nothing else: no script, no other file, no network.

What a session holds is text in it, and nothing else: pictures are named and not shown, for what
draws them has flaws of its own, and addresses are no links.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from sesstool.export.facts import facts
from sesstool.export.sections import UNANSWERED, Choice, Reading, Section
from sesstool.model.passages import Passage
from sesstool.report.amounts import counted as count
from sesstool.text import safe
from sesstool.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template

# So many prompts are listed before the text; nobody reads a longer list.
_LISTED = 1000
# What of a text is folded: what stands behind so many lines and characters, if it is so much.
_LINES, _CHARACTERS, _SPARED = 20, 2000, 8
# The output of a tool is shown at once if it is no longer.
_SHORT_LINES, _SHORT = 4, 400
_MANY = 400
_CHUNK = 1 << 16
_KINDS = {"user": "user", "assistant": "assistant"}


class Block(NamedTuple):
    """A stretch of a text; `label` tells what is folded, "" where nothing is."""

    label: str
    shown: bool
    text: str

    @property
    def parts(self) -> Iterator[str]:
        """The text in pieces, so that a long one is not held escaped, too."""
        return (self.text[at : at + _CHUNK] for at in range(0, len(self.text), _CHUNK))


@dataclass(slots=True)
class Pages:
    """Which of several pages one is: its number, its turns, and the lines of its records.

    `behind` is the first section of the next page, once this one is written.
    """

    number: int
    first: int
    last: int
    lines: tuple[int, int] = (0, 0)
    behind: list[Section] = field(default_factory=list)

    def saw(self, line: int) -> None:
        """Take note of the line of a record."""
        self.lines = (self.lines[0] or line, line)


def page(reading: Reading, choice: Choice = Choice(), pages: Pages | None = None) -> Iterator[str]:
    """The page, in parts: the whole session, or one of the pages that it is split into."""
    return render(reading, choice, reading.sections(choice), pages)


def render(
    reading: Reading, choice: Choice, sections: Iterable[Section], pages: Pages | None
) -> Iterator[str]:
    """A page about these sections."""
    first, last = (pages.first, pages.last) if pages else (1, reading.turns)
    prompts = list(islice(reading.prompts(choice, first, last), _LISTED + 1))
    yield from _written(
        "page.html.j2",
        facts=facts(reading, choice),
        run=None if pages else _run(reading, choice),
        name=reading.name,
        prompts=prompts[:_LISTED],
        unlisted=len(prompts) > _LISTED,
        many=reading.session.records > _MANY,
        turns=_turns(reading, choice, sections),
        pages=pages,
        file_of=file_of,
    )


def index(reading: Reading, choice: Choice, pages: Iterable[Any]) -> Iterator[str]:
    """The page that leads to all the others."""
    yield from _written(
        "index.html.j2",
        facts=facts(reading, choice),
        run=_run(reading, None),
        name=reading.name,
        pages=pages,
    )


def _run(reading: Reading, choice: Choice | None) -> dict[str, Any] | None:
    """What is told of the run; with a choice, calls lead to the records that it shows."""
    run = reading.run
    told = run.facts()
    linked = choice is not None and reading.branch == "all"
    if not told:
        return None
    return {
        "facts": told,
        "calls": run.calls,
        "unlisted": run.unlisted,
        "steps": run.steps,
        "more_steps": run.step_count > len(run.steps),
        "lines": range(choice.first, choice.last + 1) if choice and linked else range(0),
    }


def file_of(number: int) -> str:
    """The name of the file of a page."""
    return f"page-{number:03d}.html"


def _written(template: str, **values: Any) -> Iterator[str]:
    """What a template makes, in large parts."""
    css = _read("page.css.j2")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    parts: list[str] = []
    size = 0
    for part in _template(template).generate(version=__version__, css=css, digest=digest, **values):
        parts.append(part)
        size += len(part)
        if size >= _CHUNK:
            yield "".join(parts)
            parts, size = [], 0
    yield "".join(parts)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - start-up time

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read),
        finalize=_finalize,
    )
    environment.filters |= {"count": count, "clock": clock}
    return environment.get_template(name)


def _read(name: str) -> str:
    return resources.files("sesstool.export").joinpath(name).read_text("utf-8")


def _finalize(value: Any) -> Any:
    """All that comes into the page from outside is made safe to show; newlines and tabs stay."""
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return value
    return re.sub(r"[^\n\t]+", lambda found: safe(found[0]), value)


def clock(time: str) -> str:
    """A time as people read it, to the second; as it is where it has another form."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?", time)
    if not found:
        return time
    zone = {"Z": " UTC", "+00:00": " UTC", None: ""}.get(found[3], f" {found[3]}")
    return f"{found[1]} {found[2]}{zone}"


def _turns(
    reading: Reading, choice: Choice, sections: Iterable[Section]
) -> Iterator[dict[str, Any]]:
    """The sections turn by turn; a turn must be gone through before the next is asked for."""
    records = _records(sections, choice)
    for turn, inside in groupby(records, key=lambda record: record["section"].turn):
        head = next(inside)
        yield {
            "number": turn,
            "title": reading.title(turn) if turn else reading.untitled,
            "id": head["id"],
            "records": chain([head], inside),  # noqa: B031 - what is behind the head
        }


def _records(sections: Iterable[Section], choice: Choice) -> Iterator[dict[str, Any]]:
    """The sections with their anchors: records that are glued stand on one line."""
    line = number = 0
    for section in sections:
        number = number + 1 if section.record.line == line else 1
        line = section.record.line
        yield {
            "id": f"r{line}" + (f"-{number}" if number > 1 else ""),
            "section": section,
            "passages": [_passage(said, choice) for said in section.said or ()],
        }


def _passage(said: Passage, choice: Choice) -> dict[str, Any]:
    known = _KINDS.get(said.name, "other") if said.kind == "message" else said.kind
    bad = said.state.startswith(UNANSWERED) or said.state == "failed" or said.error
    return {
        "kind": known,
        "head": said._replace(state="", error=False).spoken,
        "state": said.state or ("failed" if said.error else ""),
        "tone": "bad" if bad else "",
        "id": said.id,
        "blocks": list(_blocks(said, expand=choice.expand)),
    }


def _blocks(said: Passage, *, expand: bool) -> Iterator[Block]:
    """A text, with what is too long in it folded; thinking and output of tools as a whole."""
    text = said.text.replace("\r\n", "\n").strip("\n")
    if said.kind == "thinking":
        words = len(text.split(None, 10_000))
        yield Block(count(words, "word") if words < 10_000 else _size(text), expand, text)
    elif said.kind == "result" and text:
        short = len(text) <= _SHORT and text.count("\n") < _SHORT_LINES
        yield Block(f"Output, {_size(text)}", expand or short, text)
    elif text:
        at = _fold(text)
        yield Block("", True, text[:at])
        if text[at:].strip("\n"):
            rest = text[at:].removeprefix("\n")
            yield Block(f"{_size(rest)} more", expand, rest)


def _fold(text: str) -> int:
    """Where a text is folded: behind its first lines, unless little is left."""
    at = -1
    for _ in range(_LINES):
        at = text.find("\n", at + 1)
        if at < 0 or at > _CHARACTERS:
            break
    if at < 0:
        at = len(text)
    if at > _CHARACTERS:  # one long line, or the last one is
        space = text.rfind(" ", _CHARACTERS // 2, _CHARACTERS)
        newline = text.rfind("\n", 1, _CHARACTERS)
        at = max(space, newline) if max(space, newline) > 0 else _CHARACTERS
    left = text[at : at + _CHARACTERS]
    little = len(left) < _CHARACTERS // 4 and left.count("\n") < _SPARED
    return len(text) if little else at


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return count(lines, "line") if lines > 1 else count(len(text), "character")
