"""The parts of a record that a redaction may change, must keep, or cannot look into."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sesstool.formats.base import Format
from sesstool.formats.schemas import keywords, record_schema
from sesstool.formats.terms import Field
from sesstool.records.jsonspan import join, parts

_TOKEN = re.compile(
    rb'"(?P<string>[^"\\]*+(?:\\.[^"\\]*+)*+)"|(?P<mark>[{}\[\],])|(?P<number>-?[0-9][0-9.eE+-]*+)',
    re.DOTALL,
)
# What seals itself or holds a picture; anything else in such a field is text.
_BLOB = re.compile(rb"(?:data:[\w.+-]+/[\w.+-]+(?:;[\w=.-]+)*;base64,)?[A-Za-z0-9+/_-]{24,}={0,2}")
_ALL = ".**"
# Arguments and results of the tools that most agents have.
_TOOLS = """
arguments args body cmd code command content cwd data description details diff edits env
environment error file filePath file_path gitBranch headers input items line lines message
metadata name newString new_string oldString old_string originalFile output params path
pattern payload prompt query result results role script stderr stdin stdout structuredPatch
text title todos toolUseResult type url value values workdir
"""
_USUAL = frozenset(_TOOLS.split())


class Leaf(NamedTuple):
    """A string or a number of a record: the span of its bytes, without quotes, and its path.

    `path` has keys and indexes; a key's own path ends with itself. `owner` numbers the object or
    list that it stands in, so that keys of one object can be told.
    """

    start: int
    end: int
    path: tuple[str | int, ...]
    kind: str
    owner: int


def leaves(raw: bytes) -> Iterator[Leaf]:
    """The strings, keys and numbers of a valid JSON text, in order."""
    path: list[str | int] = []
    owners = [0]
    number = 0
    expects_key = False
    for token in _TOKEN.finditer(raw):
        kind = token.lastgroup or ""
        if kind == "string" and expects_key:
            start, end = token.span("string")
            path[-1] = _key(raw[start:end])
            yield Leaf(start, end, tuple(path), "key", owners[-1])
            expects_key = False
        elif kind != "mark":
            yield Leaf(*token.span(kind), tuple(path), kind, owners[-1])
        elif token[0] in b"{[":
            number += 1
            owners.append(number)
            expects_key = token[0] == b"{"
            path.append("" if expects_key else 0)
        elif token[0] == b",":
            if path and type(path[-1]) is int:
                path[-1] += 1
            else:
                expects_key = True
        elif path:
            expects_key = False
            path.pop()
            owners.pop()


def name_of(pointer: str) -> str:
    """The name of the field at a pointer, as `Format.fields` has them: without indexes."""
    return ".".join(part for part in parts(pointer) if not part.isdecimal())


def _own_keys(form: Format) -> frozenset[str]:
    """The keys that a format's schema and table name."""
    named = {part for name in form.fields for part in name.split(".")}
    schema = record_schema(form)
    if schema is not None:
        named |= {key for word, value in keywords(schema) if word == "properties" for key in value}
    return frozenset(named - {"**"})


def _key(raw: bytes) -> str:
    text = raw.decode("utf-8", "surrogateescape")
    if "\\" not in text:
        return text
    return str(json.loads(f'"{text}"', strict=False))


class Policy:
    """What a format says of its fields."""

    def __init__(self, fields: Mapping[str, Field], keys: frozenset[str] = frozenset()) -> None:
        """Take a format's table, see `Format.fields`, and the keys that are its own."""
        self._keys = keys
        self._exact = {k: v for k, v in fields.items() if not k.endswith(_ALL)}
        self._below = {k.removesuffix(_ALL): v for k, v in fields.items() if k.endswith(_ALL)}
        self._known: dict[str, Field] = {}
        self._sealed = [k.removesuffix(_ALL) for k, v in fields.items() if v is Field.OPAQUE]
        self._opaque = {f'"{name.rpartition(".")[2]}"'.encode() for name in self._sealed}

    @classmethod
    def of_format(cls, form: Format | None) -> Policy:
        """The policy of a format; without one all is text."""
        return cls(form.fields, _own_keys(form)) if form else cls({})

    def key(self, key: str, name: str) -> Field:
        """What a key is; `name` is its field's. The format's own stay, whatever is found."""
        own = key in self._keys or self.named(name) is not Field.TEXT
        return Field.FROZEN if own else Field.TEXT

    def pointer(self, leaf: Leaf) -> str:
        """Where a leaf is, with "*" for each key that neither the format nor a usual tool names.

        A key can be data, and what no rule finds in it may be a value all the same.
        """
        known = (
            part if type(part) is int or part in self._keys or part in _USUAL else "*"
            for part in leaf.path
        )
        return join(*known)

    def of(self, leaf: Leaf, raw: bytes) -> Field:
        """What a leaf is. A field that may be opaque is text where no blob stands in it."""
        name = ".".join(part for part in leaf.path if type(part) is str)
        if leaf.kind == "key":
            return self.key(str(leaf.path[-1]), name)
        field = self.named(name)
        if field is Field.OPAQUE and not _BLOB.fullmatch(raw, leaf.start, leaf.end):
            return Field.TEXT
        return field

    def may_be_opaque(self, raw: bytes) -> bool:
        """Whether a record may hold an opaque field: false tells surely that it holds none."""
        # An escape can be a letter of a name.
        return b"\\u00" in raw or any(name in raw for name in self._opaque)

    def seals(self, name: str) -> bool:
        """Whether something in a field, or beside it, may be opaque, and so seal what it says."""
        beside = name.rpartition(".")[0]
        return any(
            not name or one.startswith(f"{name}.") or one.rpartition(".")[0] == beside
            for one in self._sealed
        )

    def named(self, name: str) -> Field:
        """What the format says of a name, as `Format.fields` has them."""
        field = self._known.get(name)
        if field is None:
            if len(self._known) > 4096:
                self._known.clear()  # keys can be data
            field = self._known[name] = self._find(name)
        return field

    def _find(self, name: str) -> Field:
        exact = self._exact.get(name)
        if exact is not None:
            return exact
        while name:
            name = name.rpartition(".")[0]
            if name in self._below:
                return self._below[name]
        return Field.TEXT
