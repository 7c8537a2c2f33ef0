"""The command's frame: help, errors and their exit codes, streams, settings, start-up."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest

import sesstool
from sesstool import errors
from sesstool.cli import common as frame
from sesstool.cli import main
from sesstool.records.undo import state_folder
from tests.conftest import THREAD

ROOT = Path(sesstool.__file__).parents[1]


def process(*arguments, stdout=subprocess.PIPE, **environment):
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", **environment},
    )


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No settings but a test's own, and no variables that change the output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def probe(monkeypatch):
    """Put a command `probe` into the table; the fixture is called with its function."""

    def put(function, *formats, options=()):
        decorated = frame.common(*formats)(function)
        for option in options:
            decorated = option(decorated)
        module = types.ModuleType("probe_command")
        module.command = click.command("probe")(decorated)
        monkeypatch.setitem(sys.modules, "probe_command", module)
        monkeypatch.setitem(main.COMMANDS, "probe", ("probe_command:command", "Probe."))

    return put


def test_bare_command_prints_short_help(capsys):
    """Without arguments there are three examples, and nothing is wrong."""
    assert main.run([]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  sesstool ") == 3


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command(capsys, flag):
    """Help has a line for each command of the table, without importing one."""
    assert main.run([flag]) == 0
    out = capsys.readouterr().out
    for name, (_, line) in main.COMMANDS.items():
        assert f"  {name} " in out
        assert line in out


def test_version(capsys):
    """The version is the package's."""
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"sesstool {sesstool.__version__}\n"


def test_a_typo_gets_a_suggestion(capsys):
    """A command that does not exist exits 2 and names the nearest one."""
    assert main.run(["valdate"]) == 2
    assert "Did you mean 'validate'?" in capsys.readouterr().err


def test_no_abbreviations(capsys):
    """The beginning of a command is no command."""
    assert main.run(["compl"]) == 2
    assert "No such command 'compl'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError, 2),
        (errors.ConfigError, 2),
        (errors.InputError, 3),
        (errors.NotASessionError, 3),
        (errors.LiveSessionError, 4),
        (errors.WriteError, 6),
        (errors.StalePlanError, 6),
        (errors.UndoError, 6),
        (errors.SesstoolError, 70),
    ],
)
def test_an_error_is_a_sentence_and_an_exit_code(probe, capsys, error, code):
    """Message and hint go to stderr, made safe, and the class decides the exit code."""

    def fail(_common):
        raise error("cannot open a\x1b[2J.jsonl", hint="look elsewhere")

    probe(fail)
    assert main.run(["probe"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err == ("sesstool: error: cannot open a␛[2J.jsonl\nsesstool: hint: look elsewhere\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.UsageError("no"), 2),
        (OSError(28, "No space left on device"), 6),
    ],
)
def test_other_ends(probe, capsys, error, code):
    """An interrupt, a usage error and a failing system have their own exit codes."""

    def fail(_common):
        raise error

    probe(fail)
    assert main.run(["probe"]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["-v"]])
def test_a_bug_tells_no_session_text(probe, capsys, flags):
    """A bug exits 70 with its type and place; the frames come with -v, the message never."""

    def fail(_common):
        raise KeyError("swordfish")

    probe(fail)
    assert main.run(["probe", *flags]) == 70
    err = capsys.readouterr().err
    assert "KeyError at test_cli_frame.py:" in err
    assert "report" in err
    assert "swordfish" not in err
    assert (f"{__file__}:" in err) is bool(flags)


def test_the_return_value_is_the_exit_code(probe):
    """A command returns its exit code; None is 0."""
    probe(lambda _common: 1)
    assert main.run(["probe"]) == 1
    probe(lambda _common: None)
    assert main.run(["probe"]) == 0


