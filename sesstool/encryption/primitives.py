"""The steps that parts of the age format share: keys drawn, file keys wrapped, base64, blocks."""

from __future__ import annotations

import binascii
import hmac
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sesstool.errors import AuthError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

FILE_KEY = 16
"""Bytes of a file key."""
TAG = 16
"""Bytes that authentication adds to what is encrypted."""
_ZERO_NONCE = bytes(12)


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """32 bytes drawn from a secret by HKDF-SHA-256 (RFC 5869; so few need one round)."""
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\x01", "sha256")


def cipher(key: bytes) -> ChaCha20Poly1305:
    """The AEAD of the format."""
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - start-up time
        ChaCha20Poly1305,
    )

    return ChaCha20Poly1305(key)


def wrap(key: bytes, file_key: bytes) -> bytes:
    """A file key encrypted with a key that serves only once."""
    return cipher(key).encrypt(_ZERO_NONCE, file_key, None)


def unwrap(key: bytes, body: bytes) -> bytes | None:
    """The file key in the body of a stanza, or None where the key does not open it."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - start-up time

    try:
        return cipher(key).decrypt(_ZERO_NONCE, body, None)
    except InvalidTag:
        return None


def base64(data: bytes) -> str:
    """Base64 without padding."""
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    """The bytes of canonical base64 without padding. Raises ValueError for any other."""
    data = binascii.a2b_base64(text + "=" * (-len(text) % 4))
    if base64(data) != text:
        raise ValueError("not canonical")
    return data


def blocks(chunks: Iterable[bytes], unit: int, count: int) -> Iterator[tuple[memoryview, bool]]:
    """Bytes in blocks of `count` units, each with whether it is the last.

    The last one alone may be shorter, and it is empty only where there are no bytes at all.
    Where the bytes end in an AuthError, the whole units before it come first.
    """
    size = unit * count
    held: list[bytes | memoryview] = []
    length = 0
    try:
        for chunk in chunks:
            held.append(chunk)
            length += len(chunk)
            if length > size:
                view = memoryview(b"".join(held))
                at = 0
                while length - at > size:
                    yield view[at : at + size], False
                    at += size
                held = [view[at:]]
                length -= at
    except AuthError:
        if whole := length // unit * unit:
            yield memoryview(b"".join(held))[:whole], False
        raise
    yield memoryview(b"".join(held)), True
