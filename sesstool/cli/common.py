"""What all commands share: the options, the two streams, colour, progress, the exit code."""

from __future__ import annotations

import functools
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, ParamSpec, Self, TextIO

import click

from sesstool import config
from sesstool.errors import UsageError
from sesstool.text import elide, safe

P = ParamSpec("P")
Command = Callable[P, int | None]

_WORST_FIRST = (70, 6, 5, 4, 3, 2, 1, 0)
_PROGRESS_AFTER = 0.5
# Cells of a bar and of the name before it, so that all fits into a line of 80: one that is
# broken cannot be written over.
_BAR, _LABEL = 16, 20
_SETTINGS = "sesstool.settings"
_TO_FOLDER = "sesstool.to_folder"


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command accepts.

    `verbosity` is 1 plus each -v, less each -q. `output` is the file for the result, None
    for stdout; `to_folder` says that it was given with a slash at the end.
    """

    verbosity: int
    color: str
    output_format: str
    output: Path | None
    config: Path | None
    isolated: bool
    no_input: bool
    no_progress: bool
    to_folder: bool = False

    def note(self, text: str) -> None:
        """Tell one line to the person who watches, unless they asked for quiet."""
        if self.verbosity > 0:
            err(text)

    def colored(self, stream: TextIO) -> bool:
        """Whether to write colour to a stream."""
        return use_color(self.color, stream)

    def progress(self, total: int, label: str) -> Progress:
        """Show the progress over so many bytes, where somebody watches."""
        watched = sys.stderr.isatty() and "CI" not in os.environ
        return Progress(total, label, shown=watched and not self.no_progress and self.verbosity > 0)


class Output(click.Path):
    """A path; that it ends with a slash, which no Path shows, is kept in the context."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take a path as it is."""
        if ctx is not None:
            ctx.meta[_TO_FOLDER] = os.fspath(value).endswith((os.sep, "/"))
        return super().convert(value, param, ctx)


class Codes(click.ParamType[tuple[str, ...]]):
    """Rule codes or beginnings of codes with commas between them, as a tuple."""

    name = "codes"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002 - click's signature
        ctx: click.Context | None,  # noqa: ARG002 - click's signature
    ) -> tuple[str, ...]:
        """Split the text of an option; a setting is a tuple already. Refuses unknown codes."""
        from sesstool.checks.engine import RULES  # noqa: PLC0415 - help needs no rules

        parts = value.split(",") if isinstance(value, str) else value
        codes = tuple(part.strip() for part in parts if part.strip())
        for code in codes:
            if not any(known.startswith(code) for known in RULES):
                raise UsageError(
                    f"no rule begins with {code}", hint="sesstool rule lists all the rules"
                )
        return codes


SLOWEST, FASTEST = 0.001, 1000.0


