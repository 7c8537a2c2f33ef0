"""What encrypt, decrypt and rekey share: what they refuse, where results go, what they say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sesstool import api
from sesstool.api import sealing
from sesstool.cli.common import Common, out_stream
from sesstool.cli.outputs import tell
from sesstool.cli.streams import converted, size_of
from sesstool.errors import SesstoolError, UsageError
from sesstool.records import convert
from sesstool.records.opening import refuse_rows
from sesstool.records.source import SEALED, is_transcript
from sesstool.records.write import is_leftover
from sesstool.report.amounts import count
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
    if "-" in paths:
        raise UsageError("this works on files, not on standard input", hint="give a path")


def sessions(
    shared: Common,
    given: Iterable[str],
    codes: list[int],
    *,
    write: bool,
    makes: bool = False,
    every: tuple[str, ...] = api.SUFFIXES,
) -> list[Path]:
    """The files that the user means: of folders, those that end in one of `every`.

    With `write` what a crash broke off of them is settled first; else it is told, but for what
    `makes` new files, and settles by itself. A name that means none is told and counted, unless it
    went with what was settled.
    """
    look = converted if write else _broken_off
    found: list[Path] = []
    for name in given:
        try:
            if not makes and look(shared, name) and not Path(name).exists():
                continue
            paths = list(map(Path, api.find([name], every)))
            for path in paths:
                refuse_rows(path)
            # All of them, for each has its own group; and then some have other names.
            inside = [] if makes else [path for path in paths if str(path) != name]
            if [path for path in inside if look(shared, path)]:
                paths = list(map(Path, api.find([name], every)))
            found += paths
        except SesstoolError as error:
            codes.append(tell(shared, error))
    return found


def _broken_off(shared: Common, path: Path | str) -> bool:
    """Tell what a crash broke off of a file, and leave it so; whether there is such a thing."""
    command = convert.broken_off(api.state_folder(), Path(path))
    if command:
        shared.note(f"{path}: {command} was broken off, or is at work; --write brings it to an end")
    return bool(command)


SEALED_FILES = (*api.SUFFIXES, SEALED)
"""The endings of sessions, and of all that is encrypted, be it a session or not."""


def groups(
    shared: Common,
    paths: Iterable[Path],
    codes: list[int],
    keys: Keys | None = None,
    *,
    encrypted: bool,
) -> list[sealing.Group]:
    """The groups of the sessions that are encrypted, or are not; errors are told, and counted."""
    found: list[sealing.Group] = []
    taken: set[Path] = set()
    # A session stands above what belongs to it, which need not be opened by itself.
    for path in sorted(paths, key=lambda one: (not is_transcript(one), len(one.parts))):
        if path in taken:
            continue
        try:
            if api.is_encrypted(path) is encrypted:
                found.append(sealing.group_of(path, keys))
                taken.update(found[-1].files)
        except SesstoolError as error:
            codes.append(tell(shared, error))
    return sealing.apart(found)


def others(shared: Common, given: Iterable[str], ready: Iterable[sealing.Group]) -> None:
    """Tell of the files in the folders that the user named which stay as they are."""
    taken = {file.absolute() for group in ready for file in group.files}
    for name in filter(os.path.isdir, given):
        inside = (Path(folder, one) for folder, _, some in os.walk(name) for one in some)
        left = sorted(
            p
            for p in inside
            if p.suffix != SEALED and p.absolute() not in taken and not is_leftover(p)
        )
        if left:
            some = f"{count(len(left), 'other file')} in {safe(name)}, such as {safe(str(left[0]))}"
            shared.note(f"left alone: {some}: no part of a session, and not encrypted")


def names(
    shared: Common, group: sealing.Group, every: Sequence[sealing.Group]
) -> list[Path] | None:
    """Where -o has the files of a group go, one of `every`: into a folder, or one to a file."""
    output = shared.output
    if output is None:
        return None
    into = len(every) > 1 or shared.to_folder or output.is_dir()
    if len(group) > 1 and not into:
        raise UsageError(
            f"{group.path} has {count(len(group) - 1, 'side file')}, and -o names one file",
            hint=f"name a folder: -o {quoted(output)}/",
        )
    if into:
        base = os.path.commonpath([one.path.absolute().parent for one in every])
        return sealing.names(group, output, Path(base))
    return [output]


def again(shared: Common, *without: str, more: Sequence[str] = ()) -> None:
    """Tell the command that does what this one previewed: the same with --write, and `more`.

    The parameters `without` which it goes are left out.
    """
    context = click.get_current_context()
    words = [context.command_path, "--write", *more]
    # Paths come last.
    for param in sorted(context.command.params, key=lambda one: isinstance(one, click.Argument)):
        name = str(param.name)
        if name in ("dry_run", *without) or context.get_parameter_source(name) is not _TYPED:
            continue
        value = context.params.get(name)
        each = value if isinstance(value, tuple) else (value,)
        if isinstance(param, click.Argument):
            dashed = any(str(one).startswith("-") for one in each)
            words += ["--"] * dashed + [quoted(one) for one in each]
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
