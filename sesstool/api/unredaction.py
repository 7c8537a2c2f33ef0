"""The way back from a redaction, with the vault that it kept.

`unredact` makes the original of one file in an unlinked temporary file and proves it; `publish`
puts it in the place of the redacted one, or into a folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Self

from sesstool import api
from sesstool.api.publishing import follow
from sesstool.audit import log
from sesstool.errors import NotASessionError, UndoError, WriteError
from sesstool.formats.base import Format
from sesstool.model.session import open_session
from sesstool.privacy import inverse
from sesstool.privacy.putback import PutBack
from sesstool.privacy.vault import Kept, Secret, Vault, open_vault
from sesstool.records import transact
from sesstool.records.lines import each_line
from sesstool.records.opening import open_source, packed
from sesstool.records.source import (
    FileSource,
    Fingerprint,
    Prefixes,
    is_transcript,
    prefixes,
)
from sesstool.records.transact import Applied
from sesstool.records.undo import open_raw
from sesstool.records.write import create, make_folder, real_path

__all__ = ["Secret", "Unredacted", "Vault", "find", "open_vault", "publish", "unredact"]


@dataclass(slots=True)
class Unredacted:
    """What came of one file; closes it on leaving the block.

    `kept` is the redaction that its original was before, None where only stand-ins tell. The last
    `grown` bytes of the redacted file were written since. In them, or in all of it, `done`
    stand-ins were replaced and `left` could not be. `result` is as it is to be on disk.
    """

    path: Path
    before: Fingerprint
    result: FileSource
    kept: Kept | None
    grown: int = 0
    done: int = 0
    left: int = 0

    @property
    def changed(self) -> bool:
        """Whether there is anything to put back."""
        return bool(self.done or (self.kept and self.kept.changed))

    @property
    def name(self) -> Path:
        """The path below a folder of originals. It stays below, whatever the vault says."""
        parts = PurePath(self.kept.name).parts if self.kept else ()
        inside = [part for part in parts if part not in ("/", "..")]
        return Path(*inside) if inside else Path(self.path.name)

    def __enter__(self) -> Self:
        """Close on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.result.close()


def find(names: Iterable[str], vault: Vault) -> Iterator[Path]:
    """The files that the user means: a folder stands for its sessions and what the vault knows.

    The side files of a session go with it. Raises InputError and UsageError, see `api.find`.
    """
    known = {PurePath(path).name for kept in vault.files for path in kept.paths}
    seen: set[Path] = set()
    for name in names:
        if Path(name).is_dir():
            inside = (p for p in sorted(Path(name).rglob("*")) if p.is_file())
            found = [p for p in inside if p.name in known or is_transcript(p)]
        else:
            found = [Path(path) for path in api.find([name])]
        for path in found:
            for one in (path, *_parts(path)):
                if one not in seen:
                    seen.add(one)
                    yield one


def unredact(path: Path, vault: Vault, *, by_stand_in: bool = False) -> Unredacted:
    """The original of a redacted file; nothing is written yet.

    Where the file has grown since, what it was then is restored, and in the rest the stand-ins
    that the vault knows are replaced. `by_stand_in` does this to all of a file of which the vault
    has no original. Raises UndoError where there is none, InputError, and AuthError where the vault
    is damaged there.
    """
    sizes = {kept.redacted_size for kept in vault.files}
    before, found = prefixes(path, sizes)
    way = _Way(path, vault, before, open_raw(path))
    try:
        while kept := _redaction(vault, way.source.size, found, path, way.used):
            found = way.back(kept, sizes, found)
        if way.kept is None:
            way.replace_all(by_stand_in=by_stand_in)
    except BaseException:
        way.source.close()
        raise
    done, left = (way.put_back.done, way.put_back.left) if way.put_back else (0, 0)
    return Unredacted(path, before, way.source, way.kept, way.grown, done, left)


class _Way:
    """The way from a redacted file back through one redaction after the other.

    `source` is what it has come to, `kept` the last redaction that was undone, and `used` all.
    """

    def __init__(self, path: Path, vault: Vault, before: Fingerprint, source: FileSource) -> None:
        self.path, self.vault, self.before, self.source = path, vault, before, source
        self.kept: Kept | None = None
        self.used: set[Kept] = set()
        self.put_back: PutBack | None = None
        self.grown = 0

    def back(self, kept: Kept, sizes: set[int], found: dict[int, str]) -> dict[int, str]:
        """Undo one redaction; returns the hashes of the beginnings of what came of it."""
        self.used.add(kept)
        more = self.source.size - kept.redacted_size
        if not kept.changed:
            # It says nothing of what came later, and less than one that did something.
            self.kept = self.kept or (None if more else kept)
            return found
        self.kept = kept
        chunks = inverse.restored(self.vault.body(kept), self.source, kept.redacted_size)
        if more:
            self.grown = self.grown or more
            self.put_back = self.put_back or PutBack(self.vault.table())
            self.put_back.left = 0
            tail = each_line(self.source, kept.redacted_size)
            chunks = _and(chunks, self.put_back.lines(tail))
        seen = Prefixes([*sizes, kept.size])
        self.source = _spooled(chunks, seen, self.source)
        if seen.found.get(kept.size) != kept.sha256 or (not more and seen.size != kept.size):
            raise WriteError(
                f"what the vault brings back of {self.path} is not the original; nothing was "
                "written",
                hint="see whether the disk is sound; sesstool unredact --by-stand-in restores "
                "what the stand-ins tell",
            )
        return seen.found

    def replace_all(self, *, by_stand_in: bool) -> None:
        """Replace all stand-ins of the file; UndoError where that is not asked for."""
        if not by_stand_in:
            raise _unknown(self.path, self.vault)
        self.put_back = PutBack(self.vault.table())
        self.source.close()
        redacted = open_source(self.path)
        chunks = packed(self.put_back.lines(each_line(redacted)), redacted)
        self.source = _spooled(chunks, Prefixes([]), redacted)


