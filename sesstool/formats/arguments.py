"""Whether arguments that are kept as JSON text can be sent again."""

from __future__ import annotations

import json
from typing import Any

from sesstool.records.heal import decode


def argument_fault(arguments: Any) -> str:
    """Why arguments that are kept as JSON text cannot be sent again, "" where they can."""
    if type(arguments) is not str:
        return "its arguments are no text"
    try:
        value = decode(arguments)
    except ValueError:
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return "its arguments are no JSON"
    return "" if type(value) is dict else "its arguments are no object"
