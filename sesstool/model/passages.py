"""What a record says, for people to read: its units in words, with what no model gets beside them.

Nothing here is safe for a terminal yet: whoever shows it passes it through `sesstool.text`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sesstool.formats.events import Meaning, Message, Meta, StateChange
from sesstool.formats.values import mapping, text
from sesstool.model.units import Unit, canonical, flat, units

_TITLES = {
    "call": "TOOL CALL",
    "result": "TOOL RESULT",
    "thinking": "THINKING",
    "compaction": "COMPACTION",
    "rollback": "ROLLED BACK",
    "unknown": "RECORD",
}
# Kinds of blocks that hold what a page or a terminal does not show, as parts of their names.
_SEALED = ("thinking", "reasoning")
_MEDIA = ("image", "document", "file", "audio", "video")


class Passage(NamedTuple):
    """One thing that a record says or does.

    `kind` is one of `units.KINDS`, or "note" for what the model does not get: records about the
    session, and messages that the agent shows only. `name` is the role of a message, the tool of a
    call, or what a note is. `text` is what it says, as lines; `id` the call's id for calls and
    results, `pointer` the place in the record, `error` that a result tells of a failure. `state`
    is what became of a call, or of that of a result, "" where nobody looked.
    """

    kind: str
    name: str
    text: str
    id: str = ""
    pointer: str = ""
    error: bool = False
    state: str = ""

    @property
    def title(self) -> str:
        """What it is, in capitals."""
        return f"NOTE {self.name}".rstrip() if self.kind == "note" else title(self)

    @property
    def spoken(self) -> str:
        """The same as it is read aloud: `Tool call Bash (no result; uncertain)`."""
        if self.kind == "message":
            return self.name[:1].upper() + self.name[1:]
        state = self.state or ("failed" if self.error else "")
        what = f"{_TITLES.get(self.kind, 'NOTE').capitalize()} {self.name}".rstrip()
        return f"{what} ({state})" if state not in ("", "completed") else what


def title(unit: Unit | Passage) -> str:
    """What a unit is, in capitals, with the tool of a call."""
    if unit.kind == "message":
        return unit.name.upper()
    failed = " FAILED" if unit.error else ""
    return f"{_TITLES[unit.kind]} {unit.name}".rstrip() + failed


def passages(value: dict[str, Any], meaning: Meaning) -> Iterator[Passage]:
    """The passages of a decoded record, in the order in which a person reads them."""
    told = set()
    for unit in units(value, meaning, named):
        words = arguments(unit.content) if unit.kind == "call" else unit.words
        if unit.kind == "compaction":
            told.add(words)
        yield Passage(unit.kind, unit.name, words, unit.id, unit.pointer, unit.error)
    for event in meaning.events:
        if isinstance(event, Message) and event.hidden:
            words = flat(event.content, named)
            if words in told:
                continue  # the summary of a compaction, which the agent shows as a message
            yield Passage("note", f"not sent: {event.role}", words, "", event.pointer)
        elif isinstance(event, Meta) or (
            isinstance(event, StateChange) and event.name != "rollback"
        ):
            yield Passage("note", event.name, "", "", event.pointer)


def arguments(content: Any) -> str:
    """What a call was given: each argument as `name: value`, text as it is; one alone bare."""
    if type(content) is not dict:
        return content if type(content) is str else canonical(content).decode()
    values = {name: _value(value) for name, value in content.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    return "\n".join(_argument(name, value) for name, value in values.items())


def _argument(name: str, value: str) -> str:
    """A short value behind its name, a long one below it, further in."""
    if "\n" not in value:
        return f"{name}: {value}"
    return f"{name}:\n" + "\n".join(f"  {line}" for line in value.split("\n"))


def _value(value: Any) -> str:
    return value if type(value) is str else canonical(value).decode("utf-8", "replace")


def is_sealed(block: Any) -> bool:
    """Whether a block is thought that its provider alone can read, where it has no text."""
    kind = text(mapping(block).get("type"))
    return any(part in kind for part in _SEALED)


def named(block: Any) -> str:
    """In a few words what a block without text is: its kind, and how large what it holds is."""
    held = mapping(block)
    kind = text(held.get("type"))
    if not kind:
        return canonical(block).decode("utf-8", "replace")
    if is_sealed(held):
        return ""
    if not any(part in kind for part in _MEDIA):
        return canonical(block).decode("utf-8", "replace")
    source = mapping(held.get("source")) or held
    media = text(source.get("media_type")) or text(source.get("mimeType"))
    size = max((len(v) for v in source.values() if type(v) is str), default=0)
    return f"({' '.join(filter(None, (kind, media)))}, {size:,} characters)"
