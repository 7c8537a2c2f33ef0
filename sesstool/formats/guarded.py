"""Classes of a plug-in whose methods tell whose fault it is when they fail.

A method that is asked about files of others as well gives what the base class would, after a
warning; any other fails for the one session that it was asked about.
"""

from __future__ import annotations

import functools
import importlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any, NamedTuple, TypeVar, get_args

from sesstool.errors import InputError, SesstoolError
from sesstool.formats.base import Format
from sesstool.formats.events import Event, Meaning
from sesstool.formats.forking import Forker
from sesstool.formats.payloads import Payload
from sesstool.formats.terms import (
    Evidence,
    Fault,
    Origin,
    Running,
    Score,
    SideFile,
    Trace,
    Tracker,
)
from sesstool.formats.turns import Scribe
from sesstool.records.edits import Edit
from sesstool.text import safe

T = TypeVar("T")
EVERYWHERE = frozenset(
    {
        "databases",
        "empty_is_sound",
        "find",
        "folders",
        "home",
        "is_session",
        "own_schema",
        "running",
        "score",
        "session_id",
        "where",
    }
)
"""The methods that are asked about files of others as well."""
# What methods may give, and what each item of it must be, by the annotations of the base classes.
GIVES: dict[str, tuple[type, ...]] = {
    "Any": (object,),
    "Evidence": (Evidence,),
    "Format": (Format,),
    "Meaning": (Meaning,),
    "None": (NoneType,),
    "Origin | None": (Origin, NoneType),
    "Path": (Path,),
    "Path | None": (Path, NoneType),
    "Score": (Score,),
    "Tracker": (Tracker,),
    "bool": (bool,),
    "bytes": (bytes,),
    "int": (int,),
    "str": (str,),
    "str | None": (str, NoneType),
    "tuple[Path, bytes] | None": (tuple, NoneType),
    "tuple[int, str]": (tuple,),
    "tuple[str, str]": (tuple,),
}
GIVES_EACH: dict[str, type] = {
    "Iterable[Dependent]": object,
    "Iterable[Fault]": Fault,
    "Iterable[Path]": Path,
    "Iterable[Payload]": Payload,
    "Iterable[Running] | None": Running,
    "Iterable[SideFile]": SideFile,
    "Iterable[Trace]": Trace,
    "Iterable[bytes]": bytes,
    "Iterable[dict[str, Any]]": dict,
    "Iterable[str]": str,
    "Iterable[tuple[Path, str, int]]": tuple,
    "Iterator[bytes]": bytes,
    "Iterator[dict[str, Any]]": dict,
    "Sequence[Edit]": Edit,
    "Sequence[Meaning]": Meaning,
}
_EVENTS = get_args(Event)
# The members of each that hold text.
_TEXTS = {
    kind: tuple(f.name for f in fields(kind) if f.type == "str") for kind in (Meaning, *_EVENTS)
}
_WITHOUT = "SESSTOOL_PLUGINS=off"
# Where the frames of an error lie that are not the plug-in's.
_NOT_THEIRS = ("<frozen", str(Path(__file__).parents[1]), str(Path(importlib.__file__).parent))
_told: set[str] = set()


class Owner(NamedTuple):
    """Whose a class is: the package, its version, and the format."""

    package: str
    version: str
    format: str


@functools.cache
def guarded(kind: type[T], base: type, owner: Owner) -> type[T]:
    """A subclass of `kind` that guards each method of `base` which `kind` has made anew."""
    members: dict[str, Any] = {
        name: _guard(getattr(kind, name), name, getattr(base, name), owner)
        for name in methods_of(base)
        if getattr(kind, name) is not getattr(base, name)
    }
    for name, usual in (("forker", Forker), ("scribe", Scribe)):
        inner = getattr(kind, name, None) if base is Format else None
        if isinstance(inner, type) and not inner.__module__.startswith("sesstool."):
            members[name] = guarded(inner, usual, owner)
    members |= {"__slots__": (), "__module__": kind.__module__, "_owner": owner}
    if base is Format:
        members["release"] = f"{owner.package} {owner.version}"
    return type(kind.__name__, (kind,), members)


def methods_of(base: type) -> list[str]:
    """The public methods of a class that an instance of it has; those of the class are not."""
    return [n for n, value in vars(base).items() if type(value) is FunctionType and n[0] != "_"]


def _guard(method: Callable[..., Any], name: str, usual: Any, owner: Owner) -> Callable[..., Any]:
    gives = usual.__annotations__["return"]

    @functools.wraps(method)
    def asked(self: Any, *args: Any, **named: Any) -> Any:
        try:
            return _checked(method(self, *args, **named), gives, owner)
        except SesstoolError:
            if name not in EVERYWHERE:
                raise
            what = "an error about a session"
        except Exception as error:
            what = place_of(error)
            if name not in EVERYWHERE:
                raise InputError(
                    f"the plug-in {owner.package} failed in {name} of {owner.format}: {what}",
                    hint=f"tell its authors; {_WITHOUT} reads without it",
                ) from error
        warn(f"the plug-in {owner.package} failed in {name} of {owner.format}: {what}", owner[0])
        return Score(0, "the plug-in failed") if name == "score" else usual(self, *args, **named)

    return asked


def _checked(result: Any, gives: str, owner: Owner) -> Any:
    """The result of a method if it is what the base class promises. Raises TypeError."""
    each = GIVES_EACH.get(gives)
    if each is not None:
        if result is None and gives.endswith("None"):
            return None
        result = tuple(result)
        _is_of(all(isinstance(item, each) for item in result), gives)
        return result
    _is_of(isinstance(result, GIVES[gives]), gives)
    if isinstance(result, Meaning):
        for value in (result, *result.events):
            texts = _TEXTS.get(type(value))
            sound = texts is not None and all(type(getattr(value, name)) is str for name in texts)
            _is_of(sound, type(value).__name__)
    elif isinstance(result, Score):
        _is_of(type(result.value) is int and 0 <= result.value <= 100, gives)
    elif isinstance(result, Tracker | Format) and not hasattr(result, "_owner"):
        base: type = Tracker if isinstance(result, Tracker) else Format
        if not type(result).__module__.startswith("sesstool."):
            kind: type = type(result)
            result.__class__ = guarded(kind, base, owner)
    return result


def _is_of(sound: object, kind: str) -> None:
    if not sound:
        raise TypeError(f"it gave what is no {kind}")


def place_of(error: BaseException) -> str:
    """The kind of an error and the line of the plug-in that raised it: no word of its message."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_NOT_THEIRS)]
    where = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}{where}"


def warn(text: str, package: str) -> None:
    """Tell on stderr, once in a process, what is wrong with a plug-in."""
    if text in _told or sys.stderr is None:
        return
    _told.add(text)
    hint = f"pip uninstall {package}, or set {_WITHOUT}"
    sys.stderr.write(f"sesstool: warning: {safe(text)}\nsesstool: hint: {safe(hint)}\n")
