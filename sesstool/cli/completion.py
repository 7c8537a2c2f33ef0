"""`sesstool completion`: the script that teaches a shell to complete `sesstool`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sesstool.cli.common import Common, common, out_stream


@click.command("completion")
@common()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(_common: Common, shell: str) -> None:
    """Print the completion script for SHELL.

    For bash: sesstool completion bash >> ~/.bashrc
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click completes these shells"
    root = click.get_current_context().find_root().command
    script = kind(root, {}, "sesstool", "_SESSTOOL_COMPLETE").source()
    out_stream().write(script.encode())
