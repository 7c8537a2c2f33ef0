"""A session opened to be looked at: any line at once, however large the file, and what it says."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sesstool.errors import InputError, NotASessionError
from sesstool.formats.events import Meaning
from sesstool.model.outline import Outline
from sesstool.model.passages import Passage, passages
from sesstool.model.query import Query
from sesstool.model.session import Session, open_session
from sesstool.model.ways import leaves, way
from sesstool.records.opening import look_at, open_source
from sesstool.records.places import Places, Span
from sesstool.records.recover import records
from sesstool.records.source import FileSource, bare_path

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

# A longer line is not decoded to be shown; its bytes are there all the same.
LONGEST = 8 << 20
_KEPT = 512
_KEPT_SIZE = 1 << 16
# Lines at the head in which the first prompt is looked for.
_HEAD = 50
# Bytes at both ends by which a file is known again that has grown.
_SAMPLE = 256


@dataclass(slots=True)
class Look:
    """What a line holds.

    `passages` are what it says; `fault` tells in a few words what keeps it from being read, ""
    where nothing does. `value` is its last record, None where it has none.
    """

    span: Span
    passages: tuple[Passage, ...] = ()
    time: str = ""
    scope: str = ""
    fault: str = ""
    value: dict[str, Any] | None = None

    @property
    def size(self) -> int:
        """The bytes of the line, without its LF."""
        return self.span.end - self.span.start


class View:
    """A session whose lines are known by their byte offsets.

    `format` is what it was taken for, "" where it is no session that sesstool knows: its lines
    are then shown as they are. `outline` is filled by `read`, in the background.
    """

    def __init__(
        self, source: FileSource, session: Session | None, places: Places, *, longer: bool = False
    ) -> None:
        """Use `open_view`."""
        self.source = source
        self.longer = longer
        """Whether it is a file that was open before, and only has more bytes now."""
        self._sample = _sample(source, source.size)
        self.session = session
        self.places = places
        self.outline = Outline(session) if session else None
        self.look = lru_cache(maxsize=_KEPT)(self._kept_look)
        self._large = lru_cache(maxsize=2)(self._look)

    @property
    def path(self) -> Path:
        """The file."""
        assert self.source.path is not None
        return self.source.path

    @property
    def format(self) -> str:
        """The name of the format, "" where none is known."""
        return self.session.format.name if self.session else ""

    @property
    def id(self) -> str:
        """The session's id, else the name of its file."""
        session = self.session
        told = session.format.session_id(self.path) or session.id if session else ""
        return told or bare_path(self.path).stem

    def read(self) -> Iterator[float]:
        """Count the lines, then outline the session; yields how much is done, from 0 to 1."""
        size = max(self.source.size, 1)
        for _ in self.places.count():
            yield 0.0
        if self.outline is not None:
            for reached in self.outline.read():
                yield reached / size
        yield 1.0

    def raw(self, start: int, most: int = LONGEST) -> bytes:
        """The bytes of the line at an offset without its LF, at most so many."""
        span = self.places.span(start)
        return self.source.read(span.start, min(span.end, span.start + most))

    def title(self) -> str:
        """The first line of the first prompt, "" where the head of the session has none."""
        start: int | None = 0 if self.source.size else None
        for _ in range(_HEAD):
            if start is None:
                break
            for passage in self.look(start).passages:
                if passage.kind == "message" and passage.name == "user":
                    return passage.text.strip().split("\n", 1)[0][:80]
            start = self.places.after(start)
        return ""

    def _kept_look(self, start: int, end: int = -1) -> Look:
        span = self._span(start, end)
        if span.end - span.start > _KEPT_SIZE:
            self.look.cache_clear()  # few of them are ever asked for again
            return self._large(start, end)
        return self._look(start, end)

    def _span(self, start: int, end: int) -> Span:
        """The line at an offset, or the bytes up to `end`: one record of several in a line."""
        return self.places.span(start) if end < 0 else Span(start, end, end)

    def _look(self, start: int, end: int = -1) -> Look:
        span = self._span(start, end)
        look = Look(span)
        if look.size > LONGEST:
            look.fault = f"a line of {look.size:,} bytes, too long to be shown"
            return look
        if self.session is None:
            look.fault = "no session that sesstool knows"
            return look
        said: list[Passage] = []
        for record in records(_Line(self.source, span)):
            if record.value is None:
                size = record.end - record.start
                look.fault = f"{size:,} bytes are no record" if size else look.fault
                continue
            meaning = self.session.format.meaning(record.value)
            look.value = record.value
            look.time = look.time or meaning.time
            look.scope = look.scope or meaning.scope
            said += passages(record.value, meaning)
        look.passages = tuple(said)
        return look

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """What a record means, in the session's format."""
        assert self.session is not None
        return self.session.format.meaning(value)

    def sift(self, query: Query, first: int = 0) -> Iterator[tuple[int, bool]]:
        """Each line from an offset on by its own, and whether what it says is looked for."""
        sieve = query.sieve()
        start = first if first < self.source.size else None
        while start is not None:
            span = self.places.span(start)
            raw = self.source.read(span.start, span.end) if sieve else b""
            if sieve and not sieve.search(raw):
                yield start, False
            elif span.end - span.start > LONGEST:
                yield start, bool(sieve)  # as far as its bytes tell
            else:
                look = self._look(start)
                yield start, query.matches(look.time, look.scope, look.passages, look.fault)
            start = span.next if span.next < self.source.size else None

    def leaves(self) -> list[int]:
        """The lines of the leaves of the session's branches, the live one first."""
        session = self.session
        if session is None or session.graph is None:
            return []
        return [leaf.line for leaf in leaves(session, session.graph)]

    def way(self, line: int) -> array[int] | None:
        """The offsets of the records on the branch whose leaf is a line's record."""
        session = self.session
        if session is None or session.graph is None:
            return None
        graph = session.graph
        for row in range(len(graph)):
            if graph.place(row).line == line:
                on_way = way(session, graph, row)
                return array("q", (graph.place(n).start for n, on in enumerate(on_way) if on))
        return None

    def state(self, start: int, passage: Passage) -> str:
        """The state of a call: completed, failed, pending or uncertain; "" while nobody knows."""
        outline = self.outline
        if outline is None or not outline.done or passage.kind != "call":
            return ""
        if (call := outline.unanswered.get((start, passage.pointer))) is not None:
            assert self.session is not None
            return self.session.tracker.evidence(call.id, self.source, call.scope).state
        result = self.result(start, passage)
        if result is None:
            return ""
        answers = [p for p in self.look(result).passages if p.id == passage.id]
        return "failed" if any(p.error for p in answers if p.kind == "result") else "completed"

    def result(self, start: int, passage: Passage) -> int | None:
        """The offset of the line with the result of a call; None where there is none."""
        if self.outline is None:
            return None
        found = [at for at in self.outline.results.find(passage.id) if self._has(at, passage.id)]
        return next((place for place in found if place >= start), found[0] if found else None)

    def call(self, start: int, passage: Passage) -> int | None:
        """The offset of the line with the call of a result; None where there is none."""
        if self.outline is None:
            return None
        found = [place for place in self.outline.calls.find(passage.id) if place <= start]
        return next((place for place in reversed(found) if self._has(place, passage.id)), None)

    def _has(self, start: int, call_id: str) -> bool:
        return any(passage.id == call_id for passage in self.look(start).passages)

    def grown(self, keys: Keys | None = None) -> View | None:
        """A fresh view if the file is no longer the one that was opened; None if it is.

        Raises InputError where it is gone.
        """
        try:
            now = look_at(self.path)
        except OSError as error:
            raise InputError(f"{self.path} is gone", hint="esc goes back") from error
        was = self.source.opened
        same = (now.st_dev, now.st_ino) == (was.st_dev, was.st_ino)
        if same and (now.st_size, now.st_mtime_ns) == (was.st_size, was.st_mtime_ns):
            return None
        appended = same and now.st_size > was.st_size and not self.source.stored
        return open_view(self.path, keys, earlier=self if appended else None)

    def begins(self, source: FileSource) -> bool:
        """Whether a longer source begins as this one does, as far as a sample of bytes tells."""
        return _sample(source, self.source.size) == self._sample

    def close(self) -> None:
        """Close the file."""
        self.source.close()

    def __enter__(self) -> Self:
        """Close on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


class _Line:
    """One line of a source, as a source whose offsets are those of the whole."""

    def __init__(self, source: FileSource, span: Span) -> None:
        self.name, self.path, self.codec = source.name, source.path, ""
        self._data = source.read(span.start, span.end)
        self.size = len(self._data)

    def read(self, start: int, end: int) -> bytes:
        return self._data[start:end]

    def chunks(self) -> Iterator[bytes]:
        yield self._data


def open_view(
    path: Path, keys: Keys | None = None, *, format_name: str = "", earlier: View | None = None
) -> View:
    """Open a session to look at it; nothing but its head is read.

    `earlier` is a view of the same file when it was shorter. A file that is no session is opened
    all the same. Raises InputError where it cannot be read and AuthError where no key opens it.
    """
    source = open_source(path, keys)
    try:
        session = open_session(source, format_name) if source.size else None
    except NotASessionError:
        session = None
    except BaseException:
        source.close()
        raise
    if earlier is not None and not earlier.begins(source):
        earlier = None  # written anew, in its place
    places = Places(source, earlier.places if earlier else None)
    return View(source, session, places, longer=earlier is not None)


def _sample(source: FileSource, size: int) -> bytes:
    """Some bytes of the first `size`, of their beginning and their end."""
    return source.read(0, min(_SAMPLE, size)) + source.read(max(size - _SAMPLE, 0), size)
