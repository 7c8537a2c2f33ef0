"""The tree of a session whose resume sends one way only, from the last record to the root.

pi reads so: it closes no gap, and sends nothing that hangs beside the way.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import chain

from sesstool.model.graph import BOUNDARY, HIDDEN, LOST, RESULT, ROOT, TALK, Graph


class StrictGraph(Graph):
    """See the module. `torn` says that nobody can tell how the way goes on above a gap.

    `tip` is the row that the way should end with: the last one that hangs below the leaf. Records
    are appended, so that none stands above its parent: where one hangs from the last record,
    lines were moved.
    """

    def __init__(self) -> None:
        """Start without rows."""
        super().__init__()
        self.torn = self._moved = self._stray = False
        self.tip = ROOT
        self._way = array("i")
        self._depth = array("i")  # where a row stands in the way, -1 beside it
        self._tips = array("i")  # the rows that nothing hangs from
        self._bridged: dict[int, int] = {}
        self._bridges: dict[int, list[int]] = {}

    def _last(self) -> int:
        """The leaf is the last record, whatever it says."""
        return len(self) - 1

    def lead(self, leaf: int) -> None:
        """See `Graph.lead`."""
        self._way, self._bridges = array("i"), {}
        super().lead(leaf)

    def _reach(self) -> None:
        """Part what the newest compaction replaced, and what stands above a gap."""
        borne = bytearray(len(self))
        for row, parent in enumerate(self.up):
            if parent >= 0:
                borne[parent] = 1
                self._moved = self._moved or parent >= row
        self._tips = array("i", (row for row in range(len(self)) if not borne[row]))
        self._depth = array("i", [-1]) * len(self)
        known = {self.leaf: True}
        tips = reversed(self._tips)
        self.tip = next((row for row in tips if self.climbs(row, self.leaf, known)), self.leaf)
        way = self._way
        for row in self._walk():
            self.live[row] = 1
            way.append(row)
        for n, row in enumerate(way):
            self._depth[row] = n
        self.on_way = bytearray(self.live)
        self._bridged = dict(self.breaks)
        for row, parent in self.breaks:
            self._bridges.setdefault(parent, []).append(row)
        self._stray = any(not self.on_way[row] for row in self.lost)
        guess = next((row for row, parent in self.breaks if self.rivalled(row, parent)), ROOT)
        self.torn = guess >= 0
        if self.torn:
            # Nobody knows what stands above: nothing is mended there as if it were sent.
            for row in way[self._depth[guess] + 1 :]:
                self.live[row] = 0
        gap = self._depth[self.breaks[0][0]] + 1 if self.breaks else len(way)
        at = next((n for n, row in enumerate(way) if self.flags[row] & BOUNDARY), len(way))
        first = self.row_of(self._keeps.get(way[at], "")) if at < len(way) else None
        kept = at if first is None else max(at, self._depth[first])
        for row in way[kept + 1 :]:
            self.live[row] = 0
        self.sent = bytearray(len(self))
        if not self.cycles:
            for row in way[: min(gap, kept + 1 if kept < gap else at + 1)]:
                self.sent[row] = 1

    def before(self, row: int) -> int:
        """See `Graph.before`: one that nothing hangs from, where there is one.

        The others were gone on from already.
        """
        return next(self._free(chain(self._above(row), range(row - 1, -1, -1)), row), ROOT)

    def _above(self, row: int) -> Iterator[int]:
        """The rows above one that nothing hangs from, the nearest first."""
        return map(self._tips.__getitem__, range(bisect_left(self._tips, row) - 1, -1, -1))

    def _free(self, rows: Iterator[int], row: int) -> Iterator[int]:
        """Those of some rows that do not hang below another one."""
        known = {row: True}
        return (other for other in rows if not self.climbs(other, row, known))

    def rivalled(self, row: int, parent: int) -> bool:
        """Whether a row may follow another than this parent.

        That is so where two branches grew at the same time: the other one ends between records
        of the one that ends with the parent, or has lost a record as well.
        """
        if self._stray:
            return True
        rival = next(self._free(self._above(parent), row), ROOT)
        at = parent
        if rival >= 0 and self.on_way[parent] and not self._moved:
            n = bisect_left(self._way, -rival, key=lambda r: -r)
            at = self._way[n] if n < len(self._way) else ROOT
        while at > rival >= 0:
            at = above if (above := self.above(at)) < at else ROOT
        return rival >= 0 <= at and not self.climbs(rival, at)

    @property
    def branched(self) -> bool:
        """Whether the way and the file have different orders, or records hang beside the way.

        Not where the way is torn and nobody can tell how it goes on.
        """
        return not self.torn and (self._moved or len(self._way) < len(self))

    def in_order(self) -> Iterator[int]:
        """The rows of the way from its root on, then those beside it."""
        yield from reversed(self._way)
        yield from (row for row in range(len(self)) if not self.on_way[row])

    def first_kept(self, row: int, lost: str) -> int:
        """The first row left of those that a compaction keeps from a lost one on, else ROOT.

        It names the lost one as its parent, or is the only one on the way whose parent is lost.
        """
        depth = self._depth
        gaps = [other for other in self.lost if depth[other] > depth[row] >= 0]
        named = [other for other in gaps if self.lost[other] == lost] or gaps
        return named[0] if len(named) == 1 else ROOT

    def above(self, row: int) -> int:
        """The parent of a row; where it is lost, the row that takes its place."""
        return self._bridged.get(row, self.up[row])

    def climbs(self, row: int, above: int, known: dict[int, bool] | None = None) -> bool:
        """Whether a walk up from a row comes by another: by a lower one if lines were moved.

        `known` keeps the answers for other rows and the same `above`.
        """
        if row < above and not self._moved:
            return False
        known = {above: True} if known is None else known
        path = []
        while row >= 0 and row not in known:
            if self._depth[row] >= 0 and not self.cycles:
                known[row] = self._depth[row] <= self._depth[above]
                break
            known[row] = False  # where a circle comes by again
            path.append(row)
            row = self.above(row)
        found = known.get(row, False)
        known.update(dict.fromkeys(path, found))
        return found

    def hangs_on(self, row: int, call: int) -> bool:
        """Whether a result follows its call, with nothing said in between."""
        seen = set()
        while row >= 0 and row not in seen and row != call:
            seen.add(row)
            row = self.up[row]
            if row != call and row >= 0 and self.flags[row] & TALK and not self.flags[row] & HIDDEN:
                return False
        return row == call

    def behind(self, call: int, moved: int = -1) -> tuple[int, int]:
        """See `Graph.behind`: each result hangs from the one before it."""
        call = max((row for row, first in self.joined.items() if first == call), default=call)
        last, near = call, list(self._followers(call))
        aside = quiet = -1  # the first and the last of the records between that say nothing
        heapify(near)
        while near:
            row = heappop(near)
            if row == moved:
                continue
            if self.flags[row] & RESULT and self.up[row] != LOST:
                last, aside, quiet = row, -1, -1
            elif self.flags[row] & ~HIDDEN == 0 and self.up[row] != LOST:
                aside, quiet = row if aside < 0 else aside, row
            elif self.live[row] or moved >= 0:
                if self.up[row] == LOST and quiet >= 0:
                    return quiet, row
                return last, row if aside < 0 else aside
            else:
                continue
            for follower in self._followers(row):
                heappush(near, follower)
        return last, aside

    def _followers(self, row: int) -> Iterator[int]:
        """The rows below one that hang from it, or would if gaps were closed."""
        yield from self.children(row)
        yield from self._bridges.get(row, ())

    def behind_call(self, call: int, row: int, other: int) -> int:
        """The row that a result of a call follows: the last of its block, or else another."""
        last = self.behind(call)[0]
        return next((r for r in (last, call) if r != row and not self.climbs(r, row)), other)

    def early_child(self) -> int:
        """The first child of the last row, where the row before the last one ends a branch."""
        if self.leaf - 1 not in self._tips:
            return ROOT
        return next((n for n in range(self.leaf) if self.up[n] == self.leaf), ROOT)
