"""The detection rules: TOML files, each rule with examples that the tests run.

A rule file may begin with `[defaults]`, members that its rules have unless they say otherwise, and
`[parts]`, pieces of expressions: `{{NAME}}` in an expression, or in a later part, stands for one;
`[words]` are lists of labels, for which `{{NAME}}` stands among labels.
Then come `[[rule]]` tables:

    id           its name, kebab-case, unique
    group        "secret" or "personal"
    kind         what a stand-in calls the value: TOKEN, PASSWORD, EMAIL, …
    title        what it finds, in words
    confidence   0 to 1: which of two overlapping matches wins, and what the report says
    regex        RE2 over the bytes of UTF-8 text, ASCII classes; the value is the group named
                 `value`, `value2`, … that took part, else the whole match. A group named `key` is
                 the name that the text gives the value, which checks may look at
    anchors      lower-case ASCII literals, one of which stands in every match in any case; a rule
                 without is tried on every text, which is slow
    often        what many texts hold, so that the rule is looked for in another way: "anchors" of
                 it, or "matches"; "" where neither
    within       how many bytes a match reaches from an anchor at most, where the expression sets no
                 bound; a longer one is cut there or not found
    boundary     what must not stand beside the value: "token" a character of [A-Za-z0-9_-], where
                 a secret does not mind the marks of diffs, emphasis, names and options before it,
                 "word" a letter, digit or underscore, "digits" a digit, "none" anything may
    validate     names of `validators.CHECKS`, with an argument behind a colon; all must hold
    context      lower-case words, one of which must stand near before the value
    labels       words, one of which must be the key of the value, stand before it or head its
                 column; `labels.py` says how
    headings     words, one of which must be the whole heading of its column
    rotate       where such a secret is revoked, "" where that is not known
    joined       whether it may be looked for across a line wrap
    examples, counter_examples
                 texts; `<CLASS:N>` stands for N characters of a class (see `expand`), so that no
                 file holds what looks like a credential. In an example, `{{…}}` marks the value
"""

from __future__ import annotations

import hashlib
import re
import string
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, Literal

import re2

from sesstool.errors import UsageError
from sesstool.privacy.labels import pattern

_MEMORY = 1 << 23
_CLASSES = {
    "age": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "base32": string.ascii_uppercase + "234567",
    "base58": "".join(c for c in string.ascii_letters + string.digits if c not in "0OIl"),
    "base64": string.ascii_letters + string.digits + "+/",
    "base64url": string.ascii_letters + string.digits + "-_",
    "digit": string.digits,
    "hex": string.digits + "abcdef",
    "HEX": string.digits + "ABCDEF",
    "lower": string.ascii_lowercase,
    "lowernum": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase,
    "uppernum": string.ascii_uppercase + string.digits,
}
_PART = re.compile(r"\{\{(\w+)\}\}")
_RUN = re.compile(r"<(\w+):(\d+)>")


@dataclass(frozen=True)
class Rule:
    """One rule; see the module for what its members mean."""

    id: str
    group: Literal["secret", "personal"]
    kind: str
    title: str
    confidence: float
    regex: str
    anchors: tuple[str, ...] = ()
    often: Literal["", "anchors", "matches"] = ""
    within: int = 0
    boundary: Literal["token", "word", "digits", "none"] = "token"
    validate: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rotate: str = ""
    joined: bool = False
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()

    @cached_property
    def compiled(self) -> Any:
        """The expression. Raises UsageError where it is none."""
        return compiled(self.regex, f"the rule {self.id}")

    @cached_property
    def anchors_bytes(self) -> tuple[bytes, ...]:
        """The anchors as bytes."""
        return tuple(anchor.encode() for anchor in self.anchors)

    @cached_property
    def value_groups(self) -> tuple[int, ...]:
        """The numbers of the groups one of which holds the value."""
        groups = self.compiled.groupindex.items()
        return tuple(number for name, number in groups if name.startswith(b"value")) or (0,)

    @cached_property
    def key_group(self) -> int | None:
        """The number of the group that holds the name of the value."""
        number = self.compiled.groupindex.get(b"key")
        return None if number is None else int(number)

    @cached_property
    def label_pattern(self) -> re.Pattern[str] | None:
        """The expression for the labels, or for the headings, None where the rule has none."""
        words = self.labels or self.headings
        return pattern(words) if words else None


def compiled(regex: str, name: str, memory: int = _MEMORY) -> Any:
    """An RE2 expression over bytes, which may take so many bytes. Raises UsageError."""
    options = re2.Options()
    # Bytes, not characters: any bytes are text, and offsets need no translation.
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = memory
    try:
        return re2.compile(regex.encode(), options)
    except re2.error as error:
        raise UsageError(
            f"{name} has no valid regular expression",
            hint="the syntax is RE2's: no look-around, no back references",
        ) from error


def shipped() -> tuple[Rule, ...]:
    """The rules that sesstool ships."""
    folder = resources.files("sesstool.privacy").joinpath("rules")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return tuple(rule for f in files for rule in loads(f.read_text(encoding="utf-8"), f.name))


def loads(text: str, name: str) -> Iterator[Rule]:
    """The rules in the text of a rule file. Raises UsageError."""
    hint = "the docstring of sesstool.privacy.ruleset tells what a rule file may hold"
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is no TOML: {_place(error)}", hint) from error
    parts: dict[str, str] = {}
    for part, regex in content.get("parts", {}).items():
        parts[part] = _whole(regex, parts)
    for table in content.get("rule", []):
        values: dict[str, Any] = content.get("defaults", {}) | table
        values |= {key: tuple(v) for key, v in values.items() if isinstance(v, list)}
        for member in {"labels", "headings"} & values.keys():
            words = (content.get("words", {}).get(w[2:-2], [w]) for w in values[member])
            values[member] = tuple(word for some in words for word in some)
        try:
            values["regex"] = _whole(values["regex"], parts)
            yield Rule(**values)
        except (TypeError, KeyError) as error:
            raise UsageError(
                f"a rule of {name} lacks a member, or has one too many", hint
            ) from error


def _whole(regex: str, parts: dict[str, str]) -> str:
    """An expression with its parts in place. Raises KeyError."""
    return _PART.sub(lambda m: f"(?:{parts[m[1]]})", regex)


def digest(rules: Iterable[Rule]) -> str:
    """A name for a set of rules: the same for the same rules only."""
    return hashlib.sha256(repr(sorted(rules, key=lambda r: r.id)).encode()).hexdigest()[:16]


def expand(example: str, seed: str) -> tuple[str, list[tuple[int, int]]]:
    """An example as text, and the spans of the values marked in it, in characters.

    The runs are drawn from a stream that the seed alone decides.
    """
    stream = _letters(seed)
    text = _RUN.sub(lambda m: "".join(_pick(stream, m[1]) for _ in range(int(m[2]))), example)
    spans = []
    while (start := text.find("{{")) >= 0:
        end = text.index("}}", start)
        text = text[:start] + text[start + 2 : end] + text[end + 2 :]
        spans.append((start, end - 2))
    return text, spans


def _letters(seed: str) -> Iterator[int]:
    number = 0
    while True:
        yield from hashlib.sha256(f"{seed}:{number}".encode()).digest()
        number += 1


def _pick(stream: Iterator[int], name: str) -> str:
    letters = _CLASSES[name]
    return letters[next(stream) % len(letters)]


def _place(error: tomllib.TOMLDecodeError) -> str:
    # Python 3.11 has the place in the message only.
    found = re.search(r"line \d+, column \d+", str(error))
    return found[0] if found else "at its end"
