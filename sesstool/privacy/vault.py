"""The vault: one encrypted file with what brings redacted files back as they were.

A vault is a row of segments. Each begins with a header in the clear,

    magic 8 · version 1 · lock 1 · kind 1 · vault salt 16 · segment salt 16 · check 8

and goes on with frames: four bytes that give the length of the frame, of which the highest bit
marks the last one, and ciphertext of AES-256-GCM over at most 64 KiB. A segment's key is drawn by
HKDF-SHA256 from the vault's key and the segment's salt; the nonce counts the frames and ends
with the mark; the header is authenticated with each. So no frame can be left out, moved, or come
from elsewhere unseen. The vault's key is drawn from a key file by HKDF-SHA256, or from a
passphrase by scrypt, with the vault's salt. `check` tells a wrong key from damage.

The first frame of a segment is a JSON object, `kind` says what the others hold:

    file   the inverse edits of one file (see `inverse`); the object is a `Kept`
    table  a JSON array of kind, stand-in and value on each line
    end    nothing; the object has the number of the segments before, and a digest of their headers

The end is the last segment, so that a vault that was cut is noticed. Each segment stands by
itself: where one is damaged, the others can be read. A run that adds to a vault copies it, without
its end, into a new file, which takes its place at once.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from sesstool.errors import AuthError, InputError, UsageError, WriteError
from sesstool.records.source import CHUNK, FileSource
from sesstool.records.undo import open_raw, read_range
from sesstool.records.write import create

_MAGIC = b"\x89SESVLT\n"
_VERSION = 1
_SALT = 16
_HEADER = len(_MAGIC) + 3 + 2 * _SALT + 8
FRAME = 1 << 16
"""Bytes of plain text in one frame, at most."""
_TAG = 16
_LAST = 1 << 31
_KEY_FILE, _PASSPHRASE = 0, 1
_FILE, _TABLE, _END = 0, 1, 2
_LEAST_KEY, _MOST_KEY = 32, 1 << 16
_MAKE_KEY = f"make one: head -c {_LEAST_KEY} /dev/urandom > KEYFILE"
_NAME_IT = "name the file that was given to redact --vault"
# 64 MiB and about half a second; fixed for this version, so that no file can ask for more.
_SCRYPT_N, _SCRYPT_R, _SCRYPT_P = 1 << 16, 8, 2


@dataclass(frozen=True, slots=True)
class Kept:
    """One redaction of one file. Sizes, hashes and edits are those of the bytes on disk.

    `name` is its path below the folder of the set, `paths` the absolute paths of the file and of
    its copy. `size`, `sha256`, `mode` (permission bits) and `mtime` (nanoseconds) are those before
    the redaction, `redacted_size` and `redacted_sha256` what came of it. `codec` is that of
    `Source`, `made` the time in ISO 8601.
    """

    name: str
    paths: tuple[str, ...]
    size: int
    sha256: str
    mode: int
    mtime: int
    redacted_size: int
    redacted_sha256: str
    codec: str
    made: str

    @property
    def changed(self) -> bool:
        """Whether the redaction changed anything."""
        return self.sha256 != self.redacted_sha256


class Known(NamedTuple):
    """A row of the table: a value, and what was put in its place. See `standin.StandIns`."""

    kind: str
    stand_in: bytes
    value: bytes


class _Segment(NamedTuple):
    header: bytes
    start: int
    end: int

    @property
    def kind(self) -> int:
        return self.header[len(_MAGIC) + 2]

    @property
    def salts(self) -> bytes:
        return self.header[len(_MAGIC) + 3 : -8]


class Secret:
    """What opens a vault: the bytes of a key file, or a passphrase. Shows neither."""

    def __init__(self, lock: int, data: bytes) -> None:
        """Use `key_file` or `passphrase`."""
        self.lock = lock
        self._data = data

    @classmethod
    def key_file(cls, path: Path) -> Self:
        """The secret in a file. Raises InputError, and UsageError where it is none."""
        with _opened(path, _MAKE_KEY) as source:
            if not _LEAST_KEY <= source.size <= _MOST_KEY:
                raise UsageError(
                    f"the key file {path} has {source.size} bytes, and a key has "
                    f"{_LEAST_KEY} to {_MOST_KEY}",
                    hint=_MAKE_KEY,
                )
            return cls(_KEY_FILE, source.read(0, source.size))

    @classmethod
    def passphrase(cls, text: bytes) -> Self:
        """The secret that somebody knows. Raises UsageError where it is empty."""
        if not text:
            raise UsageError("the passphrase is empty", hint="choose one of several words")
        return cls(_PASSPHRASE, text)

    def key(self, salt: bytes) -> bytes:
        """The key of the vault with this salt."""
        if self.lock == _KEY_FILE:
            return _derived(self._data, salt, b"sesstool vault: key file")
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt  # noqa: PLC0415 - start-up

        return Scrypt(salt, 32, _SCRYPT_N, _SCRYPT_R, _SCRYPT_P).derive(self._data)


class Vault:
    """A vault that is open for reading. Use `open_vault`.

    `damage` says what is wrong with it as a clause, "" where it is whole as far as that can be
    told without reading all of it; `files` are those that can be brought back, the oldest first.
    """

    def __init__(self, source: FileSource, secret: Secret) -> None:
        """Take over an open file. Raises InputError and AuthError."""
        self._source = source
        self._segments = list(_segments(source))
        if not self._segments:
            raise InputError(
                f"{source.name} is no vault of this version of sesstool",
                hint=_NAME_IT,
            )
        # Each segment has it; where one is damaged, most of them have it right.
        [(salt, _)] = Counter(s.salts[:_SALT] for s in self._segments).most_common(1)
        self.salt = salt
        self.key = secret.key(salt)
        if all(s.header[-8:] != _check(self.key) for s in self._segments):
            locks = {s.header[len(_MAGIC) + 1] for s in self._segments}
            raise AuthError(
                f"this key does not open the vault {source.name}",
                hint="give the key file that it was made with as -i FILE"
                if _KEY_FILE in locks
                else "give the passphrase that it was made with, without -i",
            )
        self.damage = self._ended()
        self._files: dict[Kept, _Segment] = {}
        for segment in self._of(_FILE):
            try:
                self._files.setdefault(_kept(next(self._frames(segment))), segment)
            except (AuthError, ValueError, TypeError, LookupError):
                self.damage = self.damage or "a part of it is damaged"
        self.files = list(self._files)

    def __enter__(self) -> Self:
        """Close on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._source.close()

    def body(self, kept: Kept) -> Iterator[bytes]:
        """The inverse edits of a redaction, in pieces. Raises AuthError where they are damaged."""
        frames = self._frames(self._files[kept])
        next(frames)
        return frames

    def table(self) -> Iterator[Known]:
        """The rows of the table; what is damaged of it is left out, and told in `damage`."""
        for segment in self._of(_TABLE):
            rest = b""
            try:
                frames = self._frames(segment)
                next(frames)
                for frame in frames:
                    *rows, rest = (rest + frame).split(b"\n")
                    yield from (Known(*map(_bytes, json.loads(row), _ROW)) for row in rows)
            except AuthError:
                self.damage = self.damage or "a part of it is damaged"

    def copied(self) -> Iterator[bytes]:
        """All bytes but the end."""
        yield from read_range(self._source, 0, self._segments[-1].start)

    @property
    def headers(self) -> list[bytes]:
        """Those of the segments, without the end."""
        return [s.header for s in self._segments if s.kind != _END]

    def _of(self, kind: int) -> Iterator[_Segment]:
        return (s for s in self._segments if s.kind == kind)

    def _ended(self) -> str:
        """What the last segment says is missing."""
        last = self._segments[-1]
        if last.kind != _END:
            return "it was cut"
        try:
            frame = next(self._frames(last))
        except AuthError:
            return "its end is damaged"
        size = _HEADER + 4 + len(frame) + _TAG
        before = _end([s.header for s in self._segments[:-1]])
        if json.loads(frame) == before and last.start + size == self._source.size:
            return ""
        return "a part of it is missing or damaged"

    def _frames(self, segment: _Segment) -> Iterator[bytes]:
        """The plain text of the frames. Raises AuthError."""
        cipher, at = _cipher(self.key, segment.salts), segment.start + _HEADER
        for number in range(1 << 32):
            mark = int.from_bytes(self._source.read(at, at + 4), "big")
            last, size = mark & _LAST, mark & ~_LAST
            at += 4 + size
            if not _TAG <= size <= FRAME + _TAG or at > segment.end:
                break
            data = self._source.read(at - size, at)
            try:
                plain = cipher.decrypt(_nonce(number, last=bool(last)), data, segment.header)
            except _invalid():
                break
            yield plain
            if last:
                return
        raise AuthError(
            f"the vault {self._source.name} is damaged at byte {segment.start}",
            hint="the other files in it can be brought back; for this one, "
            "sesstool unredact --by-stand-in restores what the stand-ins tell",
        )


