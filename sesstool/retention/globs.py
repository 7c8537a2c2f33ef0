"""Globs of a policy: each must be able to match something, for one that cannot keeps nothing."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import os
import re
from collections.abc import Callable
from itertools import takewhile

from sesstool.errors import UsageError
from sesstool.formats.registry import FORMATS

PARTS = ("tool-results",)
_SPECIAL = "*?["


def sound(text: str) -> str:
    """A glob that can match something. Raises UsageError."""
    if not text:
        raise UsageError("holds an empty text", hint="name something, or take it out; * is all")
    if not text.isprintable():
        raise UsageError("holds a control character", hint="take it out")
    if "[" in re.sub(r"\[!?+\]?+[^\]]*+\]", "", text):
        raise UsageError("has a [ that no ] closes", hint="a [ itself is written as [[]")
    return text


def _agent(text: str) -> str:
    names = [known.name for known in FORMATS]
    if not fnmatch.filter(names, text):
        near = difflib.get_close_matches(text, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
        raise UsageError("matches no agent that is known", hint=hint)
    return text


def _cwd(text: str) -> str:
    """A glob for absolute paths, with the home folder in place of ~. Raises UsageError."""
    if text.startswith("~"):
        first, slash, rest = text.partition("/")
        home = os.path.expanduser(first)  # noqa: PTH111 - Path raises where there is none
        if home == first:
            raise UsageError("names no home folder", hint="write the path itself")
        text = glob.escape(home) + slash + rest
    if not re.match(r"[/*?\[]|[A-Za-z]:", text):
        raise UsageError("can match no absolute path", hint="begin it with /, ~ or *")
    if text.endswith("/"):
        raise UsageError("ends with / and can match no path", hint="what is below it ends with /*")
    return text


def _path(text: str) -> str:
    """As `_cwd`; what comes before the first wildcard is resolved, as the paths are."""
    parts = _cwd(text).split("/")
    plain = list(takewhile(lambda part: not set(part) & set(_SPECIAL), parts))
    start = "/".join(plain)
    if start:
        return "/".join([glob.escape(os.path.realpath(start)), *parts[len(plain) :]])
    return "/".join(parts)


def _part(text: str) -> str:
    if text not in PARTS:
        raise UsageError("is no part that is known", hint=f"known: {', '.join(PARTS)}")
    return text


def _code(text: str) -> str:
    if not re.fullmatch(r"P8\d{0,2}", text):
        raise UsageError(
            "is no rule of redaction", hint="sesstool rule lists them: P801, or all: P8"
        )
    return text


CHECKS: dict[str, Callable[[str], str]] = {
    "agent": _agent,
    "path": _path,
    "cwd": _cwd,
    "part": _part,
    "contains_rule": _code,
}
"""For keys of a match: what a glob must be, and what it stands for. Each raises UsageError."""
