"""The command `sesstool`: its table of commands, and what an error exits with.

A command's module is imported when the command runs: help must not wait for the checks. For
the same reason the imports that few runs need stand in the functions that need them.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sesstool.errors import SesstoolError, WriteError
from sesstool.heap import uncollected
from sesstool.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "list": ("sesstool.cli.list:command", "List the sessions of this computer."),
    "status": ("sesstool.cli.status:command", "Tell how the sessions here stand."),
    "validate": ("sesstool.cli.validate:command", "Report what is wrong with sessions."),
    "resume": ("sesstool.cli.resume:command", "Show what reaches the model on resume."),
    "snapshot": ("sesstool.cli.snapshot:command", "Record the world beside a session."),
    "repair": ("sesstool.cli.repair:command", "Preview a repair; --write does it."),
    "apply": ("sesstool.cli.apply:command", "Apply a saved plan."),
    "undo": ("sesstool.cli.undo:command", "Put back what a write replaced."),
    "fork": ("sesstool.cli.fork:command", "Make a new session that starts as a copy."),
    "diff": ("sesstool.cli.diff:command", "Compare two forks, or two branches."),
    "redact": ("sesstool.cli.redact:command", "Take secrets and personal data out."),
    "unredact": ("sesstool.cli.unredact:command", "Give back what redact --vault took out."),
    "encrypt": ("sesstool.cli.encrypt:command", "Encrypt sessions and their side files."),
    "decrypt": ("sesstool.cli.decrypt:command", "Give encrypted sessions back."),
    "rekey": ("sesstool.cli.rekey:command", "Encrypt for other recipients."),
    "keygen": ("sesstool.cli.keygen:command", "Make a key to encrypt for."),
    "hold": ("sesstool.cli.hold:command", "Keep sessions from every deletion."),
    "prune": ("sesstool.cli.prune:command", "Do what a retention policy says; previews."),
    "trash": ("sesstool.cli.trash:command", "Give back, or delete, what prune took away."),
    "audit": ("sesstool.cli.audit:command", "Show and verify the log of every write."),
    "browse": ("sesstool.cli.browse:command", "Look at sessions in a full-screen app."),
    "search": ("sesstool.cli.search:command", "Look for words in what sessions say."),
    "show": ("sesstool.cli.show:command", "Print a session as plain text."),
    "replay": ("sesstool.cli.replay:command", "Show a session again, as it was recorded."),
    "memory": ("sesstool.cli.memory:command", "Tell what a session was about, and how it stands."),
    "export": ("sesstool.cli.export:command", "Write a session as a page, Markdown, JSON or cast."),
    "rule": ("sesstool.cli.rule:command", "Explain a rule."),
    "schema": ("sesstool.cli.schema:command", "Print a JSON Schema."),
    "config": ("sesstool.cli.config:command", "Show and check the settings."),
    "completion": ("sesstool.cli.completion:command", "Print a shell completion script."),
}
"""Name → `module:attribute` and the line in the help."""

_EXAMPLES = """\
  sesstool validate session.jsonl         what is wrong with it
  sesstool repair session.jsonl           what a repair would do
  sesstool repair --write session.jsonl   do it; `sesstool undo` takes it back
"""
_SHORT_HELP = f"""\
sesstool validates and repairs the session files that AI agents leave on disk.

{_EXAMPLES}
`sesstool --help` lists the commands.
"""
# Options that stand for every command and take a value.
_VALUED = {"--color", "-f", "--output-format", "-o", "--output", "--config"}
_COMPLETE = "_SESSTOOL_COMPLETE"


class ForwardingGroup(click.Group):
    """A group that takes its commands' options before the command's name too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Hand options that stand before the command, but are the command's, on to it."""
        own = {name for param in self.get_params(ctx) for name in param.opts}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] not in own:
            at += 2 if args[at] in _VALUED else 1
        if 0 < at < len(args) and not args[at].startswith("-"):
            args = [args[at], *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)


