"""What the library draws: the columns of a session, the groups, and what is known of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from sesstool.api.listing import Glances
from sesstool.library import arrange
from sesstool.library.arrange import Groups, Query, Row
from sesstool.library.discover import Item
from sesstool.library.glance import STATES, Glance
from sesstool.report.amounts import size
from sesstool.text import from_here, safe
from sesstool.tui.lines import Line, Span, column

# Where there are fewer cells, some columns are left out.
_ROOMY = 80
STYLES = {
    "ok": "good",
    "in use": "strong",
    "encrypted": "dim",
    "unknown": "dim",
    "empty": "dim",
    "repairable": "warn",
    "damaged": "bad",
    "unreadable": "bad",
}


class Group(NamedTuple):
    """A row of the left pane: what it is called, which sessions it means, how many these are."""

    title: str
    query: Query = Query()
    total: int = -1
    depth: int = 0

    @property
    def place(self) -> tuple[str, int, frozenset[str]]:
        """By what it is known again when the groups were counted anew."""
        return self.title, self.depth, self.query.agents


def drawn(
    row: Row, cells: int, now: datetime, signs: Callable[[str], str], *, marked: bool
) -> Line:
    """The row of a session in the list."""
    item, glance = row
    state = arrange.state_of(row)
    about = "" if glance is None or glance.exact or glance.records < 0 else "~"
    fork = "↳ " if glance and glance.origin else ""
    part = "  " if item.is_part else ""
    title = glance.title if glance and glance.title else safe(item.name)
    return [
        Span("*" if marked else " ", "strong"),
        *columns(
            (state or "…", STYLES.get(state, "dim")),
            (moment(glance.started if glance else None, item, now), "dim"),
            (about + f"{glance.records:,}" if glance and glance.records >= 0 else "–", ""),
            (size(item.size), ""),
            (safe(arrange.agent_of(row)), "dim"),
            cells=cells,
        ),
        Span(signs(part + fork)),
        Span(title),
    ]


def columns(
    state: tuple[str, str],
    when: tuple[str, str],
    records: tuple[str, str],
    size: tuple[str, str],
    agent: tuple[str, str],
    *,
    cells: int,
) -> Iterator[Span]:
    """The columns before the title; where there is little room, fewer."""
    yield Span(column(state[0], 11), state[1])
    yield Span(column(when[0], 13), when[1])
    if cells >= _ROOMY:
        yield Span(column(records[0], 8, right=True), records[1])
    yield Span(column(size[0], 10, right=True) + "  ", size[1])
    if cells >= _ROOMY:
        yield Span(column(agent[0], 12) + " ", agent[1])


def groups(seen: Groups) -> Iterator[Group]:
    """The rows of the left pane."""
    total = sum(sum(projects.values()) for projects in seen.agents.values())
    yield Group("All sessions", Query(), total)
    for agent, projects in sorted(seen.agents.items()):
        yield Group(
            agent or "other places", Query(agents=frozenset({agent})), sum(projects.values()), 1
        )
        yield from _projects(agent, projects, seen.names)
    if seen.attention:
        yield Group("Needs attention", Query(states=frozenset(seen.attention)))
        for state, count in seen.attention.items():
            yield Group(state, Query(states=frozenset({state})), count, 1)
    if seen.encrypted:
        yield Group("Protection")
        yield Group("encrypted", Query(states=frozenset({"encrypted"})), seen.encrypted, 1)


def _projects(agent: str, counts: Mapping[str, int], names: Mapping[str, str]) -> Iterator[Group]:
    """The projects of an agent, each by the end of its path: as much of it as tells them apart."""
    folders: dict[str, set[str]] = {}
    for project in filter(None, counts):
        folders.setdefault(names.get(project, project), set()).add(project)
    called = Counter(Path(path).name for path in folders)
    found = []
    for path, projects in folders.items():
        name = Path(path).name
        title = f"{name} ({Path(path).parent})" if called[name] > 1 else name or path
        means = Query(agents=frozenset({agent}), projects=frozenset(projects))
        found.append(Group(title, means, sum(counts[p] for p in projects), 2))
    yield from sorted(found, key=lambda group: (-group.total, group.title))


def parsed(words: str) -> Query:
    """What a filter means. Raises ValueError in words for a person."""
    agents, states, text, since = set(), set(), [], None
    for word in words.split():
        name, colon, value = word.partition(":")
        if colon and name == "agent":
            agents |= set(value.split(","))
        elif colon and name == "state":
            states |= set(value.replace("-", " ").split(","))
        elif colon and name == "since":
            try:
                since = datetime.fromisoformat(value).astimezone(UTC)
            except ValueError as error:
                raise ValueError("since: takes a date such as 2026-03-01") from error
        else:
            text.append(word)
    if unknown := states - set(STATES):
        raise ValueError(f"state: takes one of {', '.join(STATES)}, not {min(unknown)}")
    return Query(frozenset(agents), states=frozenset(states), text=" ".join(text), since=since)


def moment(started: datetime | None, item: Item, now: datetime) -> str:
    """When a session began, else when it was last written, as people say it."""
    when = started or datetime.fromtimestamp(item.mtime / 1e9, UTC)
    age = now.date() - when.date()
    if not age:
        return f"today {when:%H:%M}"
    if timedelta(0) < age < timedelta(7):
        return f"{when:%a %H:%M}"
    return f"{when:%b %d %H:%M}" if when.year == now.year else f"{when:%Y-%m-%d}"


def details(item: Item, glances: Glances) -> Iterator[Line | Span | str]:
    """What is known of a session, line by line."""
    glance = glances.known(item) or Glance(arrange.state_of((item, None)))
    yield Span(f"{safe(glance.id or item.id)}  {from_here(item.path)}")
    yield Span(f"{'state':11}{glance.state or 'not looked at yet'}  {safe(glance.why)}")
    sure = f", {glance.score} % sure" if glance.score else ""
    form = safe(glance.format or item.format or "unknown")
    ends = f"ends with {_ARTICLES[glance.ends]}" if glance.ends in _ARTICLES else ""
    yield Span(f"{'format':11}{form}{sure}   {ends}{', torn' if glance.torn else ''}")
    if glance.started or glance.last:
        span = [f"{when:%Y-%m-%d %H:%M}" if when else "?" for when in (glance.started, glance.last)]
        yield Span(f"{'span':11}{span[0]} to {span[1]} UTC")
    if glance.cwd or item.project:
        yield Span(f"{'project':11}{safe(glance.cwd or item.project)}")
    if glance.model:
        yield Span(f"{'model':11}{safe(glance.model)}")
    if glance.origin:
        yield Span(f"{'fork of':11}{safe(glance.origin.session)}")
    examined = glances.examined(item)
    if examined is None:
        yield Span(f"{'findings':11}not validated (v validates)", "dim")
    else:
        counts = f"{examined.errors} errors, {examined.warnings} warnings"
        yield Span(f"{'findings':11}{counts}, {examined.safe} safe fixes: {safe(examined.why)}")


_ARTICLES = {
    "answer": "an answer",
    "unfinished": "an unfinished turn",
    "prompt": "a prompt",
    "call": "a call without result",
    "question": "a question to a person",
    "result": "a tool result",
    "compaction": "a compaction",
}
