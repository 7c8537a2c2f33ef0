"""A report as one HTML page that needs nothing else: no script, no other file, no network."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import resources
from typing import Any

from sesstool.report.amounts import counted
from sesstool.text import safe


def render(template: str, **values: Any) -> str:
    """The page that a template beside this module makes of some values, which it escapes."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - start-up time

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read),
        # A name may be anybody's. What is markup has been through it.
        finalize=lambda value: safe(value) if type(value) is str else value,
    )
    environment.filters |= {
        "number": lambda n: f"{n:,}",
        "count": counted,
        "link": _link,
        "moment": moment,
    }
    return environment.get_template(template).render(**values)


def moment(time: str | None) -> str:
    """A time in ISO 8601 as people read it, to the minute and in UTC; "-" where there is none."""
    if not time:
        return "-"
    return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _read(name: str) -> str:
    return resources.files("sesstool.report").joinpath(name).read_text("utf-8")


def _link(target: str) -> str:
    """A page to link to, "" where it is something else."""
    if target.startswith("https://"):
        return target
    host = target.partition("/")[0]
    return f"https://{target}" if "." in host and ":" not in host and " " not in target else ""