class LazyGroup(ForwardingGroup):
    """A group whose commands are named in `COMMANDS` and imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the command, or return None where the table has none of the name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        with uncollected():
            command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest names of the table where there is none."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Complete command names without importing the commands."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - start-up time

        names = [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={
        "auto_envvar_prefix": "SESSTOOL",
        "help_option_names": ["-h", "--help"],
    },
    epilog="Exit codes: 0 nothing to report, 1 findings or changes to make, 2 usage, 3 an input "
    "cannot be read, 4 in use by a writer, 5 wrong key, 6 write refused, 70 a bug. "
    "Unknown codes mean failure.",
)
@click.version_option(__version__, message="sesstool %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Validate and repair the session files that AI agents leave on disk.

    Reading never writes, and changing a file needs --write. PATH is a file, a folder or, for an
    agent's own sessions, an id.
    """
    if ctx.invoked_subcommand is None:
        click.echo(_SHORT_HELP, nl=False)


def main() -> NoReturn:
    """Run the command line that the process was given, and exit."""
    _open_streams()
    signal.signal(signal.SIGTERM, _terminated)
    if "--isolated" in sys.argv:
        os.environ["SESSTOOL_PLUGINS"] = "off"  # before a command knows its options
    code = run(sys.argv[1:])
    gc.freeze()  # lest all that is left be looked through for cycles, for a tenth of the time
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns its exit code. Every error is shown here."""
    since = time.time()
    try:
        code = _invoke(list(arguments))
        sys.stdout.flush()
    except SesstoolError as error:
        return _fail(error)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        return _interrupted(error, since)
    except BrokenPipeError:
        close_stdout()
        return 141
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        where = f"{error.filename}: " if error.filename else ""
        return _fail(WriteError(f"cannot go on: {where}{reason}"))
    except Exception as error:  # noqa: BLE001 - a bug is told here, and ends the process
        return _bug(error, verbose=not {"-v", "-vv", "--verbose"}.isdisjoint(arguments))
    return code


def _open_streams() -> None:
    """Stand in for standard streams that the caller closed.

    Else a session could be opened in their place, and written to by whoever prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream, which stays open to the end.
            # pathlib would cost start-up time.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - start-up time


def _invoke(arguments: list[str]) -> int:
    """Do what click's own `main` does, which would turn a closed pipe into exit code 1."""
    instruction = os.environ.get(_COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete  # noqa: PLC0415 - start-up time

        return shell_complete(cli, {}, "sesstool", _COMPLETE, instruction)
    try:
        with cli.make_context("sesstool", arguments) as ctx:
            return cli.invoke(ctx) or 0
    except click.exceptions.Exit as end:
        return end.exit_code


def _fail(error: SesstoolError) -> int:
    from sesstool.text import safe  # noqa: PLC0415 - start-up time

    click.echo(f"sesstool: error: {safe(error.message)}", err=True)
    if error.hint:
        click.echo(f"sesstool: hint: {safe(error.hint)}", err=True)
    return error.exit_code


def _interrupted(error: BaseException, since: float) -> int:
    """Say how things stand, and name undo where something was written that it can take back."""
    from sesstool.records.undo import state_folder  # noqa: PLC0415 - start-up time

    told = "; ".join(getattr(error, "__notes__", ())) or "no session is half written"
    click.echo(f"sesstool: interrupted; {told}", err=True)
    kept = (state_folder() / "undo").glob("*/entry.json")
    if any(entry.stat().st_mtime > since - 1 for entry in kept):
        click.echo("sesstool: hint: sesstool undo --list shows what was written", err=True)
    return 130


def _terminated(number: int, frame: object) -> NoReturn:  # noqa: ARG001 - as a handler is called
    """End as Ctrl-C does: what was begun is taken back, and what was done is told."""
    raise KeyboardInterrupt


def _bug(error: Exception, *, verbose: bool) -> int:
    """Tell a bug without its message, which may hold session text."""
    import traceback  # noqa: PLC0415 - start-up time

    name = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if verbose:
        for frame in frames:
            click.echo(f"  {frame.filename}:{frame.lineno} {frame.name}", err=True)
        click.echo(f"  {name}", err=True)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"  # noqa: PTH119 - start-up time
    how = "report these lines" if verbose else "run it again with -v and report what it prints"
    what = f"a bug in sesstool {__version__}, {name} at {place}"
    click.echo(f"sesstool: error: {what}; {how}", err=True)
    return 70


def close_stdout() -> None:
    """Let the interpreter flush into nothing when it ends: the reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
