"""What the user wants left alone: values, known by a keyed hash alone, rules and files."""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from sesstool.errors import UsageError
from sesstool.privacy.names import load_toml, read_text

_HASH = re.compile("[0-9a-f]{32}")
_MEMBERS = frozenset({"value", "rule", "path", "note"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One `[[allow]]` table: all that it names must hold.

    `value` is the hash that `hashed` makes, `rule` the id of a rule, `path` a pattern in which
    `*` stands for anything, also for `/`.
    """

    value: str = ""
    rule: str = ""
    path: str = ""


def load(path: Path) -> tuple[Entry, ...]:
    """The entries of a file. Raises InputError and UsageError."""
    tables = load_toml(read_text(path, "allow list"), path).get("allow", [])
    return tuple(_entry(table, f"entry {n} of {path}") for n, table in enumerate(tables, start=1))


def check(entries: Iterable[Entry], rules: Iterable[str]) -> None:
    """Raise UsageError where an entry names none of these rules: it would allow nothing."""
    known = set(rules)
    for entry in entries:
        if entry.rule and entry.rule not in known:
            near = get_close_matches(entry.rule, known, 1)
            raise UsageError(
                f"the allow list names a rule that there is not: {entry.rule}",
                hint=f"the nearest is {near[0]}"
                if near
                else "a preview has the name of the rule in brackets behind what it found",
            )


def hashed(value: str, key: bytes) -> str:
    """What stands for a value in an allow list; neither case nor composition counts."""
    text = unicodedata.normalize("NFC", value.strip().casefold())
    told = b"allow\0" + text.encode("utf-8", "surrogateescape")
    return hmac.new(key, told, hashlib.sha256).hexdigest()[:32]


def listed(values: Iterable[str], key: bytes) -> Iterator[str]:
    """The lines of an allow list that let values alone, each once."""
    for name in dict.fromkeys(hashed(value, key) for value in values if value.strip()):
        yield f'[[allow]]\nvalue = "{name}"\n'


class Allowed:
    """What is left alone in one file, and what of that was met there."""

    def __init__(self, entries: Iterable[Entry], key: bytes, path: str) -> None:
        """Choose the entries for the file."""
        here = [entry for entry in entries if not entry.path or _fits(path, entry.path)]
        self._hashes = {(entry.value, entry.rule) for entry in here if entry.value}
        self._rules = {entry.rule for entry in here if not entry.value}
        self._key = key
        self._met: set[bytes] = set()

    def covers(self, rule: str, value: bytes) -> bool:
        """Whether a value that a rule found is to be left alone."""
        if not (self._hashes or self._rules):
            return False
        covered = rule in self._rules or "" in self._rules
        if not covered and self._hashes:
            name = hashed(value.decode("utf-8", "surrogateescape"), self._key)
            covered = bool({(name, ""), (name, rule)} & self._hashes)
        if covered:
            self._met.add(value)
        return covered

    def without(self, text: bytes) -> bytes:
        """A text with spaces for the values that were met and left alone."""
        for value in sorted(self._met, key=len, reverse=True):
            text = text.replace(value, b" " * len(value))
        return text


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(PurePath(path).as_posix(), pattern) or fnmatchcase(
        PurePath(path).name, pattern
    )


def _entry(table: Any, where: str) -> Entry:
    if not isinstance(table, dict) or not set(table) <= _MEMBERS or not set(table) - {"note"}:
        raise UsageError(
            f"{where} has not the members it should", hint="value, rule or path, and maybe note"
        )
    if not all(isinstance(member, str) for member in table.values()):
        raise UsageError(f"{where} has a member that is no string", hint="all are strings")
    if "value" in table and not _HASH.fullmatch(table["value"]):
        raise UsageError(
            f"{where} has a value that is no keyed hash",
            hint="sesstool redact --key KEYFILE --fingerprint < VALUES prints the entries",
        )
    return Entry(table.get("value", ""), table.get("rule", ""), table.get("path", ""))
