"""What git tells of a working folder, asked so that the repository can neither run nor write.

A repository may be hostile: its settings name programs that git would start, and its files may
be pipes at which git would wait for ever.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import NamedTuple

from sesstool.store.reads import real

SECONDS = 10.0
"""How long git may take."""
MOST = 1000
"""How many dirty files are told."""
_BYTES = 4 << 20
_MEMORY = 1 << 30
_STATUS = (
    *("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--no-renames"),
    # What is in a submodule would be asked with the submodule's own settings.
    *("--untracked-files=normal", "--ignore-submodules=all"),
)
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "safe.bareRepository": "explicit",
}
_NO_FOLDER = "no such folder"
_UNASKED = "git cannot be asked without running what the repository says"
# Filters are run to compare a file. Their names are the repository's own.
_FILTERS = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
# How many fields stand before the path in a line of each kind.
_FIELDS = {"1": 8, "2": 9, "u": 10, "?": 1}


class Git(NamedTuple):
    """What a repository is at.

    `head` is the id of the commit, "" where there is none yet; `branch` is "" where it is detached.
    `dirty` are the files with changes that are not committed: path from the top and the two
    letters that `git status` has for it, sorted; `more` says that there are others. `trouble` says
    in a few words why nothing of that is known, "" where it is.
    """

    head: str = ""
    branch: str = ""
    dirty: tuple[tuple[str, str], ...] = ()
    more: bool = False
    trouble: str = ""


def repository(folder: str, apart: Collection[str] = ()) -> Git:
    """What git tells of a folder; files with the real paths `apart` are no part of it."""
    try:
        here = Path(real(folder))
        if not here.is_dir():
            return Git(trouble=_NO_FOLDER)
    except (OSError, ValueError):
        return Git(trouble=_NO_FOLDER)
    top = next((one for one in (here, *here.parents) if os.path.lexists(one / ".git")), None)
    if top is None:
        return Git(trouble="no repository")
    program = shutil.which("git")
    # In a folder of the PATH that is not told from the root on, another git may lie.
    if program is None or not Path(program).is_absolute():
        return Git(trouble="git is not installed")
    command = (program, "--no-pager", "-C", str(here))
    try:
        code, names, more = _said((*command, *_FILTERS), _environment(_SETTINGS))
        if more:  # a filter that is not switched off would be run
            return Git(trouble=_UNASKED)
        if code in (0, 1):  # 1 says that there is none
            off = {name: "" for name in names.decode(errors="surrogateescape").split("\0") if name}
            off |= {f"{name.rpartition('.')[0]}.required": "false" for name in off}
            code, told, more = _said((*command, *_STATUS), _environment(_SETTINGS | off))
    except OSError:  # the system takes no settings without end
        return Git(trouble=_UNASKED)
    if code is None:
        return Git(trouble=f"git took more than {SECONDS:g} s")
    if code and not more:
        return Git(trouble="git cannot read the repository")
    return _git(told, top, apart, more)


def _environment(settings: dict[str, str]) -> dict[str, str]:
    """The environment of git, without what would lead it to another repository."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own |= {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # A partial clone would fetch what it lacks.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for n, (name, value) in enumerate(settings.items()):
        own |= {f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": value}
    return own


def _said(command: tuple[str, ...], environment: dict[str, str]) -> tuple[int | None, bytes, bool]:
    """The exit code of git, None where it took too long, and what it said.

    The last tells whether that is only the beginning.
    """
    with Popen(  # noqa: S603 - git itself, which is told to start nothing
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        _bound(process)
        late = Timer(SECONDS, _end, [process])
        late.start()
        try:
            said = process.stdout.read(_BYTES)
            more = bool(process.stdout.read(1))
            if more:
                _end(process)
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            late.cancel()
    return (None if code < 0 and not more else code), said, more


def _bound(process: Popen[bytes]) -> None:
    """Bound the memory of git, where the system can: it would read a device to its end."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - not everywhere

        with suppress(OSError, ValueError):  # a lower bound stays
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _end(process: Popen[bytes]) -> None:
    """End a program and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        elif process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)


def _git(told: bytes, top: Path, apart: Collection[str], more: bool) -> Git:
    parts = told.decode(errors="backslashreplace").split("\0")
    if more:
        parts.pop()  # cut somewhere
    head = branch = ""
    for part in parts:
        if part.startswith("# branch.oid "):
            head = part.rpartition(" ")[2]
        elif part.startswith("# branch.head "):
            branch = part.rpartition(" ")[2]
    dirty = sorted(
        (path, status) for path, status in _dirty(iter(parts)) if str(top / path) not in apart
    )
    return Git(
        "" if head == "(initial)" else head,
        "" if branch == "(detached)" else branch,
        tuple(dirty[:MOST]),
        more or len(dirty) > MOST,
    )


def _dirty(parts: Iterator[str]) -> Iterator[tuple[str, str]]:
    for part in parts:
        kind = part[:1]
        if kind in _FIELDS:
            *fields, path = part.split(" ", _FIELDS[kind])
            yield path, "??" if kind == "?" else fields[1]
        if kind == "2":
            next(parts, "")  # where it was