class Number(click.FloatRange):
    """A number that is one, from 0 on."""

    def __init__(self) -> None:
        """See `click.FloatRange`."""
        super().__init__(min=0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse what is not a number, which would compare with none."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("it is not a number", param, ctx)
        return float(number)


class Speed(Number):
    """How many times as fast as recorded, or 0: within bounds in which times can be told."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse what no clock could keep."""
        speed = super().convert(value, param, ctx)
        if speed and not SLOWEST <= speed <= FASTEST:
            self.fail(f"it is not from {SLOWEST:g} to {FASTEST:g}", param, ctx)
        return speed


class Moment(click.ParamType[datetime]):
    """A date or a time: with `first` the first moment of a date, else 24:00 UTC, its end."""

    name = "date"

    def __init__(self, *, first: bool = False) -> None:
        """Say which end of a date counts."""
        self._first = first

    def convert(
        self,
        value: str | datetime,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> datetime:
        """Read the text of an option."""
        from sesstool.retention import units  # noqa: PLC0415 - help needs no dates

        if isinstance(value, datetime):
            return value
        try:
            return units.moment(value) if self._first else units.end(value)
        except UsageError as error:
            self.fail(f"it {error.message}: {error.hint}", param, ctx)


def common(
    *formats: str,
) -> Callable[[Callable[Concatenate[Common, P], int | None]], Command[P]]:
    """Give a command the options that all have; it gets them as `Common`, first.

    `formats` are the choices of --output-format, the default first; none means text alone.
    Settings of the same name as an option of the command become its default.
    """
    choices = formats or ("text",)

    def decorate(function: Callable[Concatenate[Common, P], int | None]) -> Command[P]:
        @functools.wraps(function)
        def command(*args: P.args, **kwargs: P.kwargs) -> int | None:
            taken: dict[str, Any] = {name: kwargs.pop(name) for name in _NAMES}
            verbosity = 1 + taken.pop("verbose") - taken.pop("quiet")
            to_folder = click.get_current_context().meta.get(_TO_FOLDER, False)
            shared = Common(verbosity=verbosity, to_folder=to_folder, **taken)
            return function(shared, *args, **kwargs)

        result: Command[P] = command
        for option in reversed(_options(choices)):
            result = option(result)
        return result

    return decorate


_NAMES = (
    "quiet",
    "verbose",
    "color",
    "output_format",
    "output",
    "config",
    "isolated",
    "no_input",
    "no_progress",
)


def _options(formats: tuple[str, ...]) -> list[Callable[[Any], Any]]:
    file = click.Path(path_type=Path)
    colors = click.Choice(["auto", "always", "never"])
    return [
        click.option("-q", "--quiet", count=True, help="Say less; results are still printed."),
        click.option("-v", "--verbose", count=True, help="Say more."),
        click.option("--color", type=colors, default="auto", help="When to use colour."),
        click.option(
            "-f",
            "--output-format",
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="How the result is shown.",
        ),
        click.option(
            "-o",
            "--output",
            type=Output(path_type=Path),
            help="Where the result goes; - is stdout.",
        ),
        click.option(
            "--config",
            type=file,
            is_eager=True,
            callback=_settings,
            help="Read this settings file instead of the project's and yours.",
        ),
        click.option(
            "--isolated",
            is_flag=True,
            is_eager=True,
            callback=_settings,
            help="Read no settings file, and no plug-in.",
        ),
        click.option("--no-input", is_flag=True, help="Never ask; fail instead."),
        click.option("--no-progress", is_flag=True, help="Show no progress."),
    ]


def _settings(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Make the settings the defaults of the command, once both options are known.

    They are eager, so that this happens before any other option is looked at.
    """
    known = {**ctx.params, str(param.name): value}
    if "config" in known and "isolated" in known and not ctx.resilient_parsing:
        values = config.load(
            Path.cwd(), os.environ, explicit=known["config"], isolated=known["isolated"]
        )
        ctx.meta[_SETTINGS] = values
        ctx.default_map = {
            setting.parameter: values[setting.name].value
            for setting in config.SETTINGS
            if values[setting.name].origin != "default" and _allows(ctx, setting, values)
        }
    return value


def _allows(ctx: click.Context, setting: config.Setting, values: dict[str, config.Value]) -> bool:
    """Whether the command knows the value: not every command has every output format."""
    return all(
        values[setting.name].value in param.type.choices
        for param in ctx.command.params
        if param.name == setting.parameter and isinstance(param.type, click.Choice)
    )


def settings() -> dict[str, config.Value]:
    """All the settings of the running command, with the origin of each."""
    values: dict[str, config.Value] = click.get_current_context().meta[_SETTINGS]
    return values


def err(text: str) -> None:
    """Write one line to stderr, with what could act on a terminal made visible."""
    click.echo(safe(text), err=True)


def out_stream() -> BinaryIO:
    """Stdout for bytes; `click.echo` would change what looks like a terminal sequence."""
    return sys.stdout.buffer


def use_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour a stream: the option, NO_COLOR, FORCE_COLOR, TERM, a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def worst(codes: Iterable[int]) -> int:
    """The exit code of a run over several files: the gravest of theirs."""
    occurred = set(codes)
    return next((code for code in _WORST_FIRST if code in occurred), 0)


class Progress:
    """A bar on stderr that appears where the work takes longer than half a second."""

    def __init__(self, total: int, label: str, *, shown: bool) -> None:
        """Start the clock; `total` counts bytes."""
        self._total = total
        self._label = label
        self.shown = shown
        self._started = time.monotonic()
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Self:
        """Remove the bar on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the bar, if it came to one."""
        if self._bar is not None:
            self._bar.render_finish()

    def advance(self, size: int) -> None:
        """Say that so many bytes more are done."""
        self._done += size
        if not self.shown or time.monotonic() - self._started < _PROGRESS_AFTER:
            return
        if self._bar is None:
            self._bar = click.progressbar(
                length=self._total,
                label=elide(safe(self._label), _LABEL),
                width=_BAR,
                file=sys.stderr,
                item_show_func=self._bytes,
            )
            self._bar.__enter__()
            size = self._done
        self._bar.update(size, self._done)

    def _bytes(self, done: int | None) -> str:
        return f"{(done or 0) / 1e6:.1f} of {self._total / 1e6:.1f} MB"
