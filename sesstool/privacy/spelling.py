"""How a name is spelled: case, accents, composed or not, and what joins its words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache

# Letters that no decomposition leads to a plain one.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i"}
)
# Written as two letters where there is no such key: Müller, Mueller.
_SPLIT = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_MAYBE_SPLIT = re.compile("([ou])e|ae")
_SPLIT_LEAST = 5
# The first bytes of what has a case, an accent or a width, and of accents themselves.
_FOLDABLE = re.compile(rb"[\xc2-\xd6\xe1\xef][\x80-\xbf]+")
_ASCII_BESIDE = re.compile(rb"[\x00-/:-@\[-`{-\x7f]*\Z")
_JOINTS = (" ", "-", "_", ".", "+", "", "\\ ", "  ")
_APART = re.compile(r"[\s._\-+]+")


def fold(text: str) -> str:
    """Text without case, accents and composition: what all spellings of a letter share."""
    return "".join(map(_folded, unicodedata.normalize("NFC", text)))


def words(name: str) -> list[str]:
    """The words of a name, the given name first: after a comma it stands behind the surname."""
    first, comma, last = unicodedata.normalize("NFC", name).partition(",")
    parts = [*last.split(), *first.split()] if comma and last.strip() else first.split()
    return parts if len(parts) > 1 else [part for part in _APART.split(first) if part]


def folds(word: str) -> set[str]:
    """What the spellings of one word fold to: an umlaut may be written as two letters."""
    lower = unicodedata.normalize("NFC", word.casefold())
    forms = {fold(lower), fold("".join(_SPLIT.get(c, c) for c in lower))}
    if len(lower) >= _SPLIT_LEAST:
        forms |= {_MAYBE_SPLIT.sub(lambda m: m[1] or "a", form) for form in list(forms)}
    return forms


def spellings(text: str) -> set[str]:
    """The folded spellings of a name of one or more words."""
    forms = folds(text)
    for form in list(forms):
        parts = [part for part in _APART.split(form) if part]
        if len(parts) > 1:
            forms |= {joint.join(parts) for joint in _JOINTS}
    return forms


def letters(text: str) -> int:
    """How many letters and digits a text has; one of a script without spaces counts two."""
    return sum(1 + _unspaced(c) for c in text if c.isalnum())


def spaced(text: str) -> bool:
    """Whether the words of its script stand apart."""
    return not any(_unspaced(c) for c in text)


def apart(text: bytes, start: int, end: int, *, camel: bool = False) -> bool:
    """Whether no letter or digit stands beside a span; `camel` lets it be a part of camelCase."""
    if not camel and _ASCII_BESIDE.match(text[max(start - 1, 0) : start] + text[end : end + 1]):
        return True  # the most of them, faster
    before = text[max(start - 4, 0) : start].decode("utf-8", "ignore")[-1:]
    after = text[end : end + 4].decode("utf-8", "ignore")[:1]
    if camel and before.islower() and text[start : start + 1].isupper():
        before = ""
    if camel and after.isupper() and text[end - 1 : end].islower():
        after = ""
    return not (before.isalnum() or after.isalnum())


class Folded:
    """A text folded letter by letter, with the way back."""

    def __init__(self, text: bytes) -> None:
        """Fold it."""
        self._whole = text
        # Segment n begins at `_at[n]` and stands for what begins at `_source[n]`; a letter is a
        # unit. An accent is a segment of no length, so that the letter before reaches over it.
        self._at: list[int] = []
        self._source: list[int] = []
        self._unit: list[bool] = []
        self._marked = text.isascii()
        self.text = (text if self._marked else _FOLDABLE.sub(_plain, text)).lower()

    def _mark_all(self) -> None:
        """Find the way back, which is asked for in few texts."""
        self._marked = True
        length = position = 0
        for match in _FOLDABLE.finditer(self._whole):
            plain = _plain(match)
            if plain != match[0]:
                length += match.start() - position
                self._mark(length, match.start(), unit=True)
                length += len(plain)
                position = match.end()
                self._mark(length, position, unit=False)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The span of the text for a span of the folded one."""
        if not self._marked:
            self._mark_all()
        return self._back(start, up=0), self._back(end, up=1)

    def _mark(self, at: int, source: int, *, unit: bool) -> None:
        self._at.append(at)
        self._source.append(source)
        self._unit.append(unit)

    def _back(self, offset: int, *, up: int) -> int:
        number = bisect_right(self._at, offset) - 1
        if number < 0:
            return offset
        inside = offset - self._at[number]
        if inside and self._unit[number]:
            return self._source[number + up]
        return self._source[number] + inside


def _plain(match: re.Match[bytes]) -> bytes:
    return _folded_bytes(match[0])


@lru_cache(4096)
def _folded_bytes(letter: bytes) -> bytes:
    try:
        return _folded(letter.decode()).encode()
    except UnicodeDecodeError:
        return letter


@lru_cache(4096)
def _folded(letter: str) -> str:
    if letter == "\xa0":
        return " "
    if "\u2000" <= letter < "\uff00" or letter > "\uffff":
        return letter
    plain = unicodedata.normalize("NFKD", letter.casefold().translate(_LETTERS))
    return "".join(c for c in plain if not unicodedata.combining(c))


def _unspaced(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF" or "\u0e00" <= letter <= "\u0eff"
