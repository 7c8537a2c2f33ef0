"""Values that a line break cut: what a terminal, a mail program or a shell wrapped."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from sesstool.privacy.matcher import Match, Matcher

# What stands before the rest of a wrapped line: indentation, a quotation mark, a table's border.
_BREAK = re.compile(rb"\n[ \t>|]{0,16}(?=[A-Za-z0-9+/=_.-]{2})")
_INSIDE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.-")
# A line that was wrapped is at least so wide, in bytes.
_WIDTH = 40


def wrapped(text: bytes, matcher: Matcher) -> Iterator[tuple[Match, bytes]]:
    """The values that go over the end of a full line, by rules that are sure of their form.

    Each comes with its bytes without the breaks.
    A value that ends with its line as well as beyond it ends with it.
    """
    cuts = list(_cuts(text))
    if not cuts:
        return
    parts: list[bytes] = []
    places: list[int] = []  # in the joined text, of each cut
    position = length = 0
    for start, end in cuts:
        parts.append(text[position:start])
        length += start - position
        places.append(length)
        position = end
    parts.append(text[position:])
    whole: set[tuple[int, str]] | None = None
    joined = b"".join(parts)
    taken = [0, *accumulate(end - start for start, end in cuts)]
    for match in matcher.find(joined):
        first, last = bisect_right(places, match.start), bisect_right(places, match.end - 1)
        if first == last:
            continue
        begin = match.start + taken[first]
        if whole is None:
            whole = {(m.start, m.rule.id) for m in matcher.find(text)}
        if (begin, match.rule.id) not in whole:
            value = joined[match.start : match.end]
            yield Match(begin, match.end + taken[last], match.rule), value


def _cuts(text: bytes) -> Iterator[tuple[int, int]]:
    """The breaks behind full lines that end inside of what may be a value."""
    line = 0
    for match in _BREAK.finditer(text):
        start = match.start()
        at = start - 1 if text[start - 1 : start] == b"\r" else start
        # A shell goes on behind a backslash.
        at -= text[at - 1 : at] == b"\\"
        line = text.rfind(b"\n", line, start) + 1 or line
        if at > line and text[at - 1] in _INSIDE and start - line >= _WIDTH:
            yield at, match.end()
