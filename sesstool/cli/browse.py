"""`sesstool browse`: look at sessions in a full-screen app."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesstool import api, config
from sesstool.cli.common import Common, common, settings
from sesstool.cli.keys import key_options, keys_of
from sesstool.errors import ConfigError, InputError, UsageError
from sesstool.heap import lean_heap
from sesstool.records.opening import holder_of
from sesstool.records.traceless import is_database

if TYPE_CHECKING:
    from sesstool.tui.app import Options
    from sesstool.tui.frame import Frame

SCREENS = {
    "library": "sesstool.tui.library:screen",
    "conversation": "sesstool.tui.conversation:screen",
    "diff": "sesstool.tui.diffing:screen",
    "repair": "sesstool.tui.repairing:screen",
    "redact": "sesstool.tui.redacting:screen",
    "prune": "sesstool.tui.retaining:screen",
    "replay": "sesstool.tui.playing:screen",
}
"""Name → the function that makes the screen of some paths."""

_LINEAR = "sesstool show PATH prints a session, for a pipe or a screen reader"


def appearance(function: Any) -> Any:
    """Give a command the options of how the app looks."""
    for option in (
        click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal."),
        click.option("--ascii", "in_ascii", is_flag=True, help="Signs in ASCII alone."),
        click.option(
            "--theme", type=click.Choice(config.THEMES), default=None, help="The colours."
        ),
    ):
        function = option(function)
    return function


@click.command("browse")
@common()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--screen", type=click.Choice(list(SCREENS)), help="Begin with this screen.")
@click.option("--allow-write", is_flag=True, help="Let W write, where y then confirms it.")
@appearance
@key_options
def command(
    shared: Common,
    paths: tuple[str, ...],
    screen: str | None,
    allow_write: bool,
    theme: str | None,
    in_ascii: bool,
    no_mouse: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """Look at sessions in a full-screen app. Nothing is written without --allow-write.

    PATH is a session, a folder, or an id; without any, all sessions of this computer's agents.
    """
    refuse_without_terminal()
    options = app_options(
        shared, theme, identities, passphrase_fd, writes=allow_write, in_ascii=in_ascii
    )
    name = screen or ("conversation" if _is_one(paths) else "library")
    found = _listed(paths) if name == "library" else list(api.find(paths))
    return run(made(name, found, options), options, mouse=not no_mouse)


def _listed(paths: tuple[str, ...]) -> list[Path | str]:
    """What a library is to list; what is not there is told before it opens. Raises InputError."""
    found: list[Path | str] = []
    for name in paths:
        # Not pathlib: of a folder that cannot be searched it raises OSError.
        paths_of = [Path(name)] if os.path.lexists(name) else list(api.find([name]))
        for path in paths_of:
            if path != "-" and not os.path.lexists(path) and not holder_of(Path(path)):
                raise InputError(f"cannot open {path}: no such file", hint="check the path")
        found += paths_of
    return found


def _is_one(paths: tuple[str, ...]) -> bool:
    """Whether what is named is one session, and no folder or database."""
    # Not Path.is_dir: of a folder that cannot be searched it raises OSError.
    several = len(paths) != 1 or os.path.isdir(paths[0])  # noqa: PTH112 - Path may raise
    return not several and not is_database(Path(paths[0]))


def refuse_without_terminal() -> None:
    """Refuse where there is no terminal to fill. Raises UsageError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError("this needs a terminal", hint=_LINEAR)


def app_options(
    shared: Common,
    theme: str | None,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    *,
    writes: bool,
    in_ascii: bool,
) -> Options:
    """What the options and the settings say of the app."""
    from sesstool.tui.app import Options  # noqa: PLC0415 - start-up time

    values = settings()
    return Options(
        writes=writes,
        theme=theme or str(values["theme"].value),
        ascii=in_ascii or bool(values["ascii"].value),
        still=bool(values["reduced-motion"].value),
        mouse=bool(values["mouse"].value),
        keys=keys_of(shared, identities, passphrase_fd),
        keymap=_keymap(values["keys"]),
        policy=str(values["policy"].value or ""),
    )


def _keymap(value: config.Value) -> dict[str, str]:
    """The keys that a person chose, checked. Raises ConfigError."""
    from sesstool.tui.keys import known_ids, named  # noqa: PLC0415 - start-up time

    chosen = value.value
    assert isinstance(chosen, dict)
    if not chosen:
        return {}
    for target in SCREENS.values():
        import_module(target.partition(":")[0])
    ids = known_ids()
    for name in chosen:
        if name.startswith("write.confirm"):
            raise ConfigError(f"{value.origin}: keys: {name} stays y", hint="y alone writes")
        if name not in ids:
            near = difflib.get_close_matches(name, ids, n=1)
            hint = f"did you mean {near[0]}?" if near else "F2 in the help of browse shows them"
            raise ConfigError(f"{value.origin}: keys: there is no {name}", hint=hint)
    try:
        return {name: named(keys) for name, keys in chosen.items()}
    except ValueError as error:
        hint = "a key is a character, or a name such as f5, pageup, ctrl+b; commas between several"
        raise ConfigError(f"{value.origin}: keys: no key is {str(error)!r}", hint=hint) from None


def made(name: str, paths: Sequence[Path | str], options: Options) -> Frame:
    """The screen of a name. Raises what keeps it from being made."""
    if "-" in paths:
        raise UsageError("the keys come from standard input", hint=f"give a path; {_LINEAR}")
    module, _, function = SCREENS[name].partition(":")
    screen: Frame = getattr(import_module(module), function)([Path(p) for p in paths], options)
    return screen


def run(first: Frame, options: Options, *, mouse: bool) -> int:
    """Run the app to its end; the exit code."""
    from sesstool.tui.app import Browser  # noqa: PLC0415 - start-up time

    lean_heap()
    if options.keys is not None:
        options.keys.stop_asking()
    app = Browser(first, options)
    app.run(mouse=mouse and options.mouse)
    if app.broke is not None:
        raise app.broke
    return app.return_code or 0
