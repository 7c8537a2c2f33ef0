"""Which sessions a match means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import cache
from typing import Protocol

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
    def members(self) -> Sequence[str]:
        """The other files that belong to it."""

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

    def contains(self, code_prefix: str, /) -> bool:
        """Whether there is a finding whose code begins so."""


def match(match: Match, facts: Facts, *, doubt: bool = False, members: bool = False) -> bool:
    """Whether all keys that are given hold.

    `doubt` is what a key counts as whose fact is not known: False for what removes; a caller may
    say True for what keeps. With `members` a path may be that of any of its files. A part is of the
    session, and changes nothing here.
    """
    return (
        _any(match.path, [facts.path, *(facts.members if members else ())], doubt=doubt)
        and _any(match.agent, [facts.agent], doubt=doubt)
        and _any(match.session, [facts.session], doubt=doubt)
        and _any(match.project, [facts.project], doubt=doubt)
        and _any(match.cwd, [facts.cwd], doubt=doubt)
        and _any(match.tags, facts.tags, doubt=False)  # none is no doubt
        and _any(match.model, facts.models, doubt=doubt)
        and (match.larger_than is None or facts.size > match.larger_than)
        and (match.encrypted is None or facts.encrypted == match.encrypted)
        # Last: it may have to read the session.
        and (not match.contains_rule or any(map(facts.contains, match.contains_rule)))
    )


def _any(globs: tuple[str, ...], values: Iterable[str], *, doubt: bool) -> bool:
    """Whether a glob matches a value that is known, or there is no glob."""
    if not globs:
        return True
    known = [value for value in values if value]
    if not known:
        return doubt
    return any(map(_pattern(globs).match, known))


@cache
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """What matches as one of the globs does; a hold may have thousands."""
    return re.compile("|".join(map(translate, globs)))
