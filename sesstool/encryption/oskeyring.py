"""Identities in the keyring of the system, by the extra `keyring`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesstool.errors import InputError, UsageError, WriteError

if TYPE_CHECKING:
    from types import ModuleType

_SERVICE = "sesstool"
_PREFIX = "keyring:"
_FILE = "keep the key in a file: sesstool keygen -o FILE, and -i FILE"


def name_of(given: str) -> str:
    """The name in `keyring:NAME`, "" for what is a path."""
    return given.removeprefix(_PREFIX) if given.startswith(_PREFIX) else ""


def load(name: str) -> bytes:
    """What an identity file would hold. Raises InputError and UsageError."""
    module = _module()
    try:
        text = module.get_password(_SERVICE, name)
    except module.errors.KeyringError as error:
        raise InputError(f"the keyring gives no key: {type(error).__name__}", _FILE) from None
    if text is None:
        raise InputError(
            f"the keyring has no key of the name {name}",
            hint=f"sesstool keygen -o {_PREFIX}{name} makes one",
        )
    return str(text).encode()


def keep(name: str, text: str, *, force: bool) -> None:
    """Keep what an identity file would hold. Raises WriteError, also where the name is taken."""
    module = _module()
    try:
        if module.get_password(_SERVICE, name) is not None and not force:
            raise WriteError(
                f"the keyring has a key of the name {name} already", hint="choose another name"
            )
        module.set_password(_SERVICE, name, text)
    except module.errors.KeyringError as error:
        raise WriteError(f"the keyring takes no key: {type(error).__name__}", _FILE) from None


def _module() -> ModuleType:
    try:
        import keyring  # noqa: PLC0415 - an extra
        import keyring.errors  # noqa: PLC0415 - the same
    except ImportError:
        raise UsageError(
            "the system's keyring needs the package keyring",
            hint="pip install 'sesstool[keyring]', or keep the key in a file: -i FILE",
        ) from None
    return keyring
