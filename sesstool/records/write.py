"""Change a file, or make a new one, so that a crash leaves the old file or the new one.

Nothing here asks whether it may: `transact` holds the lock, looks for writers and keeps what
is needed for undo.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from sesstool.errors import StalePlanError, WriteError
from sesstool.records.live import openers_held_off
from sesstool.records.source import SEALED, Fingerprint, plain_path

_PREFIX = ".sesstool-"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_ELSEWHERE = "write a copy elsewhere with -o"
_DISK = "see to the disk and to that folder, and run it again"
_HINTS = {
    errno.ENOTDIR: "a file is where a folder must be: see what it is, and move it away",
    errno.ENOSPC: "free some space on that disk, and run it again",
    errno.EDQUOT: "free some space within the quota, and run it again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), and run it again",
    errno.EROFS: f"the disk is read-only: {_ELSEWHERE}",
    errno.EACCES: f"the file or its folder is read-only: allow writing, or {_ELSEWHERE}",
    errno.EPERM: f"the file or its folder is protected: {_ELSEWHERE}",
}


def replace(
    path: Path,
    chunks: Iterable[bytes],
    *,
    mode: int,
    mtime: int,
    expect: Callable[[], None],
    verify: Callable[[Path], None] | None = None,
) -> None:
    """Put a new file with these bytes in the place of `path`.

    The new file has the permission bits `mode`, the time `mtime` in nanoseconds, and the
    owner and extended attributes of the old one. `verify` looks at it before the change, and
    `expect` is called right before; both raise to stop it. A symbolic link stays and its
    target is changed. The caller holds the lock of `path`, and has it not open once the chunks
    came to their end. Raises WriteError, which leaves the file as it was.
    """
    path = real_path(path)
    made = temporary(path)
    try:
        sweep(path)  # left by a run that was killed
        now = _regular(path)
        if now.st_nlink > 1:
            raise WriteError(
                f"cannot replace {path}: it has {now.st_nlink} names (hard links), "
                "and only one would change",
                hint=f"remove the other names, or {_ELSEWHERE}",
            )
        if not os.access(path, os.W_OK):
            # The folder would allow it, but somebody made this file read-only.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with open(made, "xb", opener=_private) as handle:
            handle.writelines(chunks)
            handle.flush()
            shutil.copystat(path, made)
            _keep_owner(path, made, now)
            made.chmod(mode)
            os.utime(made, ns=(now.st_atime_ns, mtime))
            # Without it a power cut after the rename can leave an empty file.
            os.fsync(handle.fileno())
        if verify is not None:
            verify(made)
        _exchange(made, path, expect)
    except OSError as error:
        raise failed(path, error) from error
    finally:
        _discard(made)
        _discard(retired(path))
    _confirm(path, in_place=False)


def edit_in_place(
    path: Path, *, at: int, data: bytes, mode: int, mtime: int, expect: Callable[[], None]
) -> None:
    """Cut the file off at byte `at`, or append `data` to a file of `at` bytes.

    Never both: a crash in between would leave neither the old file nor the new one. An
    append that a crash tears in two is the business of the undo journal. The names and the
    inode stay. See `replace` for the rest.
    """
    path = real_path(path)
    try:
        now = _regular(path)
        same = at == now.st_size and not data
        access = os.O_RDONLY if same else os.O_WRONLY | os.O_APPEND
        descriptor = os.open(path, access | getattr(os, "O_BINARY", 0))
        try:
            with openers_held_off(descriptor):
                # Whoever may not set times later must fail here, before the change.
                os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns))
                expect()
                if data and at != now.st_size:
                    raise ValueError("an edit in place either cuts or appends")
                if data:
                    _append(path, descriptor, data, now)
                elif not same:
                    os.ftruncate(descriptor, at)
                try:
                    if mode != stat.S_IMODE(now.st_mode):
                        path.chmod(mode)
                    os.utime(path, ns=(now.st_atime_ns, mtime))
                except OSError as error:
                    raise _changed(path, f"not its mode or time: {_reason(error)}") from error
        finally:
            os.close(descriptor)
    except OSError as error:
        raise failed(path, error) from error
    _confirm(path, in_place=True)


def create(
    path: Path,
    chunks: Iterable[bytes],
    *,
    mode: int = 0o600,
    mtime: int | None = None,
    force: bool = False,
    alone: bool = False,
) -> None:
    """Make a new file, which is there at once whole or not at all.

    `mtime` counts nanoseconds, None is now. A file that exists already is replaced with `force`,
    and else refused. A symbolic link stays. With `alone` nobody else makes the file meanwhile:
    then what is left of a run that was killed does not stay. Raises WriteError.
    """
    path = real_path(path)
    made = new = None
    try:
        if path.exists():
            _regular(path)
        if alone:
            made = temporary(path)
            made.unlink(missing_ok=True)
            descriptor = os.open(made, _NEW, 0o600)
        else:
            descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
            made = Path(name)
        with os.fdopen(descriptor, "wb") as handle:
            handle.writelines(chunks)
            handle.flush()
            made.chmod(mode)
            if mtime is not None:
                os.utime(made, ns=(mtime, mtime))
            # The name must not reach the disk before the bytes do.
            os.fsync(handle.fileno())
        if force:
            made.replace(path)
        else:
            claim(made, path)
            new = path
        sync_folder(path.parent)
    except FileExistsError as error:
        raise WriteError(
            f"cannot write {path}: it exists already",
            hint="choose another name, or remove it first",
        ) from error
    except OSError as error:
        if new:
            _discard(new)
        raise cannot_write(path, error) from error
    finally:
        if made:
            _discard(made)


def sweep(path: Path) -> None:
    """Clear away what a killed run left of this path. The caller holds the lock of `path`."""
    try:
        if not path.exists() and retired(path).exists():
            retired(path).replace(path)  # killed in `remove`: nothing else may hold its bytes
        for left in leftovers(path):
            left.unlink(missing_ok=True)
    except OSError as error:
        raise failed(path, error) from error


def temporaries(folder: Path) -> list[Path]:
    """What killed runs of `create` left in a folder, or one that is at work."""
    return list(folder.glob(f"{_PREFIX}*"))


def is_leftover(path: Path) -> bool:
    """Whether a file is one in the making, or was left by a run that was killed."""
    return path.name.startswith(_PREFIX)


def leftovers(path: Path) -> list[Path]:
    """What a killed run left that was to replace or to remove this path, or to make it.

    A draft of its encrypted or plain twin counts: it may hold the plain text of this path.
    """
    plain = plain_path(path)
    drafts = (draft_of(plain), draft_of(plain.with_name(plain.name + SEALED)))
    every = (temporary(path), retired(path), *drafts)
    return [left for left in every if os.path.lexists(left)]


def unchanged(path: Path, then: Fingerprint) -> Callable[[], None]:
    """What to `expect` of a change: that stat still shows the file as it was then."""

    def check() -> None:
        if not then.same_file(path.stat()):
            raise StalePlanError(
                f"{path} was changed a moment ago, and not by this run",
                hint="close what writes to it, and run it again",
            )

    return check


def real_path(path: Path) -> Path:
    """The absolute path of the file itself, with no symbolic link in it."""
    return Path(os.path.realpath(path))


def place_of(path: Path) -> Path:
    """The absolute path of a name in a folder, with no symbolic link above the name itself."""
    return real_path(path.parent) / path.name


def make_folder(folder: Path) -> None:
    """Make a private folder, and those above it, and have their names on disk. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    private_folder(folder)
    sync_folder(folder.parent)


