"""A whole set of files without its values, in two passes.

The first pass learns every value of every file; the second takes each out wherever it stands in
the set. What comes of it lies in unlinked temporary files until it has been verified.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat, takewhile
from typing import Any

from sesstool.errors import InputError, UsageError
from sesstool.formats.base import Format
from sesstool.formats.events import Message, ToolCall, ToolResult
from sesstool.formats.terms import Field
from sesstool.formats.values import mapping
from sesstool.privacy.allow import Allowed, Entry
from sesstool.privacy.deltas import mended
from sesstool.privacy.matcher import Match, overlaps
from sesstool.privacy.names import Names, Subject, Term
from sesstool.privacy.people import People
from sesstool.privacy.rewrite import Place, Rewriter, Rewritten
from sesstool.privacy.ruleset import Rule
from sesstool.privacy.scan import Hit, Known, Scanner
from sesstool.privacy.standin import StandIns, stand_ins
from sesstool.privacy.values import KNOWN, Value, Values
from sesstool.records.heal import decode_any
from sesstool.records.lines import Line, each_line
from sesstool.records.packed import scratch
from sesstool.records.recover import utf16
from sesstool.records.source import Continued, FileSource, Source

Told = Callable[["Spot"], None]


# Of a line: the rules found something in it, or could not look at all of it; or nothing, and no
# field is opaque; 0 is the rest.
_HIT, _PLAIN = 2, 1


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user chose: see `sesstool redact --help`.

    `profile` is "resume" or "share", `style` "tag", "shape" or "label". `unreadable` says what
    happens to values in lines that are no JSON: "text" takes them out, "skip" leaves such lines
    alone. `detectors` are groups or names of rules, all where empty. `terms` are the user's own
    names; `subject` is what is known of one person, and `only_subject` says that no rules are
    asked. `allow` lists what is left alone.
    """

    profile: str = "resume"
    style: str = "tag"
    unreadable: str = "text"
    detectors: tuple[str, ...] = ()
    terms: tuple[Term, ...] = field(default=(), repr=False)
    subject: tuple[str, ...] = field(default=(), repr=False)
    only_subject: bool = False
    allow: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Spot:
    """A value in a file: the line from 1, the offset of that line, and the place in it.

    `column` counts the characters of the line, from 1.
    """

    line: int
    column: int
    offset: int
    place: Place
    readable: bool


@dataclass(slots=True)
class Summary:
    """What a redaction of one file came to; it holds no value.

    `rules` counts replaced places by rule, `kept` those in frozen fields, `thinking` the signed
    blocks that went, `blobs` what could not be looked into and `dropped` those emptied,
    `unreadable` the lines that are no JSON, `bounded` those encoded so often that not all of them
    was looked at, with `first_bounded` the first. `open_turn` is the line of a thinking block that
    went although the turn it began is not over, else 0; `unsettled` that of a line in which new
    findings come up with each round.
    """

    lines: int = 0
    changed: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    thinking: int = 0
    blobs: int = 0
    dropped: int = 0
    unreadable: int = 0
    bounded: int = 0
    first_bounded: int = 0
    open_turn: int = 0
    unsettled: int = 0

    def add(self, done: Rewritten) -> None:
        """Count one line."""
        for place in done.places:
            (self.kept if place.action == "kept" else self.rules)[place.hit.rule.id] += 1
        self.thinking += len(done.thinking)
        self.blobs += done.blobs
        self.dropped += done.dropped
        self.unreadable += not done.readable


@dataclass(frozen=True, slots=True)
class Text:
    """What is redacted: a session of a format, or without one a side file of other text.

    `whole` says that the file is one JSON document and not lines. What stands before the offset
    `start`, where line `number` begins, was redacted before and is not looked at. `watch` is called
    before each line; what it raises ends the reading.
    """

    source: FileSource | Continued
    form: Format | None
    whole: bool = False
    start: int = 0
    number: int = 1
    watch: Callable[[], None] | None = None

    def lines(self) -> Iterator[Line]:
        """Its lines, or its one document."""
        if self.whole:
            yield Line(1, 0, self.source.read(0, self.source.size), ended=False)
        elif self.watch is None:
            yield from each_line(self.source, self.start, self.number)
        else:
            for line in each_line(self.source, self.start, self.number):
                self.watch()
                yield line


