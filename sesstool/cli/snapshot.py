"""`sesstool snapshot`: the world beside a session, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from sesstool.api import worlds as api
from sesstool.cli.common import Common, common, out_stream
from sesstool.cli.keys import key_options, keys_of
from sesstool.cli.outputs import destination
from sesstool.cli.streams import kept_sealed, refuse_inputs, single, watched
from sesstool.cli.validate import format_option
from sesstool.errors import InputError, UsageError
from sesstool.report.amounts import counted as count
from sesstool.store.reads import Read
from sesstool.text import safe, session_word

_MOST = 20


@click.command("snapshot")
@common("text", "json")
@click.argument("path", required=False)
@click.option(
    "--compare",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Tell what has changed since the snapshot beside the session, or in FILE.",
)
@click.option("--force", is_flag=True, help="Replace a snapshot that is there.")
@key_options
@format_option
def command(
    shared: Common,
    path: str | None,
    compare: str | None,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    format_name: str | None,
    *,
    force: bool,
) -> int:
    """Record the world beside a session: folder, git, files, names of variables, to-dos.

    The snapshot lies beside the session, or where -o says; it holds no text and no value. With
    --compare nothing is recorded, and exit 1 says that something has changed.
    """
    if path is None and compare:  # it took the path for its own
        path, compare = compare, ""
    if path is None:
        raise UsageError("no session is given", hint="give a path or a session id")
    if compare is not None and force:
        raise UsageError("--force is of no use with --compare", hint="leave one of them out")
    found = single(path)
    keys = keys_of(shared, identities, passphrase_fd)
    name = format_name or ""
    if compare is not None:
        file = Path(compare) if compare else None
        with watched(shared, found) as advance:
            since = api.compared(found, file, format_name=name, progress=advance, keys=keys)
        if since is None:
            raise InputError(
                f"there is no snapshot beside {found}",
                hint=f"sesstool snapshot {session_word(found)} records one",
            )
        told = "".join(f"{line}\n" for line in compared(since, _MOST))
        if shared.output_format == "json":
            told = _document(since.as_json())
        else:
            told = f"{safe(str(found))}: {told}"
        with destination(shared) as out:
            out.write(told.encode())
        return int(bool(since.changes))
    target = shared.output
    if str(target) == "-":
        with watched(shared, found) as advance:
            world = api.take(found, format_name=name, progress=advance, keys=keys)
        out_stream().write(_document(world.as_json()).encode())
        return 0
    if target is not None:
        refuse_inputs(target, found)
    with watched(shared, found) as advance:
        world, place = api.snapshot(
            found, target, force=force, format_name=name, progress=advance, keys=keys
        )
    text = "".join(f"{line}\n" for line in _lines(world, str(found)))
    out_stream().write(
        (_document(world.as_json()) if shared.output_format == "json" else text).encode()
    )
    shared.note(f"written: {place}{kept_sealed(found)}")
    return 0


def compared(since: api.Since, most: int) -> Iterator[str]:
    """What has changed since a snapshot, in a head and at most so many lines."""
    changes = since.changes
    yield f"since the snapshot of {safe(since.then.taken)}: {count(len(changes), 'change')}"
    then, now = since.then.session_id, since.now.session_id
    if then and now and then != now:
        yield f"  it is that of another session, {safe(then)}: its to-dos are other ones"
    for change in changes[:most]:
        yield f"  {change.kind:10} {_said(change)}"
    if len(changes) > most:
        yield f"  and {len(changes) - most:,} more: -f json tells all"


def _said(change: api.Change) -> str:
    what, then, now = map(safe, change[1:])
    if change.kind == "variable":
        return f"{what} is not set any more"
    if change.kind == "to-dos":
        return f"{then} were open, {now} are"
    if change.kind == "head":
        then, now = then[:12] or "no commit", now[:12] or "no commit"
    if change.kind == "branch":
        then, now = then or "detached", now or "detached"
    return f"{what}{': ' if what else ''}{then or 'clean'}, now {now or 'clean'}"


def _lines(world: api.World, name: str) -> Iterator[str]:
    git = world.git
    yield f"{safe(name)}: {world.format} session, and the world beside it"
    yield f"  folder     {safe(world.cwd)}{'' if world.told else ' (the session tells none)'}"
    if git.trouble:
        yield f"  git        {git.trouble}"
    else:
        head = safe(git.head[:12]) or "no commit"
        more = " or more" if git.more else ""
        dirty = f"{count(len(git.dirty), 'dirty file')}{more}"
        yield f"  git        {safe(git.branch) or 'detached'} at {head}, {dirty}"
    yield f"  files      {', '.join(_files(world))}"
    yield f"  variables  {count(len(world.variables), 'name')}, no value"
    todos = world.todos
    yield f"  to-dos     {f'{todos.open:,} open (line {todos.line:,})' if todos.line else 'none'}"
    if world.unread:
        yield f"  unread     {count(world.unread, 'piece')} of the session: sesstool validate tells"


def _files(world: api.World) -> Iterator[str]:
    states = [state for _, state in world.files]
    there = [state for state in states if isinstance(state, Read)]
    yield f"{len(there):,} recorded"
    for state in ("missing", "unreadable"):
        if number := states.count(state):
            yield f"{number:,} {state}"
    if number := sum(not read.sha256 for read in there):
        yield f"{number:,} large ones by size and time alone"
    if world.more_files:
        yield "older ones left out"


def _document(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"
