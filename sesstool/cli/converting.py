"""What `sesstool export` does where a session becomes one of another format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.cli.common import Common, out_stream
from sesstool.cli.outputs import refuse_nowhere, refuse_taken
from sesstool.errors import UsageError
from sesstool.records.source import FileSource
from sesstool.records.write import cannot_write, create, private_folder
from sesstool.text import safe

if TYPE_CHECKING:
    from sesstool.api.converting import Conversion, Converted
    from sesstool.api.exporting import Exported
    from sesstool.encryption.keyring import Keys


def refuse_for(
    to: str, shared: Common, target: Path | None, others: Mapping[str, object], *, force: bool
) -> None:
    """Refuse options that a conversion does not take, and a file that could not be written."""
    for option, given in others.items():
        if given:
            raise UsageError(f"{option} is not for {to}", hint="leave it out")
    if target is None:
        if shared.output_format == "json":
            raise UsageError("-f json needs a file for the session", hint="name a new one with -o")
        return
    if shared.to_folder:
        refuse_nowhere(target)
        try:
            private_folder(target)
        except OSError as error:
            raise cannot_write(target, error) from error
    if not target.is_dir():
        refuse_taken(target, force=force)


def converted(
    shared: Common,
    session: Exported,
    to: str,
    branch: str,
    target: Path | None,
    keys: Keys | None,
    *,
    force: bool,
) -> Path | None:
    """Write a session as one of another format, and tell what was lost; returns the new file."""
    from sesstool.api.converting import Conversion, whole  # noqa: PLC0415 - start-up time

    with ExitStack() as stack:
        source = session.source
        if session.redaction is None and isinstance(source, FileSource):
            source = stack.enter_context(whole(source, keys, session.format_name))
        branch = "" if branch in ("all", "live") else branch
        found = Conversion(
            source, to, format_name=session.format_name, branch=branch, target=target
        )
        return _written(shared, found, force=force)


def _written(shared: Common, found: Conversion, *, force: bool) -> Path | None:
    path = found.path
    if path is None:
        out_stream().writelines(found.lines())
    else:
        refuse_taken(path, force=force)
        side = found.side()
        if side is not None:
            refuse_taken(side[0], force=force)
        create(path, found.lines(), force=force)
        if side is not None:
            create(side[0], [side[1]], force=force)
    made = found.made()
    if shared.output_format == "json":
        out_stream().write(f"{_json(made, path)}\n".encode())
    else:
        _tell(shared, made, path)
    return path


def _tell(shared: Common, made: Converted, path: Path | None) -> None:
    """Say on stderr what was lost, and how the session is resumed."""
    where = f"{path}: " if path is not None else ""
    name = f" {made.session_id}" if made.place is not None else ""
    shared.note(f"{where}{made.format} session{safe(name)}, of a {made.source} session")
    for loss in made.lost:
        shared.note(f"{loss.count:7}  {loss.kind}: {loss.what}")
    if not made.lost:
        shared.note("nothing was lost")
    if made.place is not None:
        if path is None or path.absolute() != made.place:
            shared.note(f"it is looked for at {safe(str(made.place))}")
        shared.note(f"resume it there: {safe(made.command)}")


def _json(made: Converted, path: Path | None) -> str:
    value = {"schema_version": 1, "path": path} | asdict(made)
    return json.dumps(value, indent=2, default=str)
