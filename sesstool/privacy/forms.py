"""The forms that a person's name, accounts, addresses and numbers are written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from sesstool.privacy import people
from sesstool.privacy.ruleset import Rule, compiled
from sesstool.privacy.spelling import fold, folds, letters, words

LEAST = 3
"""How many letters or digits a name must have."""
_SPACE = r"(?:,[ \t]{0,3}|[ \t]{1,3}|\\ )"
_JOINT = r"[._+-]?"
_DOMAIN = r"@[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?"
_TAG = r"(?:\+[a-z0-9._-]{1,40})?"
# First names and surnames that are words as well, in prose or in code: alone they are nobody's.
_WORDS = frozenset(
    """
    alba amber angel april art august autumn baker banks bass bell berry best bill black
    bond brown bush campo carter case castro chance chase clara clay cook cooper costa cruz
    crystal daisy dale dawn day dean dolores drew earl faith field fisher flor fox frank
    gene glass gold good grace grant gray green guy hall hand harmony head heath herb hill
    holly hope house hunt hunter iris ivy jack jade jean jewel joy june justice key king
    knight lake land lane law leon light lily little long lord luz major mann mar mark marks
    marsh mason max may mercedes mercy miles mills min moon noble norm page park parker
    parks pat paz penny pilar pool pope post potter power price ray read reed rice rich rob
    robin rosa rose ruby rush rusty sandy savannah sharp short sierra singer skip sky small
    smart snow sol star steel stone street strong sue summer sun sweet taylor temple terry
    trip turner vega victor victoria wade walker ward waters weaver wells west white will
    winter wise wolf wood woods woody young
    """.split()  # noqa: SIM905 - a list would be three times as long
)

_Check = Literal["apart", "camel", "given", "surname"]


class Form(NamedTuple):
    """An expression over folded text; `check` says what must hold of what it finds."""

    rule: Rule
    expression: Any
    check: _Check


def forms(
    *,
    names: Iterable[tuple[str, ...]],
    users: Iterable[str],
    emails: Iterable[str],
    phones: Iterable[str],
) -> Iterator[Form]:
    """The forms of a person's names (first name, others, surname), accounts and so on."""
    full: list[str] = []
    logins: list[str] = []
    for name in sorted(names):
        full += _full(name)
        logins += _logins(name)
    logins += [one for user in sorted(users) for one in _user(user)]
    addresses = [_literal(email) for email in sorted(emails)]
    addresses += [f"(?:{'|'.join(logins)})[0-9]{{0,4}}{_TAG}{_DOMAIN}"] if logins else []
    numbers = [one for phone in sorted(phones) for one in _phone(phone)]
    given = [_word(name[0]) for name in sorted(names) if _tells(name[0])]
    others = sorted({word for name in names for word in name[1:] if _tells(word)})
    part = rule_for("subject-part", "PERSON", "a part of the subject's name", confidence=0.55)
    by_mail = rule_for("subject-email", "EMAIL", "an e-mail address of the subject")
    by_user = rule_for("subject-user", "USER", "a user name of the subject")
    table: tuple[tuple[Rule, Iterable[str], _Check], ...] = (
        (by_mail, addresses, "apart"),
        (rule_for("subject-name", "PERSON", "the name of the subject"), full, "camel"),
        (by_user, _numbered(logins), "camel"),
        (rule_for("subject-phone", "PHONE", "a phone number of the subject"), numbers, "apart"),
        (part, given, "given"),
        (part, map(_word, others), "surname"),
    )
    for rule, some, check in table:
        regex = "|".join(some)
        if regex:
            # Of plain words, which stand in more places, `re` finds the next one sooner.
            plain = re.compile(regex.encode()) if rule is part else None
            yield Form(rule, plain or compiled(regex, "what was given as --subject"), check)


def rule_for(name: str, kind: str, title: str, confidence: float = 0.6) -> Rule:
    """The rule that a match of what the user named bears."""
    # Below what is found by its form: that may be longer, and a secret.
    return Rule(name, "personal", kind, title, confidence, regex="")


