"""What is known of a session at a glance: by its first and its last 64 KB, never by all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sesstool.errors import (
    AuthError,
    InputError,
    NoMatchError,
    NotASessionError,
    SesstoolError,
    UsageError,
)
from sesstool.formats.base import Format
from sesstool.formats.events import Checkpoint, Meaning, Message, ToolCall, ToolResult
from sesstool.formats.registry import SAMPLE, by_name, detect, is_likely
from sesstool.formats.terms import Origin
from sesstool.formats.wording import INJECTED
from sesstool.library.discover import Item
from sesstool.model.moments import moment
from sesstool.model.passages import named
from sesstool.model.units import flat
from sesstool.records.heal import MILD, Kind
from sesstool.records.opening import is_sealed, open_source
from sesstool.records.packed import beginning, codec_of
from sesstool.records.recover import Record, records
from sesstool.records.source import Source, bare_path, open_file, unreadable
from sesstool.text import elide, safe

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

STATES = (
    *("in use", "unreadable", "encrypted", "damaged", "repairable"),
    *("unknown", "empty", "ok"),
)
"""What a session is in, in one word: the first of these that is so."""
ATTENTION = ("unreadable", "damaged", "repairable", "in use")
"""Those that a person should look at."""
ENDS = ("answer", "prompt", "call", "question", "result", "compaction")
"""What a session may end with; "call" where one has no result, "question" where it waits for a
person's."""

_END = 1 << 16
# So far a record or a prompt is looked for that the first 64 KB do not hold.
_MOST = 1 << 20
_MAGIC = 1 << 12
# The longest title in cells, and what is looked at for it in characters.
_TITLE, _READ = 200, 2000
# Lines are counted in so many parts of a file, each of so many bytes.
_SAMPLES, _PART = 64, 1 << 14
_MILD = MILD | {Kind.TOO_DEEP}
_TAG = re.compile(r"</?[a-z][\w-]*>")


@dataclass(frozen=True, slots=True)
class Glance:
    """What the ends of a session tell; "", None and -1 stand for what they do not.

    `state` is one of STATES: "ok" means that no damage is seen at the ends, not that there is
    none, "repairable" that a call there has no result. `why` gives the reason in words. `score` is
    how sure the `format` is, in per cent, `reason` why. `title` is one line, safe to show: what
    the agent calls the session, else the first prompt, of at most 200 cells; other words are as
    recorded. `origin` is the session that it goes on from, `owner` the one that it is a part of.
    `ends` is one of ENDS, `torn` says that the last record is cut off. `records` is `exact` where
    the whole file was read, else an estimate.
    """

    state: str
    why: str = ""
    format: str = ""
    score: int = 0
    reason: str = ""
    id: str = ""
    title: str = ""
    started: datetime | None = None
    last: datetime | None = None
    model: str = ""
    cwd: str = ""
    origin: Origin | None = None
    owner: str = ""
    ends: str = ""
    torn: bool = False
    records: int = -1
    exact: bool = False


