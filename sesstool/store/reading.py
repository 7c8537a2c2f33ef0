"""Read a session back: sound lines fast, and what a crash left at the end."""

from __future__ import annotations

import shlex
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.errors import InputError, UsageError
from sesstool.model.exact import loads, rounded
from sesstool.records.heal import decode, decode_any
from sesstool.records.lines import lines
from sesstool.records.recover import records
from sesstool.records.source import SEALED, FileSource, open_file, unreadable
from sesstool.store.codec import Codec, compact
from sesstool.store.facts import Checkpoint, Fact, Message, Said
from sesstool.store.history import History

# So much before a torn tail tells what the records of the file look like.
_CONTEXT = 1 << 16
# Messages of more bytes than that are read twice, and not held before it is known which are sent.
_MOST = 1 << 26


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


def refuse_sealed(path: Path) -> None:
    """Raise InputError where the session of a file that is not there is encrypted."""
    sealed = path.with_name(path.name + SEALED)
    if sealed.exists():
        raise InputError(
            f"the session is encrypted: {sealed}",
            hint=f"sesstool decrypt --write {shlex.quote(str(sealed))}, then open it again",
        )


class _Kept:
    """The messages that a resume sends, while they are read for the history; bounded.

    None is held where they take more than `_MOST` bytes: then they are read once more.
    """

    def __init__(self) -> None:
        self.messages: list[Message] | None = []
        self._sizes = array("q")
        self._first = self._held = 0

    def see(self, fact: Fact | None, history: History, size: int) -> None:
        if self.messages is None:
            return
        if isinstance(fact, Said):
            self.messages.append(fact.message)
            self._sizes.append(size)
            self._held += size
        elif isinstance(fact, Checkpoint):
            # A later checkpoint may keep more than an earlier one.
            before = history.first - self._first
            self._held -= sum(self._sizes[: max(before, 0)])
            del self.messages[: max(before, 0)], self._sizes[: max(before, 0)]
            self._first = history.first
            if before < 0:
                self.messages = None
        if self._held > _MOST:
            self.messages = None


def resumed(source: FileSource, codec: Codec) -> tuple[History, Iterable[Message]]:
    """What the session in a file tells, and its messages from the view on. Raises InputError."""
    kept = _Kept()
    history, _ = read_back(source, codec, kept)
    again = messages(source, history.codec, history.view)
    return history, again if kept.messages is None else kept.messages


def read_back(source: FileSource, codec: Codec, kept: _Kept | None = None) -> tuple[History, Tail]:
    """What the session in a file tells, and how it ends. Raises InputError for damage before that.

    A record that is whole but unknown is passed over. What is no record counts as torn where no
    record follows it.
    """
    history, torn, ended, last = History(codec), -1, True, 0

    def take(value: dict[str, Any], start: int, size: int) -> None:
        fact = codec.decode(value)
        history.see(fact, start)
        if kept is not None:
            kept.see(fact, history, size)

    for number, start, text, whole in lines(source):
        value = parsed(text)
        if value is not None and torn >= 0:
            raise _damaged(source, number)
        if value is not None:
            take(value, start, len(text))
            last, ended = start + len(text) + whole, whole
        elif not text.strip():
            last = start + len(text) + whole
        elif torn < 0:
            torn = start
            # A power cut may leave NULs in the place of a record's newline alone.
            told = text.rstrip(b"\0")
            if told != text and (value := parsed(told)) is not None:
                take(value, start, len(told))
                torn, ended = start + len(told), False
    if torn >= 0 and _holds_record(source, torn):
        raise _damaged(source, 0)
    if history.records and history.last is None:
        raise InputError(
            f"{source.name} holds no record of a {codec.format.name} session {codec.session_id}",
            hint=f"sesstool show {shlex.quote(source.name)} tells what it is; in another format or "
            "by another id it may be opened",
        )
    return history, Tail(last if torn < 0 else torn, source.size, ended)


def messages(source: FileSource, codec: Codec, start: int) -> Iterator[Message]:
    """The messages of a session from a byte offset on."""
    for _, _, text, _ in lines(source, start):
        value = parsed(text) or parsed(text.rstrip(b"\0"))  # as `read_back` takes the last one
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


def plain(given: bytes | Message) -> dict[str, Any]:
    """A line or a message as it is read back. Raises UsageError where it is not."""
    value = parsed(given if isinstance(given, bytes) else compact(dict(given)))
    if value is None:
        raise UsageError("a message is nested too deep", hint="keep such a value as text")
    return value


def _holds_record(source: FileSource, torn: int) -> bool:
    """Whether a record can be made out behind what is torn: that is another writer's work.

    Where a power cut left NULs in the place of a record's beginning, the rest is no record.
    """
    if source.read(torn, torn + 1) == b"\0":
        return False
    before = source.read(max(torn - _CONTEXT, 0), torn)
    begin = torn - len(before) + before.find(b"\n") + 1 if torn > _CONTEXT else 0
    return any(r.value is not None and r.start >= torn for r in records(source, begin))


def _damaged(source: FileSource, number: int) -> InputError:
    where = (
        f"before line {number} of {source.name}" if number else f"the last line of {source.name}"
    )
    return InputError(
        f"{where} is no record, and what follows it is: this is more than a torn tail",
        hint=f"sesstool repair --write {source.name} (it keeps what it cuts), then open it again",
    )
