"""Recipients and identities from what people have: age keys, ssh keys, passphrases, files."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from sesstool.encryption import age, bech32, hybrid, ssh, x25519
from sesstool.encryption.header import Identity, Recipient, Stanza
from sesstool.encryption.hybrid import HybridIdentity, HybridRecipient
from sesstool.encryption.passphrase import (
    MOST_WORK,
    WORK_FACTOR,
    PassphraseIdentity,
    PassphraseRecipient,
)
from sesstool.encryption.x25519 import X25519Identity, X25519Recipient
from sesstool.errors import AuthError, NoMatchError, UsageError

__all__ = [
    "Identity",
    "Recipient",
    "Stanza",
    "generate",
    "identity_file",
    "parse_identities",
    "parse_recipient",
    "parse_recipients",
    "passphrase_identity",
    "passphrase_recipient",
    "pq_available",
]

# Twice the longest key; no time is spent on more.
_LONGEST = 1 << 13
_COPY = "copy the key again, the whole of it"
_PUBLIC = "recipients begin with age1, ssh-ed25519 or ssh-rsa"
_SECRET = "identities begin with AGE-SECRET-KEY-, or are a private ssh key in a file of its own"  # noqa: S105 - a hint


def pq_available() -> bool:
    """Whether the installed library can do the post-quantum hybrid."""
    return hybrid.available()


def parse_recipient(text: str) -> Recipient:
    """The recipient that a text stands for: an age or an ssh public key.

    Raises UsageError, which never quotes the text: it may be a secret, given by mistake.
    """
    text = text.strip()
    if not text.isascii() or not text.isprintable() or len(text) > _LONGEST:
        raise UsageError("this is no recipient", hint=_PUBLIC)
    if text.upper().startswith("AGE-SECRET-KEY-"):
        raise UsageError("this is a secret key, and no recipient", hint=_PUBLIC)
    if text.startswith(("ssh-", "ecdsa-", "sk-")):
        return ssh.parse_public(text)
    if not text.startswith("age1"):
        raise UsageError("this is no recipient", hint=_PUBLIC)
    prefix, data = _bech32(text, "the recipient")
    if prefix == x25519.PREFIX and len(data) == x25519.KEY:
        return X25519Recipient(data)
    if prefix == hybrid.PREFIX and len(data) == hybrid.KEY:
        return HybridRecipient(data)
    if prefix in {x25519.PREFIX, hybrid.PREFIX}:
        raise UsageError("the recipient is too long or too short", hint=_COPY)
    raise UsageError(
        "recipients of hardware keys and plugins are not supported", hint="encrypt with age"
    )


def parse_recipients(data: bytes, name: str) -> list[Recipient]:
    """The recipients of a file with one on each line; `#` begins a comment.

    Raises UsageError with the name of the file and the line.
    """
    found = []
    for number, line in _lines(data):
        try:
            found.append(parse_recipient(line.decode("ascii", "replace")))
        except UsageError as error:
            raise UsageError(f"{name}, line {number}: {error.message}", error.hint) from None
    if not found:
        raise UsageError(f"{name} holds no recipient", hint=_PUBLIC)
    return found


def parse_identities(
    data: bytes, name: str, passphrase: Callable[[str], bytes] | None
) -> list[Identity]:
    """The identities in a file: of age, of age and encrypted, or a private ssh key.

    `passphrase` gives the passphrase of what has the name; None says that nobody can be asked.
    Raises UsageError for what is no identity, and NoMatchError for a wrong passphrase.
    """
    if age.is_age(data):
        data = _decrypted(data, name, passphrase)
    if data.lstrip().startswith(b"-----BEGIN "):
        return [ssh.parse_private(data.lstrip(), name, passphrase)]
    found: list[Identity] = []
    for number, line in _lines(data):
        try:
            found.append(_identity(line.decode("ascii", "replace")))
        except UsageError as error:
            raise UsageError(f"{name}, line {number}: {error.message}", error.hint) from None
    if not found:
        raise UsageError(f"{name} holds no identity", hint=_SECRET)
    return found


def generate(*, pq: bool) -> X25519Identity | HybridIdentity:
    """A new identity; `pq` for a hybrid one. Raises UsageError where the library lacks that."""
    identity = (HybridIdentity if pq else X25519Identity)(secrets.token_bytes(x25519.KEY))
    identity.recipient()
    return identity


def identity_file(identity: X25519Identity | HybridIdentity, created: str) -> bytes:
    """What an identity file holds, in the form of age-keygen; `created` is a time in RFC 3339."""
    public = identity.recipient().text
    return f"# created: {created}\n# public key: {public}\n{identity.secret_text}\n".encode()


def passphrase_recipient(passphrase: bytes, work_factor: int = WORK_FACTOR) -> Recipient:
    """Whoever knows the passphrase. Raises UsageError for an empty one."""
    if not passphrase:
        raise UsageError("the passphrase is empty", hint="give one that nobody guesses")
    if not 1 <= work_factor <= MOST_WORK:
        raise UsageError(f"{work_factor} is no work factor", hint=f"give 1 to {MOST_WORK}")
    return PassphraseRecipient(passphrase, work_factor)


def passphrase_identity(passphrase: bytes) -> Identity:
    """What opens a file that was encrypted with the passphrase."""
    return PassphraseIdentity(passphrase)


def _decrypted(data: bytes, name: str, passphrase: Callable[[str], bytes] | None) -> bytes:
    """The text of an identity file that is an age file itself."""

    def read(start: int, end: int) -> bytes:
        return data[start:end]

    try:
        if age.facts(read, len(data)).kinds != ("scrypt",):
            raise UsageError(
                f"{name} is encrypted, and not with a passphrase",
                hint="decrypt it with age, and name what comes of it",
            )
        if passphrase is None:
            raise UsageError(
                f"{name} is protected by a passphrase, and nobody can be asked for it",
                hint="run it in a terminal, or give the passphrase with --passphrase-fd N",
            )
        return b"".join(age.decrypt([data], [PassphraseIdentity(passphrase(name))]))
    except NoMatchError as error:
        raise NoMatchError(f"the passphrase of {name} is wrong", error.hint) from None
    except AuthError as error:
        raise UsageError(f"{name} cannot be opened: {error.message}", error.hint) from None


def _identity(text: str) -> Identity:
    """The identity on a line. Raises UsageError, which does not quote it."""
    if text.startswith("AGE-PLUGIN-"):
        raise UsageError("identities of plugins are not supported", hint="decrypt with age")
    if text.startswith(("age1", "ssh-")):
        raise UsageError("this is a public key, and no identity", hint=_SECRET)
    if not text.startswith("AGE-SECRET-KEY-") or len(text) > _LONGEST or not text.isascii():
        raise UsageError("this is no identity", hint=_SECRET)
    prefix, data = _bech32(text, "the identity")
    if prefix == x25519.SECRET_PREFIX and len(data) == x25519.KEY:
        return X25519Identity(data)
    if prefix == hybrid.SECRET_PREFIX and len(data) == hybrid.SEED:
        return HybridIdentity(data)
    raise UsageError("the identity is of an unknown kind or length", hint=_COPY)


def _bech32(text: str, what: str) -> tuple[str, bytes]:
    try:
        return bech32.decode(text)
    except ValueError:
        raise UsageError(f"{what} has a mistake in it", hint=_COPY) from None


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    """The lines that say something, with their numbers from 1."""
    lines = ((number, line.strip()) for number, line in enumerate(data.split(b"\n"), 1))
    return [(number, line) for number, line in lines if line and not line.startswith(b"#")]
