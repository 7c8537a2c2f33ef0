"""Which sessions there are: every file that is called like one, by its name and one look at it.

No file is opened, so that 100,000 of them are listed at once; but a database, which holds many.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sesstool.errors import InputError
from sesstool.formats.base import Format
from sesstool.formats.registry import FORMATS, Homes, by_name
from sesstool.records import databases
from sesstool.records.documents import is_document
from sesstool.records.opening import holder_of
from sesstool.records.source import SUFFIXES, bare_path
from sesstool.records.traceless import is_database
from sesstool.records.write import is_leftover, real_path

_Home = tuple[Format, Path]
_Entries = list[os.DirEntry[str]]
_NO_FILE = "it is a pipe, a socket or a device, and no file"
_LINK = "it is a link to a folder, which is not followed: give the folder itself"
_DATABASES = (".db", ".sqlite", ".sqlite3")
# Between these there are dates, in every time zone; file systems know more times.
_EARLIEST, _LATEST = -62_135_000_000 * 10**9, 253_402_000_000 * 10**9
_PACKED = {".age": "age", ".gz": "gz", ".zst": "zst"}


class Item(NamedTuple):
    """A session file, as its place and its name tell.

    `format` is the name of the agent whose home it lies in, "" elsewhere; `project` the path of
    its project, or the name of the folder that stands for it, "" where only the file knows. `owner`
    is the id of the session that it is a part of, as a subagent is, "" where it is one of its own
    or only the file knows. `size` counts bytes on disk, `mtime` nanoseconds. `trouble` says in a
    few words why it cannot be read; it may then be a folder. `ctime` tells in nanoseconds when
    anything about the file was changed. The folder of a session in a database is that file, its
    size and time are what the rows tell, and it has no `inode` and `ctime`.
    """

    folder: str
    name: str
    format: str = ""
    project: str = ""
    owner: str = ""
    size: int = 0
    mtime: int = 0
    trouble: str = ""
    inode: int = 0
    ctime: int = 0

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self.folder, self.name)

    @property
    def packed(self) -> str:
        """What its name says of its bytes: "age" for encrypted, "gz", "zst", or ""."""
        return _PACKED.get(os.path.splitext(self.name)[1], "")  # noqa: PTH122 - a path takes longer

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a session, as its place or its name tells."""
        begin = by_name(self.format).parts_begin if self.format else ""
        return bool(self.owner) or (begin != "" and self.name.startswith(begin))

    @property
    def id(self) -> str:
        """The session id that its name tells, or ""."""
        return by_name(self.format).session_id(bare_path(self.path)) if self.format else ""


def discover(paths: Iterable[Path] | None = None) -> Iterator[Item]:
    """The session files below some folders, and the files that are named, each once.

    By default those in the homes of all agents. Folders that cannot be listed, links that lead
    nowhere, pipes and the like come with their trouble. Links to folders are not followed, but for
    those that are named; in an agent's home they are told. The order is that of the disk.
    """
    walk = _Walk()
    if paths is None:
        for folder in dict.fromkeys(f for form in FORMATS for f in form.folders()):
            yield from walk.below(str(folder))
        for form in FORMATS:
            for database in form.databases():
                yield from walk.inside(str(database), form.name, told=True)
        return
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir may raise
            yield from walk.below(str(path))
        else:
            yield from walk.named(str(path))


class _Place(NamedTuple):
    """What a folder tells of all the session files in it; see `Item`."""

    format: str = ""
    project: str = ""
    owner: str = ""


