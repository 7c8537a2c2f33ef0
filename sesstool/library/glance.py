"""What is known of a session at a glance: by its beginning and its end, never by all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
from sesstool.formats.events import (
    Checkpoint,
    Event,
    Meaning,
    Message,
    Meta,
    StateChange,
    ToolCall,
    ToolResult,
)
from sesstool.formats.registry import ENOUGH, SAMPLE, by_name, detect
from sesstool.formats.terms import Origin, Score
from sesstool.formats.wording import BEGUN, INJECTED, OVER, STOPPED, STOPPED_WORDS
from sesstool.library.discover import Item
from sesstool.library.ends import MOST, Ends, open_ends
from sesstool.model.moments import moment
from sesstool.model.passages import is_sealed, named
from sesstool.model.units import flat
from sesstool.records.heal import MILD, Kind
from sesstool.records.recover import Record
from sesstool.records.source import bare_path
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
ENDS = ("answer", "prompt", "call", "question", "result", "compaction", "stopped", "unfinished")
"""What a session may end with; "call" where one has no result, "question" where it waits for a
person's, "stopped" where a person broke off what was done, "unfinished" where an agent answered
that tells when its turn is over, and has not."""

# How much of each end is read at first, and how far for a prompt or for what was done last.
_BRIEF, _FULL = (1 << 12, 1 << 15), (1 << 16, MOST)
# Behind these nothing is left to be done.
_DONE = ("answer", "compaction", "stopped")
# The longest title in cells, and what is looked at for it in characters.
_TITLE, _READ = 200, 2000
_MILD = MILD | {Kind.TOO_DEEP}
_TAG = re.compile(r"</?[a-z][\w-]*>")


class Glance(NamedTuple):
    """What the ends of a session tell; "", None and -1 stand for what they do not.

    `state` is one of STATES: "ok" means that no damage is seen at the ends, not that there is
    none, "repairable" that a call there has no result. `why` gives the reason in words. `score` is
    how sure the `format` is, in per cent, `reason` why. `title` is one line, safe to show: what
    the agent calls the session, else the first prompt, of at most 200 cells; other words are as
    recorded. `origin` is the session that it goes on from, `owner` the one that it is a part of.
    `ends` is one of ENDS, `torn` says that the last record is cut off. `records` is `exact` where
    the whole file was read, else an estimate. `open` names the tools of calls that have no result
    at the end. `good` is when the last record was written behind which no call and no prompt was
    open, at the byte offset `good_end` of its end. `sealed` says that a key was needed for it.
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
    open: tuple[str, ...] = ()
    good: datetime | None = None
    good_end: int = -1
    sealed: bool = False


def look(item: Item, keys: Keys | None = None, *, brief: bool = False) -> Glance:
    """What the ends of a session tell. Never raises, whatever its bytes are.

    `keys` open encrypted ones; they must not ask for a passphrase. What is both encrypted and
    compressed is read whole; of a compressed one the end is not looked at. A `brief` look, for who
    looks at thousands, reads 8 KB of each end where these tell enough; it tells no `score`,
    `reason` and `records`.
    """
    if not brief:
        return _seen(item, keys, *_FULL, counted=True)
    seen = _seen(item, keys, *_BRIEF, counted=False)
    return seen._replace(score=0, reason="", records=-1, exact=False)


def _seen(item: Item, keys: Keys | None, span: int, most: int, *, counted: bool) -> Glance:
    if item.trouble:
        return Glance("unreadable", item.trouble, item.format)
    path = item.path
    try:
        with open_ends(path, keys, span) as ends:
            if ends.size == 0:
                return _untold(item, "empty", "it holds no byte", records=0, exact=True)
            seen = _look(item, bare_path(path), ends, most, counted=counted)
            return seen._replace(sealed=True) if ends.sealed else seen
    except (NoMatchError, UsageError) as error:  # the latter is about the keys
        return _untold(item, "encrypted", _reason(error))
    except AuthError as error:
        return _untold(item, "damaged", _reason(error))
    except InputError as error:
        return _untold(item, "unreadable", _reason(error))


def _untold(item: Item, state: str, why: str, *, records: int = -1, exact: bool = False) -> Glance:
    """What is known of a session that does not tell more than its name."""
    return Glance(state, why, item.format, id=item.id, records=records, exact=exact)


