"""Numbers with their nouns and units, as all reports have them."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size(number: int) -> str:
    """A number of bytes with three digits at most before its unit."""
    amount, unit = float(number), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return (
        f"{amount:.0f} {_UNITS[unit]}"
        if unit == 0 or amount >= 100
        else f"{amount:.1f} {_UNITS[unit]}"
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 place`, `2,000 places`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
