"""The output of tools gives way to a stub which says that a rule of retention took it out.

What is left is a session still: the call has its answer, with the id and the error flag it had,
and of the type that the agent and the provider take.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from typing import Any, NamedTuple

from sesstool.errors import InputError
from sesstool.formats.base import Format
from sesstool.formats.values import text
from sesstool.records.edits import Edit, EditSet
from sesstool.records.jsonspan import dumps, locate
from sesstool.records.lines import lines
from sesstool.records.source import Source

_STUB = re.compile(r"\[tool output removed by retention rule [^\n]*\]\n?")
_MOST = 1 << 12
# In a list of blocks, the type of the one that may stand for one of these.
_WORDS = {
    **dict.fromkeys(("text", "image", "document", "search_result", "audio"), "text"),
    **dict.fromkeys(("resource", "resource_link", "image_url", "file"), "text"),
    **dict.fromkeys(("input_text", "input_image", "input_file", "input_audio"), "input_text"),
    **dict.fromkeys(("inputText", "inputImage"), "inputText"),
    "output_text": "output_text",
}
# They name tools that the agent has to load, and nothing that a tool said.
_NAMES = "tool_reference"
_NO_TEXT = frozenset({"type", "media_type", "mimeType", "id", "file_id", "url"})
# The smallest picture: where one must be, words would be refused.
_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk"
    "YAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


class Stubs(NamedTuple):
    """What is to be taken out of a file: `results` of tools, `size` bytes with all repetitions."""

    edits: EditSet
    results: int
    size: int


def words(rule: str) -> str:
    """What stands in the place of an output."""
    return f"[tool output removed by retention rule {rule}]"


def edits(source: Source, form: Format, rule: str) -> Stubs:
    """What takes the output of tools out of the records of a file; nothing where it is gone.

    Raises InputError where a line cannot be looked into.
    """
    found: list[Edit] = []
    results = 0
    for number, start, line, _ in lines(source):
        mark = len(BOM_UTF8) if line.startswith(BOM_UTF8) else 0
        raw = line[mark:]
        if not raw or raw.isspace():
            continue
        seen: set[str] = set()
        for pointer, twin, blank in form.payloads(_record(raw, number, source.name)):
            member = None if pointer in seen else locate(raw, pointer)
            seen.add(pointer)
            if member is None:
                continue
            value = json.loads(raw[member.start : member.end], parse_int=_integer)
            stub = "" if blank and type(value) is str else _stub(value, words(rule))
            if stub != value:
                at = start + mark
                found.append(Edit(at + member.start, at + member.end, dumps(stub)))
                results += not twin
    return Stubs(EditSet(found), results, sum(edit.end - edit.start for edit in found))


def whole(source: Source, rule: str) -> Stubs:
    """What takes all out of a file that is nothing but output."""
    known = source.size <= _MOST and source.read(0, source.size)
    if not source.size or (known and _STUB.fullmatch(known.decode("utf-8", "replace"))):
        return Stubs(EditSet(), 0, 0)
    edit = Edit(0, source.size, words(rule).encode() + b"\n")
    return Stubs(EditSet([edit]), 0, source.size)


def _record(raw: bytes, number: int, name: str) -> dict[str, Any]:
    """The value of a line. Raises InputError where it is none, or may hide something."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise _TwiceError
        return value

    why = "is no whole record"
    try:
        value = json.loads(
            raw.decode("utf-8", "surrogatepass"), object_pairs_hook=once, parse_int=_integer
        )
        if type(value) is dict:
            return value
    except _TwiceError:
        why = "has a key twice"
    except (ValueError, RecursionError):
        pass
    raise InputError(
        f"cannot look into {name}: line {number} {why}", hint="sesstool repair may mend it"
    )


def _integer(digits: str) -> float:
    # int() refuses more than 4,300 digits, and JSON has no such limit.
    return int(digits) if len(digits) < 4000 else float(digits)


class _TwiceError(ValueError):
    """A key stands twice in an object, and hides what it held the first time."""


def _stub(value: Any, said: str) -> Any:
    """What stands in the place of a value that holds output: the same where it is gone already."""
    if type(value) is str:
        return said if value and not _is_stub(value) else value
    if type(value) is list:
        return _of_list(value, said)
    if type(value) is not dict:
        return value
    if text(value.get("type")):
        return {
            key: _PICTURE if key == "image_url" else one if key in _NO_TEXT else _stub(one, said)
            for key, one in value.items()
        }
    gone = value.keys() == {"removed"} and _is_stub(value["removed"])
    return value if gone or not value else {"removed": said}


def _of_list(value: list[Any], said: str) -> list[Any]:
    """One block, or one text, for all in a list."""
    if all(type(one) is str for one in value):
        return [said] if any(_stub(one, said) != one for one in value) else value
    kinds = [text(one.get("type")) if type(one) is dict else "" for one in value]
    if all(kind == _NAMES for kind in kinds):
        return value
    kind = next((_WORDS[kind] for kind in kinds if kind in _WORDS), "")
    if not kind:
        return []
    if len(value) == 1 and value[0].keys() == {"type", "text"} and _is_stub(value[0]["text"]):
        return value
    return [{"type": kind, "text": said}]


def _is_stub(value: Any) -> bool:
    return type(value) is str and bool(_STUB.fullmatch(value))
