"""Which turns of a session are on the way that goes on, told record by record in bounded memory.

A turn begins with a prompt. It hangs from a place in an earlier one: a rollback or a rewind lets
the next turn hang further up, and what stands on the way no more is taken back. Where records
form a tree, the last ids are remembered, as hashes; what hangs from a much older one is taken to
go on from the last record, unless an earlier prompt hangs from it too.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from sesstool.formats.base import Format
from sesstool.formats.events import Checkpoint, Meaning, Message, StateChange
from sesstool.formats.values import mapping, text

TURNS, IDS = 512, 2048
"""How many turns and ids are remembered."""
ALL = sys.maxsize
"""All of a turn, as a place to hang from."""


@dataclass(slots=True)
class Turn:
    """A turn: the one that it hangs from, and up to which offset of that one.

    `start` is its own offset; `prompt` says that a prompt began it, and no rewind alone. `above` is
    the key of the id that it hangs from, 0 for none. `left` counts, by their kinds, the items of it
    that were forgotten.
    """

    parent: int
    cut: int
    start: int
    prompt: bool = True
    above: int = 0
    left: dict[str, int] = field(default_factory=dict)


class Forgotten(NamedTuple):
    """A turn that is remembered no more. What it holds is of turn 0 now, if it was on the way.

    Then what turn 0 holds from the offset `cut` up to `start` is not.
    """

    number: int
    live: bool
    cut: int
    start: int


class Lineage:
    """The turns of a session. Turn 0 is what comes before the first prompt, or is forgotten."""

    def __init__(self, form: Format) -> None:
        """Start before the first record."""
        self._strict = form.strict_path
        self.turns: dict[int, Turn] = {0: Turn(-1, 0, 0, prompt=False)}
        self.current = 0
        self.forgotten: list[Forgotten] = []
        """What `see` forgot since somebody emptied this."""
        self._next = 1
        self._ids: dict[int, tuple[int, int]] = {}
        self._tip, self._tip_key = "", 0
        self._header = 0
        self._floor = 0
        self._leaf: tuple[int, int] | None = None
        self._live: dict[int, int] | None = None

    def see(self, meaning: Meaning, start: int, end: int) -> int:
        """Take in a record; returns the turn that it belongs to."""
        if meaning.session and not self._header:
            self._header = _key(meaning.session)
        prompt, back, leaf = self._steering(meaning, start)
        if meaning.linked:
            turn = self._linked(meaning, start, prompt=prompt)
            self._remember(meaning.id, turn, end)
        else:
            if prompt:
                self._open(Turn(self.current, ALL, start))
            if back > 0:
                self._roll_back(back, start)
            turn = self.current
        if leaf:
            self._leaf, self._live = self._ids.get(_key(leaf)), None
        return turn

    def begin_anew(self, start: int) -> None:
        """What follows has nothing to do with what came before."""
        self._open(Turn(0, 0, start))

    def _steering(self, meaning: Meaning, start: int) -> tuple[bool, int, str]:
        """Whether a prompt opens a turn, how many turns are taken back, and the leaf that is named.

        A summary in a prompt's place opens none.
        """
        prompt, back, leaf, checkpoint = False, 0, "", False
        for event in meaning.events:
            if type(event) is Message:
                prompt = prompt or event.prompt
            elif type(event) is Checkpoint:
                checkpoint = True
                if event.summary and event.kept_from < 0:
                    self._floor = start
            elif type(event) is StateChange and event.name == "rollback":
                back = event.value if type(event.value) is int else 0
            elif type(event) is StateChange and event.name == "leaf":
                told = mapping(event.value)
                if told.get("explicit") or told.get("rewound"):
                    leaf = text(told.get("leafUuid"))
        return prompt and not checkpoint, back, leaf

    def _linked(self, meaning: Meaning, start: int, *, prompt: bool) -> int:
        """The turn of a record in a tree, which it may begin."""
        parent, above = meaning.parent, 0
        if parent:
            above = self._tip_key if parent == self._tip else _key(parent)
        if meaning.scope:  # a subagent, beside the way
            return self._place(above)[0]
        if self._leaf is not None:
            self._leaf, self._live = None, None
        if parent is None or above == self._header != 0:
            if prompt or (self._strict and self._ids):
                self._open(Turn(0, 0, start, prompt))
        elif prompt or (self._strict and above != self._tip_key and above in self._ids):
            self._open(Turn(*self._place(above), start, prompt, above))
        elif not self._strict:
            turn = self._place(above)[0]
            if turn != self.current and any(type(event) is Message for event in meaning.events):
                self.current, self._live = turn, None
            return turn
        return self.current

    def _place(self, above: int) -> tuple[int, int]:
        """The turn that a record with this id is in, and up to where it is gone on from.

        Only where the way is strict it can part in the middle of a turn.
        """
        if above in self._ids:
            turn, end = self._ids[above]
            return (turn if turn in self.turns else 0), (end if self._strict else ALL)
        if above:
            for earlier in reversed(self.turns.values()):
                if earlier.above == above:
                    return earlier.parent, earlier.cut
        return self.current, ALL

    def _remember(self, name: str, turn: int, end: int) -> None:
        if name:
            self._tip, self._tip_key = name, _key(name)
            self._ids.pop(self._tip_key, None)
            self._ids[self._tip_key] = (turn, end)
            if len(self._ids) > IDS:
                del self._ids[next(iter(self._ids))]

    def _open(self, turn: Turn) -> None:
        self.turns[self._next] = turn
        if self._live is not None and (turn.parent, turn.cut) == (self.current, ALL):
            self._live[self._next] = ALL
        else:
            self._live = None
        self.current = self._next
        self._next += 1
        if len(self.turns) > TURNS:
            self._forget()

    def _forget(self) -> None:
        live = self.live()
        number = next(number for number in self.turns if number)
        turn = self.turns.pop(number)
        self.current = self.current if self.current in self.turns else 0
        self.forgotten.append(Forgotten(number, number in live, turn.cut, turn.start))
        if number in live:
            first = self.turns[0]
            if not turn.cut:
                first.left = {}
            for kind, count in turn.left.items():
                first.left[kind] = first.left.get(kind, 0) + count
            live[0] = live.pop(number)

    def _roll_back(self, count: int, start: int) -> None:
        """Hang what follows from before the last so many prompts, where there are as many."""
        number = self.current
        while number in self.turns and number:
            turn = self.turns[number]
            if turn.start < self._floor:
                return
            count -= turn.prompt
            if not count:
                self._open(Turn(turn.parent, turn.cut, start, prompt=False))
                return
            number = turn.parent

    def live(self) -> dict[int, int]:
        """The turns on the way that goes on, and up to which offset each is on it."""
        if self._live is None:
            number, cut = self.current, ALL
            if self._leaf is not None:
                number, cut = self._leaf
                cut = cut if self._strict else ALL
            self._live = {}
            while number >= 0:
                number = number if number in self.turns else 0
                self._live[number] = cut
                number, cut = self.turns[number].parent, self.turns[number].cut
        return self._live

    def is_live(self, turn: int, start: int) -> bool:
        """Whether what stands at an offset of a turn was not taken back."""
        return start < self.live().get(turn, -1)

    def count(self, turn: int, kind: str) -> None:
        """Count an item of a turn that is forgotten."""
        left = self.turns[turn if turn in self.turns else 0].left
        left[kind] = left.get(kind, 0) + 1

    def left(self, kind: str) -> int:
        """How many items of a kind are forgotten that were not taken back."""
        return sum(self.turns[turn].left.get(kind, 0) for turn, cut in self.live().items() if cut)

    def saved(self) -> dict[str, Any]:
        """All of it as JSON; ids are hashes."""
        turns = [
            [n, t.parent, t.cut, t.start, t.prompt, t.above, t.left] for n, t in self.turns.items()
        ]
        ids = [[key, turn, end] for key, (turn, end) in self._ids.items()]
        now = [self.current, self._next, self._tip_key, self._header, self._floor]
        return {"turns": turns, "ids": ids, "now": now, "leaf": self._leaf}

    def restore(self, saved: dict[str, Any]) -> None:
        """Take up what was saved. Raises KeyError, TypeError or ValueError where it is damaged."""
        self.turns = {}
        for number, parent, cut, start, prompt, above, left in saved["turns"]:
            whole(number, parent, cut, start, above, *left.values())
            if not -1 <= parent < number:
                raise ValueError("a turn hangs from a later one")
            self.turns[number] = Turn(parent, cut, start, bool(prompt), above, left)
        for key, turn, end in saved["ids"]:
            whole(key, turn, end)
            self._ids[key] = (turn, end)
        whole(*saved["now"])
        self.current, self._next, self._tip_key, self._header, self._floor = saved["now"]
        if saved["leaf"] is not None:
            turn, end = saved["leaf"]
            whole(turn, end)
            self._leaf = turn, end
        if 0 not in self.turns or self.current not in self.turns or self._next <= max(self.turns):
            raise ValueError("turns are missing")


def whole(*numbers: object) -> None:
    """Raise ValueError unless all are integers."""
    if any(type(number) is not int for number in numbers):
        raise ValueError("a number is none")


def _key(name: str) -> int:
    """A number of 64 bits for an id, the same in every run."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
