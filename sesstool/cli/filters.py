"""Options of what looks at all sessions of this computer: which of them are meant."""

from __future__ import annotations

import click

from sesstool.formats.registry import FORMATS
from sesstool.library.arrange import meant_projects

agents_option = click.option(
    "--agent",
    "agents",
    multiple=True,
    type=click.Choice([form.name for form in FORMATS]),
    metavar="AGENT",
    help="Only sessions of this agent, by the name of its format.",
)
projects_option = click.option(
    "--project",
    "projects",
    multiple=True,
    callback=lambda _context, _option, names: meant_projects(names),
    help="Only this project: a path, or its last name.",
)
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Look at every file anew, and keep nothing of it."
)
