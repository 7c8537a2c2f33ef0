"""What a search finds, as it comes: for people, one line a hit, or as JSON."""

from __future__ import annotations

import json
from typing import Any, Protocol

from sesstool.api.searching import Found, Hit, Part, Rest, Tally
from sesstool.library.arrange import owner_of, project_of
from sesstool.report.amounts import counted
from sesstool.text import elide, from_here, safe

_MATCH, _DIM, _BOLD = "1;31", "2", "1"
_TITLE = 100
_KINDS = {"call": "CALL", "result": "RESULT", "thinking": "THINKING", "compaction": "COMPACTION"}


class Report(Protocol):
    """Writes down what is found, part by part; all that is returned is safe to show."""

    def show(self, part: Part) -> str:
        """What is written of the next part."""
        ...

    def close(self, tally: Tally) -> str:
        """What is written at the end."""
        ...


class SearchText:
    """A paragraph for each session: what it is, its hits, and how to go on with it."""

    def __init__(self, *, color: bool = False) -> None:
        """Begin."""
        self._color = color
        self._end = ""

    def show(self, part: Part) -> str:
        """See `Report`."""
        if isinstance(part, Found):
            before, self._end = self._end, self._after(part)
            return before + self._session(part)
        if isinstance(part, Hit):
            head = (f"{part.line:>6}", _minute(part.time), who(part))
            return f"{'  '.join(filter(None, head))}  {_marked(part, color=self._color)}\n"
        return f"        {self._paint(_rest(part), _DIM)}\n"

    def close(self, tally: Tally) -> str:  # noqa: ARG002 - the summary is on stderr
        """See `Report`."""
        return self._end

    def _session(self, found: Found) -> str:
        glance = found.glance
        title = elide((glance.title if glance else "") or safe(found.item.name), _TITLE)
        project = safe((glance.cwd if glance else "") or project_of(found.row))
        part = "part of " * bool(owner_of(found.row))
        told = (found.format, project, from_here(found.item.path), part + safe(found.id))
        about = self._paint("  ".join(filter(None, told)), _DIM)
        return f"{self._paint(title, _BOLD)}\n  {about}\n"

    def _after(self, found: Found) -> str:
        return f"  resume: {found.resume}\n\n" if found.resume else "\n"

    def _paint(self, text: str, color: str) -> str:
        return _painted(text, color) if self._color else text


class SearchConcise:
    """One line a hit: `path:line: who: text`."""

    def __init__(self, *, color: bool = False) -> None:
        """Begin."""
        self._color = color
        self._path = ""

    def show(self, part: Part) -> str:
        """See `Report`."""
        if isinstance(part, Found):
            self._path = safe(str(part.item.path))
            return ""
        if isinstance(part, Hit):
            shown = _marked(part, color=self._color)
            return f"{self._path}:{part.line}: {who(part)}: {shown}\n"
        return f"{self._path}: {_rest(part)}\n"

    def close(self, tally: Tally) -> str:  # noqa: ARG002 - the summary is on stderr
        """See `Report`."""
        return ""


class SearchFiles:
    """The paths of the sessions alone."""

    def show(self, part: Part) -> str:
        """See `Report`."""
        return f"{safe(str(part.item.path))}\n" if isinstance(part, Found) else ""

    def close(self, tally: Tally) -> str:  # noqa: ARG002 - the summary is on stderr
        """See `Report`."""
        return ""


class SearchJson:
    """One document, written as it comes; `schemas/output/search.schema.json`."""

    def __init__(self) -> None:
        """Begin."""
        self._before = '{"schema_version": 1, "sessions": ['
        self._end = self._between = ""
        self._more = 0

    def show(self, part: Part) -> str:
        """See `Report`."""
        if isinstance(part, Rest):
            self._more = part.more
            return ""
        if isinstance(part, Hit):
            before, self._between = self._between, ", "
            return before + json.dumps(hit_json(part))
        before = self._ended() + self._before
        self._before, self._between, self._end = ",", "", "]"
        return f'{before}\n{json.dumps(session_json(part))[:-1]}, "hits": ['

    def close(self, tally: Tally) -> str:
        """See `Report`."""
        begin = "" if self._end else self._before
        return f'{begin}{self._ended()}\n], "totals": {json.dumps(_totals(tally))}}}\n'

    def _ended(self) -> str:
        more, self._more = self._more, 0
        return f'], "more": {more}}}' if self._end else ""


class SearchJsonl:
    """An object a hit, with its session; with `bare`, one a session."""

    def __init__(self, *, bare: bool = False) -> None:
        """Begin."""
        self._bare = bare
        self._session: dict[str, Any] = {}

    def show(self, part: Part) -> str:
        """See `Report`."""
        if isinstance(part, Found):
            self._session = session_json(part)
            return f"{json.dumps(self._session)}\n" if self._bare else ""
        if isinstance(part, Hit):
            return f"{json.dumps(hit_json(part) | {'session': self._session})}\n"
        return ""

    def close(self, tally: Tally) -> str:  # noqa: ARG002 - the summary is on stderr
        """See `Report`."""
        return ""


FORMATS = ("text", "concise", "json", "jsonl")
"""The names of the formats, the default first."""


def report(name: str, *, bare: bool, color: bool) -> Report:
    """The report of one of FORMATS; `bare` tells of sessions alone."""
    if name == "json":
        return SearchJson()
    if name == "jsonl":
        return SearchJsonl(bare=bare)
    if bare:
        return SearchFiles()
    return SearchText(color=color) if name == "text" else SearchConcise(color=color)


def who(hit: Hit) -> str:
    """Who said it, or which tool did: `user`, `CALL Bash`, `RESULT Bash`."""
    if hit.kind == "message":
        return safe(hit.name)
    return f"{_KINDS.get(hit.kind, 'NOTE')} {safe(hit.name)}".rstrip()


def session_json(found: Found) -> dict[str, Any]:
    """A session as the schema describes it."""
    glance = found.glance
    return {
        "path": str(found.item.path),
        "format": found.format,
        "id": found.id or None,
        "part": bool(owner_of(found.row)),
        "title": (glance.title if glance else "") or None,
        "project": (glance.cwd if glance else "") or project_of(found.row) or None,
        "resume": found.resume or None,
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """A hit as the schema describes it."""
    return {
        "line": hit.line,
        "byte_start": hit.start,
        "time": hit.time or None,
        "kind": hit.kind,
        "name": hit.name or None,
        "pointer": hit.pointer,
        "scope": hit.scope or None,
        "before": hit.excerpt.before,
        "match": hit.excerpt.match,
        "after": hit.excerpt.after,
    }


def summary(tally: Tally) -> str:
    """What the search came to, in one line."""
    told = f"{counted(tally.hits, 'hit')} in {counted(tally.found, 'session')}"
    return f"{told}; {tally.sessions:,} searched"


def _rest(rest: Rest) -> str:
    return f"… and up to {counted(rest.more, 'line')} more; --limit 0 shows all"


def _marked(hit: Hit, *, color: bool) -> str:
    """The excerpt in one line, with marks around the match."""
    before, match, after = map(safe, hit.excerpt)
    if not match:
        return f"{before}{after}"
    return f"{before}«{_painted(match, _MATCH) if color else match}»{after}"


def _painted(text: str, color: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m"


def _minute(time: str) -> str:
    return safe(time[:16].replace("T", " "))


def _totals(tally: Tally) -> dict[str, int]:
    return {
        "sessions": tally.sessions,
        "found": tally.found,
        "hits": tally.hits,
        "encrypted": tally.locked,
        "unreadable": tally.unread,
        "records_unread": tally.records,
    }
