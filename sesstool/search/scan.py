"""One session searched from its first byte to its last; only lines that may match are decoded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool.errors import InputError
from sesstool.formats.base import Format
from sesstool.formats.registry import SAMPLE, by_name, detect, is_likely
from sesstool.model.passages import Passage, passages
from sesstool.records.documents import ENDING, is_document
from sesstool.records.heal import decode
from sesstool.records.opening import holder_of, is_sealed, open_source
from sesstool.records.packed import codec_of
from sesstool.records.recover import records, utf16
from sesstool.records.source import CHUNK, Source, bare_path, unreadable
from sesstool.search.wanted import Excerpt, Wanted, excerpt, said

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

LONGEST = 64 << 20
"""A longer line is not searched, which is told."""
# So many records tell that a file is of the agent in whose home it lies.
_FEW = 8
_SHORT = 1 << 13
_MAGIC = 1 << 12
# So far before a result the call is looked for that it answers.
_BACK = 16 << 20
# Of a line that is longer than what is read at once, so much is read again: no query is longer.
_OVERLAP = 1 << 12

Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that says what is looked for.

    `line` counts from 1, `start` is the byte offset of its record. `kind` and `pointer` are those
    of a `Passage`, `name` is the role of a message or the tool of a call or a result, "" where it
    is not known. `time` is as recorded, `scope` the subagent.
    """

    line: int
    start: int
    time: str
    kind: str
    name: str
    pointer: str
    scope: str
    excerpt: Excerpt


@dataclass(slots=True)
class Searched:
    """What a search of one file came to.

    `more` counts the lines behind the last hit asked for whose bytes may match, `unread` the
    damaged records whose bytes may, `long` the lines that are too long. `format` is "" as long as
    nobody had to know.
    """

    path: Path
    format: str = ""
    hits: int = 0
    more: int = 0
    unread: int = 0
    long: int = 0
    size: int = 0