class _Walk:
    """Goes through folders, each once."""

    def __init__(self) -> None:
        self._homes = Homes()
        self._listed: set[str] = set()
        self._named: set[str] = set()

    def named(self, path: str) -> Iterator[Item]:
        """The item of a file that the user names, whatever it is called."""
        folder, name = os.path.split(path)
        absolute = os.path.abspath(path)  # noqa: PTH100 - links stay as they are
        if absolute in self._named or os.path.dirname(absolute) in self._listed:  # noqa: PTH120
            return
        self._named.add(absolute)
        holder = holder_of(Path(path))
        if holder not in (None, Path(path)):
            yield from (item for item in self.inside(str(holder)) if item.name == name)
            return
        if is_database(Path(path)):
            yield from self.inside(path, told=True)
            return
        place = _place(folder, self._homes.of(Path(path)))
        missing = Item(folder, name, trouble="there is no such file")
        yield _item(partial(os.stat, path), folder, name, place) or missing

    def inside(self, database: str, form: str = "", *, told: bool = False) -> Iterator[Item]:
        """The items in a database of a format; one that cannot be read is an item where `told`."""
        absolute = os.path.abspath(database)  # noqa: PTH100 - links stay as they are
        if absolute in self._listed or not os.path.lexists(database):
            return
        self._listed.add(absolute)
        try:
            layout, found = databases.sessions(Path(database))
        except InputError as error:
            self._listed.discard(absolute)  # an agent's own may lie in a folder that came first
            if told:
                yield Item(*os.path.split(database), form, trouble=error.message)
            return
        for one in found:
            name = databases.inside(Path(database), one.id).name
            place = _Place(layout.format, one.project, one.parent)
            yield Item(database, name, *place, one.size, one.mtime)

    def below(self, top: str) -> Iterator[Item]:
        """The items in a folder and all below it; none where it is missing."""
        todo: list[tuple[str, _Home | None]] = [(top, None)]
        while todo:
            folder, home = todo.pop()
            absolute = os.path.abspath(folder)  # noqa: PTH100 - links stay as they are
            if absolute in self._listed:
                continue
            self._listed.add(absolute)
            try:
                entries = list(os.scandir(folder))
            except (FileNotFoundError, NotADirectoryError):
                continue  # no such agent here, or gone a moment ago
            except OSError as error:
                why = f"it cannot be listed: {_reason(error)}"
                yield Item(*os.path.split(folder), trouble=why)
                continue
            folders, files, links, databases = _sorted(entries)
            if files or links:
                home = home or self._homes.of(Path(folder, (files or links)[0].name))
                place = _place(folder, home)
                yield from self._items(files, folder, absolute, place)
                if home:
                    yield from (Item(folder, one.name, *place, trouble=_LINK) for one in links)
            for entry in databases:
                yield from self.inside(entry.path)
            todo += [(entry.path, home) for entry in folders]

    def _items(
        self, files: Iterable[os.DirEntry[str]], folder: str, absolute: str, place: _Place
    ) -> Iterator[Item]:
        judged = place.format and type(by_name(place.format)).is_session is not Format.is_session
        for entry in files:
            if entry.name[0] == "." and is_leftover(Path(entry.name)):
                continue
            if self._named and f"{absolute}{os.sep}{entry.name}" in self._named:
                continue
            if judged and not by_name(place.format).is_session(Path(entry.path)):
                continue
            item = _item(entry.stat, folder, entry.name, place)
            if item is not None:
                yield item


def _sorted(entries: Iterable[os.DirEntry[str]]) -> tuple[_Entries, _Entries, _Entries, _Entries]:
    """The folders, what is called like a session, links to folders, and databases."""
    folders: _Entries = []
    files: _Entries = []
    links: _Entries = []
    databases: _Entries = []
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry)
        elif entry.is_symlink() and _is_folder(entry):
            links.append(entry)
        elif name.endswith(SUFFIXES) or _is_document(entry):
            files.append(entry)
        elif name.endswith(_DATABASES) and is_database(Path(entry.path)):
            databases.append(entry)
    return folders, files, links, databases


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or a link to one; a link that leads round in circles is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_document(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".json") and is_document(Path(entry.path))


def _place(folder: str, home: _Home | None) -> _Place:
    """What the folder tells, in the agent's home or outside of one: there its name is a project."""
    if home is None:
        return _Place(project=os.path.basename(os.path.abspath(folder)))  # noqa: PTH100, PTH119
    form, top = home
    absolute = Path(folder).absolute()
    if not absolute.is_relative_to(top):
        absolute, top = real_path(absolute), real_path(top)
    inside = absolute.relative_to(top).parts if absolute.is_relative_to(top) else ()
    return _Place(form.name, *form.where(top, inside))


def _item(look: Callable[[], os.stat_result], folder: str, name: str, place: _Place) -> Item | None:
    """The item of a name, None where there is no such file."""
    try:
        now = look()
    except (FileNotFoundError, NotADirectoryError):
        gone = not os.path.lexists(os.path.join(folder, name))  # noqa: PTH118 - a path takes longer
        return None if gone else Item(folder, name, *place, trouble="it is a link to nothing")
    except OSError as error:
        return Item(folder, name, *place, trouble=f"it cannot be looked at: {_reason(error)}")
    mtime = now.st_mtime_ns
    if not _EARLIEST <= mtime <= _LATEST:
        mtime = max(_EARLIEST, min(mtime, _LATEST))
    trouble = "" if stat.S_ISREG(now.st_mode) else _NO_FILE
    return Item(folder, name, *place, now.st_size, mtime, trouble, now.st_ino, now.st_ctime_ns)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