def private_folder(folder: Path) -> None:
    """Make a folder for this user alone, whatever the umask. Raises OSError."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    folder.chmod(0o700)  # a umask may have taken from the owner, too


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk. Raises OSError."""
    if os.name == "nt":
        return  # there a folder cannot be opened
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # A rename or a new name is on disk only when its folder is.
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


def _regular(path: Path) -> os.stat_result:
    """The state of a file that may be changed. Raises OSError or WriteError."""
    now = path.stat()
    if not stat.S_ISREG(now.st_mode):
        raise WriteError(
            f"cannot write {path}: it is no regular file", hint="name a new file, or one that is"
        )
    return now


def temporary(path: Path) -> Path:
    """Where a new file for a path is made: one fixed name, so that a leftover is found."""
    key = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(_PREFIX + key)


def retired(path: Path) -> Path:
    """The second name that the old file has while the new one takes its place."""
    return temporary(path).with_suffix(".old")


def draft_of(path: Path) -> Path:
    """Where a new file for a path is made that must not be there before it is whole."""
    return temporary(path).with_suffix(".new")


def remove(path: Path, expect: Callable[[], None]) -> None:
    """Take a file away for good, unless somebody is about to write to it.

    See `hide`. Raises WriteError; the file is then as before.
    """
    hide(path, expect)
    try:
        retired(path).unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise failed(path, error) from error


