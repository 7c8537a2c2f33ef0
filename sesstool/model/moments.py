"""The times that records tell, however an agent or a converter wrote them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

UNREADABLE = "a time that cannot be read"
# The end of a day, and a leap second; datetime knows neither.
_MIDNIGHT = re.compile(r"(?<=[T ])24(?=:00(:00(\.0+)?)?(?![:.\d]))")
_LEAP = re.compile(r"(?<=:\d\d):60(?![\d])")
# As seconds it would be the year 5138, as milliseconds it is 1973.
_MILLISECONDS = 1e11


def moment(value: Any) -> datetime | None:
    """A recorded time in UTC, for which one without a zone is taken; None: it cannot be read."""
    try:
        if type(value) is str:
            return _of_text(value)
        if type(value) not in (int, float):
            return None
        seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None


def _of_text(text: str) -> datetime:
    try:
        time, more = datetime.fromisoformat(text), None
    except ValueError:
        text, days = _MIDNIGHT.subn("00", text.strip())
        text, seconds = _LEAP.subn(":59", text)
        time, more = datetime.fromisoformat(text), timedelta(days=days, seconds=seconds)
    if time.tzinfo is not UTC:
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time + more if more else time
