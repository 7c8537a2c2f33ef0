"""The documents say what is so: commands are run, tables and names are compared with the code.

RENEW_SNAPSHOTS=1 writes the output of the commands into the README instead.
"""

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sesstool
from sesstool import config
from sesstool.checks.engine import RULES
from sesstool.cli import main
from sesstool.formats.registry import FORMATS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCUMENTS = sorted(ROOT.glob("*.md"))
# What stands for the reader's folder in the README, and for the id of a change.
HOME, ID = "/home/ada", "7c43ab89"
SESSION = "samples/damaged/interrupted.jsonl"


def blocks(language):
    """The fenced blocks of the README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def table(heading):
    """The rows of the table behind a heading of the README, as lists of cells."""
    section = README.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[2:]]


def ticked(cell):
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder as the reader of the README has it, with the command on the PATH."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    # Unbuffered, stdout and stderr come in the order in which a terminal shows them.
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    return tmp_path


def told(command, folder):
    """What a command prints, with the folder and ids of the README in place of the real ones."""
    done = subprocess.run(
        ["bash", "-c", command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode in (0, 1)
    shown = done.stdout.replace(str(folder), HOME).replace(os.environ["HOME"], HOME)
    return re.sub(r"\b[0-9a-f]{8}$", ID, shown, flags=re.MULTILINE)


def test_the_readme_shows_what_the_commands_print(reader):
    """Each block with commands holds their real output."""
    text = README.read_text()
    for block in blocks("console") + blocks("text"):
        commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        real = "".join(f"$ {command}\n{told(command, reader)}" for command in commands)
        if os.environ.get("RENEW_SNAPSHOTS"):
            text = text.replace(f"\n{block}```\n", f"\n{real}```\n")
            README.write_text(text)
        else:
            assert block == real


def test_the_example_of_the_library_is_right(reader):
    """The session that the README repairs in Python gives the values that it shows."""
    (reader / "session.jsonl").write_bytes((ROOT / SESSION).read_bytes())
    (reader / "session.jsonl").chmod(0o600)
    (example,) = blocks("pycon")
    test = doctest.DocTestParser().get_doctest(example, {}, "README", str(README), 0)
    assert len(test.examples) > 5
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_program_of_the_readme_prints_what_stands_below_it(reader):
    """And it is clean to a strict type checker, as users of the store are; so is the plug-in."""
    text = README.read_text()
    program, plugin = blocks("python")
    path = reader / "ferry.py"
    path.write_text(program)
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert f"```python\n{program}```\n\n```txt\n{run.stdout}```\n" in text
    other = reader / "tally.py"
    other.write_text(plugin)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"]
    checked = subprocess.run(
        [*command, reader / "cache", path, other],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_plugin_of_the_readme_adds_a_format(reader, monkeypatch):
    """Installed as its table says, it tells its sessions."""
    _, program = blocks("python")
    (project,) = (tomllib.loads(block) for block in blocks("toml") if "entry-points" in block)
    about = project["project"]
    ((name, target),) = about["entry-points"]["sesstool.formats"].items()
    info = reader / "plug" / f"{about['name']}.dist-info"
    info.mkdir(parents=True)
    info.with_name(f"{target.partition(':')[0]}.py").write_text(program)
    (info / "METADATA").write_text(f"Name: {about['name']}\nVersion: {about['version']}\n")
    (info / "entry_points.txt").write_text(f"[sesstool.formats]\n{name} = {target}\n")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{info.parent}")
    talk = [{"by": "person", "words": "Is it dusk?"}, {"by": "model", "words": "It is."}]
    (reader / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in talk))
    shown = told("sesstool show talk.jsonl", reader)
    assert shown == "[1]\nUser: Is it dusk?\n\n[2]\nAssistant: It is.\n\n"


def test_the_two_ways_to_begin_are_one_line_each():
    """Both begin with a virtual environment; the second is what .ci/run does."""
    (both,) = [blocks("sh")]
    assert [block.count("\n") for block in both] == [1, 1]
    assert all(block.startswith("python3 -m venv .venv && ") for block in both)
    assert (
        f"cp {SESSION} session.jsonl && .venv/bin/sesstool repair --write session.jsonl" in both[0]
    )
    install, test = both[1].strip().split(" && ")[1:]
    script = (ROOT / ".ci/run").read_text()
    for command in (install, test):
        assert command.replace(".venv/bin/", '"$venv"/bin/') in script


def test_the_sample_of_the_readme_is_repaired_and_exits_0(reader):
    """What the first line runs ends well, twice."""
    for _ in range(2):
        (reader / "session.jsonl").write_bytes((ROOT / SESSION).read_bytes())
        assert main.run(["repair", "--write", "session.jsonl"]) == 0


def test_git_ignores_what_the_readme_makes():
    """The session and the environment leave a checkout clean."""
    assert {"/session.jsonl", "/.venv*/"} <= set((ROOT / ".gitignore").read_text().split())


def test_every_command_stands_in_the_readme():
    """The table has each command once, and no other."""
    names = [name.split()[0] for row in table("Commands") for name in ticked(row[0])]
    assert list(dict.fromkeys(names)) == list(main.COMMANDS)


def test_every_format_stands_in_the_readme():
    """The table tells of each format whether it is repaired."""
    rows = {ticked(name)[0]: state for _, name, state in table("Formats")}
    read = {f.name: "read only" if f.known else "named only" for f in FORMATS}
    expected = read | {f.name: "yes" for f in FORMATS if f.repairable}
    assert rows == expected


def test_every_exit_code_stands_in_the_readme():
    """The table has the codes that the errors have, and those of the frame."""

    def family(kind):
        return {kind.exit_code}.union(*map(family, kind.__subclasses__()))

    codes = {int(code) for row in table("Exit codes") for code in row[0].split(",")}
    assert codes == family(sesstool.errors.SesstoolError) | {0, 1, 5, 130, 141}


def test_every_setting_stands_in_the_readme():
    """The table has each setting with its default and the meaning that the code gives."""
    rows = {ticked(name)[0]: (default, meaning) for name, default, meaning in table("Settings")}
    expected = {
        setting.name: (f"`{json.dumps(setting.default)}`", setting.meaning)
        for setting in config.SETTINGS
    }
    assert rows == expected


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_what_is_there(document):
    """Each rule, path and document that a text names exists."""
    text = document.read_text()
    paths = re.findall(r"`((?:sesstool|tests|schemas|samples|\.ci)/[\w./-]*)`", text)
    paths += re.findall(r"\b([A-Z]+\.md)\b", text)
    assert [p for p in paths if "NAME" not in p and not (ROOT / p).exists()] == []
    assert set(re.findall(r"`([A-Z]\d{3})`", text)) <= RULES.keys()


def test_the_changelog_tells_of_this_version():
    """The version of the package has its entry."""
    assert f"\n## {sesstool.__version__} - " in (ROOT / "CHANGELOG.md").read_text()


def test_the_hook_runs(tmp_path):
    """The command of the pre-commit hook takes file names, and finds what is wrong."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    (entry,) = re.findall(r"^  entry: sesstool (.*)$", hook, re.MULTILINE)
    (files,) = re.findall(r"^  files: (.*)$", hook, re.MULTILINE)
    path = tmp_path / "session.jsonl"
    path.write_text('{"role":"user","content":"Grind"}\n')
    assert re.search(files, str(path))
    assert main.run([*entry.split(), str(path)]) == 0
    path.write_text('{"role":"user","content":"Grind"}\n{"role":')
    assert main.run([*entry.split(), str(path)]) == 1
