"""What a run has to open encrypted files with, and to encrypt what takes their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.encryption import oskeyring
from sesstool.errors import InputError, NoMatchError, UsageError

if TYPE_CHECKING:
    from sesstool.encryption.age import Opened, Read, Sealer
    from sesstool.encryption.header import Identity, Recipient

# What needs `cryptography` is imported where an encrypted file is met: most runs meet none.
Ask = Callable[[str], bytes]
"""Asks for the passphrase of what it is told the name of."""


_MOST = 1 << 20
_EXPOSED = (
    "put it into a file that is yours alone; others may have seen it now: in the list of "
    "processes, and in what a shell keeps"
)


class Keys:
    """Identities and a passphrase, of which none is read or asked for before it is needed.

    `files` hold identities; `given` are some that are there already. `ask` asks for passphrases,
    once a run for that of all files; None means that nobody can be asked. `recipients` are whom a
    file is encrypted for, as far as the user said.
    """

    def __init__(
        self,
        files: Sequence[Path] = (),
        *,
        given: Sequence[Identity] = (),
        ask: Ask | None = None,
        recipients: Sequence[Recipient] = (),
    ) -> None:
        """Keep where they are."""
        self._files = tuple(files)
        self._given = tuple(given)
        self._ask = ask
        self._recipients = tuple(recipients)
        self._passphrase: Identity | None = None

    def stop_asking(self) -> None:
        """Ask nobody from now on: the terminal is another's. What is needed is read before it."""
        _ = self.identities
        self._ask = None

    def give(self, passphrase: bytes) -> None:
        """Take a passphrase that was not asked for, in the place of any before it."""
        from sesstool.encryption.keys import passphrase_identity  # noqa: PLC0415 - as above

        self._passphrase = passphrase_identity(passphrase)

    @cached_property
    def identities(self) -> tuple[Identity, ...]:
        """All identities. Raises InputError, UsageError and AuthError about their files."""
        read = (one for path in self._files for one in read_identities(path, self._ask))
        return (*self._given, *read)

    def open(self, read: Read, size: int, name: str) -> tuple[Opened, Seal]:
        """Open an age file. Raises AuthError, and what `identities` does; `name` is for prompts."""
        from sesstool.encryption.age import all_openers, kinds_of, open_at  # noqa: PLC0415 - as above

        kinds = kinds_of(read, size)
        identities = self._for(kinds, name)
        text = open_at(read, size, identities)
        known = [*self._recipients]
        if len(kinds) > 1:  # else whom it is for shows by itself
            theirs = (one.recipient() for one in all_openers(read, size, identities))
            known += [one for one in theirs if one is not None]
        return text, Seal(kinds, text.identity, known)

    def opener(self, read: Read, size: int, name: str) -> Identity:
        """The identity that opens the header of a file, whatever its payload is. See `open`."""
        from sesstool.encryption.age import kinds_of, opener  # noqa: PLC0415 - as above

        return opener(read, size, self._for(kinds_of(read, size), name))

    def _for(self, kinds: tuple[str, ...], name: str) -> Sequence[Identity]:
        from sesstool.encryption.keys import passphrase_identity  # noqa: PLC0415 - as above

        identities: Sequence[Identity] = self.identities
        if kinds == ("scrypt",):
            if self._passphrase is None and self._ask is not None:
                self._passphrase = passphrase_identity(self._ask(name))
            some = (self._passphrase, *self._given)
            identities = [one for one in some if one and one.kind == "scrypt"]
        if not identities:
            raise NoMatchError(
                f"it is encrypted ({', '.join(dict.fromkeys(kinds))}), and no key is given",
                hint="give --passphrase-fd N" if "scrypt" in kinds else "name the key: -i FILE",
            )
        return identities


class Seal:
    """How a file is encrypted: for whom, as far as the kinds tell, and who opened it here."""

    def __init__(
        self, kinds: tuple[str, ...], identity: Identity, recipients: Sequence[Recipient] = ()
    ) -> None:
        """Keep it; `recipients` are those that are known otherwise."""
        self.kinds = kinds
        self.identity = identity
        self._given = tuple(recipients)

    @cached_property
    def writer(self) -> Sealer:
        """What encrypts for the same recipients. Raises UsageError where they are not known.

        The file tells their number and kinds alone. Whoever opened it is one of them.
        """
        from sesstool.encryption.age import Sealer  # noqa: PLC0415 - as above

        own = self.identity.recipient()
        if own is not None and len(self.kinds) == 1:
            return Sealer([own])
        given = {one.text: one for one in self._given}
        if Counter(one.kind for one in given.values()) == Counter(self.kinds) and (
            own is None or own.text in given
        ):
            return Sealer(list(given.values()))
        raise UsageError(
            f"it is encrypted for {len(self.kinds)} recipients, and not all of them are known: "
            "written again, it would be lost to the others",
            hint="name all of them with -r or -R, or give the keys of all, or decrypt it first",
        )


def is_secret(text: str) -> bool:
    """Whether a text is a secret key of age, which must not be shown."""
    return text.strip().upper().startswith("AGE-SECRET-KEY-")


def read_identities(path: Path, ask: Ask | None) -> list[Identity]:
    """The identities in a file. Raises InputError, and as `parse_identities` does."""
    from sesstool.encryption.keys import parse_identities  # noqa: PLC0415 - as above

    return parse_identities(read_key_file(path), str(path), ask)


def read_key_file(path: Path) -> bytes:
    """The bytes of a file with keys, or those in the system's keyring. Raises InputError."""
    if is_secret(str(path)):
        raise UsageError("-i and -R name files, and this is a key itself", hint=_EXPOSED)
    if name := oskeyring.name_of(str(path)):
        return oskeyring.load(name)
    try:
        with path.open("rb") as handle:
            data = handle.read(_MOST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(
            f"cannot read the keys in {path}: {reason}", hint="check the path, and who may read it"
        ) from error
    if len(data) > _MOST:
        raise InputError(f"{path} is too large to hold keys", hint="name the file with the key")
    return data


NO_KEYS = Keys()
"""What opens nothing, and says how to give a key."""
