"""`status` beside real agents, offline: at work, waiting, killed, resumed and ended well.

SESSTOOL_TEST_CLIENTS names the folders that agents are installed in, as a search path.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from sesstool.cli.main import run
from sesstool.records.processes import started_by
from tests.test_live_agents import clients, provider

__all__ = ["provider"]  # a fixture

STEP = {"command": "cat gate", "description": "wait at the gate"}
TOOL = "PLAN: " + json.dumps([[{"say": "I look"}, {"call": "shell", "with": STEP}], [{"say": "a"}]])
SLOW = "PLAN: " + json.dumps([[{"drip": 300}, {"say": "a slow answer ", "times": 30}]])
TALK = "PLAN: " + json.dumps([[{"say": "hello there"}]])
MADE = {"command": "touch made", "description": "make it"}
ASK = "PLAN: " + json.dumps([[{"say": "I look"}, {"call": "shell", "with": MADE}], [{"say": "a"}]])
ON = "then go on with it"
LONGEST = 60
# What programs ask of a terminal: where the cursor is, its kind, its background.
QUESTIONS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;c",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}


class Agent(NamedTuple):
    """How an agent is started: with a prompt, in a terminal, and to go on with a session.

    `tool` is what it calls a shell; `on` what stands in the place of `resume` in the command that
    resumes a session, and what is added to it.
    """

    prompted: str
    terminal: str
    tool: str
    on: tuple[str, str, str]


AGENTS = {
    "claude-code": Agent(
        "claude -p {} --dangerously-skip-permissions",
        "claude --permission-mode default",
        "Bash",
        ("", "", "-p {} --dangerously-skip-permissions"),
    ),
    "codex": Agent(
        "codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox {}",
        "codex",
        "exec_command",
        ("codex resume", "codex exec --skip-git-repo-check resume", "{}"),
    ),
    "copilot-cli": Agent(
        "copilot -p {} --allow-all-tools", "copilot", "bash", ("", "", "-p {} --allow-all-tools")
    ),
    "gemini": Agent("gemini -p {} --yolo", "gemini", "", ("", "", "-p {} --yolo")),
    "qwen": Agent("qwen -p {} --yolo", "qwen", "run_shell_command", ("", "", "-p {} --yolo")),
    "pi": Agent(
        "pi -p {} --provider stub --model stub",
        "pi --provider stub --model stub",
        "bash",
        ("", "", "-p {} --provider stub --model stub"),
    ),
    "opencode": Agent(
        "opencode run {}",
        "opencode",
        "bash",
        ("opencode --session", "opencode run --session", "{}"),
    ),
}


def settings(home, project, base):
    """The settings of all agents: what is asked is answered by the stand-in, and trusted."""
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    kept = {"hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True}
    kept["projects"] = {str(project): {"hasTrustDialogAccepted": True}}
    kept["customApiKeyResponses"] = {"approved": ["dummy"], "rejected": []}
    stub = {"baseUrl": f"{base}/v1", "api": "openai-completions", "apiKey": "dummy"}
    own = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{base}/v1", "apiKey": "d"}}
    files = {
        ".claude.json": kept,
        ".copilot/config.json": {"trusted_folders": [str(project)], "banner": "never"},
        ".gemini/settings.json": quiet
        | {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "general": {"enableAutoUpdate": False},
            "model": {"name": "gemini-2.5-pro"},
        },
        ".qwen/settings.json": quiet
        | {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"disableAutoUpdate": True},
        },
        ".pi/agent/models.json": {
            "providers": {"stub": stub | {"models": [{"id": "stub", "contextWindow": 1_000_000}]}}
        },
        ".config/opencode/opencode.json": {
            "autoupdate": False,
            "share": "disabled",
            "model": "stub/stub",
            "small_model": "stub/stub",
            "permission": {"bash": "allow"},
            "provider": {"stub": own | {"name": "stub", "models": {"stub": {"name": "stub"}}}},
        },
    }
    for name, value in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps(value))
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        'model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{base}/v1"\nenv_key = "STUB_KEY"\nwire_api = "responses"\n'
        f'[projects."{project}"]\ntrust_level = "trusted"\n'
    )
    url = {"ANTHROPIC_BASE_URL": base, "GOOGLE_GEMINI_BASE_URL": base}
    names = ("OPENAI_BASE_URL", "COPILOT_PROVIDER_BASE_URL")
    keys = ("ANTHROPIC_API_KEY", "STUB_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY")
    flags = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "IS_SANDBOX")
    flags += ("PI_OFFLINE", "PI_SKIP_VERSION_CHECK", "OPENCODE_DISABLE_MODELS_FETCH")
    flags += ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD")
    return {
        **url,
        **dict.fromkeys(names, f"{base}/v1"),
        **dict.fromkeys((*keys, "COPILOT_PROVIDER_API_KEY"), "dummy"),
        **dict.fromkeys(("OPENAI_MODEL", "COPILOT_MODEL"), "stub"),
        **dict.fromkeys(flags, "1"),
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_OFFLINE": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


class World(NamedTuple):
    """A home and a project in which agents run, and the log of what reached the model."""

    home: Path
    project: Path
    environment: dict[str, str]
    log: Path

    def asked(self):
        """What the model was asked until now."""
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture
def world(home, tmp_path, provider, clients, monkeypatch):
    base, log = provider
    project = tmp_path / "project"
    project.mkdir()
    os.mkfifo(project / "gate")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    there = clients / "node_modules"
    path = f"{there / 'node' / 'bin'}:{there / '.bin'}:{os.environ['PATH']}"
    environment = settings(home, project, base) | {"PATH": path, "HOME": str(home)}
    return World(home, project, environment, log)


@pytest.fixture
def status(capfd):
    """How the one session stands."""

    def told(*states):
        until = time.monotonic() + LONGEST
        while True:
            capfd.readouterr()
            assert run(["status", "--all", "--no-cache", "--output-format", "json"]) == 0
            found = json.loads(capfd.readouterr().out)["sessions"]
            # Gemini CLI goes on in a second file where it is resumed in another minute.
            one = max(found, key=lambda one: one["since"], default={"state": "none"})
            if not states or one["state"] in states or time.monotonic() > until:
                return one

    return told


@contextmanager
def at_work(world, command, prompt):
    """An agent that was given a prompt."""
    words = [prompt if word == "{}" else word for word in shlex.split(command)]
    said = world.project.parent / "said"
    with said.open("wb") as out:
        child = subprocess.Popen(
            words, cwd=world.project, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, env=world.environment,
        )  # fmt: skip
    try:
        yield child
    finally:
        kill(child.pid)
        child.wait()


def kill(pid):
    """Kill an agent and all that it started, wherever."""
    for victim in [pid, *(one.pid for one in started_by(pid))]:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def await_(child, ready):
    """Wait until something is so, while an agent runs."""
    until = time.monotonic() + LONGEST
    while not ready():
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"it ended: {child.wait(0.1)}")
        assert time.monotonic() < until


def numbers(why):
    return {int(n) for n in re.findall(r"process (\d+)", why)}


@clients
@pytest.mark.parametrize("name", AGENTS)
def test_a_tool_at_work_a_kill_and_a_resume(world, status, name):
    """Running, by whom and what; then broken off, with the tool; then resumed, and done."""
    agent = AGENTS[name]
    with at_work(world, agent.prompted, TOOL) as child:
        await_(child, lambda: any(p.words[:2] == ("cat", "gate") for p in started_by(child.pid)))
        one = status("running")
        family = {child.pid, *(p.pid for p in started_by(child.pid))}
        assert (one["agent"], one["state"], set(one["doing"])) == (
            name, "running", {agent.tool} - {""},
        )  # fmt: skip
        assert numbers(one["why"]) <= family
    one = status("interrupted", "clean")  # a killed one takes a moment to end
    if name == "gemini":  # nothing of a call is recorded before it ends
        assert (one["state"], "or a tool was at work" in one["why"]) == ("clean", True)
    else:
        assert (one["state"], one["uncertain"]) == ("interrupted", [agent.tool])
    old, new, more = agent.on
    command = one["resume"].replace(old, new) if old else one["resume"]
    words = f"{command} {more.format(shlex.quote(ON))}"
    done = subprocess.run(
        ["sh", "-c", words], env=world.environment, cwd="/", stdin=subprocess.DEVNULL,
        capture_output=True, timeout=LONGEST, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    last = [line for line in world.asked().splitlines() if ON in line][-1]
    assert "cat gate" in last
    assert status()["state"] == "clean"


@clients
@pytest.mark.parametrize("name", AGENTS)
def test_an_answer_that_takes_long_and_a_kill(world, status, name):
    """Running, and then broken off: nothing that was said is an answer yet."""
    with at_work(world, AGENTS[name].prompted, SLOW) as child:
        await_(child, lambda: "PLAN" in world.asked())
        if name == "pi":  # which writes a session with its first answer
            assert status()["state"] == "none"
            return
        one = status("running")
        assert one["state"] == "running"
        assert numbers(one["why"]) <= {child.pid, *(p.pid for p in started_by(child.pid))}
    one = status("interrupted")
    assert (one["state"], one["why"]) == ("interrupted", "the prompt has no answer")


class Screen:
    """The other end of a terminal: what is drawn is read, and thrown away."""

    def __init__(self, terminal):
        self._terminal = terminal
        self._last = 0.0
        self._drawn = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with suppress(OSError):
            while drawn := os.read(self._terminal, 1 << 16):
                self._last = time.monotonic()
                self._drawn.set()
                for asked, told in QUESTIONS.items():
                    if asked in drawn:
                        os.write(self._terminal, told)

    def settle(self, quiet=2.0):
        """Wait until something was drawn, and nothing more for some seconds."""
        begun = time.monotonic()
        until = begun + LONGEST / 3
        assert self._last or self._drawn.wait(LONGEST)
        while (
            left := quiet - (time.monotonic() - max(self._last, begun))
        ) > 0 and time.monotonic() < until:
            self._drawn.clear()
            self._drawn.wait(left)

    def enter(self, text):
        """Type a line."""
        os.write(self._terminal, text.encode())
        self.settle(0.7)
        os.write(self._terminal, b"\r")


@contextmanager
def in_a_terminal(world, command):
    """An agent in a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    child = subprocess.Popen(
        ["setsid", "--ctty", *shlex.split(command)], cwd=world.project, env=world.environment,
        stdin=slave, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    screen = Screen(master)
    try:
        screen.settle()
        yield child.pid, screen
    finally:
        kill(child.pid)
        child.wait()
        os.close(master)


@clients
@pytest.mark.parametrize("name", ["claude-code", "copilot-cli", "gemini", "qwen", "pi"])
def test_an_agent_in_a_terminal_waits_for_a_person(world, status, name):
    """At its prompt, and where it asks for leave; killed there, what was asked counts as open."""
    agent = AGENTS[name]
    with in_a_terminal(world, agent.terminal) as (pid, screen):
        until = time.monotonic() + LONGEST
        while "hello there" not in world.asked() and time.monotonic() < until:
            screen.enter(TALK)  # again where it was not yet ready to read
            screen.settle(3.0)
        one = status("waiting")
        assert one["state"] == "waiting", one
        assert numbers(one["why"]) <= {pid, *(p.pid for p in started_by(pid))}
        if name != "pi":  # which asks nobody
            screen.enter(ASK)
            screen.settle(3.0)
            doing = [agent.tool] if agent.tool else []
            until = time.monotonic() + LONGEST
            while (one := status("waiting"))["doing"] != doing and time.monotonic() < until:
                screen.settle(1.0)
            assert (one["state"], one["doing"]) == ("waiting", doing)
            assert not (world.project / "made").exists()
    one = status("interrupted", "clean")
    if name in ("pi", "gemini"):
        assert one["state"] == "clean"
    else:
        assert one["state"] == "interrupted"
        assert one["uncertain"] == [agent.tool]
