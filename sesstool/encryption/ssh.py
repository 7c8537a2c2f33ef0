"""OpenSSH keys as recipients: ssh-ed25519 and ssh-rsa, as `age` has them beside its own kinds."""

from __future__ import annotations

import binascii
import hashlib
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sesstool.encryption.header import Stanza
from sesstool.encryption.primitives import base64, hkdf, unwrap, wrap
from sesstool.errors import NoMatchError, UsageError

ED25519, RSA = "ssh-ed25519", "ssh-rsa"
_ED25519_INFO = b"age-encryption.org/v1/ssh-ed25519"
_OAEP = OAEP(MGF1(hashes.SHA256()), hashes.SHA256(), b"age-encryption.org/v1/ssh-rsa")
_LEAST_BITS, _MOST_BITS = 2048, 16384
_KINDS = f"use a key of the kind {ED25519} or {RSA}, or one of age"
# What the library raises for damaged keys and for kinds of key that it does not know.
_BROKEN = (ValueError, TypeError, OverflowError, NotImplementedError, UnsupportedAlgorithm)
# Edwards curve 25519: RFC 7748 and RFC 8032.
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
# A round of bcrypt takes some 5 ms; ssh-keygen writes 16 or 24.
_MOST_ROUNDS = 1 << 12
_OPENSSH = re.compile(rb"-----BEGIN OPENSSH PRIVATE KEY-----([^-]*)-----")
# The library does not check the length of an IV in the old form of PEM, and dies of a short one.
_IV = re.compile(rb"DEK-Info: (AES-[0-9]{3}-CBC,[0-9A-F]{32}|DES-EDE3-CBC,[0-9A-F]{16})\r?\n")
_BCRYPT = b"\0\0\0\x06bcrypt"


@dataclass(frozen=True, slots=True)
class Ed25519Recipient:
    """A public key of 32 bytes."""

    key: bytes
    kind = ED25519

    @property
    def text(self) -> str:
        """See `Recipient`."""
        return _text(ED25519, self.wire)

    @property
    def wire(self) -> bytes:
        """The key as ssh encodes it."""
        return _wire(Ed25519PublicKey.from_public_bytes(self.key))

    def wrap(self, file_key: bytes) -> Stanza:
        """See `Recipient`. Raises UsageError where the key is one that opens to everybody."""
        secret = X25519PrivateKey.generate()
        share = secret.public_key().public_bytes_raw()
        try:
            curve = to_montgomery(self.key)
            shared = _tweaked(secret.exchange(X25519PublicKey.from_public_bytes(curve)), self.wire)
        except ValueError:
            raise UsageError("the ssh key is no key to encrypt for", hint=_KINDS) from None
        body = wrap(hkdf(shared, share + curve, _ED25519_INFO), file_key)
        return Stanza(ED25519, (base64(_tag(self.wire)), base64(share)), body)


@dataclass(frozen=True, slots=True)
class Ed25519Identity:
    """A private key: its seed of 32 bytes."""

    secret: bytes = field(repr=False)
    kind = ED25519

    def recipient(self) -> Ed25519Recipient:
        """See `Identity`."""
        key = Ed25519PrivateKey.from_private_bytes(self.secret).public_key()
        return Ed25519Recipient(key.public_bytes_raw())

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """See `Identity`."""
        public = self.recipient()
        secret = X25519PrivateKey.from_private_bytes(hashlib.sha512(self.secret).digest()[:32])
        curve = secret.public_key().public_bytes_raw()
        for stanza in stanzas:
            if stanza.kind != ED25519:
                continue
            stanza.check(arguments=2)
            share = stanza.argument(1, len(curve))
            if stanza.argument(0, 4) != _tag(public.wire):
                continue
            try:
                shared = secret.exchange(X25519PublicKey.from_public_bytes(share))
                shared = _tweaked(shared, public.wire)
            except ValueError:
                raise stanza.malformed("its share is of low order") from None
            file_key = unwrap(hkdf(shared, share + curve, _ED25519_INFO), stanza.body)
            if file_key is None:
                raise stanza.malformed("it names this key and does not open with it")
            return file_key
        return None


@dataclass(frozen=True, slots=True)
class RsaRecipient:
    """A public key as ssh encodes it."""

    wire: bytes
    kind = RSA

    @property
    def text(self) -> str:
        """See `Recipient`."""
        return _text(RSA, self.wire)

    def wrap(self, file_key: bytes) -> Stanza:
        """See `Recipient`."""
        key = serialization.load_ssh_public_key(self.text.encode())
        assert isinstance(key, RSAPublicKey)
        return Stanza(RSA, (base64(_tag(self.wire)),), key.encrypt(file_key, _OAEP))


@dataclass(frozen=True, slots=True)
class RsaIdentity:
    """A private key as PKCS #8."""

    secret: bytes = field(repr=False)
    kind = RSA

    def recipient(self) -> RsaRecipient:
        """See `Identity`."""
        return RsaRecipient(_wire(self._key().public_key()))

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """See `Identity`."""
        mine = [stanza for stanza in stanzas if stanza.kind == RSA]
        if not mine:
            return None
        key = self._key()
        tag = _tag(_wire(key.public_key()))
        for stanza in mine:
            stanza.check(arguments=1, body=len(stanza.body))
            if stanza.argument(0, 4) != tag:
                continue
            try:
                file_key = key.decrypt(stanza.body, _OAEP)
            except ValueError:
                raise stanza.malformed("it names this key and does not open with it") from None
            if len(file_key) != 16:
                raise stanza.malformed("what it holds is no file key")
            return file_key
        return None

    def _key(self) -> RSAPrivateKey:
        # It was checked when it was read, and the check takes long.
        key = serialization.load_der_private_key(
            self.secret, None, unsafe_skip_rsa_key_validation=True
        )
        assert isinstance(key, RSAPrivateKey)
        return key


