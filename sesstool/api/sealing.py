"""Encrypting sessions with all that belongs to them, decrypting them, and changing the keys."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sesstool import api
from sesstool.audit import log
from sesstool.encryption.age import Facts, Read, Sealer, decrypt, facts
from sesstool.encryption.header import Recipient
from sesstool.encryption.keyring import Keys
from sesstool.errors import (
    ArmorError,
    AuthError,
    InputError,
    NotASessionError,
    PayloadError,
    UsageError,
    WriteError,
)
from sesstool.formats.base import Format
from sesstool.formats.terms import SideFile
from sesstool.model.session import open_session
from sesstool.records import convert, transact
from sesstool.records.convert import Item
from sesstool.records.draft import Draft
from sesstool.records.guard import locked
from sesstool.records.opening import is_sealed, named, open_source, refuse_rows
from sesstool.records.source import SEALED, FileSource, fingerprint, plain_path
from sesstool.records.transact import Applied
from sesstool.records.undo import open_raw
from sesstool.records.write import cannot_write, make_folder, real_path, sync_folder

__all__ = [
    "Facts",
    "Group",
    "Item",
    "Rekeying",
    "apart",
    "facts_of",
    "group_of",
    "names",
    "plain",
    "salvage",
    "seal",
    "unseal",
]

_HEAD = 1 << 12
_NO_FILE = "it is no regular file"
_LINK = "it is reached by a link, and may be somebody else's"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Group:
    """A session, with its side files: what is encrypted, or decrypted, at once.

    `files` begins with the session itself. `copies` are files in which its agent has some of it as
    well, and which stay. `forks` are those that read their beginning from the session's file.
    """

    files: tuple[Path, ...]
    copies: tuple[SideFile, ...] = ()
    forks: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The session."""
        return self.files[0]

    def __len__(self) -> int:
        """How many files there are."""
        return len(self.files)


def group_of(path: Path, keys: Keys | None = None) -> Group:
    """The group of a session: its side files that are encrypted where it is, else the others.

    A file that holds no session is a group by itself. Raises InputError and AuthError, and
    UsageError where what is kept in it is not written to.
    """
    refuse_rows(path)
    form = _format(path, keys)
    if form is None:
        return Group((path,), tuple(_made_of([path])))
    plain, sealed = plain_path(path), api.is_encrypted(path)
    drawn = list(form.drawn(plain))
    # An index that several sessions share lies beside them, and their agent reads it.
    shared = {side.path for side in drawn if side.path.parent == plain.parent}
    parts = [part for part in form.parts(plain) if part not in shared]
    links = list(form.links(plain))
    copies = [side for side in drawn if side.path not in parts]
    fates = (_LINK if link.is_symlink() else _NO_FILE for link in links)
    copies += [*form.others(plain), *map(SideFile, links, fates)]
    files = (path, *(part for part in parts if (part.suffix == SEALED) is sealed))
    forks = tuple(one.path for one in form.dependents(plain))
    return Group(files, (*copies, *_made_of(files)), forks)


def apart(groups: Iterable[Group]) -> list[Group]:
    """The groups whose sessions are no part of another one of them."""
    found = list(groups)
    parts = {part for group in found for part in group.files[1:]}
    return [group for group in found if group.path not in parts]


def names(group: Group, folder: Path | None = None, base: Path | None = None) -> list[Path]:
    """What comes of the files of a group is called so: beside them, or below another folder.

    There it lies as it does below `base`, or below the session's folder. Raises InputError for an
    encrypted file whose name does not tell it.
    """
    found = []
    for file in group.files:
        if api.is_encrypted(file):
            if file.suffix != SEALED:
                raise InputError(
                    f"{file} is encrypted, and its name does not end in {SEALED}",
                    hint="give the result a name: -o FILE",
                )
            name = plain_path(file)
        else:
            name = file.with_name(file.name + SEALED)
        if folder is not None:
            here, above = name.absolute(), (base or group.path.absolute().parent)
            name = folder / (here.relative_to(above) if here.is_relative_to(above) else name.name)
        found.append(name)
    return found


