"""`sesstool browse`: look at sessions in a full-screen app."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sesstool import api
from sesstool.cli.common import Common, common
from sesstool.cli.keys import key_options, keys_of


@click.command("browse")
@common()
@click.argument("paths", nargs=-1)
@click.option("--allow-write", is_flag=True, help="Let W write, where y then says yes.")
@click.option("--theme", default="", help="The colours.")
@click.option("--ascii", "in_ascii", is_flag=True, help="Signs in ASCII alone.")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@key_options
def command(
    shared: Common,
    paths: tuple[str, ...],
    allow_write: bool,
    theme: str,
    in_ascii: bool,
    no_mouse: bool,
    identities: tuple[Path, ...],
    passphrase_fd: int | None,
) -> int:
    """Look at sessions in a full-screen app; nothing is written unless that is allowed."""
    from sesstool.api.viewing import open_view  # noqa: PLC0415 - start-up time
    from sesstool.tui.app import Browser, Options  # noqa: PLC0415 - start-up time
    from sesstool.tui.conversation import Conversation  # noqa: PLC0415 - start-up time

    keys = keys_of(shared, identities, passphrase_fd)
    path: Any = next(iter(api.find(paths)))
    app = Browser(
        Conversation(open_view(path, keys)),
        Options(writes=allow_write, theme=theme or "sesstool-dark", ascii=in_ascii, keys=keys),
    )
    app.run(mouse=not no_mouse)
    return app.return_code or 0
