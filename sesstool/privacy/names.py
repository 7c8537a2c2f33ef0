"""What the user names: terms of their own, and the person whose data is to go.

They are looked for in folded text, so that neither case nor accents hide them. Neither the values
nor what is drawn from them is in any message.
"""

from __future__ import annotations

import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import ahocorasick_rs

from sesstool.errors import InputError, UsageError
from sesstool.privacy import people
from sesstool.privacy.forms import LEAST, Form, forms, rule_for
from sesstool.privacy.matcher import Match
from sesstool.privacy.people import People, person
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.spelling import Folded, apart, fold, letters, spaced, spellings, words

RULES = ("term", *(f"subject-{what}" for what in ("name", "part", "email", "user", "phone")))
"""The rules that find what the user names."""
_MOST = 200
# What is not ASCII is folded in parts, for the way back takes many times its room.
_WINDOW, _OVERLAP = 1 << 18, 1 << 11
_PHONE = re.compile(r"\+?[0-9][0-9\s().\-/]{5,30}[0-9]")
_ADDRESS = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]+\.[^\s@<>.]+")
_KIND = re.compile(r"[A-Z][A-Z0-9_]*")


class Term(NamedTuple):
    """A name that the user wants out: the text, what a stand-in calls it, where it may stand."""

    text: str
    kind: str = "TERM"
    whole_word: bool = True


def load_terms(path: Path) -> tuple[Term, ...]:
    """The terms in a file, one a line, or `[[term]]` tables where its name ends with .toml.

    Lines that are empty or begin with # are left out. Raises InputError and UsageError, which
    name the line or the table and never what it holds.
    """
    text = read_text(path, "terms")
    if path.suffix == ".toml":
        tables = load_toml(text, path).get("term", [])
        return tuple(_term(table, f"term {n} of {path}") for n, table in enumerate(tables, start=1))
    lines = enumerate(text.splitlines(), start=1)
    return tuple(
        _checked(Term(line.strip()), f"line {number} of {path}")
        for number, line in lines
        if line.strip() and not line.startswith("#")
    )


def load_subject(path: Path) -> tuple[str, ...]:
    """What is known of one person, one value a line; "-" reads it from standard input.

    Lines that are empty or begin with # are left out. Raises InputError and UsageError.
    """
    lines = read_text(path, "subject").splitlines()
    values = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not values:
        raise UsageError(
            f"the subject file {path} names nobody",
            hint="give a name, an e-mail address, a user name or a phone number on each line",
        )
    return values


def read_text(path: Path, what: str) -> str:
    """The text of a file of the user's. Raises InputError and UsageError."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(
            f"cannot read the {what} {path}: {reason}", hint="check the path and its permissions"
        ) from error
    except UnicodeDecodeError:
        # Not chained: the error holds the bytes.
        raise UsageError(f"the {what} {path} are not UTF-8", hint="save it as UTF-8") from None


def load_toml(text: str, path: Path) -> dict[str, Any]:
    """The tables of a file of the user's. Raises UsageError, without what stands in it."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line \d+, column \d+", str(error))
        where = place[0] if place else "its end"
        raise UsageError(f"{path} is no TOML at {where}", hint="see https://toml.io") from None


def _term(table: Any, where: str) -> Term:
    members = {"text", "kind", "whole-word"}
    if not isinstance(table, dict) or not set(table) <= members or "text" not in table:
        raise UsageError(
            f"{where} has not the members it should", hint="text, and maybe kind and whole-word"
        )
    text, kind, whole = table["text"], table.get("kind", "TERM"), table.get("whole-word", True)
    if not (isinstance(text, str) and isinstance(kind, str) and isinstance(whole, bool)):
        raise UsageError(
            f"{where} has a member of the wrong type",
            hint="text and kind are strings, whole-word is true or false",
        )
    return _checked(Term(text.strip(), kind.upper(), whole), where)


