"""Where an agent's files lie: its home folder, and what is in a folder of it, by no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from sesstool.formats.terms import SideFile
from sesstool.records.folder import beginning
from sesstool.records.source import SEALED, unreadable
from sesstool.records.write import is_leftover, real_path


def home_of(
    path: Path, usual: str, configured: Callable[[], Path], folders: tuple[str, ...]
) -> Path | None:
    """The home that a path lies in, in one of its `folders`: one of the usual name, or the other.

    The configured one may be reached, or divided, by links.
    """
    for folder in path.absolute().parents:
        if folder.name in folders and folder.parent.name == usual:
            return folder.parent
    home, real = configured(), real_path(path.parent)
    if any(real.is_relative_to(real_path(home / name)) for name in folders):
        return real_path(home)
    return None


def below(top: Path, *names: str) -> Iterator[Path]:
    """The files at, or below, a path from a folder, pipes and sockets too; no link is followed.

    What a killed run left is none of them. Raises InputError where something cannot be looked at.
    """
    place, mode = str(top), stat.S_IFDIR  # a text, for most of it is not there
    for name in names:
        place = f"{place}{os.sep}{name}"
        mode = _mode(place)
        if not mode:
            return
        if stat.S_ISLNK(mode):
            yield Path(place)
            return
    if stat.S_ISDIR(mode):
        yield from sorted(_inside(Path(place)))
    elif stat.S_ISREG(mode):
        yield Path(place)


def _mode(place: str) -> int:
    """What a name is, as stat has it, 0 for none. Raises InputError."""
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise unreadable("look at", place, error) from error


def _inside(folder: Path) -> Iterator[Path]:
    folders = [folder]
    while folders:
        here = folders.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    path = here / entry.name
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif not is_leftover(path):
                        yield path
        except FileNotFoundError:
            continue  # gone a moment ago
        except OSError as error:
            raise unreadable("list", here, error) from error


def starting(top: Path, name: str, prefix: str) -> Iterator[Path]:
    """The files in a folder of another one whose names begin so; see `below`."""
    place = f"{top}{os.sep}{name}"
    mode = _mode(place)
    if stat.S_ISLNK(mode):
        yield Path(place)
    if not stat.S_ISDIR(mode):
        return
    try:
        os.scandir(place).close()  # else what cannot be listed looks empty
    except OSError as error:
        raise unreadable("list", place, error) from error
    for path in beginning(Path(place), prefix):
        if stat.S_ISREG(_mode(str(path))) or path.is_symlink():
            yield path


def beside(path: Path) -> Path | None:
    """A file that belongs to a session, or its encrypted twin; None where neither is there."""
    twin = path.with_name(path.name + SEALED)
    return next((one for one in (path, twin) if one.is_file()), None)


def present(home: Path, names: Mapping[str, str]) -> Iterator[SideFile]:
    """Those of an agent's files, with what each holds, that are there."""
    for name, what in names.items():
        if (home / name).exists():
            yield SideFile(home / name, what)
