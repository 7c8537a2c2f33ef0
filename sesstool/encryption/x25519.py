"""X25519 recipients, the plain keys of age (C2SP age, "The X25519 recipient type")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sesstool.encryption import bech32
from sesstool.encryption.header import Stanza
from sesstool.encryption.primitives import base64, hkdf, unwrap, wrap
from sesstool.errors import UsageError

KEY = 32
"""Bytes of a key, public or secret."""
PREFIX = "age"
SECRET_PREFIX = "AGE-SECRET-KEY-"  # noqa: S105 - how a key begins
_KIND = "X25519"
_INFO = b"age-encryption.org/v1/X25519"


@dataclass(frozen=True, slots=True)
class X25519Recipient:
    """A public key of 32 bytes."""

    key: bytes
    kind = _KIND

    @property
    def text(self) -> str:
        """See `Recipient`."""
        return bech32.encode(PREFIX, self.key)

    def wrap(self, file_key: bytes) -> Stanza:
        """See `Recipient`. Raises UsageError where the key is one that opens to everybody."""
        secret = X25519PrivateKey.generate()
        share = secret.public_key().public_bytes_raw()
        try:
            shared = secret.exchange(X25519PublicKey.from_public_bytes(self.key))
        except ValueError:
            raise UsageError(
                "the recipient's key protects nothing", hint="ask its owner for another one"
            ) from None
        return Stanza(
            _KIND, (base64(share),), wrap(hkdf(shared, share + self.key, _INFO), file_key)
        )


@dataclass(frozen=True, slots=True)
class X25519Identity:
    """A secret key of 32 bytes."""

    secret: bytes = field(repr=False)
    kind = _KIND

    @property
    def secret_text(self) -> str:
        """The key as an identity file holds it."""
        return bech32.encode(SECRET_PREFIX.lower(), self.secret).upper()

    def recipient(self) -> X25519Recipient:
        """See `Identity`."""
        key = X25519PrivateKey.from_private_bytes(self.secret).public_key()
        return X25519Recipient(key.public_bytes_raw())

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """See `Identity`."""
        secret = X25519PrivateKey.from_private_bytes(self.secret)
        public = secret.public_key().public_bytes_raw()
        for stanza in stanzas:
            if stanza.kind != _KIND:
                continue
            stanza.check(arguments=1)
            share = stanza.argument(0, KEY)
            try:
                shared = secret.exchange(X25519PublicKey.from_public_bytes(share))
            except ValueError:  # all zero, whatever the secret
                raise stanza.malformed("its share is of low order") from None
            file_key = unwrap(hkdf(shared, share + public, _INFO), stanza.body)
            if file_key is not None:
                return file_key
        return None
