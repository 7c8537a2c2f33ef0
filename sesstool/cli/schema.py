"""`sesstool schema`: print a shipped JSON Schema."""

from __future__ import annotations

import click

from sesstool.cli.common import Common, common, out_stream
from sesstool.formats.registry import FORMATS
from sesstool.formats.schemas import names, schema_text


@click.command("schema")
@common("text")
@click.argument("name", default="")
def command(shared: Common, name: str) -> int:  # noqa: ARG001 - every command takes it
    """Print a JSON Schema: of a format's records, or of sesstool's own output."""
    own = {form.name: text for form in FORMATS if (text := form.own_schema())}
    if name in own:
        text = own[name]
    else:
        text = schema_text(name) if name else "".join(f"{n}\n" for n in sorted({*names(), *own}))
    out_stream().write(text.encode())
    return 0