def parse_public(text: str) -> Ed25519Recipient | RsaRecipient:
    """The recipient in a line of a .pub file. Raises UsageError, which does not quote it."""
    kind = text.split(maxsplit=1)[0]
    if kind not in {ED25519, RSA}:
        raise UsageError("ssh keys of this kind cannot encrypt", hint=_KINDS)
    try:
        key = serialization.load_ssh_public_key(text.encode())
    except _BROKEN:
        key = None
    if isinstance(key, Ed25519PublicKey):
        return Ed25519Recipient(key.public_bytes_raw())
    if isinstance(key, RSAPublicKey):
        _check_size(key.key_size)
        return RsaRecipient(_wire(key))
    raise UsageError("the ssh key is malformed", hint="copy the whole line of the .pub file")


def parse_private(
    data: bytes, name: str, passphrase: Callable[[str], bytes] | None
) -> Ed25519Identity | RsaIdentity:
    """The identity in a private key of OpenSSH or PEM. See `keys.parse_identities`."""
    if len(re.findall(rb"(?i)dek-info", data)) != len(_IV.findall(data)):
        raise _unreadable(name)
    try:
        key = _load(data, None)
    except TypeError:  # so the library says that it is encrypted
        if passphrase is None:
            raise UsageError(
                f"{name} is protected by a passphrase, and nobody can be asked for it",
                hint="run it in a terminal, or give the passphrase with --passphrase-fd N",
            ) from None
        _check_rounds(data, name)
        try:
            key = _load(data, passphrase(name))
        except (ValueError, TypeError, InvalidTag):
            raise NoMatchError(
                f"the passphrase of {name} is wrong", hint="try again; capitals count"
            ) from None
        except _BROKEN:
            raise _unreadable(name) from None
    except _BROKEN:
        raise _unreadable(name) from None
    if isinstance(key, Ed25519PrivateKey):
        return Ed25519Identity(key.private_bytes_raw())
    if isinstance(key, RSAPrivateKey):
        _check_size(key.key_size)
        plain = serialization.NoEncryption()
        pkcs8 = serialization.PrivateFormat.PKCS8
        return RsaIdentity(key.private_bytes(serialization.Encoding.DER, pkcs8, plain))
    raise UsageError(f"{name} holds a key of a kind that cannot decrypt", hint=_KINDS)


def to_montgomery(key: bytes) -> bytes:
    """The X25519 key of an Ed25519 key, by RFC 7748. Raises ValueError for what is no point."""
    y = int.from_bytes(key, "little") & (1 << 255) - 1
    square = (y * y - 1) * (_D * y * y + 1) % _P
    if y >= _P or pow(square, (_P - 1) // 2, _P) != 1:
        raise ValueError("no point, or one of low order")
    return ((1 + y) * pow(1 - y, -1, _P) % _P).to_bytes(32, "little")


def _tweaked(shared: bytes, wire: bytes) -> bytes:
    """The shared secret, bound to the ssh key. Raises ValueError for low order."""
    tweak = X25519PrivateKey.from_private_bytes(hkdf(b"", wire, _ED25519_INFO))
    return tweak.exchange(X25519PublicKey.from_public_bytes(shared))


def _load(data: bytes, password: bytes | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kinds that will be refused anyway
        if data.startswith(b"-----BEGIN OPENSSH"):
            return serialization.load_ssh_private_key(data, password)
        return serialization.load_pem_private_key(data, password)


def _check_rounds(data: bytes, name: str) -> None:
    """Raise UsageError where an OpenSSH key asks for more work than any that people make."""
    body = _OPENSSH.search(data)
    raw = binascii.a2b_base64(body[1]) if body else b""
    at = raw.find(_BCRYPT)
    if at < 0:
        return
    at += len(_BCRYPT)
    end = at + 4 + int.from_bytes(raw[at : at + 4])
    if int.from_bytes(raw[end - 4 : end]) > _MOST_ROUNDS:
        raise UsageError(
            f"{name} asks for more than {_MOST_ROUNDS} rounds of bcrypt",
            hint="change its passphrase with fewer: ssh-keygen -p -a 100 -f KEY",
        )


def _check_size(bits: int) -> None:
    if not _LEAST_BITS <= bits <= _MOST_BITS:
        raise UsageError(
            f"an RSA key of {bits} bits is not used: {_LEAST_BITS} to {_MOST_BITS} are",
            hint=_KINDS,
        )


def _unreadable(name: str) -> UsageError:
    return UsageError(f"{name} is damaged, or no key that can be read", hint=_KINDS)


def _wire(key: Ed25519PublicKey | RSAPublicKey) -> bytes:
    """A public key as ssh encodes it."""
    form = serialization.PublicFormat.OpenSSH
    text = key.public_bytes(serialization.Encoding.OpenSSH, form)
    return binascii.a2b_base64(text.split()[1])


def _text(kind: str, wire: bytes) -> str:
    return f"{kind} {binascii.b2a_base64(wire, newline=False).decode()}"


def _tag(wire: bytes) -> bytes:
    return hashlib.sha256(wire).digest()[:4]
