"""What encrypt, decrypt and rekey share: what they refuse, where results go, what they say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sesstool import api
from sesstool.api import sealing
from sesstool.cli.common import Common, out_stream
from sesstool.cli.streams import converted, size_of, tell
from sesstool.errors import SesstoolError, UsageError
from sesstool.text import quoted, safe

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

_TYPED = ParameterSource.COMMANDLINE


def refuse(
    shared: Common, paths: tuple[str, ...], *, write: bool, dry_run: bool, keep: bool
) -> None:
    """Refuse options that contradict each other, with a sentence."""
    if write and dry_run:
        raise UsageError("--write and --dry-run contradict each other", hint="give one of them")
    if write and (keep or shared.output is not None):
        other = "--keep" if keep else "-o"
        raise UsageError(
            f"--write takes the old files away and {other} keeps them", hint="give one of them"
        )
    if "-" in paths or str(shared.output) == "-":
        raise UsageError(
            "this works on files that have a place, not on streams", hint="age does that"
        )


def sessions(shared: Common, names: Iterable[str], codes: list[int]) -> list[Path]:
    """The sessions that the user means, once what a crash broke off of them was settled.

    A name that means none is told and counted, unless it went with what was settled.
    """
    every: list[Path] = []
    for name in names:
        try:
            if converted(shared, name) and not Path(name).exists():
                continue
            paths = list(map(Path, api.find([name])))
            # All of them, for each has its own group; and then some have other names.
            if [path for path in paths if converted(shared, path)]:
                paths = list(map(Path, api.find([name])))
            every += paths
        except SesstoolError as error:
            codes.append(tell(shared, error))
    return every


def groups(
    shared: Common,
    paths: Iterable[Path],
    codes: list[int],
    keys: Keys | None = None,
    *,
    encrypted: bool,
) -> list[sealing.Group]:
    """The groups of the sessions that are encrypted, or are not; errors are told, and counted."""
    found = []
    for path in paths:
        try:
            if api.is_encrypted(path) is encrypted:
                found.append(sealing.group_of(path, keys))
        except SesstoolError as error:
            codes.append(tell(shared, error))
    return sealing.apart(found)


def names(shared: Common, group: sealing.Group, *, several: bool) -> list[Path] | None:
    """Where -o has the files of a group go: into a folder, or one file to another."""
    output = shared.output
    if output is None:
        return None
    if several or shared.to_folder or len(group) > 1 or output.is_dir():
        return sealing.names(group, output)
    return [output]


def again(shared: Common) -> None:
    """Tell the command that does what this one previewed: the same with --write."""
    context = click.get_current_context()
    words = ["sesstool", context.info_name or "", "--write"]
    # Paths come last.
    for param in sorted(context.command.params, key=lambda one: isinstance(one, click.Argument)):
        name = str(param.name)
        if name == "dry_run" or context.get_parameter_source(name) is not _TYPED:
            continue
        value = context.params.get(name)
        each = value if isinstance(value, tuple) else (value,)
        if isinstance(param, click.Argument):
            words += [quoted(one) for one in each]
        elif isinstance(param, click.Option) and param.is_flag:
            words.append(param.opts[-1])
        else:
            words += [word for one in each for word in (param.opts[0], quoted(one))]
    shared.note(f"next: {' '.join(words)}")


def about(group: sealing.Group, verb: str, *, plain_goes: bool = False) -> None:
    """Say on stdout what is done to a group, and what is not reached."""
    lines = [f"{group.path}: {verb}"]
    if plain_goes:
        lines += [f"  stays: {side.path}: {side.fate}" for side in group.copies]
        lines += [f"  needs it to resume: {path}" for path in group.forks]
    out_stream().write("".join(f"{safe(line)}\n" for line in lines).encode())


def sizes(group: sealing.Group) -> str:
    """How many bytes the files of a group have."""
    return f"{sum(map(size_of, group.files)):,} bytes"