class Scan:
    """The search of one file that is open."""

    def __init__(
        self, path: Path, read: Read, now: os.stat_result, size: int = -1, *, home: str = ""
    ) -> None:
        """Begin; `read` gives so many bytes from an offset on, `now` is what stat shows.

        `size` counts the bytes of what is packed in the file, -1 where nothing is. `home` names the
        format of the agent in whose home it lies, or is "".
        """
        self._path, self._read, self.now = path, read, now
        self.packed = size >= 0
        self.size = size if self.packed else now.st_size
        self._home = home
        self.searched = Searched(path)
        self._tools: dict[str, str] = {}
        self._format: Format | None = None
        self._counted, self._line = 0, 1

    def blocks(self, at: int = 0) -> Iterator[tuple[int, bytes, int]]:
        """The bytes in blocks: where each begins, its bytes, and how many are whole lines."""
        size = CHUNK
        while data := self._read(at, size):
            end = data.rfind(b"\n") + 1
            if len(data) < size:
                yield at, data, len(data)
                at += len(data)
                break
            if end:
                yield at, data, end
                at, size = at + end, CHUNK
            elif size < LONGEST:
                size *= 4
            else:
                self.searched.long += 1
                at, size = _behind(self._read, at + len(data)), CHUNK
        self.searched.size = at

    def hits(self, wanted: Wanted, limit: int, context: int) -> Iterator[Hit]:
        """The hits in file order, at most so many where `limit` is not 0. Raises InputError."""
        searched, sieve = self.searched, wanted.sieve
        for at, data, end in self.blocks():
            if not at and utf16(data[:256]):
                raise InputError(
                    f"{self._path} is UTF-16, which no agent reads",
                    hint="sesstool repair turns it into UTF-8",
                )
            for start, stop in sieve.lines(data, end):
                if limit and searched.hits >= limit:
                    searched.more += 1
                    continue
                raw = data[start:stop]
                try:
                    value = decode(raw)
                except ValueError:
                    value = None
                if type(value) is dict:
                    yield from self._taken(self._of(wanted, value, at + start, context), limit)
                elif not raw.isspace() and raw:
                    yield from self._damaged(wanted, at + start, limit, context)
                    return

    def hits_at(
        self, wanted: Wanted, offsets: Iterable[int], limit: int, context: int
    ) -> Iterator[Hit]:
        """The same, of the lines that begin at some offsets alone, in their order."""
        searched = self.searched
        for start in offsets:
            if limit and searched.hits >= limit:
                searched.more += 1
                continue
            raw = self._line_at(start)
            try:
                value = decode(raw) if wanted.sieve.may(raw) else None
            except ValueError:
                continue  # the file is no longer what it was
            if type(value) is dict:
                yield from self._taken(self._of(wanted, value, start, context), limit)

    def _line_at(self, start: int) -> bytes:
        size = _SHORT
        while True:
            data = self._read(start, size)
            line, end, _ = data.partition(b"\n")
            if end or len(data) < size:
                return line
            size *= 4

    def part(self, start: int, end: int) -> bytes:
        """The bytes [start, end). Raises InputError."""
        return self._read(start, end - start)

    def texts(self, start: int) -> Iterator[tuple[int, int, list[str] | None]]:
        """What each line from an offset on says: its offsets, and its texts in their order.

        None stands for a line that is no record, or cannot be looked into. Raises InputError.
        """
        long = 0
        for at, data, end in self.blocks(start):
            done = 0
            while done < end:
                stop = data.find(b"\n", done, end)
                stop = end if stop < 0 else stop
                if stop > done:
                    yield at + done, at + stop, self._texts(data[done:stop])
                done = stop + 1
            if self.searched.long > long:
                long = self.searched.long
                yield at, at, None

    def _texts(self, raw: bytes) -> list[str] | None:
        try:
            value = decode(raw)
        except ValueError:
            return [] if raw.isspace() else None
        if type(value) is not dict:
            return None
        told = passages(value, self.format.meaning(value))
        return [
            text
            for passage in told
            for text in (said(passage), passage.name if passage.kind == "call" else "")
            if text
        ]

    def _damaged(self, wanted: Wanted, since: int, limit: int, context: int) -> Iterator[Hit]:
        """The rest of the hits, where lines are no records: the slow way, from its beginning."""
        searched, sieve = self.searched, wanted.sieve
        for record in records(_Bytes(self._path, self._read, self.size)):
            if record.end <= since:
                continue
            raw = self.part(record.start, record.end)
            if not sieve.may(raw):
                continue
            if record.value is None:
                searched.unread += bool(raw.strip())
            elif limit and searched.hits >= limit:
                searched.more += 1
            else:
                found = self._of(wanted, record.value, record.start, context, record.line)
                yield from self._taken(found, limit)

    def _taken(self, found: Iterator[Hit], limit: int) -> Iterator[Hit]:
        """Those of the hits that are still asked for."""
        for hit in found:
            if limit and self.searched.hits >= limit:
                self.searched.more += 1
                return
            self.searched.hits += 1
            yield hit

    def _of(
        self, wanted: Wanted, value: dict[str, Any], start: int, context: int, line: int = 0
    ) -> Iterator[Hit]:
        """The hits in a record."""
        meaning = self.format.meaning(value)
        if not wanted.at(meaning.time):
            return
        for passage in passages(value, meaning):
            span = wanted.within(passage, lambda call: self._tool(call, start))
            if span is None:
                continue
            yield Hit(
                line or self._number(start),
                start,
                meaning.time,
                passage.kind,
                passage.name or self._tool(passage.id, start),
                passage.pointer,
                meaning.scope,
                excerpt(said(passage), span, context),
            )

    @property
    def format(self) -> Format:
        """The format, by the head of the file. Raises NotASessionError."""
        if self._format is None:
            source = _Bytes(self._path, self._read, self.size)
            found = (value for record in records(source) if (value := record.value))
            values = list(islice(found, _FEW if self._home else SAMPLE))
            plain = bare_path(self._path)
            form = by_name(self._home) if self._home else None
            if form is None or not is_likely(form, values, plain):
                form = detect([*values, *islice(found, SAMPLE)], plain, str(self._path))[0]
            self._format = form.fitting(values)
            self.searched.format = form.name
        return self._format

    def _number(self, start: int) -> int:
        """The number of the line at an offset; they are asked for in file order."""
        while self._counted < start:
            data = self._read(self._counted, min(start - self._counted, CHUNK))
            if not data:
                break
            self._line += data.count(b"\n")
            self._counted += len(data)
        return self._line

    def _tool(self, call: str, before: int) -> str:
        """The tool that was called with an id before an offset, "" where none is found."""
        if call and call not in self._tools:
            self._tools[call] = next(filter(None, self._named(call, before)), "")
        return self._tools.get(call, "")

    def _named(self, call: str, end: int) -> Iterator[str]:
        """The tools of the calls with an id, the last one before an offset first."""
        sign = call.encode("utf-8", "surrogatepass")
        least = max(end - _BACK, 0)
        while end > least:
            start = max(end - CHUNK, 0)
            data = self._read(start, end - start)
            first = data.find(b"\n") + 1 if start else 0
            at = data.rfind(sign, first)
            while at >= 0:
                begin = data.rfind(b"\n", first, at) + 1 or first
                yield self._called(data[begin:].partition(b"\n")[0], call)
                at = data.rfind(sign, first, begin)
            if not first and start:
                return  # a line of many bytes, which is not looked into
            end = start + first if start else 0

    def _called(self, raw: bytes, call: str) -> str:
        try:
            value = decode(raw)
        except ValueError:
            return ""
        if type(value) is not dict:
            return ""
        said: Iterator[Passage] = passages(value, self.format.meaning(value))
        return next((p.name for p in said if p.kind == "call" and p.id == call), "")


