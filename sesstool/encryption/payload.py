"""The payload of an age file: chunks of 64 KiB, each authenticated (C2SP age, STREAM)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sesstool.encryption.primitives import TAG, blocks, cipher, hkdf
from sesstool.errors import PayloadError

CHUNK = 1 << 16
"""Bytes of plain text in a chunk; the last one may have fewer."""
SEALED = CHUNK + TAG
"""Bytes of a whole chunk when encrypted."""
NONCE = 16
"""Bytes that stand before the first chunk."""
# How many chunks are cut out of what is read in one go.
_AT_ONCE = 16
DAMAGED = "take the file from a backup; sesstool decrypt --salvage saves what is before the fault"


def seal(chunks: Iterable[bytes], file_key: bytes, nonce: bytes) -> Iterator[bytes]:
    """Encrypt: the nonce, then chunk by chunk."""
    encrypt = cipher(hkdf(file_key, nonce, b"payload")).encrypt
    yield nonce
    number = 0
    for block, last in blocks(chunks, CHUNK, _AT_ONCE):
        for start in range(0, max(len(block), 1), CHUNK):
            final = last and start + CHUNK >= len(block)
            yield encrypt(_counter(number, final=final), block[start : start + CHUNK], None)
            number += 1


def unseal(chunks: Iterable[bytes], file_key: bytes, nonce: bytes) -> Iterator[bytes]:
    """Decrypt what follows the nonce, chunk by chunk; only what is authenticated comes out.

    Raises PayloadError behind the last good byte.
    """
    opener = Opener(file_key, nonce)
    number = verified = 0
    for block, last in blocks(chunks, SEALED, _AT_ONCE):
        for start in range(0, max(len(block), 1), SEALED):
            final = last and start + SEALED >= len(block)
            text, fault = opener.open(number, block[start : start + SEALED], final=final)
            number += 1
            verified += len(text)
            if text:
                yield text
            if fault:
                raise PayloadError(
                    f"{fault}; the {verified} bytes before are good", DAMAGED, verified=verified
                )


class Opener:
    """Decrypts single chunks."""

    def __init__(self, file_key: bytes, nonce: bytes) -> None:
        """Draw the key of the payload."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - start-up time

        self._decrypt = cipher(hkdf(file_key, nonce, b"payload")).decrypt
        self._wrong = InvalidTag

    def open(self, number: int, data: bytes | memoryview, *, final: bool) -> tuple[bytes, str]:
        """The plain text of a chunk, and what is wrong with the file as far as it shows.

        `final` says that no bytes follow. A whole chunk with the other mark is good by itself.
        """
        try:
            text = self._decrypt(_counter(number, final=final), data, None)
        except self._wrong:
            pass
        else:
            return text, "its last chunk is empty" if final and number and not text else ""
        if len(data) == SEALED:
            try:
                text = self._decrypt(_counter(number, final=not final), data, None)
            except self._wrong:
                pass
            else:
                return text, "its end is missing" if final else "there are bytes behind its end"
        return b"", f"chunk {number + 1} is {'cut or ' if final else ''}damaged"


def _counter(number: int, *, final: bool) -> bytes:
    """The nonce of a chunk: its number, and whether it is the last."""
    return number.to_bytes(11, "big") + (b"\x01" if final else b"\x00")