def publish(
    file: Unredacted,
    target: Path | None = None,
    *,
    force: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
) -> Applied | None:
    """Put an original in the place of the redacted file, or make it as a new file.

    Mode and mtime come back with it; the mtime of a file that has grown stays. Raises
    StalePlanError, LiveSessionError and WriteError; the file is then as before.
    """
    kept = file.kept
    mode = kept.mode if kept else file.before.mode
    mtime = kept.mtime if kept and not file.grown else file.before.mtime
    if target is not None:
        if target.exists() and real_path(target) == real_path(file.path):
            raise WriteError(
                f"{target} is the redacted file itself",
                hint="use --write --in-place, or name another",
            )
        try:
            make_folder(target.parent)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise WriteError(f"cannot make the folder {target.parent}: {reason}") from error
        # A time of 0 is that of what was piped in.
        create(target, file.result.chunks(), mode=mode, mtime=mtime or None, force=force)
        log.note_copy(state or api.state_folder(), target, file.path)
        return None
    if not file.changed:
        return None
    state = state or api.state_folder()
    with open_raw(file.path) as redacted:
        applied = transact.rewrite_file(
            file.path,
            file.before,
            file.result.chunks(),
            state=state,
            command="unredact",
            findings=(),
            ignore_live=ignore_live,
            recent_seconds=api.recent(file.path),
            writer=api.writer,
            mode=mode,
            mtime=mtime or None,
            forget=False,
        )
        follow(
            file.path,
            _format(file.path),
            zip(each_line(redacted), each_line(file.result), strict=False),
            command="unredact",
            ignore_live=ignore_live,
            state=state,
        )
    return applied


def _redaction(
    vault: Vault, size: int, found: dict[int, str], path: Path, used: set[Kept]
) -> Kept | None:
    """The redaction that left a file like this, or the longest beginning of it."""
    fits = [
        kept
        for kept in vault.files
        if kept not in used
        and found.get(kept.redacted_size) == kept.redacted_sha256
        # What has no bytes begins every file, and a compressed one has no beginning of its own.
        and (kept.redacted_size == size or (0 < kept.redacted_size < size and not kept.codec))
    ]
    if not fits:
        return None
    longest = max(kept.redacted_size for kept in fits)
    fits = [kept for kept in fits if kept.redacted_size == longest]
    changed = [kept for kept in fits if kept.changed] or fits
    here = str(path.absolute())
    same = [kept for kept in changed if here in kept.paths] or changed
    if here not in same[-1].paths and len({kept.sha256 for kept in same}) > 1:
        raise UndoError(
            f"{len(same)} originals in the vault have become what {path} is",
            hint="put it where its redaction was, which tells them apart",
        )
    return same[-1]


def _unknown(path: Path, vault: Vault) -> UndoError:
    here = str(path.absolute())
    hint = "--by-stand-in restores what the stand-ins in it tell"
    if vault.damage:
        hint = f"the vault is not whole: {vault.damage}; {hint}"
    if any(here in kept.paths for kept in vault.files):
        return UndoError(f"{path} was changed since it was redacted", hint=hint)
    return UndoError(f"the vault has no original of {path}", hint=hint)


def _spooled(chunks: Iterable[bytes], seen: Prefixes, old: FileSource) -> FileSource:
    """Bytes in an unlinked temporary file, hashed on the way; closes what they come from."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - the source that is returned closes it
    try:
        for chunk in chunks:
            seen.update(chunk)
            spool.write(chunk)
        spool.flush()
    except BaseException as error:
        spool.close()
        if isinstance(error, OSError):
            reason = (error.strerror or type(error).__name__).lower()
            raise WriteError(
                f"cannot keep the original of {old.name} in a temporary file: {reason}",
                hint="free some space there, or set TMPDIR to a folder that has it",
            ) from error
        raise
    finally:
        old.close()
    return FileSource(old.name, old.path, spool, old.codec)


def _and(first: Iterable[bytes], then: Iterable[bytes]) -> Iterator[bytes]:
    yield from first
    yield from then


def _parts(path: Path) -> list[Path]:
    """The side files of a session."""
    form = _format(path)
    return list(form.parts(path)) if form else []


def _format(path: Path) -> Format | None:
    with suppress(NotASessionError), open_source(path) as source:
        return open_session(source).format if source.size else None
    return None