def may_hold(path: str, wanted: Wanted) -> bool:
    """Whether a file may say it, as its bytes tell; also where they are packed, or no UTF-8.

    Most files do not, and this is all that is done with them. Of a session that is no file of its
    own it is not known. Raises OSError.
    """
    may = wanted.sieve.may
    if path.endswith(ENDING) and is_document(Path(path)):
        return True
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except NotADirectoryError:
        if holder_of(Path(path)):
            return True
        raise
    try:
        data = os.pread(descriptor, CHUNK, 0)
        if is_sealed(data[:_MAGIC]) or codec_of(data) or utf16(data[:_MAGIC]):
            return True
        at = 0
        while data:
            if may(data):
                return True
            if len(data) < CHUNK:
                break
            at += data.rfind(b"\n") + 1 or CHUNK - _OVERLAP
            data = os.pread(descriptor, CHUNK, at)
    finally:
        os.close(descriptor)
    return False


@contextmanager
def opened(path: Path, keys: Keys | None = None, *, home: str = "") -> Iterator[Scan]:
    """A file, open to be searched. Raises InputError and AuthError."""
    with ExitStack() as stack:
        if holder_of(path):
            source = stack.enter_context(open_source(path))
            inside = partial(_read_from, source)
            yield Scan(path, inside, source.opened, source.size, home=home)
            return
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            stack.callback(os.close, descriptor)
            head = os.pread(descriptor, _MAGIC, 0)
            now = os.fstat(descriptor)
        except OSError as error:
            raise unreadable("open", path, error) from error
        if is_sealed(head, path) or codec_of(head):
            source = stack.enter_context(open_source(path, keys))
            inside = partial(_read_from, source)
            yield Scan(path, inside, now, source.size, home=home)
            return

        def read(at: int, size: int) -> bytes:
            try:
                return os.pread(descriptor, size, at)
            except OSError as error:
                raise unreadable("read", path, error) from error

        yield Scan(path, read, now, home=home)


def _read_from(source: Source, at: int, size: int) -> bytes:
    return source.read(at, at + size)


def _behind(read: Read, at: int) -> int:
    """The offset behind the line that goes on at one."""
    while data := read(at, CHUNK):
        end = data.find(b"\n") + 1
        if end:
            return at + end
        at += len(data)
    return at


class _Bytes:
    """What is read as a source: its first `size` bytes."""

    def __init__(self, path: Path, read: Read, size: int) -> None:
        self.name, self.codec = str(path), ""
        self.path: Path | None = path
        self.size = size
        self._read = read

    def read(self, start: int, end: int) -> bytes:
        return self._read(start, max(min(end, self.size) - start, 0))

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, self.size, CHUNK):
            yield self.read(start, start + CHUNK)
