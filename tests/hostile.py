"""Texts that could act on a terminal, a page or a parser, and what may reach a screen of them."""

import unicodedata

from hypothesis import strategies as st

PIECES = [
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGk=\x07",
    "\x9b2J",
    "\x00",
    "\x7f",
    "\r",
    "\t",
    "\x0b\x0c\x85",
    "\u202e",
    "\u2066",
    "\u200b\u200d",
    "\u2028\u2029",
    "\ufeff",
    "[/x]",
    "[bold red]",
    "[@click=app.quit]x[/]",
    "\\[",
    "$foreground",
    "</script><script>alert(1)</script>",
    "<img src=http://example.org/x>",
    "漢字",
    "e\u0301",
    "🙂\ufe0f",
    "\U000e0041",
    "\ue000",
    "\n",
    "x" * 300,
]
"""Pieces of hostile texts, and ordinary ones of odd widths."""

TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=6).map("".join)


def acts(text):
    """The characters of a shown text that could act on a terminal."""
    return [
        char
        for char in text
        if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
