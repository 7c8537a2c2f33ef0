"""What is put in the place of a value.

A stand-in is drawn from the value by a keyed hash: with one key a value has one stand-in in all
files and runs, and without the key nobody can tell whose it is.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

from sesstool.errors import InputError, UsageError

MARK = b"REDACTED"
"""Stands in every stand-in of style shape that has room for it, and in no value."""
# What nobody has: a host that RFC 2606 reserves; a number that begins with 0 behind the +, as no
# country's does; an account of a country that is none, with a check number that none has.
_HOST, _BANK = b"example", b"XX00"
_DIGITS = re.compile(rb"[0-9 .()/-]+")


def _begun(word: bytes) -> bytes:
    """An expression for the beginnings of a word, also for none of it."""
    return b"".join(b"(?:%c" % letter for letter in word) + b")?" * len(word)


# Of style shape only what `_shaped` makes, and nothing around it: anybody can write the mark.
_STAND_IN = re.compile(
    "⟦[A-Z][A-Z0-9_]*:[0-9a-f]{8}⟧".encode()
    + rb"|\[\[[A-Z][A-Z0-9_]*\]\]|(?<![A-Za-z0-9_-])(?:[A-Za-z]{2,8}[_-]|%b)?" % _BANK
    + rb"%b(?:[0-9a-f]{0,7}|[0-9a-f]{8}(?:%b)*%b)" % (MARK, MARK, _begun(MARK))
    + rb"(?:@e%b\.invalid)?(?![A-Za-z0-9_-])" % _begun(_HOST[1:])
    + rb"|(?<![0-9+])\+[ .()/-]{0,3}0(?:[ .()/-]{0,3}0){2}(?:[ .()/-]{0,3}[0-9]){3,14}(?![0-9])"
)
# One of these stands in every stand-in.
_SIGNS = ("⟦".encode(), b"[[", MARK, b"+")
_LEAST_KEY = 16
_MAKE_KEY = "give the file that has it, or make one: head -c 32 /dev/urandom | base64 > KEYFILE"
# Whose beginning tells who made it, and nothing of the value.
_HEADED = frozenset({"TOKEN", "KEY_ID"})
_LOOSE = re.compile(r"[\s.\-/()+]")


class StandIns:
    """Makes stand-ins of one style with one key."""

    def __init__(self, key: bytes = b"", style: str = "tag", *, keep: bool = False) -> None:
        """Take a style ("tag", "shape" or "label") and a key.

        No key means one of its own that nobody keeps, so that nothing links. With `keep` the
        stand-ins that were made can be asked for.
        """
        self._made: dict[bytes, dict[str, tuple[str, bytes]]] | None = {} if keep else None
        self._key = key or secrets.token_bytes(32)
        self._style = style
        self.identity: Callable[[str, bytes], str] = identity
        """What a stand-in is drawn from, for a kind and a value."""

    def fingerprint(self, kind: str, value: bytes) -> str:
        """Eight hexadecimal digits that are the same for the same value, or person, and key."""
        name = self.identity(kind, value).encode("utf-8", "surrogatepass")
        return hmac.new(self._key, name, hashlib.sha256).hexdigest()[:8]

    def of(self, kind: str, value: bytes) -> bytes:
        """The stand-in of a value, in UTF-8, without anything that JSON escapes."""
        made = self._of(kind, value)
        if self._made is not None:
            values = self._made.setdefault(made, {})
            # Two show that it tells nothing; of a label there may be any number.
            if len(values) < 2:
                values.setdefault(canonical(kind, value), (kind, value))
        return made

    def made(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Kind, stand-in and value of those that were made, where they are kept."""
        for stand_in, values in (self._made or {}).items():
            for kind, value in values.values():
                yield kind, stand_in, value

    def _of(self, kind: str, value: bytes) -> bytes:
        if self._style == "label":
            return f"[[{kind}]]".encode()
        name = self.fingerprint(kind, value)
        if self._style == "shape":
            return _formed(kind, value, name) or _shaped(value, name, headed=kind in _HEADED)
        return f"⟦{kind}:{name}⟧".encode()


def stand_ins(text: bytes) -> list[tuple[int, int]]:
    """Where a text holds what a redaction put there."""
    if not any(sign in text for sign in _SIGNS):
        return []
    return [match.span() for match in _STAND_IN.finditer(text)]


def identity(kind: str, value: bytes) -> str:
    """What a stand-in is drawn from where no person is known: the kind and the value."""
    return f"{kind}\0{canonical(kind, value)}"


def canonical(kind: str, value: bytes) -> str:
    """A value in the one spelling that all its spellings share."""
    text = unicodedata.normalize("NFC", value.decode("utf-8", "surrogateescape")).strip()
    if kind in ("EMAIL", "USER", "HOST"):
        return text.casefold()
    if kind == "PERSON":
        return " ".join(text.casefold().split())
    if kind in ("PHONE", "CARD", "IBAN") or kind.startswith("ID_"):
        return _LOOSE.sub("", text).upper()
    return text


def load_key(path: Path) -> bytes:
    """The key in a file. Raises InputError, and UsageError where it is too short to be one."""
    try:
        key = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot read the key {path}: {reason}", hint=_MAKE_KEY) from error
    if len(key.strip()) < _LEAST_KEY:
        raise UsageError(f"the key {path} is shorter than {_LEAST_KEY} bytes", hint=_MAKE_KEY)
    return key.strip()


def _formed(kind: str, value: bytes, name: str) -> bytes:
    """A stand-in that readers take for what the value is, and that none is; b"" for most kinds."""
    length = len(value.decode("utf-8", "replace"))
    named = MARK + name.encode()
    if kind == "EMAIL":
        # At least four digits of the name: "REDACTED1a2b@e.invalid".
        room = max(length - len(b"@.invalid"), 13)
        host = _HOST[: min(max(room - len(named), 1), len(_HOST))]
        local = named + MARK * (length // len(MARK))
        return b"%b@%b.invalid" % (local[: room - len(host)], host)
    if kind == "IBAN" and length >= len(_BANK) + len(named):
        return (_BANK + named + MARK * (length // len(MARK)))[:length]
    if kind in ("PHONE", "CARD") and _DIGITS.fullmatch(value.removeprefix(b"+")):
        size = sum(value.count(b"%d" % n) for n in range(10))
        digits = "000" + f"{int(name, 16):010}" if value.startswith(b"+") else ""
        last = kind == "CARD"  # of zeros alone the check digit would be right
        digits = digits[:size].ljust(size - last, "0") + "1" * last
        each = iter(digits.encode())
        made = bytes(next(each) if 48 <= c <= 57 else c for c in value)
        return made if made[:1] != b"+" or _STAND_IN.fullmatch(made) else b""
    return b""


def _shaped(value: bytes, name: str, *, headed: bool) -> bytes:
    """A stand-in of the value's length in characters, that nothing can take for valid."""
    length = len(value.decode("utf-8", "replace"))
    if value.isdigit():
        return b"0" * length
    head = re.match(rb"[A-Za-z]{2,8}[_-]", value) if headed else None
    begin = head[0] if head and length >= len(head[0]) + len(MARK) else b""
    filler = begin + MARK + name.encode()
    return (filler + MARK * (length // len(MARK) + 1))[: max(length, len(MARK))]
