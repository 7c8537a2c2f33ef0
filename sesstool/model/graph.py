"""The tree of a linked session, in columns: some forty bytes a record, whatever it says.

A record names its parent by id. Ids should be unique and parents should come first; where
they are not, a name means the nearest record above that has it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from sesstool.formats.events import Checkpoint, Meaning, Message, ToolCall, ToolResult
from sesstool.formats.terms import Place
from sesstool.records.recover import Record

ROOT, LOST = -1, -2
USER, ASSISTANT, RESULT, CALL, BOUNDARY, HIDDEN, PROMPT, SUMMARY = (1 << n for n in range(8))
TALK = USER | ASSISTANT
# An integer of so many bits takes 32 bytes, a whole hash 48.
_KEY = (1 << 60) - 1
# How many rows above a call its parallel siblings are looked for.
_NEAR = 256


class Graph:
    """Rows in file order. `up` is a row's parent row, ROOT, or LOST where it is not in the file.

    `lost` maps rows to the parent id that names nothing ("" where a record names no parent at
    all); `twins` are pairs of a row and the earlier row of the same id, `joined` such rows that the
    agent puts together to one: the later hangs from the earlier here; `nameless` the rows without
    an id. After `finish`, `live` says of each row whether a resume reaches it once every
    gap is closed, `sent` whether it does so now, `on_way` whether it is no branch; `breaks` are
    rows on the way whose parent is lost, with the row that comes before, and `cycles` rows whose
    parent closes a circle.

    This walk is tolerant, as Claude Code's is: it closes gaps, and what hangs beside the way may
    be sent. `strict.py` has the other one.
    """

    def __init__(self) -> None:
        """Start without rows."""
        self.up = array("i")
        self.flags = array("H")
        self.scope = array("i")
        self._lines = array("i")
        self._starts = array("q")
        self._ends = array("q")
        self._turns = array("q")
        self._index: dict[int, int] = {}
        self._scopes: dict[str, int] = {"": 0}
        self._child = array("i")
        self._next = array("i")
        self.lost: dict[int, str] = {}
        self.twins: list[tuple[int, int]] = []
        self.joined: dict[int, int] = {}
        self.nameless: list[int] = []
        self.breaks: list[tuple[int, int]] = []
        self.cycles: list[int] = []
        self.live = self.sent = self.on_way = bytearray()
        self.leaf = ROOT
        self.main = 0
        self._keeps: dict[int, str] = {}

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.up)

    def add(self, record: Record, meaning: Meaning) -> int:
        """Add a linked record; returns its row."""
        row = len(self.up)
        self._lines.append(record.line)
        self._starts.append(record.start)
        self._ends.append(record.end)
        self._turns.append(hash(meaning.turn) if meaning.turn else 0)
        self.flags.append(self._flags(meaning, row))
        self.scope.append(self._scopes.setdefault(meaning.scope, len(self._scopes)))
        if meaning.parent is None:
            self.up.append(ROOT)
        else:
            parent = self._index.get(hash(meaning.parent) & _KEY, LOST)
            self.up.append(parent)
            if parent == LOST:
                self.lost[row] = meaning.parent
        if not meaning.id:
            self.nameless.append(row)
        else:
            key = hash(meaning.id) & _KEY
            earlier = self._index.get(key)
            if earlier is not None and meaning.joins and self._is_one(row, earlier):
                self.joined[row] = earlier
                self.up[row] = earlier
                self.lost.pop(row, None)
            elif earlier is not None:
                self.twins.append((row, earlier))
            self._index[key] = row
        return row

    def _is_one(self, row: int, earlier: int) -> bool:
        """Whether two rows of one id are of one message, by its parent and who speaks."""
        first = earlier
        while first in self.joined:
            first = self.joined[first]
        same = self.up[row] == self.up[first] and self.lost.get(row) == self.lost.get(first)
        return same and self.flags[row] & TALK == self.flags[first] & TALK != 0

    def _flags(self, meaning: Meaning, row: int) -> int:
        flags = 0
        for event in meaning.events:
            if isinstance(event, Message):
                flags |= ASSISTANT if event.role == "assistant" else USER
                if event.hidden:
                    flags |= HIDDEN
                if event.prompt:
                    flags |= PROMPT
            elif isinstance(event, ToolResult):
                flags |= RESULT
            elif isinstance(event, ToolCall):
                flags |= CALL
            elif isinstance(event, Checkpoint):
                flags |= (0 if event.hollow else SUMMARY) if event.summary else BOUNDARY
                if event.keeps:
                    self._keeps[row] = event.keeps
        return flags

    def place(self, row: int) -> Place:
        """Where a row's record stands."""
        return Place(self._lines[row], self._starts[row], self._ends[row])

    def row_at(self, start: int) -> int:
        """The row of the record that begins at this byte offset."""
        return bisect_left(self._starts, start)

    def row_of(self, name: str) -> int | None:
        """The last row with this id, if there is one."""
        return self._index.get(hash(name) & _KEY)

    def children(self, row: int, after: int = -1) -> Iterator[int]:
        """The rows below it whose parent a row is, those behind row `after` only."""
        if len(self._next) != len(self.up):
            self._chain()
        child = self._child[row]
        while child >= 0:
            if child > max(row, after):
                yield child
            child = self._next[child]

    def _chain(self) -> None:
        """Chain the children of every row, for whoever asks for those of many rows."""
        self._child = array("i", [ROOT]) * len(self.up)
        self._next = array("i", [ROOT]) * len(self.up)
        for row in range(len(self.up) - 1, -1, -1):
            parent = self.up[row]
            if parent >= 0:
                self._next[row] = self._child[parent]
                self._child[parent] = row

    def turn(self, row: int) -> int:
        """The model answer that a row belongs to, 0 where it belongs to none."""
        return self._turns[row]

    def hangs_below(self, row: int, above: int) -> bool:
        """Whether a walk up from a row comes by another, earlier one."""
        while row > above:
            row = self.up[row] if self.up[row] < row else ROOT
        return row == above

    def same_turn(self, row: int, other: int) -> bool:
        """Whether two rows belong to one model answer."""
        return self._turns[row] != 0 and self._turns[row] == self._turns[other]

    def finish(self, leaf: str | None, leaf_known: bool) -> None:
        """Resolve parents that came later, choose the leaf and mark what a resume reaches.

        `leaf` is the id that the session itself names as its leaf, where `leaf_known`; None
        then means that it was rewound to nothing.
        """
        for row, name in list(self.lost.items()):
            later = self.row_of(name)
            if later is not None:
                self.up[row] = later
                del self.lost[row]
        if len(self) and 0 not in self.scope:
            self.main = self.scope[0]  # a subagent's own file holds sidechain records only
        self.leaf = self._last()
        if leaf_known:
            self.leaf = ROOT if leaf is None else self._index.get(hash(leaf) & _KEY, self.leaf)
        self.live = bytearray(len(self.up))
        self._reach()

    def lead(self, leaf: int) -> None:
        """Take another row than the session's own for the leaf, once the tree is finished."""
        self.leaf, self.live = leaf, bytearray(len(self.up))
        self.breaks, self.cycles = [], []
        self._reach()

    def _reach(self) -> None:
        """Mark what a resume reaches."""
        for row in self._walk():
            self.live[row] = 1
        self.sent = self.on_way = self.live
        self._rejoin()

    def _last(self) -> int:
        """The leaf of a session that names none."""
        for row in range(len(self.up) - 1, -1, -1):
            if self.scope[row] == self.main and self.flags[row] & TALK:
                return row
        return ROOT

    def _walk(self) -> Iterator[int]:
        """The way from the leaf to the root, over gaps as the newest clients do.

        Each row must be marked as live before the next is asked for.
        """
        row, forward = self.leaf, ROOT
        while row >= 0:
            if self.live[row]:
                # Going round: only a parent that stands below its child can close a circle.
                if forward == ROOT:
                    return
                self.cycles.append(forward)
                row, forward = self.before(forward), ROOT
                continue
            yield row
            parent = self.up[row]
            if parent >= row:
                forward = row
            elif parent == LOST:
                parent = self.before(row)
                if parent >= 0:
                    self.breaks.append((row, parent))
            row = parent

    def before(self, row: int) -> int:
        """The row that one whose parent is lost most likely follows, ROOT if none.

        That is the nearest earlier row of the same scope.
        """
        for other in range(row - 1, -1, -1):
            if self.scope[other] == self.scope[row]:
                return other
        return ROOT

    def behind(self, call: int, moved: int = -1) -> tuple[int, int]:
        """The last row of a call's block, and the first live row that follows it (-1: none).

        A result that is about to be `moved` into the block stands aside: what follows without it
        may not be live yet.
        """
        last = call
        near = range(max(call - _NEAR, 0), call + 1)
        block = {r for r in near if r == call or self.same_turn(call, r)}
        for row in range(call + 1, len(self)):
            if self.scope[row] != self.scope[call] or row == moved:
                continue
            flags, parent = self.flags[row], self.up[row]
            if self.same_turn(call, row) or (parent in block and flags & RESULT):
                block.add(row)
                last = row
            elif (self.live[row] or moved >= 0) and (
                flags & TALK or parent == LOST or parent in block
            ):
                return last, row
        return last, -1

    def keepers(self, row: int, name: str) -> Iterator[int]:
        """The compactions that keep what stands from a row of this id on."""
        for other, kept in self._keeps.items():
            if kept == name and self.row_of(kept) == row:
                yield other

    def _rejoin(self) -> None:
        """Parallel calls and their results hang beside the way: they are sent all the same."""
        turns = {self._turns[r] for r in range(len(self.up)) if self.live[r] and self._turns[r]}
        for row in range(len(self.up)):
            if self.live[row]:
                continue
            if self._turns[row] in turns and self._turns[row]:
                self.live[row] = 1
            elif self.flags[row] & RESULT and self.up[row] >= 0:
                parent = self.up[row]
                if self.live[parent] and self.flags[parent] & ASSISTANT:
                    self.live[row] = 1

    def messages(self) -> tuple[int, int]:
        """How many messages a resume reaches, and how many it should.

        It should reach all of the session itself behind the newest compaction that it reaches.
        """
        reached = present = 0
        start = self._start()
        for row in range(len(self.up)):
            if self._counts(row) and (row >= start or self.live[row]):
                present += 1
                reached += self.sent[row]
        return reached, present

    def _start(self) -> int:
        """The newest compaction that a resume reaches, the first row if there is none."""
        for row in range(len(self.up) - 1, -1, -1):
            if self.live[row] and self.flags[row] & BOUNDARY:
                return row
        return 0

    def _counts(self, row: int) -> bool:
        flags = self.flags[row]
        return self.scope[row] == self.main and bool(flags & TALK) and not flags & HIDDEN

    def branches(self) -> list[Branch]:
        """The branches that a resume does not reach, in order of their first row.

        What a compaction replaced is no branch.
        """
        start = self._start()
        owner = array("i", [ROOT]) * len(self.up)
        found: dict[int, Branch] = {}
        live_seen = 0
        for row in range(len(self.up)):
            if self.on_way[row]:
                live_seen += self._counts(row)
                continue
            parent = self.up[row]
            owner[row] = owner[parent] if 0 <= parent < row and owner[parent] >= 0 else row
            if row < start or not self._counts(row):
                continue
            branch = found.get(owner[row])
            if branch is None:
                branch = found[owner[row]] = Branch(owner[row], parent, row, live_seen, live_seen)
            branch.take(row, live_seen)
        for branch in found.values():
            branch.live_after = live_seen - branch.live_before
        return list(found.values())


@dataclass(slots=True)
class Branch:
    """A branch off the live one: `root` and `tip` rows, `fork` the row that it hangs from.

    `switches` counts how often live records were written between its own: where that is not 0,
    both grew at the same time. `live_after` counts live messages behind its first.
    """

    root: int
    fork: int
    tip: int
    live_before: int
    seen: int
    live_after: int = 0
    messages: int = 0
    switches: int = 0

    def take(self, row: int, live_seen: int) -> None:
        """Add a row."""
        self.tip = row
        self.messages += 1
        if live_seen > self.seen:
            self.switches += 1
        self.seen = live_seen