def seal(
    group: Group,
    recipients: Sequence[Recipient],
    *,
    armor: bool = False,
    keep: bool = False,
    to: Sequence[Path] | None = None,
    force: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
) -> list[Item]:
    """Encrypt a group, each file to its name with .age, and take the plain files away.

    With them go the undo entries that hold what they held. Only ciphertext is ever written, and
    what was written is decrypted and compared before anything goes. `keep` leaves the plain files,
    and so does `to`, which says where what comes of each file goes. See `convert` for the rest.
    """

    def make(source: FileSource, draft: Draft) -> None:
        sealer = Sealer(recipients, armor=armor)
        draft.write(sealer.seal(source.chunks()), reread=False)
        _compare(draft.read, draft.size, sealer, source.size, source.name)

    return _convert(
        group,
        to,
        make,
        "encrypt",
        keep=keep or to is not None,
        force=force,
        ignore_live=ignore_live,
        state=state,
    )


def unseal(
    group: Group,
    keys: Keys,
    *,
    keep: bool = False,
    to: Sequence[Path] | None = None,
    force: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
) -> list[Item]:
    """Decrypt a group, each file to its name without .age, and take the encrypted ones away.

    No plain file has a name before it was verified to its end. See `seal`. Raises AuthError too.
    """

    def make(source: FileSource, draft: Draft) -> None:
        read = partial(_raw, source)
        with named(source.name):
            opener = keys.opener(read, source.size, source.name)
            draft.write(decrypt(source.chunks(), [opener]), reread=True)

    return _convert(
        group,
        to,
        make,
        "decrypt",
        keep=keep or to is not None,
        force=force,
        ignore_live=ignore_live,
        state=state,
    )


def plain(path: Path, keys: Keys) -> Iterator[bytes]:
    """The bytes that were encrypted in a file, of which none comes before all are verified.

    Raises InputError and AuthError.
    """
    with open_raw(path) as source, named(source.name):
        opener = keys.opener(partial(_raw, source), source.size, source.name)
        for _ in decrypt(source.chunks(), [opener]):
            pass
        yield from decrypt(source.chunks(), [opener])


def salvage(path: Path, keys: Keys, target: Path, *, force: bool = False) -> AuthError | None:
    """Write what is sound of a damaged encrypted file, from its beginning, to a new file.

    Returns what is wrong with the rest, None where nothing is. Raises AuthError where nothing can
    be decrypted at all, and WriteError.
    """
    fault: AuthError | None = None

    def sound(source: FileSource) -> Iterator[bytes]:
        nonlocal fault
        header = keys.opener(partial(_raw, source), source.size, source.name)
        try:
            yield from decrypt(source.chunks(), [header])
        except (PayloadError, ArmorError) as error:
            fault = error

    before = fingerprint(path)
    with open_raw(path) as source, named(source.name), Draft(target) as draft:
        draft.write(sound(source), reread=True)
        draft.publish(mode=0o600, mtime=before.mtime, force=force)
    log.note_copy(api.state_folder(), target, path)
    if fault is not None:
        fault.message = f"{path} is not whole: {fault.message}"
        fault.hint = (
            f"{draft.size} bytes of it are in {target}; sesstool validate tells how it ends"
        )
    return fault


