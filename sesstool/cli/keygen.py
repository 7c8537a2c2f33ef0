"""`sesstool keygen`: a key to encrypt sessions for."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import click

from sesstool.audit import log
from sesstool.cli.common import Common, common, out_stream
from sesstool.cli.keys import key_options, keys_of, new_passphrase
from sesstool.errors import UsageError
from sesstool.records.source import fingerprint
from sesstool.records.undo import state_folder
from sesstool.records.write import create, make_folder, real_path


@click.command("keygen")
@common("text")
@click.option("--pq", is_flag=True, help="Make a key that a quantum computer would not open.")
@click.option("-p", "--passphrase", is_flag=True, help="Protect the key file by a passphrase.")
@key_options
@click.option("--public", is_flag=True, help="Only print the recipients of the keys of -i.")
@click.option("--force", is_flag=True, help="Overwrite a file that exists: its key is lost.")
def command(
    shared: Common,
    pq: bool,
    passphrase: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
    public: bool,
    force: bool,
) -> int:
    """Make a key: the file of -o opens what is encrypted for the recipient that is printed.

    The recipient may be known to everybody. The file is private (mode 0600), and as age-keygen
    makes it. Keep a copy of it: without it, what was encrypted for it is lost. -o keyring:NAME
    keeps the key in the system's keyring.
    """
    from sesstool.encryption import age, keys, oskeyring  # noqa: PLC0415 - help needs no keys

    if public:
        for one in keys_of(shared, identities, passphrase_fd).identities:
            _print(one.recipient())
        return 0
    if shared.output is None:
        raise UsageError(
            "a key needs a file to be kept in", hint="sesstool keygen -o ~/.config/sesstool/key.txt"
        )
    identity = keys.generate(pq=pq)
    created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    text = keys.identity_file(identity, created)
    if name := oskeyring.name_of(str(shared.output)):
        if passphrase:
            raise UsageError("the keyring has a passphrase of its own", hint="leave out -p")
        log.ready(state_folder())
        oskeyring.keep(name, text.decode(), force=force)
        log.append(state_folder(), log.Change("keygen", str(shared.output), "", ""))
    else:
        if passphrase:
            recipient = keys.passphrase_recipient(new_passphrase(shared, passphrase_fd))
            text = b"".join(age.encrypt([text], [recipient], armor=True))
        if str(shared.output) == "-":
            out_stream().write(text)
        else:
            path, state = real_path(shared.output), state_folder()
            log.ready(state)
            make_folder(path.parent)
            old = fingerprint(path).sha256 if path.is_file() else ""
            create(path, [text], force=force)
            # Who knows the hash of a key does not know the key.
            new = hashlib.sha256(text).hexdigest()
            log.append(state, log.Change("keygen", str(path), old, new))
            shared.note(f"written: {shared.output}; keep a copy of it in a safe place")
    if str(shared.output) != "-":
        _print(identity.recipient())
    return 0


def _print(recipient: object) -> None:
    text = getattr(recipient, "text", None)
    if text is not None:
        out_stream().write(f"{text}\n".encode())