def test_a_closed_pipe_exits_141_without_a_word():
    """When the reader goes away the command ends as a process killed by SIGPIPE would."""
    read, write = os.pipe()
    os.close(read)
    done = process("-m", "sesstool", "completion", "bash", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(capsysbinary, shell):
    """The script names the command and the variable that asks for completions."""
    assert main.run(["completion", shell]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert f"_SESSTOOL_COMPLETE={shell}_complete" in out


def test_completion_completes_commands():
    """The shell gets the names that begin so, without importing the commands."""
    done = process(
        "-m",
        "sesstool",
        _SESSTOOL_COMPLETE="bash_complete",
        COMP_WORDS="sesstool re",
        COMP_CWORD="1",
    )
    assert done.stdout == "plain,resume\nplain,repair\nplain,redact\nplain,rekey\nplain,replay\n"


def test_help_imports_no_heavy_module():
    """Help and the bare command do not wait for parsers, schemas or screens."""
    script = (
        "import sys\n"
        "from sesstool.cli.main import run\n"
        "run([]); run(['--help'])\n"
        "print(*sys.modules, sep='\\n')\n"
    )
    done = process("-c", script)
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()}
    assert "click" in loaded
    heavy = {"orjson", "jsonschema", "jsonschema_rs", "textual", "cryptography", "platformdirs"}
    assert loaded.isdisjoint(heavy | {"tomllib", "traceback"})
    assert "sesstool.api" not in done.stdout.splitlines()


def test_global_options_reach_the_command(probe):
    """Every command takes the common options, behind its name or before it."""
    seen = []
    probe(seen.append, "text", "json")
    behind = ["probe", "-qq", "-v", "-f", "json", "-o", "x", "--no-input", "--color=never"]
    before = ["-f", "json", "-qq", "--color=never", "-o", "x", "--no-input", "probe", "-v"]
    assert main.run(behind) == 0
    assert main.run(before) == 0
    assert seen[0] == seen[1]
    assert seen[0] == frame.Common(
        verbosity=0,
        color="never",
        output_format="json",
        output=Path("x"),
        config=None,
        isolated=False,
        no_input=True,
        no_progress=False,
    )


def test_a_setting_is_the_default_of_an_option(probe, tmp_path, monkeypatch):
    """The command line counts before the command's variable, the variable, and the file."""
    select = click.option("--select", type=frame.Codes(), default="")
    seen = []

    def note(_common, select):
        seen.append(select)

    probe(note, options=[select])
    assert main.run(["probe"]) == 0
    (tmp_path / "sesstool.toml").write_text('select = ["B1", "J2"]\n')
    assert main.run(["probe"]) == 0
    assert main.run(["probe", "--isolated"]) == 0
    monkeypatch.setenv("SESSTOOL_SELECT", "S3")
    assert main.run(["probe"]) == 0
    monkeypatch.setenv("SESSTOOL_PROBE_SELECT", "T4,G5")
    assert main.run(["probe"]) == 0
    assert main.run(["probe", "--select", "C6"]) == 0
    assert seen == [(), ("B1", "J2"), (), ("S3",), ("T4", "G5"), ("C6",)]


def test_a_format_that_a_command_lacks_is_no_default(probe, tmp_path):
    """A setting for validate does not break a command with fewer formats."""
    (tmp_path / "sesstool.toml").write_text('output-format = "sarif"\n')
    seen = []
    probe(lambda common: seen.append(common.output_format), "text", "json")
    assert main.run(["probe"]) == 0
    probe(lambda common: seen.append(common.output_format), "text", "sarif")
    assert main.run(["probe"]) == 0
    assert seen == ["text", "sarif"]


def test_config_show_tells_origins(tmp_path, capsys, monkeypatch):
    """Each setting is printed with its value and what gave it."""
    (tmp_path / "sesstool.toml").write_text('fail-on = "error"\n')
    monkeypatch.setenv("SESSTOOL_COLOR", "never")
    assert main.run(["config", "show", "-f", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)["settings"]
    assert shown["fail-on"] == {"value": "error", "origin": str(tmp_path / "sesstool.toml")}
    assert shown["color"] == {"value": "never", "origin": "SESSTOOL_COLOR"}
    assert shown["select"] == {"value": [], "origin": "default"}
    assert main.run(["config", "show"]) == 0
    assert 'color = "never"  # SESSTOOL_COLOR; ' in capsys.readouterr().out


def test_config_validate(tmp_path, capsys):
    """A right file is told on stderr, a wrong one is an error with exit code 2."""
    path = tmp_path / "some.toml"
    path.write_text('color = "never"\n')
    assert main.run(["config", "validate", str(path)]) == 0
    assert capsys.readouterr().err == f"{path}: settings are right\n"
    assert main.run(["-q", "config", "validate", str(path)]) == 0
    assert capsys.readouterr().err == ""
    path.write_text("colour = 1\n")
    assert main.run(["config", "validate", str(path)]) == 2
    assert f"{path}:1: unknown setting colour" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("choice", "environment", "tty", "colored"),
    [
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {}, True, True),
        ("auto", {}, False, False),
    ],
)
def test_colour_is_decided_in_order(monkeypatch, choice, environment, tty, colored):
    """The option, NO_COLOR, FORCE_COLOR, TERM=dumb, a terminal: the first that says so."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    stream.isatty = lambda: tty
    assert frame.use_color(choice, stream) is colored


@pytest.mark.parametrize(
    ("codes", "code"),
    [([], 0), ([0, 1, 0], 1), ([1, 3], 3), ([3, 4], 4), ([4, 5], 5), ([5, 6], 6), ([6, 70], 70)],
)
def test_the_worst_exit_code_wins(codes, code):
    """Several files exit with the gravest code that occurred."""
    assert frame.worst(iter(codes)) == code


def test_progress_waits_half_a_second(monkeypatch, capsys):
    """Quick work shows nothing; then there are bytes done and to do."""
    now = [100.0]
    monkeypatch.setattr(frame.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with frame.Progress(4_000_000, "reading", shown=True) as progress:
        progress.advance(1_000_000)
        assert capsys.readouterr().err == ""
        now[0] += 0.6
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        progress.advance(1_000_000)
        err = capsys.readouterr().err
    assert "reading" in err
    assert "2.0 of 4.0 MB" in err
    assert "50%" in err


def test_progress_fits_a_line_and_acts_on_nothing(monkeypatch, capsys):
    """A line that is broken cannot be written over; a name may be anybody's."""
    now = [100.0]
    monkeypatch.setattr(frame.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    name = f"\x1b[1m{THREAD}.jsonl"
    with frame.Progress(2_000_000_000, name, shown=True) as progress:
        now[0] += 3600
        progress.advance(1_000_000_000)
        err = capsys.readouterr().err
    *_, line = err.replace("\x1b[?25l", "").replace("\x1b[K", "").split("\r")
    assert line.startswith("␛[1m0123abcd-0000-7…  [####")
    assert line.endswith("1000.0 of 2000.0 MB")
    assert len(line) < 80


def test_progress_that_is_not_shown_is_silent(monkeypatch, capsys):
    """Where nobody watches, nothing is written however long it takes."""
    now = [100.0]
    monkeypatch.setattr(frame.time, "monotonic", lambda: now[0])
    with frame.Progress(10, "reading", shown=False) as progress:
        now[0] += 60
        progress.advance(5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("flags", "ci", "shown"),
    [
        ([], False, True),
        (["--no-progress"], False, False),
        (["-q"], False, False),
        ([], True, False),
    ],
)
def test_progress_only_where_somebody_watches(probe, monkeypatch, flags, ci, shown):
    """A terminal, no CI, no --no-progress and no -q: all are needed."""
    seen = []

    def note(common):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        seen.append(common.progress(1, "x").shown)

    probe(note)
    if ci:
        monkeypatch.setenv("CI", "true")
    assert main.run(["probe", *flags]) == 0
    assert seen == [shown]


@pytest.mark.parametrize("written", [False, True])
def test_an_interrupt_names_undo_where_something_was_written(probe, capsys, written):
    def stop(_common):
        if written:
            entry = state_folder() / "undo" / "0badcafe" / "entry.json"
            entry.parent.mkdir(parents=True)
            entry.touch()
        raise KeyboardInterrupt

    probe(stop)
    assert main.run(["probe"]) == 130
    assert ("sesstool undo --list" in capsys.readouterr().err) is written