class _Part:
    """Some bytes of a file as a source of their own."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.name, self.codec = path.name, ""
        self.path: Path | None = path
        self.size = len(data)
        self._data = data

    def read(self, start: int, end: int) -> bytes:
        return self._data[start:end]

    def chunks(self) -> Iterator[bytes]:
        yield self._data


class _Ends(NamedTuple):
    """The whole lines at the beginning, and the rest or the lines at the end.

    `size` counts the bytes of all, `between` about how many lines stand between the two, each -1
    where that is not known. `whole` says that the head is all there is, `cut` that no newline ends
    the last line here, `torn` that a last record which is too long to be looked into is cut off.
    """

    head: bytes
    tail: bytes
    size: int
    between: int = 0
    whole: bool = False
    cut: bool = False
    torn: bool = False


def look(item: Item, keys: Keys | None = None) -> Glance:
    """What the ends of a session tell. Never raises, whatever its bytes are.

    `keys` open encrypted ones; they must not ask for a passphrase. What is both encrypted and
    compressed is read whole; of a compressed one the end is not looked at.
    """
    if item.trouble:
        return Glance("unreadable", item.trouble, item.format)
    seen = _look(item, keys, _END)
    told = seen.title or seen.exact or seen.state in ("unreadable", "encrypted")
    if told or (seen.format and not by_name(seen.format).repairable):
        return seen
    return _look(item, keys, _MOST)


def _look(item: Item, keys: Keys | None, most: int) -> Glance:
    path = item.path
    known = Glance("", format=item.format, id=item.id)
    try:
        ends = _ends(path, keys, most)
    except (NoMatchError, UsageError) as error:  # the latter is about the keys
        return replace(known, state="encrypted", why=_reason(error))
    except AuthError as error:
        return replace(known, state="damaged", why=_reason(error))
    except InputError as error:
        return replace(known, state="unreadable", why=_reason(error))
    if ends.size == 0:
        return replace(known, state="empty", why="it holds no byte", records=0, exact=True)
    found = [record for part in (ends.head, ends.tail) for record in records(_Part(path, part))]
    values = [record.value for record in found if record.value]
    head, plain = values[:SAMPLE], bare_path(path)
    count = len(values) + ends.between if ends.between >= 0 else -1
    seen = replace(known, records=count, exact=ends.whole)
    try:
        form = _format(item, head, plain).fitting(head)
    except NotASessionError as error:
        return replace(seen, state="unknown", why=error.message)
    torn = ends.torn or (ends.cut and found[-1].value is None)
    state, why = _state(found, torn=torn)
    score, reason = form.score(head, plain)
    seen = replace(seen, state=state, why=why, torn=torn, score=score, reason=reason)
    seen = _told(seen, form, values, plain)
    if seen.state == "ok" and seen.ends == "call" and form.repairable:
        return replace(seen, state="repairable", why="a tool call has no result")
    return seen


def _format(item: Item, values: Sequence[dict[str, Any]], plain: Path) -> Format:
    """The format by the home that a file lies in, else by its records. Raises NotASessionError."""
    if item.format and is_likely(form := by_name(item.format), values, plain):
        return form
    return detect(values, plain, "it")[0]


def _reason(error: SesstoolError) -> str:
    """What is wrong, without the path."""
    return error.message.rpartition(": ")[2]


def _ends(path: Path, keys: Keys | None, most: int) -> _Ends:
    """Read both ends of a file. Raises AuthError and InputError."""
    try:
        with open_file(path) as handle:
            magic = handle.read(_MAGIC)
            handle.seek(0)
            if not is_sealed(magic, path) and (codec := codec_of(magic)):
                data, whole = beginning(handle, codec, str(path), most)
                if whole:
                    return _Ends(data, b"", len(data), whole=True, cut=not data.endswith(b"\n"))
                return _Ends(_lines_of(data), b"", -1, -1)
    except OSError as error:
        raise unreadable("open", path, error) from error
    with open_source(path, keys) as source:
        return _both(source, most)


def _both(source: Source, most: int) -> _Ends:
    """The ends of a source."""
    size = source.size
    if size <= most + _END:
        data = source.read(0, size)
        return _Ends(data, b"", size, whole=True, cut=not data.endswith(b"\n"))
    head = _lines_of(source.read(0, most))
    data = tail = b""
    for span in (_END, _MOST):
        start = max(size - span, len(head))
        data = source.read(start, size)
        tail = data if start == len(head) else data.partition(b"\n")[2]
        if tail:
            break
    cut = not data.endswith(b"\n")
    # A last record so long is not looked into; a whole one ends with a brace.
    torn = cut and not tail and not data.rstrip().endswith(b"}")
    between = _between(source, len(head), size - len(tail))
    return _Ends(head, tail, size, between, cut=cut and bool(tail), torn=torn)


def _between(source: Source, start: int, end: int) -> int:
    """About how many lines end in a range of bytes: they are counted in parts of it."""
    step = max((end - start) // _SAMPLES, _PART)
    parts = (source.read(at, min(at + _PART, end)) for at in range(start, end, step))
    read = lines = 0
    for part in parts:
        read += len(part)
        lines += part.count(b"\n")
    return round(lines * (end - start) / read) if read else 0


def _lines_of(data: bytes) -> bytes:
    """The whole lines at the beginning of some bytes."""
    return data[: data.rfind(b"\n") + 1]


def _state(found: Sequence[Record], *, torn: bool) -> tuple[str, str]:
    """The state of a session that can be read, and why."""
    if torn:
        return "damaged", "its last record is cut off"
    kinds = {defect.kind for record in found for defect in record.defects} - _MILD
    if kinds:
        return "damaged", f"seen at its beginning or end: {', '.join(sorted(kinds))}"
    return "ok", "no damage is seen at its beginning and end"


def _told(seen: Glance, form: Format, values: Sequence[dict[str, Any]], plain: Path) -> Glance:
    """What the records at both ends tell."""
    meanings = [form.meaning(value) for value in values]
    times = [time for told in meanings if (time := moment(told.time))]
    owner = form.owner(values, plain)
    own_id = form.session_id(plain) or ("" if owner else _first(m.session for m in meanings))
    return replace(
        seen,
        format=form.name,
        id=own_id,
        title=_title(form, values, meanings),
        started=times[0] if times else None,
        last=max(times, default=None),
        model=_first(m.model for m in reversed(meanings)),
        cwd=_first(m.cwd for m in meanings),
        origin=next((origin for value in values if (origin := form.origin(value))), None),
        owner=owner,
        ends=_ending(form, meanings),
    )


def _first(words: Iterable[str]) -> str:
    return next(filter(None, words), "")


def _title(form: Format, values: Iterable[dict[str, Any]], meanings: Iterable[Meaning]) -> str:
    """A session in one line: what it is called, or else what it was first asked."""
    ranked = [titled for value in values if (titled := form.titled(value))[1]]
    best = max((rank for rank, _ in ranked), default=0)
    called = next((words for rank, words in reversed(ranked) if rank == best), "")
    if best > 0 and (line := _line(called)):
        return line
    asked = ""
    for event in chain.from_iterable(meaning.events for meaning in meanings):
        if isinstance(event, Message) and event.prompt and not event.hidden:
            words = flat(event.content, named)[:_READ]
            if not INJECTED.match(words) and (line := _line(words)):
                return line
            asked = asked or words
    return _line(called) or _line(_TAG.sub(" ", asked))


def _line(words: str) -> str:
    """Some words in one line, safe to show."""
    return elide(safe(" ".join(words[:_READ].split())), _TITLE)


def _ending(form: Format, meanings: Sequence[Meaning]) -> str:
    """What the session itself ends with; see ENDS."""
    last, unanswered = "", dict[str, str]()
    own = [meaning for meaning in meanings if not meaning.scope]  # without those of subagents
    for meaning in own or meanings:
        calls = [event for event in meaning.events if type(event) is ToolCall and not event.server]
        results = [event for event in meaning.events if type(event) is ToolResult]
        word = "call" if calls else "result" if results else _spoken(meaning)
        if word in ("prompt", "answer"):
            unanswered.clear()  # whoever goes on has left them
        unanswered |= {call.id: call.name for call in calls}
        for result in results:
            unanswered.pop(result.id, None)
        last = word or last
    if unanswered:
        return "question" if form.waits.issuperset(unanswered.values()) else "call"
    return "result" if last == "call" else last


def _spoken(meaning: Meaning) -> str:
    """What the words of a record are, "" where there are none."""
    for event in meaning.events:
        if isinstance(event, Checkpoint) and event.summary:
            return "compaction"
        if isinstance(event, Message) and not event.hidden:
            if event.prompt:
                return "prompt"
            if event.role == "assistant" and flat(event.content, named).strip():
                return "answer"
    return ""
