"""What happens to the records of a session: each damage takes a random source and whole bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from tests.mutations import dumps, joined, lines, value_in, values

_RESULTS = (b'"tool_use_id"', b'call_output"', b'"role":"tool"', b'"role":"toolResult"')
_VALUE = re.compile(rb':"(?:[^"\\]|\\.)*"', re.DOTALL)


def _results(data: bytes) -> list[int]:
    parts = lines(data)
    return [n for n, line in enumerate(parts) if any(mark in line for mark in _RESULTS)]


def drop_result(rng: Random, data: bytes) -> bytes:
    """The result of a call was never written."""
    parts, found = lines(data), _results(data)
    if found:
        del parts[rng.choice(found)]
    return joined(parts)


def duplicate_result(rng: Random, data: bytes) -> bytes:
    """A result was written twice."""
    parts, found = lines(data), _results(data)
    if found:
        n = rng.choice(found)
        parts.insert(rng.randint(n, len(parts)), parts[n])
    return joined(parts)


def move_result(rng: Random, data: bytes) -> bytes:
    """A result was written late, or early."""
    parts, found = lines(data), _results(data)
    if found:
        line = parts.pop(rng.choice(found))
        parts.insert(rng.randint(0, len(parts)), line)
    return joined(parts)


def _changed(
    rng: Random, data: bytes, wanted: Callable[[Any], bool], change: Callable[[Any], None]
) -> bytes:
    """Change one of the JSON objects that are wanted, on any line and at any depth."""
    parts = lines(data)
    tops = [value_in(line) for line in parts]
    found = [(n, v) for n, top in enumerate(tops) for v in _objects(top) if wanted(v)]
    if found:
        n, chosen = rng.choice(found)
        change(chosen)
        parts[n] = dumps(tops[n])
    return joined(parts)


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a JSON value, itself first."""
    waiting, found = [value], []
    while waiting:
        here = waiting.pop()
        if type(here) is dict:
            found.append(here)
            waiting += here.values()
        elif type(here) is list:
            waiting += here
    return found


def drop_link(rng: Random, data: bytes) -> bytes:
    """A record lost its id or its parent."""
    key = rng.choice(_links(data))
    return _changed(rng, data, lambda v: key in v, lambda v: v.pop(key))


def _links(data: bytes) -> tuple[str, str]:
    """The members that link records: id and parent."""
    return ("id", "parentId") if b'"parentId"' in data else ("uuid", "parentUuid")


def other_link(rng: Random, data: bytes) -> bytes:
    """A record has another's id, names another parent, or one that nobody has: also circles."""
    own = _links(data)[0]
    ids = [v[own] for v in values(data) if type(v.get(own)) is str]
    key = rng.choice(_links(data))
    new = rng.choice([*ids, None, "", 7, "9f0d6b1e-0000-4000-8000-00000000dead"])
    return _changed(rng, data, lambda v: key in v, lambda v: v.update({key: new}))


def empty_text(rng: Random, data: bytes) -> bytes:
    """A text became empty or blank."""
    text = rng.choice(("", "  \n"))
    return _changed(
        rng,
        data,
        lambda v: str(v.get("type")).endswith("text") and "text" in v,
        lambda v: v.update(text=text),
    )


def empty_block(rng: Random, data: bytes) -> bytes:
    """An empty text block stands beside others."""
    return _changed(
        rng,
        data,
        lambda v: type(v.get("content")) is list,
        lambda v: v["content"].insert(
            rng.randint(0, len(v["content"])), {"type": "text", "text": ""}
        ),
    )


def no_content(rng: Random, data: bytes) -> bytes:
    """A message holds nothing, or something that is no message."""
    new = rng.choice((None, "", [], {}, 5, [None], ["x"]))
    return _changed(rng, data, lambda v: "content" in v, lambda v: v.update(content=new))


def bad_arguments(rng: Random, data: bytes) -> bytes:
    """The arguments of a call were cut while they were streamed."""
    key = rng.choice(("input", "arguments"))
    new = rng.choice((None, "", '{"cmd":"ec', "[]", 3, [1]))
    return _changed(rng, data, lambda v: key in v, lambda v: v.update({key: new}))


def bad_signature(rng: Random, data: bytes) -> bytes:
    """A redaction tool wrote over a signature or a ciphertext."""
    key = rng.choice(("signature", "encrypted_content"))
    new = rng.choice(("[REDACTED]", "", None))
    return _changed(rng, data, lambda v: key in v, lambda v: v.update({key: new}))


def drop_header(_: Random, data: bytes) -> bytes:
    """The first line is gone."""
    return joined(lines(data)[1:])


def drop_ordinal(_: Random, data: bytes) -> bytes:
    """The last record has no number."""
    parts = lines(data)
    value = value_in(parts[-1])
    if value is not None:
        value.pop("ordinal", None)
        parts[-1] = dumps(value)
    return joined(parts)


def wrong_type(rng: Random, data: bytes) -> bytes:
    """Any member of a record holds a value of another type."""
    new = rng.choice((None, True, 0, -1.5, "", "x", [], [[]], {}, {"type": 1}))
    return _changed(rng, data, bool, lambda v: v.update({rng.choice(sorted(v)): new}))


def drop_member(rng: Random, data: bytes) -> bytes:
    """Any member of a record is gone."""
    return _changed(rng, data, bool, lambda v: v.pop(rng.choice(sorted(v))))


def deep(rng: Random, data: bytes) -> bytes:
    """A value is nested as deep as decoders go, or deeper."""
    depth = rng.choice((100, 490, 600, 1020, 2000))
    spots = list(_VALUE.finditer(data))
    if not spots:
        return data
    found = rng.choice(spots)
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = opening * depth + b"1" + closing * depth
    return data[: found.start() + 1] + nested + data[found.end() :]
