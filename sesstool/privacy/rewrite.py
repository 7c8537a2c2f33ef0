"""One line without its values: which places change, and the line that comes of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sesstool.formats.base import Format
from sesstool.formats.events import Thinking
from sesstool.formats.terms import Field
from sesstool.privacy.fields import Leaf, Policy, leaves, name_of
from sesstool.privacy.matcher import overlaps
from sesstool.privacy.scan import Hit, Scanner
from sesstool.privacy.standin import StandIns, stand_ins
from sesstool.records.heal import decode_any
from sesstool.records.jsonspan import Member, dumps, locate, members

# A stand-in can complete what another rule looks for; that settles in a round or two.
_ROUNDS = 4
_THOUGHT = {"summary": b"[]", "content": b"null", "encrypted_content": b"null"}
_REMOVED = "[sesstool: a thinking block that held redacted values was removed]"


@dataclass(frozen=True, slots=True)
class Place:
    """A place that holds a value.

    `start` and `end` are offsets in the line, `pointer` is "" in a line that is no JSON, and has
    "*" for keys that may be somebody's data. `action` is "replaced", "kept" (in a frozen field),
    or "removed" (with the thinking block around it).
    """

    hit: Hit
    start: int
    end: int
    pointer: str
    action: str


@dataclass(slots=True)
class Rewritten:
    """A line as it shall be, with the places that changed.

    `blobs` counts opaque fields, `dropped` those that were emptied; `thinking` are the pointers
    of thinking blocks that a change went through; `settled` says that nothing more is found.
    """

    line: bytes
    places: list[Place] = field(default_factory=list)
    blobs: int = 0
    dropped: int = 0
    thinking: list[str] = field(default_factory=list)
    readable: bool = True
    settled: bool = False


class Rewriter:
    """Takes the values out of lines of one format."""

    def __init__(
        self,
        form: Format | None,
        scanner: Scanner,
        stand_ins: StandIns,
        *,
        share: bool,
        text: bool = True,
        spared: Callable[[Hit], bool] = lambda _: False,
    ) -> None:
        """Without a format no field is more than text.

        `share` empties opaque fields; `text` says whether lines that are no JSON are changed;
        `spared` tells the values that are left alone.
        """
        self._form = form
        self._policy = Policy.of_format(form)
        self._scanner = scanner
        self._stand_ins = stand_ins
        self._share = share
        self._text = text
        self._spared = spared

    def hits(self, line: bytes) -> tuple[list[tuple[Hit, Field]], bool]:
        """The values in a line, with the kind of field that each begins in.

        And whether the line is plain: JSON without an opaque field.
        """
        value = _decoded(line)
        if value is None:
            return [(hit, Field.TEXT) for hit in self.found(line)], False
        plain = not self._policy.may_be_opaque(line)
        hits = self.found(line, escaped=True) if plain else []
        if plain and not hits:
            return [], True
        parts = list(leaves(line))
        fields = [self._policy.of(leaf, line) for leaf in parts]
        if not plain:
            hits = self.found(_blanked(line, parts, fields), escaped=True)
        found = [
            (hit, fields[spots[0]])
            for hit in hits
            if (spots := list(_touched(parts, hit.start, hit.end)))
        ]
        return found, plain or Field.OPAQUE not in fields

    def rewrite(self, line: bytes, *, clean: bool = False, plain: bool = False) -> Rewritten:
        """The line without its values.

        `clean` says that the rules find nothing in it, and `plain` what `hits` does.
        """
        if plain and not self.found(line, escaped=True, clean=True):
            return Rewritten(line, settled=True)
        value = _decoded(line)
        if value is None:
            return self._as_text(line)
        done = Rewritten(line)
        for _ in range(_ROUNDS):
            places = self._round(done, clean=clean)
            clean = False
            done.places += places
            done.settled = all(place.action == "kept" for place in places)
            if done.settled:
                break
        if self._share:
            self._drop(done)
        return done

    def _round(self, done: Rewritten, *, clean: bool) -> list[Place]:
        line = done.line
        parts = list(leaves(line))
        fields = [self._policy.of(leaf, line) for leaf in parts]
        done.blobs = fields.count(Field.OPAQUE)
        found = [
            (hit, number)
            for hit in self.found(_blanked(line, parts, fields), escaped=True, clean=clean)
            for number in _touched(parts, hit.start, hit.end)
            if fields[number] is not Field.OPAQUE
        ]
        places: list[Place] = []
        changes: list[tuple[int, int, bytes]] = []
        for hit, number in found:
            leaf, kind = parts[number], fields[number]
            start, end = max(hit.start, leaf.start), min(hit.end, leaf.end)
            action = "kept" if kind is Field.FROZEN else "replaced"
            places.append(Place(hit, start, end, self._policy.pointer(leaf), action))
            change = self._change(leaf, start, end, hit)
            if kind is Field.TEXT and change not in changes[-1:]:
                changes.append(change)
        known = {(p.start, p.end) for p in done.places if p.action == "kept"}
        places = [p for p in places if p.action != "kept" or (p.start, p.end) not in known]
        if changes:
            self._sealed(done, line, places, changes)
            done.line = _unique_keys(line, parts, changes)
        return places

    def found(self, text: bytes, *, escaped: bool = False, clean: bool = False) -> list[Hit]:
        """The values in a text, of a `clean` one those that are known alone.

        What touches a stand-in was judged when that was put there.
        """
        hits = self._scanner.scan(text, escaped=escaped, clean=clean)
        done = stand_ins(text) if hits else []
        return [
            hit for hit in hits if not overlaps(done, hit.start, hit.end) and not self._spared(hit)
        ]

    def stand_in(self, hit: Hit) -> bytes:
        """What stands in the place of a value."""
        return self._stand_ins.of(hit.rule.kind, hit.value)

    def _change(self, leaf: Leaf, start: int, end: int, hit: Hit) -> tuple[int, int, bytes]:
        if leaf.kind == "number":
            # As many digits, and a number still.
            return leaf.start, leaf.end, b"1" + b"0" * (leaf.end - leaf.start - 1)
        return start, end, self.stand_in(hit)

    def _sealed(
        self,
        done: Rewritten,
        line: bytes,
        places: list[Place],
        changes: list[tuple[int, int, bytes]],
    ) -> None:
        """A thinking block that was signed cannot be changed: all that it says goes."""
        if self._form is None or self._share:
            return
        value = _decoded(line)
        if not isinstance(value, dict):
            return
        gone: list[tuple[str, Member]] = []
        for event in self._form.meaning(value).events:
            if type(event) is not Thinking:
                continue
            if not self._policy.seals(name_of(event.pointer)):
                continue  # it is a text like any other
            member = locate(line, event.pointer)
            if member and any(member.start <= start < member.end for start, _, _ in changes):
                gone.append((event.pointer, member))
        if not gone:
            return
        inside = [member for _, member in gone]
        changes[:] = [c for c in changes if not any(m.start <= c[0] < m.end for m in inside)]
        places[:] = [_removed(p, inside) for p in places]
        done.thinking += [pointer for pointer, _ in gone]
        made: list[tuple[int, int, bytes]] = []
        if self._form.provider == "openai-responses" or not gone[0][0]:
            # The item of a thought is a record: an empty one keeps what counts records right.
            made += [one for member in inside for one in _emptied(line, member)]
        else:
            for holder, thoughts in groupby(gone, lambda one: one[0].rpartition("/")[0]):
                made += self._without(line, value, holder, [member for _, member in thoughts])
        # What seals a thought goes with it, and may hold a value itself.
        changes[:] = [c for c in changes if not any(m[0] <= c[0] < m[1] for m in made)] + made

    def _without(
        self, line: bytes, value: Any, holder: str, inside: list[Member]
    ) -> Iterator[tuple[int, int, bytes]]:
        """What takes the thoughts out of the list, or the object, that they stand in."""
        held = locate(line, holder)
        if held is None:
            return
        if line[held.start : held.start + 1] == b"{":
            # A thought is a member, beside what seals it, of an object that says more.
            sealed = (m for name, m in members(line, held.start) if self._seals(holder, name))
            yield from ((member.start, member.end, b'""') for member in {*inside, *sealed})
        elif len(inside) == len(_at(value, holder)):
            typed = any(name == "type" for name, _ in members(line, inside[0].start))
            words = {"type": "text", "text": _REMOVED} if typed else {"text": _REMOVED}
            yield held.start, held.end, dumps([words])
        else:
            yield from ((*span, b"") for span in _spans(line, held, inside))

    def _seals(self, holder: str, name: str) -> bool:
        return self._policy.named(name_of(f"{holder}/{name}")) is Field.OPAQUE

    def _drop(self, done: Rewritten) -> None:
        """Empty what cannot be looked into."""
        spans = [
            (leaf.start, leaf.end, b"")
            for leaf in leaves(done.line)
            if leaf.end > leaf.start and self._policy.of(leaf, done.line) is Field.OPAQUE
        ]
        done.dropped = len(spans)
        done.line = edited(done.line, spans)

    def _as_text(self, line: bytes) -> Rewritten:
        done = Rewritten(line, readable=False)
        if not self._text:
            done.settled = True
            return done
        for _ in range(_ROUNDS):
            hits = self.found(done.line)
            done.settled = not hits
            if not hits:
                break
            done.places += [Place(hit, hit.start, hit.end, "", "replaced") for hit in hits]
            spans = [(h.start, h.end, self.stand_in(h)) for h in hits]
            done.line = edited(done.line, spans)
        return done


def _decoded(line: bytes) -> dict[str, Any] | list[Any] | None:
    try:
        value = decode_any(line)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


def _blanked(line: bytes, parts: Sequence[Leaf], fields: Sequence[Field]) -> bytes:
    """The line with spaces in the place of what cannot be looked into."""
    spans = [
        (leaf.start, leaf.end, b" " * (leaf.end - leaf.start))
        for leaf, kind in zip(parts, fields, strict=True)
        if kind is Field.OPAQUE
    ]
    return edited(line, spans) if spans else line


def _touched(parts: Sequence[Leaf], start: int, end: int) -> Iterable[int]:
    """The numbers of the leaves that a span touches."""
    at = max(bisect_right(parts, start, key=lambda leaf: leaf.start) - 1, 0)
    while at < len(parts) and parts[at].start < end:
        if parts[at].end > start:
            yield at
        at += 1


def _emptied(line: bytes, item: Member) -> Iterator[tuple[int, int, bytes]]:
    """What takes the thought out of a reasoning item, readable and sealed."""
    for name, member in members(line, item.start):
        if name in _THOUGHT:
            yield member.start, member.end, _THOUGHT[name]


def _removed(place: Place, blocks: Iterable[Member]) -> Place:
    if any(block.start <= place.start < block.end for block in blocks):
        return Place(place.hit, place.start, place.end, place.pointer, "removed")
    return place


def _spans(line: bytes, holder: Member, gone: Iterable[Member]) -> Iterator[tuple[int, int]]:
    """What to cut so that items of a list go, each with one comma; at least one item stays."""
    items = [member for _, member in members(line, holder.start)]
    starts = {member.start for member in gone}
    kept = False
    for item, after in zip(items, [*items[1:], None], strict=True):
        if item.start not in starts:
            kept = True
        elif kept:
            yield items[items.index(item) - 1].end, item.end
        elif after is not None:
            yield item.start, after.start


def _unique_keys(
    line: bytes, parts: Sequence[Leaf], changes: list[tuple[int, int, bytes]]
) -> bytes:
    """The edited line; keys of one object that became the same get a number."""
    now = edited(line, changes)
    keys = [leaf for leaf in parts if leaf.kind == "key"]
    if not any(k.start <= start < k.end for k in keys for start, _, _ in changes):
        return now
    before = _doubles(line, keys)
    after = [leaf for leaf in leaves(now) if leaf.kind == "key"]
    doubles = _doubles(now, after)
    if len(doubles) <= len(before):
        return now
    return edited(now, [(k.end, k.end, b"-%d" % n) for n, k in enumerate(doubles, start=2)])


def _doubles(line: bytes, keys: Iterable[Leaf]) -> list[Leaf]:
    """The keys that stand before in the same object."""
    seen: set[tuple[int, bytes]] = set()
    doubles = []
    for key in keys:
        name = (key.owner, line[key.start : key.end])
        if name in seen:
            doubles.append(key)
        seen.add(name)
    return doubles


def edited(line: bytes, changes: Iterable[tuple[int, int, bytes]]) -> bytes:
    """The line with spans replaced, which do not overlap."""
    out: list[bytes] = []
    at = 0
    for start, end, text in sorted(changes):
        out += (line[at:start], text)
        at = end
    out.append(line[at:])
    return b"".join(out)


def _at(value: Any, pointer: str) -> list[Any]:
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value.get(part)
    return value if isinstance(value, list) else []