class Rekeying:
    """Encrypts files for some recipients, each in its place, with a new key.

    What is done is kept in the state folder, as paths and hashes, until `forget`: a run that was
    broken off can so be taken up with the old keys alone. Where a passphrase is among the
    recipients nothing is kept, for nothing would tell it from another one.
    """

    def __init__(self, recipients: Sequence[Recipient], state: Path | None = None) -> None:
        """Take up what an earlier run for the same recipients did."""
        self._recipients = tuple(recipients)
        self._state = state or api.state_folder()
        texts = sorted(one.text for one in recipients)
        key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]
        secret = any(one.kind == "scrypt" for one in recipients)
        self._manifest = None if secret else self._state / "rekey" / f"{key}.json"
        self._done: dict[str, tuple[str, str]] = {}
        if self._manifest:
            with suppress(OSError, ValueError, AttributeError, TypeError):
                found = json.loads(self._manifest.read_bytes())
                self._done = {str(path): (str(a), str(b)) for path, (a, b) in found.items()}

    def has_done(self, path: Path) -> bool:
        """Whether a file is as an earlier run for these recipients left it."""
        _, after = self._done.get(str(real_path(path)), ("", ""))
        return after != "" and fingerprint(path).sha256 == after

    def take_up(self) -> None:
        """Do what an earlier run that was killed left undone of files that are encrypted anew.

        Their undo entries go, and the log tells of them. Raises WriteError.
        """
        if not self._done:
            return
        told = {(line.get("path"), line.get("after")) for line in log.read(self._state)}
        for path, (before, after) in self._done.items():
            if (path, after) not in told and Path(path).exists() and self.has_done(Path(path)):
                change = log.Change("rekey", path, before, after)
                transact.rewritten(self._state, Path(path), change)

    def rekey(self, path: Path, keys: Keys, *, ignore_live: bool = False) -> Applied:
        """Encrypt a file anew. Its undo entries go: the old recipients could read them.

        Raises AuthError, InputError, LiveSessionError and WriteError; the file is then as before.
        """
        before = fingerprint(path)
        sealer = Sealer(self._recipients)
        with open_raw(path) as source, named(source.name):
            read = partial(_raw, source)
            opener = keys.opener(read, source.size, source.name)
            plain = facts(read, source.size).size

            def verify(made: Path, sha256: str) -> None:
                with open_raw(made) as new:
                    _compare(partial(_raw, new), new.size, sealer, plain, source.name)
                # Before the old file goes: who has the old keys alone can tell it only so.
                self._note(real_path(path), before.sha256, sha256)

            return transact.rewrite_file(
                path,
                before,
                _closing(sealer.seal(decrypt(source.chunks(), [opener])), source),
                state=self._state,
                command="rekey",
                findings=(),
                ignore_live=ignore_live,
                recent_seconds=None,
                writer=api.writer,
                mode=before.mode & 0o600,
                verify=verify,
            )

    def forget(self) -> None:
        """All is done: keep nothing of it. Raises WriteError."""
        if self._manifest and self._manifest.exists():
            try:
                self._manifest.unlink()
                sync_folder(self._manifest.parent)
            except OSError as error:
                raise cannot_write(self._manifest, error) from error

    def _note(self, path: Path, before: str, after: str) -> None:
        if self._manifest:
            self._done[str(path)] = (before, after)
            try:
                make_folder(self._manifest.parent)
            except OSError as error:
                raise cannot_write(self._manifest, error) from error
            with locked(self._state, self._manifest), Draft(self._manifest) as draft:
                draft.write([json.dumps(self._done).encode()], reread=False)
                draft.publish(mode=0o600, mtime=time.time_ns(), force=True)


def facts_of(path: Path) -> Facts:
    """What an encrypted file tells without a key. Raises InputError, UsageError and AuthError."""
    with open_raw(path) as source:
        if not is_sealed(source.read(0, _HEAD), path):
            raise UsageError(f"{path} is not encrypted", hint="show it without --header")
        with named(source.name):
            return facts(partial(_raw, source), source.size)


def _convert(
    group: Group,
    to: Sequence[Path] | None,
    make: convert.Make,
    command: str,
    *,
    keep: bool,
    force: bool,
    ignore_live: bool,
    state: Path | None,
) -> list[Item]:
    pairs = list(zip(group.files, to or names(group), strict=True))
    for _, target in pairs:
        try:
            make_folder(target.parent)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise WriteError(f"cannot make the folder {target.parent}: {reason}") from error
    return convert.convert(
        pairs,
        make,
        state=state or api.state_folder(),
        command=command,
        keep=keep,
        force=force,
        ignore_live=ignore_live,
        recent=api.recent,
        writer=api.writer,
    )


def _format(path: Path, keys: Keys | None) -> Format | None:
    """The format of a session; None for a file that is none, and is taken alone."""
    with suppress(NotASessionError), open_source(path, keys) as source:
        return open_session(source).format if source.size else None
    return None


def _made_of(files: Iterable[Path]) -> Iterator[SideFile]:
    """The plain copies that sesstool made of files, and that are where they were."""
    for file in files:
        for copy in log.copies(api.state_folder(), file):
            yield SideFile(copy, f"a copy that sesstool made of {file.name}")


def _compare(read: Read, size: int, sealer: Sealer, plain: int, name: str) -> None:
    """Raise WriteError unless an encrypted file decrypts, to its end, to so many bytes.

    That these are the right ones, their authentication tells.
    """
    try:
        pieces = (read(at, min(at + _PIECE, size)) for at in range(0, size, _PIECE))
        if sum(map(len, decrypt(pieces, [sealer.identity]))) == plain:
            return
    except AuthError:
        pass
    raise WriteError(
        f"what was encrypted of {name} does not decrypt to the same; it is as before",
        hint="see whether the memory and the disk are sound",
    )


def _raw(source: FileSource, start: int, end: int) -> bytes:
    return source.read(start, end)


def _closing(chunks: Iterator[bytes], source: FileSource) -> Iterator[bytes]:
    """The chunks; behind the last one the file that they come from is closed."""
    yield from chunks
    source.close()
