"""`sesstool hold`: what must not be removed, whatever the retention policy says."""

from __future__ import annotations

import json

import click

from sesstool.api import holding, state_folder
from sesstool.cli.common import Common, common
from sesstool.cli.main import ForwardingGroup
from sesstool.cli.outputs import destination
from sesstool.retention import holds
from sesstool.retention.policy import Hold, in_use, load
from sesstool.text import quoted, safe


@click.group("hold", cls=ForwardingGroup)
def command() -> None:
    """Hold sessions back from every deletion, and let them go."""


@command.command("add")
@common()
@click.argument("name")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--reason", required=True, help="Why they must be kept.")
@click.option("--by", default="", help="Who asked for it.")
@click.option("--agent", multiple=True, help="Hold sessions of this agent.")
@click.option("--tag", "tags", multiple=True, help="Hold sessions with this tag.")
@click.option("--project", multiple=True, help="Hold sessions of this project.")
@click.option("--until", help="The last day of the hold, in UTC; without it, until its release.")
def add(
    shared: Common,
    name: str,
    paths: tuple[str, ...],
    reason: str,
    by: str,
    agent: tuple[str, ...],
    tags: tuple[str, ...],
    project: tuple[str, ...],
    until: str | None,
) -> int:
    """Hold the sessions that PATH and the options mean: all that are given must hold.

    A folder holds all that is below it, now and later; a file or an id its session, also when it
    is moved or encrypted. An id may be that of a trash entry. The options take globs. It counts
    at once, and changes no session.
    """
    made = holding.holds(
        name, paths, reason=reason, by=by, until=until, agent=agent, tags=tags, project=project
    )
    holds.add(state_folder(), *made)
    shared.note(f"hold {name}:")
    for hold in made:
        shared.note(f"  {_meant(hold)}")
    shared.note(f"to end it: sesstool hold release {quoted(name)} --reason TEXT")
    return 0


@command.command("release")
@common()
@click.argument("name")
@click.option("--reason", required=True, help="Why they need not be kept any more.")
def release(shared: Common, name: str, reason: str) -> int:
    """End a hold that was made by command; one of a policy file is taken out there."""
    holds.release(state_folder(), name, reason)
    shared.note(f"released: {name}")
    return 0


@command.command("list")
@common("text", "json")
@click.option(
    "--policy", type=click.Path(), help="The policy file, in place of the setting or yours."
)
def show(shared: Common, policy: str | None) -> int:
    """List the holds, those of the policy file too."""
    found = [(hold, "") for hold in holds.read(state_folder())]
    path = in_use(policy)
    if path is not None:
        found += [(hold, str(path)) for hold in load(path).holds]
    with destination(shared) as out:
        if shared.output_format == "json":
            listed = [{**holds.as_json(hold), "source": source} for hold, source in found]
            document = {"schema_version": 1, "holds": listed}
            out.write(json.dumps(document, indent=2).encode() + b"\n")
            return 0
        shown = None
        for hold, source in found:
            if (hold.name, source) != shown:
                out.write(safe(_told(hold, source)).encode() + b"\n")
            out.write(safe(f"  {_meant(hold)}").encode() + b"\n")
            shown = (hold.name, source)
    return 0


def _told(hold: Hold, source: str) -> str:
    by = f", by {hold.by}" if hold.by else ""
    since = f", from {hold.since:%Y-%m-%d %H:%M} UTC" if hold.since else ""
    until = f", until {hold.until:%Y-%m-%d %H:%M} UTC" if hold.until else ""
    return f"{hold.name}: {hold.reason}{by}{since}{until}{f' [{source}]' if source else ''}"


def _meant(hold: Hold) -> str:
    """Which sessions a hold holds, in words."""
    match = holds.as_json(hold)["match"]
    keys = (
        f"{key} {' or '.join(map(str, v)) if isinstance(v, list) else v}"
        for key, v in match.items()
    )
    return ", ".join(keys) or "all sessions"
