"""Lists of sessions: which are meant, in which order, whose parts they are, and how many of each.

All of it looks at no file. A row is an item with its glance, None where nobody has
looked yet.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from sesstool.formats.registry import by_name
from sesstool.library.discover import Item
from sesstool.library.glance import ATTENTION, Glance
from sesstool.text import quoted

Row = tuple[Item, Glance | None]


def agent_of(row: Row) -> str:
    """The name of the format; "" where it is not known, or not yet."""
    item, glance = row
    return glance.format if glance else item.format


def project_of(row: Row) -> str:
    """What tells the project apart from the agent's others, "" where it is not known, or not yet.

    That is its path, or the name of the folder that stands for it: see `Groups.names`.
    """
    item, glance = row
    return item.project or (glance.cwd if glance else "")


def id_of(row: Row) -> str:
    """The id of a session; the name of its file where none is told, or that is its session's."""
    item, glance = row
    name = (glance.id if glance else "") or item.id
    return name if name and name != owner_of(row) else item.name.partition(".jsonl")[0]


def owner_of(row: Row) -> str:
    """The id of the session that it is a part of, or ""."""
    item, glance = row
    return item.owner or (glance.owner if glance else "")


def resume_command(row: Row) -> str:
    """The command that resumes a session in its agent, in the folder where it was; or ""."""
    item, glance = row
    form = agent_of(row)
    if not form:
        return ""
    name = owner_of(row) or (glance.id if glance else "") or item.id
    command = by_name(form).resume_command(name)
    known = item.project if os.path.isabs(item.project) else ""  # noqa: PTH117 - a path takes longer
    folder = (glance.cwd if glance else "") or known
    if not command or not folder:
        return command
    return f"cd {'-- ' * folder.startswith('-')}{quoted(folder)} && {command}"


def state_of(row: Row) -> str:
    """Its state; "" where nobody has looked, and its name does not tell."""
    item, glance = row
    if glance is not None:
        return glance.state
    return "unreadable" if item.trouble else "encrypted" if item.packed == "age" else ""


@dataclass(frozen=True, slots=True)
class Query:
    """Which sessions are meant: those that fit all that is said here.

    `text` stands somewhere in the path, the title or the id, in whatever case; `since` is the
    earliest time of the last write.
    """

    agents: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    text: str = ""
    since: datetime | None = None

    def of(self, rows: list[Row]) -> list[Row]:
        """Those that are meant."""
        return rows if self == Query() else [row for row in rows if self.fits(row)]

    def fits(self, row: Row) -> bool:
        """Whether a row is meant. Of one at which nobody has looked, less may be known."""
        item, glance = row
        if self.since is not None and item.mtime < self.since.timestamp() * 1e9:
            return False
        if self.agents and agent_of(row) not in self.agents:
            return False
        if self.projects and self.projects.isdisjoint(projects_of(row)):
            return False
        if self.states and state_of(row) not in self.states:
            return False
        if not self.text:
            return True
        said = f"{item.folder}{os.sep}{item.name}"
        if glance is not None:
            said += f"\n{glance.title}\n{glance.id}"
        return self.text.casefold() in said.casefold()


def projects_of(row: Row) -> Iterator[str]:
    """What the project of a session may be called: its path, or the last name of that."""
    for path in {project_of(row), row[1].cwd if row[1] else ""} - {""}:
        bare = path.rstrip(os.sep) or path
        yield bare
        yield os.path.basename(bare)  # noqa: PTH119 - a path takes longer


def meant_projects(names: Iterable[str]) -> frozenset[str]:
    """What a person may mean by the names of projects: a path from here or from home, or a name."""
    meant = set()
    for name in names:
        bare = name.rstrip(os.sep) or name
        meant |= {bare, os.path.abspath(os.path.expanduser(name))}  # noqa: PTH100, PTH111 - plain text
    return frozenset(meant)


def _title(row: Row) -> tuple[bool, str]:
    title = row[1].title.casefold() if row[1] else ""
    return not title, title


def _records(row: Row) -> int:
    return -row[1].records if row[1] else 1


ORDERS: dict[str, Callable[[Row], Any]] = {
    "newest": lambda row: -row[0].mtime,
    "oldest": lambda row: row[0].mtime,
    "size": lambda row: -row[0].size,
    "title": _title,
    "records": _records,
}
"""The orders of a list; what is not known stands at its end."""


def ordered(rows: Iterable[Row], order: str = "newest") -> list[Row]:
    """The rows in one of ORDERS; those that are alike, by their path."""
    found = sorted(rows, key=lambda row: row[0].name)  # three plain sorts are quicker than one
    found.sort(key=lambda row: row[0].folder)
    found.sort(key=ORDERS[order])
    return found


class Family(NamedTuple):
    """Sessions with their parts. `parts` has the rows of a session's parts by its item.

    A part whose session is not in the list stands among the sessions. `loose` are parts of which
    it is not known whose they are, for nobody has looked.
    """

    sessions: list[Row]
    parts: dict[Item, list[Row]]
    loose: list[Row]


