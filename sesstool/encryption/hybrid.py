"""Recipients that withstand quantum computers (C2SP age, "MLKEM768-X25519")."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sesstool.encryption import bech32
from sesstool.encryption.header import Stanza
from sesstool.encryption.primitives import base64
from sesstool.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    from cryptography.hazmat.primitives.hpke import Suite

KIND = "mlkem768x25519"
SEED = 32
"""Bytes of a secret key."""
KEY = 1184 + 32
"""Bytes of a public key: that of ML-KEM-768, and that of X25519."""
PREFIX = "age1pq"
SECRET_PREFIX = "AGE-SECRET-KEY-PQ-"  # noqa: S105 - how a key begins
_SHARE = 1088 + 32
_INFO = b"age-encryption.org/mlkem768x25519"
# Each version and build of the library lacks it in another way.
_LACKING = (ImportError, AttributeError, UnsupportedAlgorithm)


def available() -> bool:
    """Whether the library knows ML-KEM and this HPKE."""
    try:
        _parts(bytes(SEED))
        _suite()
    except UsageError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class HybridRecipient:
    """A public key of 1216 bytes."""

    key: bytes = field(repr=False)
    kind = KIND

    @property
    def text(self) -> str:
        """See `Recipient`."""
        return bech32.encode(PREFIX, self.key)

    def wrap(self, file_key: bytes) -> Stanza:
        """See `Recipient`. Raises UsageError, also where the library lacks what it takes."""
        suite = _suite()
        from cryptography.hazmat.primitives.asymmetric.mlkem import (  # noqa: PLC0415 - new
            MLKEM768PublicKey,
        )
        from cryptography.hazmat.primitives.hpke import MLKEM768X25519PublicKey  # noqa: PLC0415

        try:
            public = MLKEM768X25519PublicKey(
                MLKEM768PublicKey.from_public_bytes(self.key[:-32]),
                X25519PublicKey.from_public_bytes(self.key[-32:]),
            )
            sealed = suite.encrypt(file_key, public, info=_INFO)
        except ValueError:
            raise UsageError(
                "the recipient's key is no hybrid key", hint="ask its owner for the key again"
            ) from None
        return Stanza(KIND, (base64(sealed[:_SHARE]),), sealed[_SHARE:])


@dataclass(frozen=True, slots=True)
class HybridIdentity:
    """A secret key: the seed of 32 bytes that both its halves are drawn from."""

    secret: bytes = field(repr=False)
    kind = KIND

    @property
    def secret_text(self) -> str:
        """The key as an identity file holds it."""
        return bech32.encode(SECRET_PREFIX.lower(), self.secret).upper()

    def recipient(self) -> HybridRecipient:
        """See `Identity`."""
        lattice, curve = _parts(self.secret)
        return HybridRecipient(
            lattice.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()
        )

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """See `Identity`. Raises UsageError where the library lacks what it takes."""
        mine = [stanza for stanza in stanzas if stanza.kind == KIND]
        if not mine:
            return None
        suite = _suite()
        from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey  # noqa: PLC0415

        lattice, curve = _parts(self.secret)
        key = MLKEM768X25519PrivateKey(lattice, curve)
        for stanza in mine:
            stanza.check(arguments=1)
            share = stanza.argument(0, _SHARE)
            try:
                # HPKE would not tell a share of low order from a wrong key.
                curve.exchange(X25519PublicKey.from_public_bytes(share[-32:]))
            except ValueError:
                raise stanza.malformed("its share is of low order") from None
            try:
                return suite.decrypt(share + stanza.body, key, info=_INFO)
            except InvalidTag:
                continue
        return None


def _parts(seed: bytes) -> tuple[MLKEM768PrivateKey, X25519PrivateKey]:
    """The two keys that a seed stands for."""
    try:
        from cryptography.hazmat.primitives.asymmetric.mlkem import (  # noqa: PLC0415 - new
            MLKEM768PrivateKey as Lattice,
        )

        drawn = hashlib.shake_256(seed).digest(64 + 32)
        return Lattice.from_seed_bytes(drawn[:64]), X25519PrivateKey.from_private_bytes(drawn[64:])
    except _LACKING as error:
        raise _lacking() from error


def _suite() -> Suite:
    try:
        from cryptography.hazmat.primitives.hpke import (  # noqa: PLC0415 - new
            AEAD,
            KDF,
            KEM,
            Suite,
        )

        return Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    except _LACKING as error:
        raise _lacking() from error


def _lacking() -> UsageError:
    return UsageError(
        "the installed cryptography library has no ML-KEM, which post-quantum keys need",
        hint="install cryptography 48 or newer built with OpenSSL 3.5 or newer, or use a plain key",
    )
