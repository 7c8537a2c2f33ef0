"""`Edit`, the only way to change a session, and `EditSet`, an ordered set of them.

A text with edits is never built in memory: an `EditSet` is walked as pieces, each either a
range of the original bytes or the bytes that replace one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sesstool.errors import SesstoolError


class OverlapError(SesstoolError):
    """Two edits claim the same bytes."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the bytes [start, end) by `text`.

    Offsets count bytes of the text that the edit is made for. `content` says that `text`
    may hold session text, which no output may show.
    """

    start: int
    end: int
    text: bytes = b""
    content: bool = False

    def shifted(self, by: int) -> Edit:
        """The same edit for a text that starts `by` bytes later."""
        return Edit(self.start + by, self.end + by, self.text, self.content)


@dataclass(frozen=True, slots=True)
class Kept:
    """A piece of an edited text that is bytes [start, end) of the original."""

    start: int
    end: int


Piece = Kept | bytes


class EditSet:
    """Edits in order of place, none overlapping another.

    Insertions at one place keep the order in which they were given.
    """

    __slots__ = ("edits",)

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        """Sort the edits; raise `OverlapError` where two claim the same bytes."""
        self.edits: tuple[Edit, ...] = tuple(sorted(edits, key=lambda e: (e.start, e.end)))
        reached = 0
        for edit in self.edits:
            if edit.start < reached or edit.end < edit.start:
                raise OverlapError(f"two edits overlap at byte {edit.start}")
            reached = edit.end

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.edits)

    def __len__(self) -> int:
        """How many edits there are."""
        return len(self.edits)

    def __iter__(self) -> Iterator[Edit]:
        """The edits in order of place."""
        return iter(self.edits)

    def growth(self) -> int:
        """How many bytes longer the edited text is."""
        return sum(len(e.text) - (e.end - e.start) for e in self.edits)

    def moved(self, offset: int) -> int:
        """Where a byte offset of the original lies in the edited text.

        An offset inside a replaced range moves to the end of what replaces it.
        """
        by = 0
        for edit in self.edits:
            if edit.start > offset or (edit.start == offset and edit.end > offset):
                break
            by += len(edit.text) - (edit.end - edit.start)
            if edit.end > offset:
                return edit.end + by
        return offset + by

    def origins(self, offsets: Iterable[int]) -> dict[int, int]:
        """Where byte offsets of the edited text lie in the original.

        An offset inside an inserted text is where it was inserted.
        """
        found: dict[int, int] = {}
        edits, by = iter(self.edits), 0
        edit = next(edits, None)
        for offset in sorted(set(offsets)):
            while edit is not None and edit.start + by + len(edit.text) <= offset:
                by += len(edit.text) - (edit.end - edit.start)
                edit = next(edits, None)
            inside = edit is not None and edit.start + by <= offset
            found[offset] = edit.start if inside and edit is not None else offset - by
        return found

    def pieces(self, size: int) -> Iterator[Piece]:
        """The edited text of an original of `size` bytes, piece by piece."""
        at = 0
        for edit in self.edits:
            if edit.start > at:
                yield Kept(at, edit.start)
            if edit.text:
                yield edit.text
            at = edit.end
        if size > at:
            yield Kept(at, size)

    def apply(self, data: bytes) -> bytes:
        """The edited text of `data`, which is held in memory."""
        return b"".join(
            data[p.start : p.end] if isinstance(p, Kept) else p for p in self.pieces(len(data))
        )

    def then(self, later: EditSet, size: int) -> EditSet:
        """One set that does what this one does, and then what `later` does to its result.

        `size` is the length in bytes of the original.
        """
        return _between(_slice(self.pieces(size), later), size)


def _slice(pieces: Iterator[Piece], edits: EditSet) -> Iterator[Piece]:
    """The pieces with `edits` applied; their offsets count along the pieces."""
    at = 0
    piece: Piece | None = next(pieces, None)
    for edit in edits:
        while piece is not None and at < edit.start:
            head, piece = _cut(piece, edit.start - at)
            at += _length(head)
            yield head
            if piece is None:
                piece = next(pieces, None)
        if edit.text:
            yield edit.text
        while piece is not None and at < edit.end:
            head, piece = _cut(piece, edit.end - at)
            at += _length(head)
            if piece is None:
                piece = next(pieces, None)
    if piece is not None:
        yield piece
    yield from pieces


def _length(piece: Piece) -> int:
    return piece.end - piece.start if isinstance(piece, Kept) else len(piece)


def _cut(piece: Piece, at: int) -> tuple[Piece, Piece | None]:
    """The first `at` bytes of a piece, and the rest if there is any."""
    if at >= _length(piece):
        return piece, None
    if isinstance(piece, Kept):
        middle = piece.start + at
        return Kept(piece.start, middle), Kept(middle, piece.end)
    return piece[:at], piece[at:]


def _between(pieces: Iterator[Piece], size: int) -> EditSet:
    """The edits that turn an original of `size` bytes into the pieces."""
    edits: list[Edit] = []
    at = 0
    text: list[bytes] = []
    for piece in pieces:
        if not isinstance(piece, Kept):
            text.append(piece)
            continue
        if text or piece.start > at:
            edits.append(Edit(at, piece.start, b"".join(text), content=True))
            text = []
        at = piece.end
    if text or size > at:
        edits.append(Edit(at, size, b"".join(text), content=True))
    return EditSet(edits)