def _look(item: Item, plain: Path, ends: Ends, most: int, *, counted: bool) -> Glance:
    try:
        form, score = _format(item, ends, plain)
    except NotASessionError as error:
        count = _count(ends) if counted else -1
        return _untold(item, "unknown", error.message, records=count, exact=ends.whole)
    seen = _told(form, ends, plain, most if form.known else 0, counted=counted)
    found = ends.records
    torn = ends.torn or (ends.cut and found[-1].value is None)
    state, why = _state(found, torn=torn)
    if state == "ok" and seen["ends"] == "call" and form.repairable:
        state, why = "repairable", "a tool call has no result"
    return Glance(
        state,
        why,
        torn=torn,
        score=score.value,
        reason=score.reason,
        records=_count(ends) if counted or ends.whole else -1,
        exact=ends.whole,
        **seen,
    )


def _count(ends: Ends) -> int:
    """About how many records there are, -1 where that cannot be told."""
    between = 0 if ends.whole else ends.between()
    return -1 if between < 0 else sum(bool(record.value) for record in ends.records) + between


def _format(item: Item, ends: Ends, plain: Path) -> tuple[Format, Score]:
    """The format by the home that a file lies in, else by its records. Raises NotASessionError."""
    while True:
        values = [record.value for record in ends.records if record.value][:SAMPLE]
        if item.format:
            form = by_name(item.format)
            score = form.score(values, plain)
            if score.value >= ENOUGH:
                return form.fitting(values), score
        try:
            form = detect(values, plain, "it")[0]
        except NotASessionError:
            if not ends.further():
                raise
        else:
            return form.fitting(values), form.score(values, plain)


def _reason(error: SesstoolError) -> str:
    """What is wrong, without the path."""
    return error.message.rpartition(": ")[2]


def _state(found: Sequence[Record], *, torn: bool) -> tuple[str, str]:
    """The state of a session that can be read, and why."""
    if torn:
        return "damaged", "its last record is cut off"
    kinds = {defect.kind for record in found for defect in record.defects} - _MILD
    if kinds:
        return "damaged", f"seen at its beginning or end: {', '.join(sorted(kinds))}"
    return "ok", "no damage is seen at its beginning and end"


def _told(form: Format, ends: Ends, plain: Path, most: int, *, counted: bool) -> dict[str, Any]:
    """What the records at both ends tell, by the names that a Glance has for it.

    For the title and for what was done last, up to `most` bytes of an end are read.
    """
    first, last = _meanings(form, ends.first), _meanings(form, ends.last)
    titles = _titles(form, [*first, *last])
    title = _best(titles) or _asked(first)
    if not title and most == _BRIEF[1]:
        title = _best(titles, 0)
    while not title and (more := _meanings(form, ends.further(most))):
        title = _best(_titles(form, more)) or _asked(more)
        first += more
    end, far = _ending(form, last or first), MOST if form.known else 0
    while _unsettled(end, counted=counted) and (more := _meanings(form, ends.back(far))):
        last[:0] = more
        end = _ending(form, last)
    told = [*first, *last]
    if ends.whole:
        end = _ending(form, told)
    begin = 0 if ends.whole or not last else len(first)  # where that begins in which `good` counts
    done = slice(begin, begin + end.good + 1)
    meanings = [one.meaning for one in told]
    values = [one.value for one in told]
    known = [moment(meaning.time) for meaning in meanings]
    times = list(filter(None, known))
    owner = form.owner(values, plain)
    own_id = form.session_id(plain) or ("" if owner else _first(m.session for m in meanings))
    return {
        "format": form.name,
        "id": own_id,
        "title": title or _named(form, told),
        "started": times[0] if times else None,
        "last": max(times, default=None),
        "model": _first(m.model for m in reversed(meanings)),
        "cwd": _first(m.cwd for m in meanings),
        "origin": next((origin for value in values if (origin := form.origin(value))), None),
        "owner": owner,
        "ends": end.word,
        "open": end.open,
        "good": max(filter(None, known[done]), default=None),
        "good_end": told[done][-1].end if end.good >= 0 else -1,
    }


class _Told(NamedTuple):
    """A record that can be read, and what it means."""

    value: dict[str, Any]
    meaning: Meaning
    end: int


def _meanings(form: Format, found: Iterable[Record]) -> list[_Told]:
    return [
        _Told(record.value, form.meaning(record.value), record.end)
        for record in found
        if record.value
    ]


def _first(words: Iterable[str]) -> str:
    return next(filter(None, words), "")


