"""Encrypt and decrypt age files: as streams, or by position; and what shows without a key."""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from sesstool.encryption import armor as armored_text
from sesstool.encryption import header as headers
from sesstool.encryption import payload
from sesstool.encryption.header import Identity, Recipient
from sesstool.encryption.primitives import FILE_KEY, TAG, from_base64
from sesstool.errors import HeaderError, PayloadError, UsageError

Read = Callable[[int, int], bytes]
"""Gives the bytes [start, end) of a file, fewer at its end."""
_HEAD = 1 << 12
_KEPT = 4
_TAG_SIGNS = 6  # base64 of four bytes
_HYBRID = "mlkem768x25519"
_CUT = "the file was cut or changed; take it from a backup"


def is_age(head: bytes) -> bool:
    """Whether bytes begin like an age file, binary or armored."""
    return head.startswith(headers.PREFIX) or head.lstrip(armored_text.SPACE).startswith(
        armored_text.BEGIN
    )


@dataclass(frozen=True, slots=True)
class _FileKey:
    """The key of one file itself, with which its writer can read it back."""

    key: bytes = field(repr=False)
    kind = "file key"

    def unwrap(self, stanzas: Sequence[headers.Stanza]) -> bytes:  # noqa: ARG002 - of no stanza
        """See `Identity`."""
        return self.key

    def recipient(self) -> None:
        """See `Identity`."""


