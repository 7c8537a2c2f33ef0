"""The signs of the app, and what stands for each where a terminal has ASCII alone."""

from __future__ import annotations

ASCII = {
    "✓": "ok",
    "✗": "x",
    "↳": "Y",
    "≡": "=",
    "▌": ">",
    "…": "...",
    "▸": "+",
    "▾": "-",
    "▐": "|",
    "›": ">",
    "↔": "<->",
    "≠": "!",
    "⋯": "...",
    "▶": ">",
    "‖": "=",
    "■": "=",
    "●": "o",
    "│": "|",
    "─": "-",
    "├": "|",
    "┤": "|",
    "┴": "+",
    "┼": "+",
    "└": "`",
    "█": "#",
    "▒": "#",
    "→": "->",
    "←": "<-",
    "↓": "down",
    "↑": "up",
    "–": "-",
    "·": ".",
}
"""Each sign → what stands for it. Only the app's own words are put so, never a session's."""

STATES = {"completed": "✓", "failed": "✗", "pending": "…", "uncertain": "?", "never started": "·"}
"""The state of a tool call → its sign."""


def in_ascii(words: str) -> str:
    """Words of the app's own in ASCII."""
    return words if words.isascii() else "".join(ASCII.get(char, char) for char in words)
