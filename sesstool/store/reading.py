"""Read a session back: sound lines fast, and what a crash left at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.errors import InputError
from sesstool.model.exact import loads, rounded
from sesstool.records.heal import decode, decode_any
from sesstool.records.lines import lines
from sesstool.records.recover import records
from sesstool.records.source import FileSource, open_file, unreadable
from sesstool.store.codec import Codec
from sesstool.store.facts import Message
from sesstool.store.history import History

# So much before a torn tail tells what the records of the file look like.
_CONTEXT = 1 << 16


class Tail(NamedTuple):
    """How a file ends.

    Its bytes [torn, size) are no record; `ended` says that a newline ends the rest.
    """

    torn: int
    size: int
    ended: bool


def opened(path: Path) -> FileSource:
    """The file of a session, to be read and closed. Raises InputError."""
    try:
        handle = open_file(path)
    except OSError as error:
        raise unreadable("open", path, error) from error
    return FileSource(str(path), path, handle, "")


def read_back(source: FileSource, codec: Codec) -> tuple[History, Tail]:
    """What the session in a file tells, and how it ends. Raises InputError for damage before that.

    A record that is whole but unknown is passed over. What is no record counts as torn where no
    record follows it.
    """
    history, torn, ended, last = History(codec), -1, True, 0
    for number, start, text, whole in lines(source):
        value = parsed(text)
        if value is None and not text.strip():
            last = start + len(text) + whole
        elif value is None and torn < 0:
            # A power cut may leave NULs in the place of a record's newline alone.
            told = text.rstrip(b"\0")
            torn = start
            if told != text and (value := parsed(told)) is not None:
                history.see(codec.decode(value), start)
                torn, ended = start + len(told), False
        elif value is None:
            pass
        elif torn >= 0:
            raise _damaged(source, number)
        else:
            history.see(codec.decode(value), start)
            last, ended = start + len(text) + whole, whole
    if torn >= 0 and _holds_record(source, torn):
        raise _damaged(source, 0)
    return history, Tail(last if torn < 0 else torn, source.size, ended)


def messages(source: FileSource, codec: Codec, start: int) -> Iterator[Message]:
    """The messages of a session from a byte offset on."""
    for _, _, text, _ in lines(source, start):
        value = parsed(text)
        message = codec.said(value) if value is not None else None
        if message is not None:
            yield message


def parsed(text: bytes) -> dict[str, Any] | None:
    """The object that a line is, None where it is none."""
    try:
        value = loads(text.decode()) if rounded(text) else decode(text)
    except ValueError:
        try:
            value = decode_any(text)
        except ValueError:
            return None
    return value if type(value) is dict else None


def _holds_record(source: FileSource, torn: int) -> bool:
    """Whether a record can be made out behind what is torn: that is another writer's work.

    Where a power cut left NULs in the place of a record's beginning, the rest is no record.
    """
    if source.read(torn, torn + 1) == b"\0":
        return False
    before = source.read(max(torn - _CONTEXT, 0), torn)
    begin = torn - len(before) + before.find(b"\n") + 1 if torn > _CONTEXT else 0
    part = _Part(source, begin)
    return any(r.value is not None and begin + r.start >= torn for r in records(part))


class _Part:
    """A source from a byte offset on."""

    codec = ""

    def __init__(self, source: FileSource, begin: int) -> None:
        self.path = source.path
        self.name, self._source, self._begin = source.name, source, begin
        self.size = source.size - begin

    def read(self, start: int, end: int) -> bytes:
        return self._source.read(start + self._begin, end + self._begin)

    def chunks(self) -> Iterator[bytes]:
        yield self.read(0, self.size)


def _damaged(source: FileSource, number: int) -> InputError:
    where = (
        f"before line {number} of {source.name}" if number else f"the last line of {source.name}"
    )
    return InputError(
        f"{where} is no record, and what follows it is: this is more than a torn tail",
        hint=f"sesstool repair --write {source.name} (it keeps what it cuts), then open it again",
    )