class Redactor:
    """Redacts the files of one set: first `learn` each of them, then `rewrite` each.

    Between the two comes `settle`. Raises UsageError for a subject that is none.
    """

    def __init__(
        self, rules: Iterable[Rule], stand_ins: StandIns, choice: Choice, key: bytes = b""
    ) -> None:
        """Take what decides how values are found and what stands in their place.

        `key` is that of the allow list.
        """
        subject = Subject.of(choice.subject) if choice.subject else None
        self.values = Values()
        self._known = _Known(self.values, Names(choice.terms, subject))
        rules = () if choice.only_subject else chosen(rules, choice.detectors)
        self._scanner = Scanner(rules, self._known)
        # Of each text a byte a line, of what the rules found there.
        self._hit: dict[tuple[str, int], bytearray] = {}
        self._stand_ins = stand_ins
        stand_ins.identity = self._known.identity
        self._choice = choice
        self._key = key
        self._allowed: dict[str, Allowed] = {}

    def learn(self, text: Text) -> None:
        """Take in the values of one file. Raises InputError where it is in UTF-16."""
        _refuse_wide(text.source)
        self._known.learning = True
        rewriter = self._rewriter(text)
        lines_hit = self._hit[text.source.name, text.start] = bytearray()
        for _, whole, crossing in self._mended(text, rewriter):
            bounded = self._scanner.bounded
            found, plain = rewriter.hits(whole)
            again = found or crossing or self._scanner.bounded > bounded
            lines_hit.append(_HIT if again else plain)
            hits = [place.hit for place in crossing]
            hits += [hit for hit, where in found if where is Field.TEXT]
            for hit in hits:
                rule = hit.rule
                self.values.learn(Value(rule.kind, hit.value, rule.group, rule.title))

    def settle(self) -> bool:
        """Decide whose the values are, once all files were learnt.

        True where that brings up more of the subject: then the files are to be learnt again.
        """
        self._known.learning = False
        self._known.people.settle()
        wider = self._known.names.widened(self._known.people)
        if wider is None:
            return False
        self._known.names = wider
        return True

    def holds(self, text: Text, values: Iterable[Value], since: int) -> bool:
        """Whether any of some values stands in what was redacted before of a file.

        What stands before the line at the offset `since` is not searched.
        """
        known = Values()
        for value in values:
            known.learn(value, always=True)
        scanner = Scanner((), known)
        rewriter = self._rewriter(text, scanner)
        before = takewhile(lambda line: line.start < text.start, each_line(text.source, since))
        for line in before:
            # Most lines hold none, as JSON or as text, and need not be taken apart.
            found = scanner.scan(line.text)
            if not found and b"\\" in line.text:
                found = scanner.scan(line.text, escaped=True)
            if found and any(where is Field.TEXT for _, where in rewriter.hits(line.text)[0]):
                return True
        return False

    def left(self, text: Text) -> Known:
        """Finds what must not be left in a redacted file."""
        return _Left(self._known, self._spared(text.source.name))

    def rewrite(self, text: Text, told: Told) -> tuple[FileSource, Summary]:
        """One file, from where it is looked at, without the values; `told` hears of each place."""
        source = text.source
        spool = scratch(secret=source.seal is not None)
        summary = Summary()
        try:
            spool.writelines(self._lines(text, told, summary))
            spool.flush()
        except BaseException:
            spool.close()
            raise
        result = FileSource(source.name, source.path, spool, source.codec)
        result.seal = source.seal
        return result, summary

    def shown(self, path: str, given: int = 0) -> str:
        """A path without values beyond its first `given` bytes, to be shown or for a copy.

        What the rules find in the path itself is a value, too, but no secret that is several
        names long.
        """
        raw = os.fsencode(path)
        allowed = self._spared("")
        spans = [
            (start, end, hit.rule.kind)
            for hit in self._scanner.scan(raw)
            if not allowed.covers(hit.rule.id, hit.value)
            and not (hit.rule.group == "secret" and hit.rule.id != KNOWN and b"/" in hit.value)
            and (0, len(hit.value)) not in stand_ins(hit.value)
            for start, end in _components(raw, max(hit.start, given), hit.end)
        ]
        return os.fsdecode(self._named(raw, spans))

    def found(self, text: bytes, *, escaped: bool) -> list[Hit]:
        """The values in a piece of a file, those that are left alone too."""
        return self._scanner.scan(text, escaped=escaped)

    def fingerprint(self, kind: str, value: bytes) -> str:
        """See `StandIns.fingerprint`."""
        return self._stand_ins.fingerprint(kind, value)

    def _named(self, raw: bytes, spans: list[tuple[int, int, str]]) -> bytes:
        for start, end, kind in reversed(spans):
            stand_in = self._stand_ins.of(kind, raw[start:end])
            plain = stand_in.strip("⟦⟧[]".encode()).replace(b":", b"-")
            raw = raw[:start] + plain + raw[end:]
        return raw

    def _rewriter(self, text: Text, scanner: Scanner | None = None) -> Rewriter:
        share, as_text = self._choice.profile == "share", self._choice.unreadable == "text"
        form = text.form
        allowed = self._spared(text.source.name)
        return Rewriter(
            form,
            scanner or self._scanner,
            self._stand_ins,
            share=share,
            text=as_text or form is None,
            spared=lambda hit: allowed.covers(hit.rule.id, hit.value),
        )

    def _spared(self, name: str) -> Allowed:
        if name not in self._allowed:
            self._allowed[name] = Allowed(self._choice.allow, self._key, name)
        return self._allowed[name]

    def _mended(self, text: Text, rewriter: Rewriter) -> Iterator[tuple[Line, bytes, list[Place]]]:
        scan = partial(rewriter.found, escaped=True)
        return mended(text.lines(), scan, rewriter.stand_in)

    def _lines(self, text: Text, told: Told, summary: Summary) -> Iterator[bytes]:
        rewriter = self._rewriter(text)
        turn = _Turn(text.form)
        # Of what was redacted before and is to be read again after all, nothing was learnt.
        lines_hit = chain(self._hit.get((text.source.name, text.start), b""), repeat(_HIT))
        for (line, whole, crossing), hit in zip(
            self._mended(text, rewriter), lines_hit, strict=False
        ):
            bounded = self._scanner.bounded
            clean = hit != _HIT and not crossing
            done = rewriter.rewrite(whole, clean=clean, plain=clean and hit == _PLAIN)
            if self._scanner.bounded > bounded:
                summary.bounded += 1
                summary.first_bounded = summary.first_bounded or line.number
            done.places += crossing
            summary.lines += 1
            summary.changed += done.line != line.text
            summary.add(done)
            summary.unsettled = summary.unsettled or (0 if done.settled else line.number)
            turn.see(line, thinking=bool(done.thinking))
            for place, column in zip(done.places, _columns(line.text, done.places), strict=True):
                told(Spot(line.number, column, line.start, place, done.readable))
            yield done.line
            if line.ended:
                yield b"\n"
        if text.form is None and not text.whole:
            summary.unreadable = 0
        summary.open_turn = turn.broken


