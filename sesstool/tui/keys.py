"""Keys: every binding has an id, by which the settings can give it other keys."""

from __future__ import annotations

from textual.binding import Binding
from textual.keys import Keys, key_to_character

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
    one: str,
    other: str,
    action: str,
    what: str,
    id: str,
    *,
    show: bool = False,
    ways: tuple[str, str] = ("previous", "next"),
) -> list[Binding]:
    """Two keys, as characters, that go to the previous and the next of a kind.

    They do `action(-1)` and `action(1)`; `ways` are the words for these, and the ends of the ids.
    """
    group = Binding.Group(what)
    _ids.update(f"{id}.{way}" for way in ways)
    steps = ((one, -1, ways[0]), (other, 1, ways[1]))
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
_KNOWN = {str(key.value) for key in Keys}


def known_ids() -> set[str]:
    """The ids of all bindings of the modules that are loaded."""
    return set(_ids)


def named(keys: str) -> str:
    """Keys that a person wrote, as `?,ctrl+b`, by their names. Raises ValueError with what is none.

    Bindings know a character by its name alone where the settings give it.
    """
    found = [part.strip() for part in keys.split(",")]
    for n, written in enumerate(found):
        if len(written) == 1:
            found[n] = next(iter(Binding.make_bindings([Binding(written, "")]))).key
        elif key_to_character(written.rpartition("+")[2]) is None and written not in _KNOWN:
            raise ValueError(written)
    return ",".join(found)


def digits(action: str, what: str, id: str, *, show: bool = False) -> list[Binding]:
    """The keys 0 to 9, which do `action(0)` to `action(9)`."""
    group = Binding.Group(what)
    _ids.update(f"{id}.{n}" for n in range(10))
    return [
        Binding(str(n), f"{action}({n})", f"{what} {n}", show=show, id=f"{id}.{n}", group=group)
        for n in range(10)
    ]


def listed(keys: list[str]) -> str:
    """The keys of a group as people read them: many in a row by the first and the last."""
    if len(keys) > 2 and all(map(str.isdecimal, keys)):
        return f"{min(keys)}-{max(keys)}"
    return " ".join(keys)


def shown(keys: str) -> str:
    """A key as people read it."""
    return NAMES.get(keys, keys)
