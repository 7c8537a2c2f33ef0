"""Which units are alike enough for one to stand for the other."""

from __future__ import annotations

import re

from sesstool.model.units import Unit

# Of long texts the beginning is compared.
_LENGTH = 4096
_LEAST = 0.4
# Marks are in every text. Of scripts without spaces each sign counts.
_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+")


def alike_in_order(left: list[Unit], right: list[Unit]) -> list[tuple[int, int]]:
    """The longest list of pairs of units that are alike, in order on both sides.

    Takes time and memory by the product of their numbers.
    """
    words = [_words(unit) for unit in left], [_words(unit) for unit in right]
    like = [
        [_alike(one, other, a, b) for other, b in zip(right, words[1], strict=True)]
        for one, a in zip(left, words[0], strict=True)
    ]
    # best[a][b]: how many pairs there are from left[a] and right[b] on.
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for a in range(len(left) - 1, -1, -1):
        for b in range(len(right) - 1, -1, -1):
            skipped = max(best[a + 1][b], best[a][b + 1])
            best[a][b] = max(skipped, 1 + best[a + 1][b + 1]) if like[a][b] else skipped
    pairs = []
    a = b = 0
    while a < len(left) and b < len(right):
        if like[a][b] and best[a][b] == 1 + best[a + 1][b + 1]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif best[a + 1][b] >= best[a][b + 1]:
            a += 1
        else:
            b += 1
    return pairs


def _words(unit: Unit) -> set[str]:
    return set() if unit.kind == "call" else set(_WORD.findall(unit.words[:_LENGTH]))


def _alike(left: Unit, right: Unit, one: set[str], other: set[str]) -> bool:
    """Whether both are of one kind, role and tool, and share enough of their words.

    Calls of one tool are alike, whatever they ask it for.
    """
    if left.kind != right.kind or left.name != right.name:
        return False
    return left.kind == "call" or 2 * len(one & other) >= _LEAST * (len(one) + len(other))
