"""How a command gets the secret that opens a vault: from a file, a descriptor, or a person."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sesstool.cli.common import Common
from sesstool.errors import UsageError
from sesstool.privacy.vault import Secret

_MOST = 4096


def vault_options(*, required: bool) -> Callable[[Any], Any]:
    """Give a command --vault, -i and --passphrase-fd."""

    def decorate(function: Any) -> Any:
        for option in (
            click.option(
                "--passphrase-fd",
                type=click.IntRange(min=0),
                help="Read the vault's passphrase from this open descriptor, up to a line's end.",
            ),
            click.option(
                "-i",
                "--identity",
                type=click.Path(path_type=Path),
                help="A file with the vault's key, 32 random bytes or more; without it a "
                "passphrase is asked for.",
            ),
            click.option(
                "--vault",
                type=click.Path(path_type=Path),
                required=required,
                help="The vault that redact wrote."
                if required
                else "Keep, encrypted, what unredact needs to give the originals back.",
            ),
        ):
            function = option(function)
        return function

    return decorate


def secret(shared: Common, vault: Path, identity: Path | None, passphrase_fd: int | None) -> Secret:
    """The secret of a vault, which is asked for twice where the vault is new."""
    if identity is not None and passphrase_fd is not None:
        raise UsageError("-i and --passphrase-fd contradict each other", hint="give one of them")
    if identity is not None:
        return Secret.key_file(identity)
    if passphrase_fd is not None:
        return Secret.passphrase(_line(passphrase_fd))
    if shared.no_input or not sys.stdin.isatty():
        raise UsageError(
            "a vault needs a key, and nobody can be asked for a passphrase",
            hint="give -i FILE or --passphrase-fd N",
        )
    text = click.prompt(
        f"passphrase of {vault}",
        hide_input=True,
        confirmation_prompt=not vault.exists(),
        err=True,
        default="",
        show_default=False,
    )
    return Secret.passphrase(text.encode())


def _line(descriptor: int) -> bytes:
    data = b""
    try:
        while b"\n" not in data and len(data) <= _MOST:
            chunk = os.read(descriptor, _MOST)
            if not chunk:
                break
            data += chunk
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"cannot read the passphrase from descriptor {descriptor}: {reason}",
            hint="open it first, as in --passphrase-fd 3 3< FILE",
        ) from error
    line = data.partition(b"\n")[0].removesuffix(b"\r")
    if len(line) > _MOST:
        raise UsageError(f"the passphrase is longer than {_MOST} bytes", hint="use a key file: -i")
    return line
