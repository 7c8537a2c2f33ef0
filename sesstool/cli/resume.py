"""`sesstool resume`: what reaches the model when a session is resumed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from sesstool import api
from sesstool.api import worlds
from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination
from sesstool.cli.snapshot import compared
from sesstool.cli.streams import single, watched
from sesstool.cli.validate import format_option
from sesstool.encryption.keyring import Keys
from sesstool.errors import SesstoolError
from sesstool.findings import Finding
from sesstool.records.source import SEALED
from sesstool.report.amounts import count
from sesstool.report.json import finding_json
from sesstool.text import safe, session_word

_CHANGES = 5


@click.command("resume")
@common("text", "json")
@click.argument("path")
@key_options
@format_option
def command(
    shared: Common,
    path: str,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
) -> int:
    """Tell what a resume would send: N of M messages, the calls by state, and what is lost.

    Exit 1 where something is lost, or where the provider would refuse the next request.
    """
    found = single(path)
    keys = keys_of(shared, identities, passphrase_fd)
    with watched(shared, found) as advance:
        report = api.resume(found, format_name=format_name or "", progress=advance, keys=keys)
    since = _since(shared, found, format_name or "", keys)
    if shared.output_format == "json":
        text = _json(report, since)
    else:
        changed = [f"  {line}" for line in compared(since, _CHANGES)] if since else []
        text = "\n".join([*_lines(report), *changed]) + "\n"
    with destination(shared) as out:
        out.write(text.encode())
    if path.endswith(SEALED) and report.command:
        shared.note(f"next: sesstool decrypt --write {session_word(path)}, for its agent to read")
    if report.losses or report.refusals:
        shared.note(f"next: sesstool repair {session_word(path)}")
    return int(bool(report.losses or report.refusals or report.sent < report.present))


def _since(shared: Common, path: Path | str, format_name: str, keys: Keys) -> worlds.Since | None:
    """What has changed since the snapshot beside a session; one that cannot be read is told."""
    try:
        return worlds.compared(path, format_name=format_name, keys=keys)
    except SesstoolError as error:
        shared.note(f"the snapshot beside it is not compared: {error.message}")
        return None


def _lines(report: api.ResumeReport) -> list[str]:
    lines = [
        f"{safe(report.path)}: {report.format} session {safe(report.session_id) or '(no id)'}",
        f"  messages   {report.sent} of {report.present} reach the model",
        f"  calls      {report.completed} of {report.calls} have a result",
    ]
    if report.base:
        base = safe(report.base)
        lines.append(f"  before     session {base}, which is sent first and not counted here")
    for call in report.open_calls:
        tool = safe(call.tool) or "a tool"
        lines.append(
            f"  open call  line {call.line}: {tool} {safe(call.id)}: {call.state}; {call.effect}"
        )
    if report.branches:
        verb = "is" if report.branches == 1 else "are"
        lines.append(f"  branches   {count(report.branches, 'other branch')} {verb} not resumed")
    lines.append(f"  size       {report.size} bytes, about {report.tokens} tokens")
    for label, findings in (("lost", report.losses), ("refused", report.refusals)):
        lines += [f"  {label:9}  {_said(finding)}" for finding in findings]
    verdict = "acceptable to the provider" if report.acceptable else "would be refused"
    lines.append(f"  next       request {verdict}")
    if report.model or report.version:
        lines.append(f"  last       {safe(report.model)} {safe(report.version)}".rstrip())
    if report.command:
        lines.append(f"  resume     {safe(report.command)}")
    return lines


def _said(finding: Finding) -> str:
    return f"line {finding.location.line}: {finding.code} {safe(finding.message)}"


def _json(report: api.ResumeReport, since: worlds.Since | None) -> str:
    value: dict[str, Any] = {"schema_version": 1, "acceptable": report.acceptable}
    value |= asdict(report)
    for key in ("refusals", "losses"):
        value[key] = [finding_json(f, show_text=False) for f in getattr(report, key)]
    value["world"] = since.as_json() if since else None
    return json.dumps(value, indent=2, default=str) + "\n"
