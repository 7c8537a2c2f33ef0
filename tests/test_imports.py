"""What a run imports: nobody waits for what the run does not need."""

import subprocess
import sys

import pytest

from tests.conftest import jsonl, meta, said, says, talk

SESSIONS = {
    "claude-code": jsonl(*talk(4)),
    "codex": jsonl(meta(), says("user", "light the lamp"), says("assistant", "it burns")),
    "openai-chat": jsonl(said("user"), said("assistant")),
}
SCRIPT = """
import sys
from sesstool.cli.main import run
code = run(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
sys.exit(code)
"""


def loaded(*arguments):
    """Run a command in an interpreter of its own; return the modules it had in the end."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], check=True, capture_output=True, text=True
    )
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("name", SESSIONS)
def test_a_sound_session_is_validated_without_heavy_modules(tmp_path, name):
    """Screens, keys, decompression and the slow schema engine wait until they are needed."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSIONS[name])
    modules = loaded("validate", "--isolated", "--format", name, str(path))
    assert "sesstool.api" in modules
    assert modules.isdisjoint({"textual", "cryptography", "jsonschema", "zstandard"})


def test_a_command_imports_no_other_command():
    """The page of a rule is printed without the modules of the other commands."""
    modules = loaded("rule", "T401")
    assert "sesstool.cli.rule" in modules
    assert modules.isdisjoint({"sesstool.cli.repair", "sesstool.cli.show", "sesstool.cli.undo"})


def test_the_library_does_not_reach_the_command():
    """A program that uses sesstool.api loads neither click nor a report."""
    script = "import sys, sesstool.api; print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    modules = set(done.stdout.splitlines())
    assert "sesstool.api" in modules
    assert modules.isdisjoint({"click", "sesstool.cli", "sesstool.report"})
