"""A redaction to be decided value by value: what is found, where, and what is left alone.

A value is known here by its kind and fingerprint; its text is read again where a person asks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import gt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sesstool.api.redaction import Choice, Redacted, Redaction, about, bystanders, copies, redact
from sesstool.findings import Finding
from sesstool.privacy.allow import Entry, hashed
from sesstool.privacy.scan import Hit
from sesstool.privacy.tally import length_class
from sesstool.privacy.values import KNOWN

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

SITES = 1000
"""How many places of a value can be gone through; there can be millions."""
# Bytes around a place that are shown, and that are looked at for other values; and so many where
# the value is not told by these.
_SHOWN, _LOOKED, _WHOLE = 160, 640, 1 << 16


class Site(NamedTuple):
    """A place of a value: its file, line from 1, bytes, JSON pointer, and what becomes of it."""

    path: Path | str
    line: int
    start: int
    end: int
    pointer: str
    action: str


@dataclass(slots=True)
class Item:
    """A value, or a person with all that is theirs: what it is, and where it stands.

    `rule` is the id of the rule that found it, `length` a class of lengths. `kept` says that it is
    left alone.
    """

    kind: str
    fingerprint: str
    rule: str
    title: str
    secret: bool
    length: str
    sites: list[Site] = field(default_factory=list)
    actions: Counter[str] = field(default_factory=Counter)
    kept: bool = False

    @property
    def name(self) -> tuple[str, str]:
        """What it is known by, also in another redaction with the same key."""
        return self.kind, self.fingerprint

    @property
    def places(self) -> int:
        """How many places it has."""
        return self.actions.total()

    @property
    def state(self) -> str:
        """What becomes of it: "keep", "stays" in fields that must not change, or "redact"."""
        if self.kept:
            return "keep"
        return "stays" if set(self.actions) == {"kept"} else "redact"


class Piece(NamedTuple):
    """A piece of the text around a place; `what` is "" for text, "value" or "other" for masked."""

    text: str
    what: str = ""


@dataclass(slots=True)
class Review:
    """A redaction that is planned, with what it found. Closes its files with `close`."""

    redaction: Redaction
    items: list[Item]
    _spans: dict[Path | str, tuple[array[int], array[int]]]

    def close(self) -> None:
        """Close the files."""
        self.redaction.stack.close()

    @property
    def places(self) -> int:
        """How many places are to be changed."""
        return sum(sum(file.summary.rules.values()) for file in self.redaction.files)

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return any(file.changed for file in self.redaction.files)

    def around(self, site: Site, kept: Iterable[Item] = ()) -> list[Piece]:
        """The text around a place, with all values in it masked, those `kept` too.

        Raises InputError.
        """
        begin = max(site.start - _LOOKED, 0)
        text = self._read(site, begin, site.end + _LOOKED)
        spans = [(h.start + begin, h.end + begin) for h in self._hits(site, text)]
        starts, ends = self._spans.get(site.path, (array("q"), array("q")))
        at = bisect_left(starts, begin)
        near = slice(max(at - 1, 0), at + len(text))
        spans += zip(starts[near], ends[near], strict=True)
        same = (one for item in kept for one in item.sites if one.path == site.path)
        spans += [(one.start, one.end) for one in same]
        first, last = max(site.start - _SHOWN, begin), min(site.end + _SHOWN, begin + len(text))
        first = max(first, begin + text.rfind(b"\n", 0, site.start - begin) + 1)
        line_end = text.find(b"\n", site.end - begin)
        last = last if line_end < 0 else min(last, begin + line_end)
        pieces: list[Piece] = []
        now = first
        for start, end, what in _masks(spans, site, first, last):
            pieces.append(Piece(text[now - begin : start - begin].decode("utf-8", "replace")))
            pieces.append(Piece("", what))
            now = end
        pieces.append(Piece(text[now - begin : last - begin].decode("utf-8", "replace")))
        return [piece for piece in pieces if piece.text or piece.what]

    def stand_in(self, item: Item, site: Site) -> str:
        """What comes in the place of a value, "" where that is not known."""
        hit = self._hit(item, site)
        if hit is None:
            return ""
        made = self.redaction.stand_ins.of(hit.rule.kind, hit.value)
        return made.decode("utf-8", "replace")

    def value(self, item: Item, site: Site) -> str:
        """The value itself, for a person who asks for it on the screen, and nowhere else."""
        hit = self._hit(item, site)
        raw = hit.value if hit else self._read(site, site.start, min(site.end, site.start + 4096))
        return raw.decode("utf-8", "replace")

    def entries(self, item: Item, key: bytes) -> list[Entry]:
        """What an allow list must have to leave a value alone, in all its spellings."""
        redactor = self.redaction.redactor
        assert redactor is not None
        values = {
            value.text
            for value in redactor.values
            if value.kind == item.kind
            and redactor.fingerprint(value.kind, value.text) == item.fingerprint
        }
        for site in item.sites:
            if (hit := self._hit(item, site)) is not None:
                values.add(hit.value)
        texts = (value.decode("utf-8", "surrogateescape") for value in values)
        return [Entry(value=name) for name in sorted({hashed(text, key) for text in texts})]

    def _hit(self, item: Item, site: Site) -> Hit | None:
        """The value at a place as it was found."""
        redactor = self.redaction.redactor
        assert redactor is not None
        for around in (_LOOKED, _WHOLE):
            begin = max(site.start - around, 0)
            hits = self._hits(site, self._read(site, begin, site.end + around))
            for hit in sorted(hits, key=lambda h: abs(h.start + begin - site.start)):
                same = redactor.fingerprint(hit.rule.kind, hit.value) == item.fingerprint
                if same and hit.rule.kind == item.kind:
                    return hit
        return None

    def _hits(self, site: Site, text: bytes) -> list[Hit]:
        redactor = self.redaction.redactor
        assert redactor is not None
        return redactor.found(text, escaped=bool(site.pointer))

    def _read(self, site: Site, start: int, end: int) -> bytes:
        file = next(file for file in self.redaction.files if file.path == site.path)
        return file.text.source.read(start, end)

    def notes(self) -> Iterator[str]:
        """What is to be said of the set as a whole: what is not covered, and left alone."""
        several = len(self.redaction.files) > 1
        for file in self.redaction.files:
            for finding in about(file):
                yield f"{file.shown}: {finding.message}" if several else finding.message
        taken = {file.path for file in self.redaction.files}
        sides = (side for file in self.redaction.files for side in copies(self.redaction, file))
        for path, side in {side.path: side for side in sides if side.path not in taken}.items():
            yield f"left alone: {self.redaction.shown(path)}: {side.fate}"
        if beside := sum(1 for _ in bystanders(self.redaction)):
            yield f"left alone: other files in what was named: {beside:,}"


def _masks(
    spans: Sequence[tuple[int, int]], site: Site, first: int, last: int
) -> Iterator[tuple[int, int, str]]:
    """The parts of a text that are masked, in order, none overlapping another."""
    reached = first
    for start, end in sorted({*spans, (site.start, site.end)}):
        if end <= reached or start >= last:
            continue
        here = start < site.end and site.start < end
        yield max(start, reached), min(end, last), "value" if here else "other"
        reached = end


def review(
    path: Path,
    choice: Choice,
    key: bytes,
    *,
    stopped: Callable[[], bool] = lambda: False,
    keys: Keys | None = None,
) -> Review | None:
    """Plan the redaction of a session and its side files; nothing is written.

    None where it was `stopped`. `key` is that of the stand-ins and of the allow list. Raises as
    `redaction.redact`.
    """
    items: dict[tuple[str, str], Item] = {}
    spans: dict[Path | str, tuple[array[int], array[int]]] = {}

    def told(file: Redacted, finding: Finding) -> None:
        labels, where = finding.labels, finding.location
        if "value" not in labels:
            return
        name = (labels["kind"], labels["value"])
        item = items.get(name)
        if item is None or (item.rule == KNOWN and labels["rule"] != KNOWN):
            found = Item(
                *name,
                labels["rule"],
                finding.message,
                finding.code == "P801",
                length_class(where.end - where.start),
            )
            if item is not None:
                found.sites, found.actions = item.sites, item.actions
            item = items[name] = found
        item.actions[labels["action"]] += 1
        if len(item.sites) < SITES:
            item.sites.append(
                Site(file.path, where.line, where.start, where.end, where.pointer, labels["action"])
            )
        starts, ends = spans.setdefault(file.path, (array("q"), array("q")))
        starts.append(where.start)
        ends.append(where.end)

    def watch() -> None:
        if stopped():
            raise _Stopped

    try:
        redaction = redact([path], choice, key=key, told=told, keys=keys, watch=watch)
    except _Stopped:
        return None
    for starts, ends in spans.values():
        # What came up only behind a first round stands behind its line's others.
        if any(map(gt, starts, islice(starts, 1, None))):
            both = sorted(zip(starts, ends, strict=True))
            starts[:], ends[:] = (array("q", side) for side in zip(*both, strict=True))
    listed = sorted(items.values(), key=order)
    return Review(redaction, listed, spans)


def order(item: Item) -> tuple[bool, int, str, str]:
    """Secrets first, and of these what stands in the most places."""
    return not item.secret, -item.places, item.kind, item.fingerprint


def allowing(choice: Choice, kept: Sequence[Entry]) -> Choice:
    """The choice with more that is left alone."""
    return replace(choice, allow=(*choice.allow, *kept))


class _Stopped(Exception):  # noqa: N818 - no error
    """Another redaction is wanted."""