def hide(path: Path, expect: Callable[[], None]) -> None:
    """Leave a file only its second name, unless somebody is about to write to it.

    `expect` is called right before, and raises to stop it. `sweep` gives the name back. The caller
    holds the lock of `path`, and has it not open. Raises WriteError; the file is then as before.
    """
    old = retired(path)
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            with openers_held_off(descriptor) as somebody_waits:
                before = os.fstat(descriptor)
                expect()
                path.replace(old)
                now = os.fstat(descriptor)
                late = (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)
                if late or somebody_waits():
                    old.replace(path)
                    raise _opened_late(path)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise failed(path, error) from error


def _exchange(made: Path, path: Path, expect: Callable[[], None]) -> None:
    """Give the new file the name of the old one, unless somebody is about to write to that.

    Who opened the old file goes on writing to it, and nobody would see that any more. So
    openers are held off meanwhile; where one came, the old file gets its name back.
    """
    old = retired(path)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with openers_held_off(descriptor) as somebody_waits:
            before = os.fstat(descriptor)
            expect()
            with suppress(OSError):  # no hard links here
                old.hardlink_to(path)
            made.replace(path)
            now = os.fstat(descriptor)
            late = (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)
            if (late or somebody_waits()) and old.exists():
                old.replace(path)
                raise _opened_late(path)
    finally:
        os.close(descriptor)


def _opened_late(path: Path) -> StalePlanError:
    return StalePlanError(
        f"{path} was opened by somebody else a moment ago; it is as before",
        hint="close what writes to it, and run it again",
    )


def _discard(made: Path) -> None:
    """Remove a temporary file, unless it has become the new one."""
    with suppress(OSError):  # on a read-only disk even what is not there cannot be removed
        made.unlink()


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _keep_owner(path: Path, made: Path, now: os.stat_result) -> None:
    """Give the new file the owner and group of the old one, or refuse."""
    new = made.stat()
    if (new.st_uid, new.st_gid) == (now.st_uid, now.st_gid):
        return
    try:
        os.chown(made, now.st_uid, now.st_gid)
    except PermissionError as error:
        raise WriteError(
            f"cannot replace {path}: this user cannot keep its owner and group; it is as before",
            hint=f"run it as the owner of the file, or {_ELSEWHERE}",
        ) from error


def _append(path: Path, descriptor: int, data: bytes, before: os.stat_result) -> None:
    """Append all of the data or, where that fails, leave nothing of it."""
    at = before.st_size
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError as error:
        if os.fstat(descriptor).st_size != at + len(data) - len(rest):
            # Cutting ours off would take along what somebody else wrote behind it.
            raise WriteError(
                f"a part of the change is in {path}, and somebody wrote behind it: "
                f"{_reason(error)}",
                hint="close what writes to it, and validate it",
            ) from error
        os.ftruncate(descriptor, at)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        raise


def claim(made: Path, path: Path) -> None:
    """Give the file its name, which must be free. Raises FileExistsError."""
    try:
        path.hardlink_to(made)
    except FileExistsError:
        raise
    except OSError:
        # No hard links here (FAT, some network file systems): look, then rename.
        if path.exists():
            raise FileExistsError from None
        made.replace(path)


def _confirm(path: Path, *, in_place: bool) -> None:
    """Have a change on disk before anybody is told of it."""
    try:
        if in_place:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)  # the bytes, the length and the times
            finally:
                os.close(descriptor)
        sync_folder(path.parent)
    except OSError as error:
        # Asking again may succeed without the bytes being there: only reading them tells.
        raise _changed(path, f"the disk did not confirm it: {_reason(error)}") from error


def cannot_write(path: Path, error: OSError) -> WriteError:
    """The error for a new file that could not be made."""
    return WriteError(
        f"cannot write {path}: {_reason(error)}", hint=_HINTS.get(error.errno or 0, _DISK)
    )


def _changed(path: Path, what: str) -> WriteError:
    return WriteError(
        f"{path} was changed, but {what}",
        hint="see to the disk, then validate the file and undo the change where needed",
    )


def failed(path: Path, error: OSError) -> WriteError:
    """The error for a change that could not be made, and left no trace."""
    return WriteError(
        f"cannot write {path}: {_reason(error)}; it is as before",
        hint=_HINTS.get(error.errno or 0, ""),
    )


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