def _titles(form: Format, told: Iterable[_Told]) -> list[tuple[int, str]]:
    """What the agent calls a session, each time with a rank; see `Format.titled`."""
    ranked = (form.titled(one.value) for one in told)
    return [one for one in ranked if one[1]]


def _best(titles: Sequence[tuple[int, str]], least: int = 1) -> str:
    """The last of the titles of the highest rank, if that is `least`, in one line."""
    best = max((rank for rank, _ in titles), default=-1)
    if best < least:
        return ""
    return _line(next(words for rank, words in reversed(titles) if rank == best))


def _prompts(told: Iterable[_Told]) -> Iterator[str]:
    for event in chain.from_iterable(one.meaning.events for one in told):
        if isinstance(event, Message) and event.prompt and not event.hidden:
            yield flat(event.content, named)[:_READ]


def _asked(told: Iterable[_Told]) -> str:
    """What a session was first asked by a person, in one line."""
    own = (words for words in _prompts(told) if not INJECTED.match(words))
    return next(filter(None, map(_line, own)), "")


def _named(form: Format, told: Sequence[_Told]) -> str:
    """The next best title, where nobody named the session and the first prompt is not known."""
    asked = next(filter(None, _prompts(told)), "")
    return _best(_titles(form, told), 0) or _asked(told) or _line(_TAG.sub(" ", asked))


def _line(words: str) -> str:
    """Some words in one line, safe to show."""
    return elide(safe(" ".join(words[:_READ].split())), _TITLE)


class _Ending(NamedTuple):
    """What a session ends with; `good` is the index of the last record behind which all was done.

    That is -1 where there is none.
    """

    word: str
    open: tuple[str, ...] = ()
    good: int = -1


def _ending(form: Format, told: Sequence[_Told]) -> _Ending:
    """What the session itself ends with; see ENDS."""
    last, begun = "", False
    unanswered: dict[str, str] = {}
    good = sure = -1  # where all seems done, and where it was when the turn began
    own = any(not one.meaning.scope for one in told)  # without those of subagents
    paired = form.pairing != "none"  # else nothing tells which call has its result
    for at, (_, meaning, _) in enumerate(told):
        if own and meaning.scope:
            continue
        word = ""
        calls: dict[str, str] = {}
        results: list[str] = []
        for event in meaning.events:
            if isinstance(event, ToolCall) and not event.server:
                calls |= {event.id: event.name} if paired else {}
            elif isinstance(event, ToolResult):
                results.append(event.id)
            else:
                word = word or _spoken(event)
                begun = _begun(event, begun)
        word = "call" if calls else "result" if results else word
        if word in ("prompt", "compaction"):
            sure = good
        elif word == "call":
            good = sure  # what was said before it did not end the turn
        if unanswered and word in ("prompt", "answer", "stopped"):
            unanswered.clear()  # whoever goes on has left them
        unanswered |= calls
        for name in results:
            unanswered.pop(name, None)
        last = word or last
        if not unanswered and last in _DONE:
            good = at
    tools = tuple(dict.fromkeys(unanswered.values()))
    if unanswered:
        word = "question" if form.waits.issuperset(tools) else "call"
        return _Ending(word, tools, good)
    if begun and last == "answer":
        return _Ending("unfinished", (), sure)
    return _Ending("result" if last == "call" else last, (), good)


def _sign(block: Any) -> str:
    """Something in the place of a block without text, for it is not looked into."""
    return "" if is_sealed(block) else "…"


def _begun(event: Event, begun: bool) -> bool:
    """Whether a turn has begun and is not over, by what an agent says that tells it."""
    if isinstance(event, StateChange | Meta) and event.name in BEGUN | OVER:
        return event.name in BEGUN
    return begun


def _unsettled(end: _Ending, *, counted: bool) -> bool:
    """Whether more must be read of what was done last: for `good` too, where time is taken."""
    return not end.word or (counted and end.good < 0 and end.word not in _DONE)


def _spoken(event: Event) -> str:
    """What the words of an event are, "" where there are none."""
    if isinstance(event, Message):
        if event.hidden or event.role not in ("user", "assistant"):
            return ""
        words = flat(event.content, _sign)[:_READ].strip()
        if event.role == "assistant":
            return "answer" if words else ""
        if words.startswith(STOPPED_WORDS):
            return "stopped"
        return "prompt" if event.prompt else ""
    if isinstance(event, Checkpoint):
        return "compaction" if event.summary else ""
    stops = isinstance(event, StateChange | Meta) and event.name in STOPPED
    return "stopped" if stops else ""