def _numbered(logins: list[str]) -> list[str]:
    return [f"(?:{'|'.join(logins)})[0-9]{{0,4}}"] if logins else []


def _full(name: tuple[str, ...]) -> Iterator[str]:
    """A name as prose and lists have it, the longest forms first."""
    given, initial = _word(name[0]), _literal(fold(name[0])[:1])
    between = "|".join([*map(_word, name[1:-1]), r"[a-z]\.?"])
    for other in _others(name):
        word, short = _word(other), _literal(fold(other)[:1])
        yield f"{given}{_SPACE}(?:(?:{between}){_SPACE}){{0,3}}{word}"
        yield rf"{word}{_SPACE}{given}(?:{_SPACE}[a-z]\.)?"
        yield rf"{initial}\.?[ ]{{1,2}}(?:[a-z]\.?[ ])?{word}"
        yield rf"{word}(?:,[ ]?{initial}\b\.?|[ ]{initial}\.)"
        yield rf"{given}[ ]{short}\."


def _logins(name: tuple[str, ...]) -> Iterator[str]:
    """A name as accounts and slugs have it, the longest forms first."""
    given, first = _word(name[0]), fold(name[0])[:1]
    if len(name) > 2:
        yield _JOINT.join(map(_word, name))
    for other in _others(name):
        word, last = _word(other), fold(other)[:1]
        yield f"{given}{_JOINT}{word}"
        yield f"{word}{_JOINT}{given}"
        least = len(fold(other)) >= 4 and not {first + fold(other), fold(other)} & _WORDS
        joint = _JOINT if least else r"[._-]"
        yield f"{_literal(first)}{joint}{word}"
        yield f"{word}{joint}{_literal(first)}"
        least = len(fold(name[0])) >= 4 and fold(name[0]) not in _WORDS
        yield f"{given}{_JOINT if least else '[._-]'}{_literal(last)}"


def _others(name: tuple[str, ...]) -> list[str]:
    """The words of a name behind the first, the surname first, without particles."""
    return [word for word in reversed(name[1:]) if fold(word) not in people.PARTICLES]


def _user(user: str) -> Iterator[str]:
    yield _literal(fold(user))
    parts = words(user)
    if len(parts) > 1:
        yield rf"(?:{_JOINT}|{_SPACE})".join(map(_word, parts))


def _phone(phone: str) -> Iterator[str]:
    """A number in its international and national forms, however it is grouped."""
    from phonenumbers import (  # noqa: PLC0415 - slow to import
        NumberParseException,
        PhoneNumberFormat,
        format_number,
        parse,
    )

    digits = re.sub("[^0-9]", "", phone)
    yield r"(?:\+|00)?" + r"[ .()/-]{0,3}".join(digits)
    try:
        number = parse(phone)
    except NumberParseException:
        return
    national = re.sub("[^0-9]", "", format_number(number, PhoneNumberFormat.NATIONAL))
    yield r"(?:\+|00)[ ]?" + r"[ .()/-]{0,3}".join(f"{number.country_code}{number.national_number}")
    if len(national) >= 7:
        yield r"[ .()/-]{0,3}".join(national)


def _tells(word: str) -> bool:
    """Whether a part of a name says whose it is where it stands alone."""
    plain = fold(word)
    return letters(word) >= LEAST and plain not in _WORDS and plain not in people.PARTICLES


def _word(word: str) -> str:
    """An expression for the folded spellings of one word of a name."""
    return "(?:" + "|".join(map(_literal, sorted(folds(word), reverse=True))) + ")"


def _literal(text: str) -> str:
    """A text in an expression over bytes; apostrophes may be missing, hyphens another joint."""
    out = ""
    for letter in text:
        if letter in "'’":  # noqa: RUF001 - names have both
            out += r"(?:'|\xe2\x80\x99)?"
        elif letter.isascii() and letter.isalnum():
            out += letter
        else:
            raw = letter.encode("utf-8", "surrogateescape")
            out += "".join(f"\\x{byte:02x}" for byte in raw)
    return out
