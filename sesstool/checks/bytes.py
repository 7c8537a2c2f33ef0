"""Family B: bytes, lines, and what programs do to whole files."""

from __future__ import annotations

from collections.abc import Iterator

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.findings import Finding, Fix, Severity
from sesstool.formats.terms import Place
from sesstool.records.edits import Edit
from sesstool.records.heal import Defect
from sesstool.records.recover import Record, utf16

KEPT = "what is cut is kept in lost+found"


def _say(
    context: Context, code: str, record: Record, defect: Defect, message: str, fix: Fix
) -> Finding:
    end = max(defect.end, defect.start)
    place, notes = Place(record.line, defect.start, end), context.bad_line(defect)
    return context.finding(code, place, message, fix=fix, notes=notes)


@rule("B101", "bom", Severity.WARNING)
def bom(context: Context, record: Record, defect: Defect) -> Finding:
    """A byte order mark stands before a record.

    Finds: The bytes EF BB BF at the start of the file or of a line.
    Matters: Codex does not resume a rollout that begins with one; strict JSON readers refuse it.
    Example: A file saved by an editor "as UTF-8 with BOM".
    Repair: Safe: the three bytes are cut, nothing else changes.
    Seen: Codex 0.171: "does not start with session metadata".
    """
    fix = safe("cut the byte order mark", defect.edits)
    return _say(context, "B101", record, defect, "byte order mark before the record", fix)


@rule("B102", "utf-16", Severity.ERROR)
def utf16_file(context: Context, record: Record, defect: Defect) -> Finding:
    """The file is UTF-16 or UTF-32, and a session is UTF-8.

    Finds: A UTF-16 or UTF-32 byte order mark, or JSON whose every other byte is NUL.
    Matters: No agent reads such a file: each says that there is no session.
    Example: A session that went through PowerShell's `>`.
    Repair: Unsafe, since every byte changes: the text is written again as UTF-8.
    Seen: Claude Code "No conversation found"; Codex and pi alike.
    """
    source = context.session.source
    encoding = utf16(source.read(0, 256))
    data = source.read(0, source.size)
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    edit = Edit(0, source.size, text.encode("utf-8", "replace"), content=True)
    fix = unsafe("write the same text as UTF-8", [edit])
    name = encoding.upper().replace("UTF-16-", "UTF-16 ")
    return _say(context, "B102", record, defect, f"the file is {name}, not UTF-8", fix)


@rule("B103", "missing-final-newline", Severity.WARNING)
def missing_final_newline(context: Context, record: Record, defect: Defect) -> Finding:
    """The last record is whole, but no newline ends it.

    Finds: A file whose last byte is not LF although its last record is complete.
    Matters: The next append would glue its record to this one, and both might be lost.
    Example: `{"role":"user","content":"hi"}` at the end of the file, without LF.
    Repair: Safe: one LF is appended, in place.
    Seen: Archiving and copying tools; one in three of the files that they keep.
    """
    fix = safe("append a newline", defect.edits)
    message = "no newline at the end: the next append would glue to this record"
    return _say(context, "B103", record, defect, message, fix)


@rule("B104", "truncated-tail", Severity.ERROR)
def truncated_tail(context: Context, record: Record, defect: Defect) -> Finding:
    """The last record is cut off.

    Finds: A last line without LF that begins a record and does not finish it.
    Matters: A crash or a full disk stopped the writer. Most agents skip the record without a
        word; the next append then glues to it and is lost as well.
    Example: `{"type":"user","message":{"role":"us` at the end of the file.
    Repair: Safe: the fragment is cut, in place, and kept in lost+found.
    Seen: Every agent, after SIGKILL in a write.
    """
    size = defect.end - defect.start
    fix = safe(f"cut the {size} bytes ({KEPT})", defect.edits)
    message = f"truncated tail: the last record is cut after {size} bytes"
    return _say(context, "B104", record, defect, message, fix)


