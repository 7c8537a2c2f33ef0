"""Who is who: the forms of one person's name, and which values of a set are one person's.

A value that shows a first name and a surname (`Mina Korhonen`, `Korhonen, Mina`,
`mina.korhonen@…`, `/home/mina-korhonen`) says by itself whose it is, in all sets and runs alike.
What does not (`mk@…`) is linked to a name only where a set shows both together, as an author
line or an object with name and e-mail does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from sesstool.privacy.spelling import fold, words
from sesstool.privacy.standin import canonical

ROLES = frozenset(
    """
    account accounts admin administrator agent alerts app auth billing bot bounce build
    builder ci code contact daemon deploy dev developer devops do donotreply email example
    feedback first full git github gitlab guest hello help helpdesk home hr info jenkins
    jobs last legal list local mail mailer marketing me my name news newsletter no nobody
    noreply not notifications office ops post postmaster press privacy project reply robot
    root runner sales security server service services shared staff support system team test
    tester tests user users web webmaster work www your
    """.split()  # noqa: SIM905 - a list would be three times as long
)
"""Words of addresses and accounts that are no person's."""

PARTICLES = frozenset(
    """
    al ap bin da das de del den der di do dos du e el la le ten ter van von y
    """.split()  # noqa: SIM905 - a list would be three times as long
)
_CUES = frozenset(
    """
    ask author bcc by cc committer contact dear from hello hi mail maintainer message name
    owner reply reviewer sender tell thanks to via with
    """.split()  # noqa: SIM905 - a list would be three times as long
)
_BEFORE = 80
_AROUND = 300
# Pairs are kept for the whole set: so many different ones at most.
_MOST_PAIRS = 200_000
_EMAIL = rb"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?"
_BRACKETED = re.compile(rb"\s?<(" + _EMAIL + rb")>")
_MAIL_KEY = re.compile(
    rb"(?i)(?:e-?mail|mail)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(" + _EMAIL + rb")(?![\w@])"
)
_NAME_KEY = re.compile(
    rb"(?i)(?<![a-z])((?:first|given|last|family|sur|full|display|real|user|author|committer)?[_-]?"
    rb"name|author|committer|login|username|user)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    rb"([^\"'<>{}\[\]\r\n;=:@\\]{2,60})(?![^\"'}\r\n,;])"
)
_OBJECT_ENDS = (b"{", b"}", b"\n\n", b"\n- ", b"\n[")
_GIVEN, _FAMILY, _ACCOUNT = (
    frozenset({"firstname", "givenname"}),
    frozenset({"lastname", "familyname", "surname"}),
    frozenset({"username", "login", "user"}),
)


def person(name: str) -> str:
    """A person's name in the one spelling that its spellings share; "" where it shows none."""
    parts = [fold(word).strip(".,'") for word in words(name)]
    if not 2 <= len(parts) <= 5 or any(part in ROLES for part in parts):
        return ""
    if not all(
        len(part) > 1 and part.replace("'", "").replace("-", "").isalpha() for part in parts
    ):
        return ""
    return " ".join(sorted(parts))


def account(name: str) -> str:
    """The person that an account's name or the local part of an address shows, else ""."""
    plain = name.partition("+")[0].rstrip("0123456789")
    return person(plain) if re.search(r"[._-]", plain) else ""


def local(email: str) -> str:
    """The local part of an address, without the part that a plus begins."""
    return email.rpartition("@")[0].partition("+")[0].casefold()


@dataclass
class People:
    """Whose a value is, by its form and by what a set shows together.

    `see` takes in the texts of a set; `settle` then decides. Neither the order of the texts nor
    that of the files counts.
    """

    _seen: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _emails: dict[str, str] = field(default_factory=dict, repr=False)
    _users: dict[str, str] = field(default_factory=dict, repr=False)
    _names: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """The names and user names that were seen with an address, each with that address."""
        return self._seen

    def see(self, text: bytes) -> None:
        """Take in who is named together with an address in a text."""
        if b"@" not in text or len(self._seen) >= _MOST_PAIRS:
            return
        for match in _BRACKETED.finditer(text):
            name = last_name(text[max(match.start() - _BEFORE, 0) : match.start()])
            self._pair(name, match[1])
        keys = list(_MAIL_KEY.finditer(text))
        # What is named before one address and behind another belongs to either, or to none.
        ends = [0, *(key.end() for key in keys)]
        starts = [*(key.start() for key in keys[1:]), len(text)]
        for key, left, right in zip(keys, ends, starts, strict=False):
            for name in _named(text, key.span(), left, right):
                self._pair(name, key[1])

    def _pair(self, name: str, email: bytes) -> None:
        address = email.decode("ascii").casefold()
        if name and local(address) not in ROLES and "noreply" not in address:
            self._seen.add((name, address))

    def settle(self) -> None:
        """Decide whose each address and account is; one that several people use is nobody's."""
        named: defaultdict[str, set[str]] = defaultdict(set)
        for name, email in self._seen:
            who = person(name)
            if who:
                named[email].add(who)
        owner: defaultdict[str, set[str]] = defaultdict(set)
        for email, people in named.items():
            least = min(people, key=lambda who: (who.count(" "), who))
            if all(set(least.split()) <= set(who.split()) for who in people):
                self._emails[email] = least
                self._names |= dict.fromkeys(people, least)
                for user in {local(email), *_logins(least)}:
                    owner[user].add(least)
        for name, email in self._seen:
            if not person(name) and email in self._emails and " " not in name:
                owner[fold(name)].add(self._emails[email])
        self._users = {
            user: min(people)
            for user, people in owner.items()
            if len(people) == 1 and len(user) > 3 and user not in ROLES
        }

    def owned(self, email: str) -> bool:
        """Whether an address is one person's, as far as the set shows."""
        return email in self._emails

    def identity(self, kind: str, value: bytes) -> str:
        """What the stand-in of a value is drawn from: the same for all that is one person's."""
        plain = canonical(kind, value)
        who = ""
        if kind == "PERSON":
            who = person(plain)
            who = self._names.get(who, who)
        elif kind == "EMAIL":
            name = local(plain)
            who = self._emails.get(plain, "") or account(name) or self._users.get(name, "")
        elif kind == "USER":
            who = account(plain) or self._users.get(fold(plain), "")
        return f"PERSON\0{who}" if who else f"{kind}\0{plain}"


def last_name(before: bytes) -> str:
    """The name at the end of a text, "" where none stands there."""
    text = before.decode("utf-8", "ignore").rstrip("\"' ")
    *_, mark, part = re.split(r"([:=<>\"()\[\]{}|;\r\n\t@/\\]|\A)", text)
    if mark == "\\":
        return ""  # an escape, which another view undoes
    part = part.strip()
    swapped = re.fullmatch(r"([\w'’-]+(?: [\w'’-]+){0,3}), ?([\w'’-]+)", part)  # noqa: RUF001 - names have both apostrophes
    if swapped:
        return f"{swapped[2]} {swapped[1]}"
    some = part.rpartition(",")[2].split()
    lower = all(word.islower() for word in some)
    name: list[str] = []
    for word in reversed(some):
        if not re.fullmatch(r"[^\W\d_][\w.'’-]*", word):  # noqa: RUF001 - names have both apostrophes
            break
        if not lower and word.islower() and word not in PARTICLES:
            break
        name.insert(0, word)
    while name and name[0].casefold() in _CUES | PARTICLES:
        name.pop(0)
    # One word alone may be any, but where nothing else stands there.
    return " ".join(name) if 1 < len(name) <= 5 or name == some else ""


def _named(text: bytes, mail: tuple[int, int], first: int, last: int) -> Iterator[str]:
    """Who is named in the object, or the lines, in which an address stands.

    `first` and `last` bound where that is looked for.
    """
    left = text[max(mail[0] - _AROUND, first) : mail[0]]
    right = text[mail[1] : min(mail[1] + _AROUND, last)]
    left = left[max(left.rfind(mark) + 1 for mark in _OBJECT_ENDS) :]
    right = right[: min(at % (len(right) + 1) for at in map(right.find, _OBJECT_ENDS))]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for match in _NAME_KEY.finditer(left + b"\n" + right):
        key = re.sub("[^a-z]", "", match[1].decode().casefold())
        value = match[2].decode("utf-8", "ignore").rstrip(", ")
        part = "given" if key in _GIVEN else "family" if key in _FAMILY else ""
        found[part or ("user" if key in _ACCOUNT else "name")].add(value)
    for kind in ("name", "user"):
        if len(found[kind]) == 1:
            # One word may be the name of a project as well.
            yield from (one for one in found[kind] if kind == "user" or " " in one)
    if len(found["given"]) == len(found["family"]) == 1:
        yield f"{min(found['given'])} {min(found['family'])}"


def _logins(who: str) -> Iterator[str]:
    """User names that are made of a name of two words: an initial and the other word."""
    parts = who.split()
    if len(parts) == 2:
        for one, other in (parts, parts[::-1]):
            yield from (one[0] + other, other + one[0])
            yield from (f"{one[0]}{mark}{other}" for mark in "._-")
