"""What came of a redaction, put where it is to be: in the place of the sessions, or into a folder.

What leads back goes into a vault first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sesstool import api
from sesstool.api.redaction import Redacted, Redaction, naming
from sesstool.audit import log
from sesstool.errors import (
    UsageError,
    WriteError,
)
from sesstool.formats.base import Format
from sesstool.privacy import inverse, vault
from sesstool.privacy.deltas import piece
from sesstool.privacy.earlier import Left
from sesstool.privacy.vault import Kept, Known, Secret
from sesstool.records import transact
from sesstool.records.edits import Edit, EditSet
from sesstool.records.guard import locked
from sesstool.records.lines import Line
from sesstool.records.opening import packed, refuse_rows
from sesstool.records.plan import FilePlan, Plan
from sesstool.records.source import (
    CHUNK,
    Continued,
    FileSource,
    Fingerprint,
    fingerprint,
)
from sesstool.records.transact import Applied
from sesstool.records.undo import digest, open_raw
from sesstool.records.write import create, make_folder, real_path
from sesstool.version import __version__

__all__ = ["follow", "publish"]


def publish(
    redaction: Redaction,
    folder: Path | None = None,
    *,
    force: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
    keep_in: tuple[Path, Secret] | None = None,
) -> list[Applied]:
    """Put what came of a redaction in the place of the files, or copies below a folder.

    `keep_in` is a vault and what opens it: what leads back is on disk there before the first file
    is changed. Raises StalePlanError, LiveSessionError and WriteError; the file is then as before.
    AuthError and InputError are about the vault; then nothing was written.
    """
    state = state or api.state_folder()
    if folder is not None:
        target = folder.resolve()
        sources = (Path(name).resolve() for name in redaction.given if Path(name).is_dir())
        if any(source in (target, *target.parents) for source in sources):
            raise UsageError(
                f"{folder} lies in a folder that is redacted: copies would stand among sessions",
                hint="give a folder outside of it to -o",
            )
    for file in redaction.files:
        if folder is None:
            refuse_rows(file.path)
        if file.summary.open_turn and redaction.choice.profile == "resume":
            raise UsageError(
                f"line {file.summary.open_turn} of {file.shown} holds values in the signed "
                "thinking that began a turn which is not over: the provider asks for it",
                hint="let the agent finish the turn first, or make a copy with --profile share",
            )
    with naming(redaction.files):
        if keep_in is not None:
            _keep(redaction, *keep_in, folder, state)
        return list(_published(redaction, folder, force, ignore_live, state))


def _published(
    redaction: Redaction, folder: Path | None, force: bool, ignore_live: bool, state: Path
) -> Iterator[Applied]:
    lefts: list[tuple[Path, Left]] = []
    # Where a file stands on the disk holds a user's name, and the log is not for values.
    shown = redaction.redactor.shown if redaction.redactor else str
    for file in _followers_first(redaction.files):
        sha256 = file.before.sha256 if file.before else ""
        if folder is not None:
            target = folder / file.name
            make_folder(target.parent)
            create(target, _on_disk(file), force=force)
            redaction.published.append(target)
            if isinstance(file.path, Path) and file.result is not None:
                sealed = file.result.seal is not None
                log.note_copy(state, target, file.path, shown, sealed=sealed)
        elif file.changed and isinstance(file.path, Path) and file.before is not None:
            applied = transact.rewrite_file(
                file.path,
                file.before,
                _on_disk(file),
                state=state,
                command="redact",
                findings=tuple(sorted(file.summary.rules)),
                ignore_live=ignore_live,
                recent_seconds=api.recent(file.path),
                writer=api.writer,
                shown=shown,
            )
            redaction.published.append(applied.path)
            sha256 = applied.sha256
            yield applied
            assert file.result is not None
            after = replace(file.text, source=file.result)
            yield from follow(
                file.path,
                file.text.form,
                zip(file.text.lines(), after.lines(), strict=True),
                command="redact",
                ignore_live=ignore_live,
                state=state,
                shown=shown,
            )
        if folder is None and redaction.earlier and (left := _left(file, sha256)):
            lefts.append((Path(file.path), left))
    if redaction.earlier and redaction.redactor:
        redaction.earlier.keep(lefts, redaction.redactor.values)


def follow(
    path: Path,
    form: Format | None,
    lines: Iterable[tuple[Line, Line]],
    *,
    command: str,
    ignore_live: bool,
    state: Path,
    shown: Callable[[str], str] | None = None,
) -> list[Applied]:
    """Have the files that refer to bytes of a file refer to where these lie now.

    `lines` are those that it had, each with what came in its place. `shown` is as in `api.apply`.
    Raises as `publish` does.
    """
    dependents = list(form.dependents(path)) if form else []
    if not dependents:
        return []
    moved = EditSet(
        Edit(old.start, old.end, new.text) for old, new in lines if old.text != new.text
    )
    title = f"refer to the bytes of {path.name} where they are after {command}"
    plans = [
        FilePlan(one.path, fingerprint(one.path), "", EditSet(edits), titles=(title,))
        for one in dependents
        if (edits := list(one.edits(moved)))
    ]
    plan = Plan(tuple(plans), datetime.now(UTC).isoformat(timespec="seconds"), __version__)
    return api.apply(
        plan, command=command, ignore_live=ignore_live, keep_undo=False, state=state, shown=shown
    )


def _on_disk(file: Redacted) -> Iterator[bytes]:
    """The bytes of a redacted file as they are to be on disk."""
    assert file.result is not None
    return packed(file.result.chunks(), file.result)


def _keep(
    redaction: Redaction, path: Path, secret: Secret, folder: Path | None, state: Path
) -> None:
    """Put what leads back into a vault, and prove that it does. See `publish`."""
    real = real_path(path)
    if any(isinstance(f.path, Path) and real_path(f.path) == real for f in redaction.files):
        raise UsageError(f"{path} is to be the vault, and is one of the files", hint="name another")
    made = datetime.now(UTC).isoformat(timespec="seconds")
    kept: list[tuple[Redacted, Kept]] = []

    def files() -> Iterator[tuple[Kept, Iterable[bytes]]]:
        for file in redaction.files:
            kept.append((file, _kept(file, folder, made)))
            yield kept[-1][1], _inverse(file, kept[-1][1])

    log.ready(state)
    with locked(state, real):
        old = fingerprint(path).sha256 if path.exists() else ""
        vault.add(path, secret, files(), (Known(*row) for row in redaction.stand_ins.made()))
        with vault.open_vault(path, secret) as written:
            for file, one in kept:
                if one.changed:
                    assert file.result is not None
                    back = inverse.restored(written.body(one), file.result, one.redacted_size)
                    if digest(back) != (one.size, one.sha256):
                        raise WriteError(
                            f"the vault {path} would not bring back {file.path}; no session "
                            "was changed",
                            hint="see what else writes to the session or the vault, and whether "
                            "the disk is sound; then run it again",
                        )
        shown = redaction.redactor.shown if redaction.redactor else str
        change = log.Change("vault", str(real), old, fingerprint(real).sha256)
        log.append(state, change, shown=shown)


def _kept(file: Redacted, folder: Path | None, made: str) -> Kept:
    before = file.before
    if before is None:
        # What was piped in has no mode and no time.
        source = file.text.source
        if source.codec:
            raise UsageError(
                "the vault cannot give back compressed bytes that were piped in",
                hint="decompress them first, or give the file",
            )
        size, sha256 = digest(source.chunks())
        before = Fingerprint(0, 0, size, 0, 0o600, sha256)
    size, sha256 = before.size, before.sha256
    if folder is not None or file.changed:
        size, sha256 = digest(_on_disk(file))
    paths = [file.path, folder / file.name if folder else None]
    return Kept(
        name=str(file.below),
        paths=tuple(str(p.absolute()) for p in paths if isinstance(p, Path)),
        size=before.size,
        sha256=before.sha256,
        mode=before.mode,
        mtime=before.mtime,
        redacted_size=size,
        redacted_sha256=sha256,
        codec=file.text.source.codec,
        made=made,
    )


def _inverse(file: Redacted, kept: Kept) -> Iterator[bytes]:
    """What leads from the redacted bytes on disk to the original ones."""
    assert file.result is not None
    text = file.text
    if not kept.changed:
        return
    if kept.codec:
        # Nobody could compress it again to the same bytes.
        assert isinstance(file.path, Path)
        with open_raw(file.path) as source:
            yield from inverse.of_whole(source, kept.redacted_size)
    else:
        yield from inverse.of_lines(text.lines(), replace(text, source=file.result).lines())


def _left(file: Redacted, sha256: str) -> Left | None:
    """How a redaction in place left a session, None where the next one cannot go on from there.

    `sha256` is that of the bytes that are on disk now.
    """
    text, result = file.text, file.result
    if file.before is None or result is None or text.form is None or text.whole or result.stored:
        return None
    assert isinstance(file.path, Path)
    start, again = _last_line(result)
    line = text.number + file.summary.lines - again
    older = file.left.outlived() if file.left else {}
    try:
        now = file.path.stat()
    except OSError:
        return None
    if start < text.start:
        return None
    return Left(now.st_dev, now.st_ino, result.size, sha256, start, line, older=older)


def _last_line(source: FileSource | Continued) -> tuple[int, int]:
    """Where the next redaction goes on, and how many lines it looks at again.

    That is the last line where it has no end, and all pieces of a text that is still streaming.
    The offset is -1 where that is too far back.
    """
    start = max(source.size - (CHUNK << 2), 0)
    at, again = source.size, 0
    tail = source.read(start, at)
    while at > start:
        end = at - start
        begin = tail.rfind(b"\n", 0, end - 1) + 1
        line = tail[begin:end]
        if (again or line.endswith(b"\n")) and not piece(line):
            return at, again
        at = start + begin
        again += 1
    return (-1 if start else 0), again


def _followers_first(files: list[Redacted]) -> list[Redacted]:
    """The files, each behind those that refer to its bytes: these change once more with it."""
    by_path = {file.path: file for file in files}
    order: dict[Path | str, Redacted] = {}

    def take(file: Redacted) -> None:
        form, path = file.text.form, file.path
        if path in order:
            return
        order[path] = file
        for one in form.dependents(path) if form and isinstance(path, Path) else ():
            if one.path in by_path:
                take(by_path[one.path])
        order[path] = order.pop(path)

    for file in files:
        take(file)
    return list(order.values())