@rule("B105", "torn-record", Severity.ERROR)
def torn_record(context: Context, record: Record, defect: Defect) -> Finding:
    """A record is cut off, and others follow.

    Finds: A piece of a record on a line of its own, or before or behind a whole record.
    Matters: Agents skip the line, and with it any whole record that was glued to the stub.
    Example: `{"type":"pr-link","prNum{"type":"user",…}`
    Repair: Safe: the piece is cut and kept in lost+found; a whole record beside it is freed.
    Seen: 21 of 30 bad lines in one audit of 10,949 Claude Code files; Codex after a full disk.
    """
    size = defect.end - defect.start
    fix = safe(f"cut the {size} bytes of the piece ({KEPT})", defect.edits)
    return _say(context, "B105", record, defect, "a record is torn: it does not end", fix)


@rule("B106", "glued-records", Severity.ERROR)
def glued_records(context: Context, record: Record, defect: Defect) -> Finding:
    """Several whole records stand on one line.

    Finds: A record that begins on the line on which another one ends.
    Matters: Codex and pi lose both records in silence, others lose one.
    Example: `{"type":"user",…}{"type":"assistant",…}`
    Repair: Safe: a newline is put between them.
    Seen: Writers that append after a missing final newline; two writers at once.
    """
    fix = safe("put a newline between the records", defect.edits)
    message = "this record is glued to the one before it"
    return _say(context, "B106", record, defect, message, fix)


@rule("B107", "broken-record", Severity.ERROR)
def broken_record(context: Context, record: Record, defect: Defect) -> Finding:
    r"""Raw newlines break a record into several lines.

    Finds: A record whose strings hold newlines that are not escaped.
    Matters: Every line of it is bad JSON: readers that take a line at a time lose the record.
    Example: `{"role":"tool","content":"first` and `second"}` on the next line.
    Repair: Safe: the newlines are escaped, the text stays the same.
    Seen: Copilot CLI 2649; tools that write JSON by hand.
    """
    fix = safe("escape the newlines, so that it is one line", defect.edits)
    message = f"{defect.count} raw newlines break this record into lines"
    return _say(context, "B107", record, defect, message, fix)


@rule("B108", "nul-bytes", Severity.ERROR)
def nul_bytes(context: Context, record: Record, defect: Defect) -> Finding:
    """NUL bytes stand where text should be.

    Finds: Runs of NUL around or inside records.
    Matters: A file system that lost a delayed write leaves them. Some readers stop at the first,
        and show a session that ends days ago.
    Example: A record, 300 NUL bytes, and the next record.
    Repair: Safe: the NUL bytes are cut; every record stays.
    Seen: Claude Code 49876 (ext4); runs of 172 KB and 994 KB in other agents' files.
    """
    size = sum(e.end - e.start for e in defect.edits)
    return _say(
        context, "B108", record, defect, f"{size} NUL bytes", safe("cut them", defect.edits)
    )


@rule("B109", "crlf", Severity.WARNING)
def crlf(context: Context, record: Record, defect: Defect) -> Finding:
    r"""Lines end with CR and LF.

    Finds: A CR before the LF that ends a line. Escaped \r\n inside strings is text and stays.
    Matters: Byte offsets and hashes that agents keep of the file are wrong, and each append
        makes the line ends mixed.
    Example: A session that was checked out on Windows by git.
    Repair: Safe: the CR before each LF is cut.
    Seen: Copies through editors and version control.
    """
    message = f"{defect.count} lines end with CR LF"
    return _say(context, "B109", record, defect, message, safe("end lines with LF", defect.edits))


@rule("B110", "invalid-utf8", Severity.ERROR)
def invalid_utf8(context: Context, record: Record, defect: Defect) -> Finding:
    """A record holds bytes that are no UTF-8.

    Finds: Sequences of bytes in a whole record that no UTF-8 text has.
    Matters: Codex refuses the whole file: "stream did not contain valid UTF-8".
    Example: A tool's output in Latin-1 that was written as it came.
    Repair: Safe: each run becomes U+FFFD; the bytes are kept in lost+found.
    Seen: Codex 0.171, every version before.
    """
    message = f"{defect.count} runs of bytes are no UTF-8"
    fix = safe(f"put U+FFFD in their place ({KEPT})", defect.edits)
    return _say(context, "B110", record, defect, message, fix)