def _checked(term: Term, where: str) -> Term:
    if letters(term.text) < LEAST:
        raise UsageError(f"{where} has fewer than {LEAST} letters or digits", hint=_TOO_SHORT)
    if not _KIND.fullmatch(term.kind):
        raise UsageError(f"{where} has no valid kind", hint="a kind is a word such as CUSTOMER")
    return term


_TOO_SHORT = "so short a name stands in too many words"


@dataclass(frozen=True, slots=True)
class Subject:
    """One person, by what is known of them. What was given decides their stand-in.

    `names` are first name, others and surname; `users` names of accounts.
    """

    names: frozenset[tuple[str, ...]] = field(default=frozenset(), repr=False)
    users: frozenset[str] = field(default=frozenset(), repr=False)
    emails: frozenset[str] = field(default=frozenset(), repr=False)
    phones: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> Subject:
        """The person to whom all of the values belong. Raises UsageError."""
        subject = cls()
        for value in values:
            text = unicodedata.normalize("NFC", value).strip()
            if letters(text) < LEAST:
                raise UsageError(
                    f"a --subject has fewer than {LEAST} letters or digits",
                    hint=f"{_TOO_SHORT}; give the whole name, an e-mail address or a user name",
                )
            if len(text) > _MOST or any(unicodedata.category(c) == "Cc" for c in text):
                raise UsageError(
                    f"a --subject is longer than {_MOST} characters, or of several lines",
                    hint="give one name, e-mail address, user name or phone number at a time",
                )
            subject = subject.also(text)
        return subject

    def also(self, text: str) -> Subject:
        """The person with one more value that is theirs."""
        names, users, emails, phones = self.names, self.users, self.emails, self.phones
        if _PHONE.fullmatch(text):
            phones |= {text}
        elif _ADDRESS.fullmatch(text):
            emails |= {text.casefold()}
            name = people.local(text)
            if name not in people.ROLES and letters(name) > LEAST:
                users |= {name}
        elif len(parts := words(text)) > 1 and person(text):
            names |= {tuple(parts)}
        else:
            users |= {text}
        # An account may show the name.
        for user in users:
            if people.account(user):
                names |= {tuple(words(user.rstrip("0123456789")))}
        return Subject(names, users, emails, phones)

    def identity(self) -> str:
        """What their stand-ins are drawn from."""
        if self.names:
            who = (person(" ".join(name)) for name in self.names)
            return f"PERSON\0{min(who, key=lambda one: (one.count(' '), one))}"
        for kind, values in (("EMAIL", self.emails), ("USER", self.users), ("PHONE", self.phones)):
            if values:
                return f"{kind}\0{min(map(fold, values))}"
        return ""


def _forms_of(subject: Subject) -> Iterator[Form]:
    return forms(
        names=subject.names, users=subject.users, emails=subject.emails, phones=subject.phones
    )


