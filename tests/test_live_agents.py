"""Real agents that are at work on a session, offline: it is not touched before they end.

SESSTOOL_TEST_CLIENTS names the folders that agents are installed in, as a search path.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from sesstool.cli.main import run
from tests.conftest import ROLLOUT, SESSION, THREAD, answer, jsonl, meta, prompt, runs, says, use

PROMPT = "PLAN: " + json.dumps([[{"drip": 300}, {"say": "a slow answer ", "times": 30}]])
LONG_AGO = 1_770_000_000
FOLDERS = [Path(name) for name in os.environ.get("SESSTOOL_TEST_CLIENTS", "").split(":") if name]

clients = pytest.mark.parametrize(
    "clients",
    FOLDERS
    or [pytest.param(None, marks=pytest.mark.skip("SESSTOOL_TEST_CLIENTS names no agents"))],
)


@pytest.fixture
def provider(shared, tmp_path):
    """A stand-in for the model that answers slowly: its address, and the log of its requests."""
    log = tmp_path / "requests"
    stub = [sys.executable, shared / "clients" / "stub_provider.py", "--port", "0", "--log", log]
    with subprocess.Popen([*stub, "--lenient"], stdout=subprocess.PIPE, text=True) as process:
        try:
            port = re.search(r":(\d+)", process.stdout.readline()).group(1)
            yield f"http://127.0.0.1:{port}", log
        finally:
            process.kill()


def claude_code(home, project, base):
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(jsonl(prompt(1, None), answer(2, 1, use("toolu_a"))) + b'{"cut')
    return path, ["claude", "-p", PROMPT, "--resume", SESSION], {
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }  # fmt: skip


def codex(home, _project, base):
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    folder.mkdir(parents=True)
    path = folder / ROLLOUT
    path.write_bytes(jsonl(meta(), says("user", "hello"), runs("call_1")) + b'{"cut')
    (home / ".codex" / "config.toml").write_text(
        'model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{base}/v1"\nenv_key = "STUB_KEY"\nwire_api = "responses"\n'
    )
    command = ["codex", "exec", "--skip-git-repo-check", "resume", THREAD, PROMPT]
    return path, command, {"STUB_KEY": "dummy"}


@contextmanager
def at_work(clients, command, environment, project, log):
    """A client that waits for its answer."""
    binary = clients / "node_modules" / ".bin" / command[0]
    said = project.parent / "said"
    with said.open("wb") as out:
        client = subprocess.Popen(
            [binary, *command[1:]], cwd=project, stdin=subprocess.DEVNULL, stdout=out,
            stderr=out, start_new_session=True, env={"PATH": os.environ["PATH"], **environment},
        )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not log.exists() or "PLAN" not in log.read_text():
            with pytest.raises(subprocess.TimeoutExpired):
                client.wait(0.1)
            assert time.monotonic() < until, said.read_text()
        yield client
    finally:
        os.killpg(client.pid, signal.SIGKILL)
        client.wait()


@clients
@pytest.mark.parametrize("agent", [claude_code, codex])
def test_a_session_is_not_touched_before_its_agent_ends(
    home, tmp_path, provider, clients, agent, capfd
):
    """Exit code 4, who has it, and what to do; afterwards it is repaired."""
    base, log = provider
    project = tmp_path / "project"
    project.mkdir()
    path, command, environment = agent(home, project, base)
    environment["HOME"] = str(home)
    with at_work(clients, command, environment, project, log):
        code, said = 6, ""
        while code == 6 or "last written" in said:  # it was at that very moment
            before = path.read_bytes()
            os.utime(path, (LONG_AGO, LONG_AGO))  # it must not be the time that tells
            code = run(["repair", "--write", str(path)])
            said = capfd.readouterr().err
        assert code == 4, said
        assert re.search(r"is in use: .*(process \d+|holds .*\.lock)", said), said
        assert "hint: close the agent first" in said
        assert path.read_bytes() == before
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert run(["repair", "--write", str(path)]) == 0
    assert "did:" in capfd.readouterr().out
