"""How a command gets keys and passphrases: from a file, a descriptor, or a person."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesstool.cli.common import Common, settings
from sesstool.encryption.keyring import Keys
from sesstool.errors import UsageError
from sesstool.text import safe

if TYPE_CHECKING:
    from sesstool.encryption.header import Recipient
    from sesstool.privacy.vault import Secret

_MOST = 4096


_IDENTITY = "SESSTOOL_IDENTITY_FILE"


def key_options(function: Any) -> Any:
    """Give a command -i and --passphrase-fd, which open encrypted sessions."""
    for option in (
        click.option(
            "--passphrase-fd",
            type=click.IntRange(min=0),
            help="Read the passphrase from this open descriptor, up to a line's end.",
        ),
        click.option(
            "-i",
            "--identity",
            "identities",
            type=click.Path(path_type=Path),
            multiple=True,
            envvar=_IDENTITY,
            help="A file with keys that open encrypted sessions: of age, or a private ssh key; "
            "keyring:NAME is one in the system's keyring.",
        ),
    ):
        function = option(function)
    return function


def passphrase_option(function: Any) -> Any:
    """Give a command -p."""
    text = "Encrypt with a passphrase, which is asked for."
    return click.option("-p", "--passphrase", is_flag=True, help=text)(function)


def recipient_options(function: Any) -> Any:
    """Give a command -r and -R, which say whom to encrypt for."""
    for option in (
        click.option(
            "-R",
            "--recipients-file",
            "recipient_files",
            type=click.Path(path_type=Path),
            multiple=True,
            help="A file with recipients, one a line.",
        ),
        click.option(
            "-r",
            "--recipient",
            "recipients",
            multiple=True,
            metavar="RECIPIENT",
            help="Whom to encrypt for: age1..., ssh-ed25519 ... or ssh-rsa ...; may be repeated. "
            "Without any, those of the setting `recipients`.",
        ),
    ):
        function = option(function)
    return function


def agreed(shared: Common, question: str) -> bool:
    """Ask a person; that the answer is no is told, and is no interruption."""
    yes = click.confirm(question, err=True)
    if not yes:
        shared.note("nothing was done")
    return yes


def can_ask(shared: Common) -> bool:
    """Whether a person sits at a terminal, and may be asked."""
    stdin = sys.stdin  # None where it was closed before the start
    return not shared.no_input and bool(stdin) and not stdin.closed and stdin.isatty()


def keys_of(
    shared: Common,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    recipients: Sequence[Recipient] = (),
    *,
    prompts: bool = True,
) -> Keys:
    """What opens encrypted sessions. No file is read and nobody asked before one is met.

    Nobody is asked at all without `prompts`. `recipients` are those whom a session that is changed
    is encrypted for again.
    """
    ask: Callable[[str], bytes] | None = None
    if passphrase_fd is not None:
        ask = _once(lambda _: line_from(passphrase_fd))
    elif prompts and can_ask(shared):
        ask = _prompted
    return Keys(identities, ask=ask, recipients=recipients)


def recipients_of(
    shared: Common,
    recipients: tuple[str, ...],
    files: tuple[Path, ...],
    passphrase_fd: int | None = None,
    *,
    passphrase: bool = False,
    needed: bool = True,
) -> list[Recipient]:
    """Whom to encrypt for; the setting counts where no option does.

    Raises UsageError where that is nobody and somebody is `needed`.
    """
    if passphrase and (recipients or files):
        raise UsageError(
            "a file with a passphrase has no other recipient", hint="give -p alone, or -r and -R"
        )
    if not recipients:
        value = settings()["recipients"].value
        recipients = value if isinstance(value, tuple) and not files and not passphrase else ()
    if not recipients and not files and not passphrase:
        if needed:
            raise UsageError(
                "there is nobody to encrypt for",
                hint="sesstool keygen -o KEYFILE makes a key and tells its recipient, for -r",
            )
        return []
    from sesstool.encryption.keyring import read_key_file  # noqa: PLC0415 - few runs encrypt
    from sesstool.encryption.keys import (  # noqa: PLC0415 - the same
        parse_recipient,
        parse_recipients,
        passphrase_recipient,
    )

    found = [parse_recipient(text) for text in recipients]
    for path in files:
        found += parse_recipients(read_key_file(path), str(path))
    if passphrase:
        found.append(passphrase_recipient(new_passphrase(shared, passphrase_fd)))
    return list({one.text: one for one in found}.values())  # each once


def new_passphrase(shared: Common, passphrase_fd: int | None) -> bytes:
    """A passphrase to encrypt with: from a descriptor, or asked for twice.

    Who enters none gets ten words, which are shown on the terminal once.
    """
    if passphrase_fd is not None:
        return line_from(passphrase_fd)
    if not can_ask(shared):
        raise UsageError(
            "nobody can be asked for a passphrase", hint="give it with --passphrase-fd N"
        )
    text = click.prompt(
        "passphrase (leave it empty to have one made)",
        hide_input=True,
        confirmation_prompt="the same again",
        err=True,
        default="",
        show_default=False,
    )
    if text:
        return str(text).encode()
    made = _ten_words()
    click.echo(f"the passphrase is: {made}\nWrite it down; it is not shown again.", err=True)
    return made.encode()


def _ten_words() -> str:
    """110 bits, as words of a list that was made for it (BIP-39)."""
    import secrets  # noqa: PLC0415 - few runs make one

    from mnemonic import Mnemonic  # noqa: PLC0415 - the same

    words = Mnemonic("english").wordlist
    return "-".join(secrets.choice(words) for _ in range(10))


def _prompted(name: str) -> bytes:
    text = click.prompt(f"passphrase of {safe(name)}", hide_input=True, err=True, default="")
    return str(text).encode()


def _once(ask: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """A descriptor gives its line once, whatever it is asked for."""
    kept: list[bytes] = []

    def again(name: str) -> bytes:
        if not kept:
            kept.append(ask(name))
        return kept[0]

    return again


def vault_option(*, required: bool) -> Callable[[Any], Any]:
    """Give a command --vault; what opens it comes with `key_options`."""
    text = "Keep, encrypted, what unredact needs to give the originals back; -i is a file with its "
    text += "key, 32 random bytes or more, else a passphrase is asked for."
    if required:
        text = "The vault that redact wrote; -i is the file with its key."
    kind = click.Path(path_type=Path)
    return click.option("--vault", type=kind, required=required, help=text)


def secret(
    shared: Common, vault: Path, identities: tuple[Path, ...], passphrase_fd: int | None
) -> Secret:
    """The secret of a vault, which is asked for twice where the vault is new."""
    from sesstool.privacy.vault import Secret  # noqa: PLC0415 - few runs have one

    if identities and passphrase_fd is not None:
        raise UsageError("-i and --passphrase-fd contradict each other", hint="give one of them")
    if len(identities) > 1:
        raise UsageError("a vault has one key, and several are given", hint="give -i once")
    if identities:
        return Secret.key_file(identities[0])
    if passphrase_fd is not None:
        return Secret.passphrase(line_from(passphrase_fd))
    if not can_ask(shared):
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


def line_from(descriptor: int) -> bytes:
    """The first line that an open descriptor gives. Raises UsageError."""
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