class Names:
    """Finds the terms and the forms of the subject in a text, whatever their spelling."""

    def __init__(self, terms: Iterable[Term] = (), subject: Subject | None = None) -> None:
        """Compile what is looked for."""
        self.subject = subject
        self._identity = subject.identity() if subject else ""
        self._forms = list(_forms_of(subject)) if subject else []
        self._terms: list[tuple[Term, Rule]] = []
        by_spelling: dict[str, int] = {}
        for term in terms:
            self._terms.append((term, rule_for("term", term.kind, "a term of the user's")))
            for spelling in spellings(term.text):
                by_spelling.setdefault(spelling, len(self._terms) - 1)
        self._numbers = list(by_spelling.values())
        self._index = ahocorasick_rs.BytesAhoCorasick(
            [spelling.encode("utf-8", "surrogateescape") for spelling in by_spelling]
        )

    def __bool__(self) -> bool:
        """Whether anything is looked for."""
        return bool(self._terms or self._forms)

    def find(self, text: bytes) -> list[Match]:
        """Where the user's names stand in a text; some may overlap."""
        if not self:
            return []
        if len(text) <= _WINDOW or text.isascii():
            return list(self._found(text, 0))
        found: dict[Match, None] = {}
        for start in range(0, len(text), _WINDOW):
            part = text[max(start - _OVERLAP, 0) : start + _WINDOW + _OVERLAP]
            found |= dict.fromkeys(self._found(part, max(start - _OVERLAP, 0)))
        return list(found)

    def _found(self, text: bytes, offset: int) -> Iterator[Match]:
        folded = Folded(text)
        spans = [
            (start, end, self._terms[n][1]) for start, end, n in self._found_terms(text, folded)
        ]
        for form in self._forms:
            spans += _found(form, text, folded)
        for start, end, rule in spans:
            yield Match(offset + start, offset + end, rule)

    def _found_terms(self, text: bytes, folded: Folded) -> Iterator[tuple[int, int, int]]:
        """The spans of terms, with the number of each."""
        if not self._terms:
            return
        hits = self._index.find_matches_as_indexes(folded.text, overlapping=True)
        for spelling, first, last in hits:
            number = self._numbers[spelling]
            term = self._terms[number][0]
            start, end = folded.source(first, last)
            if not term.whole_word or not spaced(term.text) or apart(text, start, end, camel=True):
                yield start, end, number

    def identity(self, kind: str, value: bytes) -> str:
        """What the stand-in of a value is drawn from: the subject, or a term however spelled.

        "" where it is neither.
        """
        if not self:
            return ""
        folded = Folded(value)
        for start, end, number in self._found_terms(value, folded):
            term = self._terms[number][0]
            if term.kind == kind and (start, end) == (0, len(value)):
                return f"{kind}\0{fold(term.text)}"
        if kind not in ("PERSON", "USER", "EMAIL", "PHONE"):
            return ""
        whole = kind != "PERSON"
        for form in self._forms:
            for match in _found(form, value, folded):
                if not whole or (match.start, match.end) == (0, len(value)):
                    return self._identity
        return ""

    def widened(self, seen: People) -> Names | None:
        """With what a set shows to be the subject's as well, None where that is nothing new."""
        if self.subject is None:
            return None
        subject = self.subject
        for name, email in sorted(seen.pairs):
            if email in subject.emails and (seen.owned(email) or " " not in name):
                tells = letters(name) >= LEAST and fold(name) not in people.ROLES
                subject = subject.also(name) if tells else subject
            elif self._is_theirs(name):
                subject = subject.also(email)
        if subject == self.subject:
            return None
        names = Names((term for term, _ in self._terms), subject)
        names._identity = self._identity
        return names

    def _is_theirs(self, name: str) -> bool:
        raw = name.encode()
        folded = Folded(raw)
        return any(
            (match.start, match.end) == (0, len(raw))
            for form in self._forms
            if form.check in ("apart", "camel")
            for match in _found(form, raw, folded)
        )


def _found(form: Form, text: bytes, folded: Folded) -> Iterator[Match]:
    position = 0
    while match := form.expression.search(folded.text, position):
        first, last = match.span()
        start, end = folded.source(first, last)
        if _holds(form.check, text, start, end):
            yield Match(start, end, form.rule)
            position = last
        else:
            position = first + 1


def _holds(check: str, text: bytes, start: int, end: int) -> bool:
    alone = check not in ("apart", "camel")
    # A part of a name alone: written as a name, and not beside another person's surname.
    if alone and not text[start : start + 4].decode("utf-8", "ignore")[:1].isupper():
        return False
    value = text[start:end]
    if not value.isascii() and not spaced(value.decode("utf-8", "ignore")):
        return True
    return apart(text, start, end, camel=check == "camel") and not (
        check == "given" and _SURNAME.match(text, end)
    )


_SURNAME = re.compile(rb" [A-Z\xc3-\xc5][a-z\x80-\xff]")
