"""Formats of packages that are installed beside sesstool, by the entry point `sesstool.formats`.

What is wrong with one is told, and never keeps sesstool from the sessions of the others.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.formats.base import Format

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from sesstool.formats.guarded import Owner

GROUP = "sesstool.formats"
SWITCH = "SESSTOOL_PLUGINS"
"""The variable of the environment that turns plug-ins off, with the value "off"."""
_INFO = (".dist-info", ".egg-info")
_NAME = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
_PAIRINGS = frozenset({"direct", "next", "turn", "order"})
_PLAIN = (str, bool, tuple, frozenset)


def plugged(taken: set[str]) -> tuple[Format, ...]:
    """The formats of all plug-ins, in the order of their names; `taken` are the names of others."""
    if os.environ.get(SWITCH) == "off":
        return ()
    found: dict[str, Format] = {}
    for owner, entry in sorted(_entries(), key=lambda pair: pair[0]):
        form, fault = _load(owner, entry, taken | found.keys())
        if form is not None:
            found[form.name] = form
        else:
            from sesstool.formats.guarded import warn  # noqa: PLC0415 - start-up time

            what = f"the plug-in {owner.package} is left out: {owner.format} {fault}"
            warn(what, owner.package)
    return tuple(form for _, form in sorted(found.items()))


def _entries() -> Iterator[tuple[Owner, EntryPoint]]:
    """The entry points of the group, each with whose it is."""
    seen = set()
    for folder in _folders():
        # Where there is none, these would cost more than all the rest.
        from importlib.metadata import Distribution  # noqa: PLC0415 - start-up time

        from sesstool.formats.guarded import Owner, warn  # noqa: PLC0415 - start-up time

        try:
            package = Distribution.at(folder)
            about = package.metadata
            (name,), (version,) = about.get_all("Name", []), about.get_all("Version", [])
            entries = [entry for entry in package.entry_points if entry.group == GROUP]
        except Exception as error:  # noqa: BLE001 - whatever was left there
            warn(f"{folder} cannot be read: {type(error).__name__}", folder.name.partition("-")[0])
            continue
        if name not in seen:  # of two, Python imports the one that is found first
            seen.add(name)
            yield from ((Owner(name, version, entry.name), entry) for entry in entries)


def _folders() -> Iterator[Path]:
    """The metadata of installed packages that may have the group.

    To read all entry points by `importlib.metadata` costs more than all of sesstool's start.
    The working folder does not count: what lies in it may have come with untrusted sessions.
    """
    for top in dict.fromkeys(sys.path):
        try:
            if top in ("", os.getcwd()):  # noqa: PTH109 - start-up time
                continue
            names = os.listdir(top)  # noqa: PTH208 - start-up time
        except OSError:
            continue
        for name in names:
            if name.endswith(_INFO) and _may_have(f"{top}/{name}/entry_points.txt"):
                yield Path(top, name)


def _may_have(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - start-up time
            return GROUP.encode() in file.read()
    except OSError:
        return False


def _load(owner: Owner, entry: EntryPoint, taken: set[str]) -> tuple[Format | None, str]:
    """The format of an entry point; None, and what is wrong with it."""
    from sesstool.formats.guarded import guarded, place_of  # noqa: PLC0415 - start-up time

    try:
        kind = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever its module does on import
        return None, f"cannot be imported: {place_of(error)}"
    if not (isinstance(kind, type) and issubclass(kind, Format)):
        return None, "is no subclass of sesstool.formats.base.Format"
    try:
        form: Format = guarded(kind, Format, owner)()
    except Exception as error:  # noqa: BLE001 - as above
        return None, f"cannot be made: {place_of(error)}"
    fault = _fault(form, owner.format, taken)
    return (None, fault) if fault else (form, "")


def _fault(form: Format, name: str, taken: set[str]) -> str:
    """Why a format cannot be used, "" where it can."""
    plain = {n: value for n, value in vars(Format).items() if n[0] != "_" and type(value) in _PLAIN}
    for member, usual in plain.items():
        if not isinstance(getattr(form, member), type(usual)):
            return f"has a {member} that is no {type(usual).__name__}"
    if form.name != name or not re.fullmatch(_NAME, name):
        return "has another name than its entry point, or not one of small letters"
    if name in taken:
        return "has the name of another format"
    if form.pairing not in _PAIRINGS:
        return f"has a pairing that is none of {', '.join(sorted(_PAIRINGS))}"
    return "" if form.title.strip() else "has no title"