@rule("B111", "blank-line", Severity.WARNING)
def blank_line(context: Context, record: Record, defect: Defect) -> Finding:
    """A line is blank.

    Finds: Lines of nothing but white space.
    Matters: Most readers skip them; those that do not, stop there.
    Example: An empty line between two records.
    Repair: Safe: the line is cut.
    Seen: Files edited by hand or joined by `cat`.
    """
    count = f"{defect.count} blank lines" if defect.count > 1 else "blank line"
    return _say(context, "B111", record, defect, count, safe("cut it", defect.edits))


@rule("B112", "noise-line", Severity.ERROR)
def noise_line(context: Context, record: Record, defect: Defect) -> Finding:
    """Text that is no JSON stands among the records.

    Finds: A line, or part of one, that neither is a record nor begins one.
    Matters: Strict readers refuse the whole file for it (Copilot CLI: "Session file is
        corrupted").
    Example: `WARN low battery` printed into the session by another program.
    Repair: Safe: the text is cut and kept in lost+found.
    Seen: Programs that share standard output with the writer.
    """
    size = defect.end - defect.start
    fix = safe(f"cut the {size} bytes ({KEPT})", defect.edits)
    return _say(context, "B112", record, defect, "text that is no record", fix)


@rule("B113", "json-array", Severity.ERROR)
def json_array(context: Context, record: Record, defect: Defect) -> Finding:
    """The records are items of a JSON array, not lines.

    Finds: Brackets and commas around records.
    Matters: No agent reads a list; each says that there is no session.
    Example: `[{"role":"user",…},{"role":"assistant",…}]`
    Repair: Safe where every record is whole and nothing is left over, else unsafe: brackets and
        commas go, each record gets its line.
    Seen: Exports, and scripts that "clean up" a session with a JSON library.
    """
    fix = safe("write one record a line", defect.edits)
    message = f"records stand in a JSON array (its marks are in {defect.count} places)"
    return _say(context, "B113", record, defect, message, fix)


@rule("B114", "pretty-printed", Severity.ERROR)
def pretty_printed(context: Context, record: Record, defect: Defect) -> Finding:
    """A record is printed over several lines.

    Finds: A whole record with line breaks between its tokens.
    Matters: A session is read line by line: no line of it is a record.
    Example: A session that was opened and saved by `jq .` or an editor's formatter.
    Repair: Safe where every record is whole and nothing is left over, else unsafe: the line
        breaks and indents go.
    Seen: jq, editors, format-on-save.
    """
    fix = safe("put each record on one line", defect.edits)
    message = f"{defect.count} records span several lines each; the first is here"
    return _say(context, "B114", record, defect, message, fix)


@rule("B115", "merge-marker", Severity.ERROR)
def merge_marker(context: Context, record: Record, defect: Defect) -> Finding:
    """A merge conflict was saved into the file.

    Finds: Lines of git's conflict markers: <<<<<<<, |||||||, =======, >>>>>>>.
    Matters: The lines are no JSON, and records of both sides follow each other.
    Example: `<<<<<<< HEAD` between two records.
    Repair: Safe where every record is whole, else unsafe: the marker lines go, the records of
        both sides stay.
    Seen: Sessions kept in git and synchronised between machines.
    """
    fix = safe("cut the marker", defect.edits)
    return _say(context, "B115", record, defect, "a merge marker stands among the records", fix)


@rule("B116", "doubled-file", Severity.WARNING)
def doubled_file(context: Context, half: Place, count: int, *, certain: bool) -> Finding:
    """The file holds the same records twice.

    Finds: A second half whose every line equals the line of the first half.
    Matters: Ids stand twice; agents that do not look at ids send the whole history twice.
    Example: `cat a.jsonl a.jsonl > b.jsonl`
    Repair: Safe where the records carry ids or times: the second half goes, it holds nothing
        new. Manual for plain messages, which people do repeat.
    Seen: Synchronisers that append what they should replace.
    """
    size = context.session.source.size
    edit = Edit(half.start, size)
    fix = safe(f"cut the second half ({KEPT})", [edit]) if certain else None
    message = f"all {count} records stand twice: the second half equals the first"
    severity = None if certain else Severity.INFORMATION
    fix = fix or manual("cut it by hand if the talk was not repeated")
    return context.finding("B116", half, message, fix=fix, severity=severity)


