"""Family S: records against a JSON Schema, the shipped one or the user's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.rule import rule
from sesstool.findings import Finding, Severity
from sesstool.formats.events import Meaning, Unknown
from sesstool.formats.schemas import RecordValidator, Violation
from sesstool.formats.terms import Fault, Place
from sesstool.records.recover import Record

# How many violations of one record are told: a hostile one has as many as it has values.
_ENOUGH = 20


@rule("S301", "schema-violation", Severity.ERROR)
def schema_violation(context: Context, record: Record, violation: Violation) -> Finding:
    """A record does not have the shape that its format asks for.

    Finds: A field that is missing or of the wrong type, by the JSON Schema of the format
        (`sesstool schema NAME` prints it). Unknown types and fields are allowed.
    Matters: The schema is strict only where resume depends on it: agents skip such a record or
        stop at it.
    Example: A tool result without `tool_use_id`.
    Repair: Manual: what should stand there, the file does not tell.
    Seen: Sessions converted or edited by hand.
    """
    place = Place(record.line, record.start, record.end, violation.pointer)
    where = violation.pointer or "the record"
    fix = manual("compare the record with the schema of its format")
    return context.finding("S301", place, f"{where} {violation.message}", fix=fix)


@rule("S302", "unknown-type", Severity.INFORMATION)
def unknown_type(context: Context, place: Place, count: int) -> Finding:
    """Records are of a type that this version of sesstool does not know.

    Finds: Types that no format page names, most likely of a newer agent.
    Matters: They are kept byte for byte; what they mean for a resume was not checked.
    Example: `{"type":"kiln-telemetry",…}`
    Repair: None: the file is sound.
    Seen: Every new version of an agent.
    """
    return context.finding("S302", place, f"{count} records of an unknown type; the first is here")


@rule("S303", "own-schema-violation", Severity.ERROR)
def own_schema_violation(context: Context, record: Record, violation: Violation) -> Finding:
    """A record breaks the schema that the user gave.

    Finds: What `--schema FILE` does not allow.
    Matters: That is for the author of the schema to say.
    Example: A message longer than the schema allows.
    Repair: Manual.
    Seen: Datasets with rules of their own.
    """
    place = Place(record.line, record.start, record.end, violation.pointer)
    where = violation.pointer or "the record"
    fix = manual("change the record or the schema")
    return context.finding("S303", place, f"{where} {violation.message}", fix=fix)


@rule("S304", "refused-record", Severity.ERROR)
def refused_record(context: Context, fault: Fault) -> Finding:
    """The agent stops at a record, and loads nothing of the session.

    Finds: MyCodeAgent events of an unknown type, or without a part of their envelope; events of
        Copilot CLI without such a part, or without a member of `data` that it insists on.
    Matters: Their readers raise an error at such an event, wherever it stands.
    Example: `{"event_id":"…","event_type":"brand_new",…}`
    Repair: Safe where only the envelope is wrong, which says nothing: it is written anew, after the
        record before. Else unsafe, since a newer agent may need it: the record is cut and kept in
        lost+found.
    Seen: MyCodeAgent: "is not a valid TranscriptEventType"; Copilot CLI: "Session file is
        corrupted".
    """
    if fault.safe:
        fix = safe(fault.title, fault.edits)
    else:
        fix = unsafe(f"{fault.title} (it is kept in lost+found)", fault.edits)
    return context.finding("S304", fault.place, fault.message, fix=fix)


class SchemaChecks:
    """Judges the records of one session as they go by."""

    def __init__(self, context: Context, own: RecordValidator | None) -> None:
        """Use the format's schema, and the user's own beside it."""
        self._context = context
        form = context.session.format
        # Other rules tell these better, and know how to mend them.
        keys = (form.id_key, form.parent_key, form.result_key, *form.told)
        self._told_elsewhere = {f"lacks the property '{key}'" for key in keys}
        self._shipped = RecordValidator.of_format(form)
        self._own = own
        self._unknown: Counter[str] = Counter()
        self._first: dict[str, Place] = {}

    def see(self, record: Record, meaning: Meaning, *, told: bool) -> list[Finding]:
        """The findings about one record; `told` says that another rule found its fault."""
        found: list[Finding] = []
        if self._shipped is not None:
            for event in meaning.events:
                if type(event) is Unknown:
                    self._unknown[event.name] += 1
                    self._first.setdefault(event.name, Place(record.line, record.start, record.end))
            if not told and not self._shipped.valid(record.value):
                found += [
                    schema_violation(self._context, record, violation)
                    for violation in self._shipped.explain(record.value)[:_ENOUGH]
                    if violation.message not in self._told_elsewhere
                ]
        if self._own is not None and not self._own.valid(record.value):
            found += [
                own_schema_violation(self._context, record, violation)
                for violation in self._own.explain(record.value)[:_ENOUGH]
            ]
        return found

    def finish(self) -> Iterator[Finding]:
        """The findings about types, one each."""
        for name, count in self._unknown.items():
            yield unknown_type(self._context, self._first[name], count)
