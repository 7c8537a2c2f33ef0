"""Durations, sizes and dates as people write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from sesstool.errors import UsageError

FOREVER = timedelta.max
_DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12} | {
    f"{letter}ib": 1 << 10 * power for power, letter in enumerate("kmgt", start=1)
}
_DURATION_HINT = "write a number and h, d, w, mo (30 days) or y (365 days), as in 90d; or forever"
_SIZE_HINT = "write a number of bytes, or one with kB, MB, GB, TB, KiB, MiB, GiB or TiB: 20 GB"
_DATE_HINT = "write 2026-03-01, or 2026-03-01T08:00:00Z"


def duration(text: str) -> timedelta:
    """The time that a text like "90d" tells; FOREVER for "forever". Raises UsageError."""
    if text == "forever":
        return FOREVER
    number, unit = _split(text, "is no duration", _DURATION_HINT)
    if unit not in {"h", *_DAYS}:
        raise UsageError("has an unknown unit" if unit else "lacks a unit", hint=_DURATION_HINT)
    if number <= 0:
        raise UsageError(
            "is not above 0", hint="0 is no duration; to keep nothing, leave a day: 1d"
        )
    try:
        return timedelta(hours=number) if unit == "h" else timedelta(days=number * _DAYS[unit])
    except OverflowError as error:
        raise UsageError("is too long", hint="for no end, write forever") from error


def size(value: int | str) -> int:
    """The bytes that a number or a text like "20 GB" tells; 0 or more. Raises UsageError."""
    number, unit = (
        (value, "") if isinstance(value, int) else _split(value, "is no size", _SIZE_HINT)
    )
    factor = _BYTES.get(unit.lower() or "b")
    if factor is None:
        raise UsageError("has an unknown unit", hint=_SIZE_HINT)
    if number < 0:
        raise UsageError("is below 0", hint=_SIZE_HINT)
    return number * factor


def moment(value: date | str) -> datetime:
    """The time that a date tells, in UTC, which also counts where it names no time zone.

    A date without a time is its first moment. Raises UsageError.
    """
    return _moment(value)[0]


def end(value: date | str) -> datetime:
    """As `moment`, but a date without a time is over with the day: the first moment after it."""
    time, whole_day = _moment(value)
    try:
        return time + timedelta(days=1) if whole_day else time
    except OverflowError as error:
        raise _far() from error


def _moment(value: date | str) -> tuple[datetime, bool]:
    """The time in UTC, and whether the date had none."""
    try:
        if isinstance(value, str):
            whole = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value)
            value = date.fromisoformat(value) if whole else datetime.fromisoformat(value)
        if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day, tzinfo=UTC), True
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC), False
    except ValueError as error:
        raise UsageError("is no date", hint=_DATE_HINT) from error
    except OverflowError as error:
        raise _far() from error


def _far() -> UsageError:
    return UsageError("is too far away", hint="for no end, leave it out")


def _split(text: str, wrong: str, hint: str) -> tuple[int, str]:
    """The number and the unit in a text. Raises UsageError."""
    found = re.fullmatch(r"(-?[0-9]{1,18}) ?([A-Za-z]*)", text)
    if found is None:
        raise UsageError(wrong, hint=hint)
    return int(found[1]), found[2]
