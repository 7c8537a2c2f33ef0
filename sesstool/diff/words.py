"""What changed inside a text, by words or by lines."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sesstool.diff.align import align

# Scripts that put no spaces between words; each of their characters is one.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(
    "\r\n"
    "|[\U0001f1e6-\U0001f1ff]{2}"  # two of these are a flag
    f"|[^\\W_{_IDEOGRAPHS}]+"
    "|[^\\S\r\n]+"
    "|.",
    re.DOTALL,
)
_LINE = re.compile("[^\n]*\n|[^\n]+")
# Characters of both sides, beyond which a change is not looked at word by word; of one line, how
# many tell whether it is like another; around a cut, how many are searched for its right place.
_LONG, _HEAD, _WINDOW = 200_000, 2_000, 1_000
# The characters that may be compared to find the words that changed in lines, which takes some
# seconds; each comparison of two lines counts as so many more.
_WORK, _EACH = 2_000_000, 200
# So many lines that stand alone against one are then still cut at their equal ends.
_CUTS = 100_000
# Texts with more lines on both sides are not compared by lines: it takes a kilobyte for each.
_MOST_LINES = 1_000_000
# Lines are alike where more of their words than this are the same.
_ALIKE = 0.5


class Piece(NamedTuple):
    """A part of a text: `sign` is "=" on both sides, "-" on the left one, "+" on the right one."""

    sign: str
    text: str


_Part = tuple[str, str]
"""A sign and a text that may be empty, or only a part of a piece."""


def words(left: str, right: str) -> list[Piece]:
    """What changed, by words; by lines where the texts are too long for that, or as a whole.

    A run of letters and digits is a word, and a run of spaces, and any other character; marks
    stay with what they stand on. The pieces "=" and "-" make up the left text, "=" and "+" the
    right one; a change is at most one "-" and one "+" behind it.
    """
    if len(left) + len(right) > _LONG and "\n" in left and "\n" in right:
        return lines(left, right)
    return list(_joined(_words(left, right, _LONG)))


def lines(left: str, right: str) -> list[Piece]:
    """What changed, by lines, and by words between lines that are alike. Pieces as in `words`.

    Of texts that are `too_long` only the ends that are equal are told.
    """
    coarse = too_long(left.count("\n") + right.count("\n"))
    return list(_joined(_words(left, right, 0) if coarse else _lines(left, right)))


def too_long(count: int) -> bool:
    """Whether two texts with so many lines together are not compared by lines."""
    return count > _MOST_LINES


def _joined(pieces: Iterable[_Part]) -> Iterator[Piece]:
    """The pieces, with those of one change or of no change between two made one."""
    held: dict[str, list[str]] = {"=": [], "-": [], "+": []}
    was_same = True
    for sign, text in pieces:
        if text and (sign == "=") is not was_same:
            yield from _taken(held)
            was_same = not was_same
        held[sign].append(text)
    yield from _taken(held)


def _taken(held: dict[str, list[str]]) -> Iterator[Piece]:
    for sign, texts in held.items():
        if text := "".join(texts):
            yield Piece(sign, text)
        texts.clear()


def _lines(left: str, right: str) -> Iterator[_Part]:
    work, cuts = _WORK, _CUTS
    for lefts, rights, same in _gaps(_LINE.findall(left), _LINE.findall(right)):
        parts = [(lefts, rights)]
        if len(lefts) == len(rights) and _cost(lefts, rights) > work:
            parts = [([old], [new]) for old, new in zip(lefts, rights, strict=True)]
        for old, new in parts:
            cost = _cost(old, new)
            if cost <= work:
                work -= cost
                yield from _changed_lines(old, new)
            elif cuts and len(old) == len(new) == 1:
                cuts -= 1
                yield from _words(old[0], new[0], 0)
            else:
                yield from (("-", "".join(old)), ("+", "".join(new)))
        yield "=", "".join(same)


def _cost(left: Sequence[str], right: Sequence[str]) -> int:
    """What it takes to compare each line with each line of the other side."""
    lengths = sum(map(len, left)) * len(right) + sum(map(len, right)) * len(left)
    return lengths + _EACH * len(left) * len(right)


def _changed_lines(left: Sequence[str], right: Sequence[str]) -> Iterator[_Part]:
    at, over = 0, 0
    for i, j in [*_alike(left, right), (len(left), len(right))]:
        yield from (("-", text) for text in left[at:i])
        yield from (("+", text) for text in right[over:j])
        if i < len(left):
            yield from _words(left[i], right[j], _LONG)
        at, over = i + 1, j + 1


def _alike(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Lines of the one and of the other side that are alike, in order; the most alike first."""
    if list(left) > list(right):
        # Which of two pairs is chosen must not hang on the side.
        return [(i, j) for j, i in _alike(right, left)]
    bags = [[Counter(filter(_is_word, _tokens(t[:_HEAD]))) for t in side] for side in (left, right)]
    pairs = sorted(
        (-score, i, j)
        for i, a in enumerate(bags[0])
        for j, b in enumerate(bags[1])
        if (score := (2 * (a & b).total() + 1) / (a.total() + b.total() + 1)) > _ALIKE
    )
    chosen: list[tuple[int, int]] = []
    for _, i, j in pairs:
        if all((i - a) * (j - b) > 0 for a, b in chosen):
            chosen.append((i, j))
    return sorted(chosen)


