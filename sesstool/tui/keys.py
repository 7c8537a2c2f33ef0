"""Keys: every binding has an id, by which the settings can give it other keys."""

from __future__ import annotations

from textual.binding import Binding

NAMES = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "full_stop": ".",
    "comma": ",",
    "equals_sign": "=",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "apostrophe": "'",
    "quotation_mark": '"',
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
}
"""What is shown for a key, where it is not its name."""


_NAMED = {char: name for name, char in NAMES.items() if len(char) == 1 and char.isascii()}


def key(keys: str, action: str, what: str, id: str, *, show: bool = False) -> Binding:
    """A binding; `show` puts it into the last line of the screen."""
    _ids.add(id)
    return Binding(keys, action, what, show=show, id=id)


def pair(
    one: str, other: str, action: str, what: str, id: str, *, show: bool = False
) -> list[Binding]:
    """Two keys, as characters, that go to the previous and the next of a kind.

    They do `action(-1)` and `action(1)`.
    """
    group = Binding.Group(what)
    _ids.update({f"{id}.previous", f"{id}.next"})
    steps = ((one, -1, "previous"), (other, 1, "next"))
    return [
        Binding(
            _NAMED.get(keys, keys),
            f"{action}({step})",
            f"{word} {what}",
            show=show,
            id=f"{id}.{word}",
            group=group,
        )
        for keys, step, word in steps
    ]


_ids: set[str] = set()


def known_ids() -> set[str]:
    """The ids of all bindings of the modules that are loaded."""
    return set(_ids)


def shown(keys: str) -> str:
    """A key as people read it."""
    return NAMES.get(keys, keys)