def _opened(path: Path, hint: str) -> FileSource:
    try:
        return open_raw(path)
    except InputError as error:
        raise InputError(error.message, hint=hint) from error


def open_vault(path: Path, secret: Secret) -> Vault:
    """Open a vault. Raises InputError where it is none, AuthError where the key is wrong."""
    source = _opened(path, _NAME_IT)
    try:
        return Vault(source, secret)
    except BaseException:
        source.close()
        raise


def add(
    path: Path,
    secret: Secret,
    files: Iterable[tuple[Kept, Iterable[bytes]]],
    table: Iterable[Known],
) -> None:
    """Add redactions, each with its inverse edits, and rows of the table; makes the vault if new.

    The vault is on disk when this returns, and else as before. The caller keeps others from
    adding to it. Raises InputError, AuthError and WriteError.
    """
    if not path.exists():
        salt = secrets.token_bytes(_SALT)
        create(path, _written(_Writer(secret, salt, secret.key(salt)), [], files, table))
        return
    with open_vault(path, secret) as old:
        known = set(old.table())
        seen = {kept.redacted_sha256 for kept in old.files}
        if old.damage:
            raise WriteError(
                f"the vault {path} cannot be added to: {old.damage}; nothing was changed",
                hint="give another --vault, and keep this one for what it still holds",
            )
        writer = _Writer(secret, old.salt, old.key)
        wanted = (f for f in files if f[0].changed or f[0].sha256 not in seen)
        new = _written(writer, old.headers, wanted, (row for row in table if row not in known))
        create(path, _after(old.copied(), new), force=True)


