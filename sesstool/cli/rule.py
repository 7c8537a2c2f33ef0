"""`sesstool rule`: the page of a rule, or the list of all."""

from __future__ import annotations

import json

import click

from sesstool.checks.engine import RULES
from sesstool.checks.rule import find
from sesstool.cli.common import Common, common, out_stream


@click.command("rule")
@common("text", "json")
@click.argument("code", default="")
def command(shared: Common, code: str) -> int:
    """Explain a rule by its code or name; without one, list them all."""
    rules = [find(code)] if code else [RULES[key] for key in sorted(RULES)]
    if shared.output_format == "json":
        value = [
            {
                "code": r.code,
                "name": r.name,
                "severity": r.severity,
                "summary": r.summary,
                "sections": r.sections,
            }
            for r in rules
        ]
        text = json.dumps(value, indent=2) + "\n"
    elif code:
        text = rules[0].page
    else:
        text = "".join(f"{r.code}  {r.name:24}{r.severity:13}{r.summary}\n" for r in rules)
    out_stream().write(text.encode())
    return 0