class Sealer:
    """Makes one age file, for any one of some recipients to open.

    Of the same bytes it makes the same file each time, so that what was written can be compared;
    no two different texts may be given to one. `identity` opens what it makes.
    """

    def __init__(self, recipients: Sequence[Recipient], *, armor: bool = False) -> None:
        """Draw the key. Raises UsageError for recipients that cannot be had together."""
        _check_together(recipients)
        key = secrets.token_bytes(FILE_KEY)
        self.identity: Identity = _FileKey(key)
        self._key = key
        self._nonce = secrets.token_bytes(payload.NONCE)
        self._header = headers.make([recipient.wrap(key) for recipient in recipients], key)
        self._armor = armor

    def seal(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The age file of some bytes, about a MiB at a time."""
        binary = chain([self._header], payload.seal(chunks, self._key, self._nonce))
        return armored_text.armor(binary) if self._armor else binary


def encrypt(
    chunks: Iterable[bytes], recipients: Sequence[Recipient], *, armor: bool = False
) -> Iterator[bytes]:
    """The age file of some bytes. Raises UsageError as `Sealer`, before anything is read."""
    return Sealer(recipients, armor=armor).seal(chunks)


def decrypt(chunks: Iterable[bytes], identities: Sequence[Identity]) -> Iterator[bytes]:
    """The plain text of an age file, binary or armored, about 64 KiB at a time.

    All that comes is authenticated, and is not the whole before the iterator has ended: where
    the file was cut or changed, PayloadError or ArmorError comes instead. Raises NoMatchError,
    HeaderError and ArmorError at once.
    """
    binary = _binary(chunks)
    header, rest = headers.read(binary)
    file_key, _ = header.open(identities)
    while len(rest) < payload.NONCE and (piece := next(binary, None)) is not None:
        rest += piece
    nonce = rest[: payload.NONCE]
    _check_nonce(nonce)
    return payload.unseal(chain([rest[payload.NONCE :]], binary), file_key, nonce)


class Opened:
    """An age file whose plain text is read by position. Use `open_at` to get one.

    `size` counts the bytes of the plain text. The end of the file was authenticated, all else
    is when it is read. `identity` is the one that opened it.
    """

    def __init__(
        self, read: Read, start: int, size: int, opener: payload.Opener, identity: Identity
    ) -> None:
        """Verify the last of the chunks, which are the bytes [start, size) of the file."""
        self.identity = identity
        self._read = read
        self._start = start
        self._opener = opener
        self._chunks = max(-(-(size - start) // payload.SEALED), 1)
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        last = self._chunk(self._chunks - 1)
        self.size = (self._chunks - 1) * payload.CHUNK + len(last)

    def read(self, start: int, end: int) -> bytes:
        """The bytes [start, end) of the plain text, fewer at its end. Raises PayloadError."""
        end = min(end, self.size)
        if start >= end:
            return b""
        first = start // payload.CHUNK
        last = (end - 1) // payload.CHUNK
        text = b"".join(map(self._chunk, range(first, last + 1)))
        return text[start - first * payload.CHUNK : end - first * payload.CHUNK]

    def _chunk(self, number: int) -> bytes:
        text = self._kept.get(number)
        if text is None:
            at = self._start + number * payload.SEALED
            data = self._read(at, at + payload.SEALED)
            text, fault = self._opener.open(number, data, final=number == self._chunks - 1)
            if fault:
                raise PayloadError(fault, payload.DAMAGED)
            self._kept[number] = text
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return text


def open_at(read: Read, size: int, identities: Sequence[Identity]) -> Opened:
    """Open an age file of so many bytes to read it by position.

    Raises NoMatchError, HeaderError, PayloadError where the end is not the true one, and
    ArmorError, also where the armor is good but not regular enough for positions.
    """
    read, size, _ = _view(read, size)
    header, _ = headers.read(_pieces(read, size))
    file_key, identity = header.open(identities)
    start = header.size + payload.NONCE
    nonce = read(header.size, start)
    _check_nonce(nonce)
    return Opened(read, start, size, payload.Opener(file_key, nonce), identity)


def opener(read: Read, size: int, identities: Sequence[Identity]) -> Identity:
    """The identity that opens the header of an age file, whatever its payload is.

    Raises NoMatchError, HeaderError and ArmorError.
    """
    return headers.read(_binary(_pieces(read, size)))[0].open(identities)[1]


def all_openers(read: Read, size: int, identities: Sequence[Identity]) -> list[Identity]:
    """Those of some identities that can open an age file. Raises HeaderError and ArmorError."""
    stanzas = headers.read(_binary(_pieces(read, size)))[0].stanzas
    return [identity for identity in identities if identity.unwrap(stanzas) is not None]


def kinds_of(read: Read, size: int) -> tuple[str, ...]:
    """The kinds of the recipients of an age file. Raises HeaderError and ArmorError."""
    return tuple(one.kind for one in headers.read(_binary(_pieces(read, size)))[0].stanzas)


@dataclass(frozen=True, slots=True)
class Facts:
    """What everybody sees of an age file. All sizes are in bytes.

    `kinds` are those of the recipients in their order, `tags` their ssh key tags in hex, or "";
    `payload` counts what follows the header, without armor, and `size` the plain text, if the
    file is whole: nothing here is authenticated. `overhead` is what the file has more.
    """

    kinds: tuple[str, ...]
    tags: tuple[str, ...]
    armored: bool
    header: int
    payload: int
    size: int
    overhead: int


def facts(read: Read, size: int) -> Facts:
    """Look at an age file of so many bytes without a key.

    Raises HeaderError, PayloadError where no payload has such a size, ArmorError as `open_at`.
    """
    binary, total, armored = _view(read, size)
    header, _ = headers.read(_pieces(binary, total))
    sealed = total - header.size - payload.NONCE
    chunks = max(-(-sealed // payload.SEALED), 1)
    plain = sealed - chunks * TAG
    if plain < (chunks - 1) * payload.CHUNK + (chunks > 1):
        raise PayloadError("the file was cut: no payload has its size", payload.DAMAGED)
    return Facts(
        kinds=tuple(stanza.kind for stanza in header.stanzas),
        tags=tuple(map(_tag, header.stanzas)),
        armored=armored,
        header=header.size,
        payload=total - header.size,
        size=plain,
        overhead=size - plain,
    )


def _check_together(recipients: Sequence[Recipient]) -> None:
    """Raise UsageError for recipients that the format does not allow in one file."""
    kinds = Counter(recipient.kind for recipient in recipients)
    if not kinds:
        raise UsageError("there is nobody to encrypt for", hint="name a recipient or a passphrase")
    if "scrypt" in kinds and len(recipients) > 1:
        other = next((kind for kind in kinds if kind != "scrypt"), "scrypt")
        raise UsageError(
            f"a file with a passphrase (scrypt) has no other recipient, and {other} is given too",
            hint="give one passphrase alone, or recipients alone",
        )
    if _HYBRID in kinds and len(kinds) > 1:
        other = next(kind for kind in kinds if kind != _HYBRID)
        raise UsageError(
            f"{_HYBRID} and {other} cannot be mixed: the file would be as weak as {other}",
            hint="give recipients of one of the two kinds",
        )


def _check_nonce(nonce: bytes) -> None:
    if len(nonce) < payload.NONCE:
        raise HeaderError("the file ends behind its header", _CUT)


def _looks_armored(head: bytes) -> bool:
    """Whether a file is to be read as armored, be it well or not."""
    return not head.startswith(headers.PREFIX) and (
        b"-----" in head or bool(head and not head.strip(armored_text.SPACE))
    )


def _binary(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of an age file, without its armor if it has one."""
    pieces = iter(chunks)
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _HEAD:
            break
    whole = chain([head], pieces)
    return armored_text.dearmor(whole) if _looks_armored(head[:_HEAD]) else whole


def _view(read: Read, size: int) -> tuple[Read, int, bool]:
    """The binary age file in a file, its size, and whether it is armored."""
    if _looks_armored(read(0, _HEAD)):
        return *armored_text.by_position(read, size), True
    return read, size, False


def _pieces(read: Read, size: int) -> Iterator[bytes]:
    return (read(at, min(at + _HEAD, size)) for at in range(0, size, _HEAD))


def _tag(stanza: headers.Stanza) -> str:
    if not stanza.kind.startswith("ssh-") or not stanza.arguments:
        return ""
    try:
        return from_base64(stanza.arguments[0][:_TAG_SIGNS]).hex()
    except ValueError:
        return ""