_ROW = (str, bytes, bytes)


class _Writer:
    """Makes segments of one vault, and remembers their headers."""

    def __init__(self, secret: Secret, salt: bytes, key: bytes) -> None:
        self._head = _MAGIC + bytes([_VERSION, secret.lock])
        self._salt, self._key = salt, key
        self.headers: list[bytes] = []

    def segment(self, kind: int, head: Any, body: Iterable[bytes] = ()) -> Iterator[bytes]:
        salts = self._salt + secrets.token_bytes(_SALT)
        header = self._head + bytes([kind]) + salts + _check(self._key)
        self.headers.append(header)
        cipher = _cipher(self._key, salts)

        def sealed(number: int, plain: bytes, *, last: bool) -> bytes:
            data: bytes = cipher.encrypt(_nonce(number, last=last), plain, header)
            return (len(data) | (_LAST if last else 0)).to_bytes(4, "big") + data

        yield header
        number, held = 0, json.dumps(head).encode()
        if len(held) > FRAME:
            raise WriteError("the path of a file is too long for the vault")
        for frame in _framed(body):
            yield sealed(number, held, last=False)
            number, held = number + 1, frame
        yield sealed(number, held, last=True)


def _written(
    writer: _Writer,
    headers: list[bytes],
    files: Iterable[tuple[Kept, Iterable[bytes]]],
    table: Iterable[Known],
) -> Iterator[bytes]:
    """New segments, and the end behind them and those with the given headers."""
    for kept, body in files:
        yield from writer.segment(_FILE, asdict(kept), body)
    rows = (json.dumps([row.kind, *map(_text, row[1:])]).encode() + b"\n" for row in table)
    first = next(iter(rows), None)
    if first is not None:
        yield from writer.segment(_TABLE, {}, _after([first], rows))
    yield from writer.segment(_END, _end([*headers, *writer.headers]))


def _after(first: Iterable[bytes], then: Iterable[bytes]) -> Iterator[bytes]:
    yield from first
    yield from then


def _framed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of a frame's size; the last may be shorter."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= FRAME:
            whole = len(held) - len(held) % FRAME
            for at in range(0, whole, FRAME):
                yield bytes(held[at : at + FRAME])
            del held[:whole]
    if held:
        yield bytes(held)


def _segments(source: FileSource) -> Iterator[_Segment]:
    """What begins with a magic and reaches to the next; other magics do not come up by chance."""
    start = -1
    for at in _magics(source):
        if start >= 0:
            yield _Segment(source.read(start, start + _HEADER), start, at)
        start = at
    if start >= 0 and source.size - start >= _HEADER:
        yield _Segment(source.read(start, start + _HEADER), start, source.size)


def _magics(source: FileSource) -> Iterator[int]:
    mark = _MAGIC + bytes([_VERSION])
    for start in range(0, source.size, CHUNK):
        chunk = source.read(start, start + CHUNK + len(mark) - 1)
        at = chunk.find(mark)
        while at >= 0:
            yield start + at
            at = chunk.find(mark, at + 1)


def _kept(frame: bytes) -> Kept:
    value = json.loads(frame)
    return Kept(**value | {"paths": tuple(value["paths"])})


def _end(headers: list[bytes]) -> dict[str, Any]:
    return {"segments": len(headers), "sha256": hashlib.sha256(b"".join(headers)).hexdigest()}


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _check(key: bytes) -> bytes:
    return _derived(key, b"", b"sesstool vault: check")[:8]


def _cipher(key: bytes, salts: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - start-up time

    return AESGCM(_derived(key, salts, b"sesstool vault: segment"))


def _derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - start-up time
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - start-up time

    derived: bytes = HKDF(SHA256(), 32, salt, purpose).derive(key)
    return derived


def _invalid() -> type[Exception]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - start-up time

    return InvalidTag


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str, kind: type) -> Any:
    return text if kind is str else text.encode("utf-8", "surrogateescape")
