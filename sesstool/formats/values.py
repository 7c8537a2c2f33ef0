"""Decoded JSON of which nothing is sure, and tables of what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sesstool.formats.terms import Field


def fields_of(frozen: str, opaque: str, *holders: str) -> dict[str, Field]:
    """A table for `Format.fields` of two lists of names with white space between them.

    Each holds at the top of a record, or below each of the `holders` ("" is the top).
    """
    table: dict[str, Field] = {}
    for holder in holders or ("",):
        table |= {holder + name: Field.FROZEN for name in frozen.split()}
        table |= {holder + name: Field.OPAQUE for name in opaque.split()}
    return table


def share(values: Sequence[dict[str, Any]], matches: Iterable[bool]) -> int:
    """Per cent of the records that match."""
    return 100 * sum(matches) // len(values) if values else 0


def text(value: Any) -> str:
    """The value where it is a string, else ""."""
    return value if type(value) is str else ""


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if type(value) is dict else {}


def milliseconds(value: Any) -> str:
    """The time of so many milliseconds since 1970 in RFC 3339, "" for what is no such number."""
    if type(value) not in (int, float):
        return ""
    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
    except (ValueError, OverflowError):
        return ""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def blocks(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if type(value) is list else []
