"""Files encrypted with a passphrase (C2SP age, "The scrypt recipient type")."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sesstool.encryption.header import Stanza
from sesstool.encryption.primitives import base64, unwrap, wrap
from sesstool.errors import HeaderError, UsageError

WORK_FACTOR = 18
"""Two to this power is how often scrypt works; about a second, and 256 MiB."""
MOST_WORK = 22
"""What a file may ask for, a quarter of a minute and 4 GiB; fixed, so that all runs agree."""
_KIND = "scrypt"
_LABEL = b"age-encryption.org/v1/scrypt"
_SALT = 16
# Few digits, as int() takes long for many.
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class PassphraseRecipient:
    """Whoever knows the passphrase. `work_factor` is the binary logarithm of scrypt's N."""

    secret: bytes = field(repr=False)
    work_factor: int = WORK_FACTOR
    kind = _KIND
    text = "passphrase"

    def wrap(self, file_key: bytes) -> Stanza:
        """See `Recipient`."""
        salt = secrets.token_bytes(_SALT)
        key = _draw(self.secret, salt, self.work_factor)
        return Stanza(_KIND, (base64(salt), str(self.work_factor)), wrap(key, file_key))


@dataclass(frozen=True, slots=True)
class PassphraseIdentity:
    """A passphrase."""

    secret: bytes = field(repr=False)
    kind = _KIND

    def recipient(self) -> PassphraseRecipient:
        """See `Identity`."""
        return PassphraseRecipient(self.secret)

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """See `Identity`; that the stanza stands alone, the header has seen to."""
        for stanza in stanzas:
            if stanza.kind != _KIND:
                continue
            stanza.check(arguments=2)
            salt = stanza.argument(0, _SALT)
            if not _NUMBER.fullmatch(stanza.arguments[1]):
                raise stanza.malformed("its work factor is no number that scrypt can take")
            work_factor = int(stanza.arguments[1])
            if work_factor > MOST_WORK:
                raise HeaderError(
                    f"the passphrase asks for a work factor of {work_factor}, "
                    f"and more than {MOST_WORK} is refused",
                    hint="take care: few tools write such a file; age may open it, with much time",
                )
            return unwrap(_draw(self.secret, salt, work_factor), stanza.body)
        return None


@lru_cache(maxsize=4)  # a file is opened more than once, and this takes a second
def _draw(secret: bytes, salt: bytes, work_factor: int) -> bytes:
    try:
        return Scrypt(salt=_LABEL + salt, length=32, n=1 << work_factor, r=8, p=1).derive(secret)
    except MemoryError:
        raise UsageError(
            f"a passphrase with the work factor {work_factor} needs "
            f"{1 << max(work_factor - 10, 0)} MiB of memory, which are not there",
            hint="close other programs, or use a machine with more memory",
        ) from None