@rule("B117", "empty-file", Severity.ERROR)
def empty_file(context: Context, *, sound: bool) -> Finding:
    """The file is empty.

    Finds: A session file of 0 bytes.
    Matters: There is nothing to resume. Whether something was lost, the file cannot tell.
    Example: `: > session.jsonl`
    Repair: Manual: an empty file is never changed and never deleted. Look for a copy, and at
        the agent's other files of the session. Under a name by which Claude Code itself leaves
        empty files (a session id, or `agent-…`) it is information.
    Seen: Full disks; subagents that were stopped at once.
    """
    severity = Severity.INFORMATION if sound else None
    fix = manual("look for a copy: sesstool never changes or deletes an empty file")
    message = "empty file (0 bytes): there is no session in it"
    return context.finding("B117", Place(0, 0, 0), message, fix=fix, severity=severity)


@rule("B118", "control-character", Severity.ERROR)
def control_character(context: Context, record: Record, defect: Defect) -> Finding:
    r"""A string holds a raw control character.

    Finds: Bytes below 0x20 in strings, which JSON wants escaped.
    Matters: Strict readers refuse the record, others keep it: it depends on who resumes.
    Example: A raw tab or ESC in a tool's output.
    Repair: Safe: the character is escaped, the text stays the same.
    Seen: Tools that write JSON by hand.
    """
    message = f"{defect.count} control characters are not escaped"
    return _say(context, "B118", record, defect, message, safe("escape them", defect.edits))


@rule("B119", "line-separator", Severity.INFORMATION)
def line_separator(context: Context, place: Place, count: int) -> Finding:
    """Strings hold line separators that some readers cut lines at.

    Finds: Raw U+2028, U+2029 or U+0085 in a record. They are valid JSON.
    Matters: Readers that split at them, as Python's `str.splitlines` does, break the record.
    Example: Text pasted from a web page.
    Repair: None: the file is sound.
    Seen: Copilot CLI 2490.
    """
    message = f"{count} records hold raw U+2028, U+2029 or U+0085; the first is here"
    return context.finding("B119", place, message)


BY_KIND = {
    "bom": bom,
    "utf-16": utf16_file,
    "missing-final-newline": missing_final_newline,
    "truncated-tail": truncated_tail,
    "torn-record": torn_record,
    "glued-records": glued_records,
    "broken-record": broken_record,
    "nul-bytes": nul_bytes,
    "crlf": crlf,
    "invalid-utf8": invalid_utf8,
    "blank-line": blank_line,
    "noise-line": noise_line,
    "json-array": json_array,
    "pretty-printed": pretty_printed,
    "merge-marker": merge_marker,
    "control-character": control_character,
}


class ByteChecks:
    """Findings about the bytes of one session, as its records go by.

    What stands on many lines for one reason (CR LF, an array) is one finding.
    """

    GATHERED = ("crlf", "blank-line", "json-array", "pretty-printed")

    def __init__(self, context: Context) -> None:
        """Start before the first record."""
        self._context = context
        self._gathered: dict[str, tuple[Record, list[Defect]]] = {}

    def see(self, record: Record, defect: Defect) -> Iterator[Finding]:
        """The finding about one defect, unless it is gathered."""
        if defect.kind in self.GATHERED:
            self._gathered.setdefault(defect.kind, (record, []))[1].append(defect)
        else:
            yield BY_KIND[defect.kind](self._context, record, defect)

    def finish(self) -> Iterator[Finding]:
        """The findings that were gathered."""
        for kind, (record, defects) in self._gathered.items():
            edits = tuple(edit for defect in defects for edit in defect.edits)
            first = defects[0]
            gathered = Defect(first.kind, first.start, first.end, edits, len(defects))
            yield BY_KIND[kind](self._context, record, gathered)
