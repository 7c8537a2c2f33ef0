"""Where the output of tools stands in a record, for those who take it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sesstool.formats.events import Meaning, ToolResult
from sesstool.records.jsonspan import join

_MEMBERS = ("content", "output")


class Payload(NamedTuple):
    """The JSON pointer of a value that is output of a tool; there may be none.

    `twin` says that it repeats a result, for the screen or a log, and `blank` that a text there
    must be output or nothing, as where a picture is decoded.
    """

    pointer: str
    twin: bool = False
    blank: bool = False


def of_results(meaning: Meaning) -> Iterator[Payload]:
    """The contents of all results that a record has."""
    for one in (meaning, *meaning.nested):
        for event in one.events:
            if type(event) is ToolResult:
                yield from (Payload(f"{event.pointer}/{name}") for name in _MEMBERS)


def twins(pointer: str, *names: str) -> Iterator[Payload]:
    """Members of the value at a pointer that repeat a result."""
    return (Payload(f"{pointer}/{name}", twin=True) for name in names)


def members(value: Any, pointer: str, stays: frozenset[str]) -> Iterator[Payload]:
    """The members of an object, but for some that stay; or all of what is no object."""
    if type(value) is not dict:
        yield Payload(pointer, twin=True)
        return
    for name in value:
        if name not in stays:
            yield Payload(pointer + join(name), twin=True)
