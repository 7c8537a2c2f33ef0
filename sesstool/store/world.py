"""The world beside a session: what it was when it was recorded, and what has changed since.

It holds names, sizes and hashes; no text of the session, and no value of a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

from sesstool.errors import InputError
from sesstool.formats.values import mapping
from sesstool.store.git import Git, repository
from sesstool.store.reads import HASHED, Absent, Read, look, look_again

T = TypeVar("T")
VERSION = 1
# Bytes that are hashed at most, all files together.
_BUDGET = 1 << 30
_ABSENT: dict[Any, Absent] = {"missing": "missing", "unreadable": "unreadable"}
_ANEW = "sesstool snapshot PATH --force records it anew"


class Todos(NamedTuple):
    """How many to-dos are open, and the line of the record that told last of any; 0 for none."""

    open: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """What was beside a session.

    `taken` is when, RFC 3339; `session` the name of its file. `cwd` is its working folder; `told`
    says that the session itself tells it. `files` are those that it read or changed, by path: each
    as it was, or why it could not be read. `more_files` says that older ones are left out,
    `unread` how many pieces of the session were no record.
    """

    taken: str
    session: str
    format: str
    session_id: str
    cwd: str
    told: bool
    git: Git
    files: tuple[tuple[str, Read | Absent], ...]
    more_files: bool
    variables: tuple[str, ...]
    todos: Todos
    unread: int = 0

    def as_json(self) -> dict[str, Any]:
        """The document of a snapshot."""
        return {
            "schema_version": VERSION,
            **asdict(self),
            "git": {
                **self.git._asdict(),
                "dirty": [{"path": path, "status": status} for path, status in self.git.dirty],
            },
            "files": [_file_json(path, state) for path, state in self.files],
            "todos": self.todos._asdict(),
        }


class Change(NamedTuple):
    """What differs: of what `kind`, of which file or variable, and what was and is there."""

    kind: str
    what: str = ""
    then: str = ""
    now: str = ""


KINDS = {
    "git": "whether git can tell anything",
    "head": "the commit that is checked out",
    "branch": "the branch",
    "dirty": "a file that has changes now, or others, which are not committed",
    "clean": "a file that has none any more",
    "changed": "a file of the session with other content",
    "missing": "a file of the session that is gone",
    "new": "a file of the session that was not there",
    "unreadable": "a file of the session that cannot be read any more",
    "variable": "a variable of the environment that is not set any more",
    "to-dos": "how many to-dos are open",
}
"""Kind of a change → what it is about, in the order in which they are told."""


def hashed(paths: Iterable[str], budget: int = _BUDGET) -> tuple[tuple[str, Read | Absent], ...]:
    """Some files as they are now; those for which the budget of bytes is used up without hash."""
    found = []
    for path in paths:
        now = look(path, min(HASHED, budget))
        if isinstance(now, Read) and now.sha256:
            budget -= now.size
        found.append((path, now))
    return tuple(found)


def again(
    files: Iterable[tuple[str, Read | Absent]],
) -> tuple[tuple[str, Read | Absent], ...]:
    """The same files as they are now."""
    return tuple(
        (path, look_again(then) if isinstance(then, Read) else look(path, 0))
        for path, then in files
    )


def git_of(cwd: str, apart: Iterable[str] = ()) -> Git:
    """What git tells of a working folder, where there is one."""
    return repository(cwd, frozenset(apart))


def compare(then: World, now: World) -> tuple[Change, ...]:
    """What has changed from one world to another, in the order of `KINDS` and of paths."""
    order = list(KINDS)
    changes = [
        *_git(then.git, now.git),
        *_files(then.files, dict(now.files)),
        *(Change("variable", v) for v in set(then.variables) - set(now.variables)),
    ]
    if then.todos.open != now.todos.open:
        changes.append(Change("to-dos", "", str(then.todos.open), str(now.todos.open)))
    return tuple(sorted(changes, key=lambda change: (order.index(change.kind), *change[1:])))


def _git(then: Git, now: Git) -> Iterator[Change]:
    if then.trouble != now.trouble:
        known = "a repository"
        yield Change("git", "", then.trouble or known, now.trouble or known)
        return
    if then.head != now.head:
        yield Change("head", "", then.head, now.head)
    if then.branch != now.branch:
        yield Change("branch", "", then.branch, now.branch)
    before, after = dict(then.dirty), dict(now.dirty)
    for path in before.keys() | after.keys():
        was, is_ = before.get(path, ""), after.get(path, "")
        # What stands behind the last of a list that was cut is not known.
        if was != is_ and not (then.more and not was) and not (now.more and not is_):
            yield Change("dirty" if is_ else "clean", path, was, is_)


def _files(
    then: Sequence[tuple[str, Read | Absent]], now: dict[str, Read | Absent]
) -> Iterator[Change]:
    for path, was in then:
        is_ = now.get(path, was)
        if isinstance(was, Read) and isinstance(is_, Read):
            if not was.holds(is_):
                more = "" if is_.size != was.size else ", other content"
                more = more if was.sha256 else more and ", another time, and it was not hashed"
                yield Change("changed", path, f"{was.size} bytes", f"{is_.size} bytes{more}")
        elif isinstance(is_, Read):
            yield Change("new", path, str(was), f"{is_.size} bytes")
        elif is_ != was:
            size = f"{was.size} bytes" if isinstance(was, Read) else str(was)
            yield Change(is_, path, size, is_)


def _file_json(path: str, state: Read | Absent) -> dict[str, Any]:
    if isinstance(state, Read):
        return {"state": "there", **state._asdict()}
    return {"state": state, "path": path}


def of_json(value: Any, name: str) -> World:
    """The world in the document of a snapshot; `name` is for the message. Raises InputError."""
    try:
        held = mapping(value)
        if held.get("schema_version") != VERSION:
            raise InputError(f"{name} is no snapshot that this version reads", hint=_ANEW)
        git, todos = held["git"], held["todos"]
        return World(
            _of(str, held["taken"]),
            _of(str, held["session"]),
            _of(str, held["format"]),
            _of(str, held["session_id"]),
            _of(str, held["cwd"]),
            _of(bool, held["told"]),
            Git(
                _of(str, git["head"]),
                _of(str, git["branch"]),
                tuple(
                    (_of(str, d["path"]), _of(str, d["status"])) for d in _of(list, git["dirty"])
                ),
                _of(bool, git["more"]),
                _of(str, git["trouble"]),
            ),
            tuple((_of(str, file["path"]), _file_of(file)) for file in _of(list, held["files"])),
            _of(bool, held["more_files"]),
            tuple(_of(str, name) for name in _of(list, held["variables"])),
            Todos(_of(int, todos["open"]), _of(int, todos["line"])),
            _of(int, held["unread"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name} is no whole snapshot", hint=_ANEW) from error


def _file_of(file: dict[str, Any]) -> Read | Absent:
    state = file["state"]
    if state == "there":
        numbers = (_of(int, file["mtime"]), _of(int, file["size"]))
        return Read(_of(str, file["path"]), *numbers, _of(str, file["sha256"]))
    return _ABSENT[state]


def _of(kind: type[T], value: Any) -> T:
    """A value of this type. Raises TypeError for any other."""
    if type(value) is not kind:
        raise TypeError
    return value
