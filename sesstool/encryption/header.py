"""The header of an age file: who can open it, and the MAC over that (C2SP age)."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from sesstool.encryption.primitives import FILE_KEY, TAG, base64, from_base64, hkdf
from sesstool.errors import HeaderError, HeaderMacError, NewerFormatError, NoMatchError, UsageError

PREFIX = b"age-encryption.org/"
"""How every age file begins, of whatever version."""
# Room for ten thousand recipients, or six hundred hybrid ones; nobody's file may ask for more.
_MOST = 1 << 20
_VERSION = re.compile(re.escape(PREFIX) + rb"([!-~]{1,64})\n")
_STANZA = re.compile(
    rb"-> ([!-~]++(?: [!-~]++)*+)\n((?:[A-Za-z0-9+/]{64}\n)*+[A-Za-z0-9+/]{0,63}\n)"
)
_MAC = re.compile(rb"--- ([A-Za-z0-9+/]{43})\n")
_MAC_LINE = 48
_COLUMNS = 64
_DAMAGED = "the file was cut or changed; take it from a backup"
_NATIVE = ("X25519", "scrypt", "mlkem768x25519", "ssh-ed25519", "ssh-rsa")


class Stanza(NamedTuple):
    """The file key, wrapped for one recipient."""

    kind: str
    arguments: tuple[str, ...]
    body: bytes

    def encode(self) -> bytes:
        """The lines of the stanza."""
        text = base64(self.body)
        # The last line is always shorter than a full one, if need be empty.
        lines = [text[at : at + _COLUMNS] for at in range(0, len(text) + 1, _COLUMNS)]
        return "\n".join([" ".join(["->", self.kind, *self.arguments]), *lines, ""]).encode()

    def argument(self, index: int, size: int) -> bytes:
        """The bytes of an argument in base64. Raises HeaderError unless there are `size`."""
        try:
            data = from_base64(self.arguments[index])
        except ValueError:
            data = b""
        if len(data) != size:
            raise self.malformed("an argument is not of the right form")
        return data

    def check(self, arguments: int, body: int = FILE_KEY + TAG) -> None:
        """Raise HeaderError unless the stanza has so many arguments and bytes of body."""
        if len(self.arguments) != arguments:
            raise self.malformed("it has not the right number of arguments")
        if len(self.body) != body:  # before a try: of other lengths, one body fits many keys
            raise self.malformed("its body is not of the right length")

    def malformed(self, what: str) -> HeaderError:
        """The error that says what is wrong with a stanza of a kind that is known."""
        return HeaderError(f"the header has a malformed {self.kind} stanza: {what}", _DAMAGED)


class Recipient(Protocol):
    """Somebody whom a file is encrypted for. `text` is the public key as people write it."""

    @property
    def kind(self) -> str:
        """The first word of its stanzas."""
        ...

    @property
    def text(self) -> str:
        """The public key, or "passphrase"."""
        ...

    def wrap(self, file_key: bytes) -> Stanza:
        """The stanza that gives the file key to this recipient."""
        ...


class Identity(Protocol):
    """What opens the stanzas of a recipient. Can be pickled, and does not show its secret."""

    @property
    def kind(self) -> str:
        """The first word of the stanzas that it may open."""
        ...

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """The file key, or None where none is for this identity. Raises HeaderError."""
        ...

    def recipient(self) -> Recipient | None:
        """The recipient that this identity belongs to; None for a passphrase."""
        ...


class Header(NamedTuple):
    """A header that was read: `signed` is what the MAC covers, `size` counts its bytes."""

    stanzas: tuple[Stanza, ...]
    signed: bytes
    mac: bytes

    @property
    def size(self) -> int:
        """Bytes of the header."""
        return len(self.signed) - len(b"---") + _MAC_LINE

    def open(self, identities: Sequence[Identity]) -> bytes:
        """The file key. Raises NoMatchError, HeaderError and HeaderMacError."""
        for identity in identities:
            file_key = identity.unwrap(self.stanzas)
            if file_key is not None:
                if not hmac.compare_digest(_mac(file_key, self.signed), self.mac):
                    raise HeaderMacError("the header was changed after it was written", _DAMAGED)
                return file_key
        kinds = {stanza.kind for stanza in self.stanzas}
        if kinds == {"scrypt"}:
            if any(identity.kind == "scrypt" for identity in identities):
                raise NoMatchError("the passphrase is wrong", "try again; capitals count")
            raise NoMatchError("it is encrypted with a passphrase", "give the passphrase")
        known = [kind for kind in _NATIVE if kind in kinds] or ["kinds of key unknown here"]
        raise NoMatchError(
            f"no identity opens it; it is encrypted for {', '.join(known)}",
            "name the identity file of one of those whom it was encrypted for",
        )


def make(stanzas: Sequence[Stanza], file_key: bytes) -> bytes:
    """The header of a new file. Raises UsageError where it is too long to be read again."""
    signed = b"".join([PREFIX, b"v1\n", *(stanza.encode() for stanza in stanzas), b"---"])
    if len(signed) + _MAC_LINE > _MOST:
        raise UsageError(
            f"{len(stanzas)} recipients are too many for one file",
            hint="give fewer, or one key that they share",
        )
    return signed + b" " + base64(_mac(file_key, signed)).encode() + b"\n"


def read(chunks: Iterator[bytes]) -> tuple[Header, bytes]:
    """The header at the start of a stream, and what was read behind it. Raises HeaderError."""
    held = bytearray()
    end = -1
    for chunk in chunks:
        # No line of a stanza can begin like this, so it is where the MAC stands.
        overlap = max(len(held) - len(b"\n--"), 0)
        held += chunk
        if end < 0:
            end = held.find(b"\n---", overlap)
        if len(held) > _MOST or 0 <= end < len(held) - _MAC_LINE:
            break
    header = _parse(bytes(held), end + 1)
    return header, bytes(held[header.size :])


def _parse(data: bytes, end: int) -> Header:
    """The header in `data`; `end` is where its last line begins, or 0."""
    version = _VERSION.match(data)
    if not version:
        raise HeaderError("it does not begin like an age file", "check which file it is")
    if version[1] != b"v1":
        raise NewerFormatError(
            "it is of another version of the age format than v1",
            hint="update sesstool, or open it with the tool that wrote it",
        )
    if not end or end > _MOST - _MAC_LINE:
        what = "is longer than 1 MiB" if len(data) > _MOST else "has no end"
        raise HeaderError(f"the header {what}", _DAMAGED)
    stanzas = []
    at = version.end()
    while at < end:
        stanza, behind = _stanza(data, at, end)
        stanzas.append(stanza)
        at = behind
    mac = _MAC.match(data, end)
    if not stanzas or not mac:
        raise _malformed(data, end)
    try:
        found = Header(tuple(stanzas), data[: end + len(b"---")], from_base64(mac[1].decode()))
    except ValueError:
        raise _malformed(data, end) from None
    if len(stanzas) > 1 and any(stanza.kind == "scrypt" for stanza in stanzas):
        raise HeaderError("the header has a scrypt stanza that does not stand alone", _DAMAGED)
    return found


def _stanza(data: bytes, at: int, end: int) -> tuple[Stanza, int]:
    """The stanza that begins at `at`, and where the next one does."""
    match = _STANZA.match(data, at, end)
    if not match:
        raise _malformed(data, at)
    kind, *arguments = match[1].decode().split(" ")
    try:
        body = from_base64(match[2].replace(b"\n", b"").decode())
    except ValueError:
        raise _malformed(data, at) from None
    return Stanza(kind, tuple(arguments), body), match.end()


def _malformed(data: bytes, at: int) -> HeaderError:
    line = data.count(b"\n", 0, at) + 1
    return HeaderError(f"what begins at line {line} of the header is malformed", _DAMAGED)


def _mac(file_key: bytes, signed: bytes) -> bytes:
    return hmac.digest(hkdf(file_key, b"", b"header"), signed, "sha256")
