"""The colours: three themes of our own, each with a contrast of 4.5 and more for every text."""

from __future__ import annotations

from textual.theme import Theme

_COMMON = {"block-cursor-text-style": "none", "input-cursor-text-style": "reverse"}

OWN = (
    Theme(
        name="sesstool-dark",
        primary="#8ab4f8",
        secondary="#c3a6ff",
        accent="#ffb86c",
        success="#7ee787",
        warning="#e3b341",
        error="#ff9492",
        foreground="#e6e6e6",
        background="#12151a",
        surface="#171b21",
        panel="#232933",
        dark=True,
        variables={
            **_COMMON,
            "muted": "#9aa4b2",
            "cursor": "#26364d",
            "block-cursor-background": "#26364d",
            "block-cursor-foreground": "#e6e6e6",
            "found": "#332900",
        },
    ),
    Theme(
        name="sesstool-light",
        primary="#0b57a4",
        secondary="#6b3fa0",
        accent="#8a4b00",
        success="#116329",
        warning="#7a4b00",
        error="#a40e26",
        foreground="#1c1e21",
        background="#ffffff",
        surface="#fafafa",
        panel="#e8ebef",
        dark=False,
        variables={
            **_COMMON,
            "muted": "#59616b",
            "cursor": "#dbe9fb",
            "block-cursor-background": "#dbe9fb",
            "block-cursor-foreground": "#1c1e21",
            "found": "#fff0b3",
        },
    ),
    Theme(
        name="high-contrast",
        primary="#00ffff",
        secondary="#ff9dff",
        accent="#ffff00",
        success="#00ff7f",
        warning="#ffff00",
        error="#ff8c8c",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#303030",
        dark=True,
        variables={
            **_COMMON,
            "muted": "#e0e0e0",
            "cursor": "#00345a",
            "block-cursor-background": "#00345a",
            "block-cursor-foreground": "#ffffff",
            "found": "#332b00",
        },
    ),
)
DEFAULT = "sesstool-dark"

# The themes of Textual have no such colours: these stand for them there.
FALLBACK = {"muted": "$foreground", "cursor": "$panel", "found": "$panel"}
