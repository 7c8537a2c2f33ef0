"""Run the rules over a session in one pass, and put what they say in order."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from sesstool.checks import bytes as byte_rules
from sesstool.checks import content, conversation, graph, json, meta, tools
from sesstool.checks.context import Context, Options
from sesstool.checks.rule import RULES
from sesstool.checks.schema import SchemaChecks
from sesstool.errors import NotASessionError
from sesstool.findings import Applicability, FileReport, Finding, Fix, Severity
from sesstool.formats.events import Meaning
from sesstool.formats.schemas import RecordValidator
from sesstool.formats.terms import Place
from sesstool.model.session import Session, open_session, path_of
from sesstool.records.heal import Kind
from sesstool.records.recover import Record, records
from sesstool.records.source import Source, plain_path

__all__ = ["RULES", "Progress", "examine"]
"""RULES is offered here because here it is full: each family enters its rules on import."""

# Faults around a record, which leave its own bytes strict JSON.
_AROUND = frozenset({Kind.BOM, Kind.CRLF, Kind.NO_NEWLINE, Kind.GLUED, Kind.ARRAY})
_REWRITTEN = ("B113", "B114", "B115")
_LEFT_OVER = ("B104", "B105", "B112")
# What a doubled file shows of every record: that is one finding, not many.
_DOUBLED = ("G502", "G506")
_TOKEN = re.compile(rb'"([A-Za-z0-9_-]{8,64})"')
_TOKEN_LIMIT = 1 << 16
# Lines that stay as they are and were not looked into, and what in them may be an id.
_UNREAD = frozenset({Kind.LIST, Kind.OTHER_NOTATION, Kind.TOO_DEEP})
_WORD = re.compile(rb"[^\s\"'`\\:,\[\]{}]{1,128}")

Progress = Callable[[int], None]


def examine(
    source: Source,
    options: Options,
    *,
    format_name: str = "",
    schema: RecordValidator | None = None,
    status: os.stat_result | None = None,
    progress: Progress | None = None,
) -> tuple[Session | None, FileReport]:
    """The session that a source holds, and everything that the rules say about it.

    `status` is the file's, where who may read it is to be judged. `progress` is told byte
    offsets. The session is None for an empty file. Raises NotASessionError.
    """
    if source.size == 0:
        return None, _empty(source, format_name)
    session = open_session(source, format_name)
    context = Context(session, options)
    run = _Run(context, schema)
    try:
        findings = list(run.findings(progress))
    except RecursionError:
        # Decoders go deeper than encoders and comparisons.
        raise NotASessionError(
            f"{source.name} holds a value that is nested too deep to be checked",
            hint="no agent writes hundreds of levels: look at where the file comes from",
        ) from None
    if session.format.repairable:
        findings += meta.check(context, status)
        if any(f.fix is not None and f.fix.edits for f in findings):
            findings += meta.drawn(context)
    findings = _settle(findings, repairable=session.format.repairable)
    path = path_of(source)
    report = FileReport(
        path,
        session.format.name,
        session.reason,
        source.size,
        session.records,
        tuple(findings),
    )
    return session, report


def _empty(source: Source, format_name: str) -> FileReport:
    from sesstool.formats.registry import FORMATS  # noqa: PLC0415 - only for empty files

    path = source.path
    sound = path is not None and any(form.empty_is_sound(plain_path(path)) for form in FORMATS)
    session = Session(source, FORMATS[0], "")
    finding = byte_rules.empty_file(Context(session, Options()), sound=sound)
    return FileReport(path_of(source), format_name, "the file is empty", 0, 0, (finding,))


class _Run:
    """One pass of the rules over the records of a session."""

    def __init__(self, context: Context, schema: RecordValidator | None) -> None:
        self._context = context
        self._bytes = byte_rules.ByteChecks(context)
        self._schema = SchemaChecks(context, schema)
        self._lines: list[int] = []
        self._sizes = array("q")
        self._separators = 0
        self._separated: Place | None = None
        self._left_over = False
        self._refused: list[Place] = []

    def findings(self, progress: Progress | None) -> Iterator[Finding]:
        """All findings but those about the file itself, in no order."""
        session = self._context.session
        deep = session.format.known
        for record, meaning in session.read():
            if progress is not None and record.line % 1024 == 0:
                progress(record.end)
            if record.defects:
                yield from self._defects(record)
            if meaning is not None and (found := self._record(record, meaning, deep=deep)):
                yield from found
        yield from self._content()
        yield from self._bytes.finish()
        yield from self._schema.finish()
        if self._separated is not None:
            yield byte_rules.line_separator(self._context, self._separated, self._separators)
        if deep:
            yield from self._doubled()
            yield from tools.check(self._context)
            yield from graph.check(self._context)

    def _defects(self, record: Record) -> Iterator[Finding]:
        for defect in record.defects:
            if defect.kind in json.BY_KIND:
                found = json.BY_KIND[defect.kind](self._context, record, defect)
                if defect.kind in _UNREAD:
                    self._context.unread.update(dict.fromkeys(_WORD.findall(record.raw), found.key))
                yield found
                continue
            for finding in self._bytes.see(record, defect):
                self._left_over = self._left_over or finding.code in _LEFT_OVER
                if record.value is None:
                    self._context.fragments.append((record.start, finding.key))
                    for token in _TOKEN.findall(record.raw[:_TOKEN_LIMIT]):
                        self._context.tokens.setdefault(token, finding.key)
                yield finding

    def _record(self, record: Record, meaning: Meaning, *, deep: bool) -> list[Finding]:
        raw = record.raw
        self._sizes.append(len(raw))
        if not raw.isascii() and _separated(raw):
            self._separators += 1
            self._separated = self._separated or Place(record.line, record.start, record.end)
        if record.defects and not all(d.kind in _AROUND for d in record.defects):
            # Its bytes are mended first; what it says is judged in the next round.
            return []
        found = content.check(self._context, record, meaning) if deep else []
        if meaning.nested:
            found += conversation.check(self._context, record, meaning)
        told = False
        if found:
            told = any(f.severity is Severity.ERROR for f in found)
            if self._context.session.graph is not None:
                self._refused.append(Place(record.line, record.start, record.end))
                found = []
        found += self._schema.see(record, meaning, told=told)
        if self._context.options.thorough:
            twice = json.duplicate_key(self._context, record)
            if twice is not None:
                found.append(twice)
        return found

    def _content(self) -> Iterator[Finding]:
        """What hangs from a record that is taken out is known when all have been read."""
        session = self._context.session
        for place in self._refused:
            value = session.value(place)
            raw = session.source.read(place.start, place.end)
            record = Record(place.line, place.start, place.end, raw, value)
            yield from content.check(self._context, record, session.format.meaning(value))

    def _doubled(self) -> Iterator[Finding]:
        count = len(self._sizes)
        half = count // 2
        if self._left_over:
            # A piece beside a record of the first half: the second one may be the good one.
            return
        if count < 2 or count % 2 or self._sizes[:half] != self._sizes[half:]:
            return
        session = self._context.session
        again = islice(_readable(session.source), half, None)
        start = session.source.size
        for first, second in zip(_readable(session.source), again, strict=False):
            if first.raw != second.raw:
                return
            start = min(start, second.start)
        certain = session.graph is not None or session.pairing.calls > 0 or bool(session.first_time)
        if count == 2 and not certain:
            return
        place = Place(half + 1, start, session.source.size)
        yield byte_rules.doubled_file(self._context, place, half, certain=certain)


def _readable(source: Source) -> Iterator[Record]:
    return (record for record in records(source) if record.value is not None)


def _separated(raw: bytes) -> bool:
    """Whether U+2028, U+2029 or U+0085 stand in it.

    One byte is found many times as fast as a sequence, and most text has not even those.
    """
    return (
        0x80 in raw
        and ((0xA8 in raw and b"\xe2\x80\xa8" in raw) or (0xA9 in raw and b"\xe2\x80\xa9" in raw))
    ) or (0xC2 in raw and 0x85 in raw and b"\xc2\x85" in raw)


def _settle(findings: list[Finding], *, repairable: bool) -> list[Finding]:
    """Findings in order of place, with what one says about the fix of another."""
    codes = {f.code for f in findings}
    header = next((f for f in findings if f.code == "M701" and f.fix and f.fix.edits), None)
    rewritten = codes & set(_REWRITTEN) and codes & set(_LEFT_OVER)
    settled = []
    for finding in findings:
        if "B116" in codes and finding.code in _DOUBLED:
            continue
        if not repairable:
            title = "sesstool only reads sessions of this format"
            finding = replace(finding, fix=Fix(Applicability.MANUAL, title))  # noqa: PLW2901
        elif rewritten and finding.code in _REWRITTEN + _LEFT_OVER:
            finding = _held_back(finding, "")  # noqa: PLW2901
        elif header and finding.code[0] in "BJ" and _heads(finding, header):
            # What stands in the header's place goes with the new one, or stays as it is.
            finding = _held_back(finding, header.key)  # noqa: PLW2901
        settled.append(finding)
    settled.sort(key=lambda f: (f.location.line == 0, f.location.start, f.code))
    return settled


def _heads(finding: Finding, header: Finding) -> bool:
    return finding.location.start <= header.location.start


def _held_back(finding: Finding, cause: str) -> Finding:
    """The finding with its fix made unsafe."""
    if finding.fix is None:
        return finding
    fix = replace(finding.fix, applicability=Applicability.UNSAFE, flag="--unsafe")
    return replace(finding, fix=fix, cause=cause or finding.cause)
