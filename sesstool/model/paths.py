"""One name for a file, however a call spells it."""

from __future__ import annotations

import ntpath
import posixpath
import re
from urllib.parse import unquote

_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")


def located(path: str, cwd: str) -> str:
    """The name that a file has from the root on; from `cwd` on where that is "".

    Nothing is looked up: neither links nor the folder "~" are followed. Where a drive or a
    backslash tells of Windows, upper and lower case are the same.
    """
    path = _local(path)
    if not _is_windows(path, cwd):
        name = posixpath.normpath(posixpath.join(cwd, path))
        return re.sub("^//+", "/", name)
    if _WINDOWS.match(cwd):
        path = re.sub("^/([A-Za-z])(?=/)", r"\1:", path)  # as a shell on Windows has it
    path = path.removeprefix("\\\\?\\")
    return ntpath.normcase(ntpath.normpath(ntpath.join(cwd, path)))


def _is_windows(path: str, cwd: str) -> bool:
    # Elsewhere a backslash may be part of a name.
    return bool(
        _WINDOWS.match(path) or _WINDOWS.match(cwd) or ("\\" in path and not cwd.startswith("/"))
    )


def _local(path: str) -> str:
    """The path in a file URI; any other path as it is."""
    if not path.lower().startswith("file:"):
        return path
    host, path = "", unquote(path[len("file:") :])
    if path.startswith("//"):
        host, slash, rest = path[2:].partition("/")
        path = slash + rest
    if host and host.lower() != "localhost":
        return f"//{host}{path}"
    return path[1:] if _WINDOWS.match(path[1:]) else path