@dataclass(slots=True)
class _Known:
    """Finds what was found before, and what the user named; learns who is named with whom."""

    values: Values
    names: Names
    people: People = field(default_factory=People)
    learning: bool = True

    def __bool__(self) -> bool:
        """Whether there is anything to be found."""
        return self.learning or bool(self.values) or bool(self.names)

    def find(self, text: bytes) -> list[Match]:
        """Where they stand; while learning the user's names alone, for the rest is found."""
        if self.learning:
            self.people.see(text)
            return self.names.find(text)
        return self.values.find(text) + self.names.find(text)

    def identity(self, kind: str, value: bytes) -> str:
        """What a stand-in is drawn from: the subject, a person, or the value itself."""
        return self.names.identity(kind, value) or self.people.identity(kind, value)


@dataclass(frozen=True, slots=True)
class _Left:
    """Finds what is left of values in a redacted text, but for what is left alone."""

    known: _Known
    allowed: Allowed

    def __bool__(self) -> bool:
        return bool(self.known)

    def find(self, text: bytes) -> list[Match]:
        if not self.known.find(text):
            return []
        text = self.allowed.without(text)
        done = stand_ins(text)
        return [m for m in self.known.find(text) if not overlaps(done, m.start, m.end)]


class _Turn:
    """Whether a thinking block that went begins a turn that is not over.

    The provider asks for it there: results must go to it with the thought that led to the calls.
    """

    def __init__(self, form: Format | None) -> None:
        self._form = form
        self._line = 0
        self._waits = False

    @property
    def broken(self) -> int:
        """The line of such a block, 0 where there is none."""
        return self._line if self._waits else 0

    def see(self, line: Line, *, thinking: bool) -> None:
        if thinking:
            self._line = line.number
        if not self._line:
            return
        try:
            value = decode_any(line.text)
        except ValueError:
            return
        if self._form is None or type(value) is not dict:
            return
        for event in self._form.meaning(value).events:
            if type(event) in (ToolCall, ToolResult):
                self._waits = True
            elif type(event) is Message and event.prompt:
                self._line, self._waits = 0, False
            elif type(event) is Message and event.role == "assistant" and _speaks(event.content):
                self._waits = False


def _speaks(content: Any) -> bool:
    """Whether a message of the model has words, and no call with them."""
    if type(content) is not list:
        return bool(content)
    kinds = {mapping(block).get("type") for block in content}
    return bool(kinds & {"text", "output_text"}) and not any("tool" in str(k) for k in kinds)


def _components(path: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a span of a path that stand between separators."""
    for part in re.finditer(rb"[^/\\]+", path[start : max(start, end)]):
        yield start + part.start(), start + part.end()


def _columns(line: bytes, places: Iterable[Place]) -> Iterator[int]:
    """Where in a line places are, in characters from 1; they come in order, round by round."""
    at, column = 0, 1
    for place in places:
        if place.start < at:
            at, column = 0, 1
        column += len(line[at : place.start].decode("utf-8", "replace"))
        at = place.start
        yield column


def chosen(rules: Iterable[Rule], detectors: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules that detectors name by group, kind or id. Raises UsageError for unknown names."""
    rules = tuple(rules)
    names = {name for rule in rules for name in (rule.group, rule.kind.lower(), rule.id)}
    for detector in detectors:
        if detector.lower() not in names:
            raise UsageError(
                f"there is no detector {detector}",
                hint="name secret, personal, a kind such as email, or a rule",
            )
    wanted = {detector.lower() for detector in detectors}
    return tuple(r for r in rules if not wanted or wanted & {r.group, r.kind.lower(), r.id})


def _refuse_wide(source: Source) -> None:
    if utf16(source.read(0, 256)):
        mend = f"sesstool repair --unsafe --write {source.name} makes it UTF-8 first"
        raise InputError(
            f"{source.name} is in UTF-16, which is not redacted",
            hint=mend if ".jsonl" in source.name else "save it as UTF-8, or move it elsewhere",
        )
