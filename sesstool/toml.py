"""TOML whose errors name a line, and so does a wrong value in it, which tomllib cannot tell."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from sesstool.errors import ConfigError

_MEND = "mend it there; sesstool config validate FILE checks it"

Keys = Sequence[str | int]
"""The way to a value: names of tables and keys, and indexes from 0 in arrays."""


def parse(data: bytes, name: str) -> dict[str, Any]:
    """The document in a file; `name` is the file's. Raises ConfigError."""
    try:
        return _loads(data.decode())
    except ValueError as error:
        raise ConfigError(f"{name} is no TOML: {error}", hint=_MEND) from error
    except RecursionError as error:
        raise ConfigError(f"{name} is no TOML: it is nested too deeply", hint=_MEND) from error


def line_of(data: bytes, keys: Keys) -> int:
    """The line, from 1, on which the statement begins that sets a value.

    `data` is a whole document. Where the last keys are not in it, the line is that of the table
    that lacks them.
    """
    lines = data.decode().split("\n")
    document = _loads(data.decode())
    while keys and not _holds(document, keys):
        keys = keys[:-1]
    if not keys:
        return 1
    # A statement sets its value on its last line, and begins behind what is whole without it.
    last = bisect_left(
        range(1, len(lines) + 1), x=True, key=lambda n: _holds(_whole(lines, n)[1], keys)
    )
    return _whole(lines, last)[0] + 1


def dotted(keys: Keys) -> str:
    """The keys as TOML writes them, with an index in brackets: `rule[2].match.agent`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += "." * bool(text) + (key if re.fullmatch(r"[\w-]+", key) else json.dumps(key))
    return text


def _whole(lines: list[str], count: int) -> tuple[int, dict[str, Any]]:
    """The longest beginning of the first `count` lines that is TOML: its length and document."""
    while True:
        try:
            return count, _loads("\n".join(lines[:count]) + "\n")
        except ValueError:
            count -= 1  # the line is inside an array or a string of several lines


def _holds(document: Any, keys: Keys) -> bool:
    for key in keys:
        try:
            document = document[key]
        except (LookupError, TypeError):
            return False
    return True


def _loads(text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most have no settings, and wait for none

    return tomllib.loads(text)