def families(rows: Iterable[Row]) -> Family:
    """Put the parts of sessions, as subagents are, below these; the order stays."""
    rows = list(rows)
    by_id: dict[tuple[str, str], list[Item]] = defaultdict(list)
    owners = {owner_of(row) for row in rows} - {""}
    if not owners and all(row[1] is not None for row in rows):  # to be quick where there are many
        return Family(rows, {}, [])
    for row in rows:
        name = id_of(row)
        if name in owners:
            by_id[agent_of(row), name].append(row[0])
    above = {
        row[0]: owner
        for row in rows
        if (name := owner_of(row))
        and (owner := _nearest(row[0], by_id.get((agent_of(row), name), ()))) is not None
    }
    tops: dict[Item, Item | None] = {}
    family = Family([], {}, [])
    for row in rows:
        item = row[0]
        top = _top(item, above, tops) if item in above else item
        if row[1] is None and item.is_part and not item.owner:
            family.loose.append(row)
        elif top is None or top is item:
            family.sessions.append(row)
        else:
            family.parts.setdefault(top, []).append(row)
    return family


def _top(item: Item, above: dict[Item, Item], tops: dict[Item, Item | None]) -> Item | None:
    """The session that a part of a part belongs to in the end; `tops` has those that are known.

    None where there is none: in hostile files two may own each other.
    """
    way: list[Item] = []
    seen = {item}
    while item not in tops and (owner := above.get(item)) is not None:
        way.append(item)
        if owner in seen:
            tops[owner] = None
        seen.add(owner)
        item = owner
    top = tops.get(item, item)
    tops.update(dict.fromkeys(way, top))
    return top


class Twig(NamedTuple):
    """A row of a list, and where it hangs: so many rows deep, `is_part` of the one above or not."""

    row: Row
    depth: int = 0
    is_part: bool = False


def flat(family: Family, *, parts: bool) -> list[Twig]:
    """The sessions, each with its parts below it where these are asked for."""
    if not parts:
        return [Twig(row) for row in family.sessions]
    found = []
    for row in [*family.sessions, *family.loose]:
        found.append(Twig(row))
        found += [Twig(part, 1, is_part=True) for part in family.parts.get(row[0], ())]
    return found


def tree(family: Family) -> list[Twig]:
    """The sessions with their parts, and their forks with theirs, below them; the order stays."""
    by_id = {(agent_of(row), id_of(row)): row[0] for row in family.sessions}
    forks: dict[Item, list[Row]] = defaultdict(list)
    roots = []
    for row in family.sessions:
        origin = row[1].origin if row[1] else None
        parent = by_id.get((agent_of(row), origin.session)) if origin else None
        if parent is None or parent is row[0]:
            roots.append(row)
        else:
            forks[parent].append(row)
    found: list[Twig] = []
    seen: set[Item] = set()
    todo = [(row, 0) for row in reversed([*roots, *family.loose])]
    while todo or len(seen) < len(family.sessions):
        if not todo:  # in hostile files sessions may be forks of each other
            todo = [next((row, 0) for row in family.sessions if row[0] not in seen)]
        row, depth = todo.pop()
        if row[0] in seen:
            continue
        seen.add(row[0])
        found.append(Twig(row, depth))
        below = family.parts.get(row[0], ())
        found += [Twig(part, depth + 1, is_part=True) for part in below]
        todo += [(fork, depth + 1) for fork in reversed(forks.get(row[0], ()))]
    return found


def _nearest(item: Item, owners: Iterable[Item]) -> Item | None:
    """The session, of those of one id, that lies nearest: homes may have copies."""
    others = [one for one in owners if one is not item]
    if len(others) < 2:
        return others[0] if others else None
    here = item.path.parts

    def nearness(one: Item) -> int:
        pairs = zip(here, one.path.parts, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    return max(others, key=nearness)


class Groups(NamedTuple):
    """How many sessions there are of each kind.

    `agents` counts those of each project of an agent, `states` those of each state, `encrypted`
    those that are so on disk. `unseen` are those at which nobody has looked: states and some
    projects count what is known. `names` are the paths of projects, where they are known.
    """

    agents: dict[str, Counter[str]]
    states: Counter[str]
    encrypted: int
    unseen: int
    names: dict[str, str]

    @property
    def attention(self) -> dict[str, int]:
        """The states that a person should look at, with their counts."""
        return {state: self.states[state] for state in ATTENTION if self.states[state]}


def grouped(rows: Iterable[Row]) -> Groups:
    """Count sessions by agent, project and state: those of a `Family`, lest parts be counted."""
    agents: dict[str, Counter[str]] = defaultdict(Counter)
    states: Counter[str] = Counter()
    names: dict[str, str] = {}
    encrypted = unseen = 0
    for row in rows:
        item, glance = row
        agents[agent_of(row)][project_of(row)] += 1
        states[state_of(row)] += 1
        encrypted += item.packed == "age"
        unseen += glance is None
        if glance is not None and glance.cwd:
            names.setdefault(project_of(row), glance.cwd)
    return Groups(dict(agents), states, encrypted, unseen, names)