def _words(left: str, right: str, most: int) -> Iterator[_Part]:
    """The change by words where it has at most so many characters; else between equal ends."""
    tail = ""
    if len(left) + len(right) > most:
        head, tail = _ends(left, right)
        yield "=", head
        left = left[len(head) : len(left) - len(tail)]
        right = right[len(head) : len(right) - len(tail)]
    if len(left) + len(right) > most:
        yield from (("-", left), ("+", right))
    else:
        yield from _by_words(left, right)
    yield "=", tail


def _by_words(left: str, right: str) -> Iterator[_Part]:
    gaps = list(_gaps(_tokens(left), _tokens(right)))
    for n, (old, new, same) in enumerate(gaps, 1):
        yield from (("-", "".join(old)), ("+", "".join(new)))
        kept = "".join(same)
        # Spaces that stayed between words that did not only tear the change apart.
        if n < len(gaps) and (old or new) and kept.isspace() and "\n" not in kept:
            yield from (("-", kept), ("+", kept))
        else:
            yield "=", kept


def _gaps(
    left: Sequence[str], right: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], Sequence[str]]]:
    """From first to last: what each side has alone, and what both have behind it."""
    # Numbers that are the same when the sides change, so that the answer is.
    numbers = {text: n for n, text in enumerate(sorted({*left, *right}))}
    sides = [[numbers[text] for text in side] for side in (left, right)]
    at, over = 0, 0
    for start, other, length in [*align(*sides), (len(left), len(right), 0)]:
        yield left[at:start], right[over:other], left[start : start + length]
        at, over = start + length, other + length


def _tokens(text: str) -> list[str]:
    """The words of a text, each with its marks."""
    tokens: list[str] = _TOKEN.findall(text)
    if text.isascii():
        return tokens
    out: list[str] = []
    for token in tokens:
        if out and (_joins(token[0]) or out[-1][-1] == "\u200d"):
            out[-1] += token
        else:
            out.append(token)
    return out


def _joins(char: str) -> bool:
    """Whether a character belongs to the one before it: marks, joiners, half of a pair."""
    return char > "\u02ff" and (
        unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf", "Sk") or "\udc00" <= char <= "\udfff"
    )


def _is_word(token: str) -> bool:
    return token[0].isalnum()


def _ends(left: str, right: str) -> tuple[str, str]:
    """What both texts begin with and what they end with, cut between words."""
    head = _common(left, right)
    # The word before a cut may go on behind it, and the word behind one begin before it.
    for token in _tokens(left[max(0, head - _WINDOW) : head])[-1:]:
        head -= len(token)
    rest = left[head:]
    tail = _common(rest[::-1], right[head:][::-1])
    start = len(rest) - tail
    for token in _tokens(rest[start : start + _WINDOW])[:1]:
        start += len(token)
    return left[:head], rest[start:]


def _common(left: str, right: str) -> int:
    """With how many equal characters two texts begin."""
    shorter = range(min(len(left), len(right)))
    return bisect_left(shorter, True, key=lambda n: left[: n + 1] != right[: n + 1])
