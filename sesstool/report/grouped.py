"""What a redaction found, for people: counted by rule, for a session can hold thousands."""

from __future__ import annotations

from sesstool.api.redaction import Redacted
from sesstool.findings import Finding, Severity
from sesstool.privacy.tally import Found, Spotted
from sesstool.report.amounts import count
from sesstool.report.base import Output
from sesstool.text import safe

_SHOWN = 3
_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFORMATION: "1;36"}


def show(output: Output, file: Redacted, findings: list[Finding]) -> None:
    """Show what was found in one file; `findings` are those about it as a whole."""
    ranked = file.tally.ranked()
    if not ranked and not findings:
        return
    total = count(sum(found.places for found in ranked), "place")
    output.line(f"{safe(file.shown)}: {total}")
    for found in ranked:
        _rule(output, found)
    for finding in findings:
        _head(output, finding.code, finding.severity, safe(finding.message))
    output.line()


def _rule(output: Output, found: Found) -> None:
    rule, kept = found.rule, found.actions["kept"]
    code, severity = ("P801", Severity.ERROR)
    if rule.group != "secret":
        code, severity = "P802", Severity.WARNING
    told = f"{safe(found.title)} [{safe(rule.id)}]: {count(found.places, 'place')}"
    told += f", {count(len(found.values), 'value')}"
    if kept:
        told += f"; {kept} kept, in fields that must stay (P803)"
    _head(output, code, severity, told)
    for spotted in found.first[:_SHOWN]:
        output.line(f"    {_painted(output, '-->', '2')} {_place(spotted)}")
    more = found.places - min(_SHOWN, len(found.first))
    if more:
        output.line(f"        and {more} more; -v lists all")
    if rule.rotate:
        output.line(f"    help: revoke it: {safe(rule.rotate)}")


def _head(output: Output, code: str, severity: Severity, told: str) -> None:
    output.line(f"  {_painted(output, code, _COLORS[severity])} {severity} {told}")


def _place(spotted: Spotted) -> str:
    parts = [f"line {spotted.line}", f"byte {spotted.byte}", safe(spotted.pointer)]
    if spotted.views:
        parts.append(f"in {' > '.join(spotted.views)}")
    if spotted.action != "replaced":
        parts.append(spotted.action)
    return "  ".join(filter(None, parts))


def _painted(output: Output, text: str, color: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if output.color else text
