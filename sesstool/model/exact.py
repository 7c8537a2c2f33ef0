"""What a record holds, to the digit: two sessions are not the same where a reader rounds.

To be worked with, a record is read as its agent reads it: integers beyond 64 bits become
floating-point numbers, NaN becomes null, and what is no character the sign for that.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from sesstool.records.edits import Edit, EditSet
from sesstool.records.heal import Kind, heal

# What no number of a JSON reader holds is told as an object with this one member.
_NUMBER = "number"
# Integers of fewer digits than 19 fit into 64 bits, and Python turns 4,300 into no integer.
_DIGITS, _MOST = b"0" * 19, 4000
_AS_ZERO = bytes(ord("0") if chr(n) in "123456789" else n for n in range(256))
_REPLACED = (Kind.SURROGATE, Kind.INVALID_UTF8)


def rounded(raw: bytes) -> bool:
    """Whether a number of a sound JSON text may be rounded when it is decoded."""
    return _DIGITS in raw.translate(_AS_ZERO)


def exact(raw: bytes) -> Any:
    """The value of a record, with all that tells it from others.

    Raises ValueError where there is none, or where it is nested too deep.
    """
    _, defects = heal(raw, 0)
    edits = [edit for d in defects if d.kind not in _REPLACED for edit in d.edits]
    # What heals to null is NaN or Infinity.
    named = [replace(e, text=_named(raw, e)) if e.text == b"null" else e for e in edits]
    return loads(EditSet(named).apply(raw).decode("utf-8", "surrogateescape"))


def _named(raw: bytes, edit: Edit) -> bytes:
    return json.dumps({_NUMBER: raw[edit.start : edit.end].decode()}).encode()


def loads(text: str) -> Any:
    """The value of a JSON text, no number rounded. Raises ValueError, also for one too deep."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=_float)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) < _MOST else {_NUMBER: digits}


def _float(digits: str) -> Any:
    return value if math.isfinite(value := float(digits)) else {_NUMBER: digits}
