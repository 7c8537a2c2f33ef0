"""Which sessions a match means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate
from functools import cache
from typing import NamedTuple, Protocol

from sesstool.retention.policy import Match


class Facts(Protocol):
    """What must be known of a session; a text or set is empty where it is not known.

    `path` is resolved. `project` is the project's name or folder. `size` counts the bytes of
    the session with all that belongs to it.
    """

    @property
    def agent(self) -> str:
        """The name of the format."""

    @property
    def path(self) -> str:
        """The file, with no symbolic link in it."""

    @property
    def project(self) -> str:
        """The name or folder of the project."""

    @property
    def cwd(self) -> str:
        """The folder that the agent worked in."""

    @property
    def tags(self) -> frozenset[str]:
        """What the user calls it."""

    @property
    def session(self) -> str:
        """The id."""

    @property
    def models(self) -> frozenset[str]:
        """All that answered in it."""

    @property
    def size(self) -> int:
        """The bytes of all its files."""

    @property
    def encrypted(self) -> bool:
        """Whether it is encrypted."""

    def contains(self, code_prefix: str, /) -> bool | None:
        """Whether there is a finding whose code begins so, None where that cannot be known."""


class Also(NamedTuple):
    """What is true of other files of a session, or of a part of it: it keeps, and never removes."""

    paths: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    cwds: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()


NOTHING = Also()


def match(match: Match, facts: Facts, *, doubt: bool = False, also: Also = NOTHING) -> bool:
    """Whether all keys that are given hold, each for the session itself or for `also`.

    `doubt` is what a key counts as whose fact is not known: False for what removes; a caller may
    say True for what keeps. A part is of the session, and changes nothing here.
    """
    return (
        _one(match.path, [facts.path], also.paths, doubt=doubt)
        and _one(match.agent, [facts.agent], (), doubt=doubt)
        and _one(match.session, [facts.session], also.sessions, doubt=doubt)
        and _one(match.project, [facts.project], also.projects, doubt=doubt)
        and _one(match.cwd, [facts.cwd], also.cwds, doubt=doubt)
        and _one(match.tags, facts.tags, also.tags, doubt=False)  # none is no doubt
        and _one(match.model, facts.models, also.models, doubt=doubt)
        and (match.larger_than is None or facts.size > match.larger_than)
        and (match.encrypted is None or facts.encrypted == match.encrypted)
        # Last: it may have to read the session.
        and (not match.contains_rule or _contains(match.contains_rule, facts, doubt=doubt))
    )


def _contains(codes: Iterable[str], facts: Facts, *, doubt: bool) -> bool:
    found = map(facts.contains, codes)
    return any(doubt if one is None else one for one in found)


def _one(
    globs: tuple[str, ...], values: Collection[str], also: Iterable[str], *, doubt: bool
) -> bool:
    """Whether a glob matches a value that is known, or there is no glob."""
    if not globs:
        return True
    known = [value for value in (*values, *also) if value]
    return any(map(_pattern(globs).match, known)) or (doubt and not any(values))


@cache
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """What matches as one of the globs does; a hold may have thousands."""
    return re.compile("|".join(map(translate, globs)))
