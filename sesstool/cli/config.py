"""`sesstool config`: which settings count, where they come from, and whether they are right."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from sesstool import config
from sesstool.cli.common import Common, common, out_stream, settings
from sesstool.cli.main import ForwardingGroup
from sesstool.cli.outputs import destination
from sesstool.text import safe


@click.group("config", cls=ForwardingGroup)
def command() -> None:
    """Show and check the settings."""


@command.command("show")
@common("text", "json")
def show(common: Common) -> None:
    """Print every setting, its value, and the file or variable that gave it."""
    values = settings()
    out = out_stream()
    if common.output_format == "json":
        shown = {n: {"value": v.value, "origin": v.origin} for n, v in values.items()}
        out.write(json.dumps({"schema_version": 1, "settings": shown}, indent=2).encode() + b"\n")
        return
    for setting in config.SETTINGS:
        value = values[setting.name]
        line = f"{setting.name} = {json.dumps(value.value)}  # {value.origin}; {setting.meaning}"
        out.write(safe(line).encode() + b"\n")


@command.command("validate")
@common()
@click.argument("file", type=click.Path(path_type=Path), required=False)
def validate(common: Common, file: Path | None) -> None:
    """Check FILE, settings or a retention policy, or those that would be read here."""
    from sesstool.retention import policy  # noqa: PLC0415 - the settings need none

    if file is None:
        for path in config.files(Path.cwd(), common.config):
            config.read(path)
            common.note(f"{path}: settings are right")
        file = policy.in_use(str(settings()["policy"].value))
        if file is None:
            return
    elif not policy.is_policy(file):
        config.read(file)
        common.note(f"{file}: settings are right")
        return
    rules = policy.load(file)
    counts = f"holds {len(rules.holds)}, rules {len(rules.rules)}, caps {len(rules.caps)}"
    common.note(f"{file}: policy is right ({counts})")


@command.command("doctor")
@common("text", "json")
@click.option(
    "--policy",
    "named",
    type=click.Path(path_type=Path),
    help="The retention policy; else the setting, else yours: retention.toml.",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there is a conflict.")
def doctor(common: Common, named: Path | None, exit_zero: bool) -> int:
    """Tell what agents delete by themselves, and where that conflicts with policy and holds.

    An agent that deletes sooner than a rule keeps, or than a rule acts, or while there is a hold,
    is a conflict: it knows neither. Nothing is changed; exits 1 where there is a conflict.
    """
    from sesstool import api  # noqa: PLC0415 - the settings need none of these
    from sesstool.formats import expiry  # noqa: PLC0415
    from sesstool.report import doctor as report  # noqa: PLC0415
    from sesstool.retention import holds, policy  # noqa: PLC0415
    from sesstool.retention.doctor import diagnose  # noqa: PLC0415

    path = named or policy.in_use(str(settings()["policy"].value))
    rules = policy.load(path.expanduser()) if path else None
    held, now = holds.read(api.state_folder()), datetime.now(UTC)
    found = [diagnose(one, rules, held, now) for one in expiry.expiries(Path.cwd())]
    as_json = common.output_format == "json"
    with destination(common) as out:
        out.write((report.to_json(found, rules) if as_json else report.to_text(found)).encode())
    common.note(report.summary(found, rules))
    common.note("what other agents delete by themselves is not known to sesstool")
    return 1 if any(one.conflicts for one in found) and not exit_zero else 0


@command.command("homes")
@common("text", "json")
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Agents as well that have no place here, and none that is set.",
)
def homes(common: Common, every: bool) -> int:
    """Tell where the agents keep sessions here, which variables move that, and what is there.

    `list`, `status` and `search` look there where no PATH is given.
    """
    from sesstool.library.homes import homes as looked  # noqa: PLC0415 - the settings need none
    from sesstool.report import homes as report  # noqa: PLC0415 - the same

    found = looked()
    here = [one for one in found if every or one.is_meant]
    with destination(common) as out:
        if common.output_format == "json":
            out.write(report.to_json(found).encode())
        else:
            out.write(report.to_text(here).encode())
    common.note(report.summary(found))
    if len(here) < len(found):
        common.note("next: sesstool config homes --all shows where the others would be")
    return 0
