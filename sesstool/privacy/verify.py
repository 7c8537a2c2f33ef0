"""Whether a redacted text is what it must be, read by another way than it was made.

The records are decoded by the standard library and walked as values; nothing of the rewriting
is used. What fails here is not published.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from sesstool.errors import ResidueError
from sesstool.formats.base import Format
from sesstool.formats.terms import Field
from sesstool.privacy.fields import Policy
from sesstool.privacy.scan import Known
from sesstool.records.lines import Line

_DEPTH = 4
_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_FAILED = object()
_THINKING = {
    ("type", kind)
    for kind in ("thinking", "redacted_thinking", "think", "summary_text", "reasoning_text")
}


def verify(
    before: Iterable[Line],
    after: Iterable[Line],
    form: Format | None,
    values: Known,
    *,
    name: str,
    text: bool,
) -> None:
    """Compare a text with its redaction. Raises ResidueError, which says what is wrong where.

    `name` is for messages. `text` says that values were to go from lines that are no JSON, too.
    """
    policy = Policy.of_format(form)
    for old, new in zip_longest(before, after):
        if old is None or new is None or old.ended != new.ended:
            raise _failed(name, old or new, "a line came or went")
        was = _decoded(old.text)
        now = was if old.text == new.text else _decoded(new.text)
        if was is not _FAILED and now is _FAILED:
            raise _failed(name, old, "a line can be read no more")
        if was is _FAILED:
            told = [new.text.decode("utf-8", "replace")] if text else []
        else:
            if old.text != new.text and _moved(_frozen(was, policy), _frozen(now, policy)):
                raise _failed(name, old, "a field was changed that must stay")
            told = [
                one
                for path, one in _strings(now)
                if (policy.key(one, path[1:]) if path[:1] == "*" else policy.named(path))
                is Field.TEXT
            ]
        for one in _together(told) if values else ():
            for way in _ways(one, _DEPTH):
                if values.find(way.encode("utf-8", "surrogatepass")):
                    raise _failed(name, old, "a value that was found is still there")


def _together(told: Iterable[str]) -> Iterator[str]:
    """The strings in which nothing is escaped as one, and each of the others."""
    plain = []
    for one in told:
        if "\\" in one or "%" in one:
            yield one
        else:
            plain.append(one)
    yield "\0".join(plain)


def _failed(name: str, line: Line, what: str) -> ResidueError:
    return ResidueError(
        f"the redacted text of {name} did not pass verification at line {line.number}: {what}",
        hint="nothing was written; report it, and redact a copy without this line meanwhile",
    )


def _decoded(line: bytes) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _FAILED
    return value if isinstance(value, (dict, list)) else _FAILED


def _frozen(value: Any, policy: Policy) -> Counter[tuple[str, str]]:
    """The frozen fields, by name; a block that was removed moves the indexes of others."""
    return Counter(
        (path, one) for path, one in _strings(value) if policy.named(path) is Field.FROZEN
    )


def _moved(was: Counter[tuple[str, str]], now: Counter[tuple[str, str]]) -> bool:
    """Whether more changed than that thinking blocks went, or became words."""
    came = {(path.rpartition(".")[2], one) for path, one in now - was}
    went = {(path.rpartition(".")[2], one) for path, one in was - now}
    return not (came <= {("type", "text")} and went <= _THINKING)


def _strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The strings below a value with the keys on the way to each; keys at theirs, behind a "*"."""
    if isinstance(value, dict):
        for key, inside in value.items():
            below = f"{path}.{key}" if path else key
            yield f"*{below}", key
            yield from _strings(inside, below)
    elif isinstance(value, list):
        for inside in value:
            yield from _strings(inside, path)
    elif isinstance(value, str):
        yield path, value


def _ways(text: str, depth: int) -> Iterator[str]:
    """A text, and what it says where it is JSON, percent-encoded or base64."""
    yield text
    if not depth:
        return
    if "\\" in text:
        with suppress(ValueError):
            yield from _ways(json.loads(f'"{_quotable(text)}"', strict=False), depth - 1)
    if "%" in text:
        yield _PERCENT.sub(_unquoted, text)
    for run in _RUN.findall(text):
        opened = _opened(run)
        if opened:
            yield opened


def _unquoted(run: re.Match[str]) -> str:
    return bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "replace")


def _quotable(text: str) -> str:
    return re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', text)


def _opened(run: str) -> str:
    try:
        digits = run.rstrip("=").replace("-", "+").replace("_", "/")
        return b64decode(digits + "=" * (-len(digits) % 4)).decode("ascii")
    except (Base64Error, ValueError):
        return ""
