"""What is left of a session where its own files are gone, and the proof that nothing is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesstool.errors import AuthError, InputError
from sesstool.formats.base import Format
from sesstool.formats.events import Message
from sesstool.formats.registry import by_name
from sesstool.records.opening import open_source
from sesstool.records.recover import records
from sesstool.records.source import bare_path, is_transcript
from sesstool.retention import cleanup, leftovers, shared
from sesstool.retention.cleanup import Residue
from sesstool.retention.entries import Entry
from sesstool.retention.groups import Group

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

# What is shorter may stand in any session.
_TELLING = 24
_MOST = 1000
_LONGEST = 512
_SEVERAL = 2


class Living:
    """Where the sessions of a home have files. Each home is walked once, for a run asks of many."""

    def __init__(self, going: Iterable[str] = ()) -> None:
        """Leave out the files that go in the same run."""
        self._going = set(map(os.path.realpath, going))
        self._homes: dict[tuple[str, Path], dict[str, list[Path]]] = {}

    def where(self, form: Format, home: Path, name: str, own: Collection[str]) -> Path | None:
        """A file of the session with this id that stays; real paths of its `own` do not count."""
        if (form.name, home) not in self._homes:
            self._homes[form.name, home] = _by_session(form, home)
        for path in self._homes[form.name, home].get(name, ()):
            real = os.path.realpath(path)
            if real not in own and real not in self._going and path.is_file():
                return path
        return None


def residues(
    gone: Group | Entry, *, every: bool = False, living: Living | None = None
) -> list[Residue]:
    """What the agent keeps of a session, and of its subagents, in files that it shares.

    With `every` such files are named, too, that hold nothing of it but what may lie in free pages.
    Where a session has another file in the home, or one in the place of what is in the trash, all
    that is shared stays, for it is of that one too; a `fault` tells it.
    """
    form = by_name(gone.agent) if gone.agent else None
    if form is None:
        return []
    living = living or Living()
    paths = [bare_path(Path(path)) for path in gone.paths]
    own: set[str] = set()
    if isinstance(gone, Group):
        own = set(map(os.path.realpath, gone.paths))
        paths += [gone.place] if gone.place else []
    found: list[Residue] = []
    stays: dict[str, Residue] = {}
    for path in dict.fromkeys(paths):
        name, trace = form.session_id(path), next(iter(form.traces(path)), None)
        if not name or trace is None:
            continue
        if other := living.where(form, trace.path.parent, name, own):
            why = f"{name} lives on in {other}: what is shared stays"
            stays[name] = Residue(trace, fault=why)
        else:
            found += cleanup.found(form, path, every=every)
    return [*cleanup.together(found), *stays.values()]


def staying(found: Iterable[Residue]) -> tuple[str, ...]:
    """Why some of it stays whatever is asked for."""
    return tuple(one.fault for one in found if one.fault)


def clean(found: Iterable[Residue], state: Path, *, ignore_live: bool = False) -> Iterator[int]:
    """Take it out, file by file; yields how many lines or rows went from each.

    With it goes what a run that was killed has left beside such a file. Raises LiveSessionError,
    InputError and WriteError.
    """
    for one in found:
        if (one.count or one.note or one.trace.kind == "rows") and not one.fault:
            yield cleanup.clean(one, state, ignore_live=ignore_live)


def prompts(group: Group) -> list[str] | None:
    """What people asked in a session, as far as it is long enough to tell the session by.

    At most 1,000 texts of 512 characters; None where it cannot be read.
    """
    try:
        return list(dict.fromkeys(islice(_prompts(group, group.keys), _MOST)))
    except (AuthError, InputError):
        return None


def left(group: Group, texts: list[str] | None) -> tuple[str, ...]:
    """What is left of a session that is gone: an index that cannot be read, and its words.

    That is, which files of the agent's home hold one of the texts, or that this cannot be told.
    """
    index = ""
    if group.form and not group.file.exists():
        index = shared.unread(group.form, group.plain)
    return tuple([index] * bool(index)) + _holding(group, texts)


def _holding(group: Group, texts: list[str] | None) -> tuple[str, ...]:
    if texts is None:
        return ("whether words of it are left cannot be told: it could not be read",)
    home = group.form.home(group.plain) if group.form else None
    try:
        found = leftovers.leftovers(home or group.file.parent, texts) if texts else []
        found = _telling(group, found, texts)
    except InputError as error:
        return (f"whether words of it are left cannot be told: {error.message}",)
    return tuple(f"{path} holds words that were asked in it" for path in found)


def _telling(group: Group, found: list[Path], texts: list[str]) -> list[Path]:
    """Those of the files that hold more than what the agent put into several sessions alike.

    A text in one other session may be a copy, as a fork has it; in more it is nobody's own.
    """
    form = group.form
    others = [path for path in found if form and form.session_id(bare_path(path))]
    if len(others) < _SEVERAL:
        return found
    many = Counter(text for some in leftovers.held(others, texts).values() for text in some)
    own = [text for text in texts if many[text] < _SEVERAL]
    if len(own) == len(texts):
        return found
    return [path for path, some in leftovers.held(found, own).items() if some]


def _by_session(form: Format, home: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for folder, _, names in os.walk(home):
        for path in filter(is_transcript, (Path(folder, name) for name in names)):
            if name := form.session_id(bare_path(path)):
                found.setdefault(name, []).append(path)
    return found


def _prompts(group: Group, keys: Keys | None) -> Iterator[str]:
    if group.form is None:
        return
    for piece in group.pieces:
        if not is_transcript(piece.path):
            continue
        with open_source(piece.path, keys) as source:
            for record in records(source):
                meaning = group.form.meaning(record.value) if record.value is not None else None
                for event in meaning.events if meaning else ():
                    if isinstance(event, Message) and event.prompt:
                        yield from _texts(event.content)


def _texts(content: Any) -> Iterator[str]:
    """The texts of a message that can be told from others."""
    blocks = content if isinstance(content, list) else [content]
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str) and len(text) >= _TELLING:
            yield text[:_LONGEST]
